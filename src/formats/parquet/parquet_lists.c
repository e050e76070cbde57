/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet_lists.h"

#include "parquet_values.h"

#define STAGE "dataset"

typedef struct lister {
    const sl_parquet_index *index;
    const sl_parquet_place *place;
    const sl_parquet_leaf *guide;
    uint64_t row, last_row; /* next row, and end of the rows */
    uint64_t slot, last_slot;
    uint64_t elements; /* number of elements of the open row */
    uint64_t longest;
} lister;

static sluice_status parquet_lists_fail(const lister *l, const char *why, sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, l->place->from.name.path, -1,
                         "column \"%s\" of row group %u: %s", l->guide->name, l->place->group, why);
}

static sluice_status parquet_lists_take(void *ctx, const sl_parquet_slot *slot, sluice_error *error)
{
    lister *l = ctx;
    const bool is_element = slot->def >= l->guide->item_def;
    if (slot->rep == 0) {
        if (l->row == l->last_row) {
            return parquet_lists_fail(l, "it has too many rows", error);
        }
        l->index->starts[l->row++] = l->slot;
        l->elements = 0;
    } else if (l->slot == l->place->first) {
        return parquet_lists_fail(l, "it continues a list that was not begun", error);
    }
    if (l->slot == l->last_slot) {
        return parquet_lists_fail(l, "it and the images' bytes differ in their number of values",
                                  error);
    }
    l->elements += is_element;
    l->longest = l->elements > l->longest ? l->elements : l->longest;
    l->index->sizes[l->slot++] = is_element ? 0 : SL_PARQUET_NULL_SIZE;
    return SLUICE_OK;
}

sluice_status sl_parquet_lists_read(const sl_parquet_list *list, const sl_parquet_place *place,
                                    uint64_t row, uint32_t *longest, sluice_error *error)
{
    const sl_parquet *parquet = place->parquet;
    const size_t first = (size_t)place->group * parquet->leaf_count;
    lister l = {.index = &list->index,
                .place = place,
                .guide = &parquet->leaves[list->guide],
                .row = row,
                .last_row = row + parquet->group_rows[place->group],
                .slot = place->first,
                .last_slot = place->first + parquet->chunks[first + list->leaf].values};
    const sl_parquet_sink sink = {.ctx = &l, .take = parquet_lists_take};
    sluice_status status = sl_parquet_decode(l.guide, &parquet->chunks[first + list->guide],
                                             &place->from, &sink, error);
    if (status == SLUICE_OK && (l.row != l.last_row || l.slot != l.last_slot)) {
        status = parquet_lists_fail(&l, "it has too few rows or values", error);
    }
    *longest = l.longest < UINT32_MAX ? (uint32_t)l.longest : UINT32_MAX;
    return status;
}
