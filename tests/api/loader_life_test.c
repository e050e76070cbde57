/* SPDX-License-Identifier: Apache-2.0 */
/* Tests consumers that stop early, hold every batch, cancel, close from another thread, poll, or
 * fork. */
#include "batches.h"
#include "loader_setup.h"
#include "test_folder.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLASSES   4
#define PER_CLASS 20
#define SAMPLES   (CLASSES * PER_CLASS)
#define MS        INT64_C(1000000)
#define SLOTS     4

PHOTO_GROUP(photos, CLASSES, PER_CLASS)

static sluice_loader *open_loader(void)
{
    sluice_loader_options options = setup_options();
    options.prefetch = SLOTS;
    return setup_loader(photos.path, &options);
}

/* Closes at every possible moment of an epoch, and before it. */
TEST(close_early)
{
    sluice_loader_close(open_loader());
    for (uint64_t taken = 0; taken <= SAMPLES / 8; taken++) {
        sluice_loader *loader = open_loader();
        assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
        batches all;
        batches_continue(&all, loader, taken);
        assert_int_equal(all.steps, taken);
        sluice_loader_close(loader);
        batches_free(&all);
    }
}

/* Checks the loader's report of the latest failure. */
static void expect_text(sluice_loader *loader, sluice_status status, const char *words)
{
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_loader_get_error(loader, &error), status);
    assert_int_equal(error.status, status);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    }
}

TEST(next_before_start)
{
    sluice_loader *loader = open_loader();
    sluice_batch *batch;
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = sizeof(cursor);
    expect_text(loader, SLUICE_OK, "");
    assert_int_equal(sluice_loader_next(loader, &batch, 0), SLUICE_STATE);
    expect_text(loader, SLUICE_STATE, "sluice_loader_start_epoch");
    assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_STATE);
    expect_text(loader, SLUICE_STATE, "nothing to save");
    sluice_loader_position position = SLUICE_LOADER_POSITION_INIT;
    assert_int_equal(sluice_loader_get_position(loader, &position), SLUICE_STATE);
    assert_int_equal(sluice_loader_get_position(loader, NULL), SLUICE_INVALID);
    expect_text(loader, SLUICE_INVALID, "position is NULL");
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    expect_text(loader, SLUICE_OK, "");
    sluice_loader_close(loader);
}

/* Every error has a text, which the next start clears. */
TEST(refusals_are_told)
{
    sluice_loader *loader = open_loader();
    sluice_batch *batch;
    uint8_t cursor[SLUICE_CURSOR_BYTES] = {0};
    size_t bytes = 8;
    uint64_t epoch;
    assert_int_equal(sluice_loader_start_epoch(loader, UINT64_MAX), SLUICE_INVALID);
    expect_text(loader, SLUICE_INVALID, "UINT64_MAX");
    assert_int_equal(sluice_loader_start_endless(loader, 0), SLUICE_OK);
    expect_text(loader, SLUICE_OK, "");
    assert_int_equal(sluice_loader_next(loader, NULL, 0), SLUICE_INVALID);
    expect_text(loader, SLUICE_INVALID, "batch is NULL");
    assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_INVALID);
    expect_text(loader, SLUICE_INVALID, "8 bytes");
    assert_int_equal(sluice_loader_save(loader, NULL, &bytes), SLUICE_INVALID);
    expect_text(loader, SLUICE_INVALID, "cursor or bytes is NULL");
    assert_int_equal(sluice_loader_save_at(loader, 0, 0, cursor, &bytes), SLUICE_INVALID);
    expect_text(loader, SLUICE_INVALID, "8 bytes");
    assert_int_equal(sluice_loader_save_at(loader, 0, 1 << 20, cursor, &bytes), SLUICE_INVALID);
    expect_text(loader, SLUICE_INVALID, "step 1048576 is out of range");
    assert_int_equal(sluice_loader_save_at(loader, 0, 0, cursor, NULL), SLUICE_INVALID);
    expect_text(loader, SLUICE_INVALID, "save_at: cursor or bytes is NULL");
    assert_int_equal(sluice_loader_restore(loader, cursor, sizeof(cursor), NULL), SLUICE_INVALID);
    expect_text(loader, SLUICE_INVALID, "cursor or epoch is NULL");
    assert_int_equal(sluice_loader_restore(loader, cursor, sizeof(cursor), &epoch), SLUICE_CORRUPT);
    expect_text(loader, SLUICE_CORRUPT, "damaged");
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK); /* it goes on */
    sluice_batch_release(batch);
    expect_text(loader, SLUICE_CORRUPT, "damaged");
    sluice_loader_cancel(loader);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_CANCELED);
    expect_text(loader, SLUICE_CANCELED, "canceled");
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    expect_text(loader, SLUICE_OK, "");
    assert_int_equal(sluice_loader_next(NULL, &batch, 0), SLUICE_INVALID);
    assert_int_equal(sluice_loader_start_epoch(NULL, 0), SLUICE_INVALID);
    sluice_loader_close(loader);
}

