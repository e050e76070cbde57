/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include "error.h"

#include <assert.h>
#include <stdbool.h>

#define FIELD_ALIGN ((size_t)256)
#define SLOT_ALIGN  ((size_t)4096)

/* Appends a field of `rows` x `bytes`: false when the sum overflows. */
static bool append(size_t *end, size_t *offset, uint64_t bytes, uint32_t rows)
{
    size_t size;
    *offset = (*end + FIELD_ALIGN - 1) / FIELD_ALIGN * FIELD_ALIGN;
    return !__builtin_mul_overflow(bytes, rows, &size) &&
           !__builtin_add_overflow(*offset, size, end) && *end <= SIZE_MAX / 2;
}

sluice_status sl_layout_make(sl_layout *layout, uint64_t image_row_bytes, uint32_t rows,
                             uint32_t slots, sluice_error *error)
{
    assert(image_row_bytes > 0 && rows > 0 && slots > 0);
    sl_layout made = {0};
    size_t ring;
    const bool fits = append(&made.bytes, &made.images, image_row_bytes, rows) &&
                      append(&made.bytes, &made.labels, sizeof(int64_t), rows) &&
                      append(&made.bytes, &made.indices, sizeof(int64_t), rows) &&
                      append(&made.bytes, &made.status, sizeof(uint8_t), rows) &&
                      append(&made.bytes, &made.mask, sizeof(uint8_t), rows) &&
                      append(&made.bytes, &made.flags, sizeof(uint8_t), rows);
    made.stride = (made.bytes + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
    if (!fits || __builtin_mul_overflow(made.stride, slots, &ring)) {
        return sl_error_set(error, SLUICE_NOMEM, "staging",
                            "%u slots of %u rows of %llu bytes exceed the address space", slots,
                            rows, (unsigned long long)image_row_bytes);
    }
    *layout = made;
    return SLUICE_OK;
}

sl_slot_view sl_layout_view(const sl_layout *layout, void *base)
{
    uint8_t *bytes = base;
    const sl_slot_view view = {
        .images = bytes + layout->images,
        .labels = (int64_t *)(void *)(bytes + layout->labels),
        .indices = (int64_t *)(void *)(bytes + layout->indices),
        .status = bytes + layout->status,
        .mask = bytes + layout->mask,
        .flags = bytes + layout->flags,
    };
    return view;
}
