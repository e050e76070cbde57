/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_lengths: threads of open_many look up runs of samples, each its own.
 *
 * Samples of joined datasets that cannot be looked up are skipped, and read later.
 */
#include "field_lengths.h"

#include "dtype.h"
#include "minmax.h"
#include "open_many.h"
#include "over.h"
#include "scan.h"
#include "stop.h"
#include "thread.h"

#include <assert.h>
#include <string.h>

#define STAGE "dataset"

/* Number of samples of a job, and between checks for a stop. */
enum { LENGTHS_RUN = 4096, LENGTHS_LOOK = 256 };

typedef struct length_reader {
    const sl_dataset *dataset;
    bool joined; /* true for joined datasets: some parts may have to be read */
    pthread_mutex_t mutex;
    sl_unreadable *unreadable; /* NULL: unreadable samples are errors; guarded by `mutex` */
} length_reader;

/* A field that is looked up. */
typedef struct length_lookup {
    length_reader *reader;
    const sl_lengths_wish *wish;
    uint64_t run; /* number of samples of a job */
    atomic_bool
        unknown; /* true if some have to be read; set by any thread, read after joining them */
} length_lookup;

/* Fields for which samples are read. */
typedef struct length_scan {
    length_reader *reader;
    const sl_lengths_wish *wishes[SL_LENGTHS_WISHES];
    uint32_t count;
    uint64_t wanted; /* bits of the fields */
} length_scan;

static bool joins_several(const sl_dataset *dataset)
{
    return dataset->over != NULL && dataset->over->several;
}

/* Returns the first sample after `index` that is not in the same joined dataset. */
static uint64_t end_of_inner(const sl_dataset *dataset, uint64_t index)
{
    const sl_inner inner = sl_inner_of_sample(dataset, index);
    return index - inner.index + inner.of->info.samples;
}

/* Returns the source for samples `first` to `last`, judged by these two. */
static sluice_lengths_source source_of_part(const sl_dataset *dataset, uint32_t field,
                                            uint64_t first, uint64_t last)
{
    uint64_t bytes;
    sl_place place;
    sluice_error error;
    sl_error_clear(&error);
    if (sl_dataset_field_bytes(dataset, first, field, &bytes)) {
        return SLUICE_LENGTHS_KNOWN;
    }
    const bool found = dataset->tensors != NULL &&
                       sl_dataset_find_field(dataset, first, field, &place, &error) == SLUICE_OK &&
                       sl_dataset_find_field(dataset, last, field, &place, &error) == SLUICE_OK;
    return found ? SLUICE_LENGTHS_INDEX : SLUICE_LENGTHS_SAMPLES;
}

sluice_lengths_source sl_field_lengths_source(const sl_dataset *dataset, uint32_t field)
{
    const sl_field *of = &dataset->fields[field];
    if (of->type != SLUICE_FIELD_TENSOR || of->dims == 0) {
        return SLUICE_LENGTHS_NONE;
    }
    if (of->shape[0] != 0) {
        return SLUICE_LENGTHS_KNOWN;
    }
    const uint64_t samples = dataset->info.samples;
    sluice_lengths_source most = SLUICE_LENGTHS_KNOWN;
    for (uint64_t first = 0, end; first < samples && most != SLUICE_LENGTHS_SAMPLES; first = end) {
        end = joins_several(dataset) ? end_of_inner(dataset, first) : samples;
        const sluice_lengths_source source = source_of_part(dataset, field, first, end - 1);
        most = source > most ? source : most;
    }
    return most;
}

/* Records an unreadable sample. False: it is an error. */
static bool leave_length_out(length_reader *r, uint64_t index, const sluice_error *error)
{
    const int32_t status = error->status;
    if (r->unreadable == NULL || (status != SLUICE_CORRUPT && status != SLUICE_UNSUPPORTED)) {
        return false;
    }
    sl_lock(&r->mutex);
    if (!r->unreadable->found || index < r->unreadable->first) {
        *r->unreadable = (sl_unreadable){.found = true, .first = index, .error = *error};
        r->unreadable->error.sample = (int64_t)index;
    }
    sl_unlock(&r->mutex);
    return true;
}

/* ---- looking up ---- */

