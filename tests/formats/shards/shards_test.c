/* SPDX-License-Identifier: Apache-2.0 */
/* Tests intact packed shards: reading returns the packed data, however the dataset is opened, from
 * any number of threads, with few descriptors, and fast. */
#include "clock.h"
#include "dataset.h"
#include "dataset_checks.h"
#include "formats.h"
#include "index_cache.h"
#include "packed.h"
#include "photo_folder.h"
#include "shard_bytes.h"
#include "snapshot.h"
#include "test.h"
#include "thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Bytes before the blobs of a sample with the fields image, label and key. */
enum { HEAD_BYTES = 48 };

static sluice_dataset_info info_of(const sluice_dataset *dataset)
{
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    return info;
}

static sluice_status add_pixels(sluice_writer *writer, const uint8_t *pixels, const char *key,
                                int64_t label)
{
    sluice_writer_sample sample = SLUICE_WRITER_SAMPLE_INIT;
    sample.raw_width = 64;
    sample.raw_height = 32;
    sample.image = pixels;
    sample.image_bytes = (uint64_t)64 * 32 * 3;
    sample.key = key;
    sample.label = label;
    return sluice_writer_add(writer, &sample, NULL);
}

/* Raw pixels, some compressible and some not, at each zstd level. */
TEST(what_is_written_is_read)
{
    static const int32_t levels[] = {SLUICE_ZSTD_OFF, 1, 3, 19};
    uint8_t flat[64 * 32 * 3];
    uint8_t noise[64 * 32 * 3];
    uint8_t got[64 * 32 * 3];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof(noise); i++) {
        x = x * 1664525U + 1013904223U;
        noise[i] = (uint8_t)(x >> 24);
        flat[i] = (uint8_t)(i / 1000);
    }
    char key[512];
    memset(key, 'k', 511);
    key[511] = '\0';
    for (size_t i = 0; i < 4; i++) {
        char folder[256];
        temporary_directory(folder, sizeof(folder));
        sluice_writer *writer;
        sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
        options.zstd_level = levels[i];
        assert_int_equal(sluice_writer_open(&writer, folder, &options, NULL), SLUICE_OK);
        assert_int_equal(add_pixels(writer, flat, key, 5), SLUICE_OK);
        assert_int_equal(add_pixels(writer, noise, "\xFF\x01 odd", INT64_MAX), SLUICE_OK);
        assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
        sluice_dataset *dataset = dataset_opened(folder);
        sluice_sample_info info = {.struct_size = sizeof(info)};
        size_t bytes;
        assert_int_equal(sluice_dataset_get_sample(dataset, 0, &info, NULL), SLUICE_OK);
        assert_int_equal(info.bytes<sizeof(flat), levels[i]> 0);
        assert_string_equal(info.key, key);
        assert_int_equal(info.label, 5);
        assert_int_equal(info.width, 64);
        assert_int_equal(sluice_dataset_read(dataset, 0, "image", got, 100, &bytes, NULL),
                         SLUICE_AGAIN);
        assert_int_equal(bytes, sizeof(flat));
        assert_int_equal(sluice_dataset_read(dataset, 0, "image", got, sizeof(got), &bytes, NULL),
                         SLUICE_OK);
        assert_memory_equal(got, flat, sizeof(flat));
        assert_int_equal(sluice_dataset_get_sample(dataset, 1, &info, NULL), SLUICE_OK);
        assert_string_equal(info.key, "\xFF\x01 odd");
        assert_int_equal(info.label, INT64_MAX);
        assert_int_equal(info.bytes, HEAD_BYTES + sizeof(noise) + 6);
        assert_int_equal(sluice_dataset_read(dataset, 1, "image", got, sizeof(got), &bytes, NULL),
                         SLUICE_OK);
        assert_memory_equal(got, noise, sizeof(noise));
        assert_int_equal(snapshot_verify(dataset), 0);
        sluice_dataset_close(dataset);
        remove_tree(folder);
    }
}

