/* SPDX-License-Identifier: Apache-2.0 */
/*
 * geometry: composes a sample's crops, resizes, flips and warps while it is drawn.
 *
 * Purpose: an sl_drawing is a program in the making. Steps call sl_draw_crop and the others in the
 * recipe's order. Each changes the open geometry if both together are still one box and one warp;
 * otherwise it begins another geometry, as an operation.
 *   - crop, resize, flip: one box as long as there is one resize and padding has one colour;
 *   - anything after a warp, and warps themselves, by multiplying matrices: pixels are resampled
 *     once, where a sequence of library calls would resample twice.
 * An `exact` drawing begins another geometry after each warp. In one that is not exact, a warp that
 * shrinks (two neighbours of the output more than 1.25 pixels apart) gets its canvas resampled to
 * about the output's density first, by the box's filter, which antialiases: a composed rotation and
 * crop reads, decodes and resizes only the pixels that it shows.
 * A tile (sl_draw_tile) that ends up neither rotated nor sheared becomes a box again, its edges
 * rounded to pixels; its labels and shapes follow. So neighbouring tiles still share an edge. Where
 * warps are composed, what an earlier canvas cut off stays cut off (sl_warp.frames). Coordinates
 * are continuous, as in mapping.h. Shapes of the image are followed step by step (trail.h). Labels
 * of its pixels have a drawing of their own (`labels`), alone or as the twin of the image's: then
 * each step is drawn once, and both get the same geometry.
 * Threads: one owner. Memory: none.
 */
#ifndef SL_GEOMETRY_H
#define SL_GEOMETRY_H

#include "philox.h"
#include "program.h"

typedef struct sl_drawing {
    sl_params *params;
    uint32_t width, height; /* of the image at present */
    bool open;              /* the last geometry may still be changed */
    bool unwarped;          /* moved only by a tile's place: any interpolation is exact */
    uint32_t member;        /* number of the image in its layer */
    uint32_t layer;
    uint64_t epoch;
    bool exact;
    /* True if this draws labels of the image's pixels: nothing is interpolated, the fill is always
     * `label_fill`, and steps that only change pixels are left out. */
    bool labels;
    uint8_t label_fill[3];
    /* drawing of labels, which gets the same geometry; NULL: there is none */
    struct sl_drawing *twin;
    sl_operation left_out;
    /* The values that the recipe's normalize step subtracts, as a colour, and divides by; else
     * black, and 0. */
    uint8_t mean[3];
    float deviation[3];
    sl_random random;        /* of the drawing step */
    const sl_native *native; /* likewise; NULL: it calls no function */
    /* The image's boxes, for steps that use them (sl_drawing_box): x1, y1, x2, y2 in pixels. */
    const float (*boxes)[4];
    uint32_t box_count;
    uint32_t batch_width, batch_height; /* for steps whose size is the batch's */
    sluice_error *error;
} sl_drawing;

/* Begins a drawing of an image, into `params`, which has its memory (sl_params_place); end sets
 * params->need, sizes and the trail. */
void sl_drawing_begin(sl_drawing *drawing, sl_params *params, uint32_t width, uint32_t height,
                      bool exact, sluice_error *error);
void sl_drawing_end(sl_drawing *drawing);
/* Closes the geometry: the next step begins another one. */
void sl_drawing_close(sl_drawing *drawing);

/* Moves a box of the image, left, top, right, bottom, to its visible part at present, like trail.h.
 * False: nothing is visible. */
bool sl_drawing_box(const sl_drawing *drawing, const float from[4], float to[4]);

/* Crops the rectangle at (x, y), which may reach outside: `fill` there. UNSUPPORTED: too large. */
sluice_status sl_draw_crop(sl_drawing *drawing, int64_t x, int64_t y, uint32_t width,
                           uint32_t height, const uint8_t fill[3]);
sluice_status sl_draw_resize(sl_drawing *drawing, uint32_t width, uint32_t height,
                             sl_interpolation interpolation);
/* Flips left to right; or top to bottom. */
sluice_status sl_draw_flip(sl_drawing *drawing, bool vertical);
/* Warps. `matrix`: as sl_warp's, from the new image of width x height to the present one. */
sluice_status sl_draw_warp(sl_drawing *drawing, const double matrix[9], uint32_t width,
                           uint32_t height, sl_interpolation interpolation, const uint8_t fill[3]);

/* The image's place in a canvas of width x height that several images share, at (x, y), which may
 * be outside; the canvas is `fill` where there is no image. Only allowed as the first step, or
 * after a resize. `absent`: it is on no canvas. */
typedef struct sl_tile {
    int64_t x, y;
    uint32_t width, height;
    uint8_t fill[3];
    bool absent;
} sl_tile;
sluice_status sl_draw_tile(sl_drawing *drawing, const sl_tile *tile);

/* Begins two blended layers, the first with fraction `share`. `alone`: only the first exists, and
 * an image of the second is absent. */
void sl_draw_blend(sl_drawing *drawing, float share, bool alone);
/* Begins two layers: each object of the second is pasted over the first with probability
 * `chance`. */
void sl_draw_paste(sl_drawing *drawing, uint64_t key, double chance, bool alone);

/* Adds a border, of the operation "pad"'s modes. */
sluice_status sl_draw_border(sl_drawing *drawing, uint32_t left, uint32_t top, uint32_t width,
                             uint32_t height, double mode);
/* Moves pixels by a random field (sl_operation_elastic, its values and key). Labels move with them;
 * the trail does not, so nothing else may follow. */
sluice_status sl_draw_elastic(sl_drawing *drawing, const double values[SL_OPERATION_VALUES],
                              uint64_t key);
/* Adds an operation that keeps the size, for the caller to fill in. NULL with an error: there are
 * too many. */
sl_operation *sl_draw_operation(sl_drawing *drawing, const sl_operation_kind *kind);

/* Kind of an operation that is geometry number values[0]. */
extern const sl_operation_kind sl_operation_geometry;

#endif
