/* SPDX-License-Identifier: Apache-2.0 */
/* Tests batches: their samples, order and pixels, and that only the seed determines them. */
#include "batches.h"
#include "loader_setup.h"
#include "test_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES   5
#define PER_CLASS 11
#define SAMPLES   (CLASSES * PER_CLASS)

PHOTO_GROUP(photos, CLASSES, PER_CLASS)

static void run(batches *all, const sluice_loader_options *options, uint64_t epoch)
{
    sluice_loader *loader = setup_loader(photos.path, options);
    batches_collect(all, loader, epoch);
    assert_int_equal(all->end, SLUICE_END);
    sluice_loader_close(loader);
}

/* Runs two configurations and compares them. */
static void expect_same(const sluice_loader_options *a, const sluice_loader_options *b)
{
    batches first;
    batches second;
    run(&first, a, 3);
    run(&second, b, 3);
    assert_true(first.rows > 0);
    assert_true(batches_equal(&first, &second));
    batches_free(&first);
    batches_free(&second);
}

TEST(each_sample_once)
{
    sluice_loader_options options = setup_options();
    options.last_batch = SLUICE_LAST_SHORT;
    batches all;
    run(&all, &options, 0);
    unsigned seen[SAMPLES] = {0};
    assert_int_equal(all.rows, SAMPLES);
    assert_int_equal(all.rows_of_step[all.steps - 1], SAMPLES % 8);
    for (uint64_t i = 0; i < all.rows; i++) {
        assert_in_range(all.indices[i], 0, SAMPLES - 1);
        seen[all.indices[i]]++;
        assert_int_equal(all.labels[i], all.indices[i] / PER_CLASS);
        assert_int_equal(all.mask[i], 1);
        assert_int_equal(all.status[i], SLUICE_ROW_OK);
    }
    for (int i = 0; i < SAMPLES; i++) {
        assert_int_equal(seen[i], 1);
    }
    batches_free(&all);
}

TEST(workers_do_not_matter)
{
    sluice_loader_options one = setup_options();
    one.workers = 1;
    for (uint32_t workers = 2; workers <= 9; workers += 3) {
        sluice_loader_options many = setup_options();
        many.workers = workers; /* also more than this machine's cores */
        many.prefetch = 2 + workers % 5;
        many.io_threads = workers;
        many.io_depth = 1 + workers * 7;
        expect_same(&one, &many);
    }
}

TEST(seeds_and_epochs_matter)
{
    sluice_loader_options options = setup_options();
    batches a;
    batches b;
    batches c;
    run(&a, &options, 0);
    run(&b, &options, 1);
    options.seed++;
    run(&c, &options, 0);
    assert_int_not_equal(memcmp(a.indices, b.indices, a.rows * 8), 0);
    assert_int_not_equal(memcmp(a.indices, c.indices, a.rows * 8), 0);
    assert_int_not_equal(memcmp(a.images, b.images, a.rows * a.row_bytes), 0);
    batches_free(&a);
    batches_free(&b);
    batches_free(&c);
}

/* Consecutive epochs in one loader (read ahead) equal epochs of fresh loaders. */
TEST(epochs_follow_each_other)
{
    sluice_loader_options options = setup_options();
    options.last_batch = SLUICE_LAST_PAD;
    sluice_loader *loader = setup_loader(photos.path, &options);
    /* in order, repeated, backwards, far ahead: only the first kind has been read ahead */
    const uint64_t epochs[] = {0, 1, 2, 2, 1, 40, 41};
    for (size_t i = 0; i < sizeof(epochs) / sizeof(epochs[0]); i++) {
        batches in_turn;
        batches fresh;
        batches_collect(&in_turn, loader, epochs[i]);
        assert_int_equal(in_turn.end, SLUICE_END);
        run(&fresh, &options, epochs[i]);
        assert_true(batches_equal(&in_turn, &fresh));
        batches_free(&in_turn);
        batches_free(&fresh);
    }
    sluice_loader_close(loader);
}

TEST(all_shuffles_and_none)
{
    for (int32_t shuffle = SLUICE_SHUFFLE_FULL; shuffle <= SLUICE_SHUFFLE_NONE; shuffle++) {
        sluice_loader_options options = setup_options();
        options.shuffle = shuffle;
        options.block_samples = 4;
        options.window_blocks = 3;
        options.last_batch = SLUICE_LAST_SHORT;
        batches all;
        run(&all, &options, 0);
        uint64_t sum = 0;
        for (uint64_t i = 0; i < all.rows; i++) {
            sum += (uint64_t)all.indices[i];
            if (shuffle == SLUICE_SHUFFLE_NONE) {
                assert_int_equal(all.indices[i], i);
            }
        }
        assert_int_equal(all.rows, SAMPLES);
        assert_int_equal(sum, SAMPLES * (SAMPLES - 1) / 2);
        batches_free(&all);
    }
}