static sluice_status length_of(const sl_dataset *dataset, uint32_t field, uint64_t index,
                               uint64_t *length, sluice_error *error)
{
    uint64_t bytes;
    sl_tensor_form form;
    if (!sl_dataset_field_bytes(dataset, index, field, &bytes)) {
        sl_place place;
        const sluice_status status = sl_dataset_find_field(dataset, index, field, &place, error);
        if (status != SLUICE_OK) {
            return status;
        }
        bytes = place.bytes;
    }
    *length = 0;
    if (bytes > 0) {
        if (!sl_dataset_form(dataset, index, field, bytes, &form)) {
            return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                                "field \"%s\" of sample %llu has %llu bytes, which is not a whole "
                                "number of elements of its shape",
                                dataset->fields[field].name, (unsigned long long)index,
                                (unsigned long long)bytes);
        }
        *length = form.shape[0];
    }
    return SLUICE_OK;
}

/*
 * Looks up `*count` lengths from sample `first` on, or those before the first that it cannot look
 * up. Samples that are alike share one lookup.
 */
static sluice_status look_up_each(const length_lookup *own, uint64_t first, uint32_t *count,
                                  uint64_t *lengths, sluice_error *error)
{
    const sl_dataset *dataset = own->reader->dataset;
    const uint32_t all = *count;
    for (*count = 0; *count < all;) {
        const uint64_t index = first + *count;
        const sluice_status status =
            length_of(dataset, own->wish->field, index, &lengths[*count], error);
        uint64_t alike = 1;
        if (status == SLUICE_CORRUPT && leave_length_out(own->reader, index, error)) {
            lengths[*count] = SL_LENGTH_UNREADABLE;
        } else if (status != SLUICE_OK) {
            return status;
        } else if (!dataset->tensors->range(dataset, index, &alike)) {
            alike = 1;
        }
        const uint64_t length = lengths[*count];
        for (; alike > 0 && *count < all; alike--) {
            lengths[(*count)++] = length;
        }
    }
    return SLUICE_OK;
}

static void look_up_kept(const length_lookup *own, uint64_t first, uint32_t count,
                         uint64_t *lengths)
{
    const sl_dataset *dataset = own->reader->dataset;
    const uint64_t element = sl_dtype_bytes(dataset->fields[own->wish->field].dtype);
    uint64_t samples[LENGTHS_LOOK];
    for (uint32_t i = 0; i < count; i++) {
        samples[i] = first + i;
    }
    dataset->tensors->kept_bytes(dataset, own->wish->field, samples, count, lengths);
    for (uint32_t i = 0; i < count; i++) {
        lengths[i] >>= __builtin_ctzll(element); /* 1, 2, 4 or 8 */
    }
}

/*
 * Leaves sample `index` of a joined dataset to be read, and with it all samples of a dataset
 * without lookups: exactly those for which is_looked_up returns false. Returns the next sample.
 */
static uint64_t leave_unknown(length_lookup *own, uint64_t index)
{
    const sl_dataset *dataset = own->reader->dataset;
    /* relaxed: joining the threads orders it */
    atomic_store_explicit(&own->unknown, true, memory_order_relaxed);
    return sl_inner_of_sample(dataset, index).of->tensors == NULL ? end_of_inner(dataset, index)
                                                                  : index + 1;
}

