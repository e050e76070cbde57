/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket_order: the order of an epoch whose global batches each have samples of one bucket.
 *
 * Purpose: images of similar aspect ratio are in one batch, which can then have one size. With
 * G = batch x world positions of a global batch:
 *   bucket    its samples are permuted for the epoch, or in the order of their numbers
 *             (SHUFFLE_NONE), and are cut into global batches of G from the first on;
 *   batches   the whole batches of all buckets are in the order of another permutation; with
 *             SHUFFLE_NONE, bucket after bucket;
 *   rests     the remaining samples of each bucket, fewer than G, come after them, in the order of
 *             buckets.
 * So position and sample are computed from each other, without a table of the epoch: position p
 * below G x (whole batches) is place p % G of batch p / G in that order; this is batch i of its
 * bucket, so its sample is place i x G + p % G of the bucket. Each sample has one position in an
 * epoch, and the bucket of a position does not depend on the rank. Example: G = 2; bucket 0 has
 * samples 0 2 4 6 9, bucket 1 has 1 3 5 7 8. Permuted, 4 9 0 6 2 and 3 8 1 7 5; batches (4 9) (0 6)
 * (3 8) (1 7) may come as (3 8) (4 9) (1 7) (0 6), and the rests (2) and (5) are at positions 8
 * and 9. Memory: 4 bytes a sample, for all epochs. Threads: a set is immutable once made.
 */
#ifndef SL_BUCKET_ORDER_H
#define SL_BUCKET_ORDER_H

#include "order.h"

#include <sluice/common.h>

#include <stdbool.h>

#define SL_BUCKETS_MAX 64U

typedef struct sl_bucket_set {
    uint32_t count;
    uint64_t samples, global; /* all samples; positions of a global batch */
    uint32_t *members;        /* numbers of samples, by bucket, ascending in each */
    /* Before each bucket, and at the end: samples, whole batches, samples of rests, and rests
     * that are not empty. */
    uint64_t first[SL_BUCKETS_MAX + 1];
    uint64_t batches[SL_BUCKETS_MAX + 1];
    uint64_t rests[SL_BUCKETS_MAX + 1];
    uint64_t rest_steps[SL_BUCKETS_MAX + 1];
} sl_bucket_set;

extern const sl_order_kind sl_bucket_order; /* of an sl_bucket_set */

/* Makes a set in which sample n (from 0) is in bucket bucket_of[n], below `count`. Errors:
 * NOMEM; UNSUPPORTED: 2^32 samples or more. */
sluice_status sl_bucket_set_open(sl_bucket_set *set, const uint8_t *bucket_of, uint64_t samples,
                                 uint32_t count, uint64_t global, sluice_error *error);
/* A zeroed set may be closed. */
void sl_bucket_set_close(sl_bucket_set *set);

/* Returns the order of an epoch; `set` must stay. `shuffle`: FULL or NONE. */
sl_order sl_order_make_buckets(const sl_bucket_set *set, sluice_shuffle shuffle, uint64_t seed,
                               uint64_t epoch);

static inline uint64_t sl_bucket_samples(const sl_bucket_set *set, uint32_t bucket)
{
    return set->first[bucket + 1] - set->first[bucket];
}

sl_order_place sl_bucket_find(const sl_order *order, uint64_t position);
/* True if the sample is in the bucket. */
bool sl_bucket_has(const sl_bucket_set *set, uint32_t bucket, uint64_t sample);
/* Returns the inverse of sl_bucket_find. */
uint64_t sl_bucket_position(const sl_order *order, sl_order_place at);
/* Finds the samples at `first` and the following positions. */
void sl_bucket_order_samples(const sl_order *order, uint64_t first, uint32_t count,
                             uint64_t *samples);

/* ---- steps: whole batches, then rests ---- */

/* Sets the number of the step that begins at `position`; false: no step begins there (nor is it
 * the epoch's end). */
bool sl_bucket_step_at(const sl_bucket_set *set, uint64_t position, uint64_t *step);
/* Returns a step < whole batches + rests; that sum itself is the epoch's end. */
sl_order_step sl_bucket_step_of(const sl_order *order, uint64_t step);

#endif