static void expect_padding(const batches *all, uint64_t row)
{
    assert_int_equal(all->status[row], SLUICE_ROW_PADDING);
    assert_int_equal(all->labels[row], -1);
    for (uint64_t k = 0; k < all->row_bytes; k++) {
        assert_int_equal(all->images[row * all->row_bytes + k], 0);
    }
}

/* One rank's epoch: counts its samples in `seen`. */
static void run_rank(uint32_t rank, uint32_t world, unsigned *seen)
{
    sluice_loader_options options = setup_options();
    options.world_size = world;
    options.rank = rank;
    options.last_batch = SLUICE_LAST_PAD;
    batches all;
    run(&all, &options, 2);
    assert_int_equal(all.rows, all.steps * 8);
    for (uint64_t i = 0; i < all.rows; i++) {
        if (all.mask[i]) {
            seen[all.indices[i]]++;
        } else {
            expect_padding(&all, i);
        }
    }
    batches_free(&all);
}

/* The ranks' rows together are the epoch; padding is marked and empty. */
TEST(ranks_share_an_epoch)
{
    for (uint32_t world = 1; world <= 4; world++) {
        unsigned seen[SAMPLES] = {0};
        for (uint32_t rank = 0; rank < world; rank++) {
            run_rank(rank, world, seen);
        }
        for (int i = 0; i < SAMPLES; i++) {
            assert_int_equal(seen[i], 1);
        }
    }
}

/* Runs three epochs of one of eight ranks over few samples. Counts those of the first epoch in
 * `seen`. */
static void run_sparse_rank(const char *path, uint32_t rank, int32_t last, unsigned *seen)
{
    sluice_loader_options options = setup_options();
    options.world_size = 8;
    options.rank = rank;
    options.last_batch = last;
    sluice_loader *loader = setup_loader(path, &options);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        batches all;
        batches_collect(&all, loader, epoch);
        assert_int_equal(all.end, SLUICE_END);
        assert_int_equal(all.steps, 1);
        for (uint64_t i = 0; i < all.rows; i++) {
            seen[all.mask[i] ? all.indices[i] : 0] += all.mask[i];
        }
        batches_free(&all);
    }
    sluice_loader_close(loader);
}

/* Three samples, eight ranks: most ranks have no row, and must neither hang nor run ahead
 * forever. */
TEST(more_ranks_than_samples)
{
    photo_folder few;
    photo_folder_make(&few, 1, 3);
    for (int32_t last = SLUICE_LAST_PAD; last <= SLUICE_LAST_SHORT; last++) {
        unsigned seen[3] = {0};
        for (uint32_t rank = 0; rank < 8; rank++) {
            run_sparse_rank(few.path, rank, last, seen);
        }
        for (int i = 0; i < 3; i++) {
            assert_int_equal(seen[i], 3); /* once in each epoch */
        }
    }
    photo_folder_remove(&few);
}

typedef struct saved {
    uint8_t bytes[SLUICE_CURSOR_BYTES];
    size_t size;
} saved;

static void expect_position(sluice_loader *loader, uint64_t samples, uint64_t step)
{
    sluice_loader_position at = SLUICE_LOADER_POSITION_INIT;
    assert_int_equal(sluice_loader_get_position(loader, &at), SLUICE_OK);
    assert_int_equal(at.epoch, 4);
    assert_int_equal(at.samples, samples);
    assert_int_equal(at.step, step);
}

/* Consumes `steps` steps of epoch 4 and saves the cursor. */
static saved save_after(uint64_t steps, const sluice_loader_options *options, batches *begin)
{
    saved cursor = {.size = sizeof(cursor.bytes)};
    sluice_loader *loader = setup_loader(photos.path, options);
    assert_int_equal(sluice_loader_start_epoch(loader, 4), SLUICE_OK);
    expect_position(loader, 0, 0);
    batches_continue(begin, loader, steps);
    expect_position(loader, steps * options->batch_size, steps);
    assert_int_equal(sluice_loader_save(loader, cursor.bytes, &cursor.size), SLUICE_OK);
    sluice_loader_close(loader);
    return cursor;
}

/* Restores the cursor. The epoch's remaining rows must be those of `whole` from `first` on. */
static void expect_rest(const saved *cursor, const sluice_loader_options *options,
                        const batches *whole, uint64_t first)
{
    uint64_t epoch = 0;
    sluice_loader *loader = setup_loader(photos.path, options);
    assert_int_equal(sluice_loader_restore(loader, cursor->bytes, cursor->size, &epoch), SLUICE_OK);
    assert_int_equal(epoch, 4);
    batches rest;
    batches_collect(&rest, loader, epoch);
    const uint64_t in_step = options->batch_size;
    // NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result): small
    const uint64_t start = rest.steps > 0 ? first : SAMPLES; /* includes dropped samples */
    expect_position(loader, start + rest.steps * in_step,
                    (start + in_step - 1) / in_step + rest.steps);
    assert_int_equal(rest.end, SLUICE_END);
    assert_int_equal(first + rest.rows, whole->rows);
    assert_memory_equal(rest.indices, whole->indices + first, rest.rows * 8);
    assert_memory_equal(rest.images, whole->images + first * whole->row_bytes,
                        rest.rows * whole->row_bytes);
    batches_free(&rest);
    sluice_loader_close(loader);
}

