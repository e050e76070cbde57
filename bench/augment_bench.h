/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_bench: the rows of the measurement, one per operation, one file per group of operations.
 * To add an operation, write a function and a line in its file's table; a new file also needs a
 * line in augment_bench.c and in CMakeLists.txt.
 */
#ifndef AUGMENT_BENCH_H
#define AUGMENT_BENCH_H

#include "scratch.h"
#include "simd.h"

#include <stddef.h>
#include <stdint.h>

enum { BENCH_SIDE = 224, BENCH_PIXELS = BENCH_SIDE * BENCH_SIDE };

/* RGB, interleaved, no padding: an image, and space for a second one. */
typedef struct bench_canvas {
    uint8_t *pixels, *other;
    uint32_t width, height;
    sl_scratch *scratch; /* unchanged after an operation */
} bench_canvas;

typedef struct bench_operation {
    const char *name;
    double bytes; /* read and written per pixel, at least */
    /* Processes the canvas once; may change `pixels` without restoring them. */
    void (*run)(sl_simd simd, const bench_canvas *canvas);
} bench_operation;

/* A name of NULL ends a table. */
extern const bench_operation bench_pixel_operations[];

#endif
