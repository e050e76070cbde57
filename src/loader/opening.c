/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opening: the steps that open a loader, in their order. A step uses only the parts of the loader
 * that earlier steps have opened. Opening only, by one thread.
 */
#include "opening.h"

#include "cpu.h"
#include "error.h"
#include "known_sizes.h"
#include "memory.h"
#include "mixing.h"
#include "option_text.h"
#include "options.h"
#include "shard_reading.h"
#include "subvolumes.h"
#include "windows.h"

/* ---- options ---- */

/* Settles the options for a dataset; `asked` may include more than the caller's. */
static sluice_status settle_options(sl_loader_opening *opening, const sluice_loader_options *asked,
                                    sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    const sluice_status status = sl_config_make(&loader->config, asked, loader->dataset, error);
    opening->options = loader->config.options;
    sl_options_copy_numbers(SLUICE_OPTIONS_LOADER, &loader->config.options, &opening->options,
                            sizeof(opening->options));
    return status;
}

static sluice_status make_config(sl_loader_opening *opening, sluice_error *error)
{
    return settle_options(opening, opening->asked, error);
}

/* ---- columns and their samples ---- */

static sluice_status read_buckets(sl_loader_opening *opening, sluice_error *error)
{
    const sluice_loader_options *o = &opening->options;
    if ((o->sizes == NULL) != (o->size_count == 0)) {
        return sl_error_set(
            error, SLUICE_INVALID, "loader",
            "options " SL_OPTION("sizes") " and " SL_OPTION("size_count") " go together");
    }
    if (o->sizes != NULL && o->buckets == NULL) {
        return sl_error_set(error, SLUICE_INVALID, "loader",
                            "option " SL_OPTION("sizes") " needs option " SL_OPTION("buckets"));
    }
    return o->buckets != NULL ? sl_bucketing_read(&opening->loader->buckets, o->buckets, error)
                              : SLUICE_OK;
}

/* Image sizes, found when bind_columns needs them. */
typedef struct opening_sizes {
    sl_known_sizes known;
    const sl_columns_config *config;
    const sluice_loader *loader;
    bool checked; /* the columns */
} opening_sizes;

static sluice_status size_of_one_pixel(void *ctx, uint32_t field, sl_bounds *bounds,
                                       sluice_error *error)
{
    (void)ctx;
    (void)field;
    return sl_bounds_add(bounds, sl_bound_of_size(1, 1), error);
}

/* Checks that columns bind if sizes are known, and that memory suffices for columns that do not
 * depend on sizes: finding these may read the dataset. */
static sluice_status check_columns(const sluice_loader *loader, const sl_columns_config *config,
                                   sluice_error *error)
{
    static const sl_image_sizes one_pixel = {size_of_one_pixel, NULL};
    sl_columns_config without = *config;
    sl_column_set *set = sl_calloc(1, sizeof(*set));
    without.image_sizes = &one_pixel;
    without.notices = NULL;
    if (set == NULL) {
        return sl_no_memory(error, "loader", "for columns");
    }
    sluice_status status = sl_columns_bind(set, &without, error);
    if (status == SLUICE_OK) {
        status = sl_loader_check_fixed_slots(loader, set, error);
    }
    sl_columns_close(set);
    sl_free(set);
    return status;
}

static sluice_status opening_find_sizes(void *ctx, uint32_t field, sl_bounds *bounds,
                                        sluice_error *error)
{
    opening_sizes *sizes = ctx;
    const sluice_status status =
        sizes->checked ? SLUICE_OK : check_columns(sizes->loader, sizes->config, error);
    sizes->checked = true;
    return status == SLUICE_OK ? sl_known_sizes_find(&sizes->known, field, bounds, error) : status;
}

static sluice_status bind_columns(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    const sluice_augment *recipe = opening->recipe;
    const sluice_loader_options *o = &opening->options;
    if (o->columns != NULL && (recipe != NULL || o->dtype != 0 || o->layout != 0)) {
        return sl_error_set(
            error, SLUICE_INVALID, "loader",
            "with option " SL_OPTION("columns") ", recipe, " SL_OPTION("dtype") " and " SL_OPTION(
                "layout") " belong to each image column, not to the loader");
    }
    opening_sizes sizes = {.known = {loader->dataset, (sluice_exif)o->exif,
                                     o->on_bad_sample != SLUICE_BAD_FAIL, NULL, 0},
                           .loader = loader};
    const sl_image_sizes image_sizes = {opening_find_sizes, &sizes};
    const sl_columns_config config = {.asked = o->columns,
                                      .recipe = recipe,
                                      .dtype = (sluice_dtype)o->dtype,
                                      .layout = (sluice_layout)o->layout,
                                      .fields = loader->dataset->fields,
                                      .field_count = loader->dataset->info.fields,
                                      .ignore_index = o->ignore_index,
                                      .batch = o->batch_size,
                                      .buckets =
                                          loader->buckets.count > 0 ? loader->buckets.sizes : NULL,
                                      .bucket_count = loader->buckets.count,
                                      .exif = (sluice_exif)o->exif,
                                      .notices = loader->notices,
                                      .image_sizes = &image_sizes};
    sizes.config = &config;
    const sluice_status status = sl_columns_bind(&loader->columns, &config, error);
    sl_known_sizes_close(&sizes.known);
    for (uint32_t i = 0; status == SLUICE_OK && i < loader->columns.count; i++) {
        sl_recipe_limit(&loader->columns.columns[i].request.recipe, o->max_pixels);
    }
    return status;
}

