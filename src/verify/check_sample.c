/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_sample: checks one sample: its bytes, its values and, if requested, the decoded contents.
 * One check per thread.
 */
#include "check_sample.h"

#include "codecs.h"
#include "dtype.h"
#include "error.h"
#include "frame.h"
#include "memory.h"
#include "minmax.h"
#include "packed_value.h"

#include <string.h>

#define STAGE        "verify"
#define BUFFER_BYTES ((size_t)256 << 10)
/*
 * Limit on kept scratch memory: enough for whole images of 85 Mpixel, which need it briefly anyway.
 */
#define KEEP_BYTES ((size_t)256 << 20)
/*
 * Memory per pixel to decode a usual image. An image waits for others if a few like it would exceed
 * a thread's share.
 */
#define PIXEL_BYTES 8u

static sluice_status check_sample_open_decoder(const sl_sample_check *c, sl_decoder **decoder,
                                               sluice_error *error)
{
    const sl_decoder_config config = {.max_pixels = SL_RECORD_PIXELS_MAX,
                                      .max_unpacked_bytes = SL_RECORD_IMAGE_MAX,
                                      .exif = SLUICE_EXIF_IGNORE,
                                      .keep_bytes = KEEP_BYTES,
                                      .stop = c->stop};
    return sl_decoder_open(decoder, &config, error);
}

sluice_status sl_sample_check_open(sl_sample_check *c, const sl_dataset *dataset,
                                   sl_sample_gate *gate, const sl_sample_decode *decode,
                                   sluice_error *error)
{
    c->dataset = dataset;
    c->stop = decode->stop;
    c->annotated = decode->annotated;
    sl_values_begin(&c->values, SL_VALUES_ALL);
    sl_sample_pass_open(&c->pass, gate);
    c->values.buffers.allowance = &c->pass.allowance;
    c->capacity = BUFFER_BYTES;
    c->buffer = sl_malloc(c->capacity);
    if (c->buffer == NULL) {
        return sl_no_memory(error, STAGE, "for the workers");
    }
    return decode->wanted ? check_sample_open_decoder(c, &c->decoder, error) : SLUICE_OK;
}

void sl_sample_check_close(sl_sample_check *c)
{
    sl_decoder_close(c->decoder);
    sl_decoder_close(c->headers);
    sl_free(c->buffer);
    sl_free(c->unpacked);
    sl_values_end(&c->values);
}

/* Reads the sample into the buffer, which grows if necessary. */
static sluice_status check_sample_read_stored(sl_sample_check *c, const sl_sample *sample,
                                              sl_bytes *stored, sluice_error *error)
{
    const sl_dataset *dataset = c->dataset;
    size_t size = 0;
    sluice_status status =
        sl_dataset_read(dataset, sample, (sl_buffer){c->buffer, c->capacity}, &size, error);
    if (status == SLUICE_AGAIN) {
        status = sl_sample_pass_take(&c->pass, size, error);
        if (status < 0) {
            return status;
        }
        const size_t capacity = sl_max_size(size, BUFFER_BYTES);
        uint8_t *grown = sl_realloc_array(c->buffer, capacity, 1);
        if (grown == NULL) {
            return sl_no_memory(error, STAGE, "for %zu bytes", size);
        }
        c->buffer = grown;
        c->capacity = capacity;
        status =
            sl_dataset_read(dataset, sample, (sl_buffer){c->buffer, c->capacity}, &size, error);
    }
    if (status == SLUICE_AGAIN) {
        return sl_error_set(error, SLUICE_IO, STAGE, "the file grew while it was read");
    }
    *stored = (sl_bytes){c->buffer, size};
    return status;
}

