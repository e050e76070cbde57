/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks of instances: for each annotated shape of an image (shapes/segmentation.h) a mask of the
 * output's size, drawn after the shape was moved, ragged or padded along the instances. On the
 * worker that makes the row; memory is its decoder's scratch, which no image needs any more.
 */
#include "error.h"
#include "kinds.h"
#include "lengths.h"
#include "orientation.h"
#include "paste.h"
#include "segmentation.h"

#include <string.h>

/* Parts of masks of several sizes, after the values and their offsets. */
enum { SHAPES = 2, SHAPE_VALUES = 3 };

typedef struct instances_state {
    uint64_t most; /* masks of a row if they have sizes of their own; else 0 */
} instances_state;

static uint64_t most_of(const sl_column *column)
{
    const instances_state *state = column->state;
    return state->most;
}

/* ---- once ---- */

/* Binds rows whose masks have sizes of their own: pixels, back to back, and the shape of a row's
 * masks: their number, height and width. */
static sluice_status bind_flat(sl_column *column, sl_column_set *set, sluice_error *error)
{
    const sl_column *largest = &set->columns[column->lead];
    instances_state *state = column->state;
    const uint64_t pixels = (uint64_t)largest->width * largest->height;
    state->most = column->request.length;
    if (column->request.padded) {
        return sl_column_refuse(column, error,
                                "its images have several sizes, so its masks must be ragged");
    }
    if (__builtin_mul_overflow(state->most, pixels, &column->request.length)) {
        return sl_column_refuse(column, error, "a row has more than 2^40 elements");
    }
    const sluice_status status = sl_column_bind_lengths(column, set, false, error);
    sl_part *shapes =
        status == SLUICE_OK ? sl_column_add_part(set, column, ".shapes", error) : NULL;
    if (shapes == NULL) {
        return SLUICE_INVALID;
    }
    shapes->dtype = SLUICE_I32;
    shapes->dims = 1;
    shapes->shape[0] = SHAPE_VALUES;
    shapes->row_bytes = SHAPE_VALUES * sizeof(int32_t);
    return SLUICE_OK;
}

static sluice_status column_instances_bind(sl_column *column, sl_column_set *set,
                                           sluice_error *error)
{
    if (column->request.dtype != SLUICE_U8) {
        return sl_column_refuse(column, error, "the dtype of instance masks must be u8");
    }
    const sluice_status status = sl_column_follow(set, column, true, error);
    if (status != SLUICE_OK) {
        return status;
    }
    column->field.type = SLUICE_FIELD_TENSOR;
    column->field.dtype = SLUICE_U8;
    column->field.dims = 1;
    column->field.shape[0] = 0;
    if (set->columns[column->lead].sized || sl_column_varies(&set->columns[column->lead])) {
        return bind_flat(column, set, error);
    }
    /* a row is a number of masks */
    const sluice_augment *recipe = &set->columns[column->lead].request.recipe;
    column->field.dims = 3;
    column->field.shape[1] = recipe->height;
    column->field.shape[2] = recipe->width;
    return sl_column_bind_lengths(column, set, column->request.padded, error);
}

/* ---- each row ---- */

/* Keeps parts cut off that steps cut off, even if later steps made the output larger. */
static void cut_off(const sl_trail *trail, const sl_mask *mask)
{
    for (uint32_t y = 0; y < mask->height; y++) {
        uint8_t *row = mask->pixels + y * mask->stride_bytes;
        uint32_t from;
        uint32_t to;
        sl_trail_row(trail, y + 0.5, mask->width, &from, &to);
        memset(row, 0, from);
        memset(row + to, 0, mask->width - to);
    }
}

static sluice_status draw_instances(const sl_column *column, sl_row *row,
                                    const sl_instances *instances, uint64_t most, uint8_t *to,
                                    sluice_error *error)
{
    const sl_params *params = &row->draws[column->group].params;
    const sl_box_list *list = column->owner != SL_COLUMN_NONE ? sl_column_owner(column, row) : NULL;
    const size_t bytes = (size_t)params->width * params->height;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < instances->count && most > 0 && status == SLUICE_OK; i++) {
        if (list != NULL && (i >= list->count || list->kept[i] == 0)) {
            continue;
        }
        const sl_mask mask = {.pixels = to,
                              .stride_bytes = params->width,
                              .width = params->width,
                              .height = params->height,
                              .value = 1,
                              .work = &row->work};
        memset(to, 0, bytes);
        row->work.left += bytes; /* as many as fit */
        status = sl_work_take(&row->work, 0, error);
        if (!params->trail.folded && status == SLUICE_OK) {
            status = sl_instances_rasterise(instances, i, params->trail.matrix, &mask,
                                            sl_decoder_scratch(row->decoder), error);
            cut_off(&params->trail, &mask);
        }
        to += bytes;
        most--;
    }
    return status;
}

