/* SPDX-License-Identifier: Apache-2.0 */
/* packed_media: bound on the opener's thread, made on the worker that makes the row. */
#include "packed_media.h"

#include "dtype.h"
#include "elements.h"
#include "error.h"
#include "lengths.h"
#include "packed_value.h"

#include <inttypes.h>

enum { MEDIA, OFFSETS, LENGTHS }; /* after sl_packed_media.part */

/* ---- once ---- */

static sluice_status check_media_field(const sl_column *column, sluice_error *error)
{
    const sl_field *field = &column->media.field;
    if (field->type != SLUICE_FIELD_TENSOR || field->dims == 0) {
        return sl_error_set(error, SLUICE_INVALID, "columns",
                            "column \"%s\": " SL_OPTION(
                                "media") " \"%s\" must be a tensor with at least one dimension",
                            column->request.name, field->name);
    }
    if (column->media.number == column->field_number) {
        return sl_column_refuse(column, error,
                                SL_OPTION("media") " must be another field than the tokens");
    }
    for (uint32_t i = 1; i < field->dims; i++) {
        if (field->shape[i] == 0) {
            return sl_error_set(error, SLUICE_INVALID, "columns",
                                "column \"%s\": only the first dimension of " SL_OPTION(
                                    "media") " \"%s\" may vary between samples",
                                column->request.name, field->name);
        }
    }
    return SLUICE_OK;
}

static sluice_status check_media_with_others(const sl_column *column, sluice_error *error)
{
    const sl_column_request *request = &column->request;
    if (request->cut != SLUICE_CUT_NONE) {
        return sl_column_refuse(column, error,
                                SL_OPTION("media") " goes with " SL_OPTION(
                                    "cut") " none only, "
                                           "since media cannot be cut with their document");
    }
    if (request->rule.fim_rate > 0 && request->per_token == 0) {
        return sl_column_refuse(
            column, error,
            SL_OPTION("fim_rate") " would move placeholders away from their "
                                  "media: with " SL_OPTION("media") " it needs " SL_OPTION(
                                      "per_token") ", and tokens without "
                                                   "placeholders");
    }
    return SLUICE_OK;
}

static sluice_status check_without_media(const sl_column *column, sluice_error *error)
{
    const sl_column_request *request = &column->request;
    return request->per_token == 0 && request->media_length == 0
               ? SLUICE_OK
               : sl_column_refuse(
                     column, error,
                     SL_OPTION("per_token") " and " SL_OPTION("media_length") " need " SL_OPTION(
                         "media") ", the field that they are about");
}

/* Finds the bytes and elements of a row. */
static sluice_status find_media_space(sl_column *column, sl_packed_media *media,
                                      sluice_error *error)
{
    const sl_field *field = &column->media.field;
    const sl_column_request *request = &column->request;
    const uint64_t per_token = request->per_token > 0 ? request->per_token : 1;
    int64_t patch[SLUICE_TENSOR_DIMS_MAX] = {0};
    uint64_t elements = 0;
    for (uint32_t i = 1; i < field->dims; i++) {
        patch[i - 1] = (int64_t)field->shape[i];
    }
    const sluice_status status =
        sl_column_capacity(column, patch, field->dims - 1, &media->elements, error);
    if (status != SLUICE_OK) {
        return status;
    }
    media->most = request->media_length > 0 ? request->media_length : request->length * per_token;
    if (media->most > INT32_MAX ||
        __builtin_mul_overflow(media->most, media->elements, &elements) ||
        elements > SL_ROW_ELEMENTS_MAX) {
        return sl_column_refuse(column, error,
                                SL_OPTION("media_length") " must be at most 2147483647, and a row "
                                                          "of media 2^40 elements");
    }
    return SLUICE_OK;
}

static sluice_status add_media_parts(sl_column *column, sl_column_set *set, sl_packed_media *media,
                                     sluice_error *error)
{
    const sl_field *field = &column->media.field;
    const uint32_t most = column->request.max_documents;
    media->part = column->part_count;
    sl_part *values = sl_column_add_part(set, column, ".media", error);
    sl_part *offsets =
        values != NULL ? sl_column_add_part(set, column, ".media_offsets", error) : NULL;
    sl_part *lengths =
        offsets != NULL ? sl_column_add_part(set, column, ".media_lengths", error) : NULL;
    if (lengths == NULL) {
        return SLUICE_INVALID;
    }
    values->dtype = field->dtype;
    values->dims = field->dims - 1;
    for (uint32_t i = 1; i < field->dims; i++) {
        values->shape[i - 1] = (int64_t)field->shape[i];
    }
    values->element_bytes = media->elements * media->stored_bytes;
    values->row_bytes = media->most * values->element_bytes;
    lengths->dtype = SLUICE_I32;
    lengths->dims = 1;
    lengths->shape[0] = most;
    lengths->row_bytes = most * sizeof(int32_t);
    return sl_column_join_parts(column, set, values, offsets, error);
}

