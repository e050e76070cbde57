/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boxes in an image: read before the group is drawn, moved by the draw (group_draw.c), and written
 * here, like ragged or padded columns. On the worker that makes the row.
 */
#include "column_boxes.h"

#include "elements.h"
#include "error.h"
#include "group.h"
#include "kinds.h"
#include "lengths.h"
#include "orientation.h"
#include "watch.h"

/* ---- once ---- */

/* Counts each row's boxes before the draw, for notices. */
static sluice_status count_boxes(sl_column *column, sl_column_set *set, sluice_error *error)
{
    if (set->notices == NULL) {
        return SLUICE_OK;
    }
    sl_part *had = sl_column_add_part(set, column, ".had", error);
    if (had == NULL) {
        return SLUICE_INVALID;
    }
    had->role = SL_PART_LOCAL;
    had->row_bytes = sizeof(uint32_t);
    return SLUICE_OK;
}

static sluice_status column_boxes_bind(sl_column *column, sl_column_set *set, sluice_error *error)
{
    const sl_field *field = &column->field;
    if (field->dims != 2 || field->shape[1] != 4) {
        return sl_column_refuse(column, error, "boxes need a tensor [any, 4]");
    }
    if (column->request.dtype != 0 && column->request.dtype != SLUICE_F32) {
        return sl_column_refuse(column, error, "the dtype of boxes must be f32");
    }
    if (column->request.length > UINT32_MAX) {
        return sl_column_refuse(column, error, "a row can have at most 2^32 - 1 boxes");
    }
    if (column->shapes.number != SL_FIELD_NONE && column->shapes.field.type != SLUICE_FIELD_TEXT) {
        return sl_column_refuse(column, error,
                                "shapes must be a text field like COCO's \"segmentation\"");
    }
    if (column->crowds.number != SL_FIELD_NONE && !sl_beside_is_ints(&column->crowds)) {
        return sl_column_refuse(column, error, "crowds must be a tensor [any] of ints");
    }
    column->request.dtype = SLUICE_F32;
    sluice_status status = sl_column_follow(set, column, false, error);
    column->box_list = set->box_lists++;
    if (status == SLUICE_OK) {
        status = sl_column_bind_lengths(column, set, column->request.padded, error);
    }
    return status == SLUICE_OK ? count_boxes(column, set, error) : status;
}

/* ---- each row ---- */

/* Describes box `which` of the sample, counted from 0; its numbers are in `format`. */
static sluice_status box_fault(const sl_column *column, const sl_box_list *list, uint32_t which,
                               sluice_box_format format, const sl_box_fault *fault,
                               sluice_error *error)
{
    const float *box = list->boxes[which];
    return sl_error_set(error, SLUICE_CORRUPT, "columns",
                        "box %u of \"%s\" %s: it is %g, %g, %g, %g (%s); %s", which,
                        column->field.name, fault->text, (double)box[0], (double)box[1],
                        (double)box[2], (double)box[3], sl_box_format_word(format), fault->advice);
}

/* Reads which boxes are crowds, which are never kept. */
static sluice_status read_crowds(const sl_column *column, sl_row *row, sl_box_list *list,
                                 sluice_error *error)
{
    const int64_t *crowds = NULL;
    sl_scratch *scratch = sl_decoder_scratch(row->decoder);
    const size_t mark = sl_scratch_mark(scratch);
    list->leaves_out = column->crowds.number != SL_FIELD_NONE &&
                       (row->values.of[column->crowds.number].present || !column->request.may_miss);
    if (!list->leaves_out) {
        return SLUICE_OK;
    }
    const sluice_status status =
        sl_row_ints(row, &column->crowds, list->stored, "boxes", &crowds, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < list->count; i++) {
        sl_boxes_leave_out(list, i, crowds[i] != 0);
    }
    sl_scratch_release(scratch, mark);
    return status;
}

