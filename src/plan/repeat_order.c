/* SPDX-License-Identifier: Apache-2.0 */
#include "repeat_order.h"

#include "fnv.h"
#include "philox.h"

#include <stddef.h>

/* Separate substitutes, and the hash, from every other use. */
#define SUBSTITUTE_DOMAIN 0x7265706561740000U
#define HASH_DOMAIN       0x7265706561740001U

/* Hashes with FNV-1a and sets the last bit: never 0. */
uint64_t sl_repeat_hash(const sl_repeat_set *set)
{
    uint64_t hash = sl_fnv1a(sl_fnv1a(SL_FNV1A_BEGIN, HASH_DOMAIN), set->entries);
    hash = sl_fnv1a(sl_fnv1a(hash, set->samples), set->repeats);
    return sl_fnv1a(hash, (uint64_t)set->batch * set->world) | 1;
}

/* Returns the entry of the list at a position. */
static uint64_t entry_at(const sl_repeat_set *set, uint64_t position)
{
    const uint64_t global = (uint64_t)set->batch * set->world;
    const uint64_t within = position % global;
    const uint64_t base = position - within;
    return set->entries - base < global
               ? position
               : base + within % set->batch * set->world + within / set->batch;
}

/* Returns the sample at a place of the permutation. */
static uint64_t sample_of_place(const sl_order *order, uint64_t place)
{
    return order->shuffle == SLUICE_SHUFFLE_FULL ? sl_permutation_apply(&order->outer, place)
                                                 : place;
}

static void repeat_samples(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples)
{
    const sl_repeat_set *set = order->set;
    for (uint32_t i = 0; i < count; i++) {
        samples[i] = sample_of_place(order, entry_at(set, first + i) / set->repeats);
    }
}

static uint64_t repeat_repetition(const sl_order *order, uint64_t position)
{
    const sl_repeat_set *set = order->set;
    return entry_at(set, position) % set->repeats;
}

static uint64_t repeat_choices(const sl_order *order, uint64_t position)
{
    const sl_repeat_set *set = order->set;
    (void)position;
    return (set->entries - 1) / set->repeats + 1;
}

static uint64_t repeat_substitute(const sl_order *order, uint64_t position, uint32_t attempt)
{
    const sl_repeat_set *set = order->set;
    const uint64_t choices = repeat_choices(order, position);
    const uint64_t key = sl_philox_u64(order->seed, order->epoch, SUBSTITUTE_DOMAIN);
    const uint64_t distance = 1 + sl_philox_u64(key, position, attempt) % (choices - 1);
    return sample_of_place(order, (entry_at(set, position) / set->repeats + distance) % choices);
}

static sl_order repeat_make(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    const sl_repeat_set *set = source->set;
    sl_order order = sl_order_make(source->shuffle, set->samples, 0, 0, seed, epoch);
    order.kind = &sl_repeat_order;
    order.set = set;
    order.count = set->entries;
    order.seed = seed;
    order.epoch = epoch;
    return order;
}

const sl_order_kind sl_repeat_order = {.name = "repeated",
                                       .make = repeat_make,
                                       .samples = repeat_samples,
                                       .repetition = repeat_repetition,
                                       .choices = repeat_choices,
                                       .substitute = repeat_substitute};
