/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaders over a server, with a cache on disk: epochs without a request, a cache that holds half of
 * the data, and correct bytes throughout.
 */
#include "chunk_cache.h"
#include "curl_library.h"
#include "http_server.h"
#include "loader_setup.h"
#include "test_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 2, CHUNKS_EACH = 2, CHUNKS = FILES * CHUNKS_EACH, SAMPLE_BYTES = 1 << 18 };

#define CHUNK_BYTES  (UINT64_C(8) << 20)
#define FILE_SAMPLES (CHUNKS_EACH * CHUNK_BYTES / SAMPLE_BYTES)
#define SAMPLES      (FILES * FILE_SAMPLES)
#define ALL_BYTES    (SAMPLES * SAMPLE_BYTES)
/* Most disk space that a chunk takes. */
#define CHUNK_SPACE (CHUNK_BYTES + 65536)

static http_server *server;

/* Each sample begins and ends with its number. */
static void write_file_of_samples(uint64_t number)
{
    const int fd =
        open(test_path("data/%d.bin", (int)number), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)(FILE_SAMPLES * SAMPLE_BYTES)), 0);
    for (uint64_t i = 0; i < FILE_SAMPLES; i++) {
        const uint64_t sample = number * FILE_SAMPLES + i;
        const off_t at = (off_t)(i * SAMPLE_BYTES);
        assert_int_equal(pwrite(fd, &sample, 8, at), 8);
        assert_int_equal(pwrite(fd, &sample, 8, at + SAMPLE_BYTES - 8), 8);
    }
    close(fd);
}

static int begin(void **state)
{
    const sl_curl_calls *calls;
    sluice_error error;
    (void)test_folder_make(state);
    if (sl_curl_library(&calls, &error) != SLUICE_OK) {
        (void)printf("%s\n", error.text);
        exit(77);
    }
    assert_int_equal(mkdir(test_path("data"), 0700), 0);
    for (uint64_t i = 0; i < FILES; i++) {
        write_file_of_samples(i);
    }
    server = http_server_start(&(http_server_config){.folder = test_path("data")});
    return 0;
}

static int end(void **state)
{
    http_server_stop(server);
    return test_folder_remove(state);
}

TEST_GROUP(begin, end)

/* ---- epochs ---- */

static void use_cache(const char *folder, uint64_t chunks)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_remote_config config = SLUICE_REMOTE_CONFIG_INIT;
    config.cache = folder;
    config.cache_bytes = chunks * CHUNK_SPACE;
    assert_int_equal(sluice_remote_configure(&config, &error), SLUICE_OK);
}

