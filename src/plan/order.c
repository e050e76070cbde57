/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"

#include "minmax.h"
#include "mixing.h"
#include "philox.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* Separate the keys of one epoch from each other and from every other use of Philox. */
#define OUTER_DOMAIN  0x6F72646572000000U
#define WINDOW_DOMAIN 0x6F72646572000001U
#define SOURCE_DOMAIN 0x6F72646572000002U

/* samples of a mix that are looked up together */
enum { MIXED_RUN = 64 };

static uint64_t block_count(const sl_order *order)
{
    return (order->count - 1) / order->block + 1;
}

static void make_blocks(sl_order *order, uint64_t key)
{
    const uint64_t blocks = block_count(order);
    order->outer = sl_permutation_make(blocks, key);
    const uint64_t last = blocks - 1;
    order->short_rank =
        order->count % order->block == 0 ? blocks : sl_permutation_invert(&order->outer, last);
}

sl_order sl_order_make(sluice_shuffle shuffle, uint64_t count, uint64_t block, uint64_t window,
                       uint64_t seed, uint64_t epoch)
{
    assert(count >= 1);
    sl_order order = {.kind = &sl_plain_order, .shuffle = shuffle, .count = count};
    const uint64_t key = sl_philox_u64(seed, epoch, OUTER_DOMAIN);
    if (shuffle == SLUICE_SHUFFLE_FULL) {
        order.outer = sl_permutation_make(count, key);
    } else if (shuffle == SLUICE_SHUFFLE_BLOCK) {
        assert(block >= 1 && window >= 1);
        order.block = sl_min_u64(block, count); /* so that their product cannot overflow */
        order.window = sl_min_u64(window, block_count(&order));
        order.window_key = sl_philox_u64(seed, epoch, WINDOW_DOMAIN);
        make_blocks(&order, key);
    }
    return order;
}

sl_order sl_order_make_mixed(const sl_mix *mix, const sl_order *shape, uint64_t seed,
                             uint64_t epoch)
{
    return (sl_order){.kind = &sl_mixed_order,
                      .set = mix,
                      .shuffle = shape->shuffle,
                      .count = mix->epoch_samples,
                      .block = shape->block,
                      .window = shape->window,
                      .seed = seed,
                      .epoch = epoch};
}

/* Returns the number of samples in the first `rank` of the permuted blocks. */
static uint64_t samples_before(const sl_order *order, uint64_t rank)
{
    const uint64_t missing =
        rank > order->short_rank ? order->block - order->count % order->block : 0;
    return rank * order->block - missing;
}

/* Returns the run of `ranks` blocks that has `position`. After the short block, positions are
 * less than a block early, so the quotient may be one run too low. */
static uint64_t run_of(const sl_order *order, uint64_t position, uint64_t ranks)
{
    const uint64_t run = position / (ranks * order->block);
    const uint64_t next = (run + 1) * ranks;
    return next < block_count(order) && position >= samples_before(order, next) ? run + 1 : run;
}

/* Finds the samples at positions that share a window of blocks, `count` at most. Returns how
 * many. */
static uint32_t window_samples(const sl_order *order, uint64_t first, uint32_t count,
                               uint64_t *samples)
{
    const uint64_t window = run_of(order, first, order->window);
    const uint64_t begin = samples_before(order, window * order->window);
    const uint64_t end =
        samples_before(order, sl_min_u64((window + 1) * order->window, block_count(order)));
    const uint32_t found = (uint32_t)sl_min_u64(count, end - first);
    const sl_permutation inner =
        sl_permutation_make(end - begin, sl_philox_u64(order->window_key, window, 0));
    sl_permutation_apply_run(&inner, first - begin, found, samples);
    for (uint32_t i = 0; i < found; i++) {
        const uint64_t mixed = begin + samples[i];
        const uint64_t rank = run_of(order, mixed, 1);
        samples[i] = sl_permutation_apply(&order->outer, rank) * order->block +
                     (mixed - samples_before(order, rank));
    }
    return found;
}

/* Returns the order of one source in one of its own epochs. */
static sl_order source_order(const sl_order *order, const sl_mix_place *place)
{
    const sl_mix *mix = order->set;
    const uint64_t *first = &mix->first[place->source];
    return sl_order_make(order->shuffle, first[1] - first[0], order->block, order->window,
                         sl_philox_u64(order->seed, place->source, SOURCE_DOMAIN), place->epoch);
}

/* Proceeds source by source, so that each source's order is made once. */
static void mixed_samples(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples)
{
    sl_mix_place places[MIXED_RUN];
    bool done[MIXED_RUN] = {false};
    const sl_mix *mix = order->set;
    for (uint32_t i = 0; i < count; i++) {
        places[i] = sl_mix_find(mix, order->epoch, first + i);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (done[i]) {
            continue;
        }
        const sl_order own = source_order(order, &places[i]);
        for (uint32_t k = i; k < count; k++) {
            if (places[k].source == places[i].source && places[k].epoch == places[i].epoch) {
                samples[k] =
                    mix->first[places[k].source] + sl_order_sample(&own, places[k].position);
                done[k] = true;
            }
        }
    }
}

static void mixed_runs(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples)
{
    for (uint32_t done = 0; done < count;) {
        const uint32_t run = (uint32_t)sl_min_u64(count - done, MIXED_RUN);
        mixed_samples(order, first + done, run, samples + done);
        done += run;
    }
}

static void plain_samples(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples)
{
    switch (order->shuffle) {
    case SLUICE_SHUFFLE_FULL:
        sl_permutation_apply_run(&order->outer, first, count, samples);
        return;
    case SLUICE_SHUFFLE_BLOCK:
        for (uint32_t done = 0; done < count;) {
            done += window_samples(order, first + done, count - done, samples + done);
        }
        return;
    case SLUICE_SHUFFLE_SHARDS: /* has its own kind */
        assert(false);
        break;
    case SLUICE_SHUFFLE_NONE:
        break;
    }
    for (uint32_t i = 0; i < count; i++) {
        samples[i] = first + i;
    }
}

static uint64_t mixed_repetition(const sl_order *order, uint64_t position)
{
    return sl_mix_repetition(order->set, order->epoch, position);
}

/* ---- kinds ---- */

static sl_order make_plain(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    return sl_order_make(source->shuffle, source->count, source->block, source->window, seed,
                         epoch);
}

static sl_order make_mixed(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    const sl_order shape = {
        .shuffle = source->shuffle, .block = source->block, .window = source->window};
    return sl_order_make_mixed(source->set, &shape, seed, epoch);
}

static sl_order make_shards(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    (void)seed;
    (void)epoch;
    return (sl_order){
        .kind = &sl_shards_order, .shuffle = SLUICE_SHUFFLE_SHARDS, .count = source->count};
}

const sl_order_kind sl_plain_order = {.name = "plain",
                                      .make = make_plain,
                                      .samples = plain_samples};
const sl_order_kind sl_mixed_order = {.name = "mixed",
                                      .make = make_mixed,
                                      .samples = mixed_runs,
                                      .repetition = mixed_repetition};
const sl_order_kind sl_shards_order = {.name = "shards", .make = make_shards};

void sl_order_samples(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples)
{
    assert(first <= order->count && count <= order->count - first);
    assert(order->kind->samples != NULL);
    order->kind->samples(order, first, count, samples);
}

uint64_t sl_order_sample(const sl_order *order, uint64_t position)
{
    uint64_t sample;
    sl_order_samples(order, position, 1, &sample);
    return sample;
}