static uint64_t sum_of(const sluice_batch *batch)
{
    sluice_tensor image = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, "image", &image), SLUICE_OK);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < image.size_bytes; i++) {
        sum += ((const uint8_t *)image.data)[i];
    }
    return sum;
}

/* The consumer holds all slots: next times out, and succeeds when a slot comes back. Batches stay
 * readable after close. */
TEST(holds_every_batch)
{
    sluice_loader *loader = open_loader();
    sluice_batch *held[SLOTS];
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    for (int i = 0; i < SLOTS; i++) {
        assert_int_equal(sluice_loader_next(loader, &held[i], -1), SLUICE_OK);
        assert_int_equal(sluice_batch_step(held[i]), i);
    }
    sluice_batch *batch;
    assert_int_equal(sluice_loader_next(loader, &batch, 30 * MS), SLUICE_AGAIN);
    assert_null(batch);
    sluice_batch_release(held[2]); /* not the oldest */
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    assert_int_equal(sluice_batch_step(batch), 4);
    held[2] = batch;
    sluice_loader_close(loader);
    for (int i = 0; i < 4; i++) {
        assert_int_not_equal(sum_of(held[i]), 0);
        sluice_batch_release(held[i]);
    }
}

TEST(tensors_have_shapes)
{
    sluice_loader_options options = setup_options();
    options.layout = SLUICE_NCHW;
    options.dtype = SLUICE_F16;
    sluice_loader *loader = setup_loader(photos.path, &options);
    sluice_batch *batch;
    assert_int_equal(sluice_loader_start_epoch(loader, 9), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, "image", &tensor), SLUICE_OK);
    const int64_t shape[] = {8, 3, SETUP_SIZE, SETUP_SIZE};
    assert_int_equal(tensor.dims, 4);
    assert_memory_equal(tensor.shape, shape, sizeof(shape));
    assert_int_equal(tensor.dtype, SLUICE_F16);
    assert_int_equal(tensor.size_bytes, 8 * 3 * SETUP_SIZE * SETUP_SIZE * 2);
    const int64_t side = SETUP_SIZE;
    const int64_t strides[] = {3 * side * side, side * side, side, 1};
    assert_memory_equal(tensor.strides, strides, sizeof(strides));
    assert_int_equal(tensor.device_type, SLUICE_DEVICE_TYPE_CPU);
    assert_int_equal(tensor.device_number, 0);
    assert_int_equal((uintptr_t)tensor.data % 64, 0);
    assert_int_equal(sluice_batch_tensor(batch, "label", &tensor), SLUICE_OK);
    assert_int_equal(tensor.dims, 1);
    assert_int_equal(tensor.size_bytes, 64);
    assert_int_equal(tensor.strides[0], 1);
    assert_int_equal(sluice_batch_tensor(batch, "nonsense", &tensor), SLUICE_INVALID);
    assert_int_equal(sluice_batch_tensor(batch, NULL, &tensor), SLUICE_INVALID);
    assert_int_equal(sluice_batch_epoch(batch), 9);
    assert_int_equal(sluice_batch_wait(batch, NULL), SLUICE_OK);
    assert_int_equal(sluice_batch_release_on(batch, NULL), SLUICE_OK);
    assert_int_equal(sluice_loader_steps(loader), SAMPLES / 8);
    assert_int_equal(sluice_loader_rows(loader), SAMPLES / 8 * 8);
    assert_int_equal(sluice_loader_rows(NULL), 0);
    assert_int_equal(sluice_loader_samples(loader), SAMPLES);
    assert_int_equal(sluice_loader_samples(NULL), 0);
    sluice_loader_close(loader);
}

