/* SPDX-License-Identifier: Apache-2.0 */
#include "object_columns.h"

#include <string.h>

bool sl_object_columns_are_boxes(const char *column)
{
    static const char *const names[] = {"bbox", "bboxes", "box", "boxes"};
    const char *dot = strrchr(column, '.');
    const char *own = dot != NULL ? dot + 1 : column;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(own, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_boxes(const sl_field *field, const char *column)
{
    return field->type == SLUICE_FIELD_TENSOR && field->dims == 2 && field->shape[0] == 0 &&
           field->shape[1] == 4 && sl_object_columns_are_boxes(column);
}

/* Returns the length of the structure's name with the dot; 0: not in a structure. */
static size_t structure_bytes(const char *column)
{
    const char *dot = strrchr(column, '.');
    return dot != NULL ? (size_t)(dot - column) + 1 : 0;
}

/* Returns whether both are in the same structure. */
static bool are_beside(const char *a, const char *b)
{
    const size_t bytes = structure_bytes(a);
    return bytes > 0 && bytes == structure_bytes(b) && memcmp(a, b, bytes) == 0;
}

/* Returns the only field of boxes in a column's structure; NONE. */
static uint32_t object_boxes_beside(const sl_source_fields *fields, const sl_source_column *columns,
                                    const char *column)
{
    uint32_t found = SL_FIELD_NONE;
    for (uint32_t i = 0; i < fields->count; i++) {
        if (fields->fields[i].meaning.role == SLUICE_ROLE_BOXES &&
            are_beside(columns[fields->column[i]].name, column)) {
            if (found != SL_FIELD_NONE) {
                return SL_FIELD_NONE;
            }
            found = i;
        }
    }
    return found;
}

void sl_object_columns_mean(sl_source_fields *fields, const sl_source_column *columns)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        if (is_boxes(&fields->fields[i], columns[fields->column[i]].name)) {
            fields->fields[i].meaning.role = SLUICE_ROLE_BOXES;
        }
    }
    for (uint32_t i = 0; i < fields->count; i++) {
        sl_field *field = &fields->fields[i];
        const uint32_t boxes =
            object_boxes_beside(fields, columns, columns[fields->column[i]].name);
        if (boxes != SL_FIELD_NONE && field->meaning.role == SLUICE_ROLE_NONE &&
            field->type == SLUICE_FIELD_TENSOR && field->shape[0] == 0) {
            field->meaning.per_box = true;
            memcpy(field->meaning.of, fields->fields[boxes].name, sizeof(field->meaning.of));
        }
    }
}
