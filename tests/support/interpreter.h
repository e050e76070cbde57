/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpreter: applies a program's operations one by one, each on a whole canvas with scalar
 * kernels. Fused execution must give the same result, bit for bit.
 *
 * Canvases belong to the caller (free their pixels). A failure fails the test. Threads: the test's.
 */
#ifndef SL_INTERPRETER_H
#define SL_INTERPRETER_H

#include "program.h"
#include "view.h"

typedef struct canvas {
    uint32_t width, height;
    uint8_t *pixels;
} canvas;

canvas interpreter_canvas(uint32_t width, uint32_t height);
sl_image canvas_view(const canvas *c);
/* Stands in for a codec: XORs each byte with the quality. */
sl_jpeg_function interpreter_jpeg;
/* Returns the program's output for a whole image. */
canvas interpret(const sl_params *params, const canvas *picture);

#endif
