/* SPDX-License-Identifier: Apache-2.0 */
#include "packed_mix.h"

#include "minmax.h"
#include "mixing.h"
#include "packed_order.h"
#include "philox.h"
#include "search.h"

#include <stdbool.h>
#include <stddef.h>

/* Separates the seeds of sources from every other use of Philox. */
#define SOURCE_DOMAIN 0x7061636B65640003U

/* rows that are looked up together */
enum { PACKED_RUN = 64 };

uint64_t sl_packed_mix_seed(uint64_t seed, uint32_t source)
{
    return sl_philox_u64(seed, source, SOURCE_DOMAIN);
}

uint32_t sl_packed_mix_source(const sl_mix *mix, uint64_t row)
{
    return (uint32_t)sl_last_at_or_before(mix->first, sizeof(*mix->first), mix->sources, row);
}

/* Returns the order of one source in one of its own epochs. */
static sl_order packed_source_order(const sl_order *order, const sl_mix_place *place)
{
    const sl_packed_mix *set = order->set;
    const sl_order_source source = {
        .kind = &sl_packed_order, .set = set->packings[place->source], .shuffle = order->shuffle};
    return sl_order_of(&source, sl_packed_mix_seed(order->seed, place->source), place->epoch);
}

/* Positions of a source are consecutive in its epoch, so the rows of a run are found at once. */
static void find_source_rows(const sl_order *order, const sl_mix_place *places, uint32_t first,
                             uint32_t count, uint64_t *rows)
{
    const sl_mix *mix = ((const sl_packed_mix *)order->set)->mix;
    const sl_mix_place *place = &places[first];
    const sl_order own = packed_source_order(order, place);
    uint64_t found[PACKED_RUN];
    uint32_t same = 0;
    for (uint32_t i = first; i < count; i++) {
        same += places[i].source == place->source && places[i].epoch == place->epoch;
    }
    sl_order_samples(&own, place->position, same, found);
    for (uint32_t i = first; i < count; i++) {
        if (places[i].source == place->source && places[i].epoch == place->epoch) {
            rows[i] = mix->first[place->source] + found[places[i].position - place->position];
        }
    }
}

static void packed_mix_run(const sl_order *order, uint64_t first, uint32_t count, uint64_t *rows)
{
    sl_mix_place places[PACKED_RUN];
    const sl_mix *mix = ((const sl_packed_mix *)order->set)->mix;
    for (uint32_t i = 0; i < count; i++) {
        places[i] = sl_mix_find(mix, order->epoch, first + i);
        rows[i] = UINT64_MAX;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i] == UINT64_MAX) {
            find_source_rows(order, places, i, count, rows);
        }
    }
}

static void packed_mix_rows(const sl_order *order, uint64_t first, uint32_t count, uint64_t *rows)
{
    while (count > 0) {
        const uint32_t run = (uint32_t)sl_min_u64(count, PACKED_RUN);
        packed_mix_run(order, first, run, rows);
        first += run;
        rows += run;
        count -= run;
    }
}

static uint64_t packed_mix_round(const sl_order *order, uint64_t position)
{
    const sl_packed_mix *set = order->set;
    return sl_mix_find(set->mix, order->epoch, position).epoch;
}

static uint32_t packed_mix_members(const sl_order *order, uint64_t position)
{
    const sl_packed_mix *set = order->set;
    const uint64_t row = sl_order_sample(order, position);
    const uint32_t source = sl_packed_mix_source(set->mix, row);
    return sl_packing_pieces(set->packings[source], row - set->mix->first[source], 0, 0, NULL);
}

static void packed_mix_costs(const sl_order *order, uint64_t first, uint32_t count, uint64_t *costs)
{
    const sl_packed_mix *set = order->set;
    packed_mix_rows(order, first, count, costs);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t source = sl_packed_mix_source(set->mix, costs[i]);
        costs[i] = sl_packed_row_cost(set->packings[source], costs[i] - set->mix->first[source]);
    }
}

static sl_order packed_mix_make(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    const sl_packed_mix *set = source->set;
    return (sl_order){.kind = &sl_packed_mix_order,
                      .set = set,
                      .shuffle = source->shuffle,
                      .count = set->mix->epoch_samples,
                      .seed = seed,
                      .epoch = epoch};
}

const sl_order_kind sl_packed_mix_order = {.name = "packed mix",
                                           .make = packed_mix_make,
                                           .samples = packed_mix_rows,
                                           .round = packed_mix_round,
                                           .members = packed_mix_members,
                                           .costs = packed_mix_costs};
