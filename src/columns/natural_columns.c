/* SPDX-License-Identifier: Apache-2.0 */
#include "natural_columns.h"

#include "error.h"
#include "facts.h"

#include <stdio.h>
#include <string.h>

#define STAGE "columns"

/* Returns the kind of a field's default column; 0: none. */
static sluice_column_kind natural_kind(const sl_field *field)
{
    bool fixed = field->dims < SLUICE_TENSOR_DIMS_MAX; /* rows are a dimension, too */
    const sluice_role role = field->meaning.role;
    if (role == SLUICE_ROLE_WIDTH || role == SLUICE_ROLE_HEIGHT) {
        return (sluice_column_kind)0;
    }
    switch (field->type) {
    case SLUICE_FIELD_IMAGE:
        return SLUICE_COLUMN_IMAGE;
    case SLUICE_FIELD_INT:
    case SLUICE_FIELD_FLOAT:
        return SLUICE_COLUMN_NUMBER;
    case SLUICE_FIELD_TENSOR:
        for (uint32_t i = 0; i < field->dims; i++) {
            fixed = fixed && field->shape[i] != 0;
        }
        return fixed ? SLUICE_COLUMN_TENSOR : (sluice_column_kind)0;
    default:
        return (sluice_column_kind)0;
    }
}

/* Returns the image for whose pixels a field has values, by its role, or by its name in formats
 * without roles; NULL: it is not such a field. Its default column would be an image, or a tensor,
 * with a crop of its own. */
static const sl_field *picture_of_mask(const sl_field *fields, uint32_t count,
                                       const sl_field *field)
{
    static const char *const names[] = {"mask", "instances", "train_ids"};
    bool named = field->meaning.role == SLUICE_ROLE_MASK;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        named = named || (field->type == SLUICE_FIELD_IMAGE && strcmp(field->name, names[i]) == 0);
    }
    for (uint32_t i = 0; named && i < count; i++) {
        const sl_field *other = &fields[i];
        if (other != field && other->type == SLUICE_FIELD_IMAGE &&
            other->meaning.role != SLUICE_ROLE_MASK) {
            return other;
        }
    }
    return NULL;
}

static sluice_status refuse_mask(const sl_field *mask, const sl_field *picture, sluice_error *error)
{
    return sl_error_set(error, SLUICE_INVALID, STAGE,
                        "\"%s\" would be cropped independently of \"%s\": request columns, one of "
                        "kind image of \"%s\" and one of kind mask of \"%s\", under another name; "
                        "or choose fields without \"%s\"",
                        mask->name, picture->name, picture->name, mask->name, mask->name);
}

/* Returns the field's name, or for that of a fact another one: NULL if that is a field's, too. */
static const char *natural_name(const sl_field *fields, uint32_t count, const sl_field *field)
{
    const char *name = sl_fact_of_field(field->name);
    if (name == NULL) {
        return field->name;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(fields[i].name, name) == 0 && natural_kind(&fields[i]) != 0) {
            return NULL;
        }
    }
    return name;
}

sl_natural_column sl_natural_column_of(const sl_field *fields, uint32_t count, uint32_t number)
{
    const sl_field *field = &fields[number];
    sl_natural_column found = {natural_kind(field), natural_name(fields, count, field), NULL};
    if (found.kind == SLUICE_COLUMN_IMAGE) {
        found.picture = picture_of_mask(fields, count, field);
    }
    return found;
}

sluice_status sl_natural_column_ask(const sl_columns_config *config, uint32_t number,
                                    sl_column_request *request, sluice_error *error)
{
    const sl_field *field = &config->fields[number];
    const sl_natural_column found =
        sl_natural_column_of(config->fields, config->field_count, number);
    *request = (sl_column_request){.kind = found.kind, .layout = config->layout};
    memcpy(request->field, field->name, sizeof(request->field));
    if (found.kind == 0 || found.name == NULL) {
        return SLUICE_END;
    }
    (void)snprintf(request->name, sizeof(request->name), "%s", found.name);
    if (found.kind != SLUICE_COLUMN_IMAGE) {
        return SLUICE_OK;
    }
    if (found.picture != NULL) {
        return refuse_mask(field, found.picture, error);
    }
    if (config->recipe == NULL) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "the dataset has images (\"%s\"), which need a recipe", request->field);
    }
    request->dtype = (int32_t)config->dtype;
    request->recipe = *config->recipe;
    return SLUICE_OK;
}
