/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include "accelerator.h"
#include "buckets.h"
#include "rows.h"
#include "units.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

enum { WORLD_MAX = 4, HELD_MAX = 4, SEGMENTS_MAX = 4 };

/* How long a close waits for hanging reads (sluice/loader.h), plus a margin. */
#define CLOSE_NS UINT64_C(700000000)
/* Longest wait without a cause if nothing else waits: less than the loader's watchdog, whose second
 * would hide a lost signal. */
#define VAIN_NS UINT64_C(900000000)

/* Longest wait for hanging reads and for the reads queued behind them. */
#define HANGS_NS UINT64_C(60000000000)

typedef enum ending {
    END_OF_EPOCH,
    END_CLOSE,  /* possibly with held batches */
    END_CANCEL, /* then start again */
    END_SAVE    /* then resume with another number of ranks */
} ending;

/* The part of an epoch that is loaded with one set of loaders. */
typedef struct segment {
    const sim_case *of;
    sluice_dataset *dataset;
    const sim_how *how;
    uint32_t start, steps; /* places before it; number of steps */
    uint32_t epochs;       /* with END_OF_EPOCH: number of consecutive epochs */
    ending end;
    bool has_cursor;
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t cursor_bytes;
    uint8_t saved[SLUICE_CURSOR_BYTES]; /* saved by one rank, for the next part */
    size_t saved_bytes;
    bool failed; /* a step failed, as it may */
    uint32_t saver;
} segment;

typedef struct rank {
    segment *of;
    uint32_t number;
    sluice_loader *loader;
    sim_draw draw;
    sluice_batch *held[HELD_MAX];
    uint64_t digests[HELD_MAX];
    uint32_t held_count;
    sim_fiber *fiber;
    struct CUstream_st *stream; /* with a device */
    bool ended;                 /* it takes no more batches */
    bool failed;
} rank;

static uint64_t epochs, device_epochs, devices_lost;

uint64_t sim_run_epochs(void)
{
    return epochs;
}

uint64_t sim_run_device_epochs(void)
{
    return device_epochs;
}

uint64_t sim_run_devices_lost(void)
{
    return devices_lost;
}

/* ---- opening ---- */

static void must(sluice_status status, const sluice_error *error, const char *what)
{
    if (status != SLUICE_OK) {
        sim_fail("%s: %s: %s", what, sluice_status_name(status), error->text);
    }
}

static void add_picture(const sim_case *of, sluice_columns *columns)
{
    const double side[] = {SIM_SIDE, SIM_SIDE};
    const double cell[] = {SIM_CELL};
    sluice_augment *recipe;
    sluice_error error = SLUICE_ERROR_INIT;
    must(sluice_augment_create(&recipe), &error, "recipe");
    if (of->picture == SIM_BUCKET) {
        (void)sluice_augment_add(recipe, "bucket_crop", NULL, 0);
    } else if (of->picture == SIM_MOSAIC) {
        (void)sluice_augment_add(recipe, "mosaic", cell, 1);
    } else {
        (void)sluice_augment_add(recipe, "resize", side, 2);
    }
    if (of->picture == SIM_BLEND) {
        (void)sluice_augment_add(recipe, "mixup", NULL, 0);
    }
    if (of->picture == SIM_MIXUP) {
        (void)sluice_augment_add(recipe, "mixup_partner", NULL, 0);
    }
    (void)sluice_columns_image(columns, "image", recipe, SLUICE_U8, SLUICE_NHWC);
    sluice_augment_destroy(recipe);
}

static void add_units(const sim_case *of, sluice_columns *columns)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    column.field = "payload";
    column.length = of->length;
    if (of->kind == SIM_WINDOWS) {
        column.kind = SLUICE_COLUMN_WINDOW;
        column.name = "window";
        column.stride = of->stride;
    } else {
        column.kind = SLUICE_COLUMN_PACKED;
        column.name = "row";
        column.dtype = SLUICE_I32;
        column.cut = of->cut;
    }
    (void)sluice_columns_add(columns, &column);
}

