/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_file: reads the footer of a Parquet file.
 *
 * Purpose: provides the leaves of its schema, and the location of their pages in each row group.
 * The footer is checked against the file's size; parquet_pages checks the pages. Source:
 * parquet.thrift. Threads: one reads a footer; then it is immutable. Ownership: sl_parquet_close.
 * Memory: 40 bytes for each leaf of each row group.
 */
#ifndef SL_PARQUET_FILE_H
#define SL_PARQUET_FILE_H

#include "error.h"
#include "store.h"
#include "view.h"

#include <stdbool.h>

#define SL_PARQUET_LEAVES_MAX 1024U
#define SL_PARQUET_NAME_BYTES 256U

/* Numbers from parquet.thrift. */
typedef enum sl_parquet_type {
    SL_PARQUET_BOOLEAN = 0,
    SL_PARQUET_INT32 = 1,
    SL_PARQUET_INT64 = 2,
    SL_PARQUET_INT96 = 3,
    SL_PARQUET_FLOAT = 4,
    SL_PARQUET_DOUBLE = 5,
    SL_PARQUET_BYTES = 6,
    SL_PARQUET_FIXED = 7
} sl_parquet_type;

/* Meanings of a leaf's values, as far as needed here. */
typedef enum sl_parquet_meaning {
    SL_PARQUET_AS_IS = 0,
    SL_PARQUET_TEXT,
    SL_PARQUET_SIGNED, /* integers of `bits` bits */
    SL_PARQUET_UNSIGNED,
    SL_PARQUET_OTHER /* decimal numbers and others that cannot be fields */
} sl_parquet_meaning;

typedef struct sl_parquet_leaf {
    char name[SL_PARQUET_NAME_BYTES]; /* full path of names, without those that lists add: a.b */
    uint32_t parent;                  /* number of its group */
    uint32_t siblings;   /* number of leaves and groups in that group, including itself */
    uint32_t type_bytes; /* size of a FIXED value */
    uint8_t type;        /* an sl_parquet_type */
    uint8_t meaning;     /* an sl_parquet_meaning */
    uint8_t bits;
    uint8_t max_def, max_rep;
    uint8_t
        item_def; /* lowest level at which its innermost list has an element; 0: not in a list */
    uint8_t outer_def; /* the same for its outermost list */
} sl_parquet_leaf;

/* The pages of a leaf in a row group. */
typedef struct sl_parquet_chunk {
    uint64_t offset, bytes, values;
    uint64_t unpacked; /* unpacked size according to the footer */
    uint32_t codec;
} sl_parquet_chunk;

typedef struct sl_parquet {
    sl_file_identity file;
    sl_handle kept; /* kept open between the steps of opening; the opener closes it */
    uint64_t rows;
    uint32_t leaf_count, group_count;
    sl_parquet_leaf *leaves;
    uint64_t *group_rows;     /* rows of each row group */
    sl_parquet_chunk *chunks; /* leaf_count chunks per row group */
    char *features; /* description of the columns by Hugging Face's datasets, as JSON; NULL: none */
    size_t features_bytes;
} sl_parquet;

/* Returns whether 4 bytes are the beginning or end of a Parquet file. */
bool sl_parquet_is(const uint8_t magic[4]);
/*
 * Reads the footer of an open file, which is parquet->file. Errors: IO, CORRUPT, UNSUPPORTED,
 * NOMEM.
 */
sluice_status sl_parquet_read_footer(sl_parquet *parquet, const sl_handle *from,
                                     sluice_error *error);
/* Parses a footer in memory, of a file of `bytes`. */
sl_refusal sl_parquet_parse(sl_parquet *parquet, sl_bytes footer, uint64_t bytes);
/*
 * Returns the number of a leaf's values in a row group, including nulls and empty lists; outside
 * lists, this is the number of rows.
 */
static inline uint64_t sl_parquet_slots(const sl_parquet *parquet, uint32_t group, uint32_t leaf)
{
    return parquet->leaves[leaf].max_rep > 0
               ? parquet->chunks[(size_t)group * parquet->leaf_count + leaf].values
               : parquet->group_rows[group];
}
/* Releases `parquet`, which may be zeroed. */
void sl_parquet_close(sl_parquet *parquet);

#endif