static sluice_loader *open_remote(sluice_shuffle shuffle)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = setup_options();
    sluice_dataset *dataset;
    sluice_loader *loader;
    sluice_field field = SLUICE_FIELD_INIT;
    char urls[FILES][128];
    const char *paths[FILES];
    field.type = SLUICE_FIELD_TENSOR;
    field.dtype = SLUICE_U8;
    field.dims = 1;
    field.shape[0] = SAMPLE_BYTES;
    const sluice_dataset_options flat = {.struct_size = sizeof(flat), .flat = &field};
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(urls[i], sizeof(urls[i]), "%s/%d.bin", http_server_url(server), i);
        paths[i] = urls[i];
    }
    if (sluice_dataset_open(&dataset, paths, FILES, &flat, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    options.shuffle = shuffle;
    options.workers = 2;
    options.block_samples = 8;
    options.window_bytes = UINT64_C(4) << 20;
    options.resident_bytes = 1;
    options.end_epoch = 1; /* so that each epoch includes its reads */
    if (sluice_loader_open(&loader, dataset, NULL, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_dataset_close(dataset);
    return loader;
}

static void check_rows(const sluice_batch *batch, bool seen[SAMPLES])
{
    sluice_tensor index = SLUICE_TENSOR_INIT;
    sluice_tensor values = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, "index", &index), SLUICE_OK);
    assert_int_equal(sluice_batch_tensor(batch, "tensor", &values), SLUICE_OK);
    for (uint32_t i = 0; i < sluice_batch_rows(batch); i++) {
        const uint64_t sample = (uint64_t)((const int64_t *)index.data)[i];
        const uint8_t *bytes = (const uint8_t *)values.data + (size_t)i * SAMPLE_BYTES;
        assert_memory_equal(bytes, &sample, 8);
        assert_memory_equal(bytes + SAMPLE_BYTES - 8, &sample, 8);
        assert_true(sample < SAMPLES && !seen[sample]);
        seen[sample] = true;
    }
}

/* Returns the bytes that the server sent during the epoch. */
static uint64_t run_epoch(sluice_loader *loader, uint64_t epoch)
{
    bool seen[SAMPLES] = {false};
    uint64_t rows = 0;
    sluice_batch *batch;
    http_server_reset_counts(server);
    sluice_status status = sluice_loader_start_epoch(loader, epoch);
    while (status == SLUICE_OK && (status = sluice_loader_next(loader, &batch, -1)) == SLUICE_OK) {
        check_rows(batch, seen);
        rows += sluice_batch_rows(batch);
        sluice_batch_release(batch);
    }
    assert_int_equal(status, SLUICE_END);
    assert_int_equal(rows, SAMPLES);
    return http_server_counts(server).body_bytes;
}

static sluice_loader_cache cache_of(sluice_loader *loader, uint64_t epoch)
{
    sluice_loader_cache cache = SLUICE_LOADER_CACHE_INIT;
    assert_int_equal(sluice_loader_get_cache(loader, epoch, &cache), SLUICE_OK);
    return cache;
}

/* Waits until each chunk of the epoch was examined, which on a busy machine is after the epoch. */
static sluice_loader_cache settled_cache(sluice_loader *loader, uint64_t epoch)
{
    const uint64_t begun = setup_now_ns();
    sluice_loader_cache cache = cache_of(loader, epoch);
    while (cache.here_bytes + cache.fetched_bytes + cache.left_bytes < ALL_BYTES) {
        assert_true(setup_now_ns() - begun < TEST_PATIENCE_NS);
        setup_sleep_ns(1000000);
        cache = cache_of(loader, epoch);
    }
    return cache;
}

/* Runs epochs until the cache has this many chunks: on a busy machine, a chunk passed before its
 * turn is fetched in the next epoch. Returns the number of the next epoch. */
static uint64_t fill(sluice_loader *loader, uint64_t chunks)
{
    for (uint64_t epoch = 0; epoch < 100; epoch++) {
        (void)run_epoch(loader, epoch);
        const sluice_loader_cache cache = settled_cache(loader, 0);
        assert_int_equal(cache.chunks, CHUNKS);
        if (cache.here_bytes == chunks * CHUNK_BYTES) {
            return epoch + 1;
        }
    }
    fail_msg("the cache was not filled");
    return 0;
}

TEST(a_cache_of_everything_needs_no_request)
{
    use_cache(test_path("all"), CHUNKS);
    sluice_loader *loader = open_remote(SLUICE_SHUFFLE_FULL);
    const uint64_t epoch = fill(loader, CHUNKS);
    assert_int_equal(run_epoch(loader, epoch), 0);
    assert_int_equal(http_server_counts(server).requests, 0);
    sluice_loader_close(loader);
    /* Opens another loader, as after a restart. */
    loader = open_remote(SLUICE_SHUFFLE_SHARDS);
    (void)run_epoch(loader, 5); /* the server may still be counting the requests of opening */
    assert_int_equal(run_epoch(loader, 6), 0);
    sluice_loader_close(loader);
}

static sl_chunk_cache_stats stats_of(const char *folder)
{
    sluice_error error;
    sl_chunk_cache *cache;
    sl_chunk_cache_stats stats;
    assert_int_equal(sl_chunk_cache_open(&cache, folder, CHUNKS / 2 * CHUNK_SPACE, &error),
                     SLUICE_OK);
    sl_chunk_cache_get_stats(cache, &stats);
    sl_chunk_cache_close(cache);
    return stats;
}

/* Half of the bytes come from the cache in each epoch, and nothing is replaced. */
static void expect_half(sluice_shuffle shuffle, const char *name)
{
    char folder[512];
    (void)snprintf(folder, sizeof(folder), "%s", test_path("%s", name));
    use_cache(folder, CHUNKS / 2);
    sluice_loader *loader = open_remote(shuffle);
    const uint64_t epoch = fill(loader, CHUNKS / 2);
    for (uint64_t i = 0; i < 2; i++) {
        const sl_chunk_cache_stats before = stats_of(folder);
        (void)run_epoch(loader, epoch + i);
        const sl_chunk_cache_stats after = stats_of(folder);
        const sluice_loader_cache cache = settled_cache(loader, epoch + i);
        const double hits = (double)(after.hit_bytes - before.hit_bytes);
        const double misses = (double)(after.miss_bytes - before.miss_bytes);
        assert_true(hits / (hits + misses) >= 0.48);
        assert_int_equal(cache.here_bytes, CHUNKS / 2 * CHUNK_BYTES);
        assert_int_equal(cache.fetched_bytes, 0);
        assert_int_equal(cache.removed, 0);
        assert_true(cache.optimum >= 0.5 && cache.optimum < 1);
        assert_true(cache.lru <= cache.optimum);
    }
    sluice_loader_close(loader);
}

TEST(half_a_cache_hits_half_by_samples)
{
    expect_half(SLUICE_SHUFFLE_FULL, "samples");
}

TEST(half_a_cache_hits_half_by_shards)
{
    expect_half(SLUICE_SHUFFLE_SHARDS, "shards");
}

/* Epochs may be abandoned, and begun anywhere. */
TEST(leaving_and_resuming_stays_right)
{
    use_cache(test_path("resume"), CHUNKS);
    sluice_loader *loader = open_remote(SLUICE_SHUFFLE_FULL);
    bool seen[SAMPLES] = {false};
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = sizeof(cursor);
    uint64_t epoch;
    sluice_batch *batch;
    assert_int_equal(sluice_loader_start_epoch(loader, 3), SLUICE_OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
        check_rows(batch, seen);
        sluice_batch_release(batch);
    }
    assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_OK);
    sluice_loader_close(loader);
    loader = open_remote(SLUICE_SHUFFLE_FULL);
    assert_int_equal(sluice_loader_restore(loader, cursor, bytes, &epoch), SLUICE_OK);
    assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        check_rows(batch, seen);
        sluice_batch_release(batch);
    }
    for (uint64_t i = 0; i < SAMPLES; i++) {
        assert_true(seen[i]);
    }
    sluice_loader_close(loader);
}

TEST(without_a_cache_there_is_nothing_to_report)
{
    use_cache("", 0);
    sluice_loader *loader = open_remote(SLUICE_SHUFFLE_FULL);
    const sluice_loader_cache cache = cache_of(loader, 1);
    assert_int_equal(cache.chunks, 0);
    assert_true(cache.optimum == 0 && cache.lru == 0);
    const uint64_t begun = setup_now_ns();
    uint64_t sent = run_epoch(loader, 0);
    while (sent < ALL_BYTES) { /* a busy server counts an answer after its client has it */
        assert_true(setup_now_ns() - begun < TEST_PATIENCE_NS);
        setup_sleep_ns(1000000);
        sent = http_server_counts(server).body_bytes;
    }
    sluice_loader_close(loader);
}