/* Mixes windows of a mix by its weights, with its schedules, which they keep. */
static sluice_status mix_windows(sl_dataset *windows, const sl_mix *of, sluice_error *error)
{
    sl_mix *mix = NULL;
    if (of == NULL) {
        return SLUICE_OK;
    }
    const sluice_status status = sl_mix_recount(&mix, of, sl_windows_sources(windows), error);
    if (status == SLUICE_OK) {
        sl_windows_mix(windows, mix);
    }
    return status;
}

static sluice_status check_reading(sl_loader_opening *opening, sluice_error *error)
{
    const sluice_loader *loader = opening->loader;
    const bool windows = loader->columns.windows.field != SL_FIELD_NONE;
    return sl_shard_reading_check(loader->dataset, &opening->options, windows, error);
}

/* With window columns the samples of the loader are windows of its dataset's. */
static sluice_status cut_windows(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    const sl_windows *windows = &loader->columns.windows;
    const sl_window_shape shape = {
        .field = windows->field, .span = windows->span, .stride = windows->stride};
    sl_dataset *cut = NULL;
    if (windows->field == SL_FIELD_NONE) {
        return SLUICE_OK;
    }
    sluice_status status = sl_windows_open(&cut, loader->dataset, &shape, error);
    if (status == SLUICE_OK) {
        status = mix_windows(cut, loader->dataset->mix, error);
    }
    if (status != SLUICE_OK) {
        sl_dataset_close(cut);
        return status;
    }
    sl_dataset_close(loader->dataset);
    loader->dataset = cut;
    return make_config(opening, error);
}

/* With packed sequences they are pieces of these. */
static sluice_status pack_rows(sl_loader_opening *opening, sluice_error *error)
{
    if (opening->loader->columns.packed.field == SL_FIELD_NONE) {
        return SLUICE_OK;
    }
    const sluice_status status = sl_loader_open_packing(opening, error);
    return status == SLUICE_OK ? make_config(opening, error) : status;
}

static sluice_status use_columns(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    (void)error;
    const sl_config_columns columns = {loader->columns.pictures > 0,
                                       sl_columns_row_bytes(&loader->columns),
                                       loader->columns.members};
    sl_config_use_columns(&loader->config, loader->dataset, &columns);
    return SLUICE_OK;
}

/* If only parts of tensors are taken of samples, no more than that is read, unless the whole
 * dataset will be in memory. Larger samples are still read whole: the limit applies to them. */
static sluice_status cut_parts(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    sl_subvolumes taken = {.seed = loader->config.options.seed};
    sl_dataset *cut = NULL;
    opening->whole = loader->dataset; /* which a cut keeps open */
    if (opening->asked->whole_samples != 0 || loader->dataset->info.front_to_back != 0 ||
        opening->asked->shuffle == SLUICE_SHUFFLE_SHARDS ||
        !sl_columns_take_parts(&loader->columns, &taken) ||
        sl_resident_needs(loader->dataset->objects, loader->config.resident_bytes) > 0) {
        return SLUICE_OK;
    }
    sluice_status status = sl_subvolumes_open(&cut, loader->dataset, &taken, error);
    if (status != SLUICE_OK || cut == NULL) {
        return status;
    }
    sluice_loader_options own = *opening->asked;
    own.max_sample_bytes = loader->config.options.max_sample_bytes;
    sl_dataset_close(loader->dataset);
    loader->dataset = cut;
    status = settle_options(opening, &own, error);
    (void)use_columns(opening, error);
    return status;
}

/* ---- orders ---- */

static sluice_status opening_shards(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    return sl_shard_reading_open(&loader->shards, &loader->config, loader->dataset, opening->asked,
                                 error);
}

