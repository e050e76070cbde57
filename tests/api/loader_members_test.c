/* SPDX-License-Identifier: Apache-2.0 */
/* Tests rows of several samples, some of them bad, with read buffers that hold a fraction of the
 * rows in flight. Regardless of the number of members, the fraction of bad samples, the buffer, the
 * order and the policy, an epoch ends soon and its rows have good samples; also in episodes, whose
 * rows may wait for one another. */
#include "loader_setup.h"
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 120, BATCH = 16, NUMBER_BITS = 16, MEMBERS_MAX = 9 };
/* A buffer holds 32 or 96 samples: fewer than the batches ahead need. */
enum { BYTES = 32 << 10, BUFFER = 32 * BYTES };
#define DEADLINE_NS INT64_C(20000000000)

/* A tensor of bools begins with the bits of its sample's number. In a bad sample, the last value is
 * not a bool. */
static void fill(uint8_t *bytes, uint64_t sample, bool bad)
{
    memset(bytes, 1, BYTES);
    for (uint32_t i = 0; i < NUMBER_BITS; i++) {
        bytes[i] = sample >> i & 1;
    }
    bytes[BYTES - 1] = bad ? 2 : 1;
}

static uint64_t number_of(const uint8_t *bytes)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < NUMBER_BITS; i++) {
        number |= (uint64_t)bytes[i] << i;
    }
    return number;
}

static bool is_bad(uint64_t sample, uint32_t percent)
{
    return sample * 7919 % 100 < percent;
}

static void write_samples(const char *path, uint32_t bad_percent)
{
    uint8_t *bytes = malloc(BYTES);
    sluice_field field = SLUICE_FIELD_INIT;
    (void)snprintf(field.name, sizeof(field.name), "block");
    field.type = SLUICE_FIELD_TENSOR;
    field.dtype = SLUICE_BOOL;
    field.dims = 1;
    field.shape[0] = BYTES;
    field.compression = SLUICE_COMPRESSION_NEVER;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = &field;
    options.field_count = 1;
    sluice_writer *writer = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_writer_open(&writer, path, &options, &error), SLUICE_OK);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        sluice_value value = SLUICE_VALUE_INIT;
        fill(bytes, i, is_bad(i, bad_percent));
        value.data = bytes;
        value.bytes = BYTES;
        assert_int_equal(sluice_writer_add_values(writer, &value, 1, &error), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, &error), SLUICE_OK);
    free(bytes);
}

typedef struct variant {
    uint32_t members, bad_percent;
    int32_t shuffle, policy, page_cache;
    uint64_t buffer_bytes;
    uint32_t workers;
    bool episodes;
} variant;

enum { K = 3, N = 5, CLASS_SAMPLES = 10, EPISODES = 16 };
static uint32_t classes[SAMPLES];

static char names[MEMBERS_MAX][16];

static sluice_loader *open_loader(const char *path, const variant *v)
{
    sluice_columns *columns = NULL;
    sluice_loader_options options = setup_options();
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    for (uint32_t i = 0; i < v->members; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "block%u", i);
        sluice_column column = SLUICE_COLUMN_INIT;
        column.kind = SLUICE_COLUMN_TENSOR;
        column.field = "block";
        column.name = names[i];
        column.partner = i;
        assert_int_equal(sluice_columns_add(columns, &column), SLUICE_OK);
    }
    options.batch_size = BATCH;
    if (v->episodes) {
        for (uint32_t i = 0; i < SAMPLES; i++) {
            classes[i] = i / CLASS_SAMPLES;
        }
        options.batch_size = 2 * K * N;
        options.classes = classes;
        options.class_count = SAMPLES;
        options.episode_classes = K;
        options.episode_samples = N;
        options.episodes = EPISODES;
    }
    options.columns = columns;
    options.shuffle = v->shuffle;
    options.block_samples = 8;
    options.window_blocks = 4;
    options.on_bad_sample = v->policy;
    options.page_cache = v->page_cache;
    options.read_buffer_bytes = v->buffer_bytes;
    options.workers = v->workers;
    options.end_epoch = 1;
    options.last_batch = SLUICE_LAST_SHORT;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = setup_dataset(path);
    sluice_loader *loader = NULL;
    const sluice_status status = sluice_loader_open(&loader, dataset, NULL, &options, &error);
    if (status != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_dataset_close(dataset);
    sluice_columns_destroy(columns);
    return loader;
}

static const uint8_t *column_of(const sluice_batch *batch, const char *name)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, name, &tensor), SLUICE_OK);
    return tensor.data;
}

static void check_rows(const sluice_batch *batch, const variant *v, uint32_t *good)
{
    const int64_t *index = (const int64_t *)(const void *)column_of(batch, "index");
    const uint8_t *mask = column_of(batch, "mask");
    for (uint32_t row = 0; row < sluice_batch_rows(batch); row++) {
        for (uint32_t i = 0; i < v->members && mask[row]; i++) {
            const uint8_t *bytes = column_of(batch, names[i]) + (size_t)row * BYTES;
            const uint64_t number = number_of(bytes);
            assert_true(number < SAMPLES && !is_bad(number, v->bad_percent));
            assert_true(i > 0 || number == (uint64_t)index[row]);
        }
        *good += mask[row];
    }
}

static uint32_t good_of_class(uint32_t class, uint32_t percent)
{
    uint32_t good = 0;
    for (uint32_t i = 0; i < CLASS_SAMPLES; i++) {
        good += !is_bad(class * CLASS_SAMPLES + i, percent);
    }
    return good;
}

