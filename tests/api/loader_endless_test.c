/* SPDX-License-Identifier: Apache-2.0 */
/* Tests epochs that follow one another without an end: batches, cursors, ends and empty ranks. */
#include "batches.h"
#include "loader_setup.h"
#include "test_folder.h"

#include <poll.h>
#include <string.h>

#define CLASSES   3
#define PER_CLASS 9
#define SAMPLES   27U /* CLASSES x PER_CLASS */
#define EPOCHS    4U

PHOTO_GROUP(photos, CLASSES, PER_CLASS)

static sluice_loader *open_loader(const sluice_loader_options *options)
{
    return setup_loader(photos.path, options);
}

static sluice_loader_options short_last(void)
{
    sluice_loader_options options = setup_options();
    options.last_batch = SLUICE_LAST_SHORT;
    return options;
}

/* Collects epochs first .. first+count-1 one by one, and appends their batches. */
static void collect_epochs(batches *all, const sluice_loader_options *options, uint64_t first,
                           uint64_t count)
{
    sluice_loader *loader = open_loader(options);
    memset(all, 0, sizeof(*all));
    for (uint64_t epoch = first; epoch < first + count; epoch++) {
        assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
        batches one;
        batches_continue(&one, loader, UINT64_MAX);
        assert_int_equal(one.end, SLUICE_END);
        batches_append(all, &one);
        batches_free(&one);
    }
    sluice_loader_close(loader);
}

static void expect_equal(const batches *a, const batches *b)
{
    assert_true(a->rows > 0);
    assert_true(batches_equal(a, b));
}

/* ---- the batches ---- */

static void follow(sluice_loader *loader, uint64_t first)
{
    const uint64_t steps = sluice_loader_steps(loader);
    for (uint64_t i = 0; i < EPOCHS * steps; i++) {
        sluice_batch *batch;
        assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
        assert_int_equal(sluice_batch_epoch(batch), first + i / steps);
        assert_int_equal(sluice_batch_step(batch), i % steps);
        sluice_batch_release(batch);
    }
}

TEST(epochs_follow_one_another)
{
    const sluice_loader_options options = short_last();
    batches expected;
    batches all;
    collect_epochs(&expected, &options, 5, EPOCHS);
    sluice_loader *loader = open_loader(&options);
    assert_int_equal(sluice_loader_start_endless(loader, 5), SLUICE_OK);
    batches_continue(&all, loader, expected.steps);
    expect_equal(&all, &expected);
    assert_int_equal(sluice_loader_steps(loader), expected.steps / EPOCHS);
    assert_int_equal(sluice_loader_start_endless(loader, 2), SLUICE_OK); /* from another epoch */
    follow(loader, 2);
    assert_int_equal(sluice_loader_start_endless(NULL, 0), SLUICE_INVALID);
    assert_int_equal(sluice_loader_start_endless(loader, UINT64_MAX), SLUICE_INVALID);
    sluice_loader_close(loader);
    batches_free(&all);
    batches_free(&expected);
}

/* The descriptor never signals an end, and next with a timeout of 0 never returns it. */
TEST(there_is_no_end_to_be_seen)
{
    const sluice_loader_options options = short_last();
    sluice_loader *loader = open_loader(&options);
    struct pollfd poller = {.fd = sluice_loader_fd(loader), .events = POLLIN};
    assert_int_equal(sluice_loader_start_endless(loader, 0), SLUICE_OK);
    for (int i = 0; i < 30; i++) {
        sluice_batch *batch;
        assert_int_equal(poll(&poller, 1, 10000), 1);
        assert_int_equal(sluice_loader_next(loader, &batch, 0), SLUICE_OK);
        sluice_batch_release(batch);
    }
    sluice_loader_close(loader);
}

