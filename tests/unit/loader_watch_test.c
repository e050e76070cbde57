/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog of a loader. Hand-overs between stages are deliberately broken (--wrap): next must
 * notice each, and the loader must close. Slow loaders, loaders held up by their consumer, and
 * loaders that retry are watched every millisecond, and nothing must be reported.
 */
#include "batches.h"
#include "fault_setup.h"
#include "fetch_state.h"
#include "loader.h"
#include "packed.h"
#include "photo_folder.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLES = 96 };
#define MS UINT64_C(1000000)

static photo_folder photos;
static char packed[300];

static int make(void **state)
{
    (void)state;
    photo_folder_make(&photos, 4, SAMPLES / 4);
    (void)snprintf(packed, sizeof(packed), "%s-packed", photos.path);
    packed_make(packed, &(packed_options){.samples = SAMPLES, .classes = 4});
    return 0;
}

static int clean(void **state)
{
    (void)state;
    photo_folder_remove(&photos);
    remove_tree(packed);
    return 0;
}

/* ---- broken hand-overs ---- */

static _Atomic int lose_task, lose_insert, lose_credit; /* number of the call to lose, from 1 */
static _Atomic int sleep_ms;                            /* for each sample unpacked */

static bool is_turn(_Atomic int *turn)
{
    return atomic_load_explicit(turn, memory_order_relaxed) > 0 &&
           atomic_fetch_sub_explicit(turn, 1, memory_order_relaxed) == 1;
}

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
sluice_status __real_sl_workers_submit(sl_workers *workers, const void *jobs, size_t count);
sluice_status __wrap_sl_workers_submit(sl_workers *workers, const void *jobs, size_t count);
void __real_sl_fetch_insert(sl_fetch *fetch, const sl_fetch_item *item);
void __wrap_sl_fetch_insert(sl_fetch *fetch, const sl_fetch_item *item);
void __real_sl_fetch_credit(sl_fetch *fetch, uint64_t limit);
void __wrap_sl_fetch_credit(sl_fetch *fetch, uint64_t limit);
sluice_status __real_sl_dataset_unpack(const sl_dataset *dataset, const sl_sample *sample,
                                       sl_bytes bytes, sl_values *values, sluice_error *error);
sluice_status __wrap_sl_dataset_unpack(const sl_dataset *dataset, const sl_sample *sample,
                                       sl_bytes bytes, sl_values *values, sluice_error *error);

sluice_status __wrap_sl_workers_submit(sl_workers *workers, const void *jobs, size_t count)
{
    return is_turn(&lose_task) ? SLUICE_OK : __real_sl_workers_submit(workers, jobs, count);
}

void __wrap_sl_fetch_insert(sl_fetch *fetch, const sl_fetch_item *item)
{
    if (!is_turn(&lose_insert)) {
        __real_sl_fetch_insert(fetch, item);
    }
}

void __wrap_sl_fetch_credit(sl_fetch *fetch, uint64_t limit)
{
    if (!is_turn(&lose_credit)) {
        __real_sl_fetch_credit(fetch, limit);
    }
}

sluice_status __wrap_sl_dataset_unpack(const sl_dataset *dataset, const sl_sample *sample,
                                       sl_bytes bytes, sl_values *values, sluice_error *error)
{
    const int ms = atomic_load_explicit(&sleep_ms, memory_order_relaxed);
    if (ms > 0 && sample->index % 32 == 5) {
        setup_sleep_ns((uint64_t)ms * MS);
    }
    return __real_sl_dataset_unpack(dataset, sample, bytes, values, error);
}
/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

static sluice_loader *watched(const char *path, const sluice_loader_options *options,
                              const sl_fault_config *fault, uint64_t period_ns)
{
    sluice_loader *loader = fault_loader(path, options, fault);
    loader->watch.period_ns = period_ns;
    return loader;
}

static sluice_loader_options small_options(void)
{
    sluice_loader_options options = setup_options();
    options.prefetch = 3;
    options.workers = 2;
    options.page_cache = SLUICE_CACHE_BUFFERED; /* no copy in memory */
    return options;
}

