/* SPDX-License-Identifier: Apache-2.0 */
#include "bucket_order.h"

#include "error.h"
#include "memory.h"
#include "philox.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* Separate the keys of one epoch from each other and from every other use of Philox. */
#define BATCH_DOMAIN  0x6275636B65740000U
#define BUCKET_DOMAIN 0x6275636B65740001U /* and the following values, one for each bucket */

static void count_by_bucket(sl_bucket_set *set, const uint8_t *bucket_of)
{
    uint64_t counts[SL_BUCKETS_MAX] = {0};
    for (uint64_t i = 0; i < set->samples; i++) {
        assert(bucket_of[i] < set->count);
        counts[bucket_of[i]]++;
    }
    for (uint32_t i = 0; i < set->count; i++) {
        const uint64_t rest = counts[i] % set->global;
        set->first[i + 1] = set->first[i] + counts[i];
        set->batches[i + 1] = set->batches[i] + counts[i] / set->global;
        set->rests[i + 1] = set->rests[i] + rest;
        set->rest_steps[i + 1] = set->rest_steps[i] + (rest > 0);
    }
}

sluice_status sl_bucket_set_open(sl_bucket_set *set, const uint8_t *bucket_of, uint64_t samples,
                                 uint32_t count, uint64_t global, sluice_error *error)
{
    assert(count >= 1 && count <= SL_BUCKETS_MAX && samples >= 1 && global >= 1);
    *set = (sl_bucket_set){.count = count, .samples = samples, .global = global};
    if (samples > UINT32_MAX) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, "loader",
            "too many samples for buckets: must be fewer than 2^32, the dataset has %llu",
            (unsigned long long)samples);
    }
    set->members = sl_calloc(samples, sizeof(*set->members));
    if (set->members == NULL) {
        return sl_no_memory(error, "loader", "for the samples of buckets");
    }
    count_by_bucket(set, bucket_of);
    uint64_t at[SL_BUCKETS_MAX];
    memcpy(at, set->first, sizeof(at));
    for (uint64_t i = 0; i < samples; i++) {
        set->members[at[bucket_of[i]]++] = (uint32_t)i;
    }
    return SLUICE_OK;
}

void sl_bucket_set_close(sl_bucket_set *set)
{
    sl_free(set->members);
    set->members = NULL;
}

bool sl_bucket_has(const sl_bucket_set *set, uint32_t bucket, uint64_t sample)
{
    uint64_t low = set->first[bucket];
    uint64_t high = set->first[bucket + 1];
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (set->members[middle] < sample) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < set->first[bucket + 1] && set->members[low] == sample;
}

sl_order sl_order_make_buckets(const sl_bucket_set *set, sluice_shuffle shuffle, uint64_t seed,
                               uint64_t epoch)
{
    assert(shuffle == SLUICE_SHUFFLE_FULL || shuffle == SLUICE_SHUFFLE_NONE);
    sl_order order = {.kind = &sl_bucket_order,
                      .set = set,
                      .shuffle = shuffle,
                      .count = set->samples,
                      .seed = seed,
                      .epoch = epoch};
    if (shuffle == SLUICE_SHUFFLE_FULL) {
        order.outer =
            sl_permutation_make(set->batches[set->count], sl_philox_u64(seed, epoch, BATCH_DOMAIN));
    }
    return order;
}

/* Returns the bucket of item `at`, where `before` counts the items before each bucket: the last
 * bucket whose count is not above `at`. */
