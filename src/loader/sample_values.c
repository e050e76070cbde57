/* SPDX-License-Identifier: Apache-2.0 */
/* sample_values: threads of open_many read runs of samples, each its own part of the values. */
#include "sample_values.h"

#include "error.h"
#include "field_lengths.h"
#include "memory.h"
#include "minmax.h"
#include "open_many.h"
#include "picture_sizes.h"
#include "stop.h"

#include <string.h>

#define STAGE "loader"

/* Samples of a job. */
enum { VALUES_RUN = 256 };

typedef struct value_reader {
    const sl_sample_values *given;
    const sl_dataset *dataset;
    uint32_t field;
    double *values;
} value_reader;

static double number_of_value(const value_reader *r, const sl_value *value)
{
    const sl_field *field = &r->dataset->fields[r->field];
    double elements = 1;
    if (field->type == SLUICE_FIELD_INT) {
        return (double)value->integer;
    }
    if (field->type == SLUICE_FIELD_FLOAT) {
        return value->number;
    }
    for (uint32_t i = 0; i < field->dims; i++) {
        elements *= (double)value->shape[i];
    }
    return elements;
}

/* Takes the number from the index, if a sample's file holds only its image. */
static bool take_from_index(const value_reader *r, uint64_t index)
{
    const sluice_field_type type = r->dataset->fields[r->field].type;
    sl_sample sample;
    sl_values values;
    sluice_error error;
    if ((type != SLUICE_FIELD_INT && type != SLUICE_FIELD_FLOAT) ||
        sl_dataset_find(r->dataset, index, &sample, &error) != SLUICE_OK ||
        sample.place.bytes > 0 || sample.files > 0) {
        return false;
    }
    memset(&values.buffers, 0, sizeof(values.buffers));
    sl_values_begin(&values, UINT64_C(1) << r->field);
    const bool found =
        sl_dataset_unpack(r->dataset, &sample, (sl_bytes){NULL, 0}, &values, &error) == SLUICE_OK &&
        values.of[r->field].present;
    if (found) {
        r->values[index] = number_of_value(r, &values.of[r->field]);
    }
    sl_values_end(&values);
    return found;
}

static sluice_status read_value(const value_reader *r, uint64_t index, sluice_error *error)
{
    sl_stored_sample *stored = NULL;
    if (take_from_index(r, index)) {
        return SLUICE_OK;
    }
    const sluice_status status =
        sl_dataset_read_sample(r->dataset, index, UINT64_C(1) << r->field, &stored, error);
    if (status != SLUICE_OK) {
        return status;
    }
    const sl_value *value = &stored->values.of[r->field];
    const bool present = value->present;
    if (present) {
        r->values[index] = number_of_value(r, value);
    }
    sl_dataset_free_sample(stored);
    return present
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_INVALID, STAGE,
                              "option %s: sample %llu has no field \"%s\": give an array",
                              r->given->field_option, (unsigned long long)index, r->given->field);
}

static sluice_status read_run(void *ctx, uint32_t number, sluice_error *error)
{
    const value_reader *r = ctx;
    const uint64_t first = (uint64_t)number * VALUES_RUN;
    const uint64_t end = sl_min_u64(first + VALUES_RUN, r->dataset->info.samples);
    sluice_status status = SLUICE_OK;
    for (uint64_t i = first; i < end && status == SLUICE_OK; i++) {
        status = read_value(r, i, error);
    }
    return status;
}

static sluice_status find_field(value_reader *r, sluice_error *error)
{
    const sl_sample_values *given = r->given;
    r->field = sl_dataset_field(r->dataset, given->field);
    if (r->field >= SL_FIELDS_MAX) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "option %s: the dataset has no field \"%s\"", given->field_option,
                            given->field);
    }
    const sluice_field_type type = r->dataset->fields[r->field].type;
    const bool measured = type == SLUICE_FIELD_TENSOR || type == SLUICE_FIELD_IMAGE;
    if (type == SLUICE_FIELD_INT || type == SLUICE_FIELD_FLOAT ||
        (measured && given->options != NULL)) {
        return SLUICE_OK;
    }
    return sl_error_set(error, SLUICE_INVALID, STAGE, "option %s: field \"%s\" is not %s",
                        given->field_option, given->field,
                        given->options != NULL ? "an int, a float, a tensor or an image"
                                               : "an int or a float");
}

static void take_ratio(void *ctx, uint64_t index, const sluice_size *size)
{
    const value_reader *r = ctx;
    r->values[index] = size != NULL ? (double)size->width / size->height : 0;
}

