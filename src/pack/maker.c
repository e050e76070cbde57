/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maker: turns the values of a sample into a record: unpacks, re-tiles or decodes, encodes. One
 * owner: a worker of prepare, or the caller of the writer.
 */
#include "maker.h"

#include "codecs.h"
#include "error.h"
#include "jpeg_codec.h"
#include "memory.h"
#include "packed_value.h"

#include <assert.h>
#include <string.h>

#define STAGE "pack"

/* State of making one sample. */
typedef struct job {
    sl_maker *maker;
    sl_values *values;
    const sl_allowance *allowance;
    sl_made *made;
    bool as_pixels;
} job;

sluice_status sl_maker_open(sl_maker *maker, const sl_maker_config *config, sluice_error *error)
{
    *maker = (sl_maker){.config = *config};
    sluice_status status = SLUICE_OK;
    if (config->raw || config->max_side > 0) {
        const sl_pixels_config how = {.max_side = config->max_side,
                                      .quality = config->quality,
                                      .drop_profile = config->retile.drop_metadata,
                                      .optimise = config->keep_bytes};
        status = sl_pixels_open(&maker->pixels, &how, error);
    }
    if (status == SLUICE_OK && !config->keep_bytes) {
        status = sl_jpeg_retiler_open(&maker->retiler, &config->retile, error);
    }
    if (status < 0) {
        sl_maker_close(maker);
    }
    return status;
}

void sl_maker_close(sl_maker *maker)
{
    sl_jpeg_retiler_close(maker->retiler);
    sl_pixels_close(&maker->pixels);
    *maker = (sl_maker){0};
}

/*
 * Allocates memory of the sample for a changed field. The previous memory stays until the sample is
 * closed.
 */
static sluice_status new_piece(const job *j, uint64_t bytes, uint8_t **piece, sluice_error *error)
{
    return sl_piece_new(j->allowance, bytes, piece, error);
}

static void keep_piece(const job *j, uint32_t number, uint8_t *piece, sl_value *value, size_t bytes)
{
    sl_free(j->made->pieces[number]);
    j->made->pieces[number] = piece;
    value->bytes = (sl_bytes){piece, bytes};
}

/* ---- images ---- */

/* `*retiled` is in the retiler's memory. */
static sluice_status run_retiler(const job *j, sl_bytes jpeg, sl_jpeg_outcome *outcome,
                                 sl_bytes *retiled, sluice_error *error)
{
    uint64_t memory;
    sl_jpeg_retiler *retiler = j->maker->retiler;
    sluice_status status = sl_jpeg_retiler_begin(retiler, jpeg, &memory, error);
    if (status == SLUICE_OK) {
        status = sl_allowance_charge(j->allowance, memory, error);
    }
    if (status < 0) {
        return status;
    }
    status = sl_jpeg_retiler_run(retiler, outcome, retiled, error);
    if (j->allowance != NULL) {
        j->allowance->give_back(j->allowance->ctx, memory);
    }
    return status;
}

static sluice_status retile(const job *j, uint32_t number, sl_value *value,
                            sl_jpeg_outcome *outcome, sluice_error *error)
{
    sl_bytes retiled = {NULL, 0};
    uint8_t *piece = NULL;
    sluice_error reason;
    sl_error_clear(&reason);
    sluice_status status = run_retiler(j, value->bytes, outcome, &retiled, &reason);
    if (status < 0) {
        if (error != NULL) {
            *error = reason;
        }
        return status;
    }
    if (*outcome > SL_JPEG_FAST) {
        j->made->kept = reason;
    }
    if (*outcome != SL_JPEG_RETILED) {
        return SLUICE_OK;
    }
    status = new_piece(j, retiled.size, &piece, error);
    if (status < 0 || piece == NULL) {
        return status;
    }
    memcpy(piece, retiled.data, retiled.size);
    keep_piece(j, number, piece, value, retiled.size);
    return SLUICE_OK;
}

