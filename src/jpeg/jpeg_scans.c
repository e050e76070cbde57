/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_scans.h"

#include "jpeg_error.h"

enum {
    SCANS_MAX = 500,
    /* scans x pixels stay below this many pictures of the largest size allowed */
    SCAN_WORK_MAX = 64
};

void sl_jpeg_scans_check(j_decompress_ptr cinfo, uint64_t max_pixels)
{
    uint64_t scans = cinfo->input_scan_number > 0 ? (uint64_t)cinfo->input_scan_number : 0;
    uint64_t pixels = (uint64_t)cinfo->image_width * cinfo->image_height;
    if (scans > SCANS_MAX || scans * pixels / SCAN_WORK_MAX > max_pixels) {
        sl_jpeg_fail(cinfo, SLUICE_UNSUPPORTED, "more scans than a picture of this size may have");
    }
}
