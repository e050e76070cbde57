/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Geometry groups: a draw for all columns that share it, a function of the sample, the lead's
 * picture and, for what looks at them, its boxes. Workers, each row by one of them, over a set that
 * no longer changes.
 */
#include "clock.h"
#include "columns.h"
#include "error.h"
#include "labels.h"
#include "memory.h"
#include "paste.h"

#include <assert.h>
#include <string.h>

/* Of a draw that leaves no box, where one is wanted. */
enum { ATTEMPTS = 20 };

/* ---- once ---- */

static bool can_be_followed(const sl_column *column, bool owned)
{
    return column->kind == &sl_column_image || (owned && column->kind == &sl_column_boxes);
}

/* The only picture before it. */
static sluice_status find_only_picture(const sl_column_set *set, const sl_column *column,
                                       uint32_t *found, sluice_error *error)
{
    *found = SL_COLUMN_NONE;
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->columns[i].kind != &sl_column_image) {
            continue;
        }
        if (*found != SL_COLUMN_NONE) {
            return sl_column_refuse(column, error,
                                    "there are several pictures before it: say which it follows "
                                    "(" SL_OPTION("follows") ")");
        }
        *found = i;
    }
    return *found != SL_COLUMN_NONE
               ? SLUICE_OK
               : sl_column_refuse(column, error,
                                  "it follows a picture, and there is no image column before it");
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
                       : sl_error_set(error, SLUICE_INVALID, "columns",
                                      "column \"%s\": it follows \"%s\", which is no column of "
                                      "%s",
                                      column->request.name, name,
                                      owned ? "pictures or boxes" : "pictures");
        }
    }
    return sl_error_set(error, SLUICE_INVALID, "columns",
                        "column \"%s\": it follows \"%s\", and there is no such column before it",
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
                                "it is of the sample of the column that it follows: give that one "
                                "the " SL_OPTION("partner"));
    }
    column->group = followed->group;
    column->lead = followed->leads ? found : followed->lead;
    column->several = followed->several;
    column->member = followed->member;
    column->owner = followed->kind == &sl_column_boxes ? found : SL_COLUMN_NONE;
    return SLUICE_OK;
}

/* ---- members ---- */

static uint32_t group_members(const sl_column *lead, const sl_row *row)
{
    return lead->several ? sl_recipe_members(&lead->request.recipe, row->epoch) : 1;
}

bool sl_group_has_member(const sl_column *lead, const sl_row *row)
{
    return row->member >= lead->member && row->member - lead->member < group_members(lead, row);
}

bool sl_group_is_last(const sl_column *column, const sl_row *row)
{
    const sl_column *lead = column->leads ? column : &column->set->columns[column->lead];
    return row->member - lead->member + 1 == group_members(lead, row);
}

uint32_t sl_group_tile(const sl_column *lead, const sl_row *row, uint32_t *tiles)
{
    *tiles = lead->several ? sl_recipe_tiles(&lead->request.recipe, row->epoch) : 1;
    return (row->member - lead->member) % *tiles;
}

const sl_box_list *sl_group_pasted(const sl_column *column, const sl_row *row)
{
    const sl_params *params = &row->draws[column->group].params;
    const sl_column *lead = column->leads ? column : &column->set->columns[column->lead];
    return params->pastes && params->layer > 0
               ? &row->boxes[column->set->columns[lead->objects].box_list]
               : NULL;
}

static uint8_t *canvas_of(uint8_t **pixels, size_t *had, size_t bytes, sluice_error *error)
{
    if (*had < bytes) { /* at first; then only behind a step of no size of its own */
        sl_free(*pixels);
        *pixels = sl_calloc(bytes, 1);
        *had = *pixels != NULL ? bytes : 0;
    }
    if (*pixels == NULL) {
        (void)sl_no_memory(error, "columns", "for a canvas of several pictures");
    }
    return *pixels;
}

uint8_t *sl_row_canvas(sl_row *row, const sl_column *column, size_t bytes, sluice_error *error)
{
    sl_canvas *canvas = &row->canvases[column - column->set->columns];
    return canvas_of(&canvas->pixels, &canvas->bytes, bytes, error);
}

uint8_t *sl_row_layer(sl_row *row, const sl_column *column, size_t bytes, sluice_error *error)
{
    sl_canvas *canvas = &row->canvases[column - column->set->columns];
    return canvas_of(&canvas->layer, &canvas->layer_bytes, bytes, error);
}

/* ---- a worker's row ---- */

/* Of a picture or a mask of several tiles, else 0. */
static uint64_t canvas_bytes(const sl_column *column)
{
    const sl_column *lead =
        column->lead != SL_COLUMN_NONE ? &column->set->columns[column->lead] : column;
    if (!column->several || sl_recipe_tiles(&lead->request.recipe, 0) == 1 ||
        (column->kind != &sl_column_image && column->kind != &sl_column_mask)) {
        return 0;
    }
    const uint64_t passes =
        column->leads ? 1 : sl_labels_passes(column->request.channels * column->made_bytes);
    return passes * 3 * sl_recipe_canvas(&lead->request.recipe);
}

