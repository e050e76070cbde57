/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"

#include "philox.h"

#include <assert.h>

/* Separate the keys of one epoch from each other and from every other use of Philox. */
#define OUTER_DOMAIN  0x6F72646572000000U
#define WINDOW_DOMAIN 0x6F72646572000001U

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

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
    sl_order order = {.shuffle = shuffle, .count = count};
    const uint64_t key = sl_philox_u64(seed, epoch, OUTER_DOMAIN);
    if (shuffle == SLUICE_SHUFFLE_FULL) {
        order.outer = sl_permutation_make(count, key);
    } else if (shuffle == SLUICE_SHUFFLE_BLOCK) {
        assert(block >= 1 && window >= 1);
        order.block = smaller(block, count); /* so that their product cannot overflow */
        order.window = smaller(window, block_count(&order));
        order.window_key = sl_philox_u64(seed, epoch, WINDOW_DOMAIN);
        make_blocks(&order, key);
    }
    return order;
}

/* Samples in the first `rank` of the permuted blocks. */
static uint64_t samples_before(const sl_order *order, uint64_t rank)
{
    const uint64_t missing =
        rank > order->short_rank ? order->block - order->count % order->block : 0;
    return rank * order->block - missing;
}

/* Which run of `ranks` blocks has `position`. Behind the short block positions are less than a
 * block early, so that the quotient may be one run too low. */
static uint64_t run_of(const sl_order *order, uint64_t position, uint64_t ranks)
{
    const uint64_t run = position / (ranks * order->block);
    const uint64_t next = (run + 1) * ranks;
    return next < block_count(order) && position >= samples_before(order, next) ? run + 1 : run;
}

/* The samples at positions that share a window of blocks: as many as there are, `count` at most. */
static uint32_t window_samples(const sl_order *order, uint64_t first, uint32_t count,
                               uint64_t *samples)
{
    const uint64_t window = run_of(order, first, order->window);
    const uint64_t begin = samples_before(order, window * order->window);
    const uint64_t end =
        samples_before(order, smaller((window + 1) * order->window, block_count(order)));
    const uint32_t found = (uint32_t)smaller(count, end - first);
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

void sl_order_samples(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples)
{
    assert(first <= order->count && count <= order->count - first);
    switch (order->shuffle) {
    case SLUICE_SHUFFLE_FULL:
        sl_permutation_apply_run(&order->outer, first, count, samples);
        return;
    case SLUICE_SHUFFLE_BLOCK:
        for (uint32_t done = 0; done < count;) {
            done += window_samples(order, first + done, count - done, samples + done);
        }
        return;
    case SLUICE_SHUFFLE_NONE:
        break;
    }
    for (uint32_t i = 0; i < count; i++) {
        samples[i] = first + i;
    }
}

uint64_t sl_order_sample(const sl_order *order, uint64_t position)
{
    uint64_t sample;
    sl_order_samples(order, position, 1, &sample);
    return sample;
}
