/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame: fields that are stored as one zstd frame.
 *
 * Purpose: the one place that uses zstd, and the one check of frames: exactly one, whose header has
 * the content size, with exactly that content. Reports are of stage "frame"; an offset counts from
 * the frame's first byte.
 *
 * Threads: a context belongs to one thread; the rest is pure. Memory: a context is made by open and
 * counted; unpacking allocates nothing.
 */
#ifndef SL_FRAME_H
#define SL_FRAME_H

#include "scratch.h"
#include "view.h"

typedef struct ZSTD_DCtx_s sl_frame;

sluice_status sl_frame_open(sl_frame **frame, sluice_error *error);
/* Closes a context; NULL is a no-op. */
void sl_frame_close(sl_frame *frame);

/*
 * Returns the content size by the frame's headers. Errors: CORRUPT (not a frame, truncated, bytes
 * behind it), UNSUPPORTED (no size, or one above max_bytes).
 */
sluice_status sl_frame_size(sl_bytes packed, uint64_t max_bytes, uint64_t *size,
                            sluice_error *error);
/* Returns the content size in the header of a frame that begins with these bytes; 0: none. */
uint64_t sl_frame_claim(sl_bytes head);
/* Unpacks to `to`, which has space for the `size` bytes of sl_frame_size. CORRUPT if the content
 * has another size. `frame` NULL: with a context for this call, for tools. */
sluice_status sl_frame_unpack_to(sl_frame *frame, sl_bytes packed, void *to, uint64_t size,
                                 sluice_error *error);
/* Values stored as such a frame (packed_value.h). */
extern const struct sl_value_packing sl_value_packing_zstd;

/* Returns the space that packing `bytes` may need. */
size_t sl_frame_bound(size_t bytes);
/* Packs to `to` (of sl_frame_bound(bytes.size)) at `level`, 1..19; `*size` of the frame. The same
 * bytes, level and version of zstd give the same frame. Errors: NOMEM. */
sluice_status sl_frame_pack(sl_bytes bytes, int level, void *to, size_t *size, sluice_error *error);

#endif
