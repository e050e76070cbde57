/* SPDX-License-Identifier: Apache-2.0 */
/*
 * natural_columns: default columns, for a loader without requested columns: one for each field
 * whose rows all have one shape. Images take the loader's recipe, dtype and layout.
 *
 * Threads: pure. Memory: the caller's.
 */
#ifndef SL_NATURAL_COLUMNS_H
#define SL_NATURAL_COLUMNS_H

#include "column.h"

typedef struct sl_natural_column {
    sluice_column_kind kind; /* 0: the field has none */
    const char *name;        /* lives as long as the fields; NULL: another field's column has it */
    /* the image that this IMAGE is a mask of, so that it has no default; NULL: not a mask */
    const sl_field *picture;
} sl_natural_column;

/* Returns the default column of field `number` < count. */
sl_natural_column sl_natural_column_of(const sl_field *fields, uint32_t count, uint32_t number);

/* Requests the default column of field `number` < config->field_count. END: it has none. INVALID:
 * it is an image without a recipe, or the mask of another image. */
sluice_status sl_natural_column_ask(const sl_columns_config *config, uint32_t number,
                                    sl_column_request *request, sluice_error *error);

#endif
