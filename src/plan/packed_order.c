/* SPDX-License-Identifier: Apache-2.0 */
#include "packed_order.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "packing_parts.h"
#include "philox.h"
#include "search.h"
#include "thread.h"

#include <assert.h>
#include <stddef.h>

/* Separate the draws of an epoch from each other and from every other use of Philox. */
#define WINDOWS_DOMAIN 0x7061636B65640001U
#define GROUP_DOMAIN   0x7061636B65640002U

/* pieces of a row that are processed together */
enum { PIECES = 64 };

/* groups of an epoch that are kept: rows are requested a few groups ahead of those being made */
enum { RECENT = 4 };

/* A group in an epoch. */
typedef struct row_group {
    uint64_t begin, end; /* positions; `end` 0: none is kept here */
    uint64_t windows[SL_PACKING_GROUP];
    sl_permutation inner; /* of its rows */
} row_group;

/* The positions where the groups of an epoch begin. */
typedef struct epoch_table {
    uint64_t seed, epoch;
    uint64_t used;    /* the clock at its last use; 0: not of an epoch yet */
    uint64_t *begins; /* of each group, and the end */
    row_group recent[RECENT];
    uint32_t oldest; /* of them */
} epoch_table;

struct sl_packed_epochs {
    pthread_mutex_t mutex; /* guards all of it */
    uint64_t clock;
    uint64_t groups;
    epoch_table tables[SL_PACKED_EPOCHS];
};

sluice_status sl_packed_epochs_open(sl_packed_rows *packing, sluice_error *error)
{
    if (!packing->windows.shuffled) {
        return SLUICE_OK;
    }
    sl_packed_epochs *epochs = sl_calloc(1, sizeof(*epochs));
    if (epochs == NULL) {
        return sl_no_memory(error, "plan", "for the order of rows");
    }
    packing->epochs = epochs;
    sl_mutex_init(&epochs->mutex);
    epochs->groups = (packing->windows.windows - 1) / SL_PACKING_GROUP + 1;
    for (uint32_t i = 0; i < SL_PACKED_EPOCHS; i++) {
        epochs->tables[i].begins = sl_calloc(epochs->groups + 1, sizeof(uint64_t));
        if (epochs->tables[i].begins == NULL) {
            return sl_no_memory(error, "plan", "for the order of rows");
        }
    }
    return SLUICE_OK;
}

void sl_packed_epochs_close(sl_packed_rows *packing)
{
    sl_packed_epochs *epochs = packing->epochs;
    if (epochs == NULL) {
        return;
    }
    for (uint32_t i = 0; i < SL_PACKED_EPOCHS; i++) {
        sl_free(epochs->tables[i].begins);
    }
    sl_mutex_destroy(&epochs->mutex);
    sl_free(epochs);
}

uint64_t sl_packed_epochs_bytes(const sl_packed_rows *packing)
{
    const sl_packed_epochs *epochs = packing->epochs;
    return epochs == NULL ? 0 : SL_PACKED_EPOCHS * (epochs->groups + 1) * sizeof(uint64_t);
}

static const sl_packed_rows *packed_rows_of(const sl_order *order)
{
    return order->set;
}

/* Finds the windows of a group, in the order of the epoch. Returns how many. */
static uint32_t group_windows(const sl_order *order, uint64_t group, uint64_t *windows)
{
    const uint64_t first = group * SL_PACKING_GROUP;
    const uint64_t left = packed_rows_of(order)->windows.windows - first;
    const uint32_t count = (uint32_t)sl_min_u64(SL_PACKING_GROUP, left);
    sl_permutation_apply_run(&order->outer, first, count, windows);
    return count;
}

static uint64_t rows_of(const sl_packed_rows *packing, uint64_t window)
{
    return packing->before[window + 1] - packing->before[window];
}

static void make_table(const sl_order *order, epoch_table *table, uint64_t groups)
{
    uint64_t windows[SL_PACKING_GROUP];
    uint64_t sum = 0;
    for (uint64_t g = 0; g < groups; g++) {
        table->begins[g] = sum;
        const uint32_t count = group_windows(order, g, windows);
        for (uint32_t i = 0; i < count; i++) {
            sum += rows_of(packed_rows_of(order), windows[i]);
        }
    }
    table->begins[groups] = sum;
    for (uint32_t i = 0; i < RECENT; i++) {
        table->recent[i].end = 0;
    }
    table->seed = order->seed;
    table->epoch = order->epoch;
}

/* Under the mutex. */
static epoch_table *epoch_table_of(const sl_order *order, sl_packed_epochs *epochs)
{
    epoch_table *oldest = &epochs->tables[0];
    for (uint32_t i = 0; i < SL_PACKED_EPOCHS; i++) {
        epoch_table *table = &epochs->tables[i];
        if (table->used > 0 && table->seed == order->seed && table->epoch == order->epoch) {
            table->used = ++epochs->clock;
            return table;
        }
        oldest = table->used < oldest->used ? table : oldest;
    }
    make_table(order, oldest, epochs->groups);
    oldest->used = ++epochs->clock;
    return oldest;
}

