/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: what a compressed file holds, to be read from front to back.
 *
 * Purpose: bytes of what comes out of a file, by their offset in it. Reading behind the front
 * unpacks on, and keeps the last bytes that came out: a read of those costs a copy; one before them
 * begins anew with the file, which is right and slow. So readers have to ask in about the order of
 * offsets. How much comes out is known when all of it did, unless it is told; then anything else is
 * damage, and no more is unpacked than that. An offset in an error is that of the
 * file. A file that is not the same any more (file.h) is refused, whenever a piece of it is read;
 * once something is damaged, everything from there on is refused at once. Reads that fail are tried
 * again (retry.h), and a handle that went stale is opened again.
 * Threads: one at a time. Memory: 256 KiB for reading, the unpacker's (base/unpack_stream.h), and
 * the window, whose chunks are taken as they are needed.
 */
#ifndef SL_STREAM_H
#define SL_STREAM_H

#include "file.h"
#include "store.h"
#include "unpack_stream.h"

#include <stdatomic.h>

/* What the window is counted in. */
#define SL_STREAM_CHUNK_BYTES ((size_t)256 << 10)

typedef struct sl_stream sl_stream;

/* How a file is compressed, and what it must be. */
typedef struct sl_packed {
    sl_packing packing;
    sl_file_identity file;
    uint64_t bytes; /* that must come out of it; 0: any number */
    bool is_summed; /* its opener knows of its checksums: it lacks none of its own */
} sl_packed;

/* The path is copied. `chunks`, 1 or more: the bytes of all but one of them can be read again.
 * Errors: IO (also: it is another file), NOMEM. */
sluice_status sl_stream_open(sl_stream **stream, const char *path, const sl_packed *packed,
                             uint32_t chunks, sluice_error *error);
/* The same over a file that is open, and stays so as long as the stream does. */
sluice_status sl_stream_open_over(sl_stream **stream, const sl_handle *from,
                                  const sl_packed *packed, uint32_t chunks, sluice_error *error);
/* NULL is fine. */
void sl_stream_close(sl_stream *stream);

/* Who looks on while a stream is read. */
typedef struct sl_stream_watch {
    const atomic_bool
        *stop; /* set: what goes on ends soon, with CANCELED, and may be gone on with */
    _Atomic uint64_t *progress; /* counts pieces of some 100 KiB that were read or came out */
} sl_stream_watch;
/* From here on; both stay until another call. */
void sl_stream_set_watch(sl_stream *stream, const sl_stream_watch *watch);

/*
 * Reads `bytes` at `offset`, or as many as there are: `*got`. Blocks. Errors: IO (also: the file
 * was changed meanwhile), CORRUPT (damaged, cut short), UNSUPPORTED, NOMEM.
 */
sluice_status sl_stream_read_some(sl_stream *stream, uint64_t offset, void *to, size_t bytes,
                                  size_t *got, sluice_error *error);
/* As before; CORRUPT where there are fewer. */
sluice_status sl_stream_read(sl_stream *stream, uint64_t offset, void *to, size_t bytes,
                             sluice_error *error);

/* The same; `*good`, also of one that fails, is how many bytes came out right. */
sluice_status sl_stream_read_good(sl_stream *stream, uint64_t offset, void *to, size_t bytes,
                                  size_t *good, sluice_error *error);

/* Reads on to the end: what stands there, the checksums of gzip and zstd, says whether all before
 * it was right. Blocks. Errors: as of reading. */
sluice_status sl_stream_finish(sl_stream *stream, sluice_error *error);

/* Whether a part of what was read has no checksum in the file (a zstd frame), and is not summed. */
bool sl_stream_lacks_checksum(const sl_stream *stream);

/* How much comes out of the file, once a read got less than it asked for. */
uint64_t sl_stream_bytes(const sl_stream *stream);
/* Bytes that came out so far, and that were read from the file: again where it began anew. */
uint64_t sl_stream_all_bytes(const sl_stream *stream);
uint64_t sl_stream_file_bytes(const sl_stream *stream);
/* How often it had to begin anew. */
uint64_t sl_stream_restarts(const sl_stream *stream);

#endif