static sluice_status check_packed(const sl_value *image, sluice_error *error)
{
    uint64_t bytes = 0;
    sluice_status status = sl_packed_size(image, SL_RECORD_IMAGE_MAX, &bytes, error);
    if (status < 0) {
        return status;
    }
    uint64_t pixels = (uint64_t)image->width * image->height;
    if (image->codec == SL_CODEC_RAW && (bytes % 3 != 0 || bytes / 3 != pixels)) {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE, "the %s does not contain %u x %u pixels",
                            image->packing->name, image->width, image->height);
    }
    return SLUICE_OK;
}

/* Checks the header. `*size`: of the stored image; 0 x 0: only known after unpacking. */
static sluice_status check_header(const sl_value *image, sl_picture *size, sluice_error *error)
{
    const sl_codec_source source = {.bytes = image->bytes, .max_pixels = SL_RECORD_PIXELS_MAX};
    sl_picture picture;
    uint32_t row = 0;
    *size = (sl_picture){image->width, image->height};
    sluice_status status = sl_codec_find(image->codec, image->bytes, &row, error);
    if (status < 0) {
        return status;
    }
    if (sl_is_packed(image)) {
        return check_packed(image, error);
    }
    if (image->codec == SL_CODEC_RAW) {
        return SLUICE_OK; /* unpacking the sample checked its size */
    }
    status = sl_codec_size(sl_codecs[row], &source, &picture, error);
    if (status == SLUICE_OK && image->width != 0 &&
        (picture.width != image->width || picture.height != image->height)) {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                            "the image has %u x %u pixels, but its index entry says %u x %u",
                            picture.width, picture.height, image->width, image->height);
    }
    if (status == SLUICE_OK) {
        *size = picture;
    }
    return status;
}

/* ---- the size that was annotated ---- */

static int64_t check_sample_side(const sl_sample_check *c, const sl_field *field, sluice_role role)
{
    const sl_dataset *dataset = c->dataset;
    const uint32_t number =
        sl_field_of_role(dataset->fields, dataset->info.fields, field->name, role);
    return number != SL_FIELD_NONE && c->values.of[number].present ? c->values.of[number].integer
                                                                   : 0;
}

/*
 * Checks that the image has, in either orientation, the annotated size that determines its
 * orientation. Only if that differs from the stored size, the header is read for the orientation.
 */
static sluice_status check_annotated(sl_sample_check *c, const sl_field *field,
                                     const sl_value *image, sl_picture size, sluice_error *error)
{
    const int64_t sides[2] = {check_sample_side(c, field, SLUICE_ROLE_WIDTH),
                              check_sample_side(c, field, SLUICE_ROLE_HEIGHT)};
    sl_decoder *decoder = c->decoder;
    if (!c->annotated || field->meaning.orientation != SLUICE_ORIENTATION_BY_SIZE ||
        sides[0] <= 0 || sides[1] <= 0 || (sides[0] == size.width && sides[1] == size.height)) {
        return SLUICE_OK;
    }
    sluice_status status = SLUICE_OK;
    if (decoder == NULL && c->headers == NULL) {
        status = check_sample_open_decoder(c, &c->headers, error);
    }
    decoder = decoder != NULL ? decoder : c->headers;
    if (status == SLUICE_OK) {
        status = sl_decoder_open_picture(decoder, image, &size, error);
    }
    if (status < 0) {
        return status;
    }
    const sl_turn stored = sl_decoder_stored(decoder);
    return sl_turn_by_size(&stored, sides[0], sides[1]) == SLUICE_ORIENTATION_BY_SIZE
               ? sl_turn_refuse(&stored, sides, error)
               : SLUICE_OK;
}

static sluice_status check_sample_decode(sl_sample_check *c, const sl_value *image,
                                         sluice_error *error)
{
    sl_picture picture;
    sluice_status status = sl_decoder_open_picture(c->decoder, image, &picture, error);
    if (status == SLUICE_OK) {
        const uint64_t pixels = (uint64_t)picture.width * picture.height;
        status = sl_sample_pass_work(&c->pass, pixels * PIXEL_BYTES, error);
    }
    if (status < 0) {
        return status;
    }
    sl_rect all = {0, 0, picture.width, picture.height};
    sl_image view;
    return sl_decoder_decode(c->decoder, all, 0, 0, &view, error);
}

