/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_header: compares our reader of JPEG headers (jpeg_frame.h) with libjpeg; builds files from
 * pieces and compares the pixels of two files. Threads: pure; functions that fail a test run on the
 * test's.
 */
#ifndef SL_JPEG_HEADER_H
#define SL_JPEG_HEADER_H

#include "jpeg_frame.h"

/*
 * Describes how libjpeg's view of a header that our reader accepted differs: it gives up, warns, or
 * reads another value. NULL: no difference, or not accepted (`*taken`).
 */
const char *jpeg_header_difference(sl_bytes jpeg, bool *taken);

/* A file built from pieces. */
typedef struct jpeg_pieces {
    uint8_t data[1 << 16];
    size_t size;
} jpeg_pieces;

void jpeg_put(jpeg_pieces *pieces, const void *data, size_t size);
void jpeg_put_segment(jpeg_pieces *pieces, uint8_t marker, const void *data, size_t size);

/* Expects libjpeg to decode both to the same pixels, the second without a warning. */
void jpeg_expect_same_pixels(sl_bytes a, sl_bytes b);

#endif
