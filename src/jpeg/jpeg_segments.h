/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_segments: which of a JPEG's application and comment segments go with a re-tiled one.
 *
 * Purpose: JFIF and Adobe segments say what the colours mean, so they always go along. The others
 * (EXIF, ICC profile, thumbnails, comments, ...) go along in their order, byte for byte, or are
 * dropped; the EXIF orientation then stays, in the smallest segment that can say it. Only segments
 * in front of the first scan count: no reader looks for them elsewhere.
 * Threads: those of the codec objects.
 */
#ifndef SL_JPEG_SEGMENTS_H
#define SL_JPEG_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

/* Before the header is read: makes libjpeg keep what will be wanted. */
void sl_jpeg_segments_save(j_decompress_ptr from, bool drop);
/* After the header was read: how many there are. */
uint32_t sl_jpeg_segments_count(j_decompress_ptr from);
/*
 * Writes the first `count`, after jpeg_write_coefficients. `orientation` is the picture's (1..8),
 * written when `drop` leaves nothing else to say it.
 */
void sl_jpeg_segments_write(j_compress_ptr to, j_decompress_ptr from, uint32_t count, bool drop,
                            uint32_t orientation);
/* The smallest EXIF segment that says it. */
void sl_jpeg_orientation_write(j_compress_ptr to, uint32_t orientation);

#endif
