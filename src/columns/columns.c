/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns: the table of kinds, and binding requests to fields, which gives the parts of a batch.
 * Binding is the opener's; rows are made (rows.c) over a set that no longer changes.
 */
#include "columns.h"

#include "error.h"
#include "facts.h"
#include "kinds.h"
#include "meaning.h"
#include "memory.h"
#include "name_list.h"
#include "natural_columns.h"
#include "orientation.h"
#include "shared_draws.h"
#include "shared_picture.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define STAGE "columns"

/* The table of kinds, by sluice_column_kind. */
static const sl_column_kind *const kinds[] = {
    [SLUICE_COLUMN_IMAGE] = &sl_column_image,
    [SLUICE_COLUMN_NUMBER] = &sl_column_number,
    [SLUICE_COLUMN_TENSOR] = &sl_column_tensor,
    [SLUICE_COLUMN_WINDOW] = &sl_column_window,
    [SLUICE_COLUMN_RAGGED] = &sl_column_ragged,
    [SLUICE_COLUMN_PADDED] = &sl_column_padded,
    [SLUICE_COLUMN_ONE_HOT] = &sl_column_one_hot,
    [SLUICE_COLUMN_MASK] = &sl_column_mask,
    [SLUICE_COLUMN_BOXES] = &sl_column_boxes,
    [SLUICE_COLUMN_POINTS] = &sl_column_points,
    [SLUICE_COLUMN_GEOMETRY] = &sl_column_geometry,
    [SLUICE_COLUMN_INSTANCES] = &sl_column_instances,
    [SLUICE_COLUMN_PACKED] = &sl_column_packed,
};

bool sl_columns_have_kind(int64_t kind)
{
    // NOLINTNEXTLINE(bugprone-sizeof-expression): a table of pointers
    return kind >= 0 && kind < (int64_t)(sizeof(kinds) / sizeof(*kinds)) && kinds[kind] != NULL;
}

/* ---- binding ---- */

static sluice_status columns_find_field(const sl_columns_config *config, const char *name,
                                        uint32_t *number, sluice_error *error)
{
    for (uint32_t i = 0; i < config->field_count; i++) {
        if (strcmp(config->fields[i].name, name) == 0) {
            *number = i;
            return SLUICE_OK;
        }
    }
    sl_name_list known;
    (void)sl_error_set(error, SLUICE_INVALID, STAGE,
                       "the dataset has no field \"%s\": its fields are %s", name,
                       sl_name_list_fields(&known, config->fields, config->field_count));
    return SLUICE_INVALID;
}

static bool kind_takes(const sl_column_kind *kind, const sl_field *field)
{
    return (kind->takes >> field->type & 1) != 0;
}

/* Finds the field and checks that the kind takes it. */
static sluice_status find_taken(const sl_columns_config *config, sl_column *column,
                                sluice_error *error)
{
    const sluice_status status =
        columns_find_field(config, column->request.field, &column->field_number, error);
    if (status != SLUICE_OK) {
        return status;
    }
    column->field = config->fields[column->field_number];
    const sl_column_kind *otherwise = column->kind->otherwise;
    if (otherwise != NULL && kind_takes(otherwise, &column->field)) {
        column->kind = otherwise;
    }
    if (!kind_takes(column->kind, &column->field)) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "column \"%s\": the field \"%s\" cannot be used by a column of kind %s",
                            column->request.name, column->request.field, column->kind->name);
    }
    return SLUICE_OK;
}

static uint64_t beside_bit(const sl_beside *beside)
{
    return beside->number != SL_FIELD_NONE ? UINT64_C(1) << beside->number : 0;
}

static void want_fields(sl_column_set *set, const sl_column *column)
{
    const uint64_t fields = UINT64_C(1) << column->field_number | beside_bit(&column->shapes) |
                            beside_bit(&column->labels) | beside_bit(&column->crowds) |
                            beside_bit(&column->mask) | beside_bit(&column->media);
    const uint32_t end = column->member + column->members;
    set->wanted |= fields;
    for (uint32_t i = column->member; i < end; i++) {
        set->wanted_of[i] |= fields;
    }
    const uint32_t members = column->kind->packs ? column->request.max_documents : end;
    set->members = members > set->members ? members : set->members;
}