/* Under the mutex. Computes the part that all rows of a group share, which costs more than a
 * row's own part. */
static const row_group *make_group(const sl_order *order, epoch_table *table, uint64_t groups,
                                   uint64_t position)
{
    row_group *made = &table->recent[table->oldest];
    const uint64_t group =
        sl_last_at_or_before(table->begins, sizeof(*table->begins), groups, position);
    const uint64_t key = sl_philox_u64(order->seed, order->epoch, GROUP_DOMAIN);
    table->oldest = (table->oldest + 1) % RECENT;
    made->begin = table->begins[group];
    made->end = table->begins[group + 1];
    made->inner = sl_permutation_make(made->end - made->begin, sl_philox_u64(key, group, 0));
    (void)group_windows(order, group, made->windows);
    return made;
}

static row_group find_group(const sl_order *order, uint64_t position)
{
    sl_packed_epochs *epochs = packed_rows_of(order)->epochs;
    const row_group *found = NULL;
    sl_lock(&epochs->mutex);
    epoch_table *table = epoch_table_of(order, epochs);
    for (uint32_t i = 0; i < RECENT && found == NULL; i++) {
        const row_group *kept = &table->recent[i];
        found = position >= kept->begin && position < kept->end ? kept : NULL;
    }
    found = found != NULL ? found : make_group(order, table, epochs->groups, position);
    const row_group copy = *found;
    sl_unlock(&epochs->mutex);
    return copy;
}

/* Returns the row at a place of a group's windows. */
static uint64_t group_row_at(const sl_packed_rows *packing, const uint64_t *windows, uint64_t place)
{
    while (place >= rows_of(packing, *windows)) {
        place -= rows_of(packing, *windows);
        windows++;
    }
    return packing->before[*windows] + place;
}

/* Finds the rows at `first` and the following positions of the same group. Returns how many. */
static uint32_t group_rows(const sl_order *order, uint64_t first, uint32_t count, uint64_t *rows)
{
    const row_group group = find_group(order, first);
    const uint32_t found = (uint32_t)sl_min_u64(count, group.end - first);
    sl_permutation_apply_run(&group.inner, first - group.begin, found, rows);
    for (uint32_t i = 0; i < found; i++) {
        rows[i] = group_row_at(packed_rows_of(order), group.windows, rows[i]);
    }
    return found;
}

static void packed_samples(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples)
{
    if (packed_rows_of(order)->epochs == NULL) {
        for (uint32_t i = 0; i < count; i++) {
            samples[i] = first + i;
        }
        return;
    }
    while (count > 0) {
        const uint32_t found = group_rows(order, first, count, samples);
        first += found;
        samples += found;
        count -= found;
    }
}

/* No overflow: a row's elements are at most SL_PACKING_LENGTH_MAX, so the squares of its pieces are
 * at most the square of that, 2^48. */
uint64_t sl_packed_row_cost(const sl_packed_rows *packing, uint64_t row)
{
    sl_packed_piece pieces[PIECES];
    uint64_t cost = 0;
    uint32_t all = PIECES;
    for (uint32_t first = 0; first < all; first += PIECES) {
        all = sl_packing_pieces(packing, row, first, PIECES, pieces);
        for (uint32_t i = 0; i < sl_min_u32(all - first, PIECES); i++) {
            cost += (uint64_t)pieces[i].count * pieces[i].count;
        }
    }
    return cost;
}

static void packed_costs(const sl_order *order, uint64_t first, uint32_t count, uint64_t *costs)
{
    packed_samples(order, first, count, costs);
    for (uint32_t i = 0; i < count; i++) {
        costs[i] = sl_packed_row_cost(packed_rows_of(order), costs[i]);
    }
}

static sl_order packed_make(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    const sl_packed_rows *packing = source->set;
    sl_order order = {.kind = &sl_packed_order,
                      .set = packing,
                      .shuffle =
                          packing->windows.shuffled ? SLUICE_SHUFFLE_FULL : SLUICE_SHUFFLE_NONE,
                      .count = packing->facts.rows,
                      .seed = seed,
                      .epoch = epoch};
    if (packing->windows.shuffled) {
        order.outer = sl_permutation_make(packing->windows.windows,
                                          sl_philox_u64(seed, epoch, WINDOWS_DOMAIN));
    }
    return order;
}

const sl_order_kind sl_packed_order = {.name = "packed",
                                       .make = packed_make,
                                       .samples = packed_samples,
                                       .costs = packed_costs};
