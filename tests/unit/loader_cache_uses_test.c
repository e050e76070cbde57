/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which chunks an epoch uses and when, compared with a loader's batches, whose rows name their
 * samples. The files are sparse, and the network is not used.
 */
#include "cache_uses.h"
#include "loader.h"
#include "loader_setup.h"
#include "test_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FILES = 3,
    SAMPLE_BYTES = 3 << 16,
    CHUNKS_EACH = 3,
    CHUNKS = FILES * CHUNKS_EACH,
    BATCH = 8
};

#define FILE_SAMPLES (UINT64_C(5) * SL_CHUNK_BYTES / 2 / SAMPLE_BYTES)
#define SAMPLES      (FILES * FILE_SAMPLES)

/* First and last use of each chunk; UINT64_MAX: never. */
typedef struct uses {
    uint64_t first[CHUNKS], last[CHUNKS];
    uint64_t bytes;
} uses;

static uses no_uses(void)
{
    uses none = {.bytes = 0};
    memset(none.first, 0xff, sizeof(none.first));
    memset(none.last, 0xff, sizeof(none.last));
    return none;
}

static void note_use(void *ctx, uint64_t number, uint64_t position, uint32_t bytes)
{
    uses *u = ctx;
    assert_true(number < CHUNKS);
    u->first[number] = position < u->first[number] ? position : u->first[number];
    u->last[number] =
        u->last[number] == UINT64_MAX || position > u->last[number] ? position : u->last[number];
    u->bytes += bytes;
}

static void note_object(void *ctx, uint32_t object, uint64_t position)
{
    (void)ctx;
    (void)object;
    (void)position;
    fail(); /* the location of each sample is known */
}

/* ---- the dataset, and its chunks ---- */

static sluice_dataset *open_dataset(void)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset;
    sluice_field field = SLUICE_FIELD_INIT;
    const char *paths[FILES];
    field.type = SLUICE_FIELD_TENSOR;
    field.dtype = SLUICE_U8;
    field.dims = 1;
    field.shape[0] = SAMPLE_BYTES;
    const sluice_dataset_options options = {.struct_size = sizeof(options), .flat = &field};
    for (int i = 0; i < FILES; i++) {
        paths[i] = test_path("%d.bin", i);
        const int fd = open(paths[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, (off_t)(FILE_SAMPLES * SAMPLE_BYTES)), 0);
        close(fd);
    }
    assert_int_equal(sluice_dataset_open(&dataset, paths, FILES, &options, &error), SLUICE_OK);
    return dataset;
}

static uint64_t file_bytes(void *ctx, uint32_t object)
{
    (void)ctx;
    return object < FILES ? FILE_SAMPLES * SAMPLE_BYTES : 0;
}

/* Opens a cache that only numbers chunks. */
static sl_caching *open_numbers(sl_chunk_cache **cache)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sl_caching *caching;
    const sl_caching_objects objects = {.count = FILES, .bytes = file_bytes};
    assert_int_equal(sl_chunk_cache_open(cache, test_path("cache"), SL_CHUNK_BYTES, &error),
                     SLUICE_OK);
    assert_int_equal(sl_caching_open(&caching, *cache, &objects, 1, &error), SLUICE_OK);
    assert_int_equal(sl_caching_first_chunk(caching, FILES), CHUNKS);
    return caching;
}

/* ---- a loader's reads ---- */

static void note_row(uses *u, int64_t index, uint64_t row)
{
    const uint64_t sample = (uint64_t)index;
    const uint64_t first = sample % FILE_SAMPLES * SAMPLE_BYTES;
    const uint64_t last = first + SAMPLE_BYTES - 1;
    const uint64_t file = sample / FILE_SAMPLES * CHUNKS_EACH;
    note_use(u, file + first / SL_CHUNK_BYTES, row, SAMPLE_BYTES);
    note_use(u, file + last / SL_CHUNK_BYTES, row, 0);
}

