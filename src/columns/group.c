/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the image or the boxes that a column follows. The opener's thread.
 */
#include "group.h"

#include "error.h"

#include <assert.h>
#include <string.h>

static bool can_be_followed(const sl_column *column, bool owned)
{
    return sl_column_is_image(column) || (owned && column->kind->boxes);
}

/* Finds the only image before it. */
static sluice_status find_only_picture(const sl_column_set *set, const sl_column *column,
                                       uint32_t *found, sluice_error *error)
{
    *found = SL_COLUMN_NONE;
    for (uint32_t i = 0; i < set->count; i++) {
        if (!sl_column_is_image(&set->columns[i])) {
            continue;
        }
        if (*found != SL_COLUMN_NONE) {
            return sl_column_refuse(
                column, error,
                "several image columns are before it: choose the one it follows (" SL_OPTION(
                    "follows") ")");
        }
        *found = i;
    }
    return *found != SL_COLUMN_NONE
               ? SLUICE_OK
               : sl_column_refuse(column, error,
                                  "it follows an image, but no image column is before it");
}

static sluice_status find_followed(const sl_column_set *set, const sl_column *column, bool owned,
                                   uint32_t *found, sluice_error *error)
{
    const char *name = column->request.follows;
    if (name[0] == '\0') {
        return find_only_picture(set, column, found, error);
    }
    for (uint32_t i = 0; i < set->count; i++) {
        if (strcmp(set->columns[i].request.name, name) == 0) {
            *found = i;
            return can_be_followed(&set->columns[i], owned)
                       ? SLUICE_OK
                       : sl_error_set(
                             error, SLUICE_INVALID, "columns",
                             "column \"%s\": it follows \"%s\", which is not a column of %s",
                             column->request.name, name, owned ? "images or boxes" : "images");
        }
    }
    return sl_error_set(error, SLUICE_INVALID, "columns",
                        "column \"%s\": it follows \"%s\", but no column of that name is before it",
                        column->request.name, name);
}

sluice_status sl_column_follow(sl_column_set *set, sl_column *column, bool owned,
                               sluice_error *error)
{
    uint32_t found = 0;
    const sluice_status status = find_followed(set, column, owned, &found, error);
    if (status != SLUICE_OK) {
        return status;
    }
    const sl_column *followed = &set->columns[found];
    if (column->request.partner != 0) {
        return sl_column_refuse(column, error,
                                "it takes the sample of the column that it follows: set " SL_OPTION(
                                    "partner") " there");
    }
    column->group = followed->group;
    column->lead = followed->leads ? found : followed->lead;
    column->members = followed->members;
    column->member = followed->member;
    column->owner = followed->kind->boxes ? found : SL_COLUMN_NONE;
    return SLUICE_OK;
}

void sl_column_lead(sl_column_set *set, sl_column *column)
{
    _Static_assert(SL_COLUMNS_MAX <= SL_GROUPS_MAX, "each column may lead a group");
    assert(column->kind->open != NULL);
    column->group = set->groups++;
    column->leads = true;
}