/* ---- other fields ---- */

/* Returns the size of a tensor's elements; it cannot overflow, since unpack checked it. */
static uint64_t tensor_bytes(const sl_field *field, const sl_value *value)
{
    uint64_t bytes = sl_dtype_bytes(field->dtype);
    for (uint32_t i = 0; i < field->dims; i++) {
        bytes *= value->shape[i];
    }
    return bytes;
}

/* Determines the unpacked size of a packed value, as far as its header has it. */
static sluice_status measure_packed(const sl_field *field, const sl_value *value, uint64_t *bytes,
                                    sluice_error *error)
{
    const sluice_status status = sl_packed_size(value, SL_RECORD_BYTES_MAX, bytes, error);
    if (status < 0 || field->type != SLUICE_FIELD_TENSOR || *bytes == tensor_bytes(field, value)) {
        return status;
    }
    return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                        "field \"%s\": size does not match the tensor's shape", field->name);
}

/* Unpacks to separate memory; also verifies a frame's checksum, if it has one. */
static sluice_status check_sample_unpack(sl_sample_check *c, const sl_value *value, uint64_t size,
                                         sl_bytes *unpacked, sluice_error *error)
{
    const sluice_status status = sl_sample_pass_take(&c->pass, size, error);
    if (status < 0) {
        return status;
    }
    if (size > c->unpacked_capacity) {
        uint8_t *grown = sl_realloc_array(c->unpacked, size, 1);
        if (grown == NULL) {
            return sl_no_memory(error, STAGE, "for %llu bytes", (unsigned long long)size);
        }
        c->unpacked = grown;
        c->unpacked_capacity = size;
    }
    *unpacked = (sl_bytes){c->unpacked, size};
    sl_frame *frame = c->decoder != NULL ? sl_decoder_frame(c->decoder) : NULL;
    return sl_packed_unpack_to(frame, value, c->unpacked, size, error);
}

/* Checks for contents that would make a loader, or a reader of keys, fail. */
static sluice_status check_contents(const sl_field *field, sl_bytes bytes, sluice_error *error)
{
    if (field->type == SLUICE_FIELD_TEXT && strcmp(field->name, "key") == 0 &&
        (bytes.size > SL_KEY_MAX ||
         (bytes.size > 0 && memchr(bytes.data, 0, bytes.size) != NULL))) {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                            "the key has more than %d bytes, or contains NUL", SL_KEY_MAX);
    }
    if (field->type == SLUICE_FIELD_TENSOR && field->dtype == SLUICE_BOOL) {
        uint8_t all = 0;
        for (size_t i = 0; i < bytes.size; i++) {
            all |= bytes.data[i];
        }
        if (all > 1) {
            return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                                "field \"%s\" contains a bool that is neither 0 nor 1",
                                field->name);
        }
    }
    return SLUICE_OK;
}

static sluice_status check_other(sl_sample_check *c, const sl_field *field, const sl_value *value,
                                 sluice_error *error)
{
    sl_bytes bytes = value->bytes;
    uint64_t size = 0;
    sluice_status status =
        sl_is_packed(value) ? measure_packed(field, value, &size, error) : SLUICE_OK;
    const bool unpacks =
        sl_is_packed(value) && (c->decoder != NULL || value->packing->sums_content);
    if (status == SLUICE_OK && unpacks) {
        status = check_sample_unpack(c, value, size, &bytes, error);
    }
    return status == SLUICE_OK && c->decoder != NULL ? check_contents(field, bytes, error) : status;
}

/* Joins an image that was stored in parts. */
static sluice_status check_sample_join(sl_sample_check *c, sl_value *image, sluice_error *error)
{
    sl_bytes whole = {NULL, 0};
    uint64_t size = 0;
    sluice_status status = sl_packed_size(image, SL_RECORD_IMAGE_MAX, &size, error);
    if (status == SLUICE_OK) {
        status = check_sample_unpack(c, image, size, &whole, error);
    }
    sl_set_unpacked(image, whole);
    return status;
}