static uint64_t layer_bytes(const sl_column *column)
{
    return column->leads ? 3 * sl_recipe_layer(&column->request.recipe) : 0;
}

uint64_t sl_columns_canvas_bytes(const sl_column_set *set)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        bytes += canvas_bytes(&set->columns[i]) + layer_bytes(&set->columns[i]);
        bytes += set->columns[i].pastes ? sl_paste_bytes(&set->columns[i]) : 0;
    }
    return bytes;
}

static sluice_status open_canvases(const sl_column_set *set, sl_row *row, sluice_error *error)
{
    if (sl_columns_canvas_bytes(set) == 0) {
        return SLUICE_OK;
    }
    row->canvases = sl_calloc(set->count, sizeof(*row->canvases));
    if (row->canvases == NULL) {
        return sl_no_memory(error, "columns", "for rows");
    }
    for (uint32_t i = 0; i < set->count; i++) {
        const uint64_t bytes = canvas_bytes(&set->columns[i]);
        const uint64_t layer = layer_bytes(&set->columns[i]);
        if ((bytes > 0 && sl_row_canvas(row, &set->columns[i], bytes, error) == NULL) ||
            (layer > 0 && sl_row_layer(row, &set->columns[i], layer, error) == NULL)) {
            return SLUICE_NOMEM;
        }
    }
    return SLUICE_OK;
}

static sluice_status open_pastes(const sl_column_set *set, sl_row *row, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &set->columns[i];
        if (!column->pastes) {
            continue;
        }
        if (row->pastes == NULL) {
            row->pastes = sl_calloc(set->groups, sizeof(*row->pastes));
        }
        status = row->pastes != NULL ? sl_paste_open(column, &row->pastes[column->group], error)
                                     : sl_no_memory(error, "columns", "for rows");
    }
    return status;
}

sluice_status sl_row_open(const sl_column_set *set, sl_row *row, sluice_error *error)
{
    row->columns = set;
    row->boxes = set->box_lists > 0 ? sl_calloc(set->box_lists, sizeof(*row->boxes)) : NULL;
    if (set->box_lists > 0 && row->boxes == NULL) {
        return sl_no_memory(error, "columns", "for rows");
    }
    sluice_status status = open_canvases(set, row, error);
    if (status == SLUICE_OK) {
        status = open_pastes(set, row, error);
    }
    for (uint32_t i = 0; i < set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &set->columns[i];
        if (column->kind == &sl_column_boxes) {
            status = sl_boxes_open(&row->boxes[column->box_list], column->request.length, error);
        }
    }
    if (status != SLUICE_OK) {
        sl_row_close(set, row);
    }
    return status;
}

void sl_row_close(const sl_column_set *set, sl_row *row)
{
    for (uint32_t i = 0; row->boxes != NULL && i < set->box_lists; i++) {
        sl_boxes_close(&row->boxes[i]);
    }
    for (uint32_t i = 0; row->canvases != NULL && i < set->count; i++) {
        sl_free(row->canvases[i].pixels);
        sl_free(row->canvases[i].layer);
    }
    for (uint32_t i = 0; row->pastes != NULL && i < set->groups; i++) {
        sl_paste_close(&row->pastes[i]);
    }
    sl_free(row->canvases);
    sl_free(row->pastes);
    sl_free(row->boxes);
    row->canvases = NULL;
    row->pastes = NULL;
    row->boxes = NULL;
}

/* ---- each row ---- */

static bool is_of_group(const sl_column *column, const sl_column *lead)
{
    return column->kind == &sl_column_boxes && column->group == lead->group;
}

sluice_status sl_group_read(const sl_column *lead, sl_row *row, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < lead->set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &lead->set->columns[i];
        if (is_of_group(column, lead)) {
            row->blame = &row->values.of[column->field_number];
            status = sl_column_read_boxes(column, row, error);
        }
    }
    row->blame = status == SLUICE_OK ? &row->values.of[lead->field_number] : row->blame;
    return status;
}

static sluice_status group_scale_boxes(const sl_column *lead, sl_row *row, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < lead->set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &lead->set->columns[i];
        if (is_of_group(column, lead)) {
            status = sl_column_scale_boxes(column, row, error);
            row->blame = status == SLUICE_OK ? row->blame : &row->values.of[column->field_number];
        }
    }
    return status;
}

/* A box is wanted, and there is none left. */
static bool is_wanting(const sl_column *column, const sl_box_list *list)
{
    return column->request.boxes.at_least_one && list->seen > 0 && list->kept_count == 0;
}

static sluice_status group_read_shapes(const sl_column *lead, sl_row *row, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < lead->set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &lead->set->columns[i];
        if (is_of_group(column, lead)) {
            status = sl_column_read_shapes(column, row, error);
        }
    }
    return status;
}