/* A cursor saved after any batch resumes with exactly the remaining rows, with other workers and
 * another batch size. */
TEST(cursor_resumes)
{
    sluice_loader_options options = setup_options();
    options.last_batch = SLUICE_LAST_SHORT;
    sluice_loader_options other = options;
    other.workers = 3;
    other.batch_size = 5;
    batches whole;
    run(&whole, &options, 4);
    for (uint64_t stop = 0; stop <= whole.steps; stop++) {
        batches begin;
        const saved cursor = save_after(stop, &options, &begin);
        expect_rest(&cursor, &other, &whole, begin.rows);
        batches_free(&begin);
    }
    batches_free(&whole);
}

/* An epoch in between does not use up the cursor. */
TEST(cursor_waits_for_its_epoch)
{
    const sluice_loader_options options = setup_options();
    batches begin;
    const saved cursor = save_after(2, &options, &begin);
    sluice_loader *loader = setup_loader(photos.path, &options);
    uint64_t epoch;
    assert_int_equal(sluice_loader_restore(loader, cursor.bytes, cursor.size, &epoch), SLUICE_OK);
    batches other;
    batches rest;
    batches forgotten;
    batches_collect(&other, loader, 9);
    batches_collect(&rest, loader, epoch);
    assert_int_equal(other.steps, SAMPLES / 8);
    assert_int_equal(rest.steps, SAMPLES / 8 - 2);
    assert_int_equal(sluice_loader_restore(loader, cursor.bytes, cursor.size, &epoch), SLUICE_OK);
    assert_int_equal(sluice_loader_restore(loader, NULL, 1, &epoch), SLUICE_INVALID);
    assert_int_equal(sluice_loader_restore(loader, NULL, 0, NULL), SLUICE_OK);
    batches_collect(&forgotten, loader, epoch);
    assert_int_equal(forgotten.steps, SAMPLES / 8);
    batches_free(&forgotten);
    batches_free(&begin);
    batches_free(&other);
    batches_free(&rest);
    sluice_loader_close(loader);
}

/* Samples that a finished epoch dropped do not come back with a smaller batch. */
TEST(finished_epoch_stays_finished)
{
    sluice_loader_options options = setup_options(); /* drops 55 % 8 samples */
    batches all;
    const saved cursor = save_after(SAMPLES / 8, &options, &all);
    assert_int_equal(all.rows, SAMPLES / 8 * 8);
    options.batch_size = 1;
    expect_rest(&cursor, &options, &all, all.rows);
    batches_free(&all);
}

static void expect_refused(const char *path, const sluice_loader_options *options,
                           const saved *cursor, sluice_status expected, const char *words)
{
    uint64_t epoch;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader *loader = setup_loader(path, options);
    assert_int_equal(sluice_loader_restore(loader, cursor->bytes, cursor->size, &epoch), expected);
    assert_int_equal(sluice_loader_get_error(loader, &error), expected);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    }
    sluice_loader_close(loader);
}

TEST(wrong_cursors_are_refused)
{
    const sluice_loader_options options = setup_options();
    photo_folder fewer;
    photo_folder_make(&fewer, 2, PER_CLASS);
    batches begin;
    saved cursor = save_after(2, &options, &begin);
    batches_free(&begin);
    expect_refused(fewer.path, &options, &cursor, SLUICE_INVALID, "different dataset");
    sluice_loader_options other = options;
    other.seed++;
    expect_refused(photos.path, &other, &cursor, SLUICE_INVALID, "different seed");
    other = options;
    other.shuffle = SLUICE_SHUFFLE_NONE;
    expect_refused(photos.path, &other, &cursor, SLUICE_INVALID, "different shuffle");
    const saved first = save_after(0, &options, &begin);
    expect_refused(photos.path, &other, &first, SLUICE_INVALID,
                   "different shuffle; it is at the beginning of an epoch, which needs no "
                   "cursor: use sluice_loader_start_epoch(4) instead");
    cursor.bytes[20] ^= 1;
    expect_refused(photos.path, &options, &cursor, SLUICE_CORRUPT, "damaged");
    cursor.bytes[7] = '9';
    expect_refused(photos.path, &options, &cursor, SLUICE_UNSUPPORTED, "another version");
    photo_folder_remove(&fewer);
}
