/* SPDX-License-Identifier: Apache-2.0 */
/* known_sizes: threads of open_many take runs of samples; the mutex guards the bounds. */
#include "known_sizes.h"

#include "memory.h"
#include "minmax.h"
#include "open_many.h"
#include "stop.h"
#include "thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Samples of a job. */
enum { SIZES_RUN = 256 };

typedef struct known_reader {
    const sl_known_sizes *sizes;
    uint32_t field, width_field, height_field;
    _Atomic bool unknown; /* the size of an image */
    _Atomic bool skipped; /* a sample, which may be readable the next time */
    pthread_mutex_t mutex;
    sl_bounds *bounds;
} known_reader;

typedef struct known_pair {
    double width, height;
    bool annotated; /* by a file beside the image, which may mean it turned by EXIF or not */
} known_pair;

static double annotated_side(const sl_values *values, uint32_t field)
{
    const bool found = field != SL_FIELD_NONE && values->of[field].present &&
                       values->of[field].integer > 0 && values->of[field].integer <= INT32_MAX;
    return found ? (double)values->of[field].integer : 0;
}

/* Width 0: it is not known. False: the sample has no image, or none that can be read. */
static bool known_size(const known_reader *r, const sl_sample *sample, const sl_values *values,
                       known_pair *size)
{
    const sl_value *image = &values->of[r->field];
    const bool is_file = sample->place.bytes == 0 && sample->files == 0;
    *size = (known_pair){image->width, image->height, false};
    if ((!image->present || image->width == 0) && is_file) {
        *size = (known_pair){annotated_side(values, r->width_field),
                             annotated_side(values, r->height_field), true};
        return true;
    }
    return image->present;
}

static sluice_status add_known_size(const known_reader *r, sl_bounds *bounds, known_pair size,
                                    sluice_error *error)
{
    sluice_status status = sl_bounds_add(bounds, sl_bound_of_size(size.width, size.height), error);
    if (status == SLUICE_OK && (size.annotated || r->sizes->exif != SLUICE_EXIF_IGNORE)) {
        status = sl_bounds_add(bounds, sl_bound_of_size(size.height, size.width), error);
    }
    return status;
}

/* Other samples that cannot be read will be bad ones. */
static bool ends_opening(const sl_known_sizes *sizes, sluice_status status)
{
    return status == SLUICE_NOMEM || status == SLUICE_CANCELED ||
           (status == SLUICE_IO && !sizes->skips);
}