/* Columns by number equal those by name, in the promised order. */
TEST(columns_are_counted)
{
    static const char *const names[] = {"image", "label", "index", "mask", "status"};
    sluice_loader *loader = open_loader();
    sluice_batch *batch;
    sluice_tensor by_name = SLUICE_TENSOR_INIT;
    sluice_tensor by_number = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    assert_int_equal(sluice_batch_columns(batch), 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(sluice_batch_column_name(batch, i), names[i]);
        assert_int_equal(sluice_batch_tensor(batch, names[i], &by_name), SLUICE_OK);
        assert_int_equal(sluice_batch_get_column(batch, i, &by_number), SLUICE_OK);
        assert_memory_equal(&by_number, &by_name, sizeof(by_name));
    }
    assert_null(sluice_batch_column_name(batch, 5));
    assert_int_equal(sluice_batch_get_column(batch, 5, &by_number), SLUICE_INVALID);
    assert_int_equal(sluice_batch_get_column(batch, 0, NULL), SLUICE_INVALID);
    assert_int_equal(sluice_batch_columns(NULL), 0);
    assert_null(sluice_batch_column_name(NULL, 0));
    assert_int_equal(sluice_batch_get_column(NULL, 0, &by_number), SLUICE_INVALID);
    sluice_batch_release(batch);
    sluice_loader_close(loader);
}

/* Two holders: the slot comes back with the second release, also after close. */
TEST(batches_can_be_retained)
{
    sluice_loader *loader = open_loader();
    sluice_batch *held[SLOTS];
    sluice_batch *batch;
    assert_int_equal(sluice_batch_retain(NULL), SLUICE_INVALID);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    for (int i = 0; i < SLOTS; i++) {
        assert_int_equal(sluice_loader_next(loader, &held[i], -1), SLUICE_OK);
    }
    assert_int_equal(sluice_batch_retain(held[0]), SLUICE_OK);
    sluice_batch_release(held[0]);
    assert_int_equal(sluice_loader_next(loader, &batch, 20 * MS), SLUICE_AGAIN);
    assert_int_equal(sluice_batch_release_on(held[0], NULL), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    held[0] = batch;
    assert_int_equal(sluice_batch_retain(held[0]), SLUICE_OK);
    sluice_loader_close(loader);
    for (int i = 0; i < SLOTS; i++) {
        sluice_batch_release(held[i]);
    }
    assert_int_not_equal(sum_of(held[0]), 0); /* readable */
    sluice_batch_release(held[0]);
}

/* ---- other threads ---- */

typedef struct blocked {
    sluice_loader *loader;
    sluice_status status;
} blocked;

static void *next_once(void *argument)
{
    blocked *b = argument;
    sluice_batch *batch;
    b->status = sluice_loader_next(b->loader, &batch, -1);
    return NULL;
}

/* A next that blocks because the consumer holds every batch is ended by cancel and by close. */
static void unblock(bool by_close)
{
    sluice_loader *loader = open_loader();
    sluice_batch *held[SLOTS];
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    for (int i = 0; i < SLOTS; i++) {
        assert_int_equal(sluice_loader_next(loader, &held[i], -1), SLUICE_OK);
    }
    blocked b = {.loader = loader};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, next_once, &b), 0);
    setup_sleep_ns(50 * (uint64_t)MS);
    if (by_close) {
        sluice_loader_close(loader);
    } else {
        sluice_loader_cancel(loader);
    }
    pthread_join(thread, NULL);
    assert_int_equal(b.status, SLUICE_CANCELED);
    for (int i = 0; i < SLOTS; i++) {
        sluice_batch_release(held[i]);
    }
    if (!by_close) {
        sluice_loader_close(loader);
    }
}

TEST(close_while_next_blocks)
{
    unblock(true);
}

TEST(cancel_while_next_blocks)
{
    unblock(false);
}