static sluice_columns *make_columns(const sim_case *of)
{
    sluice_columns *columns;
    sluice_error error = SLUICE_ERROR_INIT;
    must(sluice_columns_create(&columns), &error, "columns");
    if (of->kind != SIM_SAMPLES) {
        add_units(of, columns);
    }
    for (uint32_t i = 0; of->kind == SIM_SAMPLES && i < of->members; i++) {
        sluice_column id = SLUICE_COLUMN_INIT;
        sluice_column payload = SLUICE_COLUMN_INIT;
        char names[2][32];
        (void)snprintf(names[0], sizeof(names[0]), "id%u", i);
        (void)snprintf(names[1], sizeof(names[1]), "payload%u", i);
        id.kind = SLUICE_COLUMN_NUMBER;
        id.field = "id";
        id.name = names[0];
        payload.kind = of->data->fixed ? SLUICE_COLUMN_TENSOR : SLUICE_COLUMN_RAGGED;
        payload.field = "payload";
        payload.name = names[1];
        payload.length = of->data->fixed ? 0 : of->data->largest;
        id.partner = payload.partner = i;
        (void)sluice_columns_add(columns, &id);
        (void)sluice_columns_add(columns, &payload);
    }
    if (of->picture != SIM_NO_PICTURE) {
        add_picture(of, columns);
    }
    must(sluice_columns_get_error(columns, &error), &error, "columns");
    return columns;
}

static bool needs_classes(const sim_case *of)
{
    bool needs = of->order == SIM_EPISODES;
    for (uint32_t i = 1; i < of->members; i++) {
        needs = needs || of->rules[i] != SIM_ANY;
    }
    return needs;
}

static void add_order(const sim_case *of, sluice_loader_options *options)
{
    switch (of->order) {
    case SIM_PLAIN:
        break;
    case SIM_EPISODES:
        options->episode_classes = SIM_EPISODE_CLASSES;
        options->episode_samples = SIM_EPISODE_SAMPLES;
        options->episodes = of->rows / SIM_EPISODE;
        break;
    case SIM_WEIGHTS:
        options->weights = of->numbers;
        options->weight_count = of->data->samples;
        options->weighted_samples = of->rows;
        break;
    case SIM_LENGTHS:
        options->lengths = of->numbers;
        options->length_count = of->data->samples;
        break;
    }
}

static sluice_loader_options options_of(const rank *r, const sluice_columns *columns)
{
    const sim_case *of = r->of->of;
    const sim_how *how = r->of->how;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = of->global / how->world;
    options.workers = how->workers;
    options.prefetch = how->prefetch;
    options.seed = of->seed;
    options.rank = r->number;
    options.world_size = how->world;
    options.shuffle = of->shuffle;
    options.block_samples = of->block_samples;
    options.window_blocks = of->window_blocks;
    options.last_batch = of->last_batch;
    options.on_bad_sample = of->on_bad;
    options.io_backend = SLUICE_IO_PREAD;
    options.page_cache = how->page_cache;
    options.io_depth = how->depth;
    options.io_threads = how->threads;
    options.read_buffer_bytes = 1 << 20;
    options.max_sample_bytes = 128 << 10;
    options.memory_bytes = how->memory_bytes;
    options.resident_bytes = how->resident_bytes;
    options.repeats = of->repeats > 1 ? of->repeats : 0;
    options.partners = of->partners[0] != '\0' ? of->partners : NULL;
    options.classes = needs_classes(of) ? of->data->classes : NULL;
    options.class_count = needs_classes(of) ? of->data->samples : 0;
    options.columns = columns;
    options.stall_fail_ns = how->stall_ns;
    options.stall_warn_ns = how->stall_ns / 4;
    add_order(of, &options);
    if (how->device.used) {
        options.device = "cuda:0";
        options.device_slots = how->device.slots;
    }
    if (of->picture == SIM_BUCKET) {
        options.buckets = SIM_BUCKETS_TEXT;
        options.sizes = of->bad_count > 0 ? of->data->shapes : NULL; /* bad ones, too */
        options.size_count = of->bad_count > 0 ? of->data->samples : 0;
    }
    options.end_epoch = how->ends ? of->epoch + r->of->epochs : 0;
    return options;
}