static sluice_status take_all(sluice_loader *loader, uint64_t epochs, uint64_t *rows)
{
    sluice_status status = SLUICE_END;
    for (uint64_t epoch = 0; epoch < epochs && status == SLUICE_END; epoch++) {
        status = sluice_loader_start_epoch(loader, epoch);
        while (status == SLUICE_OK) {
            sluice_batch *batch = NULL;
            status = sluice_loader_next(loader, &batch, -1);
            if (status == SLUICE_OK) {
                *rows += sluice_batch_rows(batch);
                sluice_batch_release(batch);
            }
        }
    }
    return status;
}

/* ---- faults to notice ---- */

static void expect_noticed(sluice_loader *loader, const char *words)
{
    uint64_t rows = 0;
    sluice_batch *batch = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(take_all(loader, 3, &rows), SLUICE_INTERNAL);
    assert_int_equal(sluice_loader_get_error(loader, &error), SLUICE_INTERNAL);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    }
    assert_int_equal(sluice_loader_next(loader, &batch, 0), SLUICE_INTERNAL);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_INTERNAL);
    assert_int_equal(sluice_loader_start_epoch(loader, 7), SLUICE_INTERNAL);
}

TEST_WITH(a_task_that_is_lost, make, clean)
{
    for (int turn = 1; turn < 12; turn += 5) {
        const sluice_loader_options options = small_options();
        sluice_loader *loader = watched(photos.path, &options, NULL, 20 * MS);
        atomic_store_explicit(&lose_task, turn, memory_order_relaxed);
        expect_noticed(loader, "no worker finishes its remaining rows");
        sluice_loader_close(loader);
    }
}

TEST_WITH(a_substitute_that_is_not_asked_for, make, clean)
{
    sluice_loader_options options = small_options();
    options.on_bad_sample = SLUICE_BAD_REPLACE;
    char path[512];
    photo_folder_file(&photos, 7, path, sizeof(path));
    sluice_loader *loader = watched(photos.path, &options, NULL, 20 * MS);
    write_file(path, "no photo", 8);
    atomic_store_explicit(&lose_insert, 1, memory_order_relaxed);
    expect_noticed(loader, "a substitute waits: no");
    sluice_loader_close(loader);
}

TEST_WITH(credit_that_does_not_arrive, make, clean)
{
    sluice_loader_options options = small_options();
    options.last_batch = SLUICE_LAST_DROP;
    sluice_loader *loader = watched(packed, &options, NULL, 20 * MS);
    atomic_store_explicit(&lose_credit, 1, memory_order_relaxed);
    expect_noticed(loader, "delivered 0, wanted 0");
    sluice_loader_close(loader);
}

/* Like a row that keeps the reserve while it waits for a substitute. */
TEST_WITH(memory_that_does_not_come_back, make, clean)
{
    const sluice_loader_options options = small_options();
    sluice_loader *loader = watched(packed, &options, NULL, 20 * MS);
    sl_read_buffers *buffers = &loader->fetch->buffers; /* the fetch thread is idle until start */
    sl_read_buffer reserve;
    sl_read_buffer arena;
    uint32_t handles[4096];
    uint32_t count = 0;
    while (sl_read_buffers_try(buffers, SL_ARENA_UNIT / 2, &arena)) {
        assert_true(count < sizeof(handles) / sizeof(*handles));
        handles[count++] = sl_read_buffers_keep(buffers, &arena, SL_ARENA_UNIT / 2, 1);
    }
    assert_true(sl_read_buffers_take(buffers, SL_ARENA_UNIT, true, &reserve));
    expect_noticed(loader, "KiB free, its reserve is in use");
    sl_read_buffers_release(buffers, handles, count);
    sl_read_buffers_give(buffers, &reserve);
    sluice_loader_close(loader);
}

/* ---- nothing to notice ---- */

static void expect_nothing(const char *path, const sluice_loader_options *options,
                           const sl_fault_config *fault, uint64_t epochs)
{
    uint64_t rows = 0;
    sluice_loader *loader = watched(path, options, fault, MS);
    const sluice_status status = take_all(loader, epochs, &rows);
    if (status != SLUICE_END) {
        sluice_error error = SLUICE_ERROR_INIT;
        (void)sluice_loader_get_error(loader, &error);
        fail_msg("%s", error.text);
    }
    assert_int_equal(rows, epochs * SAMPLES);
    sluice_loader_close(loader);
}

