/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpreter: what a program comes to, one operation after the other, each by itself on a whole
 * canvas and with scalar kernels: what all that is fused has to equal, bit for bit.
 *
 * Canvases belong to the caller (free their pixels). Tests end where something fails. Threads: the
 * test's.
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
/* In the place of a codec: each byte xor the quality. */
sl_jpeg_function interpreter_jpeg;
/* The program's output of a whole picture. */
canvas interpret(const sl_params *params, const canvas *picture);

#endif
