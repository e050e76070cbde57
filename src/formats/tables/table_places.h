/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_places: finds the images that a table names.
 *
 * Purpose: tables name images by a path, by a name in a folder beside the table (Kaggle's train.csv
 * beside images/), or by a name without extension. The first rows are tried against the files, and
 * only these decide. Threads: the one that opens. Memory: the first rows.
 */
#ifndef SL_TABLE_PLACES_H
#define SL_TABLE_PLACES_H

#include "table_rows.h"

#include <limits.h>

typedef struct sl_table_place {
    uint32_t column;           /* column that names images; SL_FIELD_NONE: unknown */
    char folder[NAME_MAX + 1]; /* folder in which paths begin, relative to the table's; "": that
                                  folder itself */
    char suffix[16];           /* extension missing from paths: ".jpg"; "": none */
    bool exists;               /* true if the images of the first rows exist */
    bool repeats;              /* true if several of the first rows name the same image */
    bool headless;             /* true if the first line is a row, not a header */
} sl_table_place;

/*
 * Finds the place of a table's images; the columns are known. `column` names the images;
 * SL_FIELD_NONE: searches for one whose values are all files. The table's position is unspecified
 * afterwards. Errors: those of reading it; INVALID (files match in several folders), NOMEM.
 */
sluice_status sl_table_place_find(sl_table *table, uint32_t column, sl_table_place *place,
                                  sluice_error *error);

#endif
