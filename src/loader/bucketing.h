/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucketing: the bucket of aspect ratio of each sample, for the order of bucket_order.h.
 *
 * Purpose: the sizes in option `buckets`, and the size of each sample's image, from the caller's
 * table (option `sizes`), or from picture_sizes.h. An image that cannot be read is in the first
 * bucket, and becomes a bad sample on its turn: opening does not fail for it.
 *
 * Threads: immutable once open. Memory: 4 bytes a sample, 5 while it is opened.
 */
#ifndef SL_BUCKETING_H
#define SL_BUCKETING_H

#include "config.h"

#include "bucket_order.h"
#include "columns.h"

typedef struct sl_bucketing {
    uint32_t count; /* 0: there are no buckets */
    sluice_size sizes[SL_BUCKETS_MAX];
    sl_bucket_set set;
    uint64_t hash;      /* of the sizes, and of each sample's bucket */
    uint8_t *bucket_of; /* of each sample, while it is opened */
} sl_bucketing;

/* Reads the list of sizes. INVALID: quotes the wrong part. */
sluice_status sl_bucketing_read(sl_bucketing *bucketing, const char *text, sluice_error *error);
/* Returns the bucket with the nearest aspect ratio, by the difference of logarithms; of equal ones
 * that of the largest area, then the first. */
uint32_t sl_bucketing_nearest(const sl_bucketing *bucketing, sluice_size size);
/*
 * Finds the samples' buckets, if there are any: by the images of the first column that uses
 * buckets. `options` have no defaults left. Blocks. Errors: INVALID, UNSUPPORTED (options, columns
 * or a dataset that cannot be used with buckets), IO, NOMEM.
 */
sluice_status sl_bucketing_open(sl_bucketing *bucketing, const sluice_loader_options *options,
                                const sl_dataset *dataset, const sl_column_set *columns,
                                sluice_error *error);
/* A zeroed one may be closed. */
void sl_bucketing_close(sl_bucketing *bucketing);

#endif
