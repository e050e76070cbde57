/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of media: the stored values of a file, before they are prepared for augmentation
 * (sl_codec.values), whole or the part that a tensor of that shape would have. At present: PNGs'
 * samples (label masks, depth). A file whose codec gives no values is a bad sample. Dimensions are
 * named as for images, the only media here; rows are the codec's steps.
 */
#include "clock.h"
#include "column_tensor.h"
#include "dtype.h"
#include "elements.h"
#include "error.h"
#include "kinds.h"
#include "names.h"

#include <assert.h>

enum { HEIGHT, WIDTH, CHANNELS, DIMS };
enum { CHANNELS_MAX = 4 };

/* ---- once ---- */

/* Checks the dtype: a value's dtype is known once its header was read, and is one of two. */
static sluice_status check_dtype(const sl_column *column, sluice_error *error)
{
    const sluice_dtype to = (sluice_dtype)column->request.dtype;
    if (sl_cast_find(SLUICE_U8, to) != NULL || sl_cast_find(SLUICE_U16, to) != NULL) {
        return SLUICE_OK;
    }
    return sl_error_set(error, SLUICE_INVALID, "columns",
                        "column \"%s\": an image's samples are u8 or u16, which cannot be "
                        "converted to %s: choose u8, u16, i32, i64 or a floating dtype",
                        column->request.name, sl_dtype_name(to));
}

static sluice_status column_samples_bind(sl_column *column, sl_column_set *set, sluice_error *error)
{
    const sl_column_request *request = &column->request;
    if (request->dims != WIDTH + 1 && request->dims != DIMS) {
        return sl_column_refuse(
            column, error,
            "an image as a tensor needs a shape: height x width, or height x width x channels");
    }
    if (request->dims == DIMS && request->shape[CHANNELS] > CHANNELS_MAX) {
        return sl_column_refuse(column, error, "an image has 1 to 4 channels");
    }
    sluice_status status = check_dtype(column, error);
    if (status == SLUICE_OK) {
        column->made_bytes = (uint32_t)sl_dtype_bytes((sluice_dtype)request->dtype);
        status =
            sl_column_capacity(column, request->shape, request->dims, &column->elements, error);
    }
    return status == SLUICE_OK ? sl_column_add_asked(set, column, error) : status;
}

/* ---- each row ---- */

/* Checks by the header, before decoding, that the values have the column's form. */
static sluice_status check_form(const sl_column *column, const sl_decoded_form *form,
                                sluice_error *error)
{
    const sl_column_request *request = &column->request;
    const uint64_t *whole = form->shape;
    const uint64_t height = (uint64_t)request->shape[HEIGHT];
    const uint64_t width = (uint64_t)request->shape[WIDTH];
    const uint64_t channels = request->dims == DIMS ? (uint64_t)request->shape[CHANNELS] : 1;
    const bool is_whole = height == whole[HEIGHT] && width == whole[WIDTH];
    const bool fits = height <= whole[HEIGHT] && width <= whole[WIDTH];
    assert(form->dims == DIMS);
    if (request->part == SLUICE_PART_WHOLE ? !is_whole : !fits) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                            "\"%s\" is %llu x %llu (height x width), the column wants %llu x %llu",
                            column->field.name, (unsigned long long)whole[HEIGHT],
                            (unsigned long long)whole[WIDTH], (unsigned long long)height,
                            (unsigned long long)width);
    }
    if (channels != whole[CHANNELS]) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                            "\"%s\" has %llu samples per pixel, the column wants %llu%s",
                            column->field.name, (unsigned long long)whole[CHANNELS],
                            (unsigned long long)channels,
                            request->dims == DIMS ? "" : " (its shape has no channels)");
    }
    if (sl_cast_find(form->dtype, (sluice_dtype)request->dtype) == NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                            "\"%s\" has samples of %s bits, but the column is %s: choose %s for "
                            "these; i32, i64 and floating dtypes take both",
                            column->field.name, form->dtype == SLUICE_U8 ? "1 to 8" : "16",
                            sl_dtype_name((sluice_dtype)request->dtype),
                            sl_dtype_name(form->dtype));
    }
    return SLUICE_OK;
}

/* Casts the part's columns of those rows. */
static void copy_rows(const sl_column *column, const sl_decoded_form *form, uint64_t begin,
                      const uint8_t *from, uint8_t *to)
{
    const sl_cast cast = sl_cast_find(form->dtype, (sluice_dtype)column->request.dtype);
    const uint64_t rows = (uint64_t)column->request.shape[HEIGHT];
    const uint64_t count = (uint64_t)column->request.shape[WIDTH] * form->shape[CHANNELS];
    const uint64_t row_bytes = sl_decoded_step_bytes(form);
    from += begin * (row_bytes / form->shape[WIDTH]);
    for (uint64_t y = 0; y < rows; y++) {
        /* always fits: unsigned, of 16 bits at most, into what holds all of those */
        (void)cast(to + y * count * column->made_bytes, from + y * row_bytes, count);
    }
}

static sluice_status column_samples_decode(const sl_column *column, sl_row *row, void *to,
                                           sluice_error *error)
{
    const sl_subvolume taken = sl_column_subvolume(column);
    sl_decoded_form form;
    uint64_t begin[SLUICE_TENSOR_DIMS_MAX];
    const uint8_t *rows = NULL;
    sluice_status status =
        sl_decoder_open_values(row->decoder, &row->values.of[column->field_number], &form, error);
    if (status == SLUICE_OK) {
        status = check_form(column, &form, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    sl_subvolume_begin(
        &taken, form.shape,
        &(sl_subvolume_key){row->seed, row->epoch, (uint64_t)row->at.index + row->repetition},
        begin);
    status = sl_decoder_values(row->decoder, begin[HEIGHT], taken.shape[HEIGHT], &rows, error);
    if (status == SLUICE_OK) {
        copy_rows(column, &form, begin[WIDTH], rows, to);
    }
    return status;
}

static sluice_status column_samples_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                         sluice_error *error)
{
    const uint64_t start = row->timed ? sl_now_ns() : 0;
    const sluice_status status =
        column_samples_decode(column, row, sl_column_row(column, parts, 0, row->at.number), error);
    row->decode_ns += row->timed ? sl_now_ns() - start : 0;
    return status;
}

const sl_column_kind sl_column_samples = {.name = "tensor",
                                          .takes = SL_TAKES(IMAGE),
                                          .bind = column_samples_bind,
                                          .make = column_samples_make};
