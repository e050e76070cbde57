/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reason a loader reports for waiting (sluice_loader_describe): at rest, for a consumer that
 * keeps batches, for a stalled read, for a lost row (--wrap). It may be called at any time, from
 * any thread.
 */
#include "fault_setup.h"
#include "loader.h"
#include "packed.h"
#include "photo_folder.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 96 };
#define MS UINT64_C(1000000)

static char packed[300];
static photo_folder folder;

static int make(void **state)
{
    (void)state;
    photo_folder_make(&folder, 1, 1); /* only for its path */
    (void)snprintf(packed, sizeof(packed), "%s-packed", folder.path);
    packed_make(packed, &(packed_options){.samples = SAMPLES, .classes = 4});
    return 0;
}

static int clean(void **state)
{
    (void)state;
    photo_folder_remove(&folder);
    remove_tree(packed);
    return 0;
}

TEST_GROUP(make, clean)

static _Atomic int lose_tasks;

/* NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
sluice_status __real_sl_workers_submit(sl_workers *workers, const void *jobs, size_t count);
sluice_status __wrap_sl_workers_submit(sl_workers *workers, const void *jobs, size_t count);

sluice_status __wrap_sl_workers_submit(sl_workers *workers, const void *jobs, size_t count)
{
    return atomic_load_explicit(&lose_tasks, memory_order_relaxed) != 0
               ? SLUICE_OK
               : __real_sl_workers_submit(workers, jobs, count);
}
/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

static sluice_loader *open_loader(const sl_fault_config *fault)
{
    sluice_loader_options options = setup_options();
    options.prefetch = 3;
    options.workers = 2;
    options.page_cache = SLUICE_CACHE_BUFFERED; /* no copy in memory */
    return fault_loader(packed, &options, fault);
}

/* Waits until the loader reports the words, which may take some time. */
static void expect_words(sluice_loader *loader, const char *words)
{
    char text[1024] = "";
    const uint64_t end = setup_now_ns() + TEST_PATIENCE_NS;
    do {
        assert_int_equal(sluice_loader_describe(loader, text, sizeof(text)), SLUICE_OK);
        if (strstr(text, words) != NULL) {
            return;
        }
        setup_sleep_ns(MS);
    } while (setup_now_ns() < end);
    fail_msg("\"%s\" does not say \"%s\"", text, words);
}

TEST(a_loader_at_rest)
{
    char text[8];
    sluice_loader *loader = open_loader(NULL);
    expect_words(loader, "no epoch was started");
    assert_int_equal(sluice_loader_describe(loader, text, sizeof(text)), SLUICE_OK);
    assert_string_equal(text, "no epoc"); /* cut */
    assert_int_equal(sluice_loader_describe(loader, text, 1), SLUICE_OK);
    assert_string_equal(text, "");
    assert_int_equal(sluice_loader_describe(loader, text, 0), SLUICE_INVALID);
    assert_int_equal(sluice_loader_describe(loader, NULL, 8), SLUICE_INVALID);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    expect_words(loader, "the next batch, or the end of the epoch, is ready");
    sluice_loader_cancel(loader);
    expect_words(loader, "the epoch was canceled");
    sluice_loader_close(loader);
    assert_int_equal(sluice_loader_describe(NULL, text, 8), SLUICE_INVALID);
}

TEST(a_consumer_who_keeps_batches)
{
    sluice_batch *taken[3];
    sluice_loader *loader = open_loader(NULL);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sluice_loader_next(loader, &taken[i], -1), SLUICE_OK);
    }
    expect_words(loader, "batch 3 waits for a slot: unreleased batches hold them all");
    for (int i = 0; i < 3; i++) {
        sluice_batch_release(taken[i]);
    }
    expect_words(loader, "is ready");
    sluice_loader_close(loader);
}

/* Reports the file, the row, and that it is in flight. */
TEST(a_read_that_stalls)
{
    const sl_fault_config fault = {
        .seed = 1, .late_ns = UINT64_C(60000) * MS, .late_permille = 1000};
    char words[400];
    sluice_batch *batch = NULL;
    sluice_loader *loader = open_loader(&fault);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, (int64_t)MS), SLUICE_AGAIN);
    (void)snprintf(words, sizeof(words), " of %s/", packed);
    expect_words(loader, words);
    expect_words(loader, "batch 0 waits for its rows; 0 of its ");
    expect_words(loader, "wait for their samples, first row 0 for sample ");
    expect_words(loader, ", the oldest, for ");
    sluice_loader_close(loader);
}

/* All are read, and no worker has them. */
TEST(rows_that_are_lost)
{
    sluice_batch *batch = NULL;
    sluice_loader *loader = open_loader(NULL);
    loader->watch.period_ns = 20 * MS;
    atomic_store_explicit(&lose_tasks, 1, memory_order_relaxed);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, (int64_t)MS), SLUICE_AGAIN);
    expect_words(loader, "batch 0 waits for its rows; 0 of its ");
    expect_words(loader, "reads: 0 in flight; workers: idle");
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_INTERNAL);
    expect_words(loader, "the loader has failed: batch 0 will never be ready");
    atomic_store_explicit(&lose_tasks, 0, memory_order_relaxed);
    sluice_loader_close(loader);
}

/* ---- any thread ---- */

typedef struct asker {
    sluice_loader *loader;
    atomic_bool stop;
    uint64_t asked;
} asker;

static void *ask(void *ctx)
{
    asker *a = ctx;
    char text[1024];
    while (!atomic_load_explicit(&a->stop, memory_order_relaxed)) {
        a->asked +=
            sluice_loader_describe(a->loader, text, sizeof(text)) == SLUICE_OK && text[0] != '\0';
    }
    return NULL;
}

TEST(it_may_be_asked_at_any_time)
{
    const sl_fault_config fault = {
        .seed = 2, .short_permille = 300, .again_permille = 300, .late_permille = 300};
    asker a = {.loader = open_loader(&fault)};
    pthread_t thread;
    uint64_t rows = 0;
    assert_int_equal(pthread_create(&thread, NULL, ask, &a), 0);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        sluice_batch *batch = NULL;
        assert_int_equal(sluice_loader_start_epoch(a.loader, epoch), SLUICE_OK);
        while (sluice_loader_next(a.loader, &batch, -1) == SLUICE_OK) {
            rows += sluice_batch_rows(batch);
            sluice_batch_release(batch);
        }
    }
    atomic_store_explicit(&a.stop, true, memory_order_relaxed);
    pthread_join(thread, NULL);
    assert_int_equal(rows, 3 * SAMPLES);
    assert_true(a.asked > 0);
    sluice_loader_close(a.loader);
}
