/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_reads: finds the byte extent of a row, and the values in the bytes read.
 *
 * Any worker; shared data is immutable, and the values' buffers are the worker's own.
 */
#include "parquet_reads.h"

#include "little_endian.h"
#include "parquet_table.h"

/* Number of leading values of a page that are found just as fast without a table. */
enum { TABLE_FROM = 16 };

static const char changed[] = "the length of its value differs: the file was modified";

/* Location of a row's values. */
typedef struct reach {
    sl_extent extent;
    uint32_t first, last; /* ranges of these values */
} reach;

/* ---- places ---- */

/* Returns the wanted slots of a row: from `*begin` to before `*end`. */
static void parquet_reads_slots_of(const sl_parquet_read *read, uint64_t row, uint64_t *begin,
                                   uint64_t *end)
{
    const uint64_t *starts = read->index.starts;
    *begin = starts != NULL ? starts[row] : row;
    *end = starts != NULL ? starts[row + 1] : row + 1;
    const uint64_t last = *begin + read->high + 1;
    *end = last < *end ? last : *end;
    *begin = *begin + read->low < *end ? *begin + read->low : *end;
}

/* Returns the range of a slot, searching from that of an earlier one. */
static uint32_t parquet_reads_go_on(const sl_parquet_index *index, uint32_t range, uint64_t slot)
{
    while (range + 1 < index->ranges.count && index->ranges.of[range + 1].first <= slot) {
        range++;
    }
    return range;
}

static void parquet_reads_add(const sl_parquet_index *index, uint64_t slot, uint32_t number,
                              reach *found)
{
    const sl_parquet_range *range = &index->ranges.of[number];
    const bool is_exact = range->where == SL_PARQUET_EXACT;
    const uint64_t begin = is_exact ? index->cells[slot] - index->length_bytes : range->offset;
    const uint64_t end =
        is_exact ? index->cells[slot] + index->sizes[slot] : range->offset + range->bytes;
    sl_extent *extent = &found->extent;
    const uint64_t before = extent->offset + extent->bytes;
    if (extent->bytes == 0) {
        *found = (reach){{begin, end - begin}, number, number};
        return;
    }
    extent->offset = begin < extent->offset ? begin : extent->offset;
    extent->bytes = (end > before ? end : before) - extent->offset;
    found->last = number;
}

static reach parquet_reads_find_row(const sl_parquet_read *read, uint64_t row)
{
    uint64_t slot;
    uint64_t end;
    const sl_parquet_index *index = &read->index;
    reach found = {.extent = {0, 0}};
    parquet_reads_slots_of(read, row, &slot, &end);
    uint32_t range = slot < end ? sl_parquet_index_find(index, slot) : 0;
    for (; slot < end; slot++) {
        range = parquet_reads_go_on(index, range, slot);
        if (sl_parquet_index_has(index, slot)) {
            parquet_reads_add(index, slot, range, &found);
        }
    }
    return found;
}

sl_extent sl_parquet_read_find(const sl_parquet_read *read, uint64_t row)
{
    return parquet_reads_find_row(read, row).extent;
}

/* ---- values ---- */

/* Finds the value of a slot in the bytes read, after its length, if it has one. */
static sl_refusal find_exact(const sl_parquet_index *index, uint64_t slot,
                             const sl_columnar_bytes *from, sl_value *value)
{
    const uint32_t size = index->sizes[slot];
    const uint64_t at =
        size > 0 || index->length_bytes > 0 ? index->cells[slot] - from->extent.offset : 0;
    const uint8_t *bytes = from->bytes.data + at;
    if (at < index->length_bytes || at > from->bytes.size || size > from->bytes.size - at ||
        (index->length_bytes > 0 && sl_load32(bytes - index->length_bytes) != size)) {
        return sl_refuse(changed, (size_t)at);
    }
    value->offset = (uint32_t)at;
    value->bytes = (sl_bytes){bytes, size};
    return sl_accept();
}

/* Returns the total unpacked size of pages `first` to before `end`. */
static size_t unpacked_bytes(const sl_parquet_index *index, uint32_t first, uint32_t end)
{
    size_t bytes = 0;
    for (uint32_t i = first; i < end; i++) {
        const sl_parquet_range *range = &index->ranges.of[i];
        bytes += range->where == SL_PARQUET_EXACT ? 0 : range->pick.bytes;
    }
    return bytes;
}

