/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders of composed rows: the same with any number of workers and matching the model, resumed,
 * canceled, and closed at any moment. */
#include "loader_composed_rig.h"
#include "test_folder.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { STEPS_MAX = 16, WORKERS = 4, HELD_MAX = 3 };

typedef struct epoch_digests {
    uint32_t steps;
    uint64_t of[STEPS_MAX];
} epoch_digests;

static int composed_setup(void **state)
{
    (void)test_folder_make(state);
    scenes_write(test_path("good"), false);
    scenes_write(test_path("spoiled"), true);
    return 0;
}

TEST_GROUP(composed_setup, test_folder_remove)

static sluice_batch *next_batch(sluice_loader *loader)
{
    sluice_batch *batch = NULL;
    const sluice_status status = sluice_loader_next(loader, &batch, -1);
    if (status != SLUICE_OK && status != SLUICE_END) {
        sluice_error error = SLUICE_ERROR_INIT;
        (void)sluice_loader_get_error(loader, &error);
        fail_msg("%s: %s", sluice_status_name(status), error.text);
    }
    return status == SLUICE_OK ? batch : NULL;
}

/* Takes the rest of an epoch. `seen` may be NULL: rows are not checked. */
static epoch_digests take_rest(sluice_loader *loader, const composed_case *of, uint64_t *seen)
{
    epoch_digests digests = {.steps = 0};
    for (sluice_batch *batch; (batch = next_batch(loader)) != NULL; digests.steps++) {
        assert_in_range(digests.steps, 0, STEPS_MAX - 1);
        if (seen != NULL) {
            composed_check(batch, of, seen);
        }
        digests.of[digests.steps] = composed_digest(batch);
        sluice_batch_release(batch);
    }
    return digests;
}

static epoch_digests take_epoch(const char *path, const composed_case *of,
                                const composed_options *options, uint64_t epoch, uint64_t *seen)
{
    sluice_loader *loader = composed_open(path, of, options);
    assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
    const epoch_digests digests = take_rest(loader, of, seen);
    sluice_loader_close(loader);
    return digests;
}

static void assert_same(const epoch_digests *a, const epoch_digests *b)
{
    assert_int_equal(a->steps, b->steps);
    assert_memory_equal(a->of, b->of, a->steps * sizeof(a->of[0]));
}

/* Epochs with one worker and with four are the same, and match the model. */
static void check_epochs(const char *path, const composed_case *of, int32_t on_bad,
                         uint64_t seen[COMPOSED_SEEN])
{
    print_message("%s\n", of->name);
    for (uint64_t epoch = 0; epoch < TEST_AMOUNT(2, 1); epoch++) {
        composed_options options = {.workers = 1, .on_bad_sample = on_bad, .seed = 11};
        const epoch_digests alone = take_epoch(path, of, &options, epoch, NULL);
        options.workers = WORKERS;
        const epoch_digests several = take_epoch(path, of, &options, epoch, seen);
        assert_true(alone.steps > 1);
        assert_same(&alone, &several);
    }
}

TEST(rows_are_as_the_model_says)
{
    for (uint32_t i = TEST_AMOUNT(0, 1); i < composed_case_count; i += TEST_AMOUNT(1, 2)) {
        const composed_case *of = &composed_cases[i];
        uint64_t seen[COMPOSED_SEEN] = {0};
        check_epochs(test_path("good"), of, SLUICE_BAD_FAIL, seen);
        assert_true(seen[SLUICE_ROW_OK] > SCENES / 2);
        if (of->model != MODEL_ALONE && of->model != MODEL_NONE) {
            assert_true(seen[COMPOSED_MIXED] > SCENES / 3);
        }
    }
}

TEST(bad_samples_are_replaced)
{
    for (uint32_t i = 0; i < composed_case_count; i += TEST_AMOUNT(1, 2)) {
        uint64_t seen[COMPOSED_SEEN] = {0};
        check_epochs(test_path("spoiled"), &composed_cases[i], SLUICE_BAD_REPLACE, seen);
        assert_true(seen[SLUICE_ROW_REPLACED] > 0);
        assert_int_equal(seen[SLUICE_ROW_BAD], 0);
    }
}

TEST(bad_samples_are_masked)
{
    for (uint32_t i = TEST_AMOUNT(0, 1); i < composed_case_count; i += TEST_AMOUNT(1, 2)) {
        uint64_t seen[COMPOSED_SEEN] = {0};
        check_epochs(test_path("spoiled"), &composed_cases[i], SLUICE_BAD_MASK, seen);
        assert_true(seen[SLUICE_ROW_OK] > 0 && seen[SLUICE_ROW_BAD] > 0);
        assert_int_equal(seen[SLUICE_ROW_REPLACED], 0);
    }
}

