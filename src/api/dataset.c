/* SPDX-License-Identifier: Apache-2.0 */
/* dataset: entry points of sluice/dataset.h. */
#include "dataset.h"
#include "api.h"
#include "cpu.h"
#include "dtype.h"
#include "error.h"
#include "flat.h"
#include "formats.h"
#include "meaning.h"
#include "memory.h"
#include "minmax.h"
#include "options.h"
#include "over.h"
#include "path_range.h"
#include "stop.h"
#include "store.h"
#include "verify.h"

#include <stdio.h>
#include <string.h>

/* default limit */
#define OPEN_MEMORY_MAX ((uint64_t)8 << 30)

static sluice_status open_flat(sl_dataset **dataset, const char *const *paths, size_t count,
                               const sluice_field *given, sluice_error *error)
{
    sl_field field;
    const sluice_status status = sl_api_read_field(&field, given, error);
    if (status < 0) {
        return status;
    }
    if (field.type != SLUICE_FIELD_TENSOR || sl_dtype_bytes(field.dtype) == 0) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "flat must be a tensor of a sluice_dtype");
    }
    if (field.name[0] == '\0') {
        memcpy(field.name, "tensor", sizeof("tensor"));
    }
    field.name[sizeof(field.name) - 1] = '\0';
    return sl_flat_open(dataset, paths, count, &field, error);
}

static sluice_status open_paths(sl_dataset **dataset, const sl_path_list *list,
                                const sluice_dataset_options *own, sluice_error *error)
{
    const char *const *paths = (const char *const *)list->paths;
    return own->flat != NULL ? open_flat(dataset, paths, list->count, own->flat, error)
                             : sl_dataset_open(dataset, paths, list->count, own, error);
}

static sluice_status open_ranges(sl_dataset **dataset, const char *const *paths, size_t count,
                                 const sluice_dataset_options *own, sluice_error *error)
{
    sl_path_list list = {0};
    sluice_status status = SLUICE_OK;
    sl_store_scope_begin();
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = sl_path_range_add(&list, paths[i], error);
    }
    if (status == SLUICE_OK) {
        status = open_paths(dataset, &list, own, error);
    }
    sl_store_scope_end();
    sl_path_list_free(&list);
    return status;
}

/* Adds to a NOMEM error that opening reached its memory limit. */
static sluice_status dataset_refuse_memory(uint64_t limit_bytes, sluice_error *error)
{
    sl_error_add(error, SIZE_MAX,
                 "; opening the dataset may take %llu MiB: choose the fields to read, or raise "
                 "this limit (" SL_OPTION("memory_bytes of opening") ")",
                 (unsigned long long)(limit_bytes >> 20));
    return (sluice_status)error->status;
}

static sluice_status open_within_memory(sl_dataset **dataset, const char *const *paths,
                                        size_t count, const sluice_dataset_options *own,
                                        sluice_error *error)
{
    sl_memory_limit limit;
    const uint64_t half = sl_memory_available() / 2;
    const uint64_t usual = sl_min_u64(half, OPEN_MEMORY_MAX);
    const uint64_t bytes = own->memory_bytes > 0 ? own->memory_bytes : usual;
    sl_memory_limit_init(&limit, bytes);
    sl_memory_limit *before = sl_memory_work_under(&limit);
    const uint64_t shortages = sl_memory_shortages();
    sluice_status status = open_ranges(dataset, paths, count, own, error);
    status = sl_error_after_shortage(status, sl_memory_shortages() > shortages, error);
    if (status == SLUICE_OK && *dataset != NULL) {
        sl_omissions_warn(&(*dataset)->omissions, (*dataset)->info.samples, &(*dataset)->warnings);
    }
    (void)sl_memory_work_under(before);
    /* relaxed: the threads that set it have been joined */
    const bool met = atomic_load_explicit(&limit.met, memory_order_relaxed);
    return status == SLUICE_NOMEM && met ? dataset_refuse_memory(bytes, error) : status;
}