/* Finds a field besides the column's own; "": none. */
static sluice_status columns_find_beside(const sl_columns_config *config, const char *name,
                                         sl_beside *beside, sluice_error *error)
{
    uint32_t number = 0;
    beside->number = SL_FIELD_NONE;
    if (name[0] == '\0') {
        return SLUICE_OK;
    }
    const sluice_status status = columns_find_field(config, name, &number, error);
    if (status == SLUICE_OK) {
        beside->number = number;
        beside->field = config->fields[number];
    }
    return status;
}

static sluice_status find_fields(const sl_columns_config *config, sl_column *column,
                                 sluice_error *error)
{
    const struct {
        const char *name;
        sl_beside *field;
    } beside[] = {{column->request.shapes, &column->shapes},
                  {column->request.labels, &column->labels},
                  {column->request.crowds, &column->crowds},
                  {column->request.mask, &column->mask},
                  {column->request.media, &column->media}};
    sluice_status status = column->kind->takes == 0 ? SLUICE_OK : find_taken(config, column, error);
    for (size_t i = 0; i < sizeof(beside) / sizeof(*beside) && status == SLUICE_OK; i++) {
        status = columns_find_beside(config, beside[i].name, beside[i].field, error);
    }
    return status;
}

static sluice_status open_state(sl_column *column, sluice_error *error)
{
    const size_t bytes = column->kind->state_bytes;
    column->state = bytes > 0 ? sl_calloc(1, bytes) : NULL;
    return bytes == 0 || column->state != NULL ? SLUICE_OK
                                               : sl_no_memory(error, STAGE, "for columns");
}

static sluice_status bind_one(sl_column_set *set, const sl_columns_config *config,
                              const sl_column_request *request, sluice_error *error)
{
    sl_column *column = &set->columns[set->count];
    *column = (sl_column){.kind = kinds[request->kind],
                          .set = set,
                          .request = *request,
                          .group = SL_GROUP_NONE,
                          .follows = SL_COLUMN_NONE,
                          .lead = SL_COLUMN_NONE,
                          .owner = SL_COLUMN_NONE,
                          .objects = SL_COLUMN_NONE,
                          .member = request->partner,
                          .members = 1,
                          .first_part = set->part_count};
    sluice_status status = find_fields(config, column, error);
    if (status == SLUICE_OK) {
        status = sl_column_take_meaning(set, config, column, error);
    }
    if (status == SLUICE_OK) {
        status = open_state(column, error);
    }
    if (status == SLUICE_OK) {
        status = column->kind->bind(column, set, error);
    }
    if (status != SLUICE_OK) {
        sl_free(column->state);
        return status;
    }
    sl_recipe_hold(&column->request.recipe);
    want_fields(set, column);
    /* Bools are checked while they are copied, by their cast. */
    if (column->is_field && column->field.dtype != SLUICE_BOOL && set->copied == SL_COLUMN_NONE &&
        column->member == 0) {
        set->copied = set->count;
    }
    set->count++;
    return SLUICE_OK;
}

/* The plan counts windows: no other column of a sample can be loaded with them. */
static sluice_status check_windows(const sl_column_set *set, sluice_error *error)
{
    for (uint32_t i = 0; i < set->count && set->windows.field != SL_FIELD_NONE; i++) {
        if (!set->columns[i].kind->windows) {
            return sl_error_set(error, SLUICE_INVALID, STAGE,
                                "column \"%s\": it cannot be used with windows, which read only "
                                "the window's bytes of a sample",
                                set->columns[i].request.name);
        }
    }
    return SLUICE_OK;
}

/* Rows of pieces of many samples have no other columns either. */
static sluice_status columns_check_packed(const sl_column_set *set, sluice_error *error)
{
    for (uint32_t i = 0; i < set->count && set->packed.field != SL_FIELD_NONE; i++) {
        if (!set->columns[i].kind->packs) {
            return sl_error_set(error, SLUICE_INVALID, STAGE,
                                "column \"%s\": it cannot be used with packed sequences, whose "
                                "rows have pieces of several samples",
                                set->columns[i].request.name);
        }
    }
    return SLUICE_OK;
}