TEST(cancel_then_restart)
{
    sluice_loader *loader = open_loader();
    batches whole;
    batches_collect(&whole, loader, 0);
    for (int round = 0; round < 20; round++) {
        batches part;
        assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
        batches_continue(&part, loader, (uint64_t)round % 4);
        sluice_loader_cancel(loader);
        sluice_loader_cancel(loader);
        sluice_batch *batch;
        assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_CANCELED);
        batches_free(&part);
    }
    batches again;
    batches_collect(&again, loader, 0);
    assert_true(batches_equal(&whole, &again));
    batches_free(&whole);
    batches_free(&again);
    sluice_loader_close(loader);
}

/* ---- poll ---- */

TEST(descriptor_tells)
{
    sluice_loader *loader = open_loader();
    struct pollfd poller = {.fd = sluice_loader_fd(loader), .events = POLLIN};
    assert_true(poller.fd >= 0);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    sluice_status status;
    uint64_t steps = 0;
    do {
        assert_int_equal(poll(&poller, 1, 10000), 1);
        sluice_batch *batch;
        status = sluice_loader_next(loader, &batch, 0);
        assert_int_not_equal(status, SLUICE_AGAIN);
        if (status == SLUICE_OK) {
            steps++;
            sluice_batch_release(batch);
        }
    } while (status == SLUICE_OK);
    assert_int_equal(status, SLUICE_END);
    assert_int_equal(steps, SAMPLES / 8);
    sluice_loader_cancel(loader);
    assert_int_equal(poll(&poller, 1, 0), 1);
    sluice_loader_close(loader);
}

/* ---- fork ---- */

/* In the child: STATE from every call, readable pixels, and a close that returns. */
static int child_checks(sluice_loader *loader, sluice_batch *batch, const sluice_tensor *image)
{
    sluice_batch *other;
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    sluice_loader_stats stats = {.struct_size = sizeof(stats)};
    sluice_error error = SLUICE_ERROR_INIT;
    const bool wrong = sluice_loader_next(loader, &other, 0) != SLUICE_STATE ||
                       sluice_loader_start_epoch(loader, 1) != SLUICE_STATE ||
                       sluice_loader_get_stats(loader, &stats) != SLUICE_STATE ||
                       sluice_loader_get_error(loader, NULL) != SLUICE_STATE ||
                       sluice_loader_get_error(loader, &error) != SLUICE_STATE ||
                       strstr(error.text, "fork") == NULL ||
                       sluice_loader_start_endless(loader, 1) != SLUICE_STATE ||
                       sluice_loader_next(loader, NULL, 0) != SLUICE_STATE ||
                       sluice_batch_tensor(batch, "image", &tensor) != SLUICE_STATE ||
                       sluice_batch_retain(batch) != SLUICE_STATE ||
                       sluice_batch_release_on(batch, NULL) != SLUICE_STATE ||
                       memchr(image->data, 0xEE, image->size_bytes) == NULL;
    sluice_loader_cancel(loader);
    sluice_batch_release(batch);
    sluice_loader_close(loader);
    return wrong;
}

TEST(fork_leaves_the_parent_alone)
{
    sluice_loader *loader = open_loader();
    sluice_batch *batch;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    sluice_tensor image = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, "image", &image), SLUICE_OK);
    memset(image.data, 0xEE, image.size_bytes);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) { /* has a copy of the parent's held batch */
        _exit(child_checks(loader, batch, &image));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    sluice_batch_release(batch);
    batches rest;
    batches_continue(&rest, loader, UINT64_MAX);
    assert_int_equal(rest.end, SLUICE_END);
    assert_int_equal(rest.steps, SAMPLES / 8 - 1);
    batches_free(&rest);
    sluice_loader_close(loader);
}

/* ---- limits ---- */

TEST(few_descriptors)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    sluice_loader *loader = open_loader();
    const int used = dup(0); /* the lowest free descriptor */
    assert_true(used >= 0);
    close(used);
    const struct rlimit tiny = {.rlim_cur = (rlim_t)used + 2, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tiny), 0);
    batches all;
    batches_collect(&all, loader, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(all.end, SLUICE_END);
    assert_int_equal(all.rows, SAMPLES);
    batches_free(&all);
    sluice_loader_close(loader);
}
