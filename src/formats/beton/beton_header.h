/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beton_header: parses the header, fields and rows of FFCV's .beton files (version 2).
 *
 * Purpose: the only code that knows their layout. Header, 24 bytes: u16 version, u16 fields, u32
 * page size, u64 samples, u64 offset of the allocation table. Then each field in 1041 bytes: u8
 * type, 16 bytes of name, 1024 of arguments. Then one row per sample, a structure as numpy lays it
 * out with align=True: numbers and pointers to arrays at multiples of 8; images (u8 mode, u16
 * width, u16 height, u64 pointer) and bytes (u64 pointer, u64 size) anywhere. After the rows,
 * starting at a multiple of the page size, pages with the data that rows point to. Last, the table
 * up to the end of the file: u64 sample, u64 pointer, u64 size, in any order. Only the table has
 * the length of a JPEG; for all other data it repeats what row or field say. Threads: pure.
 */
#ifndef SL_BETON_HEADER_H
#define SL_BETON_HEADER_H

#include "source_columns.h"

#define SL_BETON_HEAD       24U
#define SL_BETON_FIELD      1041U
#define SL_BETON_ALLOCATION 24U /* size of a row of the table */

typedef struct sl_beton_head {
    uint32_t columns; /* number of fields: 1 to SL_SOURCE_COLUMNS_MAX */
    uint32_t page_bytes;
    uint64_t samples, rows_at,
        row_bytes;                 /* extent of the rows, which are in the file before the table */
    uint64_t table_at, table_rows; /* extent of the table, which ends with the file */
} sl_beton_head;

typedef enum sl_beton_kind {
    SL_BETON_FLOAT = 0,
    SL_BETON_INT = 1,
    SL_BETON_PICTURE = 2,
    SL_BETON_BYTES = 3,
    SL_BETON_ARRAY = 4,
    SL_BETON_JSON = 5,
    SL_BETON_TENSOR = 6 /* torch's tensor, stored like an array */
} sl_beton_kind;

typedef struct sl_beton_column {
    sl_source_column source;
    sl_beton_kind kind;
    uint32_t at;      /* offset in a row */
    uint32_t picture; /* its number among the image columns */
    uint64_t bytes;   /* size of an array */
} sl_beton_column;

/* Parses the header except row_bytes, which sl_beton_columns_parse sets. */
sl_refusal sl_beton_head_parse(sl_beton_head *head, const uint8_t bytes[SL_BETON_HEAD],
                               uint64_t file_bytes);
/*
 * Parses the fields in head->columns x SL_BETON_FIELD `bytes`, and completes the head. A column
 * that cannot be a field gets `refused`; one of unknown size in the row is an error, since no row
 * can be read then. Offsets count from the file's beginning.
 */
sl_refusal sl_beton_columns_parse(sl_beton_head *head, sl_beton_column *columns,
                                  const uint8_t *bytes);

/*
 * Returns the extent that a row points to; false: a column of numbers. `allocated`: the size of an
 * image from the table.
 */
bool sl_beton_piece_of(const sl_beton_column *column, const uint8_t *row, uint32_t allocated,
                       sl_extent *piece);
/*
 * Makes a value of `field` from the column: the number in the row, or `bytes`, the data that it
 * points to; `value->offset` is their offset.
 */
sl_refusal sl_beton_value(const sl_beton_column *column, const sl_field *field, const uint8_t *row,
                          sl_bytes bytes, sl_value *value);

#endif
