/* SPDX-License-Identifier: Apache-2.0 */
/*
 * largest_canvas: the size of the largest canvas that a program (program.h) has in memory.
 *
 * Purpose: limits on an image apply to its stored size; steps that enlarge it, above all a thin
 * one, could make canvases of any size from a few bytes. Images made strip by strip (run.h) need no
 * canvas: a resize that is cropped afterwards, or an operation on rows, needs no memory of that
 * size. Threads: pure.
 */
#ifndef SL_LARGEST_CANVAS_H
#define SL_LARGEST_CANVAS_H

#include "program.h"

typedef struct sl_canvas_size {
    uint32_t width, height;
} sl_canvas_size;

sl_canvas_size sl_largest_canvas(const sl_params *params);

/* Returns false if the program has no canvas in memory, like most crops. */
static inline bool sl_may_have_canvas(const sl_params *params)
{
    const sl_geometry *first = &params->geometries[0];
    return params->operation_count > 0 || params->geometry_count > 1 || first->warps ||
           first->placed || params->layered;
}

#endif
