/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape_store: copies of shapes, which outlive their source.
 *
 * Memory: the heap's, for the stored data only: 16 bytes per point, 16 per polygon, 4 per run, 32
 * per shape; kept for reuse.
 *
 * Threads: one owner.
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
/* Appends a copy of shape `number`. NOMEM. */
sluice_status sl_shape_store_add(sl_shape_store *store, const sl_instances *from, uint32_t number,
                                 sluice_error *error);
/* Appends an entry without a shape. NOMEM. */
sluice_status sl_shape_store_add_none(sl_shape_store *store, sluice_error *error);
/* Returns all entries; valid until the next one is added. */
sl_instances sl_shape_store_all(sl_shape_store *store);

#endif
