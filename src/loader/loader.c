/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing. The consumer's side is in consume.c. */
#include "loader.h"

#include "conversion_kernel.h"
#include "error.h"
#include "memory.h"
#include "thread.h"

#include <unistd.h>

/* Jobs wait in the slots' order anyway; more than this only costs memory. */
#define QUEUE_MAX 1024

bool sl_loader_is_ours(const sluice_loader *loader)
{
    return loader->pid == getpid();
}

static void on_empty(void *ctx)
{
    sluice_loader *loader = ctx;
    sl_feed_begin_steps(&loader->feed);
}

/* What a device would be asked to make of the pictures. */
static sl_conversion conversion_of(const sl_converter *converter)
{
    sl_conversion conversion = {.dtype = converter->dtype,
                                .layout = converter->layout,
                                .width = converter->width,
                                .height = converter->height};
    for (size_t c = 0; c < 3; c++) {
        sl_converter_factors(converter, c, &conversion.scale[c], &conversion.bias[c]);
    }
    return conversion;
}

/* The caller's blocks must not overlap. */
static sluice_status check_distances(const sluice_loader *loader, size_t row_bytes,
                                     sluice_error *error)
{
    const sluice_loader_options *o = &loader->config.options;
    const size_t bytes = row_bytes * o->batch_size;
    for (uint32_t i = 0; i < o->output_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const uintptr_t a = (uintptr_t)o->outputs[i];
            const uintptr_t b = (uintptr_t)o->outputs[k];
            if ((a > b ? a - b : b - a) < bytes) {
                return sl_error_set(error, SLUICE_INVALID, "loader",
                                    "option outputs: blocks %u and %u are closer than the %zu "
                                    "bytes of a batch",
                                    k, i, bytes);
            }
        }
    }
    return SLUICE_OK;
}

/* A kernel that wrote elsewhere would end the process, or write into somebody else's memory. */
static sluice_status check_memory(const sluice_loader *loader, sl_device *device, size_t row_bytes,
                                  sluice_error *error)
{
    const sluice_loader_options *o = &loader->config.options;
    sluice_status status = SLUICE_OK;
    sluice_error why;
    for (uint32_t i = 0; i < o->output_count && status == SLUICE_OK; i++) {
        status = device->ops->memory_check(device, o->outputs[i], row_bytes * o->batch_size, &why);
        if (status == SLUICE_INVALID) {
            sl_error_set(error, status, "loader", "option outputs: address %u: %s", i, why.text);
        } else if (status != SLUICE_OK) {
            *error = why;
        }
    }
    return status;
}

static sluice_status check_outputs(const sluice_loader *loader, sl_device *device, size_t row_bytes,
                                   sluice_error *error)
{
    const sluice_status status = check_distances(loader, row_bytes, error);
    return status == SLUICE_OK ? check_memory(loader, device, row_bytes, error) : status;
}

/*
 * Whether the device converts: where it can, whenever there is something to convert, since bytes
 * are the least to copy; and into the caller's memory always.
 */
static sluice_status choose_conversion(const sluice_loader *loader, sl_device *device,
                                       const sl_conversion *conversion, bool *converts,
                                       sluice_error *error)
{
    const bool wanted = loader->config.options.outputs != NULL;
    const bool any = conversion->dtype != SLUICE_U8 || conversion->layout != SLUICE_NHWC || wanted;
    *converts = any && device->converts && loader->maker.converter.finite &&
                sl_conversion_takes(conversion);
    if (*converts && wanted) {
        return check_outputs(loader, device, sl_conversion_row_bytes(conversion), error);
    }
    if (wanted && !*converts) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "loader",
                            "option outputs needs a device that converts pictures: \"%s\" does "
                            "not, or not these",
                            loader->config.options.device);
    }
    return SLUICE_OK;
}

