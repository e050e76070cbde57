/* SPDX-License-Identifier: Apache-2.0 */
/* Tests mixes through the public interface: the shares in every prefix of a run, the same batches
 * for any number of workers, ranks that share an epoch, and cursors that resume at any step.
 * tests/unit/plan_mixing_test.c tests the schedule itself, python/tests/test_datasets.py other
 * formats. */
#include "batches.h"
#include "loader_setup.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { SOURCES = 3, EPOCH = 61 };

static const uint32_t classes[SOURCES] = {2, 2, 2};
static const uint32_t each[SOURCES] = {9, 3, 1};
static const double weights[SOURCES] = {4, 2, 1};
static photo_folder folders[SOURCES];
static sluice_dataset *parts[SOURCES];
static uint64_t first[SOURCES + 1];

static int set_up(void **state)
{
    for (size_t i = 0; i < SOURCES; i++) {
        photo_folder_make(&folders[i], classes[i], each[i]);
        parts[i] = setup_dataset(folders[i].path);
        first[i + 1] = first[i] + (uint64_t)classes[i] * each[i];
    }
    return 0;
}

static int tear_down(void **state)
{
    for (size_t i = 0; i < SOURCES; i++) {
        sluice_dataset_close(parts[i]);
        photo_folder_remove(&folders[i]);
    }
    return 0;
}

