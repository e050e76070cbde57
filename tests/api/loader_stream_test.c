/* SPDX-License-Identifier: Apache-2.0 */
/* Tests compressed tars through the public interface: every sample once over all ranks and epochs,
 * each byte unpacked once, and cancels, new epochs, cursors and ends at any point.
 * test_tar_stream.py tests the order and the bytes. */
#include "photo_folder.h"
#include "tar_make.h"
#include "test.h"

#include <sluice/sluice.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ZLIB_CONST
#include <zlib.h>

enum { ARCHIVES = 11, SAMPLES = 47, ALL = ARCHIVES * SAMPLES, BATCH = 10 };

static char root[256];
static uint64_t unpacked; /* bytes of all archives */

static void write_gzip(const char *path, const uint8_t *data, size_t bytes)
{
    static uint8_t packed[4 << 20];
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = data;
    z.avail_in = (uInt)bytes;
    z.next_out = packed;
    z.avail_out = sizeof(packed);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    write_file(path, packed, (uint32_t)z.total_out);
    assert_int_equal(deflateEnd(&z), Z_OK);
}

/* Overall sample i has label i and up to 30 kB of other data. */
static int setup(void **state)
{
    static uint8_t archive[2 << 20];
    static uint8_t noise[30000];
    uint32_t random = 1;
    temporary_directory(root, sizeof(root));
    (void)setenv("SLUICE_CACHE_DIR", "", 1);
    for (size_t i = 0; i < sizeof(noise); i++) {
        random = random * 1664525U + 1013904223U;
        noise[i] = (uint8_t)(random >> 24);
    }
    for (unsigned a = 0; a < ARCHIVES; a++) {
        char path[512];
        size_t at = 0;
        for (unsigned i = a * SAMPLES; i < a * SAMPLES + SAMPLES; i++) {
            char name[32];
            char label[16];
            (void)snprintf(label, sizeof(label), "%u", i);
            (void)snprintf(name, sizeof(name), "%u.cls", i);
            at += tar_put(archive + at, name, label, strlen(label));
            (void)snprintf(name, sizeof(name), "%u.bin", i);
            at += tar_put(archive + at, name, noise, (size_t)i * 7919 % sizeof(noise));
        }
        at += tar_put_end(archive + at);
        (void)snprintf(path, sizeof(path), "%s/set-%02u.tar.gz", root, a);
        write_gzip(path, archive, at);
        unpacked += at;
    }
    return 0;
}

static int teardown(void **state)
{
    remove_tree(root);
    return 0;
}

static sluice_loader_options options_of(int32_t shuffle)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = BATCH;
    options.shuffle = shuffle;
    options.seed = 3;
    options.workers = 3;
    options.last_batch = SLUICE_LAST_SHORT;
    options.window_bytes = 1 << 20;
    return options;
}

static sluice_loader *open_loader(const sluice_loader_options *given)
{
    const char *path = root;
    sluice_dataset *dataset = NULL;
    sluice_loader *loader = NULL;
    sluice_columns *columns = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = *given;
    sluice_column label = SLUICE_COLUMN_INIT;
    label.field = "label";
    label.kind = SLUICE_COLUMN_NUMBER;
    label.dtype = SLUICE_I64;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_add(columns, &label), SLUICE_OK);
    options.columns = columns;
    if (sluice_loader_open(&loader, dataset, NULL, &options, &error) != SLUICE_OK)
        fail_msg("%s", error.text);
    sluice_columns_destroy(columns);
    sluice_dataset_close(dataset);
    return loader;
}

/* Stores the labels of at most `count` batches. Returns the number of rows. */
static uint32_t take(sluice_loader *loader, uint32_t count, int64_t *labels)
{
    sluice_batch *batch = NULL;
    uint32_t rows = 0;
    sluice_status status = SLUICE_OK;
    while (count-- > 0 && (status = sluice_loader_next(loader, &batch, -1)) == SLUICE_OK) {
        sluice_tensor tensor = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_tensor(batch, "label", &tensor), SLUICE_OK);
        const uint32_t own = sluice_batch_rows(batch);
        assert_true(rows + own <= ALL);
        memcpy(labels + rows, tensor.data, own * sizeof(*labels));
        rows += own;
        sluice_batch_release(batch);
    }
    assert_true(status == SLUICE_OK || status == SLUICE_END);
    return rows;
}

static void check_each_once(sluice_loader **loaders, uint32_t count)
{
    static int64_t labels[ALL];
    uint8_t seen[ALL] = {0};
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t rows = take(loaders[i], UINT32_MAX, labels);
        for (uint32_t k = 0; k < rows; k++)
            assert_int_equal(seen[labels[k]]++, 0);
    }
    for (uint32_t i = 0; i < ALL; i++)
        assert_int_equal(seen[i], 1);
}

static sluice_loader_stats stats_of(sluice_loader *loader)
{
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    assert_int_equal(stats.unpack_restarts, 0);
    return stats;
}

static const int32_t shuffles[] = {SLUICE_SHUFFLE_SHARDS, SLUICE_SHUFFLE_NONE};