static void note_shape(const sl_column *column, sl_part_view parts, uint32_t number, uint64_t count,
                       const sl_params *params)
{
    int32_t *shape = sl_column_row(column, parts, SHAPES, number);
    shape[0] = (int32_t)count;
    shape[1] = params != NULL ? (int32_t)params->height : 0;
    shape[2] = params != NULL ? (int32_t)params->width : 0;
}

/* Makes a row of its own size, for which the image has space. */
static sluice_status make_flat(const sl_column *column, sl_row *row, const sl_instances *instances,
                               sl_part_view parts, sluice_error *error)
{
    const sl_params *params = &row->draws[column->group].params;
    const uint32_t number = row->at.number;
    uint64_t count = instances->count;
    sluice_status status = SLUICE_OK;
    if (column->owner != SL_COLUMN_NONE) {
        const sl_box_list *list = sl_column_owner(column, row);
        status = sl_column_check_owned(column, list, count, error);
        count = list->kept_count;
    }
    if (status == SLUICE_OK && count > most_of(column) && !column->request.truncates) {
        status = sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                              "\"%s\" is too long: length %llu, the column holds at most %llu",
                              column->field.name, (unsigned long long)count,
                              (unsigned long long)most_of(column));
    }
    count = count < most_of(column) ? count : most_of(column);
    if (status == SLUICE_OK) {
        status = draw_instances(column, row, instances, count,
                                sl_column_row(column, parts, 0, number), error);
    }
    if (status == SLUICE_OK) {
        note_shape(column, parts, number, count, params);
        sl_column_set_length(column, parts, number, false, count * params->width * params->height);
    }
    return status;
}

static void column_instances_blank(const sl_column *column, const sl_row_place *at,
                                   sl_part_view parts)
{
    const uint32_t number = at->number;
    const sl_column *lead = &column->set->columns[column->lead];
    sl_column_blank_lengths(column, at, parts);
    if (most_of(column) > 0) {
        note_shape(column, parts, number, 0, NULL);
    }
    if (most_of(column) > 0 && sl_column_varies(lead)) { /* its image may be missing */
        memcpy((int32_t *)sl_column_row(column, parts, SHAPES, number) + 1,
               sl_column_row(lead, parts, lead->sizes_part, number), 2 * sizeof(int32_t));
    }
}

static sluice_status column_instances_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                           sluice_error *error)
{
    sl_scratch *scratch = sl_decoder_scratch(row->decoder);
    const sl_turn turn = sl_column_turn(column, row);
    sl_instances instances;
    sl_bytes text;
    sl_scratch_reset(scratch);
    sluice_status status = sl_column_bytes(column, row, &text, error);
    if (status == SLUICE_OK) {
        status = sl_segmentation_read(text, scratch, &row->work, &instances, error);
    }
    if (status == SLUICE_OK) {
        status = sl_instances_check(&instances, turn.width, turn.height, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    sl_instances_turn(&instances, &turn);
    if (most_of(column) > 0) {
        return make_flat(column, row, &instances, parts, error);
    }
    const uint64_t given = sl_column_given(column, row, parts);
    const uint64_t each = column->elements * column->made_bytes;
    uint64_t length = given + instances.count;
    if (column->owner != SL_COLUMN_NONE) {
        const sl_box_list *list = sl_column_owner(column, row);
        status = sl_column_check_owned(column, list, instances.count, error);
        length = given + (list->kept_count - list->before);
    }
    if (status == SLUICE_OK) {
        status = sl_column_limit_length(column, &length, error);
    }
    if (status == SLUICE_OK) {
        uint8_t *to = sl_column_row(column, parts, 0, row->at.number);
        status = draw_instances(column, row, &instances, length - given, to + given * each, error);
    }
    if (status == SLUICE_OK) {
        sl_column_set_length(column, parts, row->at.number, column->request.padded, length);
    }
    return status;
}

/* Removes covered pixels from their masks. */
static void column_instances_cover(const sl_column *column, const sl_row *row, sl_part_view parts,
                                   const sl_paste *paste)
{
    const sl_params *params = &row->draws[column->group].params;
    const size_t pixels = (size_t)params->width * params->height;
    const uint64_t length = sl_column_length(column, parts, row->at.number);
    uint8_t *mask = sl_column_row(column, parts, 0, row->at.number);
    for (uint64_t i = 0; i < length && i < paste->shapes.shape_count; i++, mask += pixels) {
        for (size_t k = 0; paste->fates[i] == SL_OBJECT_CUT && k < pixels; k++) {
            mask[k] = paste->over[k] != 0 ? 0 : mask[k];
        }
    }
}

const sl_column_kind sl_column_instances = {.name = "instances",
                                            .state_bytes = sizeof(instances_state),
                                            .takes = SL_TAKES(TEXT),
                                            .per_box = true,
                                            .objects = true,
                                            .by_matrix = true,
                                            .annotated = true,
                                            .bind = column_instances_bind,
                                            .make = column_instances_make,
                                            .cover = column_instances_cover,
                                            .blank = column_instances_blank,
                                            .finish = sl_column_finish_lengths};
