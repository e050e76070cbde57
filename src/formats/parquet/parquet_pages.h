/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_pages: walks the pages of a leaf in a row group.
 *
 * Purpose: reads page headers through a window, and checks that each page is in its chunk. The
 * caller reads the bodies. Source: parquet.thrift. Threads: one owner. The walk allocates nothing.
 */
#ifndef SL_PARQUET_PAGES_H
#define SL_PARQUET_PAGES_H

#include "parquet_file.h"
#include "store.h"

/* Numbers of Encoding. */
typedef enum sl_parquet_encoding {
    SL_PARQUET_PLAIN = 0,
    SL_PARQUET_PLAIN_DICTIONARY = 2,
    SL_PARQUET_RLE = 3,
    SL_PARQUET_DELTA_BINARY_PACKED = 5,
    SL_PARQUET_DELTA_LENGTH_BYTE_ARRAY = 6,
    SL_PARQUET_DELTA_BYTE_ARRAY = 7,
    SL_PARQUET_RLE_DICTIONARY = 8,
    SL_PARQUET_BYTE_STREAM_SPLIT = 9
} sl_parquet_encoding;

typedef enum sl_parquet_page_kind {
    SL_PARQUET_DATA_1, /* levels begin with their size and are compressed with the values */
    SL_PARQUET_DATA_2, /* levels precede the compressed part */
    SL_PARQUET_DICTIONARY
} sl_parquet_page_kind;

typedef struct sl_parquet_page {
    sl_parquet_page_kind kind;
    uint64_t offset;   /* file offset of its body */
    uint32_t bytes;    /* stored size of its body */
    uint32_t unpacked; /* unpacked size of its body */
    uint32_t values;   /* number of values, including nulls */
    uint32_t encoding, level_encoding;
    uint32_t rep_bytes, def_bytes; /* DATA_2: sizes of its levels */
    bool compressed;
    bool has_crc; /* true if `crc` is the CRC-32 of its stored body */
    uint32_t crc;
} sl_parquet_page;

/* Size of the window of a walk, and the maximum size of a header. */
#define SL_PARQUET_WINDOW_BYTES ((size_t)4 << 10)
#define SL_PARQUET_HEADER_MAX   ((size_t)1 << 20)

typedef struct sl_parquet_walk {
    const sl_handle *from;
    uint64_t at, end; /* offset of the next header, and end of the chunk */
    uint64_t values;  /* number of values in data pages so far */
    uint32_t codec;
    uint64_t window_at; /* file offset of the window */
    size_t window_bytes;
    uint8_t window[SL_PARQUET_WINDOW_BYTES];
} sl_parquet_walk;

void sl_parquet_walk_begin(sl_parquet_walk *walk, const sl_handle *from,
                           const sl_parquet_chunk *chunk);
/*
 * Steps to the next data or dictionary page. END: no more pages, and the number of values was
 * `values` as expected. Errors: IO, CORRUPT, UNSUPPORTED (unknown compression), NOMEM.
 */
sluice_status sl_parquet_walk_next(sl_parquet_walk *walk, uint64_t values, sl_parquet_page *page,
                                   sluice_error *error);
/* Parses a header and returns its size; 0: cut short, or damaged. */
size_t sl_parquet_page_header(sl_bytes bytes, sl_parquet_page *page, bool *is_other);

#endif
