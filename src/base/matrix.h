/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix: 3 x 3 matrices that map points of a plane: (x', y', w') = m * (x, y, 1), row by row.
 *
 * Purpose: composing and inverting warps, for code that moves pixels, boxes or shapes. Each sum is
 * in the order of its columns, so that all get the same bits. Threads: pure.
 */
#ifndef SL_MATRIX_H
#define SL_MATRIX_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* to = a * b: b is applied first. `to` may be either. */
static inline void sl_matrix_multiply(double to[9], const double a[9], const double b[9])
{
    double product[9];
    for (size_t row = 0; row < 3; row++) {
        for (size_t column = 0; column < 3; column++) {
            product[row * 3 + column] = a[row * 3] * b[column] + a[row * 3 + 1] * b[3 + column] +
                                        a[row * 3 + 2] * b[6 + column];
        }
    }
    memcpy(to, product, sizeof(product));
}

/* Returns the determinant. Its sign is the map's orientation wherever the map's weight is positive,
 * so it shows whether a perspective mirrors, too; the upper left 2 x 2 shows that for affine maps
 * only. */
static inline double sl_matrix_determinant(const double m[9])
{
    return m[0] * (m[4] * m[8] - m[5] * m[7]) + m[1] * (m[5] * m[6] - m[3] * m[8]) +
           m[2] * (m[3] * m[7] - m[4] * m[6]);
}

/* Returns false if it has no inverse, or none of finite numbers; `to` is undefined then. */
static inline bool sl_matrix_invert(const double m[9], double to[9])
{
    const double adjugate[9] = {
        m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
        m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
        m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]};
    const double determinant = m[0] * adjugate[0] + m[1] * adjugate[3] + m[2] * adjugate[6];
    bool finite = isfinite(determinant);
    for (size_t i = 0; i < 9; i++) {
        to[i] = adjugate[i] / determinant;
        finite = finite && isfinite(to[i]);
    }
    return finite;
}

#endif
