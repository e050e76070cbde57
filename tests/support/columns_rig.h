/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns_rig: columns over made-up fields, and the arrays of one slot that receive their rows, for
 * tests.
 *
 * A test adds columns to `asked`, binds them, sets the row's values (columns_value) and makes rows.
 * The arrays have exactly the bytes of their rows, so that a sanitizer reports a write past the
 * end; they start as 0xA5. Functions fail the running test, except those that return a status.
 * Ownership: columns_rig_close frees all. Threads: the test's.
 */
#ifndef SL_COLUMNS_RIG_H
#define SL_COLUMNS_RIG_H

#include "columns.h"

typedef struct columns_rig {
    const sl_field *fields;
    uint32_t field_count, rows;
    sluice_exif exif;    /* for the next set that is bound */
    sl_notices *notices; /* for the next set that is bound; NULL: not read */
    sluice_columns *asked;
    sl_column_set set;
    sl_decoder *decoder;
    sl_row *row;
    void *draws; /* the row's draws (draw_memory.h) */
    uint8_t *parts[SL_PARTS_MAX];
    uint64_t sizes[SL_RAGGED_MAX];
} columns_rig;

columns_rig *columns_rig_open(const sl_field *fields, uint32_t field_count, uint32_t rows);
/* Usable as a test's teardown. */
int columns_rig_close(void **state);

void must_bind(columns_rig *r);
/* Expects binding to fail with INVALID and these words. */
void refuses(columns_rig *r, const char *words);
/* Returns the number of the array with this name. */
uint32_t part_named(const columns_rig *r, const char *name);
void *array(const columns_rig *r, const char *name);

static inline sl_value *value(columns_rig *r, uint32_t field)
{
    return &r->row->values.of[field];
}
static inline void set_bytes(columns_rig *r, uint32_t field, const void *bytes, size_t size)
{
    *value(r, field) = (sl_value){.present = true, .bytes = {bytes, size}};
}
/* Makes row `number` from sample 1000 + number. */
sluice_status make(columns_rig *r, uint32_t number, sluice_error *error);
void must_make(columns_rig *r, uint32_t number);
void blank(columns_rig *r, uint32_t number);

#endif
