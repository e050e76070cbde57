/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn: the eight EXIF orientations as maps of coordinates and of pixels.
 *
 * Purpose: boxes, points, shapes and masks that were annotated in another orientation than the
 * decoded image's are rotated with it. A turn is an orientation, 1 to 8, as EXIF counts them (0 and
 * 1: nothing moves), and the size of the image before it: "mirror columns, mirror rows, then
 * exchange the axes". Coordinates are continuous, pixel (i, j) covers [i, i + 1) x [j, j + 1), so
 * that each map is exact. Threads: pure.
 */
#ifndef SL_TURN_H
#define SL_TURN_H

#include <sluice/common.h>
#include <sluice/dataset.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sl_turn {
    uint32_t orientation;
    uint32_t width, height; /* before the turn */
} sl_turn;

static inline bool sl_turn_is_none(const sl_turn *turn)
{
    return turn->orientation <= 1;
}
/* Returns whether the result has the same size, so that the size does not show the orientation:
 * half turns, mirror images, squares. */
bool sl_turn_keeps_size(const sl_turn *turn);
/* Returns the orientation that undoes another. */
uint32_t sl_turn_inverse(uint32_t orientation);
void sl_turn_point(const sl_turn *turn, double point[2]);
/* Left, top, right, bottom. */
void sl_turn_box(const sl_turn *turn, float box[4]);
/* Returns the turn as a 3 x 3 matrix, row by row; and `matrix` times it. */
void sl_turn_matrix(const sl_turn *turn, double to[9]);
void sl_turn_before(const sl_turn *turn, const double matrix[9], double to[9]);
/* Maps pixels of `bytes` each, without gaps between rows. */
void sl_turn_pixels(const sl_turn *turn, const uint8_t *from, uint8_t *to, size_t bytes);

/*
 * Returns the orientation in which a stored image of this width, height and EXIF orientation has
 * the annotated size: STORED or UPRIGHT; AUTO: both, though they differ; BY_SIZE: neither.
 */
sluice_orientation sl_turn_by_size(const sl_turn *stored, int64_t width, int64_t height);
/* Records CORRUPT with both sizes, if neither fits. */
sluice_status sl_turn_refuse(const sl_turn *stored, const int64_t annotated[2],
                             sluice_error *error);

#endif
