/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: the content of a compressed file, read from front to back.
 *
 * Purpose: unpacked bytes of a file, by their offset in the content. Reading behind the front
 * unpacks on, and keeps the last bytes: a read of those costs a copy; one before them starts again
 * with the file, which is correct and slow. So readers have to read in about the order of offsets.
 * The unpacked size is known once all of it came out, unless it is given; then any other size is
 * damage, and no more than that is unpacked. An offset in an error is one in the file. A file that
 * was replaced (file.h) is refused whenever a piece of it is read; after damage, all reads from
 * there on fail at once. Failed reads are retried (retry.h), and a stale handle is opened again.
 *
 * Threads: one at a time. Memory: 256 KiB for reading, the unpacker's (base/unpack_stream.h), and
 * the window, whose chunks are allocated as needed.
 */
#ifndef SL_STREAM_H
#define SL_STREAM_H

#include "file.h"
#include "store.h"
#include "unpack_stream.h"

#include <stdatomic.h>

/* Unit of the window. */
#define SL_STREAM_CHUNK_BYTES ((size_t)256 << 10)

typedef struct sl_stream sl_stream;

/* How a file is compressed, and what it must be. */
typedef struct sl_packed {
    sl_packing packing;
    sl_file_identity file;
    uint64_t bytes; /* unpacked size that it must have; 0: any */
    bool is_summed; /* its opener checks its checksum: it does not lack one of its own */
} sl_packed;

/* Opens a stream; the path is copied. `chunks`, at least 1: all but one of them can be read again.
 * Errors: IO (also: another file), NOMEM. */
sluice_status sl_stream_open(sl_stream **stream, const char *path, const sl_packed *packed,
                             uint32_t chunks, sluice_error *error);
/* Opens it over an open file, which must stay open as long as the stream. */
sluice_status sl_stream_open_over(sl_stream **stream, const sl_handle *from,
                                  const sl_packed *packed, uint32_t chunks, sluice_error *error);
/* NULL is fine. */
void sl_stream_close(sl_stream *stream);

/* Observer of a stream's reads. */
typedef struct sl_stream_watch {
    const atomic_bool
        *stop; /* set: reads in progress end soon, with CANCELED, and can be resumed */
    _Atomic uint64_t *progress; /* counts pieces of some 100 KiB that were read or unpacked */
} sl_stream_watch;
/* Sets the observer; both members stay until another call. */
void sl_stream_set_watch(sl_stream *stream, const sl_stream_watch *watch);

/*
 * Reads `bytes` at `offset`, or as many as there are: `*got`. Blocks. Errors: IO (also: the file
 * was changed meanwhile), CORRUPT (damaged, truncated), UNSUPPORTED, NOMEM.
 */
sluice_status sl_stream_read_some(sl_stream *stream, uint64_t offset, void *to, size_t bytes,
                                  size_t *got, sluice_error *error);
/* Does the same; CORRUPT if there are fewer. */
sluice_status sl_stream_read(sl_stream *stream, uint64_t offset, void *to, size_t bytes,
                             sluice_error *error);

/* Does the same; `*good`, also of one that fails, is the number of good bytes. */
sluice_status sl_stream_read_good(sl_stream *stream, uint64_t offset, void *to, size_t bytes,
                                  size_t *good, sluice_error *error);

/* Reads on to the end, where the checksums of gzip and zstd show whether all before was right.
 * Blocks. Errors: as of reading. */
sluice_status sl_stream_finish(sl_stream *stream, sluice_error *error);

/* Returns whether a part of the bytes read has no checksum in the file (a zstd frame), nor one by
 * its opener. */
bool sl_stream_lacks_checksum(const sl_stream *stream);

/* Returns the unpacked size of the file, once a read got less than it requested. */
uint64_t sl_stream_bytes(const sl_stream *stream);
/* Returns the bytes unpacked so far, and those read from the file: counted again after each
 * restart. */
uint64_t sl_stream_all_bytes(const sl_stream *stream);
uint64_t sl_stream_file_bytes(const sl_stream *stream);
/* Returns the number of restarts. */
uint64_t sl_stream_restarts(const sl_stream *stream);

#endif
