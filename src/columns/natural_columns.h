/* SPDX-License-Identifier: Apache-2.0 */
/*
 * natural_columns: what a loader gives that was asked for no columns: one of each field whose rows
 * are all of one shape. Pictures take the loader's recipe, dtype and layout.
 * Threads: pure. Memory: the caller's.
 */
#ifndef SL_NATURAL_COLUMNS_H
#define SL_NATURAL_COLUMNS_H

#include "column.h"

typedef struct sl_natural_column {
    sluice_column_kind kind; /* 0: the field has none */
    const char *name;        /* lives as long as the fields; NULL: another field's column has it */
    const sl_field *picture; /* of which this IMAGE is a mask, which is refused; NULL: it is none */
} sl_natural_column;

/* The column of field `number` < count. */
sl_natural_column sl_natural_column_of(const sl_field *fields, uint32_t count, uint32_t number);

/* Asks for the column of field `number` < config->field_count. END: it has none. INVALID: it is a
 * picture without a recipe, or the mask of another picture. */
sluice_status sl_natural_column_ask(const sl_columns_config *config, uint32_t number,
                                    sl_column_request *request, sluice_error *error);

#endif