/* Opens a dataset. One opened while the stop was set may lack data that could not be read. */
static sluice_status open_until_stopped(sl_dataset **dataset, const char *const *paths,
                                        size_t count, const sluice_dataset_options *own,
                                        sluice_error *error)
{
    sl_stop stop;
    sl_stop_begin(&stop, own->should_stop, own->user);
    sluice_status status =
        sl_stop_ask() ? SLUICE_CANCELED : open_within_memory(dataset, paths, count, own, error);
    if (sl_stop_requested()) {
        if (status == SLUICE_OK) {
            sl_dataset_close(*dataset);
            *dataset = NULL;
        }
        status = sl_error_set(error, SLUICE_CANCELED, "api", "stopped while opening the dataset");
    }
    sl_stop_end(&stop);
    return status;
}

static sluice_status dataset_check_fields(const sluice_dataset_options *own, sluice_error *error)
{
    for (uint32_t i = 0; i < own->field_count; i++) {
        if (own->fields == NULL || own->fields[i] == NULL) {
            return sl_error_set(error, SLUICE_INVALID, "api", "a field is NULL");
        }
    }
    if (own->field_count > 0 && own->flat != NULL) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "flat files have only one field: see flat");
    }
    if (own->split != NULL && own->flat != NULL) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            SL_OPTION("split") ": flat files have no splits");
    }
    if (own->split != NULL && own->split[0] == '\0') {
        return sl_error_set(error, SLUICE_INVALID, "api", SL_OPTION("split") " is empty");
    }
    return SLUICE_OK;
}

sluice_status sluice_dataset_open(sluice_dataset **dataset, const char *const *paths, size_t count,
                                  const sluice_dataset_options *options, sluice_error *error)
{
    if (dataset != NULL) {
        *dataset = NULL;
    }
    if (sl_api_lacks(error, dataset, "dataset")) {
        return SLUICE_INVALID;
    }
    for (size_t i = 0; i < count; i++) {
        if (sl_api_lacks(error, paths, "a path") || sl_api_lacks(error, paths[i], "a path")) {
            return SLUICE_INVALID;
        }
    }
    sluice_error reason;
    sluice_dataset_options own;
    sl_dataset *opened = NULL;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), options, "sluice_dataset_options", &reason);
    if (status == SLUICE_OK) {
        status = sl_options_check(SLUICE_OPTIONS_DATASET, &own, "api", &reason);
    }
    if (status == SLUICE_OK && own.reserved != 0) {
        status = sl_error_set(&reason, SLUICE_INVALID, "api", "reserved must be 0");
    }
    if (status == SLUICE_OK && own.unpacked_dir != NULL && own.unpacked_dir[0] == '\0') {
        status =
            sl_error_set(&reason, SLUICE_INVALID, "api", SL_OPTION("unpacked_dir") " is empty");
    }
    if (status == SLUICE_OK) {
        status = dataset_check_fields(&own, &reason);
    }
    if (status == SLUICE_OK) {
        status = own.should_stop != NULL ? open_until_stopped(&opened, paths, count, &own, &reason)
                                         : open_within_memory(&opened, paths, count, &own, &reason);
    }
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    *dataset = (sluice_dataset *)(void *)opened;
    return SLUICE_OK;
}

void sluice_dataset_close(sluice_dataset *dataset)
{
    sl_dataset_close(sl_api_dataset(dataset));
}

sluice_status sluice_dataset_get_info(const sluice_dataset *dataset, sluice_dataset_info *info)
{
    if (dataset == NULL || info == NULL || !sl_api_is_tagged(info)) {
        return SLUICE_INVALID;
    }
    const sluice_dataset_info *own = &sl_api_const_dataset(dataset)->info;
    return sl_api_write_struct(info, own, sizeof(*own));
}

