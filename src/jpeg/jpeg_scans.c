/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_scans.h"

#include "jpeg_error.h"

enum { SCANS_MAX = 500, VISITS_PER_BYTE = 32, VISITS_PER_BLOCK = 10, BLOCK_PIXELS = 64 };

void sl_jpeg_scans_begin(sl_jpeg_scans *scans, uint64_t max_pixels, uint64_t bytes,
                         const _Atomic bool *stop)
{
    /* max_pixels is at most 2^32, and bytes are in memory, so nothing overflows. */
    *scans = (sl_jpeg_scans){.visits_max = max_pixels / BLOCK_PIXELS * VISITS_PER_BLOCK +
                                           bytes * VISITS_PER_BYTE,
                             .stop = stop};
}

/* Returns the visits of the current scan's blocks. */
static uint64_t visits_of(const struct jpeg_decompress_struct *cinfo)
{
    uint64_t visits = 0;
    for (int i = 0; i < cinfo->comps_in_scan; i++) {
        const jpeg_component_info *component = cinfo->cur_comp_info[i];
        visits += (uint64_t)component->width_in_blocks * component->height_in_blocks;
    }
    return visits;
}

void sl_jpeg_scans_check(sl_jpeg_scans *scans, j_decompress_ptr cinfo)
{
    /* Relaxed: a decoder that sees it late does a little more work. */
    if (scans->stop != NULL && atomic_load_explicit(scans->stop, memory_order_relaxed)) {
        sl_jpeg_fail(cinfo, SLUICE_CANCELED, "the run is being stopped");
    }
    if (cinfo->input_scan_number == scans->scan) {
        return;
    }
    scans->scan = cinfo->input_scan_number;
    scans->visits += visits_of(cinfo);
    if (scans->scan > SCANS_MAX || (scans->scan > 1 && scans->visits > scans->visits_max)) {
        sl_jpeg_fail(cinfo, SLUICE_UNSUPPORTED,
                     "too many scans for an image of this size and so few bytes");
    }
}
