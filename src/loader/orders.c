/* SPDX-License-Identifier: Apache-2.0 */
/* orders: the table of orders, and the rows that have no separate file. Rows open on the thread
 * that opens the loader; any thread uses cursors. */
#include "orders.h"

#include "error.h"
#include "opening.h"

#include <stdio.h>

#define STAGE "loader"

/* ---- shards ---- */

static bool asks_shards(const sl_loader_opening *opening)
{
    return opening->options.shuffle == SLUICE_SHUFFLE_SHARDS;
}

static void save_shards(const sluice_loader *loader, sl_cursor *cursor)
{
    const sluice_loader_options *o = &loader->config.options;
    cursor->window_bytes = o->window_bytes;
    cursor->world = o->world_size;
    cursor->batch = sl_feed_dropped(o, cursor->samples) > 0 ? o->batch_size : 0;
}

/* Each rank has a part of the shards, less what the epoch drops. */
static const char *misfit_of_shards(const sluice_loader *loader, const sl_cursor *cursor)
{
    sl_cursor own = {.samples = cursor->samples};
    save_shards(loader, &own);
    if (cursor->window_bytes != own.window_bytes) {
        return "window_bytes";
    }
    if (cursor->world != own.world) {
        return "world_size (which shuffle \"shards\" needs unchanged)";
    }
    return cursor->batch != own.batch ? "batch_size or last_batch (which shuffle \"shards\" needs "
                                        "unchanged if an epoch drops samples)"
                                      : NULL;
}

/* ---- buckets ---- */

static bool asks_buckets(const sl_loader_opening *opening)
{
    return opening->loader->buckets.count > 0;
}

static sluice_status open_buckets(const sl_loader_opening *opening, sl_loader_order *order,
                                  sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    order->source.set = &loader->buckets.set;
    return sl_bucketing_open(&loader->buckets, &opening->options, loader->dataset, &loader->columns,
                             error);
}

static void save_buckets(const sluice_loader *loader, sl_cursor *cursor)
{
    cursor->buckets = loader->buckets.hash;
    cursor->global = loader->buckets.set.global;
}

/* Batches are cut before they are shuffled. */
static const char *misfit_of_buckets(const sluice_loader *loader, const sl_cursor *cursor)
{
    uint64_t step;
    if (cursor->buckets != loader->buckets.hash || cursor->global == 0) {
        return "list of buckets, or other sizes of images";
    }
    if (cursor->global != loader->buckets.set.global) {
        return "batch_size x world_size (which buckets needs unchanged)";
    }
    return sl_bucket_step_at(&loader->buckets.set, cursor->position, &step) ? NULL : "dataset";
}

/* ---- mixed, plain ---- */

static bool asks_mix(const sl_loader_opening *opening)
{
    return opening->loader->dataset->mix != NULL;
}

static sluice_status open_mix(const sl_loader_opening *opening, sl_loader_order *order,
                              sluice_error *error)
{
    (void)error;
    order->source.set = opening->loader->dataset->mix;
    return SLUICE_OK;
}

static bool asks_plain(const sl_loader_opening *opening)
{
    (void)opening;
    return true;
}

static const char *misfit_of_plain(const sluice_loader *loader, const sl_cursor *cursor)
{
    (void)loader;
    return cursor->global > 0 ? "list of buckets, or other sizes of images" : NULL;
}

/* ---- the table ---- */

static const sl_order_row buckets_row = {.kind = &sl_bucket_order,
                                         .option = SL_OPTION("buckets"),
                                         .is_asked = asks_buckets,
                                         .open = open_buckets,
                                         .save = save_buckets,
                                         .misfit = misfit_of_buckets};
/* Opening has a separate step for reading by shards (opening.c). */
static const sl_order_row shards_row = {.kind = &sl_shards_order,
                                        .is_asked = asks_shards,
                                        .save = save_shards,
                                        .misfit = misfit_of_shards};
static const sl_order_row mixed_row = {.kind = &sl_mixed_order,
                                       .is_asked = asks_mix,
                                       .open = open_mix,
                                       .misfit = misfit_of_plain};
static const sl_order_row plain_row = {.kind = &sl_plain_order,
                                       .is_asked = asks_plain,
                                       .misfit = misfit_of_plain};

/* open_episodes.c, open_weights.c, open_lengths.c, open_repeats.c, open_packing.c */
extern const sl_order_row sl_episodes_row, sl_weights_row, sl_lengths_row, sl_repeats_row,
    sl_packing_row_of_orders;

/* The first requested one is used. Those with an option come first, and reject conflicts; then
 * those that the shuffle or the dataset requires. */
static const sl_order_row *const rows[] = {
    &sl_episodes_row, &sl_weights_row, &sl_lengths_row, &sl_repeats_row, &sl_packing_row_of_orders,
    &buckets_row,     &shards_row,     &mixed_row,      &plain_row,
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const sl_order_row *order_row_from(size_t *at, const sl_loader_opening *opening)
{
    while (!rows[*at]->is_asked(opening)) {
        (*at)++;
    }
    return rows[(*at)++];
}

sluice_status sl_loader_open_order(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    sl_loader_order *order = &loader->order;
    size_t at = 0;
    order->row = order_row_from(&at, opening);
    const sl_order_row *other = at < ROWS ? order_row_from(&at, opening) : NULL;
    if (other != NULL && other->option != NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "options %s and %s each set the order of samples: choose one",
                            order->row->option, other->option);
    }
    order->source = sl_feed_plain(&loader->config, loader->dataset);
    order->source.kind = order->row->kind;
    return order->row->open != NULL ? order->row->open(opening, order, error) : SLUICE_OK;
}

