/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_columns: describes the columns of an Arrow file for columnar_fields.h.
 *
 * Purpose: numbers, dates, times, texts and bytes are columns directly; dictionaries of texts have
 * their texts as values. A structure of "bytes" and "path", in which Hugging Face stores images and
 * sounds, is one column. Members of other structures are columns named STRUCTURE.MEMBER, also
 * inside lists. Lists of numbers are tensors, with one dimension or with those of fixed size
 * (boxes: 4). A list of images is one column until the lengths of lists are known, then one per
 * position. All other columns are `asked` and `refused` (source_columns.h), so that they are
 * counted. Threads: pure. Ownership: sl_arrow_columns_close.
 */
#ifndef SL_ARROW_COLUMNS_H
#define SL_ARROW_COLUMNS_H

#include "arrow_array.h"
#include "columnar_fields.h"

typedef struct sl_arrow_column {
    sl_arrow_chain chain; /* path from the column's node, from the structure that contains it, or
                             from a list's elements */
    sl_arrow_chain list;  /* for a list of images: path to the list; otherwise without levels */
    uint32_t path;        /* node of an image's path; NONE */
    bool asks;            /* true if its first values decide whether it contains images */
} sl_arrow_column;

typedef struct sl_arrow_columns {
    sl_columnar_columns table;
    sl_arrow_column *of; /* by their number in the table */
} sl_arrow_columns;

/* Returns the node of its values. */
static inline uint32_t sl_arrow_leaf(const sl_arrow_column *column)
{
    return column->chain.nodes[column->chain.count - 1];
}

/* Finds the columns. Errors: NOMEM. */
sluice_status sl_arrow_columns_find(sl_arrow_columns *columns, const sl_arrow_schema *schema,
                                    const sl_features *features, sluice_error *error);
/* Releases `columns`, which may be zeroed. */
void sl_arrow_columns_close(sl_arrow_columns *columns);

#endif