TEST(fields_and_classes)
{
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    const packed_options options = {.samples = 70, .classes = 3, .raw_every = 4};
    packed_make(folder, &options);
    sluice_dataset *dataset = dataset_opened(folder);
    static const struct {
        const char *name;
        sluice_field_type type;
        sluice_dtype dtype;
        uint32_t dims;
        int64_t shape[3];
    } fields[] = {{"image", SLUICE_FIELD_IMAGE, SLUICE_U8, 3, {0, 0, 3}},
                  {"label", SLUICE_FIELD_INT, SLUICE_I64, 0, {0}},
                  {"key", SLUICE_FIELD_TEXT, SLUICE_U8, 1, {0}}};
    sluice_field field = SLUICE_FIELD_INIT;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sluice_dataset_get_field(dataset, i, &field), SLUICE_OK);
        assert_string_equal(field.name, fields[i].name);
        assert_int_equal(field.type, fields[i].type);
        assert_int_equal(field.dtype, fields[i].dtype);
        assert_int_equal(field.dims, fields[i].dims);
        assert_memory_equal(field.shape, fields[i].shape, sizeof(fields[i].shape));
    }
    assert_int_equal(sluice_dataset_get_field(dataset, 3, &field), SLUICE_INVALID);
    assert_int_equal(sluice_dataset_get_field(dataset, 0, NULL), SLUICE_INVALID);
    assert_int_equal(sluice_dataset_get_field(NULL, 0, &field), SLUICE_INVALID);
    assert_string_equal(sluice_dataset_class_name(dataset, 2), "class2");
    assert_null(sluice_dataset_class_name(dataset, 3));
    assert_null(sluice_dataset_class_name(dataset, -1));
    const sluice_dataset_info info = info_of(dataset);
    assert_int_equal(info.samples, 70);
    assert_int_equal(info.classes, 3);
    assert_int_equal(info.shards, 1);
    assert_string_equal(info.format, "shards");
    sluice_sample_info sample = {.struct_size = sizeof(sample)};
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < 70; i++) {
        assert_int_equal(sluice_dataset_get_sample(dataset, i, &sample, NULL), SLUICE_OK);
        assert_int_equal(sample.label, i % 3);
        assert_int_equal(sample.offset, 4096 + bytes);
        bytes += sample.bytes;
    }
    assert_int_equal(info.bytes, bytes);
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_dataset_get_sample(dataset, 70, &sample, &error), SLUICE_INVALID);
    sluice_dataset_close(dataset);
    remove_tree(folder);
}

enum { SHARDS_MAX = 16 };

/* Opens each shard alone; their samples add up. Returns the number of samples of shard 1. */
static uint64_t open_one_by_one(const char *folder, uint32_t count, char paths[SHARDS_MAX][300])
{
    uint64_t samples[SHARDS_MAX] = {0};
    uint64_t fingerprints[SHARDS_MAX];
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(paths[i], 300, "%s/shard-%06u.sluice", folder, i);
        sluice_dataset *one = dataset_opened(paths[i]);
        fingerprints[i] = info_of(one).fingerprint;
        samples[i] = info_of(one).samples;
        total += samples[i];
        assert_true(i == 0 || fingerprints[i] != fingerprints[i - 1]);
        assert_int_equal(snapshot_verify(one), 0);
        sluice_dataset_close(one);
    }
    assert_int_equal(total, 40);
    return samples[1];
}

static void expect_same(const snapshot *all, const sluice_dataset *dataset)
{
    const snapshot_difference difference = snapshot_compare(all, dataset);
    assert_int_equal(difference.errors + difference.silent + difference.missing, 0);
}