/* Takes over `device`. */
static sluice_status open_staging_on(sluice_loader *loader, sl_device *device, sluice_error *error)
{
    const sluice_loader_options *o = &loader->config.options;
    sl_row_maker *maker = &loader->maker;
    const sl_conversion conversion = conversion_of(&maker->converter);
    bool converts;
    const sluice_status status = choose_conversion(loader, device, &conversion, &converts, error);
    if (status != SLUICE_OK) {
        sl_device_close(device);
        return status;
    }
    if (converts) {
        sl_converter_leave_bytes(&maker->converter);
        maker->mirrors_later = true;
    }
    loader->feed.image_row_bytes = sl_converter_row_bytes(&maker->converter);
    const sl_staging_config config = {
        .host_slots = o->prefetch,
        .device_slots = device->shares_memory ? o->prefetch : o->device_slots,
        .batch = o->batch_size,
        .image_row_bytes = loader->feed.image_row_bytes,
        .format = {.dtype = (sluice_dtype)o->dtype,
                   .layout = (sluice_layout)o->layout,
                   .width = loader->maker.converter.width,
                   .height = loader->maker.converter.height},
        .conversion = converts ? &conversion : NULL,
        .outputs = o->outputs,
        .budget = &loader->budget,
        .on_empty = on_empty,
        .ctx = loader,
    };
    return sl_staging_open(&loader->staging, device, &config, error);
}

static sluice_status open_staging(sluice_loader *loader, sluice_error *error)
{
    sl_device *device;
    sluice_status status = sl_device_open(&device, loader->config.options.device, error);
    if (status == SLUICE_OK) {
        status = open_staging_on(loader, device, error);
    }
    loader->feed.staging = loader->staging;
    return status;
}

static sluice_status open_workers(sluice_loader *loader, sluice_error *error)
{
    const sluice_loader_options *o = &loader->config.options;
    const uint64_t rows = (uint64_t)o->prefetch * o->batch_size;
    const sl_workers_config config = {
        .threads = o->workers,
        .queue_capacity = rows < QUEUE_MAX ? (size_t)rows : QUEUE_MAX,
        .job_bytes = sizeof(sl_job),
        .decoder = {.max_pixels = o->max_pixels,
                    .max_unpacked_bytes = o->max_sample_bytes,
                    .exif = (sluice_exif)o->exif},
        .run = sl_row_run,
        .ctx = &loader->maker,
    };
    const sluice_status status = sl_workers_open(&loader->workers, &config, error);
    loader->feed.workers = loader->workers;
    return status;
}

static sluice_status open_fetch(sluice_loader *loader, const sl_fault_config *fault,
                                sluice_error *error)
{
    const sluice_loader_options *o = &loader->config.options;
    const sl_fetch_config config = {
        .backend = (sluice_io_backend)o->io_backend,
        .objects = loader->dataset->objects,
        .whole_objects = loader->dataset->whole_objects,
        .cache = loader->config.cache,
        .depth = o->io_depth,
        .threads = o->io_threads,
        .lookahead = loader->config.lookahead,
        .inserts = loader->config.inserts,
        .arena_bytes = o->read_buffer_bytes,
        .max_sample_bytes = o->max_sample_bytes,
        .stall_warn_ns = o->stall_warn_ns,
        .stall_fail_ns = o->stall_fail_ns,
        .merge_gap_bytes = loader->config.merge_gap_bytes,
        .merge_bytes = loader->config.merge_bytes,
        .budget = &loader->budget,
        .fault = fault,
    };
    const sl_fetch_source source = {.ctx = &loader->feed,
                                    .next = sl_feed_next,
                                    .learn = sl_feed_learn,
                                    .deliver = sl_feed_deliver};
    const sluice_status status = sl_fetch_open(&loader->fetch, &config, &source, error);
    loader->feed.fetch = loader->fetch;
    return status;
}