sluice_status sl_packed_media_bind(sl_column *column, sl_column_set *set, sl_packed_media *media,
                                   sluice_error *error)
{
    media->asked = column->media.number != SL_FIELD_NONE;
    if (!media->asked) {
        return check_without_media(column, error);
    }
    const sluice_dtype dtype = column->media.field.dtype;
    sluice_status status = check_media_field(column, error);
    if (status == SLUICE_OK) {
        status = check_media_with_others(column, error);
    }
    if (status == SLUICE_OK) {
        media->stored_bytes = (uint32_t)sl_dtype_bytes(dtype);
        media->copy = sl_cast_find(dtype, dtype);
        status = find_media_space(column, media, error);
    }
    return status == SLUICE_OK ? add_media_parts(column, set, media, error) : status;
}

/* ---- each row ---- */

static int64_t *row_length(const sl_column *column, const sl_packed_media *media,
                           sl_part_view parts, uint32_t row)
{
    return sl_column_row(column, parts, media->part + OFFSETS, (uint64_t)row + 1);
}

static int32_t *document_lengths(const sl_column *column, const sl_packed_media *media,
                                 sl_part_view parts, uint32_t row)
{
    return sl_column_row(column, parts, media->part + LENGTHS, row);
}

/* Finds the bytes of the member's patches, and their number. */
static sluice_status media_bytes(const sl_column *column, const sl_packed_media *media, sl_row *row,
                                 sl_bytes *bytes, uint64_t *patches, sluice_error *error)
{
    const sl_field *field = &column->media.field;
    const sl_value *value = &row->values.of[column->media.number];
    uint64_t size = 0;
    bool fits = true;
    for (uint32_t i = 1; i < field->dims; i++) {
        fits = fits && value->shape[i] == field->shape[i];
    }
    if (!fits) {
        return sl_error_set(error, SLUICE_CORRUPT, "columns",
                            "the shape of \"%s\" does not match its field", field->name);
    }
    if (sl_is_packed(value)) { /* the tokens, which may be in scratch, are already in their row */
        sl_scratch_reset(sl_decoder_scratch(row->decoder));
    }
    const sluice_status status = sl_row_bytes(row, column->media.number, bytes, error);
    if (status != SLUICE_OK) {
        return status;
    }
    *patches = value->shape[0];
    if (__builtin_mul_overflow(*patches, media->elements * media->stored_bytes, &size) ||
        size != bytes->size) {
        return sl_error_set(error, SLUICE_CORRUPT, "columns",
                            "\"%s\" has %zu bytes, which does not match its shape", field->name,
                            bytes->size);
    }
    return SLUICE_OK;
}

static sluice_status refuse_more_media(const sl_column *column, const sl_packed_media *media,
                                       uint64_t patches, uint64_t before, sluice_error *error)
{
    return sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                        "the row has no space for %" PRIu64 " of \"%s\" after the %" PRIu64
                        " of its earlier documents: it holds %" PRIu64
                        ": give " SL_OPTION("media_length") " more",
                        patches, column->media.field.name, before, media->most);
}

static sluice_status add_media(const sl_column *column, const sl_packed_media *media, sl_row *row,
                               sl_part_view parts, uint64_t *patches, sluice_error *error)
{
    int64_t *length = row_length(column, media, parts, row->at.number);
    const uint64_t before = (uint64_t)*length;
    sl_bytes bytes = {NULL, 0};
    const sluice_status status = media_bytes(column, media, row, &bytes, patches, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (*patches > media->most - before) {
        return refuse_more_media(column, media, *patches, before, error);
    }
    uint8_t *to = sl_column_row(column, parts, media->part + MEDIA, row->at.number);
    to += before * media->elements * media->stored_bytes;
    if (*patches > 0 && !media->copy(to, bytes.data, *patches * media->elements)) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "columns",
                            "\"%s\" contains a number that does not fit its dtype",
                            column->media.field.name);
    }
    *length = (int64_t)(before + *patches);
    return SLUICE_OK;
}

sluice_status sl_packed_media_make(const sl_column *column, const sl_packed_media *media,
                                   sl_row *row, sl_part_view parts, sluice_error *error)
{
    const uint32_t number = row->at.number;
    uint64_t patches = 0;
    sluice_status status = SLUICE_OK;
    if (row->member == 0) {
        *row_length(column, media, parts, number) = 0;
    }
    if (row->values.of[column->media.number].present) {
        status = add_media(column, media, row, parts, &patches, error);
    }
    document_lengths(column, media, parts, number)[row->member] = (int32_t)patches;
    return sl_row_blame(row, column->media.number, status);
}

void sl_packed_media_end(const sl_column *column, const sl_packed_media *media, uint32_t row,
                         uint32_t members, sl_part_view parts)
{
    int32_t *lengths = document_lengths(column, media, parts, row);
    for (uint32_t i = members; i < column->request.max_documents; i++) {
        lengths[i] = 0;
    }
    if (members == 0) {
        *row_length(column, media, parts, row) = 0;
    }
}

void sl_packed_media_finish(const sl_column *column, const sl_packed_media *media, uint32_t rows,
                            sl_part_view parts, uint64_t *sizes)
{
    sl_column_join_rows(column, media->part + MEDIA, rows, parts, sizes);
}
