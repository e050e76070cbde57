/* SPDX-License-Identifier: Apache-2.0 */
#include "mixes.h"

#include "world.h"

/* A source and its samples so far. */
typedef struct source {
    uint64_t share, taken;
    uint32_t first, size;
    bool came[SIM_UNITS_MAX]; /* since every sample had come */
} source;

typedef struct walk {
    const sim_case *of;
    source sources[SIM_SOURCES];
    uint64_t period, position; /* position: in the whole run */
} walk;

static walk begin_walk(const sim_case *of)
{
    walk all = {.of = of};
    uint32_t first = 0;
    for (uint32_t i = 0; i < SIM_SOURCES; i++) {
        const uint32_t size = of->sources[i];
        all.sources[i] = (source){.share = (uint64_t)of->weights[i], .first = first, .size = size};
        all.period += all.sources[i].share;
        first += size;
    }
    return all;
}

/* Returns, of the sources that may come next, the one with the earliest deadline. */
static source *choose_source(walk *all)
{
    source *chosen = NULL;
    uint64_t earliest = UINT64_MAX;
    for (uint32_t i = 0; i < SIM_SOURCES; i++) {
        source *one = &all->sources[i];
        const uint64_t begin = one->taken * all->period / one->share;
        const uint64_t end = ((one->taken + 1) * all->period + one->share - 1) / one->share;
        if (begin <= all->position && end < earliest) {
            chosen = one;
            earliest = end;
        }
    }
    if (chosen == NULL) {
        sim_fail("no dataset's turn at position %llu", (unsigned long long)all->position);
    }
    return chosen;
}

static void take_place(walk *all, int64_t sample)
{
    source *one = choose_source(all);
    const uint64_t place = one->taken++ % one->size;
    for (uint32_t i = 0; place == 0 && i < one->size; i++) {
        one->came[i] = false;
    }
    all->position++;
    if (sample < 0) {
        return;
    }
    if (sample < one->first || sample >= one->first + one->size) {
        sim_fail("position %llu of a mix has sample %lld, not one from %u on",
                 (unsigned long long)(all->position - 1), (long long)sample, one->first);
    }
    if (one->came[sample - one->first]) {
        sim_fail("sample %lld of a mix comes before all others have", (long long)sample);
    }
    one->came[sample - one->first] = true;
    if (all->of->shuffle == SLUICE_SHUFFLE_NONE && (uint64_t)sample != one->first + place) {
        sim_fail("position %llu of a mix has sample %lld, without a shuffle",
                 (unsigned long long)(all->position - 1), (long long)sample);
    }
}

void sim_mixes_check(const sim_case *of, const int64_t *samples, uint32_t epochs)
{
    walk all = begin_walk(of);
    for (uint64_t i = 0; i < of->epoch * of->rows; i++) {
        take_place(&all, -1);
    }
    for (uint32_t i = 0; i < epochs; i++) {
        for (uint32_t k = 0; k < of->rows; k++) {
            take_place(&all, samples[i * SIM_ROWS_MAX + k]);
        }
    }
}
