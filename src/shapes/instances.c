/* SPDX-License-Identifier: Apache-2.0 */
/* Moves shapes, then draws them. Pure. */
#include "instances.h"

#include "matrix.h"
#include "moved_polygon.h"

#include <string.h>

#define STAGE "shapes"

/* What a shape of any kind takes. */
enum { SHAPE_UNITS = 64 };

static sluice_status draw_runs(const sl_run_lengths *runs, const double matrix[9],
                               const sl_mask *mask, sluice_error *error)
{
    double inverse[9];
    if (!sl_matrix_invert(matrix, inverse)) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "a mask cannot follow a transform that flattens the image");
    }
    return sl_run_lengths_sample(runs, inverse, mask, error);
}

void sl_instances_turn(sl_instances *instances, const sl_turn *turn)
{
    sl_instance *of; /* the caller's scratch, which sl_segmentation_read wrote */
    memcpy(&of, &instances->of, sizeof(void *));
    for (uint32_t i = 0; i < instances->count && !sl_turn_is_none(turn); i++) {
        of[i].turn = *turn;
    }
}

sluice_status sl_instances_check(const sl_instances *instances, uint32_t width, uint32_t height,
                                 sluice_error *error)
{
    for (uint32_t i = 0; i < instances->count; i++) {
        const sl_run_lengths *runs = &instances->of[i].runs;
        if (runs->width > 0 && (runs->width != width || runs->height != height)) {
            return sl_error_set(
                error, SLUICE_UNSUPPORTED, STAGE,
                "shape %u is a mask of %u x %u (height x width), but its image is %u x %u", i,
                runs->height, runs->width, height, width);
        }
    }
    return SLUICE_OK;
}

uint64_t sl_instance_points(const sl_instances *instances, uint32_t number)
{
    const sl_instance *instance = &instances->of[number];
    uint64_t points = instance->runs.count;
    for (uint32_t i = 0; i < instance->polygons; i++) {
        points += 1 + (uint64_t)instances->polygons[instance->first + i].count;
    }
    return points;
}

sluice_status sl_instances_rasterise(const sl_instances *instances, uint32_t number,
                                     const double matrix[9], const sl_mask *mask,
                                     sl_scratch *scratch, sluice_error *error)
{
    const sl_instance *instance = &instances->of[number];
    const uint64_t points = sl_instance_points(instances, number);
    const sluice_status charged =
        sl_work_take(mask->work, SHAPE_UNITS + SL_WORK_POINT * points, error);
    if (charged != SLUICE_OK) {
        return charged;
    }
    double turned[9];
    if (!sl_turn_is_none(&instance->turn)) {
        sl_turn_before(&instance->turn, matrix, turned);
        matrix = turned;
    }
    if (instance->runs.width > 0) {
        return draw_runs(&instance->runs, matrix, mask, error);
    }
    const size_t mark = sl_scratch_mark(scratch);
    const sl_polygon *moved = sl_polygons_move(instances->polygons + instance->first,
                                               instance->polygons, matrix, scratch);
    const sluice_status status =
        moved != NULL ? sl_polygons_fill(moved, instance->polygons, mask, scratch, error)
                      : sl_no_memory(error, STAGE, "for the shapes of an image");
    sl_scratch_release(scratch, mark);
    return status;
}
