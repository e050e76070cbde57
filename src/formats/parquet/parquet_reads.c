/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a row to the byte extent to read, and from what was read to values. Any worker; what is
 * shared is immutable, and the values' space is the worker's own.
 */
#include "parquet_reads.h"

#include "little_endian.h"
#include "parquet_table.h"

/* Of the values of a page, the first that are found as fast without a table. */
enum { TABLE_FROM = 16 };

static const char changed[] = "its value has another length: the file was changed";

/* Where the values of a row are. */
typedef struct reach {
    sl_extent extent;
    uint32_t first, last; /* stretches of those values */
} reach;

/* ---- places ---- */

/* Slots of a row that are wanted: from `*begin` to before `*end`. */
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

/* The stretch of a slot, from that of one before it. */
static uint32_t parquet_reads_go_on(const sl_parquet_index *index, uint32_t stretch, uint64_t slot)
{
    while (stretch + 1 < index->stretches.count && index->stretches.of[stretch + 1].first <= slot) {
        stretch++;
    }
    return stretch;
}

static void parquet_reads_add(const sl_parquet_index *index, uint64_t slot, uint32_t number,
                              reach *found)
{
    const sl_parquet_stretch *stretch = &index->stretches.of[number];
    const bool is_exact = stretch->where == SL_PARQUET_EXACT;
    const uint64_t begin = is_exact ? index->cells[slot] - index->length_bytes : stretch->offset;
    const uint64_t end =
        is_exact ? index->cells[slot] + index->sizes[slot] : stretch->offset + stretch->bytes;
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
    uint32_t stretch = slot < end ? sl_parquet_index_find(index, slot) : 0;
    for (; slot < end; slot++) {
        stretch = parquet_reads_go_on(index, stretch, slot);
        if (sl_parquet_index_has(index, slot)) {
            parquet_reads_add(index, slot, stretch, &found);
        }
    }
    return found;
}

sl_extent sl_parquet_read_find(const sl_parquet_read *read, uint64_t row)
{
    return parquet_reads_find_row(read, row).extent;
}

/* ---- values ---- */

/* The value of a slot, out of what was read: its length lies in front of it, where it has one. */
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

/* Bytes of the pages from `first` to before `end`, unpacked one behind the other. */
static size_t unpacked_bytes(const sl_parquet_index *index, uint32_t first, uint32_t end)
{
    size_t bytes = 0;
    for (uint32_t i = first; i < end; i++) {
        const sl_parquet_stretch *stretch = &index->stretches.of[i];
        bytes += stretch->where == SL_PARQUET_EXACT ? 0 : stretch->pick.bytes;
    }
    return bytes;
}

/* All pages of a row, in the room, unless it has them. */
static sl_refusal parquet_reads_open_pages(const sl_parquet_read *read, const reach *found,
                                           uint64_t row, const sl_columnar_bytes *from)
{
    const sl_parquet_index *index = &read->index;
    const uint64_t tag = (uint64_t)found->first << 32 | found->last;
    const size_t size = unpacked_bytes(index, found->first, found->last + 1);
    if (sl_value_rooms_hold(from->rooms, read->room, tag, size, row)) {
        return sl_accept();
    }
    uint8_t *to = sl_value_rooms_take(from->rooms, read->room, size);
    if (to == NULL) {
        return (sl_refusal){.text = "out of memory for its pages", .status = SLUICE_NOMEM};
    }
    for (uint32_t i = found->first; i <= found->last; i++) {
        const sl_parquet_stretch *stretch = &index->stretches.of[i];
        const uint64_t at = stretch->offset - from->extent.offset;
        if (stretch->where == SL_PARQUET_EXACT) {
            continue;
        }
        if (stretch->offset < from->extent.offset || at > from->bytes.size ||
            stretch->bytes > from->bytes.size - at) {
            return sl_refuse("its page lies elsewhere", 0);
        }
        const sl_refusal why = sl_page_open(
            &stretch->pick, (sl_bytes){from->bytes.data + at, stretch->bytes}, from->rooms, to);
        if (why.text != NULL) {
            return why;
        }
        to += stretch->pick.bytes;
    }
    sl_value_rooms_tag(from->rooms, read->room, tag, row);
    return sl_accept();
}

/* Of a page that several rows are in. NULL: there is none. */
static const sl_page_table *parquet_reads_table_of(const sl_page_pick *pick, sl_bytes page,
                                                   sl_value_rooms *rooms, uint32_t number)
{
    sl_value_room *room = &rooms->of[number];
    if (room->shared && !room->had_table) {
        const size_t bytes = sl_page_table_bytes(pick, page);
        void *memory = sl_value_rooms_take_table(rooms, number, bytes);
        if (memory != NULL) {
            sl_page_table_make(pick, page, memory);
        }
    }
    return room->table;
}

/* The value of a slot, whose page is in the room, behind those of the row before it. */
static sl_refusal find_in_page(const sl_parquet_read *read, const reach *found, uint64_t slot,
                               sl_value_rooms *rooms, sl_bytes *value)
{
    const sl_parquet_index *index = &read->index;
    const uint32_t number = parquet_reads_go_on(index, found->first, slot);
    const sl_parquet_stretch *stretch = &index->stretches.of[number];
    sl_page_pick pick = stretch->pick;
    pick.row = stretch->where == SL_PARQUET_IN_PAGE ? (uint32_t)(slot - stretch->first)
                                                    : (uint32_t)index->cells[slot];
    const sl_bytes page = {rooms->of[read->room].data + unpacked_bytes(index, found->first, number),
                           pick.bytes};
    const sl_page_table *table = NULL;
    if (found->first == found->last && pick.row >= TABLE_FROM) {
        table = parquet_reads_table_of(&pick, page, rooms, read->room);
    }
    return table != NULL ? sl_page_table_find(table, &pick, page, value)
                         : sl_page_find(&pick, page, value);
}

/* The slot of an element, and how it is found; false: the row has none, or a null. */
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
    *where = index->stretches.of[sl_parquet_index_find(index, *slot)].where;
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
                   ? sl_refuse_unknown("its list holds a null", 0)
                   : sl_accept();
    }
    if (where == SL_PARQUET_EXACT) {
        return find_exact(index, slot, from, value);
    }
    const reach found = parquet_reads_find_row(read, row);
    sl_refusal why = parquet_reads_open_pages(read, &found, row, from);
    if (why.text == NULL) {
        why = find_in_page(read, &found, slot, from->rooms, &value->bytes);
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
