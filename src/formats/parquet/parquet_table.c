/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet_table.h"

#include "little_endian.h"
#include "search.h"

enum { LENGTH_BYTES = 4, MARK_BYTES = 512 };

/* A position in the levels to continue from. */
typedef struct mark {
    sl_levels levels;
    uint64_t slot; /* next slot at the mark */
    uint32_t before;
} mark;

struct sl_page_table {
    uint32_t values, marks;
    mark of[]; /* marks, the first at slot 0; then the offsets of the values in the body */
};

static sl_refusal parquet_table_damaged(void)
{
    return sl_refuse("the page's levels are damaged", 0);
}

static const uint32_t *offsets_of(const sl_page_table *table)
{
    return (const uint32_t *)(const void *)&table->of[table->marks];
}

/* ---- levels ---- */

/* Sets a mark about every MARK_BYTES of levels; returns their number. `marks` NULL: only counts. */
static uint32_t set_marks(const sl_page_pick *pick, sl_bytes stored, mark *marks)
{
    mark at = {.slot = 0};
    uint32_t count = 0;
    size_t next = 0;
    sl_levels_begin(&at.levels, stored, sl_levels_width(pick->max_level));
    for (;;) {
        /* for packed numbers, as many as fit into MARK_BYTES; for a run, the rest of it */
        const sl_levels *l = &at.levels;
        const size_t here = (size_t)(l->at - stored.data) + (l->packed > 0 ? l->bits / 8 : 0);
        if (here >= next) {
            if (marks != NULL) {
                marks[count] = at;
            }
            count++;
            next = here + MARK_BYTES;
        }
        uint64_t some = 1; /* begins the next one */
        if (l->packed > 0) {
            const uint64_t piece = (uint64_t)MARK_BYTES * 8 / (l->width > 0 ? l->width : 1);
            some = l->packed < piece ? l->packed : piece;
        } else if (l->run > 0) {
            some = l->run;
        }
        if (!sl_levels_skip(&at.levels, some, pick->max_level, &at.before)) {
            return count;
        }
        at.slot += some;
    }
}

static const mark *parquet_table_find_mark(const sl_page_table *table, uint64_t slot)
{
    return &table->of[sl_last_at_or_before(&table->of->slot, sizeof(mark), table->marks, slot)];
}

static sl_refusal parquet_table_count_before(const sl_page_table *table, const sl_page_pick *pick,
                                             uint32_t *before, bool *present)
{
    uint32_t level = 0;
    const mark *from = parquet_table_find_mark(table, pick->row);
    sl_levels levels = from->levels;
    *before = from->before;
    if (!sl_levels_skip(&levels, pick->row - from->slot, pick->max_level, before) ||
        !sl_levels_next(&levels, &level) || level > pick->max_level) {
        return parquet_table_damaged();
    }
    *present = level == pick->max_level;
    return sl_accept();
}

/* ---- values ---- */

/*
 * Sets the offsets of the values within the body; returns their number. `offsets` NULL: only
 * counts.
 */
static uint32_t set_offsets(sl_bytes body, size_t at, uint32_t *offsets)
{
    uint32_t count = 0;
    while (at <= body.size && body.size - at >= LENGTH_BYTES) {
        const uint32_t bytes = sl_load32(body.data + at);
        if (bytes > body.size - at - LENGTH_BYTES) {
            break;
        }
        if (offsets != NULL) {
            offsets[count] = (uint32_t)at;
        }
        count++;
        at += (size_t)LENGTH_BYTES + bytes;
    }
    return count;
}

static sl_refusal split(const sl_page_pick *pick, sl_bytes body, sl_bytes *levels, size_t *values)
{
    *levels = (sl_bytes){body.data, 0};
    *values = pick->plain_bytes;
    return pick->max_level > 0 ? sl_page_split(pick, body, levels, values) : sl_accept();
}

size_t sl_page_table_bytes(const sl_page_pick *pick, sl_bytes body)
{
    sl_bytes levels;
    size_t values;
    (void)split(pick, body, &levels, &values);
    const uint32_t marks = pick->max_level > 0 ? set_marks(pick, levels, NULL) : 0;
    return sizeof(sl_page_table) + marks * sizeof(mark) +
           (size_t)set_offsets(body, values, NULL) * sizeof(uint32_t);
}

void sl_page_table_make(const sl_page_pick *pick, sl_bytes body, void *memory)
{
    sl_bytes levels;
    size_t values;
    sl_page_table *table = memory;
    (void)split(pick, body, &levels, &values);
    table->marks = pick->max_level > 0 ? set_marks(pick, levels, table->of) : 0;
    uint32_t *offsets = (uint32_t *)(void *)&table->of[table->marks];
    table->values = set_offsets(body, values, offsets);
}

sl_refusal sl_page_table_find(const sl_page_table *table, const sl_page_pick *pick, sl_bytes body,
                              sl_bytes *value)
{
    uint32_t before = pick->row;
    bool present = true;
    *value = (sl_bytes){NULL, 0};
    if (pick->max_level > 0) {
        const sl_refusal why = parquet_table_count_before(table, pick, &before, &present);
        if (why.text != NULL) {
            return why;
        }
    }
    if (!present) {
        return sl_accept();
    }
    if (before >= table->values) {
        return sl_refuse("the page has too few values", 0);
    }
    const size_t at = offsets_of(table)[before];
    *value = (sl_bytes){body.data + at + LENGTH_BYTES, sl_load32(body.data + at)};
    return sl_accept();
}
