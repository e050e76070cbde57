/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing. The consumer's side is in consume.c. */
#include "loader.h"

#include "clock.h"
#include "conversion_kernel.h"
#include "cpu.h"
#include "error.h"
#include "fork.h"
#include "memory.h"
#include "mixing.h"
#include "option_text.h"
#include "shard_reading.h"
#include "subvolumes.h"
#include "thread.h"
#include "windows.h"

/* What close waits for reads in flight. */
#define CLOSE_PATIENCE_NS UINT64_C(500000000)

bool sl_loader_is_ours(const sluice_loader *loader)
{
    return loader->forks == sl_fork_count();
}

static sluice_status open_workers(sluice_loader *loader, sluice_error *error)
{
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

sl_fetch_config sl_loader_fetch_config(sluice_loader *loader)
{
    const sluice_loader_options *o = &loader->config.options;
    return (sl_fetch_config){
        .backend = (sluice_io_backend)o->io_backend,
        .objects = loader->dataset->objects,
        .whole_objects = loader->dataset->whole_objects,
        .pieces = loader->dataset->pieces,
        .packed = loader->dataset->info.front_to_back != 0,
        .unpack_threads = loader->config.unpack_threads,
        .unpack_passes = loader->config.unpack_passes,
        .spread = loader->config.spread,
        .cache = loader->config.cache,
        .fills = loader->config.fills,
        .depth = o->io_depth,
        .threads = o->io_threads,
        .lookahead = loader->config.lookahead,
        .inserts = loader->config.inserts,
        .arena_bytes = o->read_buffer_bytes,
        .arena_first_bytes = loader->config.first_bytes,
        .max_sample_bytes = o->max_sample_bytes,
        .resident_bytes = loader->config.resident_bytes,
        .stall_warn_ns = o->stall_warn_ns,
        .stall_fail_ns = o->stall_fail_ns,
        .merge_gap_bytes = loader->config.merge_gap_bytes,
        .merge_bytes = loader->config.merge_bytes,
        .budget = &loader->budget,
        .near = sl_loader_near(loader),
    };
}

static sluice_status open_fetch(sluice_loader *loader, const sl_fault_config *fault,
                                sluice_error *error)
{
    sl_fetch_config config = sl_loader_fetch_config(loader);
    config.fault = fault;
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

/* `workers`: as the caller asked for. */
static sluice_status open_stages(sluice_loader *loader, uint32_t workers,
                                 const sl_fault_config *fault, sluice_error *error)
{
    const sluice_loader_options *o = &loader->config.options;
    loader->feed.columns = &loader->columns;
    loader->feed.partners = &loader->partners;
    loader->feed.classes = loader->classes.samples > 0 ? &loader->classes : NULL;
    loader->feed.episodes = loader->episodes.classes > 0 ? &loader->episodes : NULL;
    sluice_status status = sl_loader_open_device(loader, workers, error);
    if (status == SLUICE_OK) {
        status = sl_loader_charge_tables(loader, error);
    }
    if (status == SLUICE_OK) {
        loader->feed_open = true;
        status = sl_feed_open(&loader->feed, &loader->config, loader->dataset, error);
    }
    if (status == SLUICE_OK && loader->buckets.count > 0) {
        sl_feed_use_buckets(&loader->feed, &loader->buckets.set);
    }
    if (status == SLUICE_OK && loader->shards.count > 0) {
        status = sl_feed_use_shards(&loader->feed, &loader->shards, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    loader->feed.quarantine = &loader->quarantine;
    status = sl_quarantine_open(&loader->quarantine, o->quarantine_path, error);
    if (status == SLUICE_OK) {
        status = sl_row_maker_open(&loader->maker, &loader->feed, o->workers, error);
    }
    if (status == SLUICE_OK) {
        status = sl_loader_open_staging(loader, error);
    }
    if (status == SLUICE_OK) {
        status = open_workers(loader, error);
    }
    if (status == SLUICE_OK) {
        status = open_fetch(loader, fault, error);
    }
    /* Only borrowed from the caller. */
    loader->config.options.device = NULL;
    loader->config.options.partners = NULL;
    loader->config.options.classes = NULL;
    loader->config.options.quarantine_path = NULL;
    loader->config.options.outputs = NULL;
    loader->config.options.columns = NULL;
    loader->config.options.buckets = NULL;
    loader->config.options.sizes = NULL;
    return status;
}

static void memory_present(void *ctx)
{
    sl_fetch_present(((sluice_loader *)ctx)->fetch);
}

/* What the first batch is made of and in, by as many threads as there are. */
static void populate_first(sluice_loader *loader)
{
    size_t slot_bytes;
    const sl_slab *slots = sl_staging_memory(loader->staging, &slot_bytes);
    const sl_slab *buffers = sl_fetch_memory(loader->fetch);
    const sl_populate_config config = {
        .ranges = {{buffers->base, loader->config.first_bytes}, {slots->base, slot_bytes}},
        .count = 2,
        .threads = sl_cpu_count(),
        .near = sl_loader_near(loader)};
    sl_populate_open(&loader->populate, &config);
}

void sl_loader_populate_rest(sluice_loader *loader)
{
    size_t slot_bytes;
    const sl_slab *slots = sl_staging_memory(loader->staging, &slot_bytes);
    const sl_slab *buffers = sl_fetch_memory(loader->fetch);
    const size_t first = loader->config.first_bytes;
    const sl_populate_config config = {
        .ranges = {{slots->base + slot_bytes, slots->bytes - slot_bytes},
                   {buffers->base + first, buffers->bytes - first}},
        .count = 2,
        .threads = 1,
        .near = sl_loader_near(loader),
        .done = memory_present,
        .ctx = loader};
    sl_populate_open(&loader->populate_rest, &config);
}

static void release_dataset(void *dataset)
{
    sl_dataset_close(dataset);
}

/* Frees whatever part of the loader exists; no call is inside. Reads that the storage does not
 * answer are left to the fetch thread, with the dataset. */
static void destroy(sluice_loader *loader)
{
    sl_populate_close(&loader->populate);
    sl_populate_close(&loader->populate_rest);
    if (loader->run) {
        loader->feed.lost = loader->watch.found;
        sl_feed_stop(&loader->feed);
    }
    sl_fetch_leave(loader->fetch, CLOSE_PATIENCE_NS,
                   &(sl_fetch_heir){release_dataset, sl_dataset_ref(loader->dataset)});
    sl_workers_close(loader->workers);
    sl_staging_close(loader->staging);
    sl_device_close(loader->device);
    if (loader->feed_open) {
        sl_feed_close(&loader->feed);
    }
    sl_row_maker_close(&loader->maker);
    sl_episode_set_close(&loader->episodes);
    sl_classes_close(&loader->classes);
    sl_columns_close(&loader->columns);
    sl_notices_close(loader->notices);
    sl_quarantine_close(&loader->quarantine);
    sl_shard_set_close(&loader->shards);
    sl_bucketing_close(&loader->buckets);
    sl_dataset_close(loader->dataset);
    sl_cond_destroy(&loader->no_calls);
    sl_mutex_destroy(&loader->mutex);
    sl_free(loader);
}

static sluice_status read_buckets(sluice_loader *loader, sluice_error *error)
{
    const sluice_loader_options *o = &loader->config.options;
    if ((o->sizes == NULL) != (o->size_count == 0)) {
        return sl_error_set(
            error, SLUICE_INVALID, "loader",
            "options " SL_OPTION("sizes") " and " SL_OPTION("size_count") " go together");
    }
    if (o->sizes != NULL && o->buckets == NULL) {
        return sl_error_set(error, SLUICE_INVALID, "loader",
                            "option " SL_OPTION("sizes") " needs option " SL_OPTION("buckets"));
    }
    return o->buckets != NULL ? sl_bucketing_read(&loader->buckets, o->buckets, error) : SLUICE_OK;
}

static sluice_status bind_columns(sluice_loader *loader, const sluice_augment *recipe,
                                  sluice_error *error)
{
    const sluice_loader_options *o = &loader->config.options;
    if (o->columns != NULL && (recipe != NULL || o->dtype != 0 || o->layout != 0)) {
        return sl_error_set(
            error, SLUICE_INVALID, "loader",
            "with option " SL_OPTION("columns") ", recipe, " SL_OPTION("dtype") " and " SL_OPTION(
                "layout") " belong to each image column, not to the loader");
    }
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
                                      .notices = loader->notices};
    const sluice_status status = sl_columns_bind(&loader->columns, &config, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < loader->columns.count; i++) {
        sl_recipe_limit(&loader->columns.columns[i].request.recipe, o->max_pixels);
    }
    return status;
}

/* Windows of a mix are mixed by its weights, and go by its schedules, which they keep. */
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

/* With window columns the samples of the loader are windows of those of its dataset. */
static sluice_status cut_windows(sluice_loader *loader, const sluice_loader_options *options,
                                 sluice_error *error)
{
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
    return sl_config_make(&loader->config, options, cut, error);
}

static void use_columns(sluice_loader *loader)
{
    const sl_config_columns columns = {loader->columns.pictures > 0,
                                       sl_columns_row_bytes(&loader->columns),
                                       loader->columns.members};
    sl_config_use_columns(&loader->config, loader->dataset, &columns);
}

/* Where nothing but parts of tensors is taken of samples, no more than that is read, unless all of
 * the dataset will be in memory. Larger samples are still read whole: the limit is theirs. */
static sluice_status cut_parts(sluice_loader *loader, const sluice_loader_options *options,
                               sluice_error *error)
{
    sl_subvolumes taken = {.seed = loader->config.options.seed};
    sl_dataset *cut = NULL;
    if (options->whole_samples != 0 || loader->dataset->info.front_to_back != 0 ||
        options->shuffle == SLUICE_SHUFFLE_SHARDS ||
        !sl_columns_take_parts(&loader->columns, &taken) ||
        sl_resident_needs(loader->dataset->objects, loader->config.resident_bytes) > 0) {
        return SLUICE_OK;
    }
    sluice_status status = sl_subvolumes_open(&cut, loader->dataset, &taken, error);
    if (status != SLUICE_OK || cut == NULL) {
        return status;
    }
    sluice_loader_options own = *options;
    own.max_sample_bytes = loader->config.options.max_sample_bytes;
    sl_dataset_close(loader->dataset);
    loader->dataset = cut;
    status = sl_config_make(&loader->config, &own, cut, error);
    use_columns(loader);
    return status;
}

sluice_status sl_loader_open(sluice_loader **loader, sl_dataset *dataset,
                             const sluice_augment *recipe, const sluice_loader_options *options,
                             const sl_fault_config *fault, sluice_error *error)
{
    *loader = NULL;
    sluice_loader *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_no_memory(error, "loader", "for the loader");
    }
    made->open_ns = sl_now_ns();
    made->forks = sl_fork_count();
    made->watch.period_ns = SL_WATCHDOG_PERIOD_NS;
    made->dataset = sl_dataset_ref(dataset);
    made->notices = sl_notices_open();
    made->quarantine.fd = -1;
    sl_error_clear(&made->error);
    sl_error_clear(&made->refusal);
    sl_mutex_init(&made->mutex);
    sl_cond_init(&made->no_calls);
    sluice_status status = made->notices != NULL
                               ? sl_config_make(&made->config, options, dataset, error)
                               : sl_no_memory(error, "loader", "for the loader");
    if (status == SLUICE_OK) {
        status = read_buckets(made, error);
    }
    if (status == SLUICE_OK) {
        status = bind_columns(made, recipe, error);
    }
    if (status == SLUICE_OK) {
        const bool windows = made->columns.windows.field != SL_FIELD_NONE;
        status = sl_shard_reading_check(dataset, &made->config.options, windows, error);
    }
    if (status == SLUICE_OK) {
        status = sl_loader_open_partners(made, options, error);
    }
    if (status == SLUICE_OK) {
        status = sl_loader_open_episodes(made, options, error);
    }
    if (status == SLUICE_OK) {
        status = cut_windows(made, options, error);
    }
    if (status == SLUICE_OK) {
        use_columns(made);
        status = cut_parts(made, options, error);
    }
    if (status == SLUICE_OK) {
        status = sl_shard_reading_open(&made->shards, &made->config, made->dataset, options, error);
    }
    if (status == SLUICE_OK) {
        status =
            sl_bucketing_open(&made->buckets, &made->config, made->dataset, &made->columns, error);
    }
    if (status == SLUICE_OK && made->episodes.classes == 0) {
        status = sl_config_check_epoch(&made->config, made->dataset, error);
    }
    if (status == SLUICE_OK) {
        made->end_epoch = made->config.options.end_epoch;
        sl_budget_init(&made->budget, made->config.options.memory_bytes);
        status = open_stages(made, options->workers, fault, error);
    }
    if (status != SLUICE_OK) {
        destroy(made);
        return status;
    }
    populate_first(made);
    *loader = made;
    return SLUICE_OK;
}

void sl_loader_close(sluice_loader *loader)
{
    sl_lock(&loader->mutex);
    (void)atomic_fetch_or_explicit(&loader->calls, SL_LOADER_CLOSING, memory_order_relaxed);
    sl_staging_cancel(loader->staging, true);
    /* Acquires what calls did that have left (sl_loader_leave). */
    while (atomic_load_explicit(&loader->calls, memory_order_acquire) != SL_LOADER_CLOSING) {
        sl_cond_wait(&loader->no_calls, &loader->mutex);
    }
    sl_unlock(&loader->mutex);
    destroy(loader);
}
