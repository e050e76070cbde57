/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_header: what our reader makes of a JPEG's header (jpeg_frame.h), held against libjpeg;
 * files put together from pieces, and whether two have the same pixels. Threads: pure; what fails a
 * test, the test's.
 */
#ifndef SL_JPEG_HEADER_H
#define SL_JPEG_HEADER_H

#include "jpeg_frame.h"

/*
 * What libjpeg sees otherwise than our reader, which took the header: it gives up, warns, or reads
 * another value. NULL: nothing, or it was not taken (`*taken`).
 */
const char *jpeg_header_difference(sl_bytes jpeg, bool *taken);

/* A file put together from pieces. */
typedef struct jpeg_pieces {
    uint8_t data[1 << 16];
    size_t size;
} jpeg_pieces;

void jpeg_put(jpeg_pieces *pieces, const void *data, size_t size);
void jpeg_put_segment(jpeg_pieces *pieces, uint8_t marker, const void *data, size_t size);

/* libjpeg decodes both to the same, the second one without a warning. */
void jpeg_expect_same_pixels(sl_bytes a, sl_bytes b);

#endif