/* In a class with as many good samples as an episode needs, no sample comes twice. */
static void check_episodes(const sluice_batch *batch, const variant *v, uint32_t *full)
{
    const int64_t *index = (const int64_t *)(const void *)column_of(batch, "index");
    const uint8_t *mask = column_of(batch, "mask");
    for (uint32_t first = 0; first < sluice_batch_rows(batch); first += N) {
        const uint32_t class = (uint32_t)index[first] / CLASS_SAMPLES;
        uint32_t different = 0;
        for (uint32_t i = first; i < first + N; i++) {
            bool seen = !mask[i];
            for (uint32_t k = first; k < i; k++) {
                seen = seen || index[k] == index[i];
            }
            different += !seen;
            assert_int_equal(index[i] / CLASS_SAMPLES, class);
        }
        const uint32_t good = good_of_class(class, v->bad_percent);
        assert_true(good < N || different == N);
        *full += good >= N;
    }
}

/* Runs an epoch; each batch must arrive before the deadline. */
static void run(const char *path, const variant *v)
{
    sluice_loader *loader = open_loader(path, v);
    sluice_batch *batch = NULL;
    uint32_t rows = 0;
    uint32_t good = 0;
    uint32_t full = 0;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    sluice_status status = sluice_loader_next(loader, &batch, DEADLINE_NS);
    while (status == SLUICE_OK) {
        rows += sluice_batch_rows(batch);
        check_rows(batch, v, &good);
        if (v->episodes) {
            check_episodes(batch, v, &full);
        }
        sluice_batch_release(batch);
        status = sluice_loader_next(loader, &batch, DEADLINE_NS);
    }
    const bool fails = v->policy == SLUICE_BAD_FAIL && v->bad_percent > 0;
    if (status != (fails ? SLUICE_UNSUPPORTED : SLUICE_END)) {
        sluice_error error = SLUICE_ERROR_INIT;
        (void)sluice_loader_get_error(loader, &error);
        fail_msg("%d after %u rows: members %u, bad %u %%, shuffle %d, policy %d, cache %d, "
                 "buffer %llu: %s",
                 status, rows, v->members, v->bad_percent, v->shuffle, v->policy, v->page_cache,
                 (unsigned long long)v->buffer_bytes, error.text);
    }
    assert_true(fails || rows == (v->episodes ? EPISODES * K * N : SAMPLES));
    assert_true(!v->episodes || full > EPISODES);
    /* Eight attempts find a good sample if one in ten is bad. */
    assert_true(v->policy != SLUICE_BAD_REPLACE || v->bad_percent > 10 || good == rows);
    sluice_loader_close(loader);
}

/* Every fraction of bad samples with every policy; the other settings vary in a cycle that combines
 * them. */
static void run_all(const char *path, uint32_t bad_percent)
{
    static const uint32_t members[] = {9, 4, 2};
    static const int32_t shuffles[] = {SLUICE_SHUFFLE_FULL, SLUICE_SHUFFLE_NONE,
                                       SLUICE_SHUFFLE_BLOCK};
    static const int32_t policies[] = {SLUICE_BAD_REPLACE, SLUICE_BAD_MASK, SLUICE_BAD_FAIL};
    static const int32_t caches[] = {SLUICE_CACHE_BUFFERED, SLUICE_CACHE_AUTO};
    uint32_t number = 0;
    for (uint32_t m = 0; m < 3; m++) {
        for (uint32_t k = 0; k < 9; k++, number++) {
            const variant v = {.members = members[m],
                               .bad_percent = bad_percent,
                               .shuffle = shuffles[k % 3],
                               .policy = policies[k / 3],
                               .page_cache = caches[(number + k / 3) % 4 == 3],
                               .buffer_bytes = number % 2 == 0 ? BUFFER : 3 * BUFFER,
                               .workers = 1 + number % 3};
            if (TEST_AMOUNT(0, (number + m + bad_percent / 10) % 12 != 0)) {
                continue;
            }
            run(path, &v);
        }
    }
}

static void run_percent(uint32_t bad_percent)
{
    char folder[200];
    char path[256];
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/d", folder);
    write_samples(path, bad_percent);
    run_all(path, bad_percent);
    remove_tree(folder);
}

TEST(epochs_without_bad_samples_end)
{
    run_percent(0);
}

TEST(epochs_with_a_few_bad_samples_end)
{
    run_percent(3);
}

TEST(epochs_with_many_bad_samples_end)
{
    run_percent(10);
}

TEST(epochs_with_mostly_bad_samples_end)
{
    run_percent(60);
}

/* Rows of several episodes of a batch wait for one another, while loaders are closed. */
TEST(episodes_have_no_sample_twice)
{
    char folder[200];
    char path[256];
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/d", folder);
    write_samples(path, 35);
    for (uint32_t i = 0; i < TEST_AMOUNT(12, 4); i++) {
        const variant v = {.members = 1 + i % 2,
                           .bad_percent = 35,
                           .policy = SLUICE_BAD_REPLACE,
                           .shuffle = SLUICE_SHUFFLE_FULL,
                           .page_cache = i % 4 < 2 ? SLUICE_CACHE_BUFFERED : SLUICE_CACHE_AUTO,
                           .buffer_bytes = BUFFER,
                           .workers = 1 + i % 3,
                           .episodes = true};
        run(path, &v);
        sluice_loader *loader = open_loader(path, &v);
        assert_int_equal(sluice_loader_start_epoch(loader, i), SLUICE_OK);
        setup_sleep_ns(UINT64_C(1000000) * i);
        assert_int_equal(sluice_loader_start_epoch(loader, i + 1), SLUICE_OK);
        setup_sleep_ns(UINT64_C(500000) * i);
        sluice_loader_close(loader);
    }
    remove_tree(folder);
}