static sluice_status find_size_of(known_reader *r, uint64_t index, sl_bounds *bounds,
                                  sluice_error *error)
{
    sl_sample sample;
    sl_values values;
    known_pair size;
    const sluice_status status =
        sl_dataset_describe(r->sizes->dataset, index, &sample, &values, error);
    if (status != SLUICE_OK && !ends_opening(r->sizes, status)) {
        /* Relaxed: a flag that nothing goes by but itself. */
        atomic_store_explicit(&r->skipped, true, memory_order_relaxed);
        return SLUICE_OK;
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (!known_size(r, &sample, &values, &size)) {
        return SLUICE_OK;
    }
    if (size.width == 0 || size.height == 0) {
        /* Relaxed: a flag that nothing goes by but itself. */
        atomic_store_explicit(&r->unknown, true, memory_order_relaxed);
        return SLUICE_OK;
    }
    return add_known_size(r, bounds, size, error);
}

static sluice_status join_sizes(known_reader *r, const sl_bounds *found, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    sl_lock(&r->mutex);
    for (uint64_t i = 0; i < found->count && status == SLUICE_OK; i++) {
        status = sl_bounds_add(r->bounds, found->of[i], error);
    }
    sl_unlock(&r->mutex);
    return status;
}

static bool known_is_over(known_reader *r)
{
    return atomic_load_explicit(&r->unknown, memory_order_relaxed);
}

static sluice_status known_run(void *ctx, uint32_t number, sluice_error *error)
{
    known_reader *r = ctx;
    sl_bounds found = {.count = 0};
    const uint64_t first = (uint64_t)number * SIZES_RUN;
    const uint64_t end = sl_min_u64(first + SIZES_RUN, r->sizes->dataset->info.samples);
    sluice_status status = SLUICE_OK;
    for (uint64_t i = first; i < end && status == SLUICE_OK && !known_is_over(r); i++) {
        status = sl_stop_check("loader", error); /* a record may have megabytes */
        if (status == SLUICE_OK) {
            status = find_size_of(r, i, &found, error);
        }
    }
    if (status == SLUICE_OK) {
        status = join_sizes(r, &found, error);
    }
    sl_bounds_close(&found);
    return status;
}

/* By the first sample, so that a dataset that names no sizes is not read. */
static sluice_status look_at_first(known_reader *r, sluice_error *error)
{
    sl_bounds found = {.count = 0};
    const sluice_status status = find_size_of(r, 0, &found, error);
    sl_bounds_close(&found);
    return status;
}

/* ---- once for a dataset ---- */

typedef struct sizes_memo {
    sl_memo memo;
    sl_bounds bounds;
} sizes_memo;

static void close_sizes_memo(sl_memo *memo)
{
    sizes_memo *own = (sizes_memo *)memo;
    sl_bounds_close(&own->bounds);
    sl_free(own);
}

static uint64_t sizes_key(const sl_known_sizes *sizes, uint32_t field)
{
    return (uint64_t)field << 1 | (sizes->exif == SLUICE_EXIF_IGNORE);
}

static sluice_status copy_bounds(const sl_bounds *from, sl_bounds *to, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    to->is_any = from->is_any;
    for (uint64_t i = 0; i < from->count && status == SLUICE_OK; i++) {
        status = sl_bounds_add(to, from->of[i], error);
    }
    return status;
}

/* Without memory they are found again the next time. */
static void keep_sizes(const sl_known_sizes *sizes, uint32_t field, const sl_bounds *bounds)
{
    sizes_memo *own = sl_calloc(1, sizeof(*own));
    if (own == NULL) {
        return;
    }
    own->memo.key = sizes_key(sizes, field);
    own->memo.close = close_sizes_memo;
    if (copy_bounds(bounds, &own->bounds, NULL) != SLUICE_OK) {
        close_sizes_memo(&own->memo);
        return;
    }
    sl_dataset_keep(sizes->dataset, &own->memo);
}

static sluice_status read_all_sizes(known_reader *r, sluice_error *error)
{
    const sl_dataset *dataset = r->sizes->dataset;
    sluice_status status = known_is_over(r) ? SLUICE_OK : look_at_first(r, error);
    if (status == SLUICE_OK && !known_is_over(r)) {
        status = sl_open_many((uint32_t)((dataset->info.samples - 1) / SIZES_RUN + 1), known_run, r,
                              error);
    }
    if (status != SLUICE_OK || known_is_over(r) || r->bounds->count == 0) {
        sl_bounds_close(r->bounds);
        r->bounds->is_any = true;
    }
    return status;
}

sluice_status sl_known_sizes_find(void *ctx, uint32_t field, sl_bounds *bounds, sluice_error *error)
{
    const sl_known_sizes *sizes = ctx;
    const sl_dataset *dataset = sizes->dataset;
    const char *name = dataset->fields[field].name;
    const sl_memo *memo = sl_dataset_find_memo(dataset, sizes_key(sizes, field));
    known_reader r = {.sizes = sizes,
                      .field = field,
                      .width_field = sl_field_of_role(dataset->fields, dataset->info.fields, name,
                                                      SLUICE_ROLE_WIDTH),
                      .height_field = sl_field_of_role(dataset->fields, dataset->info.fields, name,
                                                       SLUICE_ROLE_HEIGHT),
                      .unknown = dataset->info.front_to_back != 0,
                      .bounds = bounds};
    if (memo != NULL) {
        return copy_bounds(&((const sizes_memo *)memo)->bounds, bounds, error);
    }
    sl_mutex_init(&r.mutex);
    const sluice_status status = read_all_sizes(&r, error);
    sl_mutex_destroy(&r.mutex);
    if (status == SLUICE_OK && !atomic_load_explicit(&r.skipped, memory_order_relaxed)) {
        keep_sizes(sizes, field, bounds);
    }
    return status;
}
