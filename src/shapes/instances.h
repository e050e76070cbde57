/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instances: the shapes of one picture's objects, moved and drawn.
 *
 * Purpose: an instance is polygons, or a mask of run lengths, or nothing, in the coordinates of the
 * stored picture (segmentation.h reads them). They follow what happens to the picture: polygons
 * vertex by vertex, so that a crop that is enlarged has sharp masks; a mask is sampled, the nearest
 * pixel, at the centres of the output's.
 * A view's matrix is 3 x 3, row by row, and takes picture coordinates (continuous: pixel (i, j)
 * covers [i, i + 1) x [j, j + 1)) to those of the output; affine, or a perspective. What a
 * perspective has behind the camera, or so near to it that the farthest point would be moved 2^19
 * pixels, is cut off; what any other matrix moves farther than the reach of polygon.h is put there.
 * Memory: of scratch, given back: 4 words a point, and what polygon.h says. Threads: pure.
 */
#ifndef SL_INSTANCES_H
#define SL_INSTANCES_H

#include "polygon.h"
#include "run_lengths.h"
#include "turn.h"

typedef struct sl_instance {
    uint32_t first, polygons; /* of those below */
    sl_run_lengths runs;      /* width 0: none */
    sl_turn turn;             /* from where it was annotated to the picture; zeroed: none */
} sl_instance;

typedef struct sl_instances {
    uint32_t count;
    const sl_instance *of;
    const sl_polygon *polygons; /* of all of them */
} sl_instances;

typedef struct sl_shape_view {
    double matrix[9];
    uint32_t width, height;  /* of the output */
    const double (*seen)[2]; /* what of it is seen: corners of a convex polygon; NULL: all of it */
    uint32_t seen_corners;   /* 0: nothing */
    sl_work *work;           /* that it is charged to; NULL: to nobody */
} sl_shape_view;

/* x1, y1, x2, y2 each; all zero: of nothing. */
typedef struct sl_shape_box {
    double seen[4];
    double whole[4]; /* also of what is not seen */
} sl_shape_box;

/* They were annotated in the picture the other way up: all that is below turns them first. */
void sl_instances_turn(sl_instances *instances, const sl_turn *turn);

/* Whether masks of run lengths are of that size, which is the picture's, as it was annotated:
 * UNSUPPORTED. */
sluice_status sl_instances_check(const sl_instances *instances, uint32_t width, uint32_t height,
                                 sluice_error *error);

/* Points of its polygons and runs of its mask, that it takes time by. */
uint64_t sl_instance_points(const sl_instances *instances, uint32_t number);

/*
 * Draws instance `number` to `mask`, which is as large as the view says or smaller. Errors: those
 * of sl_polygons_fill; UNSUPPORTED (a mask of run lengths, and a matrix without an inverse); those
 * of mask->work.
 */
sluice_status sl_instances_rasterise(const sl_instances *instances, uint32_t number,
                                     const double matrix[9], const sl_mask *mask,
                                     sl_scratch *scratch, sluice_error *error);

/*
 * The smallest box of what is seen of an instance, and of all of it. It is exact: that of the parts
 * of polygons, and of the pixels of run lengths, that are in what is seen, as boxes made anew from
 * segments and masks are, and not the hull of a moved box. Errors: NOMEM (scratch), those of
 * view->work.
 */
sluice_status sl_instances_box(const sl_instances *instances, uint32_t number,
                               const sl_shape_view *view, sl_scratch *scratch, sl_shape_box *box,
                               sluice_error *error);

#endif