/* No windows can be partner samples. */
static sluice_status check_partners(const sl_column_set *set, sluice_error *error)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *column = &set->columns[i];
        if (column->kind->windows && column->member > 0) {
            return sl_column_refuse(column, error, "a window has no partner sample");
        }
        if (column->member > 0 && column->members > 1) {
            return sl_column_refuse(column, error,
                                    "its recipe combines the row's own sample with partner "
                                    "samples: it cannot use a partner sample itself");
        }
    }
    return SLUICE_OK;
}

/* An elastic step moves pixels by a field. */
static sluice_status check_bends(const sl_column_set *set, sluice_error *error)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *column = &set->columns[i];
        const bool by_matrix =
            column->kind->by_matrix || column->request.interpolation == SLUICE_COLUMN_BILINEAR;
        const char *step = by_matrix && column->lead != SL_COLUMN_NONE
                               ? sl_recipe_bends(&set->columns[column->lead].request.recipe)
                               : NULL;
        if (step != NULL) {
            return sl_error_set(
                error, SLUICE_INVALID, STAGE,
                "column \"%s\": it cannot follow the step %s of its image, which moves each pixel "
                "separately: only masks with nearest interpolation can",
                column->request.name, step);
        }
    }
    return SLUICE_OK;
}

/* Finds the image column of that name, whose rows are mixed. */
static sluice_status find_mixing(const sl_column_set *set, sl_column *column, sluice_error *error)
{
    const char *name = column->request.mixes;
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *other = &set->columns[i];
        if (strcmp(other->request.name, name) != 0) {
            continue;
        }
        if (other->mixer != NULL) {
            column->follows = i;
            return SLUICE_OK;
        }
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            sl_column_is_image(other)
                                ? "column \"%s\": mixes is \"%s\", whose recipe mixes nothing: add "
                                  "mixup, cutmix or timm_mix to it"
                                : "column \"%s\": mixes is \"%s\", which is not an image column",
                            column->request.name, name);
    }
    return sl_error_set(error, SLUICE_INVALID, STAGE,
                        "column \"%s\": mixes is \"%s\", which does not exist",
                        column->request.name, name);
}

/* Called once all are bound: the columns may be in any order. */
static sluice_status follow_mixing(sl_column_set *set, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < set->count && status == SLUICE_OK; i++) {
        if (set->columns[i].request.mixes[0] != '\0') {
            status = find_mixing(set, &set->columns[i], error);
        }
    }
    return status;
}

static void columns_order(sl_column_set *set)
{
    uint32_t at = 0;
    for (int leads = 1; leads >= 0; leads--) {
        for (uint32_t i = 0; i < set->count; i++) {
            if (set->columns[i].leads == (leads == 1)) {
                set->order[at++] = i;
            }
        }
    }
}

static sluice_status bind_natural(sl_column_set *set, const sl_columns_config *config,
                                  sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < config->field_count && status == SLUICE_OK; i++) {
        sl_column_request request;
        status = sl_natural_column_ask(config, i, &request, error);
        if (status == SLUICE_OK) {
            status = bind_one(set, config, &request, error);
        } else if (status == SLUICE_END) {
            status = SLUICE_OK;
        }
    }
    if (status == SLUICE_OK && set->count == 0) {
        sl_name_list known;
        return sl_error_set(
            error, SLUICE_INVALID, STAGE,
            "no field of the dataset has a default column: request columns of these fields: %s",
            sl_name_list_fields(&known, config->fields, config->field_count));
    }
    return status;
}

static sluice_status bind_asked(sl_column_set *set, const sl_columns_config *config,
                                sluice_error *error)
{
    const sluice_columns *asked = config->asked;
    sluice_status status = SLUICE_OK;
    if (asked->first_error.status != SLUICE_OK) {
        if (error != NULL) {
            *error = asked->first_error;
        }
        return (sluice_status)asked->first_error.status;
    }
    if (asked->count == 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "the list of columns is empty");
    }
    for (uint32_t i = 0; i < asked->count && status == SLUICE_OK; i++) {
        status = bind_one(set, config, &asked->requests[i], error);
    }
    return status;
}

