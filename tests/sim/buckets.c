/* SPDX-License-Identifier: Apache-2.0 */
#include "buckets.h"

#include "world.h"

uint32_t sim_bucket_of(const sim_case *of, uint32_t sample)
{
    const sluice_size shape = of->data->shapes[sample];
    return shape.width == shape.height ? 0 : shape.width > shape.height ? 1 : 2;
}

sluice_size sim_bucket_size(uint32_t bucket)
{
    static const sluice_size sizes[SIM_BUCKETS] = {{16, 16}, {24, 12}, {12, 24}};
    return sizes[bucket];
}

static uint32_t samples_of(const sim_case *of, uint32_t bucket)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < of->data->samples; i++) {
        count += sim_bucket_of(of, i) == bucket;
    }
    return count;
}

/* A step: its rows, its bucket without a shuffle, and the bucket's rows before it. */
typedef struct bucket_step {
    uint32_t bucket, before, rows;
} bucket_step;

static bucket_step find_step(const sim_case *of, uint32_t number)
{
    for (uint32_t i = 0; i < SIM_BUCKETS; i++) {
        const uint32_t whole = samples_of(of, i) / of->global;
        if (number < whole) {
            return (bucket_step){i, number * of->global, of->global};
        }
        number -= whole;
    }
    for (uint32_t i = 0; i < SIM_BUCKETS; i++) {
        const uint32_t all = samples_of(of, i);
        const uint32_t rest = all % of->global;
        if (rest > 0 && number-- == 0) {
            return (bucket_step){i, all - rest, rest};
        }
    }
    sim_fail("an epoch has no step behind its last");
}

uint32_t sim_bucket_steps(const sim_case *of)
{
    uint32_t steps = 0;
    for (uint32_t i = 0; i < SIM_BUCKETS; i++) {
        const uint32_t all = samples_of(of, i);
        const bool rest = all % of->global > 0 && of->last_batch != SLUICE_LAST_DROP;
        steps += all / of->global + rest;
    }
    return steps;
}

uint32_t sim_bucket_rows(const sim_case *of, uint32_t step)
{
    return find_step(of, step).rows;
}

uint32_t sim_bucket_sample(const sim_case *of, uint32_t number, uint32_t row)
{
    const bucket_step found = find_step(of, number);
    uint32_t left = found.before + row;
    uint32_t sample = 0;
    while (sim_bucket_of(of, sample) != found.bucket || left-- > 0) {
        sample++;
    }
    return sample;
}