/* The folder, its manifest, each shard, the shards joined, the folder and a shard. */
TEST(every_way_to_open_gives_the_same_samples)
{
    char folder[256];
    char manifest[300];
    char shards[SHARDS_MAX][300];
    const char *paths[SHARDS_MAX];
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = 40, .classes = 3, .shard_bytes = 12900});
    snapshot all;
    snapshot_take(&all, folder);
    (void)snprintf(manifest, sizeof(manifest), "%s/manifest.sluice", folder);
    sluice_dataset *whole = dataset_opened(manifest);
    const uint32_t count = info_of(whole).shards;
    assert_true(count > 3 && count <= SHARDS_MAX);
    expect_same(&all, whole);
    const uint64_t second = open_one_by_one(folder, count, shards);
    for (uint32_t i = 0; i < count; i++) {
        paths[i] = shards[i];
    }
    sluice_dataset *joined;
    assert_int_equal(sluice_dataset_open(&joined, paths, count, NULL, NULL), SLUICE_OK);
    expect_same(&all, joined);
    assert_true(info_of(whole).fingerprint == info_of(joined).fingerprint);
    assert_int_equal(info_of(joined).shards, count);
    sluice_dataset_close(joined);
    const char *const more[] = {folder, shards[1]};
    assert_int_equal(sluice_dataset_open(&joined, more, 2, NULL, NULL), SLUICE_OK);
    assert_int_equal(info_of(joined).samples, 40 + second);
    const snapshot_difference difference = snapshot_compare(&all, joined);
    assert_int_equal(difference.errors, 0);
    assert_int_equal(difference.silent, second);
    sluice_dataset_close(joined);
    sluice_dataset_close(whole);
    snapshot_free(&all);
    remove_tree(folder);
}

TEST(other_classes_do_not_join)
{
    char one[256];
    char two[256];
    temporary_directory(one, sizeof(one));
    temporary_directory(two, sizeof(two));
    packed_make(one, &(packed_options){.samples = 1, .classes = 2});
    packed_make(two, &(packed_options){.samples = 1, .classes = 3});
    const char *const paths[] = {one, two};
    sluice_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_dataset_open(&dataset, paths, 2, NULL, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.file, two));
    remove_tree(one);
    remove_tree(two);
}

TEST(the_same_samples_give_the_same_bytes)
{
    char folders[2][256];
    for (size_t i = 0; i < 2; i++) {
        temporary_directory(folders[i], sizeof(folders[i]));
        packed_make(folders[i], &(packed_options){
                                    .samples = 130, .classes = 7, .raw_every = 3, .zstd_level = 3});
    }
    static const char *const names[] = {"manifest.sluice", "shard-000000.sluice"};
    for (size_t i = 0; i < 2; i++) {
        char left[300];
        char right[300];
        (void)snprintf(left, sizeof(left), "%s/%s", folders[0], names[i]);
        (void)snprintf(right, sizeof(right), "%s/%s", folders[1], names[i]);
        assert_true(files_equal(left, right));
    }
    remove_tree(folders[0]);
    remove_tree(folders[1]);
}

typedef struct reader {
    sl_thread thread;
    const sluice_dataset *dataset;
    const snapshot *all;
    uint64_t seed, wrong;
} reader;

static void read_at_random(void *argument)
{
    reader *r = argument;
    static const size_t capacity = 4096;
    uint8_t *image = malloc(capacity);
    for (int i = 0; i < 300; i++) {
        r->seed = r->seed * 6364136223846793005U + 1442695040888963407U;
        const uint64_t index = (r->seed >> 33) % r->all->count;
        const snapshot_sample *wanted = &r->all->samples[index];
        sluice_sample_info info = {.struct_size = sizeof(info)};
        size_t bytes;
        if (sluice_dataset_get_sample(r->dataset, index, &info, NULL) != SLUICE_OK ||
            sluice_dataset_read(r->dataset, index, "image", image, capacity, &bytes, NULL) !=
                SLUICE_OK ||
            bytes != wanted->bytes || memcmp(image, wanted->image, bytes) != 0 ||
            info.label != wanted->info.label || strcmp(info.key, wanted->info.key) != 0) {
            r->wrong++;
        }
    }
    free(image);
}

static uint64_t read_with_threads(const sluice_dataset *dataset, const snapshot *all)
{
    enum { THREADS = 6 };
    reader readers[THREADS];
    uint64_t wrong = 0;
    memset(readers, 0, sizeof(readers));
    for (size_t i = 0; i < THREADS; i++) {
        readers[i] = (reader){.dataset = dataset, .all = all, .seed = i + 1};
        assert_int_equal(
            sl_thread_start(&readers[i].thread, "reader", read_at_random, &readers[i], NULL),
            SLUICE_OK);
    }
    for (size_t i = 0; i < THREADS; i++) {
        sl_thread_join(&readers[i].thread);
        wrong += readers[i].wrong;
    }
    return wrong;
}

