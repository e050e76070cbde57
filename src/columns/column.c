/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the set for kinds that are being bound: parts, and their errors. */
#include "column.h"

#include "error.h"
#include "facts.h"

#include <stdio.h>
#include <string.h>

#define STAGE "columns"

sluice_status sl_column_refuse(const sl_column *column, sluice_error *error, const char *why)
{
    return sl_error_set(error, SLUICE_INVALID, "columns", "column \"%s\": %s", column->request.name,
                        why);
}

static bool name_is_taken(const sl_column_set *set, const char *name)
{
    for (uint32_t i = 0; i < set->part_count; i++) {
        if (sl_part_is_shown(&set->parts[i]) && strcmp(set->parts[i].name, name) == 0) {
            return true;
        }
    }
    return sl_is_fact(name);
}

sl_part *sl_column_add_part(sl_column_set *set, sl_column *column, const char *suffix,
                            sluice_error *error)
{
    char name[SL_PART_NAME_BYTES];
    (void)snprintf(name, sizeof(name), "%s%s", column->request.name, suffix);
    if (name_is_taken(set, name)) {
        sl_error_set(error, SLUICE_INVALID, STAGE, "two columns are named \"%s\"%s", name,
                     sl_is_fact(name) ? ": every batch has a column of this name, so rename yours"
                                      : "");
        return NULL;
    }
    if (set->part_count >= SL_PARTS_MAX - SL_FACTS) {
        sl_error_set(error, SLUICE_INVALID, STAGE, "a batch can have at most %u arrays",
                     SL_PARTS_MAX);
        return NULL;
    }
    sl_part *part = &set->parts[set->part_count++];
    *part = (sl_part){.ragged = 0};
    memcpy(part->name, name, sizeof(part->name));
    column->part_count++;
    return part;
}

sluice_status sl_column_add_asked(sl_column_set *set, sl_column *column, sluice_error *error)
{
    const sl_column_request *request = &column->request;
    sl_part *part = sl_column_add_part(set, column, "", error);
    if (part == NULL) {
        return SLUICE_INVALID;
    }
    part->dtype = (sluice_dtype)request->dtype;
    part->dims = request->dims;
    memcpy(part->shape, request->shape, sizeof(part->shape));
    part->row_bytes = column->elements * column->made_bytes;
    return SLUICE_OK;
}
