/* SPDX-License-Identifier: Apache-2.0 */
/* writer: entry points of sluice/writer.h. */
#include "writer.h"

#include "api.h"
#include "dtype.h"
#include "error.h"
#include "meaning.h"
#include "options.h"
#include "pack.h"
#include "series.h"

#include <string.h>

enum { KEY_BYTES_MAX = 511, QUALITY = 90 };

static sluice_status writer_check_classes(const sluice_writer_options *options, sluice_error *error)
{
    if (options->class_count > 0 && options->classes == NULL) {
        return sl_error_set(error, SLUICE_INVALID, "api", "classes is NULL");
    }
    for (uint32_t i = 0; i < options->class_count; i++) {
        if (options->classes[i] == NULL) {
            return sl_error_set(error, SLUICE_INVALID, "api", "the name of class %u is NULL", i);
        }
    }
    return SLUICE_OK;
}

/* Returns element `index` of an array of structs; the first one has the stride. */
static const void *writer_element(const void *array, uint32_t index)
{
    uint32_t stride;
    memcpy(&stride, array, sizeof(stride));
    return (const char *)array + (size_t)index * stride;
}

static sluice_status read_fields(sl_field *fields, const sluice_writer_options *options,
                                 sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (options->field_count == 0 || options->field_count > SL_FIELDS_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "field_count is out of range: %u, expected 1 to %u",
                            options->field_count, SL_FIELDS_MAX);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < options->field_count; i++) {
        status = sl_api_read_field(&fields[i], writer_element(options->fields, i), error);
    }
    return status == SLUICE_OK ? sl_meanings_check(fields, options->field_count, error) : status;
}

static sluice_status open_writer(sluice_writer **writer, const char *path,
                                 const sluice_writer_options *options, sluice_error *error)
{
    sluice_writer_options own;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), options, "sluice_writer_options", error);
    if (status == SLUICE_OK) {
        status = sl_api_check_output(path, error);
    }
    if (status == SLUICE_OK) {
        status = sl_options_check(SLUICE_OPTIONS_WRITER, &own, "api", error);
    }
    if (status == SLUICE_OK) {
        status = writer_check_classes(&own, error);
    }
    if (status == SLUICE_OK && (own.reserved != 0 || own.reserved_2 != 0)) {
        status = sl_error_set(error, SLUICE_INVALID, "api", "reserved must be 0");
    }
    if (status == SLUICE_OK && own.fields == NULL && own.field_count > 0) {
        status = sl_error_set(error, SLUICE_INVALID, "api", "fields is NULL");
    }
    if (status < 0) {
        return status;
    }
    own.shard_bytes = own.shard_bytes > 0 ? own.shard_bytes : SL_SHARD_BYTES_DEFAULT;
    if (own.fields == NULL) {
        own.field_count = SL_STANDARD_FIELDS;
        return sl_writer_open(writer, path, &own, sl_standard_fields, error);
    }
    sl_field fields[SL_FIELDS_MAX];
    status = read_fields(fields, &own, error);
    return status == SLUICE_OK ? sl_writer_open(writer, path, &own, fields, error) : status;
}

sluice_status sluice_writer_open(sluice_writer **writer, const char *path,
                                 const sluice_writer_options *options, sluice_error *error)
{
    if (writer != NULL) {
        *writer = NULL;
    }
    if (sl_api_lacks(error, writer, "writer") || sl_api_lacks(error, path, "path")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    sluice_status status = open_writer(writer, path, options, &reason);
    return status < 0 ? sl_api_fail(error, &reason) : SLUICE_OK;
}

static sluice_status writer_add(sluice_writer *writer, const sluice_writer_sample *sample,
                                sluice_error *error)
{
    sluice_writer_sample own;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), sample, "sluice_writer_sample", error);
    if (status < 0) {
        return status;
    }
    if (own.image == NULL || own.image_bytes == 0 || own.image_bytes > SL_RECORD_IMAGE_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api", "an image must have 1 byte to 1 GiB");
    }
    if (own.key != NULL && strlen(own.key) > KEY_BYTES_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api", "a key must have at most %d bytes",
                            KEY_BYTES_MAX);
    }
    if ((own.raw_width == 0) != (own.raw_height == 0) || own.reserved != 0) {
        return sl_error_set(
            error, SLUICE_INVALID, "api",
            "raw_width and raw_height must be set together, and reserved must be 0");
    }
    const sl_picture_input input = {.image = {own.image, own.image_bytes},
                                    .raw = own.raw_width > 0,
                                    .width = own.raw_width,
                                    .height = own.raw_height,
                                    .label = own.label,
                                    .key = own.key != NULL ? own.key : ""};
    return sl_writer_add_picture(writer, &input, error);
}