/* Unpacks all pages of a row into the buffer, unless it already has them. */
static sl_refusal parquet_reads_open_pages(const sl_parquet_read *read, const reach *found,
                                           uint64_t row, const sl_columnar_bytes *from)
{
    const sl_parquet_index *index = &read->index;
    const uint64_t tag = (uint64_t)found->first << 32 | found->last;
    const size_t size = unpacked_bytes(index, found->first, found->last + 1);
    if (sl_value_buffers_hold(from->buffers, read->buffer, tag, size, row)) {
        return sl_accept();
    }
    uint8_t *to = sl_value_buffers_take(from->buffers, read->buffer, size);
    if (to == NULL) {
        return (sl_refusal){.text = "out of memory for its pages", .status = SLUICE_NOMEM};
    }
    for (uint32_t i = found->first; i <= found->last; i++) {
        const sl_parquet_range *range = &index->ranges.of[i];
        const uint64_t at = range->offset - from->extent.offset;
        if (range->where == SL_PARQUET_EXACT) {
            continue;
        }
        if (range->offset < from->extent.offset || at > from->bytes.size ||
            range->bytes > from->bytes.size - at) {
            return sl_refuse("its page is outside the bytes read", 0);
        }
        const sl_refusal why = sl_page_open(
            &range->pick, (sl_bytes){from->bytes.data + at, range->bytes}, from->buffers, to);
        if (why.text != NULL) {
            return why;
        }
        to += range->pick.bytes;
    }
    sl_value_buffers_tag(from->buffers, read->buffer, tag, row);
    return sl_accept();
}

/* Returns the table of a page that several rows share. NULL: none. */
static const sl_page_table *parquet_reads_table_of(const sl_page_pick *pick, sl_bytes page,
                                                   sl_value_buffers *buffers, uint32_t number)
{
    sl_value_buffer *buffer = &buffers->of[number];
    if (buffer->shared && !buffer->had_table) {
        const size_t bytes = sl_page_table_bytes(pick, page);
        void *memory = sl_value_buffers_take_table(buffers, number, bytes);
        if (memory != NULL) {
            sl_page_table_make(pick, page, memory);
        }
    }
    return buffer->table;
}

/* Finds the value of a slot whose page is in the buffer, after the row's earlier pages. */
static sl_refusal find_in_page(const sl_parquet_read *read, const reach *found, uint64_t slot,
                               sl_value_buffers *buffers, sl_bytes *value)
{
    const sl_parquet_index *index = &read->index;
    const uint32_t number = parquet_reads_go_on(index, found->first, slot);
    const sl_parquet_range *range = &index->ranges.of[number];
    sl_page_pick pick = range->pick;
    pick.row = range->where == SL_PARQUET_IN_PAGE ? (uint32_t)(slot - range->first)
                                                  : (uint32_t)index->cells[slot];
    const sl_bytes page = {
        buffers->of[read->buffer].data + unpacked_bytes(index, found->first, number), pick.bytes};
    const sl_page_table *table = NULL;
    if (found->first == found->last && pick.row >= TABLE_FROM) {
        table = parquet_reads_table_of(&pick, page, buffers, read->buffer);
    }
    return table != NULL ? sl_page_table_find(table, &pick, page, value)
                         : sl_page_find(&pick, page, value);
}

/*
 * Finds the slot of an element, and its kind of location; false: the row lacks the element, or it
 * is null.
 */
static bool find_slot(const sl_parquet_read *read, uint64_t row, uint32_t element, uint64_t *slot,
                      sl_parquet_where *where)
{
    uint64_t end;
    const sl_parquet_index *index = &read->index;
    parquet_reads_slots_of(read, row, slot, &end);
    *slot += element - read->low;
    if (*slot >= end || !sl_parquet_index_has(index, *slot)) {
        return false;
    }
    *where = index->ranges.of[sl_parquet_index_find(index, *slot)].where;
    return true;
}

sl_refusal sl_parquet_read_value(const sl_parquet_read *read, uint64_t row, uint32_t element,
                                 const sl_columnar_bytes *from, sl_value *value)
{
    uint64_t slot;
    sl_parquet_where where = SL_PARQUET_EXACT;
    const sl_parquet_index *index = &read->index;
    *value = (sl_value){.present = find_slot(read, row, element, &slot, &where)};
    if (!value->present) {
        return slot < index->slots && index->sizes[slot] == SL_PARQUET_HAS_NULL
                   ? sl_refuse_unknown("its list contains a null", 0)
                   : sl_accept();
    }
    if (where == SL_PARQUET_EXACT) {
        return find_exact(index, slot, from, value);
    }
    const reach found = parquet_reads_find_row(read, row);
    sl_refusal why = parquet_reads_open_pages(read, &found, row, from);
    if (why.text == NULL) {
        why = find_in_page(read, &found, slot, from->buffers, &value->bytes);
        value->present = value->bytes.data != NULL;
    }
    return why;
}

bool sl_parquet_read_extent(const sl_parquet_read *read, uint64_t row, uint32_t element,
                            sl_extent *extent)
{
    uint64_t slot;
    sl_parquet_where where;
    *extent = (sl_extent){0, 0};
    if (!find_slot(read, row, element, &slot, &where)) {
        return true;
    }
    if (where == SL_PARQUET_EXACT) {
        *extent = (sl_extent){read->index.cells[slot], read->index.sizes[slot]};
    }
    return where == SL_PARQUET_EXACT;
}
