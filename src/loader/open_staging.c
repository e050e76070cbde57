/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the device, and staging on it: the processors of threads, which depend on the device's
 * location, the images that it converts, and the caller's memory for the first.
 */
#include "opening.h"

#include "conversion_kernel.h"
#include "error.h"
#include "numa.h"
#include "option_text.h"

#include <stdio.h>

/* ---- the device ---- */

const sl_processors *sl_loader_near(const sluice_loader *loader)
{
    return loader->is_near ? &loader->near : NULL;
}

/* Finds the processors near the device, of those available; false: that is all of them, or none. */
static bool find_near(const sl_device *device, sl_processors *near)
{
    sl_processors own;
    if (device->numa_node < 0 || !sl_processors_own(&own) ||
        !sl_numa_processors(device->numa_node, near)) {
        return false;
    }
    sl_processors_keep(near, &own);
    const uint32_t count = sl_processors_count(near);
    return count > 0 && count < sl_processors_count(&own);
}

/* `asked`: the number of workers requested by the caller, 0: the default. */
static void place(sluice_loader *loader, uint32_t asked)
{
    sluice_loader_options *o = &loader->config.options;
    if (o->any_numa_node != 0 || !find_near(loader->device, &loader->near)) {
        return;
    }
    const uint32_t count = sl_processors_count(&loader->near);
    if (asked > count) {
        return; /* more than are near: use the machine's */
    }
    loader->is_near = true;
    if (asked == 0 && o->workers > count) {
        o->workers = count;
    }
}

sluice_status sl_loader_open_device(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    const sluice_status status = sl_device_open(&loader->device, opening->options.device, error);
    if (status == SLUICE_OK) {
        place(loader, opening->asked->workers);
    }
    return status;
}

/* ---- work of the device ---- */

/* The device's work on columns, and the part for the caller's memory. */
typedef struct device_share {
    sl_staging_conversion conversions[SL_COLUMNS_MAX];
    uint32_t count;
    uint32_t output;       /* the first image's part */
    uint64_t output_bytes; /* of one row of it, as the consumer sees it */
} device_share;

static void on_empty(void *ctx)
{
    sluice_loader *loader = ctx;
    sl_feed_begin_steps(&loader->feed);
}

static sluice_status may_touch(void *ctx, sluice_error *error)
{
    return sl_loader_check_memory(ctx, error);
}

/* Returns the conversion that a device would do for an image. */
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

/*
 * Returns whether the device converts an image: if it can, whenever there is something to convert,
 * since bytes are the least to copy; and always into the caller's memory.
 */
static bool is_converted(const sl_device *device, const sl_column *picture, bool wanted)
{
    const sl_conversion how = conversion_of(sl_column_converter(picture));
    if (picture->request.sizes != SLUICE_SIZES_ONE) { /* each row has its own size */
        return false;
    }
    const bool any = how.dtype != SLUICE_U8 || how.layout != SLUICE_NHWC || wanted;
    return any && device->converts && sl_column_converter(picture)->finite &&
           sl_conversion_takes(&how);
}

static sluice_status share_picture(const sl_loader_opening *opening, const sl_device *device,
                                   sl_column *picture, device_share *share, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    const bool is_output = opening->options.outputs != NULL && picture->picture == 0;
    if (is_output && picture->request.sizes != SLUICE_SIZES_ONE) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "loader",
                            "option " SL_OPTION("outputs") " needs images of one size");
    }
    if (is_output) {
        share->output = picture->first_part;
        share->output_bytes = sl_converter_row_bytes(sl_column_converter(picture));
    }
    if (is_converted(device, picture, is_output)) {
        share->conversions[share->count++] =
            (sl_staging_conversion){.how = conversion_of(sl_column_converter(picture)),
                                    .part = picture->first_part,
                                    .flags = picture->first_part + SL_IMAGE_FLAGS,
                                    .mixes = picture->mixer != NULL,
                                    .mixing = picture->first_part + SL_IMAGE_MIXING};
        sl_columns_leave_bytes(&loader->columns, picture);
    } else if (is_output && !device->shares_memory) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, "loader",
            "option " SL_OPTION(
                "outputs") " needs a device that converts images: \"%s\" does not, or not these",
            opening->options.device);
    }
    return SLUICE_OK;
}

