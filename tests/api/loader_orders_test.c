/* SPDX-License-Identifier: Apache-2.0 */
/* Tests loaders with orders by a number per sample (weights or lengths) with several threads: their
 * rows, which are the same for any number of workers, over ranks, from arrays and fields, and after
 * a restart; and errors. */
#include "batches.h"
#include "loader_setup.h"
#include "test_folder.h"

#include <stdio.h>
#include <string.h>

#define CLASSES   3
#define PER_CLASS 9
#define SAMPLES   27U /* CLASSES x PER_CLASS */

PHOTO_GROUP(photos, CLASSES, PER_CLASS)

static double numbers[SAMPLES];
static uint32_t labels[SAMPLES];

/* Weights by `label`: 0, 1 and 2, sample after sample. */
static void fill_labels(void)
{
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const uint32_t label = i / PER_CLASS;
        numbers[i] = label;
        labels[i] = label;
    }
}

static sluice_loader_options by_weights(void)
{
    sluice_loader_options options = setup_options();
    fill_labels();
    options.batch_size = 5;
    options.last_batch = SLUICE_LAST_SHORT;
    options.weights = numbers;
    options.weight_count = SAMPLES;
    options.weighted_samples = 120;
    return options;
}

static sluice_loader_options by_lengths(void)
{
    sluice_loader_options options = by_weights();
    options.weights = NULL;
    options.weight_count = 0;
    options.weighted_samples = 0;
    options.lengths = numbers;
    options.length_count = SAMPLES;
    return options;
}

static void collect_epoch(batches *all, const sluice_loader_options *options, uint64_t epoch)
{
    sluice_loader *loader = setup_loader(photos.path, options);
    assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
    batches_continue(all, loader, UINT64_MAX);
    assert_int_equal(all->end, SLUICE_END);
    sluice_loader_close(loader);
}

static void expect_same(const sluice_loader_options *a, const sluice_loader_options *b)
{
    batches left;
    batches right;
    collect_epoch(&left, a, 3);
    collect_epoch(&right, b, 3);
    assert_true(left.rows > 0 && batches_equal(&left, &right));
    batches_free(&left);
    batches_free(&right);
}

TEST(threads_and_sources_make_no_difference)
{
    const sluice_loader_options orders[] = {by_weights(), by_lengths()};
    for (int i = 0; i < 2; i++) {
        sluice_loader_options threads = orders[i];
        sluice_loader_options field = orders[i];
        threads.workers = 4;
        expect_same(&orders[i], &threads);
        field.weights = NULL;
        field.lengths = NULL;
        field.weight_count = 0;
        field.length_count = 0;
        *(i == 0 ? &field.weight_field : &field.length_field) = "label";
        expect_same(&orders[i], &field);
    }
}

/* Returns the sample numbers of an epoch, in the order of the batches. */
static uint32_t indexes_of(const sluice_loader_options *options, const void *cursor, size_t bytes,
                           int64_t *indexes)
{
    uint32_t count = 0;
    uint64_t epoch = 1;
    sluice_loader *loader = setup_loader(photos.path, options);
    if (cursor != NULL) {
        assert_int_equal(sluice_loader_restore(loader, cursor, bytes, &epoch), SLUICE_OK);
    }
    assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
    sluice_batch *batch;
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        sluice_tensor index = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_tensor(batch, "index", &index), SLUICE_OK);
        memcpy(indexes + count, index.data, (size_t)index.shape[0] * sizeof(*indexes));
        count += (uint32_t)index.shape[0];
        sluice_batch_release(batch);
    }
    sluice_loader_close(loader);
    return count;
}

TEST(rows_are_of_the_order)
{
    int64_t drawn[160];
    uint8_t seen[SAMPLES] = {0};
    const sluice_loader_options weights = by_weights();
    const sluice_loader_options lengths = by_lengths();
    uint32_t of_two = 0;
    assert_int_equal(indexes_of(&weights, NULL, 0, drawn), 120);
    for (uint32_t i = 0; i < 120; i++) {
        assert_true(numbers[drawn[i]] > 0);
        of_two += numbers[drawn[i]] > 1;
    }
    assert_true(of_two > 60 && of_two < 100); /* about 80 */
    assert_int_equal(indexes_of(&lengths, NULL, 0, drawn), SAMPLES);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        assert_int_equal(seen[drawn[i]]++, 0);
    }
}

