/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack_stream: files that are compressed as a whole, unpacked piece by piece.
 *
 * Purpose: gzip's members and zstd's frames, as many as there are, one behind the other, one Brotli
 * stream, or one snappy block, from whatever pieces of input to whatever space there is. What is
 * accepted: of gzip zeros behind the last member, as padding (as gzip and Python have it), and
 * nothing else, where gzip itself would leave the rest out with a warning; of zstd frames that can
 * be skipped. Checksums are checked where there are any, which gzip always has, Brotli and snappy
 * never. Threads: one at a time. Memory: gzip 50 KiB; snappy 64 KiB; Brotli its window, 16 MiB at
 * most; zstd what a frame's header asks for, at most SL_UNPACK_WINDOW_LOG's window and 1 MiB (the
 * limit of the zstd tool, unless it is told --long or --memory): larger ones are UNSUPPORTED.
 */
#ifndef SL_UNPACK_STREAM_H
#define SL_UNPACK_STREAM_H

#include "unpack_step.h"

#include <sluice/common.h>

#include <stdbool.h>

#define SL_UNPACK_WINDOW_LOG 27 /* 128 MiB */
/* As many first bytes of a file tell. */
#define SL_PACKING_LOOK_BYTES 4U

typedef enum sl_packing {
    SL_PACKING_NONE = 0,
    SL_PACKING_GZIP = 1,
    SL_PACKING_ZSTD = 2,   /* or frames to be skipped, before one */
    SL_PACKING_BROTLI = 3, /* these two are not known by their bytes */
    SL_PACKING_SNAPPY = 4
} sl_packing;

/* By the first bytes of a file: gzip, zstd or none. */
sl_packing sl_packing_of(sl_bytes begin);
/* "gzip", "zstd", "brotli", "snappy". */
const char *sl_packing_name(sl_packing packing);

typedef struct sl_unpack_stream sl_unpack_stream;

/* `packing`: but NONE. Errors: NOMEM; UNSUPPORTED (Brotli, without libbrotlidec). */
sluice_status sl_unpack_stream_open(sl_unpack_stream **stream, sl_packing packing,
                                    sluice_error *error);
/* NULL is fine. */
void sl_unpack_stream_close(sl_unpack_stream *stream);

/*
 * Unpacks until the input is used up or the space is full. Errors: CORRUPT, UNSUPPORTED, NOMEM, of
 * what step->in begins with by now; the stream can only be closed then.
 */
sluice_status sl_unpack_stream_run(sl_unpack_stream *stream, sl_unpack_step *step,
                                   sluice_error *error);
/* Whether all was there when no input is left and nothing came out any more: CORRUPT. */
sluice_status sl_unpack_stream_end(const sl_unpack_stream *stream, sluice_error *error);
/* Whether a part that was begun by now has no checksum: a zstd frame need not have one. */
bool sl_unpack_stream_lacks_checksum(const sl_unpack_stream *stream);

#endif
