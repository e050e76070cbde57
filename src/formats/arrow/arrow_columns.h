/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_columns: which columns an Arrow file has, as columnar_fields.h wants them.
 *
 * Purpose: numbers, dates and times, texts and bytes are columns as they are, dictionaries of texts
 * what they stand for; structures of "bytes" and "path", which is how Hugging Face stores pictures
 * and sounds, are one column; each member of other structures is one, called STRUCTURE.MEMBER, also
 * where they are in a list; lists of numbers are tensors, of one dimension or of those that are
 * fixed (of boxes: 4); a list of pictures is one column until it is known how long lists are, and
 * then one for each place of a list. All else is `asked` and `refused` (source_columns.h), so that
 * it is counted. Threads: pure. Ownership: sl_arrow_columns_close.
 */
#ifndef SL_ARROW_COLUMNS_H
#define SL_ARROW_COLUMNS_H

#include "arrow_array.h"
#include "columnar_fields.h"

typedef struct sl_arrow_column {
    sl_arrow_chain chain; /* from the column's node, or that of the structure it is in, or that of
                             a list's elements */
    sl_arrow_chain list;  /* of a list of pictures: down to the list; else of no level */
    uint32_t path;        /* node of a picture's path; NONE */
    bool asks;            /* its first values tell whether it is of pictures */
} sl_arrow_column;

typedef struct sl_arrow_columns {
    sl_columnar_columns table;
    sl_arrow_column *of; /* by the number that the table has for them */
} sl_arrow_columns;

/* The node of its values. */
static inline uint32_t sl_arrow_leaf(const sl_arrow_column *column)
{
    return column->chain.nodes[column->chain.count - 1];
}

/* Errors: NOMEM. */
sluice_status sl_arrow_columns_find(sl_arrow_columns *columns, const sl_arrow_schema *schema,
                                    const sl_features *features, sluice_error *error);
/* Of all zero is fine. */
void sl_arrow_columns_close(sl_arrow_columns *columns);

#endif