/* The same with several threads; a Python test compares the pixels. */
TEST(each_sample_comes_three_times)
{
    sluice_loader_options options = by_lengths();
    int64_t indexes[SAMPLES * 3];
    uint8_t seen[SAMPLES] = {0};
    options.lengths = NULL;
    options.length_count = 0;
    options.repeats = 3;
    sluice_loader_options threads = options;
    threads.workers = 4;
    expect_same(&options, &threads);
    assert_int_equal(indexes_of(&options, NULL, 0, indexes), SAMPLES * 3);
    for (uint32_t i = 0; i < SAMPLES * 3; i++) {
        seen[indexes[i]]++;
    }
    for (uint32_t i = 0; i < SAMPLES; i++) {
        assert_int_equal(seen[i], 3);
    }
}

/* `cursor` was saved after three batches of epoch 1. */
static void check_save_at(sluice_loader *loader, const uint8_t *cursor, size_t bytes)
{
    uint8_t at[SLUICE_CURSOR_BYTES];
    size_t size = sizeof(at);
    assert_int_equal(sluice_loader_save_at(loader, 1, 3, at, &size), SLUICE_OK);
    assert_int_equal(size, bytes);
    assert_memory_equal(at, cursor, bytes);
}

/* A cursor after three batches; two ranks with half the batch size run the rest of the epoch. */
TEST(a_cursor_goes_on)
{
    const sluice_loader_options orders[] = {by_weights(), by_lengths()};
    for (int i = 0; i < 2; i++) {
        sluice_loader_options options = orders[i];
        int64_t all[160];
        int64_t rest[160];
        uint8_t cursor[SLUICE_CURSOR_BYTES];
        size_t bytes = sizeof(cursor);
        options.batch_size = 4;
        const uint32_t count = indexes_of(&options, NULL, 0, all);
        sluice_loader *loader = setup_loader(photos.path, &options);
        assert_int_equal(sluice_loader_start_epoch(loader, 1), SLUICE_OK);
        for (int k = 0; k < 3; k++) {
            sluice_batch *batch;
            assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
            sluice_batch_release(batch);
        }
        assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_OK);
        check_save_at(loader, cursor, bytes);
        sluice_loader_close(loader);
        assert_int_equal(indexes_of(&options, cursor, bytes, rest), count - 12);
        assert_memory_equal(rest, all + 12, (count - 12) * sizeof(*all));
        options.batch_size = 2;
        options.world_size = 2;
        assert_true(indexes_of(&options, cursor, bytes, rest) >= (count - 12) / 2);
        assert_memory_equal(rest, all + 12, 2 * sizeof(*all));
        assert_memory_equal(rest + 2, all + 16, 2 * sizeof(*all));
    }
}

static void expect_refused(const sluice_loader_options *options, const char *why)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader *loader = NULL;
    assert_true(setup_loader_status(&loader, photos.path, options, &error) < 0);
    assert_null(loader);
    if (strstr(error.text, why) == NULL) {
        fail_msg("%s", error.text);
    }
}

TEST(what_is_refused)
{
    sluice_loader_options options = by_weights();
    options.weight_count--;
    expect_refused(&options, "option weights has 26 values, but the dataset has 27 samples");
    options.weight_count++;
    options.weight_field = "label";
    expect_refused(&options, "is given both as an array and as a field");
    options.weight_field = NULL;
    options.length_field = "label";
    expect_refused(&options, "weights and lengths each set the order");
    options.length_field = NULL;
    numbers[4] = -2;
    expect_refused(&options, "option weights: sample 4 has weight -2");
    options = by_lengths();
    options.lengths = NULL;
    expect_refused(&options, "option lengths needs a non-empty array and the number of its values");
    options.length_count = 0;
    options.length_field = "image";
    options.shuffle = SLUICE_SHUFFLE_BLOCK;
    expect_refused(&options, "option lengths needs option shuffle");
}

/* ---- a cursor of another order says what differs ---- */

static sluice_loader_options by_episodes(void)
{
    sluice_loader_options options = by_lengths();
    options.lengths = NULL;
    options.length_count = 0;
    options.batch_size = 4;
    options.last_batch = SLUICE_LAST_DROP;
    options.episode_classes = 2;
    options.episode_samples = 2;
    options.classes = labels;
    options.class_count = SAMPLES;
    return options;
}

