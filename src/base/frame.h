/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame: fields that are stored as one zstd frame.
 *
 * Purpose: the one place that knows zstd, and the one verdict on frames: exactly one, which says
 * how large its contents are, and holds just that. Reports are of stage "frame"; an offset counts
 * from the frame's first byte.
 * Threads: a context belongs to one thread; the rest is pure.
 * Memory: a context is made by open and counted; unpacking allocates nothing.
 */
#ifndef SL_FRAME_H
#define SL_FRAME_H

#include "scratch.h"
#include "view.h"

typedef struct ZSTD_DCtx_s sl_frame;

sluice_status sl_frame_open(sl_frame **frame, sluice_error *error);
/* NULL is fine. */
void sl_frame_close(sl_frame *frame);

/*
 * The size of the contents, by the frame's headers. Errors: CORRUPT (no frame, cut short, bytes
 * behind it), UNSUPPORTED (it does not say its size, or that is above max_bytes).
 */
sluice_status sl_frame_size(sl_bytes packed, uint64_t max_bytes, uint64_t *size,
                            sluice_error *error);
/* What a frame that begins with these bytes says of the size of its contents; 0: nothing. */
uint64_t sl_frame_claim(sl_bytes head);
/* Unpacks to `to`, which has space for the `size` bytes that sl_frame_size gave. CORRUPT when that
 * is not what comes out. `frame` NULL: with a context for this call, for tools. */
sluice_status sl_frame_unpack_to(sl_frame *frame, sl_bytes packed, void *to, uint64_t size,
                                 sluice_error *error);
/* Values that are such a frame (packed_value.h). */
extern const struct sl_value_packing sl_value_packing_zstd;

/* Space that packing `bytes` may need. */
size_t sl_frame_bound(size_t bytes);
/* Packs to `to` (sl_frame_bound(bytes.size) of space) at `level`, 1..19; `*size` of the frame. The
 * same bytes, level and version of zstd give the same frame. Errors: NOMEM. */
sluice_status sl_frame_pack(sl_bytes bytes, int level, void *to, size_t *size, sluice_error *error);

#endif
