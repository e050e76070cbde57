/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape_store: copies of shapes, which outlive what they were read from.
 *
 * Memory: the heap's, by what is there: 16 bytes a point, 16 a polygon, 4 a run, 32 a shape; kept
 * for what comes next. Threads: one owner.
 */
#ifndef SL_SHAPE_STORE_H
#define SL_SHAPE_STORE_H

#include "instances.h"

typedef struct sl_shape_store {
    sl_instance *shapes;
    sl_polygon *polygons;
    double *points;
    uint32_t *ends;
    uint64_t shape_count, polygon_count, point_count, end_count;
    uint64_t shape_capacity, polygon_capacity, point_capacity, end_capacity;
} sl_shape_store;

/* A zeroed store is empty, and may be closed. */
void sl_shape_store_close(sl_shape_store *store);
void sl_shape_store_clear(sl_shape_store *store);
/* A copy of shape `number`, behind those that there are. NOMEM. */
sluice_status sl_shape_store_add(sl_shape_store *store, const sl_instances *from, uint32_t number,
                                 sluice_error *error);
/* One without a shape. NOMEM. */
sluice_status sl_shape_store_add_none(sl_shape_store *store, sluice_error *error);
/* All of them, until the next one is added. */
sl_instances sl_shape_store_all(sl_shape_store *store);

#endif
