/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members: makes the files of one sample, as a job of prepare, on its workers.
 *
 * The same sample gives the same bytes on any thread.
 */
#include "members.h"

#include "dtype.h"
#include "error.h"
#include "media.h"
#include "memory.h"
#include "packed_value.h"
#include "png_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "unpack"

/* State of unpacking one sample. */
typedef struct task {
    const sl_members_config *config;
    const sl_allowance *allowance;
    sl_values *values;
    sl_members *made;
    uint32_t field;
} task;

static const sl_field *members_field_of(const task *t)
{
    return &t->config->dataset->fields[t->field];
}

/* ---- numbers ---- */

/* Prints the shortest text that reads back as the same number; JSON, like Python's. */
static int print_number(char *to, size_t bytes, double number)
{
    if (isnan(number)) {
        return snprintf(to, bytes, "NaN");
    }
    if (isinf(number)) {
        return snprintf(to, bytes, number > 0 ? "Infinity" : "-Infinity");
    }
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(to, bytes, "%.*g", digits, number);
        if (strtod(to, NULL) == number) {
            break;
        }
    }
    char *comma = strchr(to, ','); /* from a program's locale */
    if (comma != NULL) {
        *comma = '.';
    }
    if (strpbrk(to, ".e") == NULL) {
        length += snprintf(to + length, bytes - (size_t)length, ".0");
    }
    return length;
}

static sl_bytes number_text(const task *t, const sl_value *value)
{
    char *text = t->made->heads[t->field];
    const int length = members_field_of(t)->type == SLUICE_FIELD_INT
                           ? snprintf(text, SL_NPY_MADE_MAX, "%" PRId64, value->integer)
                           : print_number(text, SL_NPY_MADE_MAX, value->number);
    return (sl_bytes){(const uint8_t *)text, (size_t)length};
}

/* ---- tensors ---- */

static sluice_status add_header(const task *t, const sl_value *value, sl_member *member,
                                sluice_error *error)
{
    const sl_field *field = members_field_of(t);
    sl_npy npy = {.dtype = field->dtype, .dims = field->dims};
    uint64_t bytes = sl_dtype_bytes(field->dtype);
    for (uint32_t i = 0; i < field->dims; i++) {
        npy.shape[i] = value->shape[i];
        if (value->shape[i] > UINT32_MAX) {
            bytes = UINT64_MAX;
        }
        bytes = bytes > SL_RECORD_BYTES_MAX ? bytes : bytes * value->shape[i];
    }
    if (bytes != value->bytes.size) {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                            "field \"%s\": size does not match the tensor's shape (%zu bytes)",
                            field->name, value->bytes.size);
    }
    char *head = t->made->heads[t->field];
    member->head = (sl_bytes){(const uint8_t *)head, sl_npy_make(&npy, head)};
    return SLUICE_OK;
}

/* ---- images ---- */

/* Returns the extension for bytes of a codec. */
static const char *members_extension_of(uint8_t codec, sl_bytes bytes)
{
    const sl_media *kind = sl_media_of_codec(codec);
    kind = kind != NULL ? kind : sl_media_of_bytes(bytes);
    return kind != NULL && kind->extensions[0] != NULL && (kind->traits & SL_MEDIA_PICTURE) != 0
               ? kind->extensions[0]
               : "img";
}

static sluice_status write_png(const task *t, sl_value *value, sluice_error *error)
{
    const uint64_t pixels = (uint64_t)value->width * value->height;
    if (pixels == 0 || value->bytes.size % 3 != 0 || pixels != value->bytes.size / 3) {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                            "size does not match the raw image: %zu bytes for %" PRIu32
                            " x %" PRIu32 " x 3",
                            value->bytes.size, value->width, value->height);
    }
    uint8_t *png = NULL;
    size_t bytes = 0;
    sluice_status status = sl_allowance_charge(t->allowance, value->bytes.size, error);
    if (status == SLUICE_OK) {
        status = sl_png_write(value->bytes.data, value->width, value->height, &png, &bytes, error);
    }
    if (status < 0) {
        return status;
    }
    sl_free(t->made->pieces[t->field]);
    t->made->pieces[t->field] = png;
    value->bytes = (sl_bytes){png, bytes};
    return SLUICE_OK;
}

