/* SPDX-License-Identifier: Apache-2.0 */
/*
 * canvas_make: small images of all kinds, for operations on whole images (blur, sharpness, JPEG).
 *
 * Sizes are ordinary, a few pixels, or long and thin. Contents are noise (which shows every
 * rounding), black and white, or a smooth image. The memory ends with the pixels, so that the
 * address sanitizer reports reads outside them.
 * Functions abort on failure. Threads: none.
 */
#ifndef SL_CANVAS_MAKE_H
#define SL_CANVAS_MAKE_H

#include "philox.h"
#include "simd.h"
#include "view.h"

#include <stddef.h>
#include <stdint.h>

typedef struct canvas {
    uint8_t *pixels;
    uint32_t width, height;
    size_t bytes;
    sl_image view; /* the whole canvas */
} canvas;

/* Makes canvas `number`; the number selects the kinds of size and contents in turn. */
canvas canvas_make(sl_random *random, uint32_t number, uint32_t side_max);
canvas canvas_of(sl_random *random, uint32_t width, uint32_t height, uint32_t contents);
/* Makes a canvas of the size of `like` with undefined contents. */
canvas canvas_empty(const canvas *like);
void canvas_free(canvas *made);

/* Iterates over the levels this processor supports, starting at SL_SIMD_SCALAR; 0 at the end. */
sl_simd canvas_next_level(sl_simd level);

/*
 * Canvases and one line of text about each, for an oracle (pillow.h) that takes all at once. Its
 * one question is `batch`: input 0 holds the pixels of all canvases, input 1 the lines, each
 * beginning with width and height. The answer holds the pixels of all results.
 */
typedef struct canvas_batch {
    uint8_t *pixels;
    char *lines;
    size_t bytes, line_bytes;
} canvas_batch;

void canvas_batch_add(canvas_batch *batch, const canvas *in, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns the results, as many bytes as the inputs; valid until the batch is freed. */
const uint8_t *canvas_batch_answer(canvas_batch *batch);
void canvas_batch_free(canvas_batch *batch);

#endif
