/* SPDX-License-Identifier: Apache-2.0 */
#include "philox.h"

#include <assert.h>

/* Multipliers and Weyl increments of Philox4x32 (Salmon et al., SC 2011, section 4.1). */
#define MULTIPLIER_0 0xD2511F53U
#define MULTIPLIER_1 0xCD9E8D57U
#define WEYL_0       0x9E3779B9U
#define WEYL_1       0xBB67AE85U
#define ROUNDS       10

/* Separates the keys of streams from every other use of sl_philox_u64. */
#define STREAM_DOMAIN 0x73747265616D0000U

#define OPERATION_BITS 16
#define BLOCK_BITS     16

static sl_philox_block one_round(sl_philox_block c, uint32_t key_0, uint32_t key_1)
{
    const uint64_t a = (uint64_t)MULTIPLIER_0 * c.v[0];
    const uint64_t b = (uint64_t)MULTIPLIER_1 * c.v[2];
    return (sl_philox_block){{
        (uint32_t)(b >> 32) ^ c.v[1] ^ key_0,
        (uint32_t)b,
        (uint32_t)(a >> 32) ^ c.v[3] ^ key_1,
        (uint32_t)a,
    }};
}

sl_philox_block sl_philox(uint64_t key, uint64_t counter_low, uint64_t counter_high)
{
    sl_philox_block block = {{
        (uint32_t)counter_low,
        (uint32_t)(counter_low >> 32),
        (uint32_t)counter_high,
        (uint32_t)(counter_high >> 32),
    }};
    uint32_t key_0 = (uint32_t)key;
    uint32_t key_1 = (uint32_t)(key >> 32);
    for (int i = 0; i < ROUNDS; i++) {
        block = one_round(block, key_0, key_1);
        key_0 += WEYL_0;
        key_1 += WEYL_1;
    }
    return block;
}

uint64_t sl_philox_u64(uint64_t key, uint64_t counter_low, uint64_t counter_high)
{
    const sl_philox_block block = sl_philox(key, counter_low, counter_high);
    return block.v[0] | ((uint64_t)block.v[1] << 32);
}

sl_random sl_random_for(uint64_t seed, uint64_t epoch, uint64_t sample, uint32_t operation)
{
    assert(operation < (1U << OPERATION_BITS));
    return (sl_random){
        .key = sl_philox_u64(seed, epoch, STREAM_DOMAIN),
        .low = sample,
        .high = (uint64_t)operation << BLOCK_BITS,
        .used = 4,
    };
}

uint32_t sl_random_u32(sl_random *random)
{
    if (random->used == 4) {
        random->block = sl_philox(random->key, random->low, random->high);
        random->high++;
        random->used = 0;
    }
    return random->block.v[random->used++];
}

double sl_random_unit(sl_random *random)
{
    const uint64_t upper = sl_random_u32(random);
    const uint64_t lower = sl_random_u32(random);
    return (double)((upper << 32 | lower) >> 11) * 0x1.0p-53;
}

double sl_random_range(sl_random *random, double low, double high)
{
    const double value = low + (high - low) * sl_random_unit(random);
    return value > high ? high : value; /* the product may round up */
}

/* Lemire, "Fast random integer generation in an interval", ACM TOMACS 2019. */
uint32_t sl_random_below(sl_random *random, uint32_t bound)
{
    assert(bound >= 1);
    const uint32_t biased = (0U - bound) % bound; /* 2^32 mod bound */
    uint64_t product = 0;
    do {
        product = (uint64_t)sl_random_u32(random) * bound;
    } while ((uint32_t)product < biased);
    return (uint32_t)(product >> 32);
}
