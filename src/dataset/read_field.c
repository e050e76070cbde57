/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_field: reads and unpacks fields and keys of single samples on the calling thread, for tools
 * and opening. Any thread; each call has its own memory.
 */
#include "dataset.h"
#include "memory.h"
#include "packed_value.h"

#include <string.h>

#define STAGE "dataset"

static sluice_status read_field_read_stored(const sl_dataset *dataset, sl_stored_sample *r,
                                            size_t *bytes, sluice_error *error)
{
    size_t size = 0;
    sluice_status status = sl_dataset_read(dataset, &r->sample, (sl_buffer){NULL, 0}, &size, error);
    if (status < 0) {
        return status;
    }
    r->bytes = sl_malloc(size > 0 ? size : 1);
    if (r->bytes == NULL) {
        return sl_no_memory(error, STAGE, "for a sample of %zu bytes", size);
    }
    const size_t capacity = size;
    if (capacity > 0) {
        status =
            sl_dataset_read(dataset, &r->sample, (sl_buffer){r->bytes, capacity}, &size, error);
    }
    if (status == SLUICE_AGAIN) {
        return sl_error_set(error, SLUICE_IO, STAGE, "the file grew while it was read");
    }
    if (status < 0) {
        return status;
    }
    *bytes = size;
    return sl_dataset_unpack(dataset, &r->sample, (sl_bytes){r->bytes, size}, &r->values, error);
}

static sluice_status read_field_copy(const void *data, size_t bytes, sl_buffer buffer, size_t *size)
{
    *size = bytes;
    if (bytes > buffer.capacity) {
        return SLUICE_AGAIN;
    }
    if (bytes > 0) {
        memcpy(buffer.data, data, bytes);
    }
    return SLUICE_OK;
}

static sluice_status read_field_unpack(const sl_value *value, sl_buffer buffer, size_t *size,
                                       sluice_error *error)
{
    uint64_t bytes = 0;
    const sluice_status status = sl_packed_size(value, SL_RECORD_BYTES_MAX, &bytes, error);
    *size = bytes;
    if (status < 0 || bytes > buffer.capacity) {
        return status < 0 ? status : SLUICE_AGAIN;
    }
    return sl_packed_unpack_to(NULL, value, buffer.data, bytes, error);
}

static sluice_status read_field_give(const sl_field *field, const sl_value *value, sl_buffer buffer,
                                     size_t *size, sluice_error *error)
{
    *size = 0;
    if (!value->present) {
        return SLUICE_OK;
    }
    if (field->type == SLUICE_FIELD_INT) {
        return read_field_copy(&value->integer, sizeof(value->integer), buffer, size);
    }
    if (field->type == SLUICE_FIELD_FLOAT) {
        return read_field_copy(&value->number, sizeof(value->number), buffer, size);
    }
    return sl_is_packed(value)
               ? read_field_unpack(value, buffer, size, error)
               : read_field_copy(value->bytes.data, value->bytes.size, buffer, size);
}

static sl_stored_sample *new_record(uint64_t wanted, sluice_error *error)
{
    sl_stored_sample *r = sl_calloc(1, sizeof(*r));
    if (r == NULL) {
        (void)sl_no_memory(error, STAGE, "for a sample");
    } else {
        sl_values_begin(&r->values, wanted);
    }
    return r;
}

void sl_dataset_free_sample(sl_stored_sample *record)
{
    if (record != NULL) {
        sl_free(record->bytes);
        sl_values_end(&record->values);
        sl_free(record);
    }
}

