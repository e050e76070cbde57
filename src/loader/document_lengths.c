/* SPDX-License-Identifier: Apache-2.0 */
/* document_lengths: threads of open_many look at runs of samples, each with buffers of its own. */
#include "document_lengths.h"

#include "dtype.h"
#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "open_many.h"
#include "stop.h"

#define STAGE "loader"

/* Samples of a job. */
enum { LENGTHS_RUN = 4096 };

typedef struct length_reader {
    const sl_dataset *dataset;
    uint32_t field;
    uint32_t *lengths;
} length_reader;

/* What a job reads samples into. */
typedef struct length_buffer {
    sl_values values;
    uint8_t *bytes;
    size_t capacity;
} length_buffer;

static sluice_status length_refuse(const length_reader *r, uint64_t index, const char *what,
                                   sluice_error *error)
{
    const sluice_status status =
        sl_error_set(error, SLUICE_UNSUPPORTED, STAGE, "document %llu of \"%s\" %s",
                     (unsigned long long)index, r->dataset->fields[r->field].name, what);
    if (error != NULL) {
        error->sample = (int64_t)index;
    }
    return status;
}

/* By the index. UNSUPPORTED: it does not know. */
static sluice_status length_of_index(const length_reader *r, uint64_t index, uint64_t *elements,
                                     sluice_error *error)
{
    const sl_dataset *dataset = r->dataset;
    sl_place place;
    uint64_t bytes;
    sluice_status status = SLUICE_OK;
    if (dataset->tensors == NULL) {
        return SLUICE_UNSUPPORTED;
    }
    if (!sl_dataset_field_bytes(dataset, index, r->field, &bytes)) {
        status = sl_dataset_find_field(dataset, index, r->field, &place, error);
        bytes = place.bytes;
    }
    if (status == SLUICE_OK) {
        *elements = bytes / sl_dtype_bytes(dataset->fields[r->field].dtype);
    }
    return status;
}

/* A buffer for all of the sample's stored bytes. */
static sluice_status read_stored(const length_reader *r, const sl_sample *sample, length_buffer *b,
                                 size_t *size, sluice_error *error)
{
    sluice_status status;
    do {
        status =
            sl_dataset_read(r->dataset, sample, (sl_buffer){b->bytes, b->capacity}, size, error);
        if (status == SLUICE_AGAIN) {
            sl_free(b->bytes);
            b->capacity = *size;
            b->bytes = sl_malloc(b->capacity);
            if (b->bytes == NULL) {
                b->capacity = 0;
                return sl_no_memory(error, STAGE, "for a document of %zu bytes", *size);
            }
        }
    } while (status == SLUICE_AGAIN);
    return status;
}

static sluice_status length_of_sample(const length_reader *r, uint64_t index, length_buffer *b,
                                      uint64_t *elements, sluice_error *error)
{
    sl_sample sample;
    size_t size = 0;
    sluice_status status = sl_dataset_find(r->dataset, index, &sample, error);
    if (status == SLUICE_OK &&
        (sample.place.bytes > 0 || sample.files > 0 || r->dataset->whole_objects)) {
        status = read_stored(r, &sample, b, &size, error);
    }
    if (status == SLUICE_OK) {
        status =
            sl_dataset_unpack(r->dataset, &sample, (sl_bytes){b->bytes, size}, &b->values, error);
    }
    const sl_value *value = &b->values.of[r->field];
    if (status == SLUICE_OK && !value->present) {
        return length_refuse(r, index, "is missing: every sample of packed sequences needs one",
                             error);
    }
    *elements = status == SLUICE_OK ? value->shape[0] : 0;
    return status;
}

static sluice_status length_read(const length_reader *r, uint64_t index, length_buffer *b,
                                 sluice_error *error)
{
    uint64_t elements = 0;
    sluice_status status = length_of_index(r, index, &elements, NULL);
    if (status == SLUICE_UNSUPPORTED) {
        status = length_of_sample(r, index, b, &elements, error);
    } else if (status < 0) { /* once more, for the reason */
        return length_of_index(r, index, &elements, error);
    }
    if (status == SLUICE_OK && elements > UINT32_MAX) {
        return length_refuse(r, index, "has more than 2^32 - 1 elements", error);
    }
    r->lengths[index] = (uint32_t)elements;
    return status;
}

static sluice_status read_length_run(void *ctx, uint32_t number, sluice_error *error)
{
    const length_reader *r = ctx;
    const uint64_t first = (uint64_t)number * LENGTHS_RUN;
    const uint64_t end = sl_min_u64(first + LENGTHS_RUN, r->dataset->info.samples);
    length_buffer *b = sl_calloc(1, sizeof(*b));
    if (b == NULL) {
        return sl_no_memory(error, STAGE, "for the lengths of documents");
    }
    sl_values_begin(&b->values, UINT64_C(1) << r->field);
    sluice_status status = SLUICE_OK;
    for (uint64_t i = first; i < end && status == SLUICE_OK; i++) {
        status = sl_stop_check(STAGE, error);
        if (status == SLUICE_OK) {
            status = length_read(r, i, b, error);
        }
    }
    sl_values_end(&b->values);
    sl_free(b->bytes);
    sl_free(b);
    return status;
}

sluice_status sl_document_lengths_read(const sl_dataset *dataset, uint32_t field,
                                       uint32_t **lengths, sluice_error *error)
{
    const uint64_t samples = dataset->info.samples;
    length_reader r = {.dataset = dataset, .field = field};
    *lengths = NULL;
    r.lengths = sl_calloc(samples, sizeof(*r.lengths));
    if (r.lengths == NULL) {
        return sl_no_memory(error, STAGE, "for the lengths of %llu documents",
                            (unsigned long long)samples);
    }
    const sluice_status status =
        sl_open_many((uint32_t)((samples - 1) / LENGTHS_RUN + 1), read_length_run, &r, error);
    if (status != SLUICE_OK) {
        sl_free(r.lengths);
        return status;
    }
    *lengths = r.lengths;
    return SLUICE_OK;
}
