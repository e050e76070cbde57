/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_scans: limits the work of a JPEG, and stops it when it is no longer needed.
 *
 * Purpose: progressive images are read whole, once per scan, and a scan may have almost no bytes: a
 * file of a kilobyte could keep a worker busy for minutes. The work is counted in visited blocks.
 * Encoders write about ten scans: an image of max_pixels, 4:2:0, has 8 visits for 64 pixels, in
 * files that spend at least a bit on each block (arithmetic coding does not). The limit is 10
 * visits for 64 of max_pixels, and 32 for each byte. Threads: those of the decompressor.
 */
#ifndef SL_JPEG_SCANS_H
#define SL_JPEG_SCANS_H

#include <sluice/common.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

typedef struct sl_jpeg_scans {
    uint64_t visits_max;
    const _Atomic bool *stop; /* NULL: never */
    uint64_t visits;          /* of the scans so far, including the current one */
    int scan;                 /* the current one */
} sl_jpeg_scans;

/* Called before the header of an image of `bytes` is read. */
void sl_jpeg_scans_begin(sl_jpeg_scans *scans, uint64_t max_pixels, uint64_t bytes,
                         const _Atomic bool *stop);
/* For a progress monitor, which libjpeg calls between the rows and blocks of work: ends the work
 * in progress when the scans so far are too much (UNSUPPORTED) or `stop` is set (CANCELED). */
void sl_jpeg_scans_check(sl_jpeg_scans *scans, j_decompress_ptr cinfo);

#endif