/* Returns false if memory is short under the options, or the device is lost. */
static bool open_loader(rank *r)
{
    const sim_case *of = r->of->of;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_columns *columns = make_columns(of);
    const sluice_loader_options options = options_of(r, columns);
    sluice_dataset *fresh = r->of->how->fresh ? sim_open_data(of) : NULL;
    const sluice_status status = sluice_loader_open(
        &r->loader, fresh != NULL ? fresh : r->of->dataset, NULL, &options, &error);
    sluice_dataset_close(fresh);
    sluice_columns_destroy(columns);
    if ((status == SLUICE_NOMEM && options.memory_bytes > 0) ||
        (status == SLUICE_DEVICE && sim_accelerator_is_lost())) {
        return false;
    }
    must(status, &error, "loader");
    return true;
}

/* ---- batches ---- */

static void check_memory(const rank *r)
{
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    const uint64_t limit = r->of->how->memory_bytes;
    if (sluice_loader_get_stats(r->loader, &stats) == SLUICE_OK && limit > 0 &&
        stats.memory_bytes > limit) {
        sim_fail("%llu bytes of memory are in use, of %llu", (unsigned long long)stats.memory_bytes,
                 (unsigned long long)limit);
    }
}

/* Queues reads of all columns after the stream's pending work. */
static void read_later(const rank *r, const sluice_batch *batch)
{
    for (uint32_t i = 0; i < sluice_batch_columns(batch); i++) {
        sluice_tensor tensor = SLUICE_TENSOR_INIT;
        if (sluice_batch_get_column(batch, i, &tensor) == SLUICE_OK && tensor.size_bytes > 0) {
            sim_accelerator_read(r->stream, tensor.data, tensor.size_bytes);
        }
    }
}

/* Releases the batch at once or after the stream's work. `reads`: the stream has yet to read it. */
static void give_back(rank *r, sluice_batch *batch, bool reads)
{
    if (r->stream == NULL || sim_chance(&r->draw, 300)) {
        sluice_batch_release(batch);
        return;
    }
    if (reads) {
        read_later(r, batch);
    }
    const sluice_status status = sluice_batch_release_on(batch, r->stream);
    if (status != SLUICE_OK && !(status == SLUICE_DEVICE && sim_accelerator_is_lost())) {
        sim_fail("release on a stream: %s", sluice_status_name(status));
    }
}

static void release_one(rank *r)
{
    const uint32_t i = sim_below(&r->draw, r->held_count);
    if (sim_rows_digest(r->held[i]) != r->digests[i]) {
        sim_fail("a batch that is held has changed");
    }
    give_back(r, r->held[i], true);
    r->held_count--;
    r->held[i] = r->held[r->held_count];
    r->digests[i] = r->digests[r->held_count];
}

static void nap(rank *r)
{
    const uint64_t most = r->of->how->slow_ns;
    if (most > 0) {
        sim_sleep(sim_draw_next(&r->draw) % most);
    }
}

static sluice_status next_batch(rank *r, sluice_batch **batch)
{
    sluice_status status;
    do {
        status = sluice_loader_next(r->loader, batch, r->of->how->timeout_ns);
        if (status == SLUICE_AGAIN) {
            sim_sleep(100000);
        }
    } while (status == SLUICE_AGAIN);
    return status;
}

static void fail_of(const rank *r, sluice_status status, const char *what)
{
    sluice_error error = SLUICE_ERROR_INIT;
    (void)sluice_loader_get_error(r->loader, &error);
    sim_fail("rank %u, %s: %s: %s", r->number, what, sluice_status_name(status), error.text);
}

/* True if a step may fail like this. */
static bool may_fail(const rank *r, const sim_place *at)
{
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_status status = sluice_loader_get_error(r->loader, &error);
    if (status == SLUICE_DEVICE) {
        return sim_accelerator_is_lost();
    }
    return status != SLUICE_OK && error.sample >= 0 && sim_rows_may_fail(at, error.sample);
}