const char *sluice_dataset_describe(const sluice_dataset *dataset)
{
    return dataset != NULL ? sl_api_const_dataset(dataset)->kind : "";
}

/* Sets the type of a field's values in memory. */
static void dataset_set_type(sluice_field *field, const sl_field *own)
{
    field->type = (int32_t)own->type;
    field->dtype = SLUICE_U8;
    switch (own->type) {
    case SLUICE_FIELD_IMAGE:
        field->dims = 3; /* height x width x channels */
        field->shape[2] = 3;
        break;
    case SLUICE_FIELD_INT:
        field->dtype = SLUICE_I64;
        break;
    case SLUICE_FIELD_FLOAT:
        field->dtype = SLUICE_F64;
        break;
    case SLUICE_FIELD_BYTES:
    case SLUICE_FIELD_TEXT:
        field->dims = 1;
        break;
    case SLUICE_FIELD_TENSOR:
        field->dtype = (int32_t)own->dtype;
        field->dims = own->dims;
        for (uint32_t i = 0; i < own->dims; i++) {
            field->shape[i] = (int64_t)own->shape[i];
        }
        break;
    }
}

sluice_status sluice_dataset_get_field(const sluice_dataset *dataset, uint32_t index,
                                       sluice_field *field)
{
    const sl_dataset *own = sl_api_const_dataset(dataset);
    if (own == NULL || field == NULL || !sl_api_is_tagged(field) || index >= own->info.fields) {
        return SLUICE_INVALID;
    }
    sluice_field full = SLUICE_FIELD_INIT;
    dataset_set_type(&full, &own->fields[index]);
    full.compression = (int32_t)own->fields[index].compression;
    const sl_meaning *meaning = &own->fields[index].meaning;
    full.role = (int32_t)meaning->role;
    full.box_format = (int32_t)meaning->box_format;
    full.coordinates = (int32_t)meaning->coordinates;
    full.orientation = (int32_t)meaning->orientation;
    full.per_box = meaning->per_box;
    snprintf(full.name, sizeof(full.name), "%s", own->fields[index].name);
    snprintf(full.of, sizeof(full.of), "%s", meaning->of);
    return sl_api_write_struct(field, &full, sizeof(full));
}

sluice_status sluice_dataset_get_left_out(const sluice_dataset *dataset, uint32_t index,
                                          sluice_left_out *left_out)
{
    if (dataset == NULL || left_out == NULL || !sl_api_is_tagged(left_out)) {
        return SLUICE_INVALID;
    }
    const sl_dataset *own = sl_over_source(sl_api_const_dataset(dataset));
    if (index >= own->omissions.reasons) {
        return SLUICE_END;
    }
    const sl_omission *omission = &own->omissions.of[index];
    sluice_left_out full = SLUICE_LEFT_OUT_INIT;
    full.images = omission->images;
    full.count = omission->count;
    snprintf(full.reason, sizeof(full.reason), "%s", omission->reason);
    snprintf(full.example, sizeof(full.example), "%s", omission->example);
    return sl_api_write_struct(left_out, &full, sizeof(full));
}

const char *sluice_dataset_get_warning(const sluice_dataset *dataset, uint32_t index)
{
    if (dataset == NULL) {
        return NULL;
    }
    const sl_dataset *own = sl_over_source(sl_api_const_dataset(dataset));
    return index < own->warnings.count ? own->warnings.text[index] : NULL;
}

void sluice_field_get_meaning(const sluice_field *field, char *text, size_t bytes)
{
    sl_field own;
    if (text == NULL || bytes == 0) {
        return;
    }
    text[0] = '\0';
    if (field != NULL && sl_api_read_field(&own, field, NULL) == SLUICE_OK) {
        sl_meaning_text(&own, text, bytes);
    }
}

