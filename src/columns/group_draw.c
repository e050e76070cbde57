/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a group: reads its boxes, opens its image, and draws its recipe, again if a box must be
 * left. A function of the sample, the lead's image and, for steps that use them, its boxes. On the
 * worker that makes the row.
 */
#include "group_draw.h"

#include "clock.h"
#include "column_boxes.h"
#include "composition.h"
#include "paste.h"

#include <assert.h>

/* Tries of a draw that leaves no box, if one is wanted. */
enum { ATTEMPTS = 20 };

static bool is_of_group(const sl_column *column, const sl_column *lead)
{
    return column->kind->boxes && column->group == lead->group;
}

sluice_status sl_group_read(const sl_column *lead, sl_row *row, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < lead->set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &lead->set->columns[i];
        if (is_of_group(column, lead)) {
            status =
                sl_row_blame(row, column->field_number, sl_column_read_boxes(column, row, error));
        }
    }
    return status;
}

static sluice_status group_scale_boxes(const sl_column *lead, sl_row *row, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < lead->set->count && status == SLUICE_OK; i++) {
        const sl_column *column = &lead->set->columns[i];
        if (is_of_group(column, lead)) {
            status =
                sl_row_blame(row, column->field_number, sl_column_scale_boxes(column, row, error));
        }
    }
    return status;
}

/* Returns whether a box is wanted and none is left. */
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

/* Moves the boxes. `*satisfied` is false: a box is wanted, and none is left. */
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
                sl_boxes_unsee(list);
            }
            if (params->absent) {
                list->count = 0;
            }
            status = sl_boxes_move(list, &column->request.boxes, &params->trail, error);
            *satisfied = *satisfied && (lead->members > 1 || !is_wanting(column, list));
        }
    }
    return status;
}

static bool may_redraw(const sl_column *column)
{
    return column->members > 1 && column->kind->boxes && column->request.boxes.at_least_one;
}

void sl_redraw_bind(sl_column_set *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        set->redraws |= may_redraw(&set->columns[i]);
    }
}

/* Each group counts its own draws: it draws the same as alone. */
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

/* Passes boxes to steps that use them: those of its first column of boxes. */
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
    sl_params *const programs[2] = {&draw->params, draw->labels};
    sl_scratch *scratch = sl_decoder_scratch(row->decoder);
    const size_t mark = sl_scratch_mark(scratch);
    sluice_status status = group_scale_boxes(lead, row, error);
    bool satisfied = false;
    if (status == SLUICE_OK) {
        status = group_read_shapes(lead, row, error);
    }
    draw->key = (sl_draw_key){.seed = row->seed,
                              .epoch = row->epoch,
                              .sample = (uint64_t)row->at.index + row->repetition,
                              .group = lead->group,
                              .exact = row->exact,
                              .any_size = lead->request.sizes != SLUICE_SIZES_ONE};
    if (lead->members > 1) {
        sl_composition_place(lead, row);
    }
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
        status = sl_draw_both(&lead->request.recipe, &draw->key, picture->width, picture->height,
                              programs, error);
        if (status == SLUICE_OK && i == 0 && sl_composition_is_first(lead, row)) {
            row->work.left += SL_WORK_TIMES * draw->params.width * draw->params.height;
        }
        if (status == SLUICE_OK) {
            status = group_move_boxes(lead, row, &draw->params, &satisfied, error);
        }
    }
    if (status == SLUICE_OK && lead->members > 1) {
        status = sl_composition_member(lead, row, error);
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
