/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame: unpacks fields that are stored as a zstd frame.
 * Threads: one owner thread. Memory: made by open; unpacking allocates nothing.
 */
#ifndef SL_FRAME_H
#define SL_FRAME_H

#include "scratch.h"
#include "view.h"

typedef struct ZSTD_DCtx_s sl_frame;

sluice_status sl_frame_open(sl_frame **frame, sluice_error *error);
void sl_frame_close(sl_frame *frame);

/*
 * `packed` must be exactly one frame that says how large its contents are. `*unpacked` lies in
 * scratch. Errors: CORRUPT, UNSUPPORTED (no size, or above max_bytes), NOMEM.
 */
sluice_status sl_frame_unpack(sl_frame *frame, sl_bytes packed, uint64_t max_bytes,
                              sl_scratch *scratch, sl_bytes *unpacked, sluice_error *error);

#endif
