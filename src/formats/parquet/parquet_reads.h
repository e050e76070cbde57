/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_reads: a column of large values, which is read with each sample.
 *
 * Purpose: locates the bytes of a row's value, or of the wanted elements of its list, which are
 * adjacent; and finds the values in these bytes. Values are in place after their lengths, or in
 * pages; all pages of the row are unpacked in the values' buffer. Threads: a read is immutable;
 * values have one owner. Neither blocks nor allocates, except for the buffer.
 */
#ifndef SL_PARQUET_READS_H
#define SL_PARQUET_READS_H

#include "columnar.h"
#include "parquet_index.h"

typedef struct sl_parquet_read {
    uint32_t leaf;
    uint32_t buffer;    /* number of the values' buffer */
    uint32_t low, high; /* first and last wanted element of lists */
    sl_parquet_index index;
} sl_parquet_read;

/*
 * Returns the bytes of the file with the values of a row, including their lengths; size 0: no
 * value.
 */
sl_extent sl_parquet_read_find(const sl_parquet_read *read, uint64_t row);
/*
 * Finds element `element` of the row's list (0 if it is not a list): sets whether `value` is
 * present, its bytes, and their offset in the bytes read.
 */
sl_refusal sl_parquet_read_value(const sl_parquet_read *read, uint64_t row, uint32_t element,
                                 const sl_columnar_bytes *from, sl_value *value);
/*
 * Returns the bytes of such a value alone; empty if it is absent. False: it is in a page that has
 * to be unpacked.
 */
bool sl_parquet_read_extent(const sl_parquet_read *read, uint64_t row, uint32_t element,
                            sl_extent *extent);

#endif
