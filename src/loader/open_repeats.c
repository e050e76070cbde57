/* SPDX-License-Identifier: Apache-2.0 */
/* The row of orders in which each sample repeats (repeat_order.h). Opening only. */
#include "opening.h"

#include "error.h"
#include "memory.h"
#include "option_text.h"
#include "repeat_order.h"

#define STAGE "loader"

static const sl_order_part repeat_parts[] = {
    {.name = "batch_size x world_size (which repeats needs unchanged)", .bits = 16},
    {.name = "number of repetitions", .bits = 12},
    {.name = "number of samples in an epoch", .bits = 16},
};
static const sl_order_table repeats_table = {.number = 4,
                                             .what = "order of repetitions",
                                             .order = "repeated",
                                             .count = 3,
                                             .parts = repeat_parts};

static bool asks_repeats(const sl_loader_opening *opening)
{
    return opening->options.repeats > 1;
}

static sluice_status open_repeats(const sl_loader_opening *opening, sl_loader_order *order,
                                  sluice_error *error)
{
    const sluice_loader_options *o = &opening->options;
    const uint64_t samples = opening->loader->dataset->info.samples;
    const uint64_t most = samples * o->repeats;
    const sluice_status status = sl_order_check(opening, SL_OPTION("repeats"), true, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (o->weighted_samples > most) {
        return sl_error_set(
            error, SLUICE_INVALID, STAGE,
            "option " SL_OPTION("weighted_samples") " is too large: %llu, must be at most %u times "
                                                    "%llu samples, which is %llu",
            (unsigned long long)o->weighted_samples, o->repeats, (unsigned long long)samples,
            (unsigned long long)most);
    }
    sl_repeat_set *set = sl_calloc(1, sizeof(*set));
    if (set == NULL) {
        return sl_no_memory(error, STAGE, "for the order of samples");
    }
    *set = (sl_repeat_set){.samples = samples,
                           .entries = o->weighted_samples > 0 ? o->weighted_samples : most,
                           .repeats = o->repeats,
                           .batch = o->batch_size,
                           .world = o->world_size};
    set->hash = sl_repeat_hash(set);
    order->set = set;
    order->source.set = set;
    order->source.count = set->entries;
    order->hash = set->hash;
    order->parts =
        sl_order_parts_make(&repeats_table, (uint64_t[]){(uint64_t)set->batch * set->world,
                                                         set->repeats, o->weighted_samples});
    return SLUICE_OK;
}

extern const sl_order_row sl_repeats_row; /* orders.c */
const sl_order_row sl_repeats_row = {
    .kind = &sl_repeat_order,
    .option = SL_OPTION("repeats"),
    .is_asked = asks_repeats,
    .open = open_repeats,
    .close = sl_free,
    .table = &repeats_table,
    .hashed = "batch_size x world_size (which repeats needs unchanged), number of repetitions, or "
              "number of samples in an epoch",
};