/* Any switch between the two kinds of run, at the end of an epoch and within it. */
TEST(runs_of_both_kinds_take_turns)
{
    const sluice_loader_options options = short_last();
    batches expected;
    collect_epochs(&expected, &options, 0, 1);
    const uint64_t steps = expected.steps;
    for (uint64_t taken = 1; taken <= 2 * steps; taken++) {
        sluice_loader *loader = open_loader(&options);
        batches before;
        batches all;
        assert_int_equal(sluice_loader_start_endless(loader, 7), SLUICE_OK);
        batches_continue(&before, loader, taken);
        batches_collect(&all, loader, 7 + (taken + steps - 1) / steps); /* the next epoch */
        assert_int_equal(all.end, SLUICE_END);
        assert_int_equal(all.steps, steps);
        batches_free(&all);
        assert_int_equal(sluice_loader_start_endless(loader, 8 + (taken + steps - 1) / steps),
                         SLUICE_OK);
        follow(loader, 8 + (taken + steps - 1) / steps);
        batches_collect(&all, loader, 0);
        expect_equal(&all, &expected);
        batches_free(&all);
        batches_free(&before);
        sluice_loader_close(loader);
    }
    batches_free(&expected);
}

/* The limit counts for epochs that end, not for endless runs. */
TEST(end_epoch_does_not_count)
{
    sluice_loader_options options = short_last();
    batches expected;
    batches all;
    collect_epochs(&expected, &options, 0, EPOCHS);
    options.end_epoch = 2;
    sluice_loader *loader = open_loader(&options);
    assert_int_equal(sluice_loader_start_endless(loader, 0), SLUICE_OK);
    batches_continue(&all, loader, expected.steps);
    expect_equal(&all, &expected);
    batches_free(&all);
    for (uint64_t epoch = 0; epoch < 4; epoch++) { /* also past the end */
        batches_collect(&all, loader, epoch);
        assert_int_equal(all.end, SLUICE_END);
        assert_int_equal(all.steps, expected.steps / EPOCHS);
        batches_free(&all);
    }
    assert_int_equal(sluice_loader_start_endless(loader, 1), SLUICE_OK);
    follow(loader, 1);
    sluice_loader_close(loader);
    batches_free(&expected);
}

TEST(cancel_ends_it)
{
    const sluice_loader_options options = short_last();
    sluice_loader *loader = open_loader(&options);
    for (uint64_t taken = 0; taken < 9; taken++) {
        batches part;
        sluice_batch *batch;
        assert_int_equal(sluice_loader_start_endless(loader, 0), SLUICE_OK);
        batches_continue(&part, loader, taken);
        assert_int_equal(part.steps, taken);
        sluice_loader_cancel(loader);
        assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_CANCELED);
        batches_free(&part);
    }
    sluice_loader_close(loader);
}

/* ---- cursors ---- */

typedef struct saved {
    uint8_t bytes[SLUICE_CURSOR_BYTES];
    size_t size;
} saved;

static saved save_after(const sluice_loader_options *options, uint64_t taken)
{
    saved cursor = {.size = sizeof(cursor.bytes)};
    sluice_loader *loader = open_loader(options);
    batches begin;
    assert_int_equal(sluice_loader_start_endless(loader, 3), SLUICE_OK);
    batches_continue(&begin, loader, taken);
    assert_int_equal(sluice_loader_save(loader, cursor.bytes, &cursor.size), SLUICE_OK);
    batches_free(&begin);
    sluice_loader_close(loader);
    return cursor;
}

/* Checks the batches that follow the first `taken` batches of epochs 3, 4, ... */
static void expect_rest(const saved *cursor, const sluice_loader_options *options, uint64_t taken,
                        const batches *whole)
{
    sluice_loader *loader = open_loader(options);
    const uint64_t steps = sluice_loader_steps(loader);
    const uint64_t rows = taken / steps * SAMPLES + taken % steps * options->batch_size;
    batches rest;
    uint64_t epoch;
    assert_int_equal(sluice_loader_restore(loader, cursor->bytes, cursor->size, &epoch), SLUICE_OK);
    assert_int_equal(epoch, 3 + (taken > 0 ? (taken - 1) / steps : 0));
    assert_int_equal(sluice_loader_start_endless(loader, epoch), SLUICE_OK);
    batches_continue(&rest, loader, whole->steps - taken);
    assert_int_equal(rest.rows, whole->rows - rows);
    assert_memory_equal(rest.indices, whole->indices + rows, rest.rows * sizeof(int64_t));
    assert_memory_equal(rest.images, whole->images + rows * whole->row_bytes,
                        rest.rows * rest.row_bytes);
    batches_free(&rest);
    sluice_loader_close(loader);
}