/* Waits until the batch is in device memory. Returns false if the device is lost. */
static bool receive(const rank *r, sluice_batch *batch)
{
    if (r->stream == NULL) {
        return true;
    }
    const sluice_status status = sluice_batch_wait(batch, r->stream);
    if (status != SLUICE_OK && !(status == SLUICE_DEVICE && sim_accelerator_is_lost())) {
        sim_fail("wait on a stream: %s", sluice_status_name(status));
    }
    sim_accelerator_synchronize(r->stream);
    return !sim_accelerator_is_lost();
}

static void take_batch(rank *r, sluice_batch *batch, const sim_place *at)
{
    const uint64_t digest = sim_rows_check(batch, at);
    sim_trace_add(digest);
    r->held[r->held_count] = batch;
    r->digests[r->held_count++] = digest;
    while (r->held_count > r->of->how->held) {
        release_one(r);
    }
}

/* Once a call has reported the loss, the loader keeps reporting it. */
static void expect_lost(rank *r, sluice_batch *batch)
{
    sluice_batch *none = NULL;
    if (sluice_batch_wait(batch, r->stream) != SLUICE_DEVICE) {
        sim_fail("a stream waits for a batch of a device that is lost");
    }
    give_back(r, batch, false);
    if (next_batch(r, &none) != SLUICE_DEVICE) {
        sim_fail("next does not report that the device is lost");
    }
}

static void take_steps(rank *r, uint32_t epoch)
{
    segment *of = r->of;
    sim_place at = {.rank = r->number,
                    .world = of->how->world,
                    .epoch = epoch,
                    .start = epoch == 0 ? of->start : 0};
    const uint32_t all = sim_rows_steps(&at);
    const uint32_t steps = epoch == 0 ? of->steps : all;
    for (; at.step < steps; at.step++) {
        sluice_batch *batch = NULL;
        const sluice_status status = next_batch(r, &batch);
        if (status != SLUICE_OK) {
            if (!may_fail(r, &at)) {
                fail_of(r, status, "next");
            }
            r->failed = of->failed = true;
            return;
        }
        if (!receive(r, batch)) {
            expect_lost(r, batch);
            r->failed = of->failed = true;
            return;
        }
        take_batch(r, batch, &at);
        nap(r);
    }
    sluice_batch *none = NULL;
    const sluice_status end = steps == all ? next_batch(r, &none) : SLUICE_END;
    if (end == SLUICE_DEVICE && sim_accelerator_is_lost()) {
        r->failed = of->failed = true;
    } else if (end != SLUICE_END) {
        sim_fail("no end behind %u steps", all);
    }
    epochs++;
    device_epochs += r->stream != NULL;
}

/* ---- what else is done with a loader ---- */

static void look_around(void *argument)
{
    rank *r = argument;
    while (!r->ended) {
        uint8_t cursor[SLUICE_CURSOR_BYTES];
        size_t bytes = sizeof(cursor);
        sluice_loader_position position = SLUICE_LOADER_POSITION_INIT;
        check_memory(r);
        (void)sluice_loader_get_position(r->loader, &position);
        if (sluice_loader_save(r->loader, cursor, &bytes) != SLUICE_OK) {
            sim_trace_add(1);
        }
        sim_sleep(1 + sim_draw_next(sim_run_draw()) % 2000000);
    }
}

static void cancel_later(void *argument)
{
    rank *r = argument;
    sim_sleep(sim_draw_next(sim_run_draw()) % 3000000);
    sluice_loader_cancel(r->loader);
}

/* Takes batches until another thread cancels or the epoch ends. */
static void take_canceled(rank *r)
{
    sluice_status status = SLUICE_OK;
    sim_place at = {.rank = r->number, .world = r->of->how->world, .start = r->of->start};
    sim_fiber *other = sim_start("cancel", cancel_later, r);
    for (; status == SLUICE_OK; at.step++) {
        sluice_batch *batch = NULL;
        status = next_batch(r, &batch);
        if (status == SLUICE_OK) {
            give_back(r, batch, false);
            nap(r);
        }
    }
    if (status != SLUICE_END && status != SLUICE_CANCELED && !may_fail(r, &at)) {
        fail_of(r, status, "next, canceled");
    }
    r->failed = status != SLUICE_END && status != SLUICE_CANCELED;
    sim_join(other);
}

