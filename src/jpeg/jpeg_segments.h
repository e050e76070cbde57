/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_segments: the application and comment segments that are copied to a re-tiled JPEG.
 *
 * Purpose: JFIF and Adobe segments define the colours, so they are always copied. The others (EXIF,
 * ICC profile, thumbnails, comments, ...) are copied in their order, byte for byte, or dropped; the
 * EXIF orientation is then kept in the smallest possible segment. Only segments before the first
 * scan count: no reader looks for them elsewhere. Threads: those of the codec objects.
 */
#ifndef SL_JPEG_SEGMENTS_H
#define SL_JPEG_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

/* Makes libjpeg keep the needed segments; call it before the header is read. */
void sl_jpeg_segments_save(j_decompress_ptr from, bool drop);
/* Returns the number of segments, after the header was read. */
uint32_t sl_jpeg_segments_count(j_decompress_ptr from);
/* Writes the first `count`, after jpeg_write_coefficients. `orientation` is the image's (1..8),
 * written if `drop` leaves no other segment with it. */
void sl_jpeg_segments_write(j_compress_ptr to, j_decompress_ptr from, uint32_t count, bool drop,
                            uint32_t orientation);
/* Writes the smallest EXIF segment with the orientation. */
void sl_jpeg_orientation_write(j_compress_ptr to, uint32_t orientation);

#endif
