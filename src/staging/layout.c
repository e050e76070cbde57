/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include "error.h"

#include <assert.h>
#include <stdbool.h>

#define PART_ALIGN ((size_t)256)
#define SLOT_ALIGN ((size_t)4096)

/* The order of the parts in a slot. */
enum { LAYOUT_FIXED, LAYOUT_RAGGED, LAYOUT_LOCAL, LAYOUT_GROUPS };

static uint32_t layout_group_of(const sl_part *part)
{
    switch (part->role) {
    case SL_PART_RAGGED:
    case SL_PART_SIZED:
        return LAYOUT_RAGGED;
    case SL_PART_LOCAL:
        return LAYOUT_LOCAL;
    default:
        return LAYOUT_FIXED;
    }
}

/* Appends a part. Returns false when the sum overflows. */
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
    for (uint32_t group = 0; group < LAYOUT_GROUPS; group++) {
        for (uint32_t i = 0; i < count; i++) {
            if (layout_group_of(&parts[i]) == group) {
                fits = fits && layout_append(&made.bytes, &made.offset[i], &parts[i], rows);
            }
        }
        made.fixed = group == LAYOUT_FIXED ? made.bytes : made.fixed;
        made.sent = group < LAYOUT_LOCAL ? made.bytes : made.sent;
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