static int32_t reading_is_stopped(void *user)
{
    sluice_error ignored;
    (void)user;
    return sl_stop_check(STAGE, &ignored) != SLUICE_OK;
}

/* Returns whether the format has tensors' numbers of elements, without reading samples: it has the
 * length of the first dimension. */
static bool are_indexed(const value_reader *r)
{
    const sl_field *field = &r->dataset->fields[r->field];
    if (field->type != SLUICE_FIELD_TENSOR || field->dims == 0 || field->shape[0] != 0) {
        return false;
    }
    for (uint32_t i = 1; i < field->dims; i++) {
        if (field->shape[i] == 0) {
            return false;
        }
    }
    const sluice_lengths_source source = sl_field_lengths_source(r->dataset, r->field);
    return source == SLUICE_LENGTHS_KNOWN || source == SLUICE_LENGTHS_INDEX;
}

/* Takes the elements of all tensors, by their lengths. One without elements may be missing, so its
 * sample is read. */
static sluice_status take_field_lengths(value_reader *r, const uint64_t *lengths,
                                        sluice_error *error)
{
    const sl_field *field = &r->dataset->fields[r->field];
    sluice_status status = SLUICE_OK;
    for (uint64_t i = 0; i < r->dataset->info.samples && status == SLUICE_OK; i++) {
        r->values[i] = (double)lengths[i];
        for (uint32_t k = 1; k < field->dims; k++) {
            r->values[i] *= (double)field->shape[k];
        }
        if (lengths[i] == 0) {
            status = read_value(r, i, error);
        }
    }
    return status;
}

static sluice_status look_up_lengths(value_reader *r, sluice_error *error)
{
    const sluice_scan_options options = {.struct_size = sizeof(options),
                                         .should_stop = reading_is_stopped};
    const uint64_t samples = r->dataset->info.samples;
    uint64_t *lengths = sl_calloc(samples, sizeof(*lengths));
    if (lengths == NULL) {
        return sl_no_memory(error, STAGE, "for the lengths of %llu samples",
                            (unsigned long long)samples);
    }
    const sl_lengths_wish wish = {r->field, sl_lengths_keep, lengths};
    sluice_status status = sl_field_lengths_read(r->dataset, &wish, 1, &options, NULL, error);
    if (status == SLUICE_OK) {
        status = take_field_lengths(r, lengths, error);
    }
    sl_free(lengths);
    return status;
}

/* Reads the field's values. */
static sluice_status read_field(value_reader *r, sluice_error *error)
{
    const sl_dataset *dataset = r->dataset;
    if (dataset->fields[r->field].type == SLUICE_FIELD_IMAGE) {
        const sl_picture_sizes wanted = {.options = r->given->options,
                                         .dataset = dataset,
                                         .field = r->field,
                                         .found = take_ratio,
                                         .ctx = r};
        return sl_picture_sizes_find(&wanted, error);
    }
    if (are_indexed(r)) {
        return look_up_lengths(r, error);
    }
    return sl_open_many((uint32_t)((dataset->info.samples - 1) / VALUES_RUN + 1), read_run, r,
                        error);
}

static sluice_status check_given(const sl_sample_values *given, uint64_t samples,
                                 sluice_error *error)
{
    if ((given->array == NULL) != (given->count == 0)) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "option %s needs a non-empty array and the number of its values",
                            given->option);
    }
    if (given->array != NULL && given->field != NULL) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "option %s is given both as an array and as a field: choose one",
                            given->option);
    }
    return given->array == NULL || given->count == samples
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_INVALID, STAGE,
                              "option %s has %llu values, but the dataset has %llu samples",
                              given->option, (unsigned long long)given->count,
                              (unsigned long long)samples);
}

sluice_status sl_sample_values_read(const sl_sample_values *given, const sl_dataset *dataset,
                                    double **values, sluice_error *error)
{
    const uint64_t samples = dataset->info.samples;
    value_reader r = {.given = given, .dataset = dataset};
    *values = NULL;
    sluice_status status = check_given(given, samples, error);
    if (status == SLUICE_OK && given->field != NULL) {
        status = find_field(&r, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    r.values = sl_calloc(samples, sizeof(*r.values));
    if (r.values == NULL) {
        return sl_no_memory(error, STAGE, "for the values of samples");
    }
    if (given->array != NULL) {
        memcpy(r.values, given->array, samples * sizeof(*r.values));
    } else {
        status = read_field(&r, error);
    }
    if (status != SLUICE_OK) {
        sl_free(r.values);
        return status;
    }
    *values = r.values;
    return SLUICE_OK;
}