sluice_status sluice_writer_add(sluice_writer *writer, const sluice_writer_sample *sample,
                                sluice_error *error)
{
    if (sl_api_lacks(error, writer, "writer") || sl_api_lacks(error, sample, "sample")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    sluice_status status = writer_add(writer, sample, &reason);
    return status < 0 ? sl_api_fail(error, &reason) : SLUICE_OK;
}

/* ---- values ---- */

static sluice_status writer_refuse_value(const sl_field *field, sluice_error *error,
                                         const char *why)
{
    return sl_error_set(error, SLUICE_INVALID, "api", "field \"%s\": %s", field->name, why);
}

/* Determines the shape of a tensor: variable dimensions are given, or follow from the size. */
static sluice_status writer_read_shape(const sl_field *field, const sluice_value *given,
                                       sl_value *value, sluice_error *error)
{
    uint32_t open = 0;
    uint32_t last = 0;
    uint64_t fixed = sl_dtype_bytes(field->dtype);
    for (uint32_t i = 0; i < field->dims; i++) {
        const bool varies = field->shape[i] == 0;
        if (given->shape[i] < 0 ||
            (!varies && given->shape[i] != 0 && (uint64_t)given->shape[i] != field->shape[i])) {
            return writer_refuse_value(field, error, "its shape differs from the field's");
        }
        value->shape[i] = varies ? (uint64_t)given->shape[i] : field->shape[i];
        fixed *= varies ? 1 : field->shape[i]; /* cannot overflow: the field was accepted */
        open += varies;
        last = varies ? i : last;
    }
    if (open == 1 && value->shape[last] == 0) {
        value->shape[last] = given->bytes / fixed;
    }
    return SLUICE_OK;
}

static sluice_status writer_read_value(const sl_field *field, const sluice_value *given,
                                       sl_value *value, sluice_error *error)
{
    sluice_value own;
    sluice_status status = sl_api_read_struct(&own, sizeof(own), given, "sluice_value", error);
    if (status < 0) {
        return status;
    }
    *value = (sl_value){.present = own.absent == 0};
    if (own.absent > 1) {
        return writer_refuse_value(field, error, "absent must be 0 or 1");
    }
    if (own.absent == 1) {
        return SLUICE_OK;
    }
    value->integer = own.integer;
    value->number = own.number;
    value->bytes = (sl_bytes){own.data, own.bytes};
    if (field->type == SLUICE_FIELD_INT || field->type == SLUICE_FIELD_FLOAT) {
        return SLUICE_OK;
    }
    if (own.data == NULL && own.bytes > 0) {
        return writer_refuse_value(field, error, "its data is NULL");
    }
    if (field->type == SLUICE_FIELD_TENSOR) {
        return writer_read_shape(field, &own, value, error);
    }
    if ((own.raw_width == 0) != (own.raw_height == 0)) {
        return writer_refuse_value(field, error, "raw_width and raw_height must be set together");
    }
    value->codec = own.raw_width > 0 ? SL_CODEC_RAW : SL_CODEC_BY_BYTES;
    value->width = own.raw_width;
    value->height = own.raw_height;
    return SLUICE_OK;
}

static sluice_status writer_add_values(sluice_writer *writer, const sluice_value *values,
                                       uint32_t count, sluice_error *error)
{
    const sl_schema *schema = sl_writer_schema(writer);
    sl_values *own = sl_writer_values(writer);
    if (count != schema->field_count) {
        return sl_error_set(error, SLUICE_INVALID, "api", "%u values for %u fields", count,
                            schema->field_count);
    }
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        status =
            writer_read_value(&schema->fields[i], writer_element(values, i), &own->of[i], error);
    }
    return status == SLUICE_OK ? sl_writer_add(writer, error) : status;
}

