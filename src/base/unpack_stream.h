/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack_stream: files that are compressed as a whole, unpacked piece by piece.
 *
 * Purpose: any number of gzip members or zstd frames, back to back, one Brotli stream, or one
 * snappy block, from pieces of input of any size to output of any size. Accepted at the end: for
 * gzip zeros after the last member, as padding (like gzip and Python), and nothing else, although
 * gzip itself would ignore the rest with a warning; for zstd frames that can be skipped. Checksums
 * are checked if they exist: gzip always has them, Brotli and snappy never. Threads: one at a time.
 * Memory: gzip 50 KiB; snappy 64 KiB; Brotli its window, at most 16 MiB; zstd the size in a frame's
 * header, at most SL_UNPACK_WINDOW_LOG's window and 1 MiB (the limit of the zstd tool without
 * --long or --memory): larger ones are UNSUPPORTED.
 */
#ifndef SL_UNPACK_STREAM_H
#define SL_UNPACK_STREAM_H

#include "unpack_step.h"

#include <sluice/common.h>

#include <stdbool.h>

#define SL_UNPACK_WINDOW_LOG 27 /* 128 MiB */
/* First bytes of a file that identify its packing. */
#define SL_PACKING_LOOK_BYTES 4U

typedef enum sl_packing {
    SL_PACKING_NONE = 0,
    SL_PACKING_GZIP = 1,
    SL_PACKING_ZSTD = 2,   /* or skippable frames, before one */
    SL_PACKING_BROTLI = 3, /* these two cannot be recognised by their bytes */
    SL_PACKING_SNAPPY = 4
} sl_packing;

/* Returns gzip, zstd or none, by the first bytes of a file. */
sl_packing sl_packing_of(sl_bytes begin);
/* Returns "gzip", "zstd", "brotli", "snappy". */
const char *sl_packing_name(sl_packing packing);

typedef struct sl_unpack_stream sl_unpack_stream;

/* Opens a stream; `packing` must not be NONE. Errors: NOMEM; UNSUPPORTED (Brotli, without
 * libbrotlidec). */
sluice_status sl_unpack_stream_open(sl_unpack_stream **stream, sl_packing packing,
                                    sluice_error *error);
/* Closes a stream; NULL is a no-op. */
void sl_unpack_stream_close(sl_unpack_stream *stream);

/*
 * Unpacks until the input is used up or the space is full. Errors: CORRUPT, UNSUPPORTED, NOMEM,
 * about the present beginning of step->in; the stream can only be closed then.
 */
sluice_status sl_unpack_stream_run(sl_unpack_stream *stream, sl_unpack_step *step,
                                   sluice_error *error);
/* Checks that the data are complete, when no input is left and nothing more came out. Errors:
 * CORRUPT. */
sluice_status sl_unpack_stream_end(const sl_unpack_stream *stream, sluice_error *error);
/* Returns whether a part begun so far has no checksum: a zstd frame need not have one. */
bool sl_unpack_stream_lacks_checksum(const sl_unpack_stream *stream);

#endif
