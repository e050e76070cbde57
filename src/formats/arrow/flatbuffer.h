/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flatbuffer: reads the tables of a flatbuffer in place.
 *
 * Purpose: the only code that knows the format's internals (vtables, offsets), for Arrow's
 * metadata. Each offset is checked when it is followed. An invalid one counts as missing and marks
 * the buffer as `damaged`; the reader checks that once, at the end. Bad buffers may contain cycles:
 * the reader must limit depth and number of the tables it follows. Threads: one owner. No
 * allocation.
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

/* A table; a missing one has the defaults of all its fields. */
typedef struct sl_flat_table {
    sl_flatbuffer *of;
    uint32_t at, vtable;   /* offsets of its parts */
    uint16_t bytes, slots; /* size of the table and number of slots; 0: missing */
} sl_flat_table;

/* Adjacent structs, numbers or offsets. */
typedef struct sl_flat_vector {
    sl_flatbuffer *of;
    const uint8_t *data;
    uint32_t count;
} sl_flat_vector;

/* Makes a flatbuffer of `bytes`, at most SL_FLATBUFFER_BYTES_MAX. */
sl_flatbuffer sl_flatbuffer_of(sl_bytes bytes);
sl_flat_table sl_flat_root(sl_flatbuffer *flat);

bool sl_flat_has(const sl_flat_table *table, uint32_t slot);
/* Reads a signed number of 1, 2, 4 or 8 bytes; `other`: its value if it is missing. */
int64_t sl_flat_number(const sl_flat_table *table, uint32_t slot, uint32_t bytes, int64_t other);
sl_flat_table sl_flat_child(const sl_flat_table *table, uint32_t slot);
/* Reads a text without its NUL; data NULL: missing. */
sl_bytes sl_flat_text(const sl_flat_table *table, uint32_t slot);
/* Reads a vector of elements of `bytes` each. */
sl_flat_vector sl_flat_vector_of(const sl_flat_table *table, uint32_t slot, uint32_t bytes);
/* Reads an element of a vector of tables, whose elements have 4 bytes. */
sl_flat_table sl_flat_element(const sl_flat_vector *vector, uint32_t index);

#endif
