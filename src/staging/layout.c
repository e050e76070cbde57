/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include "error.h"

#include <assert.h>
#include <stdbool.h>

#define PART_ALIGN ((size_t)256)
#define SLOT_ALIGN ((size_t)4096)

/* Appends a part: false when the sum overflows. */
static bool layout_append(size_t *end, size_t *offset, const sl_part *part, uint32_t rows)
{
    uint64_t size;
    *offset = (*end + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
    return !__builtin_mul_overflow(part->row_bytes, (uint64_t)rows + 1, &size) &&
           !__builtin_add_overflow(*offset, sl_part_bytes(part, rows), end) && *end <= SIZE_MAX / 2;
}

sluice_status sl_layout_make(sl_layout *layout, const sl_part *parts, uint32_t count, uint32_t rows,
                             uint32_t slots, sluice_error *error)
{
    assert(count > 0 && count <= SL_PARTS_MAX && rows > 0 && slots > 0);
    sl_layout made = {.fixed = 0};
    bool fits = true;
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].role != SL_PART_RAGGED) {
            fits = fits && layout_append(&made.bytes, &made.offset[i], &parts[i], rows);
        }
    }
    made.fixed = made.bytes;
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].role == SL_PART_RAGGED) {
            fits = fits && layout_append(&made.bytes, &made.offset[i], &parts[i], rows);
        }
    }
    size_t ring;
    made.stride = (made.bytes + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
    if (!fits || __builtin_mul_overflow(made.stride, slots, &ring)) {
        return sl_error_set(error, SLUICE_NOMEM, "staging",
                            "%u slots of %u rows exceed the address space", slots, rows);
    }
    *layout = made;
    return SLUICE_OK;
}
