/* SPDX-License-Identifier: Apache-2.0 */
/*
 * canvas_make: small pictures of all kinds, for what works on whole ones (blur, sharpness, JPEG).
 *
 * Sizes are ordinary, a few pixels, or long and thin; contents noise (where every rounding shows),
 * black and white, or a picture's. Memory is as long as the pixels, so that the address sanitizer
 * sees what is read beside them. Functions abort on failure. Threads: none.
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
    sl_image view; /* of all of it */
} canvas;

/* `number`: of the canvas, which chooses the kinds of size and contents in turn. */
canvas canvas_make(sl_random *random, uint32_t number, uint32_t side_max);
canvas canvas_of(sl_random *random, uint32_t width, uint32_t height, uint32_t contents);
/* As large as `like`; its contents are not set. */
canvas canvas_empty(const canvas *like);
void canvas_free(canvas *made);

/* The levels that this processor has: from SL_SIMD_SCALAR on. 0 at the end. */
sl_simd canvas_next_level(sl_simd level);

/*
 * Canvases and a line about each, for an oracle (pillow.h) that takes all at once: its one question
 * is `batch`, input 0 are the pixels of all canvases, input 1 the lines, which begin with width and
 * height, and its answer are the pixels of all results.
 */
typedef struct canvas_batch {
    uint8_t *pixels;
    char *lines;
    size_t bytes, line_bytes;
} canvas_batch;

void canvas_batch_add(canvas_batch *batch, const canvas *in, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The results, as many bytes as went in; until it is freed. */
const uint8_t *canvas_batch_answer(canvas_batch *batch);
void canvas_batch_free(canvas_batch *batch);

#endif
