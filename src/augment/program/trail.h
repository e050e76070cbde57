/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trail: where a drawn program takes what belongs to a picture: points and boxes.
 *
 * Purpose: kept up while a program is drawn (geometry.h), a step at a time, it maps continuous
 * coordinates of the picture (mapping.h) to those of the output, and knows what of the picture the
 * steps left to be seen. Borders that repeat the picture are moved over: what belongs to it is
 * where the picture itself is.
 * Boxes: the four corners are moved, by all steps at once; what earlier steps cut off is cut off
 * of them; the box about what is left is clipped to what the output shows, once. So a box grows
 * where it is turned, but not again with each turn.
 * Invariants: `shown` is what crops, resizes, flips and borders since the last warp left, an
 * upright rectangle; `corners`, convex, what was left before that warp. Both in coordinates of the
 * picture as it is by now. What has more corners than that is forgotten at the next warp: boxes are
 * larger then than what is left of them.
 * Threads: pure. Memory: the caller's.
 */
#ifndef SL_TRAIL_H
#define SL_TRAIL_H

#include <stdbool.h>
#include <stdint.h>

enum { SL_TRAIL_CORNERS = 32, SL_TRAIL_SHOWN_MAX = SL_TRAIL_CORNERS + 8 };

typedef struct sl_trail {
    uint32_t picture_width, picture_height;
    double matrix[9]; /* (x', y', w') = matrix * (x, y, 1), x and y of the picture; row-major */
    bool folded;      /* by a matrix that has no inverse: nothing can be followed */
    bool flipped[2];  /* across, down: by an odd number of flips; exactly one of the two is set
                         where the matrix mirrors */
    double shown[4];  /* left, top, right, bottom; empty: nothing is */
    uint32_t corner_count; /* 0: there was no warp, or nothing was shown before it */
    double corners[SL_TRAIL_CORNERS][2];
} sl_trail;

void sl_trail_begin(sl_trail *trail, uint32_t width, uint32_t height);
/* The steps of geometry.h. Sizes are those of the picture behind the step; a flip's is `size` of
 * its axis. */
void sl_trail_crop(sl_trail *trail, int64_t x, int64_t y, uint32_t width, uint32_t height);
void sl_trail_resize(sl_trail *trail, double across, double down);
void sl_trail_flip(sl_trail *trail, bool vertical, uint32_t size);
/* `matrix`: as sl_warp's. */
void sl_trail_warp(sl_trail *trail, const double matrix[9], uint32_t width, uint32_t height);

/* A box of the picture, left, top, right, bottom, to where it is now. */
typedef struct sl_trail_box {
    double box[4];
    double whole[4]; /* about the moved corners, before anything was clipped */
} sl_trail_box;
/* False: nothing of it is shown. */
bool sl_trail_move_box(const sl_trail *trail, const float from[4], sl_trail_box *to);
/* False: it is not shown, where left <= x < right is; `to` is where it would be: far away what a
 * warp has behind the eye. */
bool sl_trail_move_point(const sl_trail *trail, const double from[2], double to[2]);
/* Whether the picture is to be seen there, of the output. */
bool sl_trail_shows(const sl_trail *trail, const double at[2]);
/* All of that, as a convex polygon; the number of its corners, 0: nothing is. */
uint32_t sl_trail_shown(const sl_trail *trail, double corners[SL_TRAIL_SHOWN_MAX][2]);
/* Of the output's line at `y`, whose pixels' centres are shown: `*from` up to `*to`, of `width`. */
void sl_trail_row(const sl_trail *trail, double y, uint32_t width, uint32_t *from, uint32_t *to);
/* The box of the picture, clipped to it, about what an output of that size shows. */
void sl_trail_seen(const sl_trail *trail, uint32_t width, uint32_t height, double box[4]);
/* Pixels of the output for one of the picture at `at`, of the picture: across and down. Zero where
 * a warp has that place behind the eye. */
void sl_trail_scale(const sl_trail *trail, const double at[2], double scale[2]);
/* Whether left and right are exchanged, wherever up is. */
bool sl_trail_is_mirrored(const sl_trail *trail);
/* to * (x, y, 1) is of the picture where (x, y) is of the output; false: `folded`. */
bool sl_trail_inverse(const sl_trail *trail, double to[9]);

#endif