sluice_status sluice_dataset_format(uint32_t index, sluice_format *format)
{
    sluice_format full = SLUICE_FORMAT_INIT;
    const sl_format *found = sl_format_at(index);
    if (format == NULL) {
        return SLUICE_INVALID;
    }
    if (found == NULL) {
        return SLUICE_END;
    }
    full.takes_fields = found->takes_fields ? 1 : 0;
    full.takes_split = found->takes_split ? 1 : 0;
    snprintf(full.name, sizeof(full.name), "%s", found->name);
    snprintf(full.files, sizeof(full.files), "%s", found->files);
    return sl_api_write_struct(format, &full, sizeof(full));
}

const char *sluice_dataset_class_name(const sluice_dataset *dataset, int64_t label)
{
    const sl_dataset *own = sl_api_const_dataset(dataset);
    return own != NULL ? sl_dataset_class_name(own, label) : NULL;
}

/* Returns a value; NULL: no such field of that type, or the sample lacks it. */
static const sl_value *dataset_value_of(const sl_dataset *dataset, const sl_values *values,
                                        const char *name, sluice_field_type type)
{
    const uint32_t field = sl_dataset_field(dataset, name);
    const bool there = field != SL_FIELD_NONE && dataset->fields[field].type == type;
    return there && values->of[field].present ? &values->of[field] : NULL;
}

static uint32_t field_of_role(const sl_dataset *dataset, sluice_role role)
{
    for (uint32_t i = 0; i < dataset->info.fields; i++) {
        if (dataset->fields[i].meaning.role == role) {
            return i;
        }
    }
    return SL_FIELD_NONE;
}

static uint32_t annotated_pixels(const sl_value *value)
{
    return value->present && value->integer > 0 && value->integer <= UINT32_MAX
               ? (uint32_t)value->integer
               : 0;
}

/* Adds the annotated size of a sample whose fields are known without reading a file. */
static void add_annotated_size(const sl_dataset *dataset, const sl_sample *sample,
                               sluice_sample_info *info)
{
    const uint32_t width = field_of_role(dataset, SLUICE_ROLE_WIDTH);
    const uint32_t height = field_of_role(dataset, SLUICE_ROLE_HEIGHT);
    sl_values values;
    sluice_error error;
    if (width == SL_FIELD_NONE || height == SL_FIELD_NONE || sample->place.bytes > 0 ||
        sample->files > 0) {
        return;
    }
    memset(&values.buffers, 0, sizeof(values.buffers));
    sl_values_begin(&values, UINT64_C(1) << width | UINT64_C(1) << height);
    if (sl_dataset_unpack(dataset, sample, (sl_bytes){NULL, 0}, &values, &error) == SLUICE_OK) {
        info->width = annotated_pixels(&values.of[width]);
        info->height = annotated_pixels(&values.of[height]);
    }
    sl_values_end(&values);
}

static sluice_status describe_sample(const sl_dataset *dataset, uint64_t index,
                                     sluice_sample_info *info, sluice_error *error)
{
    _Static_assert(sizeof(info->key) == SL_KEY_MAX + 1, "any key fits");
    sl_sample sample;
    sl_values values;
    const sluice_status status = sl_dataset_describe(dataset, index, &sample, &values, error);
    if (status < 0) {
        return status;
    }
    const sl_value *image = dataset_value_of(dataset, &values, "image", SLUICE_FIELD_IMAGE);
    const sl_value *label = dataset_value_of(dataset, &values, "label", SLUICE_FIELD_INT);
    *info = (sluice_sample_info){.struct_size = sizeof(*info),
                                 .width = image != NULL ? image->width : 0,
                                 .height = image != NULL ? image->height : 0,
                                 .label = label != NULL ? label->integer : -1,
                                 .offset = sample.place.offset,
                                 .bytes = sample.place.bytes};
    if (info->width == 0) {
        add_annotated_size(dataset, &sample, info);
    }
    if (sl_objects_path(dataset->objects, sample.place.object, info->file, sizeof(info->file)) <
        0) {
        return sl_error_set(error, SLUICE_INVALID, "api", "the sample's path is too long");
    }
    return sl_dataset_key(dataset, index, info->key, sizeof(info->key), error);
}