sluice_status sluice_writer_add_values(sluice_writer *writer, const sluice_value *values,
                                       uint32_t count, sluice_error *error)
{
    if (sl_api_lacks(error, writer, "writer") || sl_api_lacks(error, values, "values")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    sluice_status status = writer_add_values(writer, values, count, &reason);
    return status < 0 ? sl_api_fail(error, &reason) : SLUICE_OK;
}

sluice_status sluice_writer_finish(sluice_writer *writer, sluice_error *error)
{
    if (sl_api_lacks(error, writer, "writer")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    sluice_status status = sl_writer_finish(writer, &reason);
    return status < 0 ? sl_api_fail(error, &reason) : SLUICE_OK;
}

void sluice_writer_abort(sluice_writer *writer)
{
    sl_writer_abort(writer);
}

/* Returns which options of a pack conflict; NULL: none. */
static const char *clash_of(const sluice_pack_options *options)
{
    if (options->quality > 0 && options->max_side == 0) {
        return SL_OPTION("quality") " requires " SL_OPTION("max_side");
    }
    if (options->raw_share > 0 && options->raw == 1) {
        return SL_OPTION("raw_share") " cannot be combined with " SL_OPTION("raw");
    }
    if (options->raw == 1 && options->keep_bytes == 1) {
        return SL_OPTION("raw") " cannot be combined with " SL_OPTION("keep_bytes");
    }
    if (options->append == 1 && options->overwrite == 1) {
        return SL_OPTION("append") " cannot be combined with " SL_OPTION("overwrite");
    }
    if (options->labels != NULL && options->append == 0) {
        return SL_OPTION("labels") " requires " SL_OPTION("append");
    }
    return NULL;
}

static sluice_status check_together(const sluice_pack_options *options, sluice_error *error)
{
    const char *clash = clash_of(options);
    return clash == NULL ? SLUICE_OK : sl_error_set(error, SLUICE_INVALID, "api", "%s", clash);
}

static sluice_status pack(const sluice_dataset *dataset, const char *path,
                          const sluice_pack_options *options, sluice_pack_result *result,
                          sluice_error *error)
{
    sluice_pack_options own;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), options, "sluice_pack_options", error);
    if (status == SLUICE_OK) {
        status = sl_api_check_output(path, error);
    }
    if (status == SLUICE_OK) {
        status = sl_options_check(SLUICE_OPTIONS_PACK, &own, "api", error);
    }
    if (status == SLUICE_OK) {
        status = check_together(&own, error);
    }
    if (status < 0) {
        return status;
    }
    if (own.max_side > 0 && own.quality == 0) {
        own.quality = QUALITY;
    }
    if (own.workers == 0) {
        own.workers = sl_dataset_threads(sl_api_const_dataset(dataset));
    }
    own.keep_order |= sl_api_const_dataset(dataset)->info.front_to_back;
    own.parts = own.parts > 0 ? own.parts : 1;
    if (own.part >= own.parts || (own.parts > 1 && own.overwrite == 1)) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "part %u of %u: the part must be below the number of parts, and cannot "
                            "overwrite, since other parts may have begun: remove the folder first",
                            own.part, own.parts);
    }
    sl_api_labels labels;
    status = sl_api_read_labels(&labels, own.labels, error);
    if (status == SLUICE_OK) {
        status = sl_pack(sl_api_const_dataset(dataset), path, &own, labels.labels, result, error);
    }
    sl_api_close_labels(&labels);
    return status;
}

sluice_status sluice_pack(const sluice_dataset *dataset, const char *path,
                          const sluice_pack_options *options, sluice_pack_result *result,
                          sluice_error *error)
{
    if (sl_api_lacks(error, dataset, "dataset") || sl_api_lacks(error, path, "path") ||
        sl_api_is_untagged(error, result, "sluice_pack_result")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    sluice_pack_result own;
    const sluice_status status = pack(dataset, path, options, &own, &reason);
    return status < 0 ? sl_api_fail(error, &reason)
                      : sl_api_write_optional(result, &own, sizeof(own));
}

sluice_status sluice_pack_join(const char *path, sluice_pack_result *result, sluice_error *error)
{
    if (sl_api_lacks(error, path, "path") ||
        sl_api_is_untagged(error, result, "sluice_pack_result")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    sluice_pack_result own;
    sluice_status status = sl_api_check_output(path, &reason);
    if (status == SLUICE_OK) {
        status = sl_pack_join(path, &own, &reason);
    }
    return status < 0 ? sl_api_fail(error, &reason)
                      : sl_api_write_optional(result, &own, sizeof(own));
}