static sluice_status members_make_picture(const task *t, sl_value *value, sl_member *member,
                                          sluice_error *error)
{
    sl_members *made = t->made;
    const bool raw = value->codec == SL_CODEC_RAW;
    const char *extension = raw ? "png" : members_extension_of(value->codec, value->bytes);
    sl_suffix_of_picture(t->config->suffixes, t->field, extension, member->suffix);
    if (t->field == t->config->suffixes->picture) {
        made->picture = made->count;
        made->is_file = !raw;
    }
    return raw ? write_png(t, value, error) : SLUICE_OK;
}

/* ---- all of them ---- */

static sluice_status make_member(const task *t, sl_value *value, sluice_error *error)
{
    const sl_field *field = members_field_of(t);
    sl_member *member = &t->made->of[t->made->count];
    sluice_status status = SLUICE_OK;
    memcpy(member->suffix, t->config->suffixes->of[t->field], SL_SUFFIX_BYTES);
    member->head = (sl_bytes){NULL, 0};
    if (field->type == SLUICE_FIELD_INT || field->type == SLUICE_FIELD_FLOAT) {
        value->bytes = number_text(t, value);
    } else {
        status = sl_piece_own(t->allowance, field, t->values, t->field, &t->made->pieces[t->field],
                              error);
    }
    if (status == SLUICE_OK && field->type == SLUICE_FIELD_TENSOR) {
        status = add_header(t, value, member, error);
    } else if (status == SLUICE_OK && sl_type_is_media(field->type)) {
        status = members_make_picture(t, value, member, error);
    }
    member->bytes = value->bytes;
    t->made->bytes += member->head.size + member->bytes.size;
    t->made->count++;
    return status;
}

static void members_set_label(const sl_members_config *config, const sl_values *values,
                              sl_members *made)
{
    const uint32_t label = sl_dataset_field(config->dataset, "label");
    const bool is_label =
        label != SL_FIELD_NONE && config->dataset->fields[label].type == SLUICE_FIELD_INT;
    made->label = is_label && values->of[label].present ? values->of[label].integer : -1;
}

static sluice_status members_make(void *state, sl_prepare_sample *sample, void *made,
                                  sluice_error *error)
{
    const sl_members_config *config = *(const sl_members_config *const *)state;
    task t = {
        .config = config, .allowance = sample->allowance, .values = sample->values, .made = made};
    t.made->picture = SL_FIELD_NONE;
    members_set_label(config, sample->values, t.made);
    for (; t.field < config->dataset->info.fields; t.field++) {
        sl_value *value = &sample->values->of[t.field];
        if (!value->present || (config->suffixes->left_out >> t.field & 1) != 0) {
            continue;
        }
        const sl_value before = *value;
        const sluice_status status = make_member(&t, value, error);
        if (status < 0) {
            sample->blame = before;
            return status;
        }
    }
    return t.made->count > 0 ? SLUICE_OK
                             : sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                                            "the sample contains nothing to write to a file");
}

static sluice_status members_open_state(void *state, const void *config, sluice_error *error)
{
    (void)error;
    *(const sl_members_config **)state = config;
    return SLUICE_OK;
}

static void members_close_state(void *state)
{
    (void)state;
}

static void members_drop(void *made)
{
    sl_members *own = made;
    for (uint32_t i = 0; i < SL_FIELDS_MAX; i++) {
        sl_free(own->pieces[i]);
    }
}

const sl_prepare_job sl_members_job = {.state_bytes = sizeof(const sl_members_config *),
                                       .made_bytes = sizeof(sl_members),
                                       .open = members_open_state,
                                       .close = members_close_state,
                                       .make = members_make,
                                       .drop = members_drop};
