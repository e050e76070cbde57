/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beton_header: what FFCV's .beton files (version 2) say of themselves: header, fields, rows.
 *
 * Purpose: the one place that knows their layout. Header, 24 bytes: u16 version, u16 fields, u32
 * page size, u64 samples, u64 where the allocation table begins. Then each field in 1041 bytes: u8
 * type, 16 bytes of name, 1024 of arguments. Then a row for each sample, a structure as numpy makes
 * it with align=True: numbers and pointers to arrays are at multiples of 8, pictures (u8 mode, u16
 * width, u16 height, u64 pointer) and bytes (u64 pointer, u64 size) anywhere. Behind the rows, from
 * a multiple of the page size on, pages with what rows point to, then the table to the end of the
 * file: u64 sample, u64 pointer, u64 size, in any order; how long a JPEG is only it says, and of
 * all else the same as row or field do. Threads: pure.
 */
#ifndef SL_BETON_HEADER_H
#define SL_BETON_HEADER_H

#include "source_columns.h"

#define SL_BETON_HEAD       24U
#define SL_BETON_FIELD      1041U
#define SL_BETON_ALLOCATION 24U /* a row of the table */

typedef struct sl_beton_head {
    uint32_t columns; /* 1 to SL_SOURCE_COLUMNS_MAX */
    uint32_t page_bytes;
    uint64_t samples, rows_at, row_bytes; /* all rows are in the file, before the table */
    uint64_t table_at, table_rows;        /* the table ends with the file */
} sl_beton_head;

typedef enum sl_beton_kind {
    SL_BETON_FLOAT = 0,
    SL_BETON_INT = 1,
    SL_BETON_PICTURE = 2,
    SL_BETON_BYTES = 3,
    SL_BETON_ARRAY = 4,
    SL_BETON_JSON = 5,
    SL_BETON_TENSOR = 6 /* torch's: as an array */
} sl_beton_kind;

typedef struct sl_beton_column {
    sl_source_column source;
    sl_beton_kind kind;
    uint32_t at;      /* in a row */
    uint32_t picture; /* number of it among those of pictures */
    uint64_t bytes;   /* of an array */
} sl_beton_column;

/* What the header says but for row_bytes, which comes with the fields. */
sl_refusal sl_beton_head_parse(sl_beton_head *head, const uint8_t bytes[SL_BETON_HEAD],
                               uint64_t file_bytes);
/*
 * The fields, of which there are head->columns x SL_BETON_FIELD `bytes`, and the rest of the head.
 * What cannot be a field has `refused`; a field whose row nobody knows is refused at once, since no
 * row can be read then. Offsets count from the file's beginning.
 */
sl_refusal sl_beton_columns_parse(sl_beton_head *head, sl_beton_column *columns,
                                  const uint8_t *bytes);

/* What a row points to; false: the column is of numbers. `allocated`: the size of a picture, by the
 * table. */
bool sl_beton_piece_of(const sl_beton_column *column, const uint8_t *row, uint32_t allocated,
                       sl_extent *piece);
/* A value, of a `field` that is to be made of the column: the number in the row, or `bytes`, what
 * it points to; `value->offset` is theirs. */
sl_refusal sl_beton_value(const sl_beton_column *column, const sl_field *field, const uint8_t *row,
                          sl_bytes bytes, sl_value *value);

#endif