sluice_status sl_dataset_describe(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                  sl_values *values, sluice_error *error)
{
    size_t bytes = 0;
    sl_stored_sample *r = new_record(SL_VALUES_ALL, error);
    if (r == NULL) {
        return SLUICE_NOMEM;
    }
    sluice_status status = sl_dataset_find(dataset, index, &r->sample, error);
    if (status == SLUICE_OK && r->sample.place.bytes == 0 && r->sample.files == 0) {
        /* everything except the images themselves is in the index */
        status = sl_dataset_unpack(dataset, &r->sample, (sl_bytes){NULL, 0}, &r->values, error);
    } else if (status == SLUICE_OK) {
        status = read_field_read_stored(dataset, r, &bytes, error);
    }
    *sample = r->sample;
    if (sample->files > 0) {
        sample->place.bytes = (uint32_t)bytes;
    }
    *values = r->values;
    memset(&values->buffers, 0, sizeof(values->buffers));
    sl_dataset_free_sample(r);
    return status;
}

sluice_status sl_dataset_read_sample(const sl_dataset *dataset, uint64_t index, uint64_t wanted,
                                     sl_stored_sample **record, sluice_error *error)
{
    size_t bytes = 0;
    *record = NULL;
    sl_stored_sample *r = new_record(wanted, error);
    if (r == NULL) {
        return SLUICE_NOMEM;
    }
    sluice_status status = sl_dataset_find(dataset, index, &r->sample, error);
    if (status == SLUICE_OK) {
        status = read_field_read_stored(dataset, r, &bytes, error);
        if (status < 0) {
            sl_sample_blame(dataset, &r->sample, NULL, error);
        }
    }
    if (status < 0) {
        sl_dataset_free_sample(r);
        return status;
    }
    *record = r;
    return SLUICE_OK;
}

sluice_status sl_dataset_read_field(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                    sl_buffer buffer, size_t *size, sluice_error *error)
{
    *size = 0;
    sl_stored_sample *r = NULL;
    sluice_status status = sl_dataset_read_sample(dataset, index, UINT64_C(1) << field, &r, error);
    if (status < 0) {
        return status;
    }
    const sl_value *value = &r->values.of[field];
    status = read_field_give(&dataset->fields[field], value, buffer, size, error);
    if (status < 0) {
        sl_sample_blame(dataset, &r->sample, value, error);
    }
    sl_dataset_free_sample(r);
    return status;
}

/* Adds the sample's file to an error, if it is known without I/O. */
static void read_field_name_file(const sl_dataset *dataset, uint64_t index, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    sl_sample sample;
    sl_place lookup;
    sl_refusal why;
    if (sl_dataset_locate(dataset, index, &sample, &lookup, &why) == SLUICE_OK &&
        sl_objects_path(dataset->objects, sample.place.object, path, sizeof(path)) == SLUICE_OK) {
        sl_error_set_path(error, path);
    }
}

sluice_status sl_dataset_key(const sl_dataset *dataset, uint64_t index, char *key, size_t bytes,
                             sluice_error *error)
{
    const uint32_t field = sl_dataset_field(dataset, "key");
    size_t size = 0;
    sluice_status status = SLUICE_OK;
    key[0] = '\0';
    if (dataset->ops->key != NULL) {
        status = dataset->ops->key(dataset, index, key, bytes);
    } else if (field != SL_FIELD_NONE && dataset->fields[field].type == SLUICE_FIELD_TEXT) {
        status = sl_dataset_read_field(dataset, index, field,
                                       (sl_buffer){(uint8_t *)key, bytes - 1}, &size, error);
        if (status < 0) {
            return status;
        }
        key[status == SLUICE_OK ? size : 0] = '\0';
    }
    if (status == SLUICE_OK) {
        return status;
    }
    if (status < 0 && status != SLUICE_INVALID) {
        (void)sl_error_set(error, status, STAGE,
                           "cannot read the key of sample %llu: the file was modified since it was "
                           "opened, or the storage does not respond",
                           (unsigned long long)index);
        read_field_name_file(dataset, index, error);
        return status;
    }
    return sl_error_set(error, SLUICE_INVALID, STAGE,
                        "the key of sample %llu has more than %zu bytes", (unsigned long long)index,
                        bytes - 1);
}