/* Uses of the rows from `from` on, as an epoch's batches name them. */
static uses expected_uses(sluice_loader *loader, uint64_t epoch, uint64_t from)
{
    uses u = no_uses();
    uint64_t row = 0;
    sluice_batch *batch;
    sluice_status status = sluice_loader_start_epoch(loader, epoch);
    while (status == SLUICE_OK && (status = sluice_loader_next(loader, &batch, -1)) == SLUICE_OK) {
        sluice_tensor index = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_tensor(batch, "index", &index), SLUICE_OK);
        for (uint32_t i = 0; i < sluice_batch_rows(batch); i++, row++) {
            const int64_t sample = ((const int64_t *)index.data)[i];
            if (row >= from && sample >= 0) { /* otherwise it is padding */
                note_row(&u, sample, row);
            }
        }
        sluice_batch_release(batch);
    }
    assert_int_equal(status, SLUICE_END);
    return u;
}

static void expect_walk(sluice_loader *loader, const sl_caching *caching, uint64_t epoch,
                        uint64_t from)
{
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_loader_options *o = &loader->config.options;
    const uses expected = expected_uses(loader, epoch, from);
    uses found = no_uses();
    const sl_cache_visitor visitor = {.ctx = &found, .chunk = note_use, .object = note_object};
    const sl_cache_epoch of = {.feed = &loader->feed,
                               .caching = caching,
                               .epoch = epoch,
                               .start = from * o->world_size,
                               .rank = o->rank};
    assert_int_equal(sl_cache_walk(&of, &visitor, &error), SLUICE_OK);
    assert_memory_equal(&found, &expected, sizeof(found));
}

static void expect_options(sluice_dataset *dataset, const sluice_loader_options *options)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader *loader;
    sl_chunk_cache *cache;
    sl_caching *caching = open_numbers(&cache);
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, options, &error), SLUICE_OK);
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        expect_walk(loader, caching, epoch, 0);
        expect_walk(loader, caching, epoch, (uint64_t)3 * BATCH);
    }
    sluice_loader_close(loader);
    sl_caching_close(caching);
    sl_chunk_cache_close(cache);
}

TEST_WITH(walks_are_what_loaders_read, test_folder_make, test_folder_remove)
{
    static const sluice_shuffle shuffles[] = {SLUICE_SHUFFLE_FULL, SLUICE_SHUFFLE_BLOCK,
                                              SLUICE_SHUFFLE_NONE, SLUICE_SHUFFLE_SHARDS};
    static const sluice_last_batch lasts[] = {SLUICE_LAST_DROP, SLUICE_LAST_PAD};
    sluice_dataset *dataset = open_dataset();
    for (size_t i = 0; i < sizeof(shuffles) / sizeof(shuffles[0]); i++) {
        for (uint32_t world = 1; world <= 3; world += 2) {
            sluice_loader_options options = setup_options();
            options.shuffle = shuffles[i];
            options.last_batch = lasts[i % 2];
            options.world_size = world;
            options.rank = world - 1;
            options.batch_size = BATCH;
            options.block_samples = 4;
            options.workers = 1;
            expect_options(dataset, &options);
        }
    }
    sluice_dataset_close(dataset);
}

/* A walk that another epoch has superseded. */
TEST_WITH(a_walk_ends_when_nobody_wants_it, test_folder_make, test_folder_remove)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = setup_options();
    sluice_dataset *dataset = open_dataset();
    sluice_loader *loader;
    sl_chunk_cache *cache;
    sl_caching *caching = open_numbers(&cache);
    _Atomic uint64_t serial = 2;
    uses found = no_uses();
    const sl_cache_visitor visitor = {.ctx = &found, .chunk = note_use, .object = note_object};
    options.workers = 1;
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, &error), SLUICE_OK);
    const sl_cache_epoch of = {
        .feed = &loader->feed, .caching = caching, .current = &serial, .serial = 1};
    assert_int_equal(sl_cache_walk(&of, &visitor, &error), SLUICE_CANCELED);
    assert_int_equal(found.bytes, 0);
    sluice_loader_close(loader);
    sl_caching_close(caching);
    sl_chunk_cache_close(cache);
    sluice_dataset_close(dataset);
}