static uint32_t bucket_with(const sl_bucket_set *set, const uint64_t *before, uint64_t at)
{
    uint32_t low = 0;
    for (uint32_t high = set->count; high - low > 1;) {
        const uint32_t middle = low + (high - low) / 2;
        if (before[middle] <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* ---- whole batches ---- */

/* Returns the batch, numbered through all buckets, at place `step` of an epoch; the next
 * function is its inverse. */
static uint64_t batch_at(const sl_order *order, uint64_t step)
{
    return order->shuffle == SLUICE_SHUFFLE_FULL ? sl_permutation_apply(&order->outer, step) : step;
}

static uint64_t step_of(const sl_order *order, uint64_t batch)
{
    return order->shuffle == SLUICE_SHUFFLE_FULL ? sl_permutation_invert(&order->outer, batch)
                                                 : batch;
}

/* ---- positions ---- */

static uint64_t whole_positions(const sl_bucket_set *set)
{
    return set->batches[set->count] * set->global;
}

/* Returns the number of samples of the bucket that are in whole batches. */
static uint64_t whole_samples(const sl_bucket_set *set, uint32_t bucket)
{
    return (set->batches[bucket + 1] - set->batches[bucket]) * set->global;
}

sl_order_place sl_bucket_find(const sl_order *order, uint64_t position)
{
    const sl_bucket_set *set = order->set;
    const uint64_t whole = whole_positions(set);
    assert(position < set->samples);
    if (position < whole) {
        const uint64_t batch = batch_at(order, position / set->global);
        const uint32_t bucket = bucket_with(set, set->batches, batch);
        return (sl_order_place){bucket, (batch - set->batches[bucket]) * set->global +
                                            position % set->global};
    }
    const uint32_t bucket = bucket_with(set, set->rests, position - whole);
    return (sl_order_place){bucket,
                            whole_samples(set, bucket) + position - whole - set->rests[bucket]};
}

uint64_t sl_bucket_position(const sl_order *order, sl_order_place at)
{
    const sl_bucket_set *set = order->set;
    const uint64_t whole = whole_samples(set, at.group);
    assert(at.place < sl_bucket_samples(set, at.group));
    if (at.place < whole) {
        const uint64_t batch = set->batches[at.group] + at.place / set->global;
        return step_of(order, batch) * set->global + at.place % set->global;
    }
    return whole_positions(set) + set->rests[at.group] + at.place - whole;
}

/* ---- samples ---- */

/* Finds the samples at `count` consecutive places of a bucket. */
static void place_samples(const sl_order *order, sl_order_place at, uint32_t count,
                          uint64_t *samples)
{
    const sl_bucket_set *set = order->set;
    const uint32_t *members = set->members + set->first[at.group];
    for (uint32_t i = 0; i < count; i++) {
        samples[i] = at.place + i;
    }
    if (order->shuffle == SLUICE_SHUFFLE_FULL) {
        const uint64_t key = sl_philox_u64(order->seed, order->epoch, BUCKET_DOMAIN + at.group);
        const sl_permutation inner = sl_permutation_make(sl_bucket_samples(set, at.group), key);
        sl_permutation_apply_run(&inner, at.place, count, samples);
    }
    for (uint32_t i = 0; i < count; i++) {
        samples[i] = members[samples[i]];
    }
}

void sl_bucket_order_samples(const sl_order *order, uint64_t first, uint32_t count,
                             uint64_t *samples)
{
    const sl_bucket_set *set = order->set;
    while (count > 0) {
        const sl_order_place at = sl_bucket_find(order, first);
        /* up to the end of this batch, or this rest */
        const uint64_t whole = whole_samples(set, at.group);
        const uint64_t end = at.place < whole ? at.place - at.place % set->global + set->global
                                              : sl_bucket_samples(set, at.group);
        const uint32_t run = end - at.place < count ? (uint32_t)(end - at.place) : count;
        place_samples(order, at, run, samples);
        first += run;
        samples += run;
        count -= run;
    }
}

/* ---- steps ---- */

bool sl_bucket_step_at(const sl_bucket_set *set, uint64_t position, uint64_t *step)
{
    const uint64_t whole = whole_positions(set);
    if (position <= whole) {
        *step = position / set->global;
        return position % set->global == 0;
    }
    const uint64_t rest = position - whole;
    for (uint32_t i = 1; i <= set->count; i++) {
        if (set->rests[i] == rest) {
            *step = set->batches[set->count] + set->rest_steps[i];
            return true;
        }
    }
    return false;
}

sl_order_step sl_bucket_step_of(const sl_order *order, uint64_t step)
{
    const sl_bucket_set *set = order->set;
    const uint64_t whole = set->batches[set->count];
    if (step < whole) {
        return (sl_order_step){.base = step * set->global,
                               .samples = set->global,
                               .group = bucket_with(set, set->batches, batch_at(order, step))};
    }
    const uint64_t rest = step - whole;
    assert(rest <= set->rest_steps[set->count]);
    if (rest == set->rest_steps[set->count]) {
        return (sl_order_step){.base = set->samples};
    }
    const uint32_t bucket = bucket_with(set, set->rest_steps, rest);
    return (sl_order_step){.base = whole_positions(set) + set->rests[bucket],
                           .samples = set->rests[bucket + 1] - set->rests[bucket],
                           .group = bucket};
}

/* ---- the kind ---- */

static sl_order bucket_make(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    return sl_order_make_buckets(source->set, source->shuffle, seed, epoch);
}

static uint64_t bucket_whole(const sl_order *order)
{
    const sl_bucket_set *set = order->set;
    return set->batches[set->count];
}

static uint64_t bucket_rests(const sl_order *order)
{
    const sl_bucket_set *set = order->set;
    return set->rest_steps[set->count];
}

static bool bucket_step_at(const sl_order *order, uint64_t position, uint64_t *step)
{
    return sl_bucket_step_at(order->set, position, step);
}

static uint64_t bucket_samples(const sl_order *order, uint32_t bucket)
{
    return sl_bucket_samples(order->set, bucket);
}

static bool bucket_fits(const sl_order *order, uint64_t position, uint64_t sample)
{
    return sl_bucket_has(order->set, sl_bucket_find(order, position).group, sample);
}

static const sl_order_groups bucket_groups = {
    .whole = bucket_whole,
    .rests = bucket_rests,
    .step_at = bucket_step_at,
    .step = sl_bucket_step_of,
    .samples = bucket_samples,
    .find = sl_bucket_find,
    .position = sl_bucket_position,
};

const sl_order_kind sl_bucket_order = {.name = "buckets",
                                       .make = bucket_make,
                                       .samples = sl_bucket_order_samples,
                                       .groups = &bucket_groups,
                                       .fits = bucket_fits};