/* xorshift32. */
static uint32_t draw(uint32_t below)
{
    static uint32_t state = 2463534242U;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return below > 0 ? (state >> 4) % below : 0;
}

static void nap(uint32_t us)
{
    const struct timespec time = {.tv_nsec = (long)us * 1000};
    (void)nanosleep(&time, NULL);
}

TEST(a_cursor_goes_on_in_another_loader)
{
    for (uint32_t i = 0; i < composed_case_count; i += TEST_AMOUNT(1, 2)) {
        const composed_case *of = &composed_cases[i];
        composed_options options = {
            .workers = WORKERS, .on_bad_sample = SLUICE_BAD_REPLACE, .seed = 5};
        const epoch_digests whole = take_epoch(test_path("spoiled"), of, &options, 1, NULL);
        assert_true(whole.steps > 1);
        const uint32_t before = 1 + draw(whole.steps - 1);
        uint8_t cursor[SLUICE_CURSOR_BYTES];
        size_t bytes = sizeof(cursor);
        uint64_t epoch;
        sluice_loader *loader = composed_open(test_path("spoiled"), of, &options);
        assert_int_equal(sluice_loader_start_epoch(loader, 1), SLUICE_OK);
        for (uint32_t step = 0; step < before; step++) {
            sluice_batch_release(next_batch(loader));
        }
        assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_OK);
        sluice_loader_close(loader);
        options.workers = 2;
        loader = composed_open(test_path("spoiled"), of, &options);
        assert_int_equal(sluice_loader_restore(loader, cursor, bytes, &epoch), SLUICE_OK);
        assert_int_equal(epoch, 1);
        assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
        const epoch_digests rest = take_rest(loader, of, NULL);
        assert_int_equal(rest.steps, whole.steps - before);
        assert_memory_equal(rest.of, whole.of + before, rest.steps * sizeof(rest.of[0]));
        sluice_loader_close(loader);
    }
}

typedef struct canceling {
    sluice_loader *loader;
    uint32_t after_us;
} canceling;

static void *cancel_later(void *argument)
{
    const canceling *how = argument;
    nap(how->after_us);
    sluice_loader_cancel(how->loader);
    return NULL;
}

/* Takes batches until another thread cancels, or the epoch ends. */
static void take_until_canceled(sluice_loader *loader, const epoch_digests *expected)
{
    canceling how = {.loader = loader, .after_us = draw(4000)};
    pthread_t thread;
    sluice_status status = SLUICE_OK;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, &how), 0);
    bool same = true;
    for (uint32_t step = 0; status == SLUICE_OK; step++) {
        sluice_batch *batch;
        status = sluice_loader_next(loader, &batch, -1);
        if (status == SLUICE_OK) {
            same = same && step < expected->steps && composed_digest(batch) == expected->of[step];
            sluice_batch_release(batch);
        }
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(status == SLUICE_END || status == SLUICE_CANCELED);
    assert_true(same);
}

/* Closes somewhere in an epoch while batches are held, which do not change. */
static void close_somewhere(sluice_loader *loader, const epoch_digests *expected)
{
    sluice_batch *held[HELD_MAX];
    const uint32_t taken = draw(STEPS_MAX) % (expected->steps + 1);
    const uint32_t keep = draw(HELD_MAX + 1);
    const uint32_t first = taken > keep ? taken - keep : 0;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    for (uint32_t step = 0; step < taken; step++) {
        sluice_batch *batch = next_batch(loader);
        if (step < first) {
            sluice_batch_release(batch);
        } else {
            held[step - first] = batch;
        }
    }
    nap(draw(2000));
    sluice_loader_close(loader);
    for (uint32_t step = first; step < taken; step++) {
        assert_int_equal(sluice_batch_step(held[step - first]), step);
        assert_int_equal(composed_digest(held[step - first]), expected->of[step]);
        sluice_batch_release(held[step - first]);
    }
}

TEST(cancel_and_close_at_any_moment)
{
    for (uint32_t i = TEST_AMOUNT(0, 1); i < composed_case_count; i += TEST_AMOUNT(1, 2)) {
        const composed_case *of = &composed_cases[i];
        const composed_options options = {
            .workers = WORKERS, .on_bad_sample = SLUICE_BAD_REPLACE, .seed = 3};
        const epoch_digests expected = take_epoch(test_path("spoiled"), of, &options, 0, NULL);
        for (int round = 0; round < TEST_AMOUNT(5, 3); round++) {
            sluice_loader *loader = composed_open(test_path("spoiled"), of, &options);
            for (uint32_t cancels = draw(4); cancels > 0; cancels--) {
                take_until_canceled(loader, &expected);
            }
            close_somewhere(loader, &expected);
        }
    }
}
