/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instances: the shapes of one image's objects, moved and drawn.
 *
 * Purpose: an instance is polygons, or a mask of run lengths, or nothing, in the coordinates of the
 * stored image (segmentation.h reads them). They follow the image's transforms: polygons vertex by
 * vertex, so that an enlarged crop has sharp masks; a mask is sampled, the nearest pixel, at the
 * centres of the output's pixels.
 *
 * A view's matrix is 3 x 3, row by row, and maps image coordinates (continuous: pixel (i, j) covers
 * [i, i + 1) x [j, j + 1)) to those of the output; affine, or a perspective. With a perspective,
 * parts behind the camera, or so near to it that the farthest point would be moved 2^19 pixels, are
 * cut off; with any other matrix, points are clamped to the reach of polygon.h.
 *
 * Memory: from scratch, given back: 4 words per point, and what polygon.h says.
 *
 * Threads: pure.
 */
#ifndef SL_INSTANCES_H
#define SL_INSTANCES_H

#include "polygon.h"
#include "run_lengths.h"
#include "turn.h"

typedef struct sl_instance {
    uint32_t first, polygons; /* indices into `polygons` below */
    sl_run_lengths runs;      /* width 0: there is no mask */
    sl_turn turn;             /* from the annotated orientation to the image's; zeroed: none */
} sl_instance;

typedef struct sl_instances {
    uint32_t count;
    const sl_instance *of;
    const sl_polygon *polygons; /* of all instances */
} sl_instances;

typedef struct sl_shape_view {
    double matrix[9];
    uint32_t width, height; /* of the output */
    /* corners of the visible part, a convex polygon; NULL: all is visible */
    const double (*seen)[2];
    uint32_t seen_corners; /* 0: nothing is visible */
    sl_work *work;         /* that the time is charged to; NULL: none */
} sl_shape_view;

/* x1, y1, x2, y2 each; all zero: empty. */
typedef struct sl_shape_box {
    double seen[4];
    double whole[4]; /* including invisible parts */
} sl_shape_box;

/* Records that they were annotated in the image the other way up: all functions below turn them
 * first. */
void sl_instances_turn(sl_instances *instances, const sl_turn *turn);

/* Checks that masks of run lengths have that size, which is the image's as annotated:
 * UNSUPPORTED. */
sluice_status sl_instances_check(const sl_instances *instances, uint32_t width, uint32_t height,
                                 sluice_error *error);

/* Returns the number of points of its polygons and runs of its mask, which its time depends on. */
uint64_t sl_instance_points(const sl_instances *instances, uint32_t number);

/*
 * Draws instance `number` to `mask`, which may not be larger than the view. Errors: those of
 * sl_polygons_fill; UNSUPPORTED (a mask of run lengths and a matrix without an inverse); those of
 * mask->work.
 */
sluice_status sl_instances_rasterise(const sl_instances *instances, uint32_t number,
                                     const double matrix[9], const sl_mask *mask,
                                     sl_scratch *scratch, sluice_error *error);

/*
 * Finds the smallest box of an instance's visible part, and of the whole instance. It is exact: the
 * box of the visible parts of polygons and visible pixels of run lengths, as boxes computed from
 * segments and masks are, not the hull of a moved box. Errors: NOMEM (scratch), those of
 * view->work.
 */
sluice_status sl_instances_box(const sl_instances *instances, uint32_t number,
                               const sl_shape_view *view, sl_scratch *scratch, sl_shape_box *box,
                               sluice_error *error);

#endif
