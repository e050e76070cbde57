/* SPDX-License-Identifier: Apache-2.0 */
/* Adds columns for the fields whose meaning the dataset knows. */
#include "followers.h"

#include <stdio.h>
#include <string.h>

static bool is_labels(const sluice_field *field)
{
    const bool whole =
        field->dtype == SLUICE_I32 || field->dtype == SLUICE_I64 || field->dtype == SLUICE_U16;
    return field->type == SLUICE_FIELD_TENSOR && field->per_box != 0 && field->dims == 1 && whole;
}

/* Returns the options of the column that a field is drawn by, after its name; NULL: it is not
 * drawn. */
static const char *kind_of(const sluice_field *field)
{
    if (field->role == SLUICE_ROLE_BOXES && field->box_format != SLUICE_BOX_AUTO) {
        return ":boxes";
    }
    if (field->role == SLUICE_ROLE_POINTS) {
        return ":points";
    }
    if (field->role == SLUICE_ROLE_MASK && strcmp(field->name, "mask") == 0) {
        return ":mask,fill=255";
    }
    return is_labels(field) ? ":ragged" : NULL;
}

/* Describes a column of a kind with the name of its field. False: the name cannot be written in
 * a text. */
static bool describe_column(const sluice_field *field, const char *kind, struct column_spec *spec)
{
    char text[2 * sizeof field->name];
    char fault[400];
    const bool is_mask = field->role == SLUICE_ROLE_MASK;
    snprintf(text, sizeof text, "%s%s%s", is_mask ? "classes=" : "", field->name, kind);
    return column_spec_parse(text, spec, fault, sizeof fault);
}

void followers_add(struct column_set *set, const sluice_dataset *dataset)
{
    static struct column_set made; /* too large for a stack */
    sluice_field field = SLUICE_FIELD_INIT;
    uint32_t images = 0;
    uint32_t followers = 0;
    made = (struct column_set){.asked = true};
    for (uint32_t i = 0; sluice_dataset_get_field(dataset, i, &field) == SLUICE_OK; i++) {
        struct column_spec *spec = &made.specs[made.count];
        if (made.count == OPTION_LIST_MAX) {
            return;
        }
        if (column_natural(dataset, i, spec)) {
            const bool is_image = spec->column.kind == SLUICE_COLUMN_IMAGE;
            if (is_image && !describe_column(&field, ":image", spec)) {
                return;
            }
            images += is_image;
            made.count += strcmp(spec->name, "label") != 0; /* the caption shows it */
        } else if (kind_of(&field) != NULL && describe_column(&field, kind_of(&field), spec)) {
            followers++;
            made.count++;
        }
    }
    if (!set->asked && images == 1 && followers > 0) {
        *set = made;
    }
}
