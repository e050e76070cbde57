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

typedef struct sl_instance {
    uint32_t first, polygons; /* of those below */
    sl_run_lengths runs;      /* width 0: none */
} sl_instance;

typedef struct sl_instances {
    uint32_t count;
    const sl_instance *of;
    const sl_polygon *polygons; /* of all of them */
} sl_instances;

typedef struct sl_shape_view {
    double matrix[9];
    uint32_t width, height; /* of the output */
} sl_shape_view;

/*
 * Draws instance `number` to `mask`, which is as large as the view says or smaller. Errors: those
 * of sl_polygons_fill; UNSUPPORTED (a mask of run lengths, and a matrix without an inverse).
 */
sluice_status sl_instances_rasterise(const sl_instances *instances, uint32_t number,
                                     const double matrix[9], const sl_mask *mask,
                                     sl_scratch *scratch, sluice_error *error);

/*
 * The smallest box, x1, y1, x2, y2, of what the output shows of an instance; all zero: of nothing.
 * It is exact for polygons: those of the polygons' parts inside of the output (as boxes made anew
 * from segments are, and not hulls of moved boxes); of run lengths it is the hull of their moved
 * box, cut to the output. Errors: NOMEM (scratch).
 */
sluice_status sl_instances_box(const sl_instances *instances, uint32_t number,
                               const sl_shape_view *view, sl_scratch *scratch, double box[4],
                               sluice_error *error);

#endif
