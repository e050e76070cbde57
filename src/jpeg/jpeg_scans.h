/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_scans: how much work a JPEG may be, and an end to it when nobody waits for it any more.
 *
 * Purpose: progressive pictures are read whole, once per scan, and a scan may have no bytes to
 * speak of: a file of a kilobyte could keep a worker busy for minutes. What is counted is blocks
 * visited. Encoders write about ten scans: a picture of max_pixels, 4:2:0, comes to 8 visits for 64
 * pixels, in files that spend a bit on each block at least (arithmetic coding does not). Allowed
 * are 10 visits for 64 of max_pixels, and 32 for each byte.
 * Threads: those of the decompressor.
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
    uint64_t visits;          /* of the scans before the current one, and of that */
    int scan;                 /* the current one */
} sl_jpeg_scans;

/* Before the header of a picture of `bytes` is read. */
void sl_jpeg_scans_begin(sl_jpeg_scans *scans, uint64_t max_pixels, uint64_t bytes,
                         const _Atomic bool *stop);
/*
 * For a progress monitor, which libjpeg calls between the rows and blocks of work: ends the work in
 * progress when the scans so far are too much (UNSUPPORTED) or `stop` is set (CANCELED).
 */
void sl_jpeg_scans_check(sl_jpeg_scans *scans, j_decompress_ptr cinfo);

#endif
