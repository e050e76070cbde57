/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_places: where the images are that a table names, found by looking.
 *
 * Purpose: tables name images by a path, by a name in a folder beside the table (Kaggle's train.csv
 * beside images/), or by a name without its extension. The first rows are tried against the files;
 * nothing is decided that they do not show. Threads: the one that opens. Memory: the first rows.
 */
#ifndef SL_TABLE_PLACES_H
#define SL_TABLE_PLACES_H

#include "table_rows.h"

#include <limits.h>

typedef struct sl_table_place {
    uint32_t column;           /* that names images; SL_FIELD_NONE: none is known to */
    char folder[NAME_MAX + 1]; /* of the table's own, that paths begin in; "": that folder itself */
    char suffix[16];           /* that paths lack: ".jpg"; "": none */
    bool exists;               /* images of the first rows are there */
    bool repeats;              /* several of the first rows name the same image */
    bool headless;             /* the first line is a row, and does not name columns */
} sl_table_place;

/*
 * Finds the place of the images of a table whose columns are known. `column` names them;
 * SL_FIELD_NONE: one whose values are all files is looked for. The table is at some row afterwards.
 * Errors: those of reading it; INVALID (what it names is in several folders), NOMEM.
 */
sluice_status sl_table_place_find(sl_table *table, uint32_t column, sl_table_place *place,
                                  sluice_error *error);

#endif
