/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_file: what the footer of a Parquet file says.
 *
 * Purpose: the leaves of its schema, and where each row group has their pages. All that it says is
 * checked against the file's size; what the pages say is parquet_pages' affair. Source:
 * parquet.thrift. Threads: one reads a footer; then it is immutable. Ownership:
 * sl_parquet_close. Memory: 40 bytes for each leaf of each row group.
 */
#ifndef SL_PARQUET_FILE_H
#define SL_PARQUET_FILE_H

#include "error.h"
#include "store.h"
#include "view.h"

#include <stdbool.h>

#define SL_PARQUET_LEAVES_MAX 1024U
#define SL_PARQUET_NAME_BYTES 256U

/* Numbers of parquet.thrift. */
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

/* What a leaf's values stand for, as far as it matters here. */
typedef enum sl_parquet_meaning {
    SL_PARQUET_AS_IS = 0,
    SL_PARQUET_TEXT,
    SL_PARQUET_SIGNED, /* of `bits` */
    SL_PARQUET_UNSIGNED,
    SL_PARQUET_OTHER /* decimal numbers, ...: nothing that a field could be */
} sl_parquet_meaning;

typedef struct sl_parquet_leaf {
    char name[SL_PARQUET_NAME_BYTES]; /* those above it, and its own, without what lists add: a.b */
    uint32_t parent;                  /* number of the group that it is in */
    uint32_t siblings;                /* leaves and groups in that one, itself included */
    uint32_t type_bytes;              /* FIXED */
    uint8_t type;                     /* an sl_parquet_type */
    uint8_t meaning;                  /* an sl_parquet_meaning */
    uint8_t bits;
    uint8_t max_def, max_rep;
    uint8_t item_def;  /* from this level on its innermost list has an element; 0: it is in none */
    uint8_t outer_def; /* likewise its outermost one */
} sl_parquet_leaf;

/* The pages of a leaf in a row group. */
typedef struct sl_parquet_chunk {
    uint64_t offset, bytes, values;
    uint64_t unpacked; /* bytes, as they are meant; by the footer only */
    uint32_t codec;
} sl_parquet_chunk;

typedef struct sl_parquet {
    sl_file_identity file;
    sl_handle kept; /* open from one step of opening to the next; the opener closes it */
    uint64_t rows;
    uint32_t leaf_count, group_count;
    sl_parquet_leaf *leaves;
    uint64_t *group_rows;     /* of each row group */
    sl_parquet_chunk *chunks; /* leaf_count of each row group */
    char *features; /* what Hugging Face's datasets says of the columns: JSON; NULL: nothing */
    size_t features_bytes;
} sl_parquet;

/* Whether the bytes begin, or end, as such a file does: 4 of them. */
bool sl_parquet_is(const uint8_t magic[4]);
/* Reads the footer of an open file, that parquet->file is of. Errors: IO, CORRUPT, UNSUPPORTED,
 * NOMEM. */
sluice_status sl_parquet_read_footer(sl_parquet *parquet, const sl_handle *from,
                                     sluice_error *error);
/* Reads a footer that is in memory, of a file of `bytes`. */
sl_refusal sl_parquet_parse(sl_parquet *parquet, sl_bytes footer, uint64_t bytes);
/* Of a leaf's values in a row group, nulls and empty lists included: rows, where it is in no list.
 */
static inline uint64_t sl_parquet_slots(const sl_parquet *parquet, uint32_t group, uint32_t leaf)
{
    return parquet->leaves[leaf].max_rep > 0
               ? parquet->chunks[(size_t)group * parquet->leaf_count + leaf].values
               : parquet->group_rows[group];
}
/* Of all zero is fine. */
void sl_parquet_close(sl_parquet *parquet);

#endif
