/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points and runs are stored back to back, in the order of their shapes: where each shape begins is
 * found when all are stored, since arrays move while they grow. One owner.
 */
#include "shape_store.h"

#include "memory.h"

#include <string.h>

#define STAGE "shapes"

void sl_shape_store_close(sl_shape_store *store)
{
    sl_free(store->shapes);
    sl_free(store->polygons);
    sl_free(store->points);
    sl_free(store->ends);
    *store = (sl_shape_store){.shape_count = 0};
}

void sl_shape_store_clear(sl_shape_store *store)
{
    store->shape_count = store->polygon_count = store->point_count = store->end_count = 0;
}

static bool store_polygon(sl_shape_store *store, const sl_polygon *polygon)
{
    const uint64_t numbers = 2 * (uint64_t)polygon->count;
    if (!sl_grow(&store->polygons, &store->polygon_capacity, store->polygon_count + 1,
                 sizeof(*store->polygons)) ||
        !sl_grow(&store->points, &store->point_capacity, store->point_count + numbers,
                 sizeof(*store->points))) {
        return false;
    }
    if (numbers > 0) {
        memcpy(store->points + store->point_count, polygon->points,
               numbers * sizeof(*store->points));
    }
    store->polygons[store->polygon_count++] = (sl_polygon){.count = polygon->count};
    store->point_count += numbers;
    return true;
}

static bool store_runs(sl_shape_store *store, const sl_run_lengths *runs)
{
    if (!sl_grow(&store->ends, &store->end_capacity, store->end_count + runs->count,
                 sizeof(*store->ends))) {
        return false;
    }
    if (runs->count > 0) {
        memcpy(store->ends + store->end_count, runs->ends, runs->count * sizeof(*store->ends));
    }
    store->end_count += runs->count;
    return true;
}

sluice_status sl_shape_store_add_none(sl_shape_store *store, sluice_error *error)
{
    if (!sl_grow(&store->shapes, &store->shape_capacity, store->shape_count + 1,
                 sizeof(*store->shapes))) {
        return sl_no_memory(error, STAGE, "for the shapes of a row");
    }
    store->shapes[store->shape_count++] = (sl_instance){.first = (uint32_t)store->polygon_count};
    return SLUICE_OK;
}

sluice_status sl_shape_store_add(sl_shape_store *store, const sl_instances *from, uint32_t number,
                                 sluice_error *error)
{
    const sl_instance *shape = &from->of[number];
    const sluice_status status = sl_shape_store_add_none(store, error);
    bool fine = status == SLUICE_OK;
    for (uint32_t i = 0; i < shape->polygons && fine; i++) {
        fine = store_polygon(store, &from->polygons[shape->first + i]);
    }
    if (!fine || !store_runs(store, &shape->runs)) {
        return sl_no_memory(error, STAGE, "for the shapes of a row");
    }
    sl_instance *copy = &store->shapes[store->shape_count - 1];
    copy->polygons = shape->polygons;
    copy->runs = shape->runs;
    copy->turn = shape->turn;
    return SLUICE_OK;
}

sl_instances sl_shape_store_all(sl_shape_store *store)
{
    uint64_t point = 0;
    uint64_t end = 0;
    for (uint64_t i = 0; i < store->polygon_count; i++) {
        if (store->polygons[i].count > 0) {
            store->polygons[i].points = store->points + point;
            point += 2 * (uint64_t)store->polygons[i].count;
        }
    }
    for (uint64_t i = 0; i < store->shape_count; i++) {
        if (store->shapes[i].runs.count > 0) {
            store->shapes[i].runs.ends = store->ends + end;
            end += store->shapes[i].runs.count;
        }
    }
    return (sl_instances){
        .count = (uint32_t)store->shape_count, .of = store->shapes, .polygons = store->polygons};
}
