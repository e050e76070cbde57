/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks and maps: one value or a few for each pixel of an image, by the program drawn for labels
 * (augment/canvas/labels.h). For PNGs, only the needed rows are decoded; tensors are read in place.
 * On the worker that makes the row; memory is its decoder's scratch.
 */
#include "apply.h"
#include "clock.h"
#include "composition.h"
#include "dtype.h"
#include "elements.h"
#include "error.h"
#include "kinds.h"
#include "labels.h"
#include "names.h"
#include "orientation.h"
#include "sizes.h"

#include <math.h>
#include <string.h>

enum { HEIGHT, WIDTH, CHANNELS, DIMS };

/* ---- once ---- */

static sluice_status check_mask_tensor(sl_column *column, sluice_error *error)
{
    const sl_field *field = &column->field;
    const uint32_t channels = column->request.channels;
    const bool flat = field->dims == DIMS - 1 && channels == 1;
    const bool deep =
        field->dims == DIMS && (field->shape[CHANNELS] == channels || field->shape[CHANNELS] == 0);
    if (flat || deep) {
        return sl_column_elements(column, error);
    }
    return sl_error_set(error, SLUICE_INVALID, "columns",
                        "column \"%s\": a mask of %u channel%s needs a tensor height x width%s",
                        column->request.name, channels, channels == 1 ? "" : "s",
                        channels == 1 ? ", or height x width x 1" : " x channels");
}

static sluice_status check_mask(sl_column *column, sluice_error *error)
{
    sl_column_request *request = &column->request;
    request->channels = request->channels == 0 ? 1 : request->channels;
    if (request->is_of_shapes) {
        return sl_column_refuse(column, error,
                                "labels, crowds, background, ignore and overlap need shapes, but "
                                "its field is not a text");
    }
    if (request->dtype == 0 && sl_type_is_media(column->field.type)) {
        request->dtype = SLUICE_U8;
    }
    const sluice_status status =
        sl_type_is_media(column->field.type) ? SLUICE_OK : check_mask_tensor(column, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (request->interpolation == SLUICE_COLUMN_BILINEAR && request->dtype != SLUICE_F32) {
        return sl_column_refuse(column, error, "bilinear interpolation needs dtype f32");
    }
    if (request->interpolation == SLUICE_COLUMN_BILINEAR && column->members > 1) {
        return sl_column_refuse(
            column, error,
            "with a recipe that combines several images, its interpolation must be nearest");
    }
    if (!isfinite(request->fill) ||
        !sl_column_element((sluice_dtype)request->dtype, request->fill, column->fill)) {
        return sl_error_set(error, SLUICE_INVALID, "columns",
                            "column \"%s\": fill %g does not fit %s", request->name, request->fill,
                            sl_dtype_name((sluice_dtype)request->dtype));
    }
    return SLUICE_OK;
}

static sluice_status column_mask_bind(sl_column *column, sl_column_set *set, sluice_error *error)
{
    sl_column_request *request = &column->request;
    sluice_status status = sl_column_follow(set, column, false, error);
    if (status == SLUICE_OK) {
        status = check_mask(column, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (request->interpolation == SLUICE_COLUMN_NEAREST) {
        set->columns[column->lead].labelled = true;
    }
    status = sl_column_bind_pixels(column, set, request->channels, error);
    column->canvas_passes = sl_labels_passes(column->pixel_bytes);
    return status;
}

/* ---- each row ---- */

/* The sample's stored mask. */
typedef struct stored_mask {
    uint64_t height, width, channels;
    sluice_dtype dtype;
    const uint8_t *bytes; /* of a tensor */
    sl_turn turn;         /* to the image as it is decoded */
} stored_mask;

static sluice_status open_mask(const sl_column *column, sl_row *row, stored_mask *stored,
                               sluice_error *error)
{
    const sl_value *value = &row->values.of[column->field_number];
    const uint64_t *shape = value->shape;
    sl_decoded_form form;
    sl_bytes bytes;
    uint64_t elements = 0;
    sluice_status status = SLUICE_OK;
    if (sl_type_is_media(column->field.type)) {
        status = sl_decoder_open_values(row->decoder, value, &form, error);
        shape = form.shape;
        stored->dtype = form.dtype;
        stored->bytes = NULL;
    } else {
        status = sl_column_tensor_bytes(column, row, &elements, &bytes, error);
        stored->dtype = column->field.dtype;
        stored->bytes = bytes.data;
    }
    if (status != SLUICE_OK) {
        return status;
    }
    const bool deep = sl_type_is_media(column->field.type) || column->field.dims == DIMS;
    stored->height = shape[HEIGHT];
    stored->width = shape[WIDTH];
    stored->channels = deep ? shape[CHANNELS] : 1;
    return SLUICE_OK;
}

static sluice_status check_stored(const sl_column *column, const sl_row *row, stored_mask *stored,
                                  sluice_error *error)
{
    const sl_trail *trail = &row->draws[column->group].params.trail;
    const sl_column *lead = &column->set->columns[column->lead];
    if (!sl_column_turn_mask(column, row, stored->width, stored->height, &stored->turn)) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, "columns",
            "\"%s\" is %llu x %llu (height x width), but its image \"%s\" is %u x %u",
            column->field.name, (unsigned long long)stored->height,
            (unsigned long long)stored->width, lead->field.name, trail->picture_height,
            trail->picture_width);
    }
    if (stored->channels != column->request.channels) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                            "\"%s\" has %llu values per pixel, the column wants %u",
                            column->field.name, (unsigned long long)stored->channels,
                            column->request.channels);
    }
    if (sl_cast_find(stored->dtype, (sluice_dtype)column->request.dtype) == NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                            "\"%s\" is %s, which cannot be converted to %s", column->field.name,
                            sl_dtype_name(stored->dtype),
                            sl_dtype_name((sluice_dtype)column->request.dtype));
    }
    return SLUICE_OK;
}