sluice_status sluice_dataset_get_sample(const sluice_dataset *dataset, uint64_t index,
                                        sluice_sample_info *info, sluice_error *error)
{
    if (sl_api_lacks(error, dataset, "dataset") ||
        sl_api_lacks(error, info, "sluice_sample_info") ||
        sl_api_is_untagged(error, info, "sluice_sample_info")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    sluice_sample_info own;
    const sluice_status status =
        describe_sample(sl_api_const_dataset(dataset), index, &own, &reason);
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    return sl_api_write_struct(info, &own, sizeof(own));
}

static sluice_status dataset_read_field(const sl_dataset *dataset, uint64_t index, const char *name,
                                        sl_buffer buffer, size_t *size, sluice_error *error)
{
    const uint32_t field = sl_dataset_field(dataset, name);
    if (field == SL_FIELD_NONE) {
        return sl_dataset_refuse_field(dataset, name, error);
    }
    const sluice_status status = sl_dataset_check_order(dataset, SL_API_ONE_BY_ONE, error);
    return status < 0 ? status : sl_dataset_read_field(dataset, index, field, buffer, size, error);
}

// NOLINTNEXTLINE(readability-function-size): seven parameters, as in the public header
sluice_status sluice_dataset_read(const sluice_dataset *dataset, uint64_t index, const char *field,
                                  void *buffer, size_t capacity, size_t *bytes, sluice_error *error)
{
    if (sl_api_lacks(error, dataset, "dataset") || sl_api_lacks(error, field, "field") ||
        sl_api_lacks(error, bytes, "bytes") ||
        (capacity > 0 && sl_api_lacks(error, buffer, "buffer"))) {
        return SLUICE_INVALID;
    }
    const sl_dataset *own = sl_api_const_dataset(dataset);
    sluice_error reason;
    sluice_status status =
        dataset_read_field(own, index, field, (sl_buffer){buffer, capacity}, bytes, &reason);
    return status < 0 ? sl_api_fail(error, &reason) : status;
}

static sluice_status check_verify_options(const sl_dataset *dataset, sluice_verify_options *own,
                                          const sluice_verify_options *options, sluice_error *error)
{
    sluice_status status =
        sl_api_read_struct(own, sizeof(*own), options, "sluice_verify_options", error);
    if (status == SLUICE_OK) {
        status = sl_options_check(SLUICE_OPTIONS_VERIFY, own, "api", error);
    }
    if (status < 0) {
        return status;
    }
    if (own->reserved != 0) {
        return sl_error_set(error, SLUICE_INVALID, "api", "reserved must be 0");
    }
    if (own->workers == 0) {
        own->workers = sl_dataset_threads(dataset);
    }
    own->parts = own->parts > 0 ? own->parts : 1;
    if (own->part >= own->parts) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "part %u of %u does not exist: parts count from 0", own->part,
                            own->parts);
    }
    return SLUICE_OK;
}

sluice_status sluice_dataset_verify(const sluice_dataset *dataset,
                                    const sluice_verify_options *options,
                                    sluice_verify_result *result, sluice_error *error)
{
    if (sl_api_lacks(error, dataset, "dataset") ||
        sl_api_lacks(error, result, "sluice_verify_result") ||
        sl_api_is_untagged(error, result, "sluice_verify_result")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    sluice_verify_options own;
    sluice_verify_result found;
    sluice_status status =
        check_verify_options(sl_api_const_dataset(dataset), &own, options, &reason);
    if (sl_api_const_dataset(dataset)->info.front_to_back != 0) {
        own.workers = 1; /* samples in order */
    }
    if (status == SLUICE_OK) {
        status = sl_verify(sl_api_const_dataset(dataset), &own, SL_VERIFY_ALL, &found, &reason);
    }
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    return sl_api_write_struct(result, &found, sizeof(found));
}