static sluice_status check_level(sl_loader_opening *opening, sluice_error *error)
{
    const sluice_loader *loader = opening->loader;
    return sl_leveling_check(&loader->config, loader->order.source.kind, error);
}

/* ---- stages ---- */

static sluice_status open_budget(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    (void)error;
    loader->end_epoch = loader->config.options.end_epoch;
    sl_budget_init(&loader->budget, loader->config.options.memory_bytes);
    return SLUICE_OK;
}

static sluice_status opening_charge_tables(sl_loader_opening *opening, sluice_error *error)
{
    return sl_loader_charge_tables(opening->loader, error);
}

static sluice_status open_feed(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    sl_feed *feed = &loader->feed;
    feed->columns = &loader->columns;
    feed->partners = &loader->partners;
    feed->classes = loader->classes.samples > 0 ? &loader->classes : NULL;
    feed->order = &loader->order.source;
    feed->quarantine = &loader->quarantine;
    loader->feed_open = true;
    const sluice_status status = sl_feed_open(feed, &loader->config, loader->dataset, error);
    return status == SLUICE_OK && loader->shards.count > 0
               ? sl_feed_use_shards(feed, &loader->shards, error)
               : status;
}

static sluice_status open_cache_plan(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    return sl_cache_plan_open(&loader->feed.cache_plan, &loader->feed, &loader->budget, error);
}

static sluice_status open_quarantine(sl_loader_opening *opening, sluice_error *error)
{
    return sl_quarantine_open(&opening->loader->quarantine, opening->options.quarantine_path,
                              error);
}

static sluice_status open_row_maker(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    return sl_row_maker_open(&loader->maker, &loader->feed, loader->config.options.workers, error);
}

static sluice_status open_workers(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    const sluice_loader_options *o = &loader->config.options;
    const uint64_t share = sl_loader_share_scratch(loader);
    const sl_workers_config config = {
        .threads = o->workers,
        .near = sl_loader_near(loader),
        .queue_capacity = (size_t)o->prefetch * o->batch_size, /* tasks of one row each */
        .job_bytes = sizeof(sl_task),
        .decoder = {.max_pixels = o->max_pixels,
                    .max_unpacked_bytes = o->max_sample_bytes,
                    .exif = (sluice_exif)o->exif,
                    .scratch_bytes = share,
                    .stop = &loader->feed.stopping},
        .run = sl_row_run,
        .ctx = &loader->maker,
    };
    if (share > 0) {
        sl_row_maker_share(&loader->maker, share);
    }
    const sluice_status status = sl_workers_open(&loader->workers, &config, error);
    loader->feed.workers = loader->workers;
    return status;
}

static sluice_status open_fetch(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    sl_fetch_config config = sl_loader_fetch_config(loader);
    config.fault = opening->fault;
    const sl_fetch_source source = {.ctx = &loader->feed,
                                    .next = sl_feed_next,
                                    .learn = sl_feed_learn,
                                    .piece = sl_feed_piece,
                                    .deliver = sl_feed_deliver,
                                    .flush = sl_feed_flush};
    const sluice_status status = sl_fetch_open(&loader->fetch, &config, &source, error);
    loader->feed.fetch = loader->fetch;
    return status;
}

/* Makes the memory of the first batch present, by as many threads as possible. */
static sluice_status populate_first(sl_loader_opening *opening, sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    (void)error;
    size_t slot_bytes;
    const sl_slab *slots = sl_staging_memory(loader->staging, &slot_bytes);
    const sl_slab *buffers = sl_fetch_memory(loader->fetch);
    const sl_populate_config config = {
        .ranges = {{buffers->base, loader->config.first_bytes}, {slots->base, slot_bytes}},
        .count = 2,
        .threads = sl_cpu_count(),
        .near = sl_loader_near(loader)};
    sl_populate_open(&loader->populate, &config);
    return SLUICE_OK;
}

/* ---- all steps ---- */

typedef sluice_status opening_step(sl_loader_opening *opening, sluice_error *error);

static opening_step *const steps[] = {
    make_config,
    read_buckets,
    bind_columns,
    check_reading,
    sl_loader_open_partners,
    cut_windows,
    pack_rows,
    use_columns,
    cut_parts,
    opening_shards,
    sl_loader_open_order,
    check_level,
    sl_loader_check_epoch,
    open_budget,
    sl_loader_open_device,
    opening_charge_tables,
    open_feed,
    open_cache_plan,
    open_quarantine,
    open_row_maker,
    sl_loader_open_staging,
    open_workers,
    open_fetch,
    populate_first,
};

sluice_status sl_loader_opening_run(sl_loader_opening *opening, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && status == SLUICE_OK; i++) {
        status = steps[i](opening, error);
    }
    return status;
}
