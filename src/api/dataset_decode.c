/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_decode: implements sluice_dataset_decode: one whole image of one sample. */
#include "api.h"
#include "dataset.h"
#include "decoder.h"
#include "error.h"
#include "name_list.h"

#define PIXELS_MAX (UINT64_C(1) << 32)
static sluice_status dataset_decode_check(sluice_pixels *own, const sluice_pixels *pixels,
                                          sluice_error *error)
{
    const sluice_status status =
        sl_api_read_struct(own, sizeof(*own), pixels, "sluice_pixels", error);
    if (status < 0) {
        return status;
    }
    if (own->exif < SLUICE_EXIF_AUTO || own->exif > SLUICE_EXIF_IGNORE) {
        return sl_error_set(error, SLUICE_INVALID, "api", "exif must be a sluice_exif");
    }
    if (own->buffer == NULL && own->capacity > 0) {
        return sl_error_set(error, SLUICE_INVALID, "api", "buffer is NULL");
    }
    if (own->max_pixels > PIXELS_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api", "max_pixels must be at most 2^32");
    }
    return SLUICE_OK;
}

/* Returns the image field; SL_FIELD_NONE if there is none, with the reason in `error`. */
static uint32_t find_image(const sl_dataset *dataset, const char *name, sluice_error *error)
{
    const uint32_t field = sl_dataset_field(dataset, name);
    if (field < SL_FIELDS_MAX && dataset->fields[field].type == SLUICE_FIELD_IMAGE) {
        return field;
    }
    sl_name_list known;
    sl_name_list_begin(&known);
    for (uint32_t i = 0; i < dataset->info.fields; i++) {
        if (dataset->fields[i].type == SLUICE_FIELD_IMAGE) {
            sl_name_list_add(&known, dataset->fields[i].name);
        }
    }
    (void)sl_error_set(error, SLUICE_INVALID, "api",
                       "unknown image field \"%.64s\": the image fields are %s", name, known.text);
    return SL_FIELD_NONE;
}

/* The image to decode, and what determines its orientation. */
typedef struct wanted {
    const sl_value *image;
    sluice_orientation orientation; /* of its field */
    int64_t annotated[2];           /* width and height; 0: unknown */
} wanted;

/* Orients the image like a loader without columns that follow it. */
static sluice_status turn(sl_decoder *decoder, const wanted *of, sluice_exif exif,
                          sl_picture *picture, sluice_error *error)
{
    bool turns = false;
    const sluice_status status =
        sl_decoder_turns(decoder, exif, of->orientation, of->annotated, &turns, error);
    if (status == SLUICE_OK) {
        sl_decoder_turn(decoder, turns, picture);
    }
    return status;
}

/* Decodes the whole image; AGAIN with its size if the buffer is too small. */
static sluice_status decode_to(sl_decoder *decoder, const wanted *of, sluice_pixels *own,
                               sluice_error *error)
{
    sl_picture picture;
    sl_image view;
    sluice_status status = sl_decoder_open_picture(decoder, of->image, &picture, error);
    if (status == SLUICE_OK) {
        status = turn(decoder, of, (sluice_exif)own->exif, &picture, error);
    }
    if (status < 0) {
        return status;
    }
    own->width = picture.width;
    own->height = picture.height;
    if ((uint64_t)picture.width * picture.height * 3 > own->capacity) {
        return SLUICE_AGAIN;
    }
    const sl_rect all = {0, 0, picture.width, picture.height};
    status = sl_decoder_decode(decoder, all, 0, 0, &view, error);
    if (status == SLUICE_OK) {
        sl_image_copy(&view, own->buffer);
    }
    return status;
}

static sluice_status decode_value(const wanted *of, sluice_pixels *own, sluice_error *error)
{
    const uint64_t most = own->max_pixels > 0 ? own->max_pixels : SL_RECORD_PIXELS_MAX;
    const sl_decoder_config config = {.max_pixels = most,
                                      .max_unpacked_bytes = SL_RECORD_IMAGE_MAX};
    sl_decoder *decoder = NULL;
    sluice_status status = sl_decoder_open(&decoder, &config, error);
    if (status == SLUICE_OK) {
        status = decode_to(decoder, of, own, error);
    }
    sl_decoder_close(decoder);
    return status;
}

/* Returns the field of one side of the annotated size, if that matters; SL_FIELD_NONE. */
static uint32_t find_side(const sl_dataset *dataset, uint32_t image, sluice_role role)
{
    const sl_field *fields = dataset->fields;
    const bool decides = fields[image].meaning.orientation == SLUICE_ORIENTATION_BY_SIZE;
    return decides ? sl_field_of_role(fields, dataset->info.fields, fields[image].name, role)
                   : SL_FIELD_NONE;
}

static uint64_t side_bit(uint32_t field)
{
    return field == SL_FIELD_NONE ? 0 : UINT64_C(1) << field;
}

static int64_t dataset_decode_side_of(const sl_stored_sample *sample, uint32_t field)
{
    return field != SL_FIELD_NONE && sample->values.of[field].present
               ? sample->values.of[field].integer
               : 0;
}

static sluice_status dataset_decode_sample(const sl_dataset *dataset, uint64_t index,
                                           const char *name, sluice_pixels *own,
                                           sluice_error *error)
{
    sl_stored_sample *sample = NULL;
    own->width = 0;
    own->height = 0;
    const uint32_t field = find_image(dataset, name, error);
    if (field >= SL_FIELDS_MAX) {
        return SLUICE_INVALID;
    }
    const uint32_t sides[2] = {find_side(dataset, field, SLUICE_ROLE_WIDTH),
                               find_side(dataset, field, SLUICE_ROLE_HEIGHT)};
    const uint64_t fields = UINT64_C(1) << field | side_bit(sides[0]) | side_bit(sides[1]);
    sluice_status status = sl_dataset_check_order(dataset, SL_API_ONE_BY_ONE, error);
    if (status == SLUICE_OK) {
        status = sl_dataset_read_sample(dataset, index, fields, &sample, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    const sl_value *image = &sample->values.of[field];
    const wanted of = {.image = image,
                       .orientation = dataset->fields[field].meaning.orientation,
                       .annotated = {dataset_decode_side_of(sample, sides[0]),
                                     dataset_decode_side_of(sample, sides[1])}};
    status = image->present ? decode_value(&of, own, error) : SLUICE_OK;
    if (status < 0) {
        sl_sample_blame(dataset, &sample->sample, image, error);
    }
    sl_dataset_free_sample(sample);
    return status;
}

sluice_status sluice_dataset_decode(const sluice_dataset *dataset, uint64_t index,
                                    const char *field, sluice_pixels *pixels, sluice_error *error)
{
    if (sl_api_lacks(error, dataset, "dataset") || sl_api_lacks(error, field, "field") ||
        sl_api_lacks(error, pixels, "pixels")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    sluice_pixels own;
    sl_error_clear(&reason);
    sluice_status status = dataset_decode_check(&own, pixels, &reason);
    if (status == SLUICE_OK) {
        status = dataset_decode_sample(sl_api_const_dataset(dataset), index, field, &own, &reason);
    }
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    const sluice_status written = sl_api_write_struct(pixels, &own, sizeof(own));
    return written < 0 ? written : status;
}
