/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_values: decodes all values of a leaf in a row group, in order.
 *
 * Purpose: for small columns, which opening reads: reads and unpacks their pages, and decodes the
 * values in any encoding. Source: Apache Parquet, Encodings.md. Threads: one owner. Memory: two
 * pages, the dictionary's page, and 4 bytes for each of its values.
 */
#ifndef SL_PARQUET_VALUES_H
#define SL_PARQUET_VALUES_H

#include "parquet_file.h"
#include "store.h"

#include <stdbool.h>

/*
 * A value, or none: `def` is how much of its path is present, `rep` the list that it continues (0:
 * a new row).
 */
typedef struct sl_parquet_slot {
    uint32_t def, rep;
    int64_t integer;     /* for BOOLEAN, INT32, INT64 */
    double number;       /* for FLOAT, DOUBLE */
    sl_bytes bytes;      /* for BYTES, FIXED, INT96; valid until the next slot */
    uint32_t entry;      /* number in the dictionary, from 1; 0: not from a dictionary */
    uint32_t dictionary; /* number of that dictionary in the chunk, from 1 */
} sl_parquet_slot;

typedef struct sl_parquet_sink {
    void *ctx;
    bool peeks; /* true if only the first bytes of the first present value are needed */
    /* Takes a slot. A negative status ends the decoding. */
    sluice_status (*take)(void *ctx, const sl_parquet_slot *slot, sluice_error *error);
} sl_parquet_sink;

/*
 * Passes each slot of the chunk to the sink. Errors: IO, CORRUPT, UNSUPPORTED (unknown encoding or
 * compression), NOMEM, and those of the sink.
 */
sluice_status sl_parquet_decode(const sl_parquet_leaf *leaf, const sl_parquet_chunk *chunk,
                                const sl_handle *from, const sl_parquet_sink *sink,
                                sluice_error *error);

#endif