static void start(rank *r, uint32_t epoch)
{
    const sluice_status status = sluice_loader_start_epoch(r->loader, r->of->of->epoch + epoch);
    if (status != SLUICE_OK) {
        fail_of(r, status, "start");
    }
}

static void restore(rank *r)
{
    uint64_t epoch = 0;
    const sluice_status status =
        sluice_loader_restore(r->loader, r->of->cursor, r->of->cursor_bytes, &epoch);
    if (status != SLUICE_OK || epoch != r->of->of->epoch) {
        fail_of(r, status, "restore");
    }
}

static void save(rank *r)
{
    r->of->saved_bytes = sizeof(r->of->saved);
    const sluice_status status = sluice_loader_save(r->loader, r->of->saved, &r->of->saved_bytes);
    if (status != SLUICE_OK) {
        fail_of(r, status, "save");
    }
}

static void close_loader(rank *r)
{
    while (r->held_count > 0 && sim_chance(&r->draw, 500)) {
        release_one(r);
    }
    const uint64_t before = sim_idle();
    const uint64_t excused = sim_excused();
    sluice_loader_close(r->loader);
    const uint64_t took = sim_idle() - before;
    if (took > CLOSE_NS + (r->of->how->together ? sim_excused() - excused : 0)) {
        sim_fail("close took %llu ms", (unsigned long long)(took / 1000000));
    }
    while (r->held_count > 0) {
        release_one(r);
    }
    if (r->stream != NULL) {
        sim_accelerator_close_stream(r->stream);
    }
}

static void run_rank(void *argument)
{
    rank *r = argument;
    segment *of = r->of;
    sim_fiber *looker = NULL;
    if (!open_loader(r)) {
        of->failed = true;
        return;
    }
    r->stream = of->how->device.used ? sim_accelerator_open_stream() : NULL;
    if (of->how->looks) {
        looker = sim_start("look", look_around, r);
    }
    if (of->end == END_CANCEL && !of->has_cursor) {
        start(r, 0);
        take_canceled(r);
    }
    if (of->has_cursor) {
        restore(r);
    }
    for (uint32_t i = 0; i < of->epochs && !r->failed; i++) {
        start(r, i);
        take_steps(r, i);
    }
    if (!r->failed && of->end == END_SAVE && r->number == of->saver) {
        save(r);
    }
    of->failed = of->failed || r->failed;
    check_memory(r);
    if (looker != NULL) {
        r->ended = true;
        sim_join(looker);
    }
    close_loader(r);
}

/* ---- what packed rows are ---- */

void sim_run_learn(sim_case *of, sluice_dataset *dataset)
{
    const sim_how how = {
        .world = 1, .workers = 1, .prefetch = 2, .depth = 1, .threads = 1, .timeout_ns = -1};
    sim_case whole = *of;
    segment part = {.of = &whole, .dataset = dataset, .how = &how, .epochs = 1};
    rank one = {.of = &part};
    sluice_batch *batch = NULL;
    sim_units_begin(of);
    if (of->kind != SIM_PACKED) {
        return;
    }
    whole.global = SIM_UNITS_MAX;
    whole.last_batch = SLUICE_LAST_SHORT;
    sim_limits_set(&how.limits);
    (void)open_loader(&one);
    start(&one, 0);
    of->rows = of->units = (uint32_t)sluice_loader_samples(one.loader);
    if (next_batch(&one, &batch) != SLUICE_OK || sluice_batch_rows(batch) != of->rows) {
        sim_fail("%u packed rows do not come in one batch", of->rows);
    }
    sim_units_learn(of, batch);
    sluice_batch_release(batch);
    close_loader(&one);
    sim_units_mark(of);
    sim_expect_end(UINT64_C(1000000000), false);
}

/* ---- a run ---- */

