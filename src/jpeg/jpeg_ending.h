/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_ending: finds the end of a JPEG of several scans without an end marker.
 *
 * Purpose: phones write trailers in place of the marker, and copies lose the last bytes. An image
 * of one scan ends with its last row, so decoders never look for the marker; one of several scans
 * is read until the marker. Once every coefficient of every component is known, and the current
 * scan is read to its end, the image is complete, regardless of the bytes after it. Bits missing
 * from the last scan are still damage. Never used for arithmetic coding, which reads missing bytes
 * as zeros. Threads: those of the decompressor, which has begun to read scans.
 */
#ifndef SL_JPEG_ENDING_H
#define SL_JPEG_ENDING_H

#include <stdbool.h>
#include <stdio.h>

#include <jpeglib.h>

/* Returns whether the scans so far, including the current one, have all bits of all
 * coefficients. */
bool sl_jpeg_is_complete(j_decompress_ptr cinfo);
/* Returns whether the end of the bytes may serve as the end marker of the current scan: only if
 * it is the last one, which then ends early if it is incomplete. */
bool sl_jpeg_may_end(j_decompress_ptr cinfo);
/* For a progress monitor of an image of several scans with an sl_jpeg_source: ends the source
 * after the scan that completes the image, unless another scan follows. */
void sl_jpeg_ending_check(j_decompress_ptr cinfo);

#endif
