/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_scans: how many scans a JPEG may have.
 *
 * Purpose: progressive pictures are read whole, once per scan, and a scan may have no bytes to
 * speak of: a small file could keep a worker busy for minutes. Encoders write about ten scans.
 * Threads: those of the decompressor.
 */
#ifndef SL_JPEG_SCANS_H
#define SL_JPEG_SCANS_H

#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

/*
 * For a progress monitor, which libjpeg calls between the rows and blocks of work: ends the work in
 * progress (UNSUPPORTED) when the scans so far are too many for a picture of this size.
 */
void sl_jpeg_scans_check(j_decompress_ptr cinfo, uint64_t max_pixels);

#endif
