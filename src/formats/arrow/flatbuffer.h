/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flatbuffer: the tables of a flatbuffer, read where they are.
 *
 * Purpose: the one place that knows the format's internals (vtables, offsets), for metadata of
 * Arrow. Each offset is checked when it is followed; what does not fit is as if it were not there,
 * and the buffer is `damaged` from then on, which whoever reads asks once, at the end. There are
 * circles in bad buffers: depth and number of what is followed are the reader's to limit.
 * Threads: one owner. No allocation.
 */
#ifndef SL_FLATBUFFER_H
#define SL_FLATBUFFER_H

#include "view.h"

#include <stdbool.h>

#define SL_FLATBUFFER_BYTES_MAX ((size_t)1 << 26)

typedef struct sl_flatbuffer {
    const uint8_t *data;
    uint32_t bytes;
    bool damaged;
} sl_flatbuffer;

/* One that is not there has the defaults of all its fields. */
typedef struct sl_flat_table {
    sl_flatbuffer *of;
    uint32_t at, vtable;   /* where they begin */
    uint16_t bytes, slots; /* of the table; 0: it is not there */
} sl_flat_table;

/* Structs, numbers or offsets behind one another. */
typedef struct sl_flat_vector {
    sl_flatbuffer *of;
    const uint8_t *data;
    uint32_t count;
} sl_flat_vector;

/* `bytes` has SL_FLATBUFFER_BYTES_MAX at most. */
sl_flatbuffer sl_flatbuffer_of(sl_bytes bytes);
sl_flat_table sl_flat_root(sl_flatbuffer *flat);

bool sl_flat_has(const sl_flat_table *table, uint32_t slot);
/* A signed number of 1, 2, 4 or 8 bytes. */
int64_t sl_flat_number(const sl_flat_table *table, uint32_t slot, uint32_t bytes, int64_t other);
sl_flat_table sl_flat_child(const sl_flat_table *table, uint32_t slot);
/* Without its NUL; data NULL: it is not there. */
sl_bytes sl_flat_text(const sl_flat_table *table, uint32_t slot);
/* Of elements of `bytes` each. */
sl_flat_vector sl_flat_vector_of(const sl_flat_table *table, uint32_t slot, uint32_t bytes);
/* An element of a vector of tables, which has elements of 4 bytes. */
sl_flat_table sl_flat_element(const sl_flat_vector *vector, uint32_t index);

#endif
