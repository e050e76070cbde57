/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_values: all values of a leaf in a row group, in their order.
 *
 * Purpose: what opening a file has to know of its small columns: pages are read, unpacked, and
 * their values decoded, whatever the encoding. Source: Apache Parquet, Encodings.md. Threads: one
 * owner. Memory: two pages, that of a dictionary, and 4 bytes for each of its values.
 */
#ifndef SL_PARQUET_VALUES_H
#define SL_PARQUET_VALUES_H

#include "parquet_file.h"
#include "store.h"

#include <stdbool.h>

/* A value, or that there is none: `def` is how much of its path there is, `rep` at which list it
 * goes on (0: a new row). */
typedef struct sl_parquet_slot {
    uint32_t def, rep;
    int64_t integer;     /* of BOOLEAN, INT32, INT64 */
    double number;       /* of FLOAT, DOUBLE */
    sl_bytes bytes;      /* of BYTES, FIXED, INT96; valid until the next one */
    uint32_t entry;      /* of a dictionary, from 1; 0: it is of none */
    uint32_t dictionary; /* number of that in the chunk, from 1 */
} sl_parquet_slot;

typedef struct sl_parquet_sink {
    void *ctx;
    bool peeks; /* it takes the first value that is there, and of that its first bytes will do */
    /* Takes a slot. < 0 ends the decoding. */
    sluice_status (*take)(void *ctx, const sl_parquet_slot *slot, sluice_error *error);
} sl_parquet_sink;

/*
 * Hands each slot of the chunk to the sink. Errors: IO, CORRUPT, UNSUPPORTED (an encoding or
 * compression that is not known), NOMEM, and the sink's.
 */
sluice_status sl_parquet_decode(const sl_parquet_leaf *leaf, const sl_parquet_chunk *chunk,
                                const sl_handle *from, const sl_parquet_sink *sink,
                                sluice_error *error);

#endif
