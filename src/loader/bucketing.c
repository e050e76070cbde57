/* SPDX-License-Identifier: Apache-2.0 */
#include "bucketing.h"

#include "error.h"
#include "fnv.h"
#include "memory.h"
#include "option_text.h"
#include "picture_sizes.h"

#include <string.h>

#define STAGE "loader"

/* ---- checks ---- */

static sluice_status check_options(const sluice_loader_options *o, const sl_dataset *dataset,
                                   sluice_error *error)
{
    const char *what = NULL;
    if (o->shuffle != SLUICE_SHUFFLE_FULL && o->shuffle != SLUICE_SHUFFLE_NONE) {
        what = "its batches are drawn from the whole dataset: choose " SL_OPTION(
            "shuffle") " full or none";
    } else if (dataset->mix != NULL) {
        what = "a mix has its own order";
    } else if (dataset->info.front_to_back != 0) {
        what = "the dataset can only be read from front to back";
    } else if (o->outputs != NULL) {
        what = "option " SL_OPTION("outputs") " needs images of one size";
    }
    if (what != NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE, "option " SL_OPTION("buckets") ": %s",
                            what);
    }
    if (o->sizes != NULL && o->size_count != dataset->info.samples) {
        return sl_error_set(
            error, SLUICE_INVALID, STAGE,
            "option " SL_OPTION("sizes") " has %llu sizes, but the dataset has %llu samples",
            (unsigned long long)o->size_count, (unsigned long long)dataset->info.samples);
    }
    return SLUICE_OK;
}

/* Finds the field of the images that buckets use. */
static sluice_status find_pictures(const sl_column_set *columns, uint32_t *field,
                                   sluice_error *error)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        if (columns->columns[i].bucketed) {
            *field = columns->columns[i].field_number;
            return SLUICE_OK;
        }
    }
    return sl_error_set(error, SLUICE_INVALID, STAGE,
                        "option " SL_OPTION("buckets") ": no column's recipe goes by the size of "
                                                       "a bucket: bucket_crop does");
}

/* ---- sizes ---- */

/* An image that cannot be read is put in the first bucket, and becomes a bad sample on its turn. */
static void place_picture(void *ctx, uint64_t index, const sluice_size *size)
{
    sl_bucketing *b = ctx;
    b->bucket_of[index] = size != NULL ? (uint8_t)sl_bucketing_nearest(b, *size) : 0;
}

static sluice_status find_sizes(sl_bucketing *b, const sluice_loader_options *o,
                                const sl_dataset *dataset, uint32_t field, sluice_error *error)
{
    const sl_picture_sizes wanted = {
        .options = o, .dataset = dataset, .field = field, .found = place_picture, .ctx = b};
    return sl_picture_sizes_find(&wanted, error);
}

/* ---- opening ---- */

static sluice_status take_size_table(sl_bucketing *b, const sluice_loader_options *o,
                                     sluice_error *error)
{
    for (uint64_t i = 0; i < o->size_count; i++) {
        const sluice_size *size = &o->sizes[i];
        if (size->width == 0 || size->height == 0 || size->width > INT32_MAX ||
            size->height > INT32_MAX) {
            return sl_error_set(
                error, SLUICE_INVALID, STAGE,
                "option " SL_OPTION("sizes") ": sample %llu is %u x %u (width x height): each must "
                                             "be from 1 to 2^31 - 1",
                (unsigned long long)i, size->width, size->height);
        }
        b->bucket_of[i] = (uint8_t)sl_bucketing_nearest(b, *size);
    }
    return SLUICE_OK;
}

/* Hashes the inputs of the order. */
static uint64_t hash_of(const sl_bucketing *b, uint64_t samples)
{
    uint64_t hash = SL_FNV1A_BEGIN;
    for (uint32_t i = 0; i < b->count; i++) {
        hash = sl_fnv1a(hash, b->sizes[i].width);
        hash = sl_fnv1a(hash, b->sizes[i].height);
    }
    for (uint64_t i = 0; i < samples; i++) {
        hash = sl_fnv1a(hash, b->bucket_of[i]);
    }
    return hash;
}

static sluice_status check_batches(const sl_bucketing *b, const sluice_loader_options *o,
                                   sluice_error *error)
{
    if (o->last_batch != SLUICE_LAST_DROP || b->set.batches[b->count] > 0) {
        return SLUICE_OK;
    }
    return sl_error_set(
        error, SLUICE_INVALID, STAGE,
        "no bucket has as many samples as one global batch of %llu, so an epoch would be empty: "
        "make the batch smaller, or choose a " SL_OPTION("last_batch") " other than DROP",
        (unsigned long long)b->set.global);
}

sluice_status sl_bucketing_open(sl_bucketing *b, const sluice_loader_options *o,
                                const sl_dataset *dataset, const sl_column_set *columns,
                                sluice_error *error)
{
    const uint64_t samples = dataset->info.samples;
    uint32_t field = 0;
    if (b->count == 0) {
        return SLUICE_OK;
    }
    sluice_status status = check_options(o, dataset, error);
    if (status == SLUICE_OK) {
        status = find_pictures(columns, &field, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    b->bucket_of = sl_calloc(samples, sizeof(*b->bucket_of));
    if (b->bucket_of == NULL) {
        return sl_no_memory(error, STAGE, "for the samples of buckets");
    }
    status =
        o->sizes != NULL ? take_size_table(b, o, error) : find_sizes(b, o, dataset, field, error);
    if (status == SLUICE_OK) {
        status = sl_bucket_set_open(&b->set, b->bucket_of, samples, b->count,
                                    (uint64_t)o->batch_size * o->world_size, error);
    }
    b->hash = status == SLUICE_OK ? hash_of(b, samples) : 0;
    sl_free(b->bucket_of);
    b->bucket_of = NULL;
    return status == SLUICE_OK ? check_batches(b, o, error) : status;
}

void sl_bucketing_close(sl_bucketing *bucketing)
{
    sl_bucket_set_close(&bucketing->set);
}