static rlim_t used_descriptors(void)
{
    int fd = dup(0);
    (void)close(fd);
    return (rlim_t)fd;
}

/* Many shards and six threads that share first all descriptors, then three, then one. */
TEST(few_descriptors_are_enough)
{
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = 60, .classes = 4, .shard_bytes = 12900});
    snapshot all;
    snapshot_take(&all, folder);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlim_t limits[] = {before.rlim_cur, used_descriptors() + 3, used_descriptors() + 1};
    for (size_t i = 0; i < 3; i++) {
        /* Also opened with the usual limit, which may drop later. */
        for (int opened_first = 0; opened_first < 2; opened_first++) {
            struct rlimit limit = {limits[i], before.rlim_max};
            sluice_dataset *dataset = opened_first ? dataset_opened(folder) : NULL;
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
            dataset = dataset != NULL ? dataset : dataset_opened(folder);
            uint64_t wrong = read_with_threads(dataset, &all);
            assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
            sluice_dataset_close(dataset);
            assert_int_equal(wrong, 0);
        }
    }
    snapshot_free(&all);
    remove_tree(folder);
}

TEST(no_descriptor_at_all_is_an_error)
{
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = 2, .classes = 2});
    sluice_dataset *dataset = dataset_opened(folder);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit limit = {used_descriptors(), before.rlim_max};
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_sample_info info = {.struct_size = sizeof(info)};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    sluice_status status = sluice_dataset_get_sample(dataset, 0, &info, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, SLUICE_IO);
    assert_true(error.sys_errno != 0 && error.file[0] != '\0');
    assert_int_equal(sluice_dataset_get_sample(dataset, 0, &info, &error), SLUICE_OK);
    sluice_dataset_close(dataset);
    remove_tree(folder);
}

/* A manifest of many shards. Only the first one exists. */
static void make_many_shards(const char *folder, uint64_t count)
{
    file_bytes old;
    file_bytes new;
    file_load(&old, folder, "manifest.sluice");
    new = old;
    const uint64_t meta_bytes = get64(&old, 80);
    const uint64_t samples = get64(&old, 32);
    new.size = 4096 + 64 * count + meta_bytes;
    new.data = calloc(new.size, 1);
    memcpy(new.data, old.data, 4096);
    memcpy(new.data + 4096 + 64 * count, old.data + 4096 + 64, meta_bytes);
    for (uint64_t i = 0; i < count; i++) {
        memcpy(new.data + 4096 + 64 * i, old.data + 4096, 64);
        put64(&new, 4096 + 64 * i, i * samples);
        put32(&new, 4096 + 64 * i + 56, (uint32_t)i);
    }
    put64(&new, 24, new.size);
    put64(&new, 32, samples * count);
    put64(&new, 40, get64(&old, 40) * count);
    put64(&new, 48, count);
    put64(&new, 56, 64 * count);
    put64(&new, 72, 4096 + 64 * count);
    put64(&new, 96, samples * count);
    seal_manifest(&new);
    file_store(&new, new.size);
    file_free(&new);
    free(old.data);
}

TEST(ten_thousand_shards_open_without_touching_one)
{
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = 5, .classes = 4});
    make_many_shards(folder, 10000);
    const uint64_t start = sl_now_ns();
    sluice_dataset *dataset = dataset_opened(folder);
    const uint64_t opened = sl_now_ns();
    print_message("10,000 shards: opened in %.3f ms\n", (double)(opened - start) / 1e6);
    assert_true(opened - start < 500000000U);
    assert_int_equal(info_of(dataset).shards, 10000);
    assert_int_equal(info_of(dataset).samples, 50000);
    sluice_sample_info info = {.struct_size = sizeof(info)};
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_dataset_get_sample(dataset, 4, &info, &error), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_sample(dataset, 49999, &info, &error), SLUICE_IO);
    assert_non_null(strstr(error.file, "shard-009999.sluice"));
    sluice_dataset_close(dataset);
    remove_tree(folder);
}

