/* SPDX-License-Identifier: Apache-2.0 */
/* The row of orders that are drawn by weight (weighted_order.h). Opening only. */
#include "opening.h"

#include "checksum.h"
#include "error.h"
#include "memory.h"
#include "option_text.h"
#include "sample_values.h"
#include "weighted_order.h"

#define STAGE "loader"

static sl_sample_values weights_given(const sl_loader_opening *opening)
{
    const sluice_loader_options *o = &opening->options;
    return (sl_sample_values){.option = SL_OPTION("weights"),
                              .field_option = SL_OPTION("weight_field"),
                              .array = o->weights,
                              .count = o->weight_count,
                              .field = o->weight_field};
}

static bool asks_weights(const sl_loader_opening *opening)
{
    const sl_sample_values given = weights_given(opening);
    return sl_sample_values_are_given(&given) ||
           (opening->options.weighted_samples > 0 && opening->options.repeats <= 1);
}

static const sl_order_part weight_parts[] = {
    {.name = "number of samples in an epoch", .bits = 16},
    {.name = "weights of samples", .bits = 16},
};
static const sl_order_table weights_table = {.number = 2,
                                             .what = "order by weight",
                                             .order = "by weight",
                                             .count = 2,
                                             .parts = weight_parts};

static void close_weights(void *set)
{
    sl_weight_set_close(set);
    sl_free(set);
}

static sluice_status make_weighted_order(const sl_loader_opening *opening, sl_loader_order *order,
                                         const double *weights, sluice_error *error)
{
    sl_weight_set *set = sl_calloc(1, sizeof(*set));
    if (set == NULL) {
        return sl_no_memory(error, STAGE, "for the weights of samples");
    }
    order->set = set;
    const sluice_status status =
        sl_weight_set_open(set, weights, opening->loader->dataset->info.samples,
                           opening->options.weighted_samples, error);
    order->source.set = set;
    order->source.count = set->draws;
    order->bytes = set->samples * sizeof(*set->ends);
    order->hash = set->hash;
    if (status == SLUICE_OK) {
        order->parts = sl_order_parts_make(
            &weights_table,
            (uint64_t[]){set->draws, sl_checksum(set->ends, set->samples * sizeof(*set->ends))});
    }
    return status;
}

static sluice_status open_weights(const sl_loader_opening *opening, sl_loader_order *order,
                                  sluice_error *error)
{
    const sl_sample_values given = weights_given(opening);
    double *weights;
    if (!sl_sample_values_are_given(&given)) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "option " SL_OPTION("weighted_samples") " needs option " SL_OPTION(
                                "weights") " or " SL_OPTION("repeats"));
    }
    sluice_status status = sl_order_check(opening, SL_OPTION("weights"), false, error);
    if (status == SLUICE_OK) {
        status = sl_sample_values_read(&given, opening->whole, &weights, error);
    }
    if (status == SLUICE_OK) {
        status = make_weighted_order(opening, order, weights, error);
        sl_free(weights);
    }
    return status;
}

extern const sl_order_row sl_weights_row; /* orders.c */
const sl_order_row sl_weights_row = {
    .kind = &sl_weighted_order,
    .option = SL_OPTION("weights"),
    .is_asked = asks_weights,
    .open = open_weights,
    .close = close_weights,
    .table = &weights_table,
    .hashed = "number of samples in an epoch, or other weights of samples",
};