/* Saved after every batch of two epochs and resumed endlessly. start_epoch returns the rest of that
 * one epoch, which is empty if the epoch was just finished. */
TEST(cursors_continue_it)
{
    const sluice_loader_options options = short_last();
    batches whole;
    collect_epochs(&whole, &options, 3, 3);
    const uint64_t steps = whole.steps / 3;
    for (uint64_t taken = 0; taken <= 2 * steps; taken++) {
        const saved cursor = save_after(&options, taken);
        expect_rest(&cursor, &options, taken, &whole);
        sluice_loader *loader = open_loader(&options);
        batches rest;
        uint64_t epoch;
        assert_int_equal(sluice_loader_restore(loader, cursor.bytes, cursor.size, &epoch),
                         SLUICE_OK);
        batches_collect(&rest, loader, epoch);
        assert_int_equal(rest.end, SLUICE_END);
        assert_int_equal(rest.steps, (steps - taken % steps) % steps + (taken > 0 ? 0 : steps));
        batches_free(&rest);
        sluice_loader_close(loader);
    }
    batches_free(&whole);
}

/* A cursor for an epoch that an endless run reaches on its own stays unused until a start. */
TEST(a_cursor_is_not_used_in_passing)
{
    const sluice_loader_options options = short_last();
    const saved cursor = save_after(&options, 1); /* of epoch 3 */
    sluice_loader *loader = open_loader(&options);
    batches all;
    uint64_t epoch;
    assert_int_equal(sluice_loader_start_endless(loader, 2), SLUICE_OK);
    assert_int_equal(sluice_loader_restore(loader, cursor.bytes, cursor.size, &epoch), SLUICE_OK);
    const uint64_t steps = sluice_loader_steps(loader);
    batches_continue(&all, loader, 3 * steps);
    assert_int_equal(all.rows, 3 * SAMPLES);
    batches_free(&all);
    batches_collect(&all, loader, 3);
    assert_int_equal(all.steps, steps - 1);
    batches_free(&all);
    sluice_loader_close(loader);
}

/* ---- ranks without a row ---- */

static void run_empty_rank(const char *path, uint32_t rank, int32_t last)
{
    sluice_loader_options options = setup_options();
    options.world_size = 8;
    options.rank = rank;
    options.last_batch = last;
    sluice_loader *loader = setup_loader(path, &options);
    uint64_t rows = 0;
    assert_int_equal(sluice_loader_start_endless(loader, 0), SLUICE_OK);
    for (uint64_t epoch = 0; epoch < 20; epoch++) {
        sluice_batch *batch;
        sluice_tensor mask = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
        assert_int_equal(sluice_batch_epoch(batch), epoch);
        assert_int_equal(sluice_batch_tensor(batch, "mask", &mask), SLUICE_OK);
        for (uint64_t i = 0; i < mask.size_bytes; i++) {
            rows += ((const uint8_t *)mask.data)[i];
        }
        sluice_batch_release(batch);
    }
    assert_true(rows == 0 || rows == 20); /* three of eight ranks have one row each */
    sluice_loader_close(loader);
}

TEST(empty_epochs_go_on)
{
    photo_folder few;
    photo_folder_make(&few, 1, 3);
    for (int32_t last = SLUICE_LAST_PAD; last <= SLUICE_LAST_SHORT; last++) {
        for (uint32_t rank = 0; rank < 8; rank++) {
            run_empty_rank(few.path, rank, last);
        }
    }
    photo_folder_remove(&few);
}