/* A million samples of one pixel: opening must not read the index. */
TEST_UNSANITIZED(a_million_samples_open_at_once)
{
    enum { SAMPLES = 1000000 };
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    sluice_writer *writer;
    assert_int_equal(sluice_writer_open(&writer, folder, NULL, NULL), SLUICE_OK);
    uint64_t start = sl_now_ns();
    for (uint64_t i = 0; i < SAMPLES; i++) {
        const uint8_t pixel[3] = {(uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16)};
        sluice_writer_sample sample = SLUICE_WRITER_SAMPLE_INIT;
        sample.raw_width = 1;
        sample.raw_height = 1;
        sample.image = pixel;
        sample.image_bytes = 3;
        sample.label = (int64_t)(i % 1000);
        if (sluice_writer_add(writer, &sample, NULL) != SLUICE_OK) {
            fail();
        }
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    const uint64_t written = sl_now_ns();
    sluice_dataset *dataset = dataset_opened(folder);
    const uint64_t opened = sl_now_ns();
    uint8_t pixel[3];
    size_t bytes;
    for (uint64_t i = 0; i < 5000; i++) {
        const uint64_t index = i * 7919U * 31U % SAMPLES;
        assert_int_equal(sluice_dataset_read(dataset, index, "image", pixel, 3, &bytes, NULL),
                         SLUICE_OK);
        assert_int_equal(pixel[0] | pixel[1] << 8 | pixel[2] << 16, index);
    }
    const uint64_t read = sl_now_ns();
    print_message("a million samples: written in %.2f s, opened in %.3f ms, read at random in %.1f "
                  "us each\n",
                  (double)(written - start) / 1e9, (double)(opened - written) / 1e6,
                  (double)(read - opened) / 5000 / 1e3);
    assert_true(opened - written < 500000000U);
    sluice_dataset_close(dataset);
    remove_tree(folder);
}

/* Blocks that were looked up once, in any of many shards, are not looked up again. */
TEST(index_blocks_are_read_once)
{
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = 6000, .raw_every = 1, .shard_bytes = 80000});
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    const char *path = folder;
    sl_dataset *dataset;
    assert_int_equal(sl_dataset_open(&dataset, &path, 1, &options, NULL), SLUICE_OK);
    assert_true(dataset->info.shards > 8);
    for (uint64_t i = 0; i < dataset->info.samples; i++) {
        sl_sample sample;
        assert_int_equal(sl_dataset_find(dataset, i, &sample, NULL), SLUICE_OK);
    }
    for (uint64_t i = 0; i < dataset->info.samples; i++) {
        sl_sample sample;
        sl_place lookup;
        sl_refusal why;
        assert_int_equal(sl_dataset_locate(dataset, i, &sample, &lookup, &why), SLUICE_OK);
    }
    sl_dataset_close(dataset);
    remove_tree(folder);
}

/* For two million samples, each block has a slot of its own; beyond that, blocks share slots. */
TEST(the_index_cache_has_space)
{
    static const uint64_t counts[] = {1, 16, 17, 1000, 4096, 5000};
    uint8_t block[SL_PAGE_BYTES] = {0};
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        sl_index_cache cache;
        uint64_t kept = 0;
        assert_int_equal(sl_index_cache_open(&cache, counts[k], NULL), SLUICE_OK);
        for (uint64_t i = 0; i < counts[k]; i++) {
            memcpy(block, &i, sizeof(i));
            sl_index_cache_put(&cache, i, block);
        }
        for (uint64_t i = 0; i < counts[k]; i++) {
            uint64_t is = 0;
            const bool there = sl_index_cache_get(&cache, i, 0, &is, sizeof(is));
            assert_true(!there || is == i);
            kept += there;
        }
        assert_int_equal(kept, counts[k] < 4096 ? counts[k] : 4096);
        sl_index_cache_close(&cache);
    }
}