static sluice_status mask_no_memory(const sl_column *column, sluice_error *error)
{
    return sl_error_set(error, SLUICE_NOMEM, "columns", "no scratch memory for \"%s\"",
                        column->field.name);
}

/* Turns all rows, which have been read, with the image. */
static sluice_status turn_rows(const sl_column *column, sl_row *row, const stored_mask *stored,
                               sl_labels *labels, sluice_error *error)
{
    const size_t pixel = stored->channels * column->made_bytes;
    uint8_t *turned = sl_scratch_take(sl_decoder_scratch(row->decoder),
                                      (size_t)stored->width * stored->height * pixel);
    if (turned == NULL) {
        return mask_no_memory(column, error);
    }
    sl_turn_pixels(&stored->turn, labels->rows, turned, pixel);
    labels->rows = turned;
    return SLUICE_OK;
}

/* Reads rows [first, first + count), in the column's dtype. */
static sluice_status read_stored_rows(const sl_column *column, sl_row *row,
                                      const stored_mask *stored, sl_labels *labels, uint32_t count,
                                      sluice_error *error)
{
    sl_scratch *scratch = sl_decoder_scratch(row->decoder);
    const uint64_t row_elements = stored->width * stored->channels;
    const size_t stored_bytes = sl_dtype_bytes(stored->dtype);
    const uint8_t *from = NULL;
    if (stored->bytes != NULL) {
        from = stored->bytes + labels->first_row * row_elements * stored_bytes;
    } else {
        const sluice_status status =
            sl_decoder_values(row->decoder, labels->first_row, count, &from, error);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    labels->rows = from;
    if ((int32_t)stored->dtype == column->request.dtype &&
        column->request.interpolation == SLUICE_COLUMN_NEAREST) {
        return SLUICE_OK;
    }
    uint8_t *cast = sl_scratch_take(scratch, count * row_elements * column->made_bytes);
    if (cast == NULL) {
        return mask_no_memory(column, error);
    }
    labels->rows = cast;
    const sl_cast function = sl_cast_find(stored->dtype, (sluice_dtype)column->request.dtype);
    return function(cast, from, count * row_elements)
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                              "\"%s\" contains a number that %s cannot represent",
                              column->field.name,
                              sl_dtype_name((sluice_dtype)column->request.dtype));
}

/* Does the same; reads all of them if the mask must be turned. */
static sluice_status read_rows(const sl_column *column, sl_row *row, const stored_mask *stored,
                               sl_labels *labels, uint32_t count, sluice_error *error)
{
    if (sl_turn_is_none(&stored->turn)) {
        return read_stored_rows(column, row, stored, labels, count, error);
    }
    labels->first_row = 0;
    const sluice_status status =
        read_stored_rows(column, row, stored, labels, (uint32_t)stored->height, error);
    return status == SLUICE_OK ? turn_rows(column, row, stored, labels, error) : status;
}

/* A member being made. */
typedef struct mask_member {
    const sl_column *column;
    sl_row *row;
    sl_params *params; /* the program for labels; NULL: it is bilinear */
    sl_scratch *scratch;
    sl_labels labels;
    uint8_t *to;   /* the row */
    uint8_t *made; /* the member's layer: the row, or the layer put over it; NULL: not taken yet */
    uint8_t fill[SL_CHANNELS_MAX * 8];
} mask_member;

/* Takes memory for the layer put over the row, behind the rows read. */
static sluice_status take_made(mask_member *m, sluice_error *error)
{
    const size_t pixels = (size_t)m->params->width * m->params->height;
    if (m->made == NULL) {
        m->made = sl_scratch_take(m->scratch, pixels * m->labels.pixel_bytes);
    }
    return m->made != NULL ? SLUICE_OK : mask_no_memory(m->column, error);
}

static size_t mask_canvas_bytes(const void *ctx)
{
    const mask_member *m = ctx;
    return m->column->canvas_passes * sl_canvas_bytes(m->params);
}