static sluice_status share_pictures(const sl_loader_opening *opening, const sl_device *device,
                                    device_share *share, sluice_error *error)
{
    sl_column_set *set = &opening->loader->columns;
    if (opening->options.outputs != NULL && set->pictures == 0) {
        return sl_error_set(
            error, SLUICE_INVALID, "loader",
            "option " SL_OPTION("outputs") " needs an image column, but the loader has none");
    }
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < set->pictures && status == SLUICE_OK; i++) {
        status = share_picture(opening, device, sl_columns_picture(set, i), share, error);
    }
    return status;
}

/* ---- the caller's memory ---- */

/* The caller's blocks must not overlap. */
static sluice_status check_distances(const sluice_loader_options *o, uint64_t bytes,
                                     sluice_error *error)
{
    for (uint32_t i = 0; i < o->output_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const uintptr_t a = (uintptr_t)o->outputs[i];
            const uintptr_t b = (uintptr_t)o->outputs[k];
            if ((a > b ? a - b : b - a) < bytes) {
                return sl_error_set(
                    error, SLUICE_INVALID, "loader",
                    "option " SL_OPTION("outputs") ": blocks %u and %u are closer than the %llu "
                                                   "bytes of a batch",
                    k, i, (unsigned long long)bytes);
            }
        }
    }
    return SLUICE_OK;
}

/* A kernel that wrote elsewhere would end the process, or overwrite other memory. */
static sluice_status open_staging_check_memory(const sluice_loader_options *o, sl_device *device,
                                               uint64_t bytes, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    sluice_error why;
    for (uint32_t i = 0; i < o->output_count && status == SLUICE_OK; i++) {
        status = device->ops->memory_check(device, o->outputs[i], bytes, &why);
        if (status == SLUICE_INVALID) {
            sl_error_set(error, status, "loader", "option " SL_OPTION("outputs") ": address %u: %s",
                         i, why.text);
        } else if (status != SLUICE_OK) {
            *error = why;
        }
    }
    return status;
}

static sluice_status open_staging_check_outputs(const sluice_loader_options *o, sl_device *device,
                                                const device_share *share, sluice_error *error)
{
    const uint64_t bytes = share->output_bytes * o->batch_size;
    if (o->outputs == NULL) {
        return SLUICE_OK;
    }
    const sluice_status status = check_distances(o, bytes, error);
    return status == SLUICE_OK && !device->shares_memory
               ? open_staging_check_memory(o, device, bytes, error)
               : status;
}

/* ---- opening ---- */

/* Takes over `device`. */
static sluice_status open_on(const sl_loader_opening *opening, sl_device *device,
                             sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    const sluice_loader_options *o = &loader->config.options;
    const sluice_loader_options *given = &opening->options;
    device_share share = {.count = 0};
    sluice_status status = SLUICE_OK;
    if (given->outputs != NULL && device->shares_memory && o->prefetch != given->output_count) {
        status = sl_error_set(
            error, SLUICE_INVALID, "loader",
            "option " SL_OPTION("outputs") " needs an explicit device: \"%s\" is the host here",
            given->device);
    }
    if (status == SLUICE_OK) {
        status = share_pictures(opening, device, &share, error);
    }
    if (status == SLUICE_OK) {
        status = open_staging_check_outputs(given, device, &share, error);
    }
    if (status == SLUICE_OK) {
        status = sl_loader_check_slots(loader, error);
    }
    if (status != SLUICE_OK) {
        sl_device_close(device);
        return status;
    }
    const sl_staging_config config = {
        .host_slots = o->prefetch,
        .device_slots = device->shares_memory ? o->prefetch : o->device_slots,
        .batch = o->batch_size,
        .parts = loader->columns.parts,
        .part_count = loader->columns.part_count,
        .conversions = share.conversions,
        .conversion_count = share.count,
        .outputs = given->outputs,
        .output = share.output,
        .near = sl_loader_near(loader),
        .budget = &loader->budget,
        .may_touch = may_touch,
        .on_empty = on_empty,
        .ctx = loader,
    };
    return sl_staging_open(&loader->staging, device, &config, error);
}

sluice_status sl_loader_open_staging(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    sl_device *device = loader->device;
    loader->device = NULL;
    const sluice_status status = open_on(opening, device, error);
    loader->feed.staging = loader->staging;
    return status;
}
