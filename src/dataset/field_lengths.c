/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_lengths: threads of open_many look up runs of samples, each its own part of the lengths. Of
 * several joined datasets those that cannot be looked up are noted as UNKNOWN meanwhile, and read.
 */
#include "field_lengths.h"

#include "dtype.h"
#include "minmax.h"
#include "open_many.h"
#include "over.h"
#include "scan.h"
#include "stop.h"

#include <assert.h>

#define STAGE "dataset"

/* Samples of a job, and between two looks at the stop. */
enum { LENGTHS_RUN = 4096, LENGTHS_LOOK = 256 };
#define UNKNOWN UINT64_MAX

typedef struct length_reader {
    const sl_dataset *dataset;
    uint32_t field;
    uint64_t *lengths;
    uint64_t run;        /* samples of a job */
    bool joined;         /* of several datasets, some of which may have to be read */
    atomic_bool unknown; /* some do. Set by any thread, read once they have been joined */
} length_reader;

sluice_lengths_source sl_field_lengths_source(const sl_dataset *dataset, uint32_t field)
{
    const sl_field *of = &dataset->fields[field];
    uint64_t bytes;
    sl_place place;
    sluice_error error;
    sl_error_clear(&error);
    if (of->type != SLUICE_FIELD_TENSOR || of->dims == 0 || of->shape[0] != 0) {
        return SLUICE_LENGTHS_NONE;
    }
    if (sl_dataset_field_bytes(dataset, 0, field, &bytes)) {
        return SLUICE_LENGTHS_KNOWN;
    }
    /* The last one may be of another dataset that was joined. */
    const uint64_t last = dataset->info.samples - 1;
    const bool found = dataset->tensors != NULL &&
                       sl_dataset_find_field(dataset, 0, field, &place, &error) == SLUICE_OK &&
                       sl_dataset_find_field(dataset, last, field, &place, &error) == SLUICE_OK;
    return found ? SLUICE_LENGTHS_INDEX : SLUICE_LENGTHS_SAMPLES;
}

static bool joins_several(const sl_dataset *dataset)
{
    return dataset->over != NULL && dataset->over->several;
}

static sluice_status length_of(const length_reader *r, uint64_t index, sluice_error *error)
{
    uint64_t bytes;
    sl_tensor_form form;
    if (!sl_dataset_field_bytes(r->dataset, index, r->field, &bytes)) {
        sl_place place;
        const sluice_status status =
            sl_dataset_find_field(r->dataset, index, r->field, &place, error);
        if (status != SLUICE_OK) {
            return status;
        }
        bytes = place.bytes;
    }
    r->lengths[index] = 0;
    if (bytes > 0) {
        if (!sl_dataset_form(r->dataset, index, r->field, bytes, &form)) {
            return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                                "field \"%s\" of sample %llu has %llu bytes, which are not whole "
                                "elements of its shape",
                                r->dataset->fields[r->field].name, (unsigned long long)index,
                                (unsigned long long)bytes);
        }
        r->lengths[index] = form.shape[0];
    }
    return SLUICE_OK;
}

/* Leaves the samples of a joined dataset from `index` on to be read, before `end`. Returns the
 * first one that is not of it. */
static uint64_t leave_unknown(length_reader *r, uint64_t index, uint64_t end)
{
    const sl_inner inner = sl_inner_of_sample(r->dataset, index);
    const uint64_t behind = sl_min_u64(index - inner.index + inner.of->info.samples, end);
    for (; index < behind; index++) {
        r->lengths[index] = UNKNOWN;
    }
    /* relaxed: joining the threads orders it */
    atomic_store_explicit(&r->unknown, true, memory_order_relaxed);
    return behind;
}

/* Samples that are alike share one look-up. */
static sluice_status look_up_run(void *ctx, uint32_t number, sluice_error *error)
{
    length_reader *r = ctx;
    uint64_t index = number * r->run;
    const uint64_t end = sl_min_u64(index + r->run, r->dataset->info.samples);
    while (index < end) {
        uint64_t alike = 1;
        sluice_status status = index % LENGTHS_LOOK == 0 ? sl_stop_check(STAGE, error) : SLUICE_OK;
        if (status == SLUICE_OK) {
            status = length_of(r, index, error);
        }
        if (status == SLUICE_UNSUPPORTED && r->joined) {
            index = leave_unknown(r, index, end);
            continue;
        }
        if (status != SLUICE_OK) {
            return status;
        }
        if (!r->dataset->tensors->range(r->dataset, index, &alike)) {
            alike = 1;
        }
        const uint64_t first = index++;
        for (; alike > 1 && index < end; alike--) {
            r->lengths[index++] = r->lengths[first];
        }
    }
    return SLUICE_OK;
}

static void take_length(void *ctx, uint64_t index, const sl_values *values)
{
    const length_reader *r = ctx;
    const sl_value *value = &values->of[r->field];
    r->lengths[index] = value->present ? value->shape[0] : 0;
}

static bool is_length_known(const void *ctx, uint64_t index)
{
    const length_reader *r = ctx;
    return r->lengths[index] != UNKNOWN;
}

// NOLINTBEGIN(readability-non-const-parameter): written to, by way of `r`
sluice_status sl_field_lengths_read(const sl_dataset *dataset, uint32_t field, uint64_t *lengths,
                                    const sluice_scan_options *options, sluice_error *error)
// NOLINTEND(readability-non-const-parameter)
{
    length_reader r = {
        .dataset = dataset, .field = field, .lengths = lengths, .joined = joins_several(dataset)};
    const uint64_t samples = dataset->info.samples;
    const sluice_lengths_source source = sl_field_lengths_source(dataset, field);
    assert(source != SLUICE_LENGTHS_NONE);
    sluice_status status = SLUICE_UNSUPPORTED;
    if (source != SLUICE_LENGTHS_SAMPLES || r.joined) {
        r.run = sl_max_u64(LENGTHS_RUN, (samples - 1) / INT32_MAX + 1);
        status = sl_open_many((uint32_t)((samples - 1) / r.run + 1), look_up_run, &r, error);
    }
    const bool some = status == SLUICE_OK && atomic_load_explicit(&r.unknown, memory_order_relaxed);
    if (status == SLUICE_UNSUPPORTED || some) {
        const sl_scan scan = {dataset, UINT64_C(1) << field, take_length, &r,
                              some ? is_length_known : NULL};
        status = sl_scan_run(&scan, options, error);
    }
    return status;
}
