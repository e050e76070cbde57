/* SPDX-License-Identifier: Apache-2.0 */
#include "facts.h"

#include "dtype.h"

#include <stdio.h>
#include <string.h>

enum { FACT_INDEX, FACT_MASK, FACT_STATUS, FACTS };
_Static_assert(FACTS == SL_FACTS, "each is counted");

static const struct {
    const char *name, *of_field; /* name for a column of a field with that name */
    sluice_dtype dtype;
} facts[FACTS] = {
    [FACT_INDEX] = {"index", "field.index", SLUICE_I64},
    [FACT_MASK] = {"mask", "field.mask", SLUICE_U8},
    [FACT_STATUS] = {"status", "field.status", SLUICE_U8},
};

const char *sl_fact_of_field(const char *name)
{
    for (uint32_t i = 0; i < FACTS; i++) {
        if (strcmp(facts[i].name, name) == 0) {
            return facts[i].of_field;
        }
    }
    return NULL;
}

bool sl_is_fact(const char *name)
{
    return sl_fact_of_field(name) != NULL;
}

void sl_facts_add(sl_column_set *set)
{
    for (uint32_t i = 0; i < FACTS; i++) {
        sl_part *part = &set->parts[set->part_count++];
        *part = (sl_part){.dtype = facts[i].dtype, .row_bytes = sl_dtype_bytes(facts[i].dtype)};
        (void)snprintf(part->name, sizeof(part->name), "%s", facts[i].name);
    }
}

void sl_facts_write(const sl_column_set *set, const sl_row_place *place, bool good,
                    sl_part_view parts)
{
    sl_part_view own = parts + (set->part_count - FACTS);
    const uint32_t at = place->number;
    ((int64_t *)(void *)own[FACT_INDEX])[at] = place->index;
    own[FACT_MASK][at] = good;
    own[FACT_STATUS][at] = place->status;
}