sluice_status sl_columns_bind(sl_column_set *set, const sl_columns_config *config,
                              sluice_error *error)
{
    *set = (sl_column_set){.windows = {.field = SL_FIELD_NONE},
                           .packed = {.field = SL_FIELD_NONE},
                           .members = 1,
                           .copied = SL_COLUMN_NONE,
                           .ignore = config->ignore_index,
                           .batch = config->batch,
                           .buckets = config->buckets,
                           .bucket_count = config->bucket_count,
                           .exif = config->exif,
                           .notices = config->notices,
                           .image_sizes = config->image_sizes};
    set->columns = sl_calloc(SL_COLUMNS_MAX, sizeof(*set->columns));
    set->watches =
        config->notices != NULL ? sl_calloc(SL_COLUMNS_MAX, sizeof(*set->watches)) : NULL;
    if (set->columns == NULL || (config->notices != NULL && set->watches == NULL)) {
        sl_columns_close(set);
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for columns");
    }
    sluice_status status =
        config->asked != NULL ? bind_asked(set, config, error) : bind_natural(set, config, error);
    if (status == SLUICE_OK) {
        status = check_windows(set, error);
    }
    if (status == SLUICE_OK) {
        status = columns_check_packed(set, error);
    }
    if (status == SLUICE_OK) {
        status = check_partners(set, error);
    }
    if (status == SLUICE_OK) {
        status = check_bends(set, error);
    }
    if (status == SLUICE_OK) {
        status = sl_composition_bind(set, error);
    }
    if (status == SLUICE_OK) {
        status = follow_mixing(set, error);
    }
    if (status == SLUICE_OK) {
        status = sl_shared_draws_check(set, error);
    }
    if (status != SLUICE_OK) {
        sl_columns_close(set);
        return status;
    }
    columns_order(set);
    sl_orientation_bind(set, config);
    sl_redraw_bind(set);
    sl_facts_add(set);
    sl_shared_bind(set);
    return SLUICE_OK;
}

void sl_columns_close(sl_column_set *set)
{
    for (uint32_t i = 0; set->columns != NULL && i < set->count; i++) {
        sl_free(set->columns[i].state);
        sl_recipe_release(&set->columns[i].request.recipe);
    }
    sl_free(set->columns);
    set->count = 0;
    sl_free(set->watches);
    set->columns = NULL;
    set->watches = NULL;
}

uint64_t sl_columns_row_bytes(const sl_column_set *set)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < set->part_count; i++) {
        bytes += set->parts[i].row_bytes;
    }
    return bytes;
}

uint64_t sl_column_row_bytes(const sl_column_set *set, const sl_column *column)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < column->part_count; i++) {
        bytes += set->parts[column->first_part + i].row_bytes;
    }
    return bytes;
}

const sl_column *sl_columns_largest(const sl_column_set *set)
{
    const sl_column *largest = &set->columns[0];
    for (uint32_t i = 1; i < set->count; i++) {
        if (sl_column_row_bytes(set, &set->columns[i]) > sl_column_row_bytes(set, largest)) {
            largest = &set->columns[i];
        }
    }
    return largest;
}

sl_column *sl_columns_picture(const sl_column_set *set, uint32_t picture)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (sl_column_is_image(&set->columns[i]) && set->columns[i].picture == picture) {
            return &set->columns[i];
        }
    }
    assert(false);
    return NULL;
}

static bool takes_field(const sl_subvolumes *parts, uint32_t field)
{
    for (uint32_t i = 0; i < parts->count; i++) {
        if (parts->of[i].field == field) {
            return true;
        }
    }
    return false;
}

bool sl_columns_take_parts(const sl_column_set *set, sl_subvolumes *parts)
{
    bool cuts = false;
    parts->count = 0;
    for (uint32_t i = 0; set->members == 1 && i < set->count; i++) {
        const sl_column *column = &set->columns[i];
        if (column->kind->part == NULL || parts->count == SL_SUBVOLUMES_MAX ||
            takes_field(parts, column->field_number)) {
            return false;
        }
        parts->of[parts->count++] = column->kind->part(column);
        cuts = cuts || column->request.part != SLUICE_PART_WHOLE;
    }
    return cuts;
}