TEST(each_once)
{
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t world = 1; world < 5; world += TEST_AMOUNT(1, 2)) {
            sluice_loader *loaders[4];
            sluice_loader_options options = options_of(shuffles[s]);
            options.world_size = world;
            options.end_epoch = 2;
            for (options.rank = 0; options.rank < world; options.rank++)
                loaders[options.rank] = open_loader(&options);
            for (uint64_t epoch = 0; epoch < 2; epoch++) {
                for (uint32_t r = 0; r < world; r++)
                    assert_int_equal(sluice_loader_start_epoch(loaders[r], epoch), SLUICE_OK);
                check_each_once(loaders, world);
            }
            for (uint32_t r = 0; r < world; r++) {
                const sluice_loader_stats stats = stats_of(loaders[r]);
                const bool all = world == 1 || shuffles[s] == SLUICE_SHUFFLE_NONE;
                assert_true(all ? stats.unpacked_bytes == 2 * unpacked
                                : stats.unpacked_bytes < 2 * unpacked);
                assert_string_equal(stats.io_backend, "unpack");
                sluice_loader_close(loaders[r]);
            }
        }
    }
}

TEST(cut_short)
{
    static int64_t labels[ALL];
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t round = 0; round < 12; round += TEST_AMOUNT(1, 3)) {
            const sluice_loader_options options = options_of(shuffles[s]);
            sluice_loader *loader = open_loader(&options);
            for (uint32_t i = 0; i < round % 4; i++) {
                assert_int_equal(sluice_loader_start_epoch(loader, (uint64_t)i * 5), SLUICE_OK);
                assert_int_equal(take(loader, i, labels), i * BATCH);
                if (round % 2 == 0)
                    sluice_loader_cancel(loader);
            }
            if (round < 4) {
                assert_int_equal(sluice_loader_start_epoch(loader, 1), SLUICE_OK);
                check_each_once(&loader, 1);
                (void)stats_of(loader);
            }
            sluice_loader_close(loader);
        }
    }
}

TEST(goes_on)
{
    static int64_t whole[ALL];
    static int64_t rest[ALL];
    for (uint32_t s = 0; s < 2; s++) {
        const sluice_loader_options options = options_of(shuffles[s]);
        sluice_loader *loader = open_loader(&options);
        sluice_loader *other = open_loader(&options);
        for (uint32_t batches = 1; batches < 50; batches += TEST_AMOUNT(7, 14)) {
            uint8_t cursor[SLUICE_CURSOR_BYTES];
            size_t bytes = sizeof(cursor);
            uint64_t epoch = 0;
            assert_int_equal(sluice_loader_start_epoch(loader, 4), SLUICE_OK);
            const uint32_t before = take(loader, batches, whole);
            assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_OK);
            const uint32_t rows = take(loader, UINT32_MAX, whole + before);
            assert_int_equal(sluice_loader_restore(other, cursor, bytes, &epoch), SLUICE_OK);
            assert_int_equal(sluice_loader_start_epoch(other, epoch), SLUICE_OK);
            assert_int_equal(take(other, UINT32_MAX, rest), rows);
            assert_memory_equal(rest, whole + before, rows * sizeof(*rest));
        }
        (void)stats_of(other);
        sluice_loader_close(loader);
        sluice_loader_close(other);
    }
}

TEST(without_an_end)
{
    static int64_t labels[ALL];
    const sluice_loader_options options = options_of(SLUICE_SHUFFLE_SHARDS);
    sluice_loader *loader = open_loader(&options);
    const uint32_t steps = (uint32_t)sluice_loader_steps(loader);
    assert_int_equal(sluice_loader_start_endless(loader, 0), SLUICE_OK);
    for (uint32_t epoch = 0; epoch < 5; epoch++) {
        uint8_t seen[ALL] = {0};
        assert_int_equal(take(loader, steps, labels), ALL);
        for (uint32_t i = 0; i < ALL; i++)
            assert_int_equal(seen[labels[i]]++, 0);
    }
    (void)stats_of(loader);
    sluice_loader_close(loader);
}

static void *cancel_later(void *loader)
{
    (void)usleep(20000);
    sluice_loader_cancel(loader);
    return NULL;
}

TEST(from_another_thread)
{
    const sluice_loader_options options = options_of(SLUICE_SHUFFLE_SHARDS);
    sluice_loader *loader = open_loader(&options);
    for (uint64_t epoch = 0; epoch < 5; epoch++) {
        pthread_t thread;
        sluice_batch *batch = NULL;
        sluice_status status = SLUICE_OK;
        assert_int_equal(sluice_loader_start_endless(loader, epoch), SLUICE_OK);
        assert_int_equal(pthread_create(&thread, NULL, cancel_later, loader), 0);
        while ((status = sluice_loader_next(loader, &batch, -1)) == SLUICE_OK)
            sluice_batch_release(batch);
        assert_int_equal(status, SLUICE_CANCELED);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    sluice_loader_close(loader);
}

TEST_GROUP(setup, teardown)