static sluice_status make_jpeg(const job *j, uint32_t number, sl_value *value, sluice_error *error)
{
    sl_made *made = j->made;
    sl_jpeg_outcome outcome = SL_JPEG_AS_ASKED;
    const uint64_t before = value->bytes.size;
    if (j->maker->retiler != NULL) {
        const sluice_status status = retile(j, number, value, &outcome, error);
        if (status < 0) {
            return status;
        }
    }
    made->jpegs[outcome]++;
    made->jpeg_bytes_before += before;
    made->jpeg_bytes_after += value->bytes.size;
    return SLUICE_OK;
}

static int64_t maker_side_of(const job *j, uint32_t picture, sluice_role role)
{
    const sl_schema *schema = j->maker->config.plan->schema;
    const uint32_t field =
        sl_field_of_role(schema->fields, schema->field_count, schema->fields[picture].name, role);
    return field != SL_FIELD_NONE && j->values->of[field].present ? j->values->of[field].integer
                                                                  : 0;
}

/*
 * Returns whether a field is a mask whose own size determines the orientation in which the image
 * was annotated.
 */
static bool is_sized_mask_of(const sl_field *image, const sl_field *field)
{
    const sl_meaning *meaning = &field->meaning;
    return image->meaning.role == SLUICE_ROLE_NONE && meaning->role == SLUICE_ROLE_MASK &&
           meaning->orientation == SLUICE_ORIENTATION_BY_SIZE &&
           (meaning->of[0] == '\0' || strcmp(meaning->of, image->name) == 0);
}

static sl_pixels_wish wish_for(const job *j, uint32_t number)
{
    const sl_schema *schema = j->maker->config.plan->schema;
    sl_pixels_wish wish = {.as_pixels = j->as_pixels,
                           .orientation = schema->fields[number].meaning.orientation,
                           .annotated = {maker_side_of(j, number, SLUICE_ROLE_WIDTH),
                                         maker_side_of(j, number, SLUICE_ROLE_HEIGHT)}};
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const sluice_role role = schema->fields[i].meaning.role;
        wish.dependent |= role >= SLUICE_ROLE_BOXES && role <= SLUICE_ROLE_MASK;
        if (j->values->of[i].present &&
            is_sized_mask_of(&schema->fields[number], &schema->fields[i])) {
            wish.mask = schema->fields[i].name;
        }
    }
    return wish;
}

static void set_side(const job *j, uint32_t picture, sluice_role role, int64_t side)
{
    const sl_schema *schema = j->maker->config.plan->schema;
    const uint32_t field =
        sl_field_of_role(schema->fields, schema->field_count, schema->fields[picture].name, role);
    if (field != SL_FIELD_NONE) {
        j->values->of[field].integer = side;
    }
}

/* Sets the width and height fields of an image that was made smaller to its new size. */
static void shrink_sides(const job *j, uint32_t number, const sl_pixels_wish *wish,
                         const sl_value *value)
{
    const int64_t *sides = wish->annotated;
    if (sides[0] <= 0 || sides[1] <= 0 || sides[0] > UINT32_MAX || sides[1] > UINT32_MAX) {
        return;
    }
    const sl_picture shrunk = sl_pixels_smaller(
        (sl_picture){(uint32_t)sides[0], (uint32_t)sides[1]}, j->maker->config.max_side);
    const bool same = shrunk.width == value->width && shrunk.height == value->height;
    const bool turned = shrunk.width == value->height && shrunk.height == value->width;
    if (same || turned) {
        set_side(j, number, SLUICE_ROLE_WIDTH, shrunk.width);
        set_side(j, number, SLUICE_ROLE_HEIGHT, shrunk.height);
    }
}