static void begin_mask_canvas(void *ctx, uint8_t *canvas)
{
    const mask_member *m = ctx;
    sl_labels_canvas_begin(&m->labels, m->params, canvas);
}

static sluice_status draw_nearest(mask_member *m, const stored_mask *stored, uint8_t *canvas,
                                  sluice_error *error)
{
    m->labels.first_row = m->params->need.y;
    sluice_status status =
        read_rows(m->column, m->row, stored, &m->labels, m->params->need.height, error);
    if (status == SLUICE_OK && canvas != NULL) {
        return sl_labels_canvas_tile(&m->labels, m->params, canvas, m->scratch, error);
    }
    if (status == SLUICE_OK) {
        status = take_made(m, error);
    }
    return status == SLUICE_OK
               ? sl_labels_nearest(&m->labels, m->params, m->fill, m->made, m->scratch, error)
               : status;
}

static sluice_status draw_bilinear(const sl_column *column, sl_row *row, const stored_mask *stored,
                                   uint8_t *to, sluice_error *error)
{
    const sl_params *params = &row->draws[column->group].params;
    sl_labels labels = {.first_row = 0};
    float fill;
    memcpy(&fill, column->fill, sizeof(fill));
    const sluice_status status =
        read_rows(column, row, stored, &labels, (uint32_t)stored->height, error);
    if (status == SLUICE_OK) {
        sl_labels_bilinear(&labels, params, column->request.channels, fill, (float *)(void *)to);
    }
    return status;
}

static sluice_status draw_mask(void *ctx, uint8_t *canvas, sluice_error *error)
{
    mask_member *m = ctx;
    stored_mask stored;
    sluice_status status = open_mask(m->column, m->row, &stored, error);
    if (status == SLUICE_OK) {
        status = check_stored(m->column, m->row, &stored, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    return m->column->request.interpolation == SLUICE_COLUMN_BILINEAR
               ? draw_bilinear(m->column, m->row, &stored, m->to, error)
               : draw_nearest(m, &stored, canvas, error);
}

static sluice_status join_mask(void *ctx, const sl_layer_join *joint, sluice_error *error)
{
    mask_member *m = ctx;
    if (joint->tiles == NULL && joint->over == NULL) {
        return SLUICE_OK; /* it was drawn to the row */
    }
    const size_t pixels = (size_t)m->params->width * m->params->height;
    sluice_status status = take_made(m, error);
    if (status == SLUICE_OK && joint->tiles != NULL) {
        status =
            sl_labels_canvas_end(&m->labels, m->params, joint->tiles, m->made, m->scratch, error);
    }
    if (status == SLUICE_OK && joint->over != NULL) {
        sl_put_over(joint->over, pixels, m->labels.pixel_bytes, m->made, m->to);
    }
    return status;
}

static const sl_composer mask_composer = {.canvas_bytes = mask_canvas_bytes,
                                          .begin = begin_mask_canvas,
                                          .draw = draw_mask,
                                          .join = join_mask};

static sluice_status make_mask_member(const sl_column *column, sl_row *row, sl_part_view parts,
                                      sluice_error *error)
{
    sl_scratch *scratch = sl_decoder_scratch(row->decoder);
    uint8_t *to = sl_column_picture_row(column, parts, &row->at);
    mask_member m = {.column = column,
                     .row = row,
                     .params = row->draws[column->group].labels,
                     .scratch = scratch,
                     .to = to,
                     .made = sl_composition_objects(column, row) == NULL ? to : NULL};
    m.labels = (sl_labels){.fill = m.fill, .pixel_bytes = column->pixel_bytes};
    for (uint32_t i = 0; i < column->request.channels; i++) {
        memcpy(m.fill + (size_t)i * column->made_bytes, column->fill, column->made_bytes);
    }
    sl_scratch_reset(scratch); /* no image needs it any more */
    return sl_composition_make(column, row, &mask_composer, &m, error);
}

static sluice_status column_mask_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                      sluice_error *error)
{
    const uint64_t start = row->timed ? sl_now_ns() : 0;
    const sl_params *params = &row->draws[column->group].params;
    sluice_status status = sl_column_varies(column)
                               ? sl_column_note_size(column, parts, row->at.number, params, error)
                               : SLUICE_OK;
    if (status == SLUICE_OK) {
        status = make_mask_member(column, row, parts, error);
    }
    row->decode_ns += row->timed ? sl_now_ns() - start : 0;
    return status;
}

const sl_column_kind sl_column_mask = {.name = "mask",
                                       .takes = SL_TAKES(IMAGE) | SL_TAKES(TENSOR),
                                       .composes = true,
                                       .own_size = true,
                                       .otherwise = &sl_column_class_map,
                                       .bind = column_mask_bind,
                                       .make = column_mask_make,
                                       .blank = sl_column_blank_pixels,
                                       .finish = sl_column_finish_sizes};
