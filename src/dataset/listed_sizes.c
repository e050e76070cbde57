/* SPDX-License-Identifier: Apache-2.0 */
#include "listed_sizes.h"

#include <string.h>

static bool goes_by_size(const sl_field *field)
{
    return field->meaning.orientation == SLUICE_ORIENTATION_BY_SIZE &&
           field->meaning.role != SLUICE_ROLE_MASK; /* a mask has its own size */
}

static uint32_t source_of_role(const sl_listed_sources *sources, sluice_role role)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        if (sources->of[i].field.meaning.role == role) {
            return i;
        }
    }
    return SL_FIELD_NONE;
}

static bool has_name(const sl_source_fields *found, const char *name)
{
    bool taken = false;
    for (uint32_t i = 0; i < found->count && !taken; i++) {
        taken = strcmp(found->fields[i].name, name) == 0;
    }
    return taken;
}

static bool has_role(const sl_source_fields *found, sluice_role role)
{
    bool there = false;
    for (uint32_t i = 0; i < found->count && !there; i++) {
        there = found->fields[i].meaning.role == role;
    }
    return there;
}

/* Adds a size field. False: another field has its name, or there are too many fields. */
static bool add_size(sl_source_fields *found, const sl_listed_sources *sources, uint32_t source)
{
    const sl_source_column *column = &sources->of[source];
    if (has_role(found, column->field.meaning.role)) {
        return true;
    }
    if (found->count == SL_FIELDS_MAX || has_name(found, column->name)) {
        return false;
    }
    sl_field *field = &found->fields[found->count];
    *field = column->field;
    memcpy(field->name, column->name, strlen(column->name) + 1);
    found->column[found->count++] = source;
    return true;
}

void sl_listed_complete_sizes(sl_source_fields *found, const sl_listed_sources *sources)
{
    const uint32_t width = source_of_role(sources, SLUICE_ROLE_WIDTH);
    const uint32_t height = source_of_role(sources, SLUICE_ROLE_HEIGHT);
    bool asked = false;
    for (uint32_t i = 0; i < found->count; i++) {
        asked = asked || goes_by_size(&found->fields[i]);
    }
    if (!asked || (width != SL_FIELD_NONE && height != SL_FIELD_NONE &&
                   add_size(found, sources, width) && add_size(found, sources, height))) {
        return;
    }
    for (uint32_t i = 0; i < found->count; i++) {
        if (goes_by_size(&found->fields[i])) {
            found->fields[i].meaning.orientation = SLUICE_ORIENTATION_AUTO;
        }
    }
}
