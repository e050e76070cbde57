/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_ending: where a JPEG of several scans ends whose end marker is missing.
 *
 * Purpose: phones write trailers in the place of the marker, and copies lose the last bytes. A
 * picture of one scan ends with its last row, so that decoders never look for the marker; one of
 * several scans is read until it comes. Once every coefficient of every component is known, and
 * the scan at hand is read to its end, the picture is there, whatever follows. Bits that the last
 * scan lacks are still damage. Never for arithmetic coding, which takes missing bytes for zeros.
 * Threads: those of the decompressor, which has begun to read scans.
 */
#ifndef SL_JPEG_ENDING_H
#define SL_JPEG_ENDING_H

#include <stdbool.h>
#include <stdio.h>

#include <jpeglib.h>

/* Whether the scans so far, the one at hand included, have all bits of all coefficients. */
bool sl_jpeg_is_complete(j_decompress_ptr cinfo);
/* Whether bytes past the end are an end marker for the scan that is being read: if it is the last
 * one, which then ends early unless it is whole. */
bool sl_jpeg_may_end(j_decompress_ptr cinfo);
/*
 * For a progress monitor of a picture of several scans, whose source is an sl_jpeg_source: behind
 * the scan that completes the picture, the source ends, unless another scan follows.
 */
void sl_jpeg_ending_check(j_decompress_ptr cinfo);

#endif
