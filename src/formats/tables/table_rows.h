/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_rows: the rows of a CSV, TSV or JSON Lines file or of im2rec's list, one after the other.
 *
 * Purpose: CSV as RFC 4180 has it (quotes, doubled quotes, line ends within quotes; LF, CRLF or CR;
 * a byte order mark), TSV with the same quotes, of which the first row names the columns; JSON
 * Lines, each an object, whose members name them, those of an object in it as "outer.inner"; lists
 * (.lst), whose columns are id, label and path; StyleGAN's dataset.json, of path and label. Blank
 * lines are none. Memory: a window of 1 MiB and one row, 16 MiB at most: the file may be of any
 * size. Threads: one owner. Ownership: sl_table_close.
 */
#ifndef SL_TABLE_ROWS_H
#define SL_TABLE_ROWS_H

#include "look.h"
#include "source_columns.h"
#include "store.h"
#include "table_cell.h"

#define SL_TABLE_ROW_BYTES ((size_t)16 << 20)

typedef struct sl_table {
    /* Of all rows until now; that of JSON Lines grow by what a row has besides. */
    char names[SL_SOURCE_COLUMNS_MAX][SL_SOURCE_NAME_BYTES];
    uint32_t columns;
    sl_cell cells[SL_SOURCE_COLUMNS_MAX]; /* of the row; valid until the next one is asked for */
    uint64_t row_line, row_offset;        /* where it begins; lines count from 1 */

    /* for the readers */
    const char *path;
    sl_handle from;
    bool is_json, is_list, is_pairs;
    /* Of CSV: the first row is being read; blanks around values are no part of them, as those
     * around the names of columns say. */
    bool is_header, is_spaced;
    bool is_quoted[SL_SOURCE_COLUMNS_MAX]; /* of the row's cells, which keep their blanks */
    uint8_t delimiter;
    sl_file_identity file; /* when it was opened */
    uint8_t *window;
    size_t at, filled;
    uint64_t filled_to; /* offset of the window's end */
    uint64_t line;
    uint8_t *text; /* of the row */
    size_t text_bytes, text_capacity;
    uint32_t begins[SL_SOURCE_COLUMNS_MAX]; /* of CSV's cells, in `text` */
    json_t *root;
    sl_json_tree pairs;   /* of dataset.json */
    uint64_t pair;        /* the next one */
    sluice_status status; /* of reading the file */
    sluice_error *error;
} sl_table;

/* Whether a file of that name is one: *.csv, *.tsv, *.jsonl, *.ndjson, *.lst. */
bool sl_table_is_named(const char *path);

/* `path` has to outlive it. Errors: IO; INVALID (no row that names columns), CORRUPT, UNSUPPORTED
 * (UTF-16; too many columns), NOMEM. */
sluice_status sl_table_open(sl_table **table, const char *path, sluice_error *error);
void sl_table_close(sl_table *table); /* NULL is fine */
/* The next row; `*more` false: there is none, and the file was not changed meanwhile. Errors: as of
 * open. */
sluice_status sl_table_next(sl_table *table, bool *more, sluice_error *error);
/* To the first row again. Errors: as of open. */
sluice_status sl_table_rewind(sl_table *table, sluice_error *error);
/* An error about the row, or a column of it (SL_FIELD_NONE: of none): its status. */
sluice_status sl_table_refuse(const sl_table *table, sluice_status status, uint32_t column,
                              const char *why, sluice_error *error);

/* ---- for the readers (table_csv.c, table_json.c, table_lst.c) ---- */

/* What a file called dataset.json says, as far as it is one of StyleGAN's. */
typedef enum sl_pairs {
    SL_PAIRS_NONE,      /* it is not */
    SL_PAIRS_LABELS,    /* labels of pictures */
    SL_PAIRS_UNLABELLED /* that there are none */
} sl_pairs;
sl_pairs sl_table_pairs_look(sl_look *look);
sluice_status sl_table_open_pairs(sl_table *table);
sluice_status sl_table_next_pair(sl_table *table, bool *more);
/* The cell of a value of JSON's: absent where it is null. */
sl_cell sl_table_json_cell(json_t *value);

/* The next byte, which stays; -1: the end, or table->status says why there is none. */
int sl_table_peek(sl_table *table);
/* Adds bytes to `text` up to one of the `count` bytes in `stops`, which stays, or the end. */
sluice_status sl_table_take(sl_table *table, const char *stops, size_t count);
sluice_status sl_table_append(sl_table *table, const void *bytes, size_t count);

/* `*count` cells, 0 at the end, whose texts begin at `begins`, each with a NUL behind it. */
sluice_status sl_table_take_row(sl_table *table, uint32_t *count);
sluice_status sl_table_next_csv(sl_table *table, bool *more);
sluice_status sl_table_read_header(sl_table *table);
sluice_status sl_table_next_json(sl_table *table, bool *more);
sluice_status sl_table_name_lst(sl_table *table);
sluice_status sl_table_next_lst(sl_table *table, bool *more);

#endif