static sluice_loader_options with_repeats(void)
{
    sluice_loader_options options = by_lengths();
    options.lengths = NULL;
    options.length_count = 0;
    options.repeats = 3;
    return options;
}

/* Restores a cursor of `other` to a loader of `options`. The cursor's last `without` bytes are cut
 * off. */
static void expect_misfit(const sluice_loader_options *options, const sluice_loader_options *other,
                          size_t without, const char *what)
{
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = sizeof(cursor);
    uint64_t epoch;
    char words[256];
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader *loader = setup_loader(photos.path, other);
    assert_int_equal(sluice_loader_save_at(loader, 1, 1, cursor, &bytes), SLUICE_OK);
    sluice_loader_close(loader);
    loader = setup_loader(photos.path, options);
    assert_int_equal(sluice_loader_restore(loader, cursor, bytes - without, &epoch),
                     SLUICE_INVALID);
    (void)sluice_loader_get_error(loader, &error);
    (void)snprintf(words, sizeof(words), "the cursor is from a loader with a different %s", what);
    assert_string_equal(error.text, words);
    sluice_loader_close(loader);
}

TEST(a_cursor_of_other_weights)
{
    double others[SAMPLES];
    const sluice_loader_options own = by_weights();
    sluice_loader_options other = own;
    other.weighted_samples = 119;
    expect_misfit(&own, &other, 0, "order by weight: number of samples in an epoch");
    other.seed = own.seed + 1;
    expect_misfit(&own, &other, 0, "order by weight: number of samples in an epoch, seed");
    expect_misfit(&own, &other, 12, "order by weight: seed"); /* no note, like older cursors */
    other = own;
    memcpy(others, numbers, sizeof(others));
    others[3] = 5;
    other.weights = others;
    expect_misfit(&own, &other, 0, "order by weight: weights of samples");
    expect_misfit(&own, &other, 12, "number of samples in an epoch, or other weights of samples");
}

TEST(a_cursor_of_other_lengths)
{
    double others[SAMPLES];
    const sluice_loader_options own = by_lengths();
    sluice_loader_options other = own;
    other.batch_size = 3;
    expect_misfit(&own, &other, 0,
                  "order by length: batch_size x world_size (which lengths needs unchanged)");
    other = own;
    other.length_groups = 2;
    expect_misfit(&own, &other, 0, "order by length: number of groups");
    other = own;
    memcpy(others, numbers, sizeof(others));
    others[3] = 5;
    other.lengths = others;
    expect_misfit(&own, &other, 0, "order by length: lengths of samples");
}

TEST(a_cursor_of_other_repetitions)
{
    const sluice_loader_options own = with_repeats();
    sluice_loader_options other = own;
    other.repeats = 2;
    expect_misfit(&own, &other, 0, "order of repetitions: number of repetitions");
    other.weighted_samples = 10;
    expect_misfit(&own, &other, 0,
                  "order of repetitions: number of repetitions, number of samples in an epoch");
    other = own;
    other.batch_size = 6;
    expect_misfit(&own, &other, 0,
                  "order of repetitions: batch_size x world_size (which repeats needs unchanged)");
}

TEST(a_cursor_of_other_episodes)
{
    const sluice_loader_options own = by_episodes();
    sluice_loader_options other = own;
    other.episode_classes = 1;
    expect_misfit(&own, &other, 0, "order of episodes: number of classes of an episode");
    other = own;
    other.episode_samples = 1;
    expect_misfit(&own, &other, 0, "order of episodes: number of samples of each class");
    other = own;
    other.episodes = 5;
    expect_misfit(&own, &other, 0, "order of episodes: number of episodes");
    uint32_t others[SAMPLES];
    memcpy(others, labels, sizeof(others));
    others[3] = 1;
    other = own;
    other.classes = others;
    expect_misfit(&own, &other, 0, "order of episodes: classes of samples");
}

TEST(a_cursor_of_another_kind_of_order)
{
    const sluice_loader_options weights = by_weights();
    const sluice_loader_options lengths = by_lengths();
    sluice_loader_options plain = by_lengths();
    plain.lengths = NULL;
    plain.length_count = 0;
    expect_misfit(&lengths, &weights, 0, "order of samples: by weight, not by length");
    expect_misfit(&plain, &lengths, 0, "order of samples: by length");
    expect_misfit(&lengths, &plain, 0,
                  "order of samples: by weight, by length, repeated, of episodes, or packed");
}