sluice_status sl_column_read_boxes(const sl_column *column, sl_row *row, sluice_error *error)
{
    sl_box_list *list = &row->boxes[column->box_list];
    sl_bytes bytes;
    uint64_t count = 0;
    uint32_t which = 0;
    if (row->member == column->member) {
        sl_boxes_begin_row(list);
    }
    sl_boxes_begin_member(list);
    if (!row->values.of[column->field_number].present) {
        return SLUICE_OK;
    }
    sluice_status status = sl_column_tensor_bytes(column, row, &count, &bytes, error);
    count /= 4;
    const uint64_t stored = count;
    if (status == SLUICE_OK) {
        status = sl_column_limit_length(column, &count, error);
    }
    if (status == SLUICE_OK) {
        status = sl_column_cast(column, list->boxes, bytes.data, count * 4, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    sl_boxes_add(list, stored, count);
    const sl_box_rule *rule = &column->request.boxes;
    const sl_box_fault *fault = sl_boxes_take(list, rule, &which);
    sl_watch_boxes(column, list);
    status = fault == NULL ? read_crowds(column, row, list, error)
                           : box_fault(column, list, which, rule->format, fault, error);
    list->count = status == SLUICE_OK ? list->count : 0;
    return status;
}

sluice_status sl_column_scale_boxes(const sl_column *column, sl_row *row, sluice_error *error)
{
    sl_box_list *list = &row->boxes[column->box_list];
    uint32_t which = 0;
    const sl_turn turn = sl_column_turn(column, row);
    const sl_box_fault *fault = column->request.boxes.relative
                                    ? sl_boxes_scale(list, turn.width, turn.height, &which)
                                    : NULL;
    if (fault == NULL) {
        if (!sl_turn_is_none(&turn)) {
            sl_boxes_turn(list, &turn);
        }
        return SLUICE_OK;
    }
    list->count = 0;
    return box_fault(column, list, which, SLUICE_BOX_XYXY, fault, error);
}

static void note_had(const sl_column *column, uint32_t number, sl_part_view parts, uint64_t boxes)
{
    if (column->part_count > SL_BOXES_HAD) {
        *(uint32_t *)sl_column_row(column, parts, SL_BOXES_HAD, number) = (uint32_t)boxes;
    }
}

static sluice_status column_boxes_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                       sluice_error *error)
{
    const sl_box_list *list = &row->boxes[column->box_list];
    const sl_params *params = &row->draws[column->group].params;
    static const char advice[] =
        "give it more " SL_OPTION("length") ", or " SL_OPTION("too_long") " truncate";
    if (list->overflows && !column->request.truncates) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, "columns",
            "more than %u boxes remain from the row's %u samples, the limit of column \"%s\": %s",
            list->most, row->members, column->request.name, advice);
    }
    sl_boxes_write(list, &column->request.boxes, params->width, params->height,
                   sl_column_row(column, parts, 0, row->at.number));
    sl_column_set_length(column, parts, row->at.number, column->request.padded, list->kept_count);
    note_had(column, row->at.number, parts, list->seen);
    return SLUICE_OK;
}

static void column_boxes_blank(const sl_column *column, const sl_row_place *at, sl_part_view parts)
{
    sl_column_blank_lengths(column, at, parts);
    note_had(column, at->number, parts, 0);
}

static void column_boxes_finish(const sl_column *column, uint32_t rows, sl_part_view parts,
                                uint64_t *sizes)
{
    sl_watch_batch(column, rows, parts);
    sl_column_finish_lengths(column, rows, parts, sizes);
}

const sl_column_kind sl_column_boxes = {.name = "boxes",
                                        .takes = SL_TAKES(TENSOR),
                                        .boxes = true,
                                        .places = true,
                                        .by_matrix = true,
                                        .annotated = true,
                                        .bind = column_boxes_bind,
                                        .make = column_boxes_make,
                                        .blank = column_boxes_blank,
                                        .finish = column_boxes_finish};
