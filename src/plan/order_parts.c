/* SPDX-License-Identifier: Apache-2.0 */
#include "order_parts.h"

#include <assert.h>

static uint64_t part_mask(const sl_order_part *part)
{
    return (UINT64_C(1) << part->bits) - 1;
}

/* Values near the usual one have distinct bits. */
static uint64_t part_bits(const sl_order_part *part, uint64_t value)
{
    const uint64_t from_usual = value - part->usual;
    return from_usual == 0 ? 0 : 1 + (from_usual - 1) % part_mask(part);
}

uint64_t sl_order_parts_make(const sl_order_table *table, const uint64_t *values)
{
    uint64_t parts = table->number;
    uint32_t at = SL_ORDER_TABLE_BITS;
    for (uint32_t i = 0; i < table->count; i++) {
        assert(at + table->parts[i].bits <= 64);
        parts |= part_bits(&table->parts[i], values[i]) << at;
        at += table->parts[i].bits;
    }
    return parts;
}

uint32_t sl_order_parts_table(uint64_t parts)
{
    return (uint32_t)(parts & ((1U << SL_ORDER_TABLE_BITS) - 1));
}

void sl_order_parts_differ(const sl_order_table *table, uint64_t left, uint64_t right,
                           sl_name_list *names)
{
    uint32_t at = SL_ORDER_TABLE_BITS;
    for (uint32_t i = 0; i < table->count; i++) {
        if (((left ^ right) >> at & part_mask(&table->parts[i])) != 0) {
            sl_name_list_add(names, table->parts[i].name);
        }
        at += table->parts[i].bits;
    }
}