sluice_status sl_loader_check_epoch(sl_loader_opening *opening, sluice_error *error)
{
    const sluice_loader *loader = opening->loader;
    const sl_loader_order *order = &loader->order;
    return order->row->check_epoch != NULL
               ? order->row->check_epoch(opening, error)
               : sl_config_check_epoch(&loader->config, order->source.count, error);
}

sluice_status sl_order_check(const sl_loader_opening *opening, const char *what, bool unshuffled,
                             sluice_error *error)
{
    const sluice_loader *loader = opening->loader;
    const int32_t shuffle = opening->options.shuffle;
    const char *why = NULL;
    if (loader->dataset->mix != NULL) {
        why = "a mix, which has its own order";
    } else if (loader->columns.windows.field != SL_FIELD_NONE) {
        why = "windows, which are not samples of the dataset";
    } else if (loader->dataset->info.front_to_back != 0) {
        why = "a dataset that can only be read from front to back: pack it";
    }
    if (why != NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE, "option %s cannot be used with %s",
                            what, why);
    }
    return shuffle == SLUICE_SHUFFLE_FULL || (shuffle == SLUICE_SHUFFLE_NONE && unshuffled)
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_UNSUPPORTED, STAGE, "option %s needs option %s %s",
                              what, SL_OPTION("shuffle"), unshuffled ? "full or none" : "full");
}

void sl_loader_close_order(sl_loader_order *order)
{
    if (order->set != NULL) {
        order->row->close(order->set);
    }
    *order = (sl_loader_order){.row = NULL};
}

/* ---- cursors ---- */

void sl_order_save(const sluice_loader *loader, sl_cursor *cursor)
{
    const sl_order_row *row = loader->order.row;
    cursor->order = loader->order.hash;
    cursor->parts = loader->order.parts;
    if (row->save != NULL) {
        row->save(loader, cursor);
    }
}

/* Returns the table with a number; NULL: a later version's. */
static const sl_order_table *table_numbered(uint32_t number)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i]->table != NULL && rows[i]->table->number == number) {
            return rows[i]->table;
        }
    }
    return NULL;
}

/* Compares two orders of different kinds; at least one has a hash. */
static const char *other_kind(const sluice_loader *loader, const sl_cursor *cursor,
                              sl_misfit_text *text)
{
    const sl_order_table *there = table_numbered(sl_order_parts_table(cursor->parts));
    const sl_order_table *own = loader->order.row->table;
    if (there == NULL) {
        return "order of samples: by weight, by length, repeated, of episodes, or packed";
    }
    (void)snprintf(text->text, sizeof(text->text), "order of samples: %s%s%s", there->order,
                   own != NULL ? ", not " : "", own != NULL ? own->order : "");
    return text->text;
}

/* Compares two orders of one kind, as far as their parts are known. */
static const char *parts_misfit(const sluice_loader *loader, const sl_cursor *cursor,
                                sl_misfit_text *text)
{
    const sl_order_row *row = loader->order.row;
    const sluice_loader_options *o = &loader->config.options;
    sl_name_list names;
    sl_name_list_begin(&names);
    if (cursor->parts != 0) {
        sl_order_parts_differ(row->table, cursor->parts, loader->order.parts, &names);
    }
    if (cursor->seed != o->seed) {
        sl_name_list_add(&names, "seed");
    }
    if (cursor->shuffle != (uint32_t)o->shuffle) {
        sl_name_list_add(&names, "shuffle");
    }
    if (names.names == 0) { /* unknown parts, or other values with equal bits */
        return row->hashed;
    }
    (void)snprintf(text->text, sizeof(text->text), "%s: %s", row->table->what, names.text);
    return text->text;
}

/* Compares orders with one hash. */
static bool differs_in_part(const sl_loader_order *order, const sl_cursor *cursor)
{
    const sl_order_table *table = order->row->table;
    return table != NULL && table->exact && cursor->parts != 0 && cursor->parts != order->parts;
}

const char *sl_order_misfit(const sluice_loader *loader, const sl_cursor *cursor,
                            sl_misfit_text *text)
{
    const sl_loader_order *order = &loader->order;
    const bool same_samples = cursor->samples == order->source.count;
    if (cursor->position > cursor->samples ||
        (!same_samples && cursor->order == 0 && order->hash == 0)) {
        return "dataset";
    }
    if (cursor->order == order->hash && same_samples && !differs_in_part(order, cursor)) {
        return NULL;
    }
    /* Without parts, only a loader of the cursor's order can identify it. */
    const bool same_kind =
        cursor->order != 0 && order->hash != 0 &&
        (cursor->parts == 0 || sl_order_parts_table(cursor->parts) == order->row->table->number);
    return same_kind ? parts_misfit(loader, cursor, text) : other_kind(loader, cursor, text);
}

const char *sl_order_option_misfit(const sluice_loader *loader, const sl_cursor *cursor)
{
    const sluice_loader_options *o = &loader->config.options;
    const sl_order_row *row = loader->order.row;
    const bool same_blocks =
        cursor->block == o->block_samples && cursor->window == o->window_blocks;
    if (cursor->shuffle != (uint32_t)o->shuffle ||
        ((o->shuffle == SLUICE_SHUFFLE_BLOCK || o->shuffle == SLUICE_SHUFFLE_SHARDS) &&
         !same_blocks)) {
        return "shuffle";
    }
    return row->misfit != NULL ? row->misfit(loader, cursor) : NULL;
}
