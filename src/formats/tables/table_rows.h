/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_rows: reads the rows of a CSV, TSV or JSON Lines file or of an im2rec list.
 *
 * Purpose: CSV follows RFC 4180 (quotes, doubled quotes, line ends within quotes; LF, CRLF or CR; a
 * byte order mark). TSV has the same quotes. The first row of both names the columns. Each JSON
 * Lines row is an object whose members name the columns; members of an inner object become
 * "outer.inner". Lists (.lst) have the columns id, label and path; StyleGAN's dataset.json has path
 * and label. Blank lines are skipped. Memory: a window of 1 MiB and one row of at most 16 MiB; the
 * file may have any size. Threads: one owner. Ownership: sl_table_close.
 */
#ifndef SL_TABLE_ROWS_H
#define SL_TABLE_ROWS_H

#include "look.h"
#include "source_columns.h"
#include "store.h"
#include "table_cell.h"

#define SL_TABLE_ROW_BYTES ((size_t)16 << 20)

typedef struct sl_table {
    /* names over all rows so far; rows of JSON Lines may add some */
    char names[SL_SOURCE_COLUMNS_MAX][SL_SOURCE_NAME_BYTES];
    uint32_t columns;
    sl_cell
        cells[SL_SOURCE_COLUMNS_MAX]; /* cells of the row; valid until the next one is requested */
    uint64_t row_line, row_offset;    /* location of the row; lines count from 1 */

    /* members below are for the readers */
    const char *path;
    sl_handle from;
    bool is_json, is_list, is_pairs;
    /*
     * CSV: true while the first row is read; true if blanks around values are not part of them, as
     * seen in the header.
     */
    bool is_header, is_spaced;
    bool is_quoted[SL_SOURCE_COLUMNS_MAX]; /* per cell; quoted cells keep their blanks */
    uint8_t delimiter;
    sl_file_identity file; /* identity when it was opened */
    uint8_t *window;
    size_t at, filled;
    uint64_t filled_to; /* file offset of the window's end */
    uint64_t line;
    uint8_t *text; /* text of the row */
    size_t text_bytes, text_capacity;
    uint32_t begins[SL_SOURCE_COLUMNS_MAX]; /* offsets in `text` of CSV's cells */
    json_t *root;
    sl_json_tree pairs;   /* contents of dataset.json */
    uint64_t pair;        /* number of the next pair */
    sluice_status status; /* status of reading the file */
    sluice_error *error;
} sl_table;

/* Returns whether a file is a table by its name: *.csv, *.tsv, *.jsonl, *.ndjson, *.lst. */
bool sl_table_is_named(const char *path);

/*
 * Opens a table. `path` must outlive it. Errors: IO; INVALID (no header row), CORRUPT, UNSUPPORTED
 * (UTF-16; too many columns), NOMEM.
 */
sluice_status sl_table_open(sl_table **table, const char *path, sluice_error *error);
void sl_table_close(sl_table *table); /* NULL is a no-op */
/*
 * Steps to the next row; `*more` false: there is none, and the file was not modified meanwhile.
 * Errors: as sl_table_open.
 */
sluice_status sl_table_next(sl_table *table, bool *more, sluice_error *error);
/* Returns to the first row. Errors: as sl_table_open. */
sluice_status sl_table_rewind(sl_table *table, sluice_error *error);
/*
 * Reports an error in the row, or in a column of it (SL_FIELD_NONE: none), and returns its status.
 */
sluice_status sl_table_refuse(const sl_table *table, sluice_status status, uint32_t column,
                              const char *why, sluice_error *error);

/* ---- for the readers (table_csv.c, table_json.c, table_lst.c) ---- */

/* The kind of a file named dataset.json. */
typedef enum sl_pairs {
    SL_PAIRS_NONE,      /* not StyleGAN's */
    SL_PAIRS_LABELS,    /* has labels of images */
    SL_PAIRS_UNLABELLED /* states that there are none */
} sl_pairs;
sl_pairs sl_table_pairs_look(sl_look *look);
sluice_status sl_table_open_pairs(sl_table *table);
sluice_status sl_table_next_pair(sl_table *table, bool *more);
/* Returns the cell of a JSON value: absent for null. */
sl_cell sl_table_json_cell(json_t *value);

/* Returns the next byte without taking it; -1: the end, or an error in table->status. */
int sl_table_peek(sl_table *table);
/*
 * Appends bytes to `text` up to one of the `count` bytes in `stops`, which is not taken, or the
 * end.
 */
sluice_status sl_table_take(sl_table *table, const char *stops, size_t count);
sluice_status sl_table_append(sl_table *table, const void *bytes, size_t count);

/* Takes `*count` cells, 0 at the end, whose texts begin at `begins` and are NUL-terminated. */
sluice_status sl_table_take_row(sl_table *table, uint32_t *count);
sluice_status sl_table_next_csv(sl_table *table, bool *more);
sluice_status sl_table_read_header(sl_table *table);
sluice_status sl_table_next_json(sl_table *table, bool *more);
sluice_status sl_table_name_lst(sl_table *table);
sluice_status sl_table_next_lst(sl_table *table, bool *more);

#endif