static sluice_dataset *make_mix(const double *of)
{
    sluice_dataset *mix = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_mix_options options = SLUICE_MIX_OPTIONS_INIT;
    options.weights = of;
    options.row_count = 1;
    options.epoch_samples = EPOCH;
    if (sluice_dataset_mix(&mix, parts, SOURCES, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return mix;
}

static sluice_loader *open_loader(const sluice_loader_options *options)
{
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment *recipe = setup_recipe(false);
    sluice_dataset *mix = make_mix(weights);
    if (sluice_loader_open(&loader, mix, recipe, options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_dataset_close(mix);
    sluice_augment_destroy(recipe);
    return loader;
}

static void collect(batches *all, const sluice_loader_options *options, uint64_t epoch)
{
    batches more = {0};
    sluice_loader *loader = open_loader(options);
    batches_collect(&more, loader, epoch);
    assert_int_equal(more.end, SLUICE_END);
    sluice_loader_close(loader);
    batches_append(all, &more);
    batches_free(&more);
}

static size_t source_of(int64_t index)
{
    size_t source = 0;
    while ((uint64_t)index >= first[source + 1]) {
        source++;
    }
    return source;
}

TEST(test_shares_of_every_prefix)
{
    batches all = {0};
    uint32_t times[32] = {0};
    uint64_t taken[SOURCES] = {0};
    sluice_loader_options options = setup_options();
    options.last_batch = SLUICE_LAST_SHORT;
    for (uint64_t epoch = 0; epoch < 5; epoch++) {
        collect(&all, &options, epoch);
    }
    assert_int_equal(all.rows, 5 * EPOCH);
    for (uint64_t i = 0; i < all.rows; i++) {
        const size_t source = source_of(all.indices[i]);
        assert_int_equal(times[all.indices[i]]++,
                         taken[source]++ / (first[source + 1] - first[source]));
        for (size_t k = 0; k < SOURCES; k++) {
            const double over = (double)taken[k] - (double)(i + 1) * weights[k] / 7;
            assert_true(over > -1 && over < 1);
        }
    }
    batches_free(&all);
}

TEST(test_workers_make_no_difference)
{
    batches one = {0};
    batches four = {0};
    sluice_loader_options options = setup_options();
    options.workers = 1;
    collect(&one, &options, 3);
    options.workers = 4;
    collect(&four, &options, 3);
    assert_true(batches_equal(&one, &four));
    batches_free(&one);
    batches_free(&four);
}

/* Stops after `stop` steps and resumes as two ranks with another batch size. Their rows in step
 * order must be the rest. */
static void check_resume(const batches *whole, uint64_t stop)
{
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = sizeof(cursor);
    batches before = {0};
    batches ranks[2] = {{0}, {0}};
    sluice_loader_options options = setup_options();
    options.last_batch = SLUICE_LAST_SHORT;
    sluice_loader *loader = open_loader(&options);
    assert_int_equal(sluice_loader_start_epoch(loader, 1), SLUICE_OK);
    batches_continue(&before, loader, stop);
    assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_OK);
    sluice_loader_close(loader);
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint64_t epoch = 0;
        options.rank = rank;
        options.world_size = 2;
        options.batch_size = 3;
        loader = open_loader(&options);
        assert_int_equal(sluice_loader_restore(loader, cursor, bytes, &epoch), SLUICE_OK);
        batches_collect(&ranks[rank], loader, epoch);
        sluice_loader_close(loader);
    }
    assert_int_equal(before.rows + ranks[0].rows + ranks[1].rows, EPOCH);
    uint64_t at = before.rows;
    uint64_t used[2] = {0};
    for (uint64_t step = 0; step < ranks[0].steps; step++) {
        for (size_t r = 0; r < 2; r++) {
            for (uint32_t i = 0; i < ranks[r].rows_of_step[step]; i++) {
                assert_int_equal(ranks[r].indices[used[r]++], whole->indices[at++]);
            }
        }
    }
    assert_int_equal(at, EPOCH);
    batches_free(&before);
    batches_free(&ranks[0]);
    batches_free(&ranks[1]);
}

TEST(test_a_cursor_goes_on_anywhere)
{
    batches whole = {0};
    sluice_loader_options options = setup_options();
    options.last_batch = SLUICE_LAST_SHORT;
    collect(&whole, &options, 1);
    for (uint64_t stop = 0; stop < whole.steps; stop++) {
        check_resume(&whole, stop);
    }
    batches_free(&whole);
}

/* The last epoch of 61 samples that a mix has. The next one fails without harm. */
TEST(test_epochs_have_an_end)
{
    const uint64_t epochs = (UINT64_C(1) << 63) / EPOCH;
    const uint64_t too_large[] = {epochs, UINT64_C(1) << 63, UINT64_MAX / EPOCH + 1,
                                  UINT64_MAX - 1};
    sluice_loader_options options = setup_options();
    options.last_batch = SLUICE_LAST_SHORT;
    sluice_loader *loader = open_loader(&options);
    for (size_t i = 0; i < sizeof(too_large) / sizeof(too_large[0]); i++) {
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(sluice_loader_start_epoch(loader, too_large[i]), SLUICE_INVALID);
        assert_int_equal(sluice_loader_get_error(loader, &error), SLUICE_INVALID);
        assert_non_null(strstr(error.text, "151202820276307800 epochs"));
        assert_int_equal(sluice_loader_start_endless(loader, too_large[i]), SLUICE_INVALID);
        batches all = {0};
        batches_collect(&all, loader, epochs - 1);
        assert_int_equal(all.end, SLUICE_END);
        assert_int_equal(all.rows, EPOCH);
        batches_free(&all);
    }
    sluice_loader_close(loader);
}

static void expect_refused(const sluice_mix_options *options, sluice_status wanted)
{
    sluice_dataset *mix = parts[0];
    assert_int_equal(sluice_dataset_mix(&mix, parts, SOURCES, options, NULL), wanted);
    assert_null(mix);
}

TEST(test_wrong_calls)
{
    static const double wrong[SOURCES] = {1, -1, 1};
    static const uint64_t epochs[2] = {0, 0};
    sluice_mix_options options = SLUICE_MIX_OPTIONS_INIT;
    options.weights = wrong;
    expect_refused(&options, SLUICE_INVALID); /* no row */
    options.row_count = 1;
    expect_refused(&options, SLUICE_INVALID);
    options.weights = weights;
    options.row_count = 2;
    expect_refused(&options, SLUICE_INVALID); /* no epochs */
    options.row_count = 1;
    options.epochs = &epochs[1];
    options.epoch_samples = UINT64_MAX;
    expect_refused(&options, SLUICE_INVALID);
    options.epoch_samples = 1;
    options.reserved = 1;
    expect_refused(&options, SLUICE_INVALID);
    assert_int_equal(sluice_dataset_mix(NULL, parts, SOURCES, NULL, NULL), SLUICE_INVALID);
    sluice_dataset *mix = make_mix(weights);
    sluice_dataset *again = NULL;
    assert_int_equal(sluice_dataset_mix(&again, &mix, 1, NULL, NULL), SLUICE_UNSUPPORTED);
    assert_int_equal(sluice_dataset_concat(&again, &mix, 1, NULL, NULL), SLUICE_UNSUPPORTED);
    assert_null(again);
    sluice_dataset_close(mix);
}

TEST_GROUP(set_up, tear_down)