TEST_WITH(slow_rows, make, clean)
{
    atomic_store_explicit(&sleep_ms, 40, memory_order_relaxed);
    for (uint32_t workers = 1; workers <= 3; workers++) {
        sluice_loader_options options = small_options();
        options.workers = workers;
        expect_nothing(packed, &options, NULL, 2);
    }
    atomic_store_explicit(&sleep_ms, 0, memory_order_relaxed);
}

TEST_WITH(slow_and_failing_reads, make, clean)
{
    const sl_fault_config late = {.seed = 1, .late_ns = UINT64_C(40) * MS, .late_permille = 60};
    const sl_fault_config again = {
        .seed = 2, .short_permille = 300, .again_permille = 300, .late_permille = 300};
    for (int32_t backend = SLUICE_IO_AUTO; backend <= SLUICE_IO_PREAD; backend++) {
        sluice_loader_options options = small_options();
        options.io_backend = backend == SLUICE_IO_URING ? SLUICE_IO_AUTO : backend;
        expect_nothing(packed, &options, &late, 2);
        expect_nothing(packed, &options, &again, 2);
        expect_nothing(photos.path, &options, &again, 2);
    }
}

/* From a copy in memory, where workers find their data themselves; and bad samples. */
TEST_WITH(all_that_is_usual, make, clean)
{
    char path[512];
    for (uint32_t prefetch = 2; prefetch <= 4; prefetch++) {
        sluice_loader_options options = setup_options();
        options.prefetch = prefetch;
        options.resident_bytes = (uint64_t)1 << 30;
        options.on_bad_sample = SLUICE_BAD_REPLACE;
        expect_nothing(packed, &options, NULL, 12);
        expect_nothing(photos.path, &options, NULL, 3);
    }
    photo_folder_file(&photos, 3, path, sizeof(path));
    write_file(path, "no photo", 8);
    sluice_loader_options options = small_options();
    options.on_bad_sample = SLUICE_BAD_REPLACE;
    expect_nothing(photos.path, &options, NULL, 4);
}

/* A consumer that holds all batches waits for itself. */
TEST_WITH(a_consumer_that_holds_all_batches, make, clean)
{
    const sluice_loader_options options = small_options();
    sluice_loader *loader = watched(packed, &options, NULL, MS);
    sluice_batch *taken[4] = {NULL};
    uint32_t count = 0;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    sluice_status status = SLUICE_OK;
    while (status == SLUICE_OK && count < 4) {
        status = sluice_loader_next(loader, &taken[count], count < 3 ? -1 : (int64_t)(100 * MS));
        count += status == SLUICE_OK;
    }
    assert_int_equal(count, 3);
    assert_int_equal(status, SLUICE_AGAIN);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(sluice_loader_next(loader, &taken[3], (int64_t)(2 * MS)), SLUICE_AGAIN);
    }
    for (uint32_t i = 0; i < count; i++) {
        sluice_batch_release(taken[i]);
    }
    assert_int_equal(sluice_loader_next(loader, &taken[3], -1), SLUICE_OK);
    sluice_batch_release(taken[3]);
    sluice_loader_close(loader);
}

/* Timeouts are kept although waits are split into slices. */
TEST_WITH(timeouts_are_what_they_were, make, clean)
{
    const sluice_loader_options options = small_options();
    sluice_loader *loader = watched(packed, &options, NULL, 7 * MS);
    sluice_batch *held[3];
    sluice_batch *batch = NULL;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sluice_loader_next(loader, &held[i], -1), SLUICE_OK);
    }
    const uint64_t begin = setup_now_ns();
    assert_int_equal(sluice_loader_next(loader, &batch, INT64_C(50) * MS), SLUICE_AGAIN);
    assert_true(setup_now_ns() - begin >= UINT64_C(50) * MS);
    for (uint32_t i = 0; i < 3; i++) {
        sluice_batch_release(held[i]);
    }
    sluice_loader_close(loader);
}