/* Replaces an image: by its pixels, or by a smaller image. */
static sluice_status maker_replace(const job *j, uint32_t number, bool too_large, sl_value *value,
                                   sluice_error *error)
{
    sl_made *made = j->made;
    const uint64_t before = value->bytes.size;
    const bool encoded = value->codec != SL_CODEC_RAW;
    const sl_pixels_wish wish = wish_for(j, number);
    sl_jpeg_outcome outcome;
    sluice_status status = sl_pixels_replace(&j->maker->pixels, j->allowance, &wish, value,
                                             &made->pieces[number], error);
    if (status == SLUICE_OK && value->codec == sl_codec_jpeg.number && j->maker->retiler != NULL) {
        status = retile(j, number, value, &outcome, error);
    }
    if (status < 0) {
        return status;
    }
    if (too_large) {
        shrink_sides(j, number, &wish, value);
        made->resized++;
        made->resized_bytes_before += before;
        made->resized_bytes_after += value->bytes.size;
    }
    if (encoded && value->codec == SL_CODEC_RAW) {
        made->decoded++;
        made->decoded_bytes_before += before;
        made->decoded_bytes_after += value->bytes.size;
    }
    return SLUICE_OK;
}

/* Returns whether the image exceeds the size limit, if there is one. */
static sluice_status maker_measure(const job *j, const sl_codec *codec, const sl_value *value,
                                   bool *too_large, sluice_error *error)
{
    const sl_codec_source source = {.bytes = value->bytes, .max_pixels = SL_RECORD_PIXELS_MAX};
    sl_picture size = {value->width, value->height};
    sluice_status status = SLUICE_OK;
    *too_large = false;
    if (j->maker->config.max_side > 0) {
        status =
            codec->number != SL_CODEC_RAW ? sl_codec_size(codec, &source, &size, error) : SLUICE_OK;
        *too_large = status == SLUICE_OK && sl_pixels_too_large(&j->maker->pixels.config, size);
    }
    return status;
}

static sluice_status maker_make_picture(const job *j, uint32_t number, sl_value *value,
                                        sluice_error *error)
{
    uint32_t row = 0;
    bool too_large = false;
    sluice_status status = sl_codec_find(value->codec, value->bytes, &row, error);
    if (status < 0) {
        return status;
    }
    const sl_codec *codec = sl_codecs[row];
    value->codec = codec->number;
    status = maker_measure(j, codec, value, &too_large, error);
    if (status < 0) {
        return status;
    }
    if (too_large || (j->as_pixels && codec->number != SL_CODEC_RAW)) {
        return maker_replace(j, number, too_large, value, error);
    }
    return codec == &sl_codec_jpeg ? make_jpeg(j, number, value, error) : SLUICE_OK;
}

static sluice_status make_field(const job *j, uint32_t number, sl_value *value, sluice_error *error)
{
    const sl_field *field = &j->maker->config.plan->schema->fields[number];
    const sluice_status status =
        sl_piece_own(j->allowance, field, j->values, number, &j->made->pieces[number], error);
    if (status < 0) {
        return status;
    }
    return field->type == SLUICE_FIELD_IMAGE ? maker_make_picture(j, number, value, error)
                                             : SLUICE_OK;
}

sluice_status sl_maker_make(sl_maker *maker, sl_values *values, bool as_pixels,
                            const sl_allowance *allowance, sl_made *made, sluice_error *error)
{
    assert(!as_pixels || maker->config.raw);
    const sl_schema *schema = maker->config.plan->schema;
    const job j = {.maker = maker,
                   .values = values,
                   .allowance = allowance,
                   .made = made,
                   .as_pixels = as_pixels};
    const sl_value_packing *packings[SL_FIELDS_MAX];
    for (uint32_t i = 0; i < schema->field_count; i++) {
        sl_value *value = &values->of[i];
        const sl_value before = *value;
        packings[i] = before.packing;
        const sluice_status status = value->present ? make_field(&j, i, value, error) : SLUICE_OK;
        if (status < 0) {
            made->blame = before;
            return status;
        }
    }
    const sluice_status status = sl_record_make(&made->record, maker->config.plan, values, error);
    if (status < 0 && made->record.failed < schema->field_count) {
        made->blame = values->of[made->record.failed];
        made->blame.packing = packings[made->record.failed];
    }
    return status;
}

void sl_made_close(sl_made *made)
{
    sl_record_close(&made->record);
    for (uint32_t i = 0; i < SL_FIELDS_MAX; i++) {
        sl_free(made->pieces[i]);
    }
    *made = (sl_made){0};
}
