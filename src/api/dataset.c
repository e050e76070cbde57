/* SPDX-License-Identifier: Apache-2.0 */
/* Public entry points of sluice/dataset.h. */
#include "dataset.h"
#include "api.h"
#include "cpu.h"
#include "error.h"
#include "verify.h"

#include <string.h>

enum { VERIFY_WORKERS_MAX = 1024 };

static sluice_status missing(sluice_error *error, const char *what)
{
    sluice_error reason;
    sl_error_set(&reason, SLUICE_INVALID, "api", "%s is missing", what);
    return sl_api_fail(error, &reason);
}

sluice_status sluice_dataset_open(sluice_dataset **dataset, const char *const *paths, size_t count,
                                  const sluice_dataset_options *options, sluice_error *error)
{
    if (!dataset) {
        return missing(error, "dataset");
    }
    *dataset = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!paths || !paths[i]) {
            return missing(error, "a path");
        }
    }
    sluice_error reason;
    sluice_dataset_options own;
    sl_dataset *opened = NULL;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), options, "sluice_dataset_options", &reason);
    if (status == SLUICE_OK) {
        status = sl_dataset_open(&opened, paths, count, &own, &reason);
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
    if (!dataset || !info) {
        return SLUICE_INVALID;
    }
    const sluice_dataset_info *own = &sl_api_const_dataset(dataset)->info;
    return sl_api_write_struct(info, own, sizeof(*own));
}

sluice_status sluice_dataset_field(const sluice_dataset *dataset, uint32_t index, const char **name,
                                   sluice_field_type *type)
{
    if (!dataset || !name || !type) {
        return SLUICE_INVALID;
    }
    const sl_dataset *own = sl_api_const_dataset(dataset);
    if (index >= own->info.fields) {
        return SLUICE_INVALID;
    }
    *name = own->fields[index].name;
    *type = own->fields[index].type;
    return SLUICE_OK;
}

const char *sluice_dataset_class_name(const sluice_dataset *dataset, int64_t label)
{
    const sl_dataset *own = sl_api_const_dataset(dataset);
    return own ? own->ops->class_name(own, label) : NULL;
}

/* Keeps the end, which says more, when `text` does not fit. */
static void copy_end(char *to, size_t bytes, const char *text)
{
    size_t length = strlen(text);
    size_t skip = length >= bytes ? length - (bytes - 1) : 0;
    memcpy(to, text + skip, length - skip + 1);
}

static sluice_status describe_sample(const sl_dataset *dataset, uint64_t index,
                                     sluice_sample_info *info, sluice_error *error)
{
    sl_sample sample;
    sl_values values;
    char text[SL_KEY_MAX + 1];
    sluice_status status = sl_dataset_describe(dataset, index, &sample, &values, error);
    if (status == SLUICE_OK) {
        status = sl_dataset_key(dataset, index, text, sizeof(text), error);
    }
    if (status < 0) {
        return status;
    }
    const uint32_t image = sl_dataset_field(dataset, "image");
    const uint32_t label = sl_dataset_field(dataset, "label");
    *info = (sluice_sample_info){.struct_size = sizeof(*info),
                                 .width = image != SL_FIELD_NONE ? values.of[image].width : 0,
                                 .height = image != SL_FIELD_NONE ? values.of[image].height : 0,
                                 .label = label != SL_FIELD_NONE ? values.of[label].integer : -1,
                                 .offset = sample.place.offset,
                                 .bytes = sample.place.bytes};
    copy_end(info->key, sizeof(info->key), text);
    if (sl_objects_path(dataset->objects, sample.place.object, text, sizeof(text)) < 0) {
        return sl_error_set(error, SLUICE_INVALID, "api", "the sample's path is too long");
    }
    copy_end(info->file, sizeof(info->file), text);
    return SLUICE_OK;
}

sluice_status sluice_dataset_get_sample(const sluice_dataset *dataset, uint64_t index,
                                        sluice_sample_info *info, sluice_error *error)
{
    if (!dataset || !info) {
        return missing(error, dataset ? "info" : "dataset");
    }
    sluice_error reason;
    sluice_sample_info own;
    sluice_status status = describe_sample(sl_api_const_dataset(dataset), index, &own, &reason);
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    return sl_api_write_struct(info, &own, sizeof(own));
}

sluice_status sluice_dataset_read_image(const sluice_dataset *dataset, uint64_t index, void *buffer,
                                        size_t capacity, size_t *bytes, sluice_error *error)
{
    if (!dataset || !bytes || (!buffer && capacity > 0)) {
        return missing(error, dataset ? "buffer or bytes" : "dataset");
    }
    const sl_dataset *own = sl_api_const_dataset(dataset);
    sluice_error reason;
    sluice_status status = sl_dataset_read_field(own, index, sl_dataset_field(own, "image"),
                                                 (sl_buffer){buffer, capacity}, bytes, &reason);
    return status < 0 ? sl_api_fail(error, &reason) : status;
}

static sluice_status check_verify_options(sluice_verify_options *own,
                                          const sluice_verify_options *options, sluice_error *error)
{
    sluice_status status =
        sl_api_read_struct(own, sizeof(*own), options, "sluice_verify_options", error);
    if (status < 0) {
        return status;
    }
    if (own->workers > VERIFY_WORKERS_MAX || own->decode > 1 || own->reserved != 0) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "workers must be at most %d, decode 0 or 1, reserved 0",
                            VERIFY_WORKERS_MAX);
    }
    own->workers = own->workers > 0 ? own->workers : sl_cpu_count();
    return SLUICE_OK;
}

sluice_status sluice_dataset_verify(const sluice_dataset *dataset,
                                    const sluice_verify_options *options,
                                    sluice_verify_result *result, sluice_error *error)
{
    if (!dataset || !result) {
        return missing(error, dataset ? "result" : "dataset");
    }
    sluice_error reason;
    sluice_verify_options own;
    sluice_verify_result found;
    sluice_status status = check_verify_options(&own, options, &reason);
    if (status == SLUICE_OK) {
        status = sl_verify(sl_api_const_dataset(dataset), &own, &found, &reason);
    }
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    return sl_api_write_struct(result, &found, sizeof(found));
}