static sluice_status look_up_run(void *ctx, uint32_t number, sluice_error *error)
{
    length_lookup *own = ctx;
    const sl_dataset *dataset = own->reader->dataset;
    const uint64_t begin = number * own->run;
    const uint64_t end = sl_min_u64(begin + own->run, dataset->info.samples);
    for (uint64_t first = begin; first < end;) {
        uint64_t lengths[LENGTHS_LOOK];
        uint32_t count = (uint32_t)sl_min_u64(LENGTHS_LOOK, end - first);
        sluice_status status = sl_stop_check(STAGE, error);
        if (status != SLUICE_OK) {
            return status;
        }
        if (dataset->tensors->kept_bytes != NULL) { /* datasets with lookups have tensor ops */
            look_up_kept(own, first, count, lengths);
        } else {
            status = look_up_each(own, first, &count, lengths, error);
        }
        if (count > 0) {
            own->wish->take(own->wish->ctx, first, count, lengths);
        }
        first += count;
        if (status == SLUICE_UNSUPPORTED && own->reader->joined) {
            first = leave_unknown(own, first);
        } else if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

static void take_fixed_lengths(const length_reader *r, const sl_lengths_wish *wish)
{
    uint64_t lengths[LENGTHS_LOOK];
    const uint64_t samples = r->dataset->info.samples;
    for (uint32_t i = 0; i < LENGTHS_LOOK; i++) {
        lengths[i] = (uint64_t)r->dataset->fields[wish->field].shape[0];
    }
    for (uint64_t first = 0; first < samples; first += LENGTHS_LOOK) {
        wish->take(wish->ctx, first, (uint32_t)sl_min_u64(LENGTHS_LOOK, samples - first), lengths);
    }
}

/*
 * Looks up all lengths. UNSUPPORTED: samples have to be read, all or those of some joined datasets.
 */
static sluice_status look_up_all(length_reader *r, const sl_lengths_wish *wish, sluice_error *error)
{
    const uint64_t samples = r->dataset->info.samples;
    const sluice_lengths_source source = sl_field_lengths_source(r->dataset, wish->field);
    length_lookup own = {
        .reader = r, .wish = wish, .run = sl_max_u64(LENGTHS_RUN, (samples - 1) / INT32_MAX + 1)};
    assert(source != SLUICE_LENGTHS_NONE);
    if (r->dataset->fields[wish->field].shape[0] != 0) {
        take_fixed_lengths(r, wish);
        return SLUICE_OK;
    }
    if (source == SLUICE_LENGTHS_SAMPLES && !r->joined) {
        return SLUICE_UNSUPPORTED;
    }
    const sluice_status status =
        sl_open_many((uint32_t)((samples - 1) / own.run + 1), look_up_run, &own, error);
    /* relaxed: sl_open_many has joined its threads */
    return status == SLUICE_OK && atomic_load_explicit(&own.unknown, memory_order_relaxed)
               ? SLUICE_UNSUPPORTED
               : status;
}

/* ---- reading ---- */

static void take_read_lengths(void *ctx, uint64_t index, const sl_values *values)
{
    const length_scan *scan = ctx;
    for (uint32_t i = 0; i < scan->count; i++) {
        const sl_lengths_wish *wish = scan->wishes[i];
        const sl_value *value = &values->of[wish->field];
        const uint64_t length = value->present ? value->shape[0] : 0;
        wish->take(wish->ctx, index, 1, &length);
    }
}

static bool pass_over_sample(void *ctx, uint64_t index, const sluice_error *error)
{
    const length_scan *scan = ctx;
    static const uint64_t unreadable = SL_LENGTH_UNREADABLE;
    if (!leave_length_out(scan->reader, index, error)) {
        return false;
    }
    for (uint32_t i = 0; i < scan->count; i++) {
        scan->wishes[i]->take(scan->wishes[i]->ctx, index, 1, &unreadable);
    }
    return true;
}

/*
 * For a joined dataset: returns whether the sample was looked up, by the same test as in
 * look_up_run.
 */
static bool is_looked_up(const void *ctx, uint64_t index)
{
    const length_scan *scan = ctx;
    sluice_error error;
    uint64_t length;
    sl_error_clear(&error);
    for (uint32_t i = 0; i < scan->count; i++) {
        if (length_of(scan->reader->dataset, scan->wishes[i]->field, index, &length, &error) ==
            SLUICE_UNSUPPORTED) {
            return false;
        }
    }
    return true;
}

sluice_status sl_field_lengths_read(const sl_dataset *dataset, const sl_lengths_wish *wishes,
                                    uint32_t count, const sluice_scan_options *options,
                                    sl_unreadable *unreadable, sluice_error *error)
{
    length_reader r = {
        .dataset = dataset, .joined = joins_several(dataset), .unreadable = unreadable};
    length_scan left = {.reader = &r, .count = 0};
    sluice_status status = SLUICE_OK;
    assert(count <= SL_LENGTHS_WISHES);
    if (unreadable != NULL) {
        *unreadable = (sl_unreadable){.found = false};
    }
    sl_mutex_init(&r.mutex);
    for (uint32_t i = 0; i < count && status == SLUICE_OK; i++) {
        status = look_up_all(&r, &wishes[i], error);
        if (status == SLUICE_UNSUPPORTED) {
            left.wishes[left.count++] = &wishes[i];
            left.wanted |= UINT64_C(1) << wishes[i].field;
            status = SLUICE_OK;
        }
    }
    if (status == SLUICE_OK && left.count > 0) {
        const sl_scan scan = {.dataset = dataset,
                              .wanted = left.wanted,
                              .take = take_read_lengths,
                              .ctx = &left,
                              .skip = r.joined ? is_looked_up : NULL,
                              .pass_over = pass_over_sample};
        status = sl_scan_run(&scan, options, error);
    }
    sl_mutex_destroy(&r.mutex);
    return status;
}

void sl_lengths_keep(void *ctx, uint64_t first, uint32_t count, const uint64_t *lengths)
{
    uint64_t *all = ctx;
    memcpy(all + first, lengths, count * sizeof(*lengths));
}