static void run_segment(segment *of, sim_draw *draw)
{
    rank ranks[WORLD_MAX];
    const uint64_t idle = sim_idle();
    const uint64_t excused = sim_excused();
    const uint32_t slabs = sim_slabs_open();
    const sim_how *how = of->how;
    sim_note(
        "world %u, from %u, %u steps, then %d; workers %u, prefetch %u, depth %u, threads %u, "
        "arena %llu, lookahead %u, cache %d, resident %llu, memory %llu, fresh %d, together %d, "
        "direct %d\n",
        how->world, of->start, of->steps, of->end, how->workers, how->prefetch, how->depth,
        how->threads, (unsigned long long)how->limits.arena_bytes, how->limits.lookahead,
        how->page_cache, (unsigned long long)how->resident_bytes,
        (unsigned long long)how->memory_bytes, how->fresh, how->together,
        !how->disk.refuses_direct);
    memset(ranks, 0, sizeof(ranks));
    sim_disk_set(&of->how->disk);
    sim_accelerator_set(&of->how->device);
    if (of->how->stall_ns > 0) {
        sim_rows_let_fail();
        sim_excuse(HANGS_NS);
    }
    sim_limits_set(&of->how->limits);
    of->saver = sim_below(draw, of->how->world);
    for (uint32_t i = 0; i < of->how->world; i++) {
        ranks[i].of = of;
        ranks[i].number = i;
        ranks[i].draw.state = sim_draw_next(draw);
        if (of->how->together) {
            ranks[i].fiber = sim_start("rank", run_rank, &ranks[i]);
        } else {
            run_rank(&ranks[i]);
        }
    }
    for (uint32_t i = 0; i < of->how->world && of->how->together; i++) {
        sim_join(ranks[i].fiber);
    }
    sim_expect_end(UINT64_C(1000000000) + 4 * how->disk.hang_ns, sim_disk_hung() > 0);
    devices_lost += sim_accelerator_is_lost();
    /* Memory of reads that hang longer than stall_fail_ns is abandoned on purpose. */
    if (sim_disk_hung() == 0 && sim_slabs_open() > slabs) {
        sim_fail("%u slabs of memory are left", sim_slabs_open() - slabs);
    }
    if (sim_idle() - idle > sim_excused() - excused + VAIN_NS) {
        sim_fail("waited for nothing: %llu ms, %llu of them with a reason",
                 (unsigned long long)((sim_idle() - idle) / 1000000),
                 (unsigned long long)((sim_excused() - excused) / 1000000));
    }
}

void sim_run(const sim_case *of, sluice_dataset *dataset, uint64_t seed)
{
    sim_draw draw = {seed};
    segment part = {.of = of, .dataset = dataset, .end = END_SAVE};
    sim_begin(sim_draw_next(&draw));
    sim_rows_begin_run();
    while (part.end == END_SAVE && !part.failed) {
        const sim_how how = sim_draw_how(&draw, of);
        const sim_place at = {.world = how.world, .start = part.start};
        const uint32_t steps = sim_rows_steps(&at);
        part.how = &how;
        part.end = (ending)SIM_ONE_OF(&draw, END_OF_EPOCH, END_OF_EPOCH, END_CLOSE, END_CANCEL,
                                      END_SAVE, END_SAVE);
        part.steps = steps;
        if (part.end == END_CLOSE || part.end == END_SAVE) {
            part.steps = sim_below(&draw, steps + 1);
        }
        if (part.end == END_SAVE && part.steps == steps) {
            part.end = END_OF_EPOCH;
        }
        part.epochs = part.end == END_OF_EPOCH ? 1 + sim_below(&draw, SIM_EPOCHS) : 1;
        run_segment(&part, &draw);
        part.has_cursor = part.end == END_SAVE;
        memcpy(part.cursor, part.saved, sizeof(part.cursor));
        part.cursor_bytes = part.saved_bytes;
        part.start += part.steps * of->global;
    }
    for (uint32_t i = 0; i < part.epochs && part.end != END_CLOSE && !part.failed; i++) {
        sim_rows_end_epoch(i);
    }
}
