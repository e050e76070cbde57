/* SPDX-License-Identifier: Apache-2.0 */
#include "flatbuffer.h"

#include "little_endian.h"

#include <assert.h>

static const sl_flat_table nothing = {.of = NULL};

sl_flatbuffer sl_flatbuffer_of(sl_bytes bytes)
{
    assert(bytes.size <= SL_FLATBUFFER_BYTES_MAX);
    return (sl_flatbuffer){.data = bytes.data, .bytes = (uint32_t)bytes.size};
}

static bool flatbuffer_holds(sl_flatbuffer *flat, uint64_t at, uint64_t bytes)
{
    const bool inside = at <= flat->bytes && bytes <= flat->bytes - at;
    flat->damaged = flat->damaged || !inside;
    return inside;
}

static sl_flat_table table_at(sl_flatbuffer *flat, uint64_t at)
{
    if (!flatbuffer_holds(flat, at, 4)) {
        return nothing;
    }
    const int64_t vtable = (int64_t)at - (int32_t)sl_load32(flat->data + at);
    if (vtable < 0 || !flatbuffer_holds(flat, (uint64_t)vtable, 4)) {
        flat->damaged = true;
        return nothing;
    }
    const uint16_t size = sl_load16(flat->data + vtable);
    const uint16_t bytes = sl_load16(flat->data + vtable + 2);
    if (size < 4 || size % 2 != 0 || bytes < 4 || !flatbuffer_holds(flat, (uint64_t)vtable, size) ||
        !flatbuffer_holds(flat, at, bytes)) {
        flat->damaged = true;
        return nothing;
    }
    return (sl_flat_table){.of = flat,
                           .at = (uint32_t)at,
                           .vtable = (uint32_t)vtable,
                           .bytes = bytes,
                           .slots = (uint16_t)(size / 2 - 2)};
}

/* Returns the target of the offset at `at`, which is within the buffer. */
static uint64_t follow(const sl_flatbuffer *flat, uint32_t at)
{
    return (uint64_t)at + sl_load32(flat->data + at);
}

sl_flat_table sl_flat_root(sl_flatbuffer *flat)
{
    return flatbuffer_holds(flat, 0, 4) ? table_at(flat, follow(flat, 0)) : nothing;
}

/* Returns the offset of a field of `bytes`; 0: it is missing. */
static uint32_t field_at(const sl_flat_table *table, uint32_t slot, uint32_t bytes)
{
    if (slot >= table->slots) {
        return 0;
    }
    const uint16_t offset = sl_load16(table->of->data + table->vtable + 4 + (size_t)2 * slot);
    if (offset == 0) {
        return 0;
    }
    if (offset < 4 || offset > table->bytes || bytes > (uint32_t)table->bytes - offset) {
        table->of->damaged = true;
        return 0;
    }
    return table->at + offset;
}

bool sl_flat_has(const sl_flat_table *table, uint32_t slot)
{
    return field_at(table, slot, 0) != 0;
}

int64_t sl_flat_number(const sl_flat_table *table, uint32_t slot, uint32_t bytes, int64_t other)
{
    const uint32_t at = field_at(table, slot, bytes);
    if (at == 0) {
        return other;
    }
    const uint8_t *from = table->of->data + at;
    return bytes == 1   ? (int8_t)*from
           : bytes == 2 ? (int16_t)sl_load16(from)
           : bytes == 4 ? (int32_t)sl_load32(from)
                        : (int64_t)sl_load64(from);
}

sl_flat_table sl_flat_child(const sl_flat_table *table, uint32_t slot)
{
    const uint32_t at = field_at(table, slot, 4);
    return at != 0 ? table_at(table->of, follow(table->of, at)) : nothing;
}

sl_flat_vector sl_flat_vector_of(const sl_flat_table *table, uint32_t slot, uint32_t bytes)
{
    const sl_flat_vector none = {.of = table->of};
    const uint32_t at = field_at(table, slot, 4);
    if (at == 0) {
        return none;
    }
    const uint64_t begin = follow(table->of, at);
    if (!flatbuffer_holds(table->of, begin, 4)) {
        return none;
    }
    const uint32_t count = sl_load32(table->of->data + begin);
    if (!flatbuffer_holds(table->of, begin + 4, (uint64_t)count * bytes)) {
        return none;
    }
    return (sl_flat_vector){table->of, table->of->data + begin + 4, count};
}

sl_bytes sl_flat_text(const sl_flat_table *table, uint32_t slot)
{
    const sl_flat_vector text = sl_flat_vector_of(table, slot, 1);
    return (sl_bytes){text.data, text.count};
}

sl_flat_table sl_flat_element(const sl_flat_vector *vector, uint32_t index)
{
    assert(index < vector->count);
    const uint32_t begin = (uint32_t)(vector->data - vector->of->data);
    return table_at(vector->of, follow(vector->of, begin + 4 * index));
}
