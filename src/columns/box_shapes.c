/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the shapes of a sample's objects, from which its boxes are computed: after the image is
 * opened and before its geometry is drawn, in scratch behind the image's. Worker.
 */
#include "column_boxes.h"

#include "error.h"
#include "orientation.h"
#include "segmentation.h"

static sluice_status box_shapes_no_memory(const sl_column *column, sluice_error *error)
{
    return sl_no_memory(error, "columns", "for the shapes of \"%s\"", column->request.name);
}

static sluice_status check_shapes(const sl_column *column, const sl_box_list *list,
                                  const sl_instances *shapes, const sl_turn *turn,
                                  sluice_error *error)
{
    if (shapes->count == list->stored) {
        return sl_instances_check(shapes, turn->width, turn->height, error);
    }
    return sl_error_set(error, SLUICE_CORRUPT, "columns",
                        "\"%s\" has length %u, but there are %llu boxes", column->shapes.field.name,
                        shapes->count, (unsigned long long)list->stored);
}

static sluice_status read_shapes(const sl_column *column, sl_row *row, sl_box_list *list,
                                 sluice_error *error)
{
    const sl_turn turn = sl_column_turn(column, row);
    sl_scratch *scratch = sl_decoder_scratch(row->decoder);
    sl_instances *shapes = sl_scratch_take(scratch, sizeof(*shapes));
    sl_bytes text;
    if (shapes == NULL) {
        return box_shapes_no_memory(column, error);
    }
    sluice_status status = sl_row_bytes(row, column->shapes.number, &text, error);
    if (status == SLUICE_OK) {
        status = sl_segmentation_read(text, scratch, &row->work, shapes, error);
    }
    if (status == SLUICE_OK) {
        status = check_shapes(column, list, shapes, &turn, error);
    }
    if (status == SLUICE_OK) {
        sl_instances_turn(shapes, &turn);
    }
    list->shapes = status == SLUICE_OK ? shapes : NULL;
    list->scratch = scratch;
    list->work = &row->work;
    return status;
}

sluice_status sl_column_read_shapes(const sl_column *column, sl_row *row, sluice_error *error)
{
    sl_box_list *list = &row->boxes[column->box_list];
    list->shapes = NULL;
    if (column->shapes.number == SL_FIELD_NONE || list->count == 0) {
        return SLUICE_OK;
    }
    const sl_value *value = &row->values.of[column->shapes.number];
    if (!value->present) {
        return column->request.may_miss
                   ? SLUICE_OK
                   : sl_error_set(error, SLUICE_CORRUPT, "columns", "the sample has no \"%s\"",
                                  column->shapes.field.name);
    }
    return sl_row_blame(row, column->shapes.number, read_shapes(column, row, list, error));
}
