/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_make: builds small Parquet files from the specification, without library code.
 *
 * The rows are those of row_model.h, starting with row `first`. Lists without elements are null
 * where n % 8 == 0, otherwise empty. Hugging Face metadata declares the labels as classes: ant,
 * bee, cat. Everything aborts on failure. Ownership: parquet_free. Threads: pure.
 */
#ifndef SL_PARQUET_MAKE_H
#define SL_PARQUET_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum parquet_encoding {
    PARQUET_PLAIN,
    PARQUET_DICTIONARY,     /* all columns */
    PARQUET_OLD_DICTIONARY, /* the same, as version 1 writers declare it */
    PARQUET_DELTA,          /* deltas of numbers, lengths and prefixes, split bytes of floats */
} parquet_encoding;

/* Codec numbers of the format. */
typedef enum parquet_codec {
    PARQUET_STORED = 0,
    PARQUET_SNAPPY = 1,
    PARQUET_GZIP = 2,
    PARQUET_ZSTD = 6,
} parquet_codec;

/* The number that is wrong, in the first page header that has it, or in the footer. */
typedef enum parquet_claim {
    PARQUET_HONEST,
    PARQUET_CLAIM_BYTES,   /* of a page, stored */
    PARQUET_CLAIM_RAW,     /* unpacked */
    PARQUET_CLAIM_VALUES,  /* of a data page */
    PARQUET_CLAIM_ENTRIES, /* of a dictionary */
    PARQUET_CLAIM_SLOTS,   /* of a column of a group */
    PARQUET_CLAIM_ROWS,    /* of a group, and so of the file */
    PARQUET_CLAIM_GROUPS,
    PARQUET_CLAIM_DATA, /* where a column's data pages begin */
    PARQUET_CLAIMS
} parquet_claim;

typedef struct parquet_options {
    unsigned first, groups, rows; /* rows of each group */
    unsigned page_rows;           /* 0: all of a group */
    unsigned image;               /* bytes of row 0's image; 0: ROW_IMAGE */
    parquet_encoding encoding;
    parquet_codec codec;
    bool version2; /* version 2 data pages */
    bool packed;   /* levels and indices in groups of 8, not in runs */
    bool crc;
    parquet_claim claim;
    int64_t claimed; /* the false number, */
    unsigned liar;   /* and its leaf */
} parquet_options;

/* A page with its header: offset and sizes of both. */
typedef struct parquet_page {
    uint32_t leaf; /* PARQUET_IMAGE ... */
    bool dictionary;
    size_t at, header, bytes;
} parquet_page;

enum { PARQUET_IMAGE, PARQUET_PATH, PARQUET_LABEL, PARQUET_WORD, PARQUET_LIST, PARQUET_PAIR };
enum { PARQUET_LEAVES = 6, PARQUET_PAGES_MAX = 512 };

typedef struct parquet_made {
    uint8_t *data;
    size_t size, capacity;
    size_t footer; /* offset of the footer, which ends 8 bytes before the file's end */
    parquet_page pages[PARQUET_PAGES_MAX];
    uint32_t page_count;
} parquet_made;

void parquet_make(parquet_made *file, const parquet_options *options);
void parquet_free(parquet_made *file);

#endif
