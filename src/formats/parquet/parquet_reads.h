/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_reads: a column of large values, which is read with each sample.
 *
 * Purpose: where the bytes of a row's value are, or of those elements of its list that are wanted,
 * which are one behind the other; and the values out of them: as they are, after their lengths, or
 * in pages, that are unpacked in the values' buffer, all that the row is in. Threads: a read is
 * immutable; values have one owner. Neither blocks nor allocates, but for the space.
 */
#ifndef SL_PARQUET_READS_H
#define SL_PARQUET_READS_H

#include "columnar.h"
#include "parquet_index.h"

typedef struct sl_parquet_read {
    uint32_t leaf;
    uint32_t buffer;    /* of the values' buffers */
    uint32_t low, high; /* elements of lists that are wanted, the first and the last */
    sl_parquet_index index;
} sl_parquet_read;

/* The bytes of the file that the values of a row are in, with the lengths in front of them; of 0
 * bytes: there is no value. */
sl_extent sl_parquet_read_find(const sl_parquet_read *read, uint64_t row);
/*
 * Element `element` of the row's list, 0 where it is none: `value` says whether it is present, and
 * its bytes and their offset in those that were read.
 */
sl_refusal sl_parquet_read_value(const sl_parquet_read *read, uint64_t row, uint32_t element,
                                 const sl_columnar_bytes *from, sl_value *value);
/* The bytes of such a value alone; none where it is absent. False: it is in a page that has to be
 * unpacked. */
bool sl_parquet_read_extent(const sl_parquet_read *read, uint64_t row, uint32_t element,
                            sl_extent *extent);

#endif