/*
 * Checks the checksums inside an image. If an image file has none, reports it; other containers
 * report their own.
 */
static sluice_status check_picture_sums(sl_sample_check *c, const sl_sample *sample,
                                        const sl_value *image, sluice_error *error)
{
    uint32_t row = 0;
    const sluice_status status = sl_codec_find(image->codec, image->bytes, &row, error);
    if (status < 0 || sl_is_packed(image)) {
        return status;
    }
    if (sl_codecs[row]->check_sums != NULL) {
        return sl_codecs[row]->check_sums(image->bytes, error);
    }
    if (sample->place.bytes == 0) {
        sl_unchecked_add(&c->unchecked, "images other than PNG have no checksums");
    }
    return SLUICE_OK;
}

static sluice_status check_sample_check_value(sl_sample_check *c, const sl_sample *sample,
                                              const sl_field *field, const sl_value *value,
                                              sluice_error *error)
{
    if (!sl_type_is_media(field->type)) {
        return check_other(c, field, value, error);
    }
    sl_value whole = *value;
    sl_picture size = {0, 0};
    const bool in_parts = sl_is_packed(value) && !sl_is_compressed(value);
    sluice_status status = in_parts ? check_sample_join(c, &whole, error) : SLUICE_OK;
    if (status == SLUICE_OK) {
        status = check_header(&whole, &size, error);
    }
    if (status == SLUICE_OK) {
        status = check_annotated(c, field, &whole, size, error);
    }
    if (status == SLUICE_OK) {
        status = check_picture_sums(c, sample, &whole, error);
    }
    if (status == SLUICE_OK && c->decoder == NULL) {
        c->undecoded += whole.codec != SL_CODEC_RAW;
    }
    return status == SLUICE_OK && c->decoder != NULL ? check_sample_decode(c, &whole, error)
                                                     : status;
}

static sluice_status check_sample_check_fields(sl_sample_check *c, const sl_sample *sample,
                                               sl_bytes stored, sluice_error *error)
{
    const sl_dataset *dataset = c->dataset;
    sluice_status status = sl_dataset_unpack(dataset, sample, stored, &c->values, error);
    if (status == SLUICE_NOMEM && c->pass.is_refused) {
        status = sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                              "its pages unpack to more than the limit of %llu bytes (" SL_OPTION(
                                  "max_sample_bytes") ")",
                              (unsigned long long)c->pass.gate->most);
    }
    for (uint32_t i = 0; i < dataset->info.fields && status == SLUICE_OK; i++) {
        const sl_value *value = &c->values.of[i];
        if (value->present) {
            status = check_sample_check_value(c, sample, &dataset->fields[i], value, error);
        }
        if (status < 0 && error->file[0] == '\0') {
            sl_sample_blame(dataset, sample, value, error);
        }
    }
    return status;
}

sluice_status sl_sample_check_run(sl_sample_check *c, const sl_sample *sample, sl_bytes *stored,
                                  sluice_error *error)
{
    sluice_status status = check_sample_read_stored(c, sample, stored, error);
    if (status == SLUICE_OK) {
        status = check_sample_check_fields(c, sample, *stored, error);
    }
    if (status < 0 && error->file[0] == '\0') {
        sl_sample_blame(c->dataset, sample, NULL, error);
    }
    return status;
}

/* Releases the memory of a large sample, so that others may be large. */
void sl_sample_check_end(sl_sample_check *c)
{
    if (sl_sample_pass_was_large(&c->pass)) {
        sl_free(c->buffer);
        sl_free(c->unpacked);
        c->buffer = c->unpacked = NULL;
        c->capacity = c->unpacked_capacity = 0;
        sl_value_buffers_empty(&c->values.buffers);
    }
    sl_sample_pass_end(&c->pass);
}
