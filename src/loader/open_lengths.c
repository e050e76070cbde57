/* SPDX-License-Identifier: Apache-2.0 */
/* The row of orders whose batches hold samples of similar length (length_order.h). Opening only. */
#include "opening.h"

#include "checksum.h"
#include "error.h"
#include "length_order.h"
#include "memory.h"
#include "option_text.h"
#include "sample_values.h"

#define STAGE "loader"

static sl_sample_values lengths_given(const sl_loader_opening *opening)
{
    const sluice_loader_options *o = &opening->options;
    return (sl_sample_values){.option = SL_OPTION("lengths"),
                              .field_option = SL_OPTION("length_field"),
                              .array = o->lengths,
                              .count = o->length_count,
                              .field = o->length_field,
                              .options = o};
}

static bool asks_lengths(const sl_loader_opening *opening)
{
    const sl_sample_values given = lengths_given(opening);
    return sl_sample_values_are_given(&given) || opening->options.length_groups > 0;
}

static const sl_order_part length_parts[] = {
    {.name = "batch_size x world_size (which lengths needs unchanged)", .bits = 16},
    {.name = "number of groups", .bits = 12},
    {.name = "lengths of samples", .bits = 16},
};
static const sl_order_table lengths_table = {.number = 3,
                                             .what = "order by length",
                                             .order = "by length",
                                             .count = 3,
                                             .parts = length_parts};

static uint64_t lengths_checksum(const sl_length_set *set)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, set->sorted, set->samples * sizeof(*set->sorted));
    sl_checksum_add(&stream, set->runs, set->run_count * sizeof(*set->runs));
    return sl_checksum_value(&stream);
}

static void close_lengths(void *set)
{
    sl_length_set_close(set);
    sl_free(set);
}

static sluice_status make_length_order(const sl_loader_opening *opening, sl_loader_order *order,
                                       const double *lengths, sluice_error *error)
{
    const sluice_loader_options *o = &opening->options;
    sl_length_set *set = sl_calloc(1, sizeof(*set));
    if (set == NULL) {
        return sl_no_memory(error, STAGE, "for the lengths of samples");
    }
    order->set = set;
    order->source.set = set;
    const sluice_status status =
        sl_length_set_open(set, lengths, opening->loader->dataset->info.samples,
                           (uint64_t)o->batch_size * o->world_size, o->length_groups, error);
    order->bytes = set->samples * (sizeof(*set->sorted) + sizeof(*set->runs));
    order->hash = set->hash;
    if (status == SLUICE_OK) {
        order->parts = sl_order_parts_make(
            &lengths_table, (uint64_t[]){set->global, o->length_groups, lengths_checksum(set)});
    }
    return status;
}

static sluice_status open_lengths(const sl_loader_opening *opening, sl_loader_order *order,
                                  sluice_error *error)
{
    const sl_sample_values given = lengths_given(opening);
    double *lengths;
    if (!sl_sample_values_are_given(&given)) {
        return sl_error_set(
            error, SLUICE_INVALID, STAGE,
            "option " SL_OPTION("length_groups") " needs option " SL_OPTION("lengths"));
    }
    sluice_status status = sl_order_check(opening, SL_OPTION("lengths"), true, error);
    if (status == SLUICE_OK) {
        status = sl_sample_values_read(&given, opening->whole, &lengths, error);
    }
    if (status == SLUICE_OK) {
        status = make_length_order(opening, order, lengths, error);
        sl_free(lengths);
    }
    return status;
}

extern const sl_order_row sl_lengths_row; /* orders.c */
const sl_order_row sl_lengths_row = {
    .kind = &sl_length_order,
    .option = SL_OPTION("lengths"),
    .is_asked = asks_lengths,
    .open = open_lengths,
    .close = close_lengths,
    .table = &lengths_table,
    .hashed = "batch_size x world_size (which lengths needs unchanged), number of groups, or other "
              "lengths of samples",
};
