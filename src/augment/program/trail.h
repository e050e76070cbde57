/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trail: maps points and boxes of an image through a drawn program.
 *
 * Purpose: updated while a program is drawn (geometry.h), a step at a time, it maps continuous
 * coordinates of the image (mapping.h) to those of the output, and records the part of the image
 * that stays visible. Borders that repeat the image are skipped: points move with the image itself.
 *
 * Boxes: the four corners are moved, by all steps at once; parts cut off by earlier steps are cut
 * off; the box about the rest is clipped to the shown output, once. So a box grows when it is
 * rotated, but not again with each rotation.
 *
 * Invariants: `shown` is the rest after crops, resizes, flips and borders since the last warp, an
 * upright rectangle; `corners`, convex, the rest before that warp. Both in coordinates of the
 * present image. Shapes with more corners are dropped at the next warp: boxes are then larger than
 * their rest. Threads: pure. Memory: the caller's.
 */
#ifndef SL_TRAIL_H
#define SL_TRAIL_H

#include <stdbool.h>
#include <stdint.h>

enum { SL_TRAIL_CORNERS = 32, SL_TRAIL_SHOWN_MAX = SL_TRAIL_CORNERS + 8 };

typedef struct sl_trail {
    uint32_t picture_width, picture_height;
    double matrix[9]; /* (x', y', w') = matrix * (x, y, 1), x and y of the picture; row-major */
    bool folded;      /* mapped by a singular matrix: nothing can be followed */
    /* across, down: odd number of flips; exactly one of the two is set if the matrix mirrors */
    bool flipped[2];
    double shown[4];       /* left, top, right, bottom; empty: nothing is shown */
    uint32_t corner_count; /* 0: there was no warp, or nothing was shown before it */
    double corners[SL_TRAIL_CORNERS][2];
} sl_trail;

void sl_trail_begin(sl_trail *trail, uint32_t width, uint32_t height);
/* The steps of geometry.h. Sizes are those of the image after the step; a flip's is `size` of its
 * axis. */
void sl_trail_crop(sl_trail *trail, int64_t x, int64_t y, uint32_t width, uint32_t height);
void sl_trail_resize(sl_trail *trail, double across, double down);
void sl_trail_flip(sl_trail *trail, bool vertical, uint32_t size);
/* `matrix`: as sl_warp's. */
void sl_trail_warp(sl_trail *trail, const double matrix[9], uint32_t width, uint32_t height);

/* Position of a box of the image, left, top, right, bottom. */
typedef struct sl_trail_box {
    double box[4];
    double whole[4]; /* bounding box of the moved corners, before clipping */
} sl_trail_box;
/* False: nothing of it is shown. */
bool sl_trail_move_box(const sl_trail *trail, const float from[4], sl_trail_box *to);
/* Moves a point. False: it is not shown, while left <= x < right would be; `to` is its position
 * anyway: far away if a warp has it behind the eye. */
bool sl_trail_move_point(const sl_trail *trail, const double from[2], double to[2]);
/* Returns whether the output shows the image there. */
bool sl_trail_shows(const sl_trail *trail, const double at[2]);
/* Finds the whole shown part, as a convex polygon. Returns the number of its corners, 0: nothing is
 * shown. */
uint32_t sl_trail_shown(const sl_trail *trail, double corners[SL_TRAIL_SHOWN_MAX][2]);
/* Finds the shown pixels' centres of the output's line at `y`: `*from` up to `*to`, of `width`. */
void sl_trail_row(const sl_trail *trail, double y, uint32_t width, uint32_t *from, uint32_t *to);
/* Finds the box of the image, clipped to it, that an output of that size shows. */
void sl_trail_seen(const sl_trail *trail, uint32_t width, uint32_t height, double box[4]);
/* Finds the pixels of the output per pixel of the image at `at`, of the image: across and down.
 * Zero if a warp has that place behind the eye. */
void sl_trail_scale(const sl_trail *trail, const double at[2], double scale[2]);
/* Returns whether left and right are exchanged, in any rotation. */
bool sl_trail_is_mirrored(const sl_trail *trail);
/* Inverts: to * (x, y, 1) is in the image if (x, y) is in the output; false: `folded`. */
bool sl_trail_inverse(const sl_trail *trail, double to[9]);

#endif
