/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp_kernels: the inner loops of warp.h, per instruction set.
 *
 * Purpose: one row of the output, or a part of it. warp_scalar.c is the reference; every variant
 * gives the same bits. Points are continuous coordinates in the picture and all inside of it, what
 * they need is in the view; kernels read nothing outside of the view and write just their pixels.
 * Threads: pure; the tables are constant.
 */
#ifndef SL_WARP_KERNELS_H
#define SL_WARP_KERNELS_H

#include "interpolation.h"
#include "simd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A view of a picture: its first pixel is (origin_x, origin_y). */
typedef struct sl_warp_source {
    const uint8_t *pixels;
    size_t stride_bytes;
    int32_t origin_x, origin_y, width, height;
    int32_t picture_width, picture_height;
} sl_warp_source;

/* Where the pixels of a row come from: for output column i, (factor i' + row) + offset with i' = i
 * + 0.5; of x, y and w. */
typedef struct sl_warp_line {
    double factor[3], row[3], offset[3];
    bool divide; /* x and y by w */
} sl_warp_line;

/* The same in 16.16 fixed point: of the first pixel, and the step to the next. */
typedef struct sl_warp_walk {
    int64_t x, y, step_x, step_y;
} sl_warp_walk;

typedef struct sl_warp_kernels {
    /* Finds coordinates of output columns [first, first + count). */
    void (*locate)(const sl_warp_line *line, uint32_t first, uint32_t count, double *xs,
                   double *ys);
    /* inside[i] = 0 unless point i is in [0, width) x [0, height). Clears up to 3 bytes behind. */
    void (*screen)(const double *xs, const double *ys, uint32_t count, double width, double height,
                   uint8_t *inside);
    /* By sl_interpolation, up to SL_BICUBIC. */
    void (*sample[SL_BICUBIC + 1])(const sl_warp_source *source, const double *xs, const double *ys,
                                   uint32_t count, uint8_t *out);
    /* Does the same for columns [first, first + count) of an affine map, without coordinates; or
     * NULL. */
    void (*affine[SL_BICUBIC + 1])(const sl_warp_source *source, const sl_warp_line *line,
                                   uint32_t first, uint32_t count, uint8_t *out);
    void (*walk)(const sl_warp_source *source, const sl_warp_walk *walk, uint32_t count,
                 uint8_t *out);
} sl_warp_kernels;

/* Returns the best table that is at most `simd`. */
const sl_warp_kernels *sl_warp_kernels_for(sl_simd simd);

extern const sl_warp_kernels sl_warp_scalar;
#if defined(__x86_64__)
extern const sl_warp_kernels sl_warp_avx2;
/* Of that table. */
void sl_warp_bilinear_avx2(const sl_warp_source *source, const double *xs, const double *ys,
                           uint32_t count, uint8_t *out);
void sl_warp_bicubic_avx2(const sl_warp_source *source, const double *xs, const double *ys,
                          uint32_t count, uint8_t *out);
/* Returns false, with nothing done, unless one coordinate is in the middle of pixels, a step for
 * each. */
bool sl_warp_shear_avx2(const sl_warp_source *source, const sl_warp_line *line, uint32_t first,
                        uint32_t count, uint8_t *out);
void sl_warp_affine_bilinear_avx2(const sl_warp_source *source, const sl_warp_line *line,
                                  uint32_t first, uint32_t count, uint8_t *out);
void sl_warp_affine_bicubic_avx2(const sl_warp_source *source, const sl_warp_line *line,
                                 uint32_t first, uint32_t count, uint8_t *out);
#elif defined(__aarch64__)
extern const sl_warp_kernels sl_warp_neon;
#endif

#endif
