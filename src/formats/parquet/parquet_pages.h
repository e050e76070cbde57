/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_pages: the pages of a leaf in a row group, one after the other.
 *
 * Purpose: page headers, read by a window, and checked: a page is in its chunk. Bodies are read
 * by whoever wants them. Source: parquet.thrift. Threads: one owner. The walk allocates nothing.
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
    SL_PARQUET_DATA_1, /* levels begin with their size, and are compressed with the values */
    SL_PARQUET_DATA_2, /* levels are in front of what is compressed */
    SL_PARQUET_DICTIONARY
} sl_parquet_page_kind;

typedef struct sl_parquet_page {
    sl_parquet_page_kind kind;
    uint64_t offset;   /* of its body, in the file */
    uint32_t bytes;    /* of its body as it is stored */
    uint32_t unpacked; /* and as it is meant */
    uint32_t values;   /* nulls included */
    uint32_t encoding, level_encoding;
    uint32_t rep_bytes, def_bytes; /* DATA_2: of its levels */
    bool compressed;
    bool has_crc; /* `crc` is the CRC-32 of its body as it is stored */
    uint32_t crc;
} sl_parquet_page;

/* Bytes of the head that a walk looks at at once; and the most that a header can have. */
#define SL_PARQUET_WINDOW_BYTES ((size_t)4 << 10)
#define SL_PARQUET_HEADER_MAX   ((size_t)1 << 20)

typedef struct sl_parquet_walk {
    const sl_handle *from;
    uint64_t at, end; /* the next page's header, and the chunk's end */
    uint64_t values;  /* of data pages so far */
    uint32_t codec;
    uint64_t window_at; /* of the bytes in the window */
    size_t window_bytes;
    uint8_t window[SL_PARQUET_WINDOW_BYTES];
} sl_parquet_walk;

void sl_parquet_walk_begin(sl_parquet_walk *walk, const sl_handle *from,
                           const sl_parquet_chunk *chunk);
/*
 * The next page that is data or a dictionary. END: there is no more, and that is right: there were
 * as many values as `values` says. Errors: IO, CORRUPT, UNSUPPORTED (a compression that is not
 * known), NOMEM.
 */
sluice_status sl_parquet_walk_next(sl_parquet_walk *walk, uint64_t values, sl_parquet_page *page,
                                   sluice_error *error);
/* Parses a header: how many bytes it has; 0: it is cut short, or damaged. */
size_t sl_parquet_page_header(sl_bytes bytes, sl_parquet_page *page, bool *is_other);

#endif