/* `*satisfied` is false: a box is wanted, and there is none left. */
static sluice_status group_move_boxes(const sl_column *lead, sl_row *row, const sl_params *params,
                                      bool *satisfied, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    *satisfied = true;
    for (uint32_t i = 0; i < lead->set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &lead->set->columns[i];
        if (is_of_group(column, lead)) {
            sl_box_list *list = &row->boxes[column->box_list];
            list->chooses = sl_paste_choice(&row->draws[lead->group], &list->choice);
            if (params->absent || list->chooses) {
                list->seen -= list->added;
                list->added = 0;
            }
            if (params->absent) {
                list->count = 0;
            }
            status = sl_boxes_move(list, &column->request.boxes, &params->trail, error);
            *satisfied = *satisfied && (lead->several || !is_wanting(column, list));
        }
    }
    return status;
}

static bool may_redraw(const sl_column *column)
{
    return column->several && column->kind == &sl_column_boxes &&
           column->request.boxes.at_least_one;
}

void sl_redraw_bind(sl_column_set *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        set->redraws |= may_redraw(&set->columns[i]);
    }
}

/* Each group counts for itself: what one draws is what it draws alone. */
bool sl_columns_redraw(const sl_column_set *set, sl_row *row)
{
    uint64_t wanting = 0; /* bits: groups */
    assert(set->redraws);
    _Static_assert(SL_GROUPS_MAX <= 64, "a bit for each group");
    for (uint32_t i = 0; i < set->count; i++) {
        const sl_column *column = &set->columns[i];
        if (may_redraw(column) && row->draws[column->group].attempt < ATTEMPTS &&
            is_wanting(column, &row->boxes[column->box_list])) {
            wanting |= UINT64_C(1) << column->group;
        }
    }
    for (uint32_t i = 0; i < set->groups; i++) {
        row->draws[i].attempt += (uint32_t)(wanting >> i & 1);
    }
    row->attempt += wanting != 0;
    return wanting != 0;
}

/* To steps that look at them: those of its first column of boxes. */
static void group_show_boxes(const sl_column *lead, const sl_row *row, sl_draw_key *key)
{
    for (uint32_t i = 0; i < lead->set->count; i++) {
        const sl_column *column = &lead->set->columns[i];
        if (is_of_group(column, lead)) {
            key->boxes = sl_boxes_show(&row->boxes[column->box_list], &key->box_count);
            return;
        }
    }
}

sluice_status sl_group_plan(const sl_column *lead, sl_row *row, const sl_picture *picture,
                            sluice_error *error)
{
    sl_group_draw *draw = &row->draws[lead->group];
    sl_scratch *scratch = sl_decoder_scratch(row->decoder);
    const size_t mark = sl_scratch_mark(scratch);
    sluice_status status = group_scale_boxes(lead, row, error);
    bool satisfied = false;
    uint32_t tiles;
    const uint32_t tile = sl_group_tile(lead, row, &tiles);
    if (status == SLUICE_OK) {
        status = group_read_shapes(lead, row, error);
    }
    draw->key = (sl_draw_key){.seed = row->seed,
                              .epoch = row->epoch,
                              .sample = (uint64_t)row->at.index,
                              .group = lead->group,
                              .member = tile,
                              .layer = (row->member - lead->member) / tiles,
                              .exact = row->exact,
                              .any_size = lead->request.sizes != SLUICE_SIZES_ONE};
    if (lead->bucketed) {
        draw->key.width = lead->set->buckets[row->at.bucket].width;
        draw->key.height = lead->set->buckets[row->at.bucket].height;
    }
    group_show_boxes(lead, row, &draw->key);
    for (uint32_t i = 0; i <= ATTEMPTS && status == SLUICE_OK && !satisfied; i++) {
        draw->key.attempt = draw->attempt + i;
        status = i > 0 ? sl_work_take(&row->work, 0, error) : SLUICE_OK;
        if (status != SLUICE_OK) {
            break;
        }
        status = sl_draw(&lead->request.recipe, &draw->key, picture->width, picture->height,
                         &draw->params, error);
        if (status == SLUICE_OK && i == 0 && row->member == lead->member) {
            row->work.left += SL_WORK_TIMES * draw->params.width * draw->params.height;
        }
        if (status == SLUICE_OK) {
            status = group_move_boxes(lead, row, &draw->params, &satisfied, error);
        }
    }
    if (status == SLUICE_OK && lead->pastes) {
        status = sl_paste_member(lead, row, error);
    }
    sl_scratch_release(scratch, mark);
    return status;
}

sluice_status sl_group_make(const sl_column *lead, sl_row *row, sluice_error *error)
{
    sl_picture picture;
    sluice_status status = sl_group_read(lead, row, error);
    row->opened_ns = row->timed ? sl_now_ns() : 0;
    if (status == SLUICE_OK) {
        status = lead->kind->open(lead, row, &picture, error);
    }
    if (status == SLUICE_OK) {
        status = sl_group_plan(lead, row, &picture, error);
    }
    if (status != SLUICE_OK && row->timed) {
        row->decode_ns += sl_now_ns() - row->opened_ns;
    }
    return status;
}