static sluice_status open_stages(sluice_loader *loader, const sl_fault_config *fault,
                                 sluice_error *error)
{
    const sluice_loader_options *o = &loader->config.options;
    sl_row_maker *maker = &loader->maker;
    sluice_status status = sl_converter_make(
        &maker->converter, &maker->recipe, (sluice_dtype)o->dtype, (sluice_layout)o->layout, error);
    if (status != SLUICE_OK) {
        return status;
    }
    loader->feed_open = true;
    status = sl_feed_open(&loader->feed, &loader->config, loader->dataset, error);
    if (status != SLUICE_OK) {
        return status;
    }
    loader->feed.quarantine = &loader->quarantine;
    maker->feed = &loader->feed;
    maker->image = sl_dataset_field(loader->dataset, "image");
    maker->label = sl_dataset_field(loader->dataset, "label");
    status = sl_quarantine_open(&loader->quarantine, o->quarantine_path, error);
    if (status == SLUICE_OK) {
        status = open_staging(loader, error);
    }
    if (status == SLUICE_OK) {
        status = open_workers(loader, error);
    }
    if (status == SLUICE_OK) {
        status = open_fetch(loader, fault, error);
    }
    /* Only borrowed from the caller. */
    loader->config.options.device = NULL;
    loader->config.options.quarantine_path = NULL;
    loader->config.options.outputs = NULL;
    return status;
}

/* Frees whatever part of the loader exists; no call is inside. */
static void destroy(sluice_loader *loader)
{
    if (loader->run) {
        sl_feed_stop(&loader->feed);
    }
    if (loader->fetch != NULL) {
        sl_fetch_close(loader->fetch);
    }
    if (loader->workers != NULL) {
        sl_workers_close(loader->workers);
    }
    if (loader->staging != NULL) {
        sl_staging_close(loader->staging);
    }
    if (loader->feed_open) {
        sl_feed_close(&loader->feed);
    }
    sl_quarantine_close(&loader->quarantine);
    sl_dataset_close(loader->dataset);
    sl_cond_destroy(&loader->no_calls);
    sl_mutex_destroy(&loader->mutex);
    sl_free(loader);
}

sluice_status sl_loader_open(sluice_loader **loader, sl_dataset *dataset,
                             const sluice_augment *recipe, const sluice_loader_options *options,
                             const sl_fault_config *fault, sluice_error *error)
{
    *loader = NULL;
    if (recipe->error.status != SLUICE_OK) {
        *error = recipe->error;
        return (sluice_status)error->status;
    }
    sluice_loader *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, "loader", "out of memory for the loader");
    }
    made->pid = getpid();
    made->dataset = sl_dataset_ref(dataset);
    made->maker.recipe = *recipe;
    made->quarantine.fd = -1;
    sl_error_clear(&made->error);
    sl_error_clear(&made->refusal);
    sl_mutex_init(&made->mutex);
    sl_cond_init(&made->no_calls);
    sluice_status status = SLUICE_OK;
    if (recipe->geometry == SL_GEOMETRY_NONE) {
        status = sl_error_set(error, SLUICE_INVALID, "loader",
                              "the recipe has no geometry step: add random_resized_crop, "
                              "resize_center_crop or random_crop");
    }
    if (status == SLUICE_OK) {
        status = sl_config_make(&made->config, options, dataset, error);
    }
    if (status == SLUICE_OK) {
        made->end_epoch = made->config.options.end_epoch;
        sl_budget_init(&made->budget, made->config.options.memory_bytes);
        status = open_stages(made, fault, error);
    }
    if (status != SLUICE_OK) {
        destroy(made);
        return status;
    }
    *loader = made;
    return SLUICE_OK;
}

void sl_loader_close(sluice_loader *loader)
{
    sl_lock(&loader->mutex);
    loader->closing = true;
    sl_staging_cancel(loader->staging, true);
    while (loader->calls > 0) {
        sl_cond_wait(&loader->no_calls, &loader->mutex);
    }
    sl_unlock(&loader->mutex);
    destroy(loader);
}
