/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view: plain descriptions of bytes and pixels with other owners. The stages exchange these and
 * include nothing of each other.
 */
#ifndef SL_VIEW_H
#define SL_VIEW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct sl_bytes {
    const uint8_t *data;
    size_t size;
} sl_bytes;

/* Some bytes of a file, or of something in it. */
typedef struct sl_extent {
    uint64_t offset, bytes;
} sl_extent;

/* Ranges of an object: `count`, 1 or more, of `bytes` each; with several, each begins `stride`, at
 * least `bytes`, after the one before. */
typedef struct sl_piece {
    uint64_t offset;
    uint32_t bytes;
    uint32_t count, stride;
} sl_piece;

/* Reading includes gaps of at most so many bytes: they cost less than another read. */
#define SL_PIECE_GAP_BYTES 4096U

/* Returns the bytes of all its ranges. */
static inline uint64_t sl_piece_bytes(const sl_piece *piece)
{
    return (uint64_t)piece->bytes * piece->count;
}

/* A rectangle of pixels, integers, origin at the top left. */
typedef struct sl_rect {
    uint32_t x, y, width, height;
} sl_rect;

/*
 * 8-bit interleaved pixels of a part of an image. Pixel (0, 0) of the view is pixel (origin_x,
 * origin_y) of an image of picture_width x picture_height, which is the stored one scaled down by
 * 1/denominator (1, 2, 4, 8: DCT scaling; sizes round up).
 */
typedef struct sl_image {
    const uint8_t *pixels;
    uint32_t width, height;
    uint32_t channels;   /* 3 */
    size_t stride_bytes; /* from one row to the next */
    uint32_t origin_x, origin_y;
    uint32_t picture_width, picture_height;
    uint32_t denominator;
} sl_image;

/* Copies all rows of a view to `to`, back to back. */
static inline void sl_image_copy(const sl_image *view, uint8_t *to)
{
    const size_t row = (size_t)view->width * view->channels;
    for (uint32_t y = 0; y < view->height; y++) {
        memcpy(to + y * row, view->pixels + y * view->stride_bytes, row);
    }
}

#endif
