/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_bench: the rows of the measurement, an operation each, a file of them for a group of
 * operations. To add one: a function and a line in its file's table; a new file has a line in
 * augment_bench.c and in CMakeLists.txt.
 */
#ifndef AUGMENT_BENCH_H
#define AUGMENT_BENCH_H

#include "scratch.h"
#include "simd.h"

#include <stddef.h>
#include <stdint.h>

enum { BENCH_SIDE = 224, BENCH_PIXELS = BENCH_SIDE * BENCH_SIDE };

/* RGB, interleaved, no padding: a picture, and room for a second one. */
typedef struct bench_canvas {
    uint8_t *pixels, *other;
    uint32_t width, height;
    sl_scratch *scratch; /* as it was found afterwards */
} bench_canvas;

typedef struct bench_operation {
    const char *name;
    double bytes; /* that are read and written, at least, for a pixel */
    /* Once over the canvas; `pixels` may be changed, and are not restored. */
    void (*run)(sl_simd simd, const bench_canvas *canvas);
} bench_operation;

/* A name of NULL ends a table. */
extern const bench_operation bench_pixel_operations[];

#endif
