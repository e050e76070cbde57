/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches interrupted by a power failure (tests/support/power.h): whatever remains on disk, reading
 * through them gives the same as without a cache.
 */
#include "checksum.h"
#include "chunk_rig.h"
#include "http_server.h"
#include "photo_folder.h"
#include "power.h"
#include "shard_bytes.h"
#include "tar_make.h"
#include "test.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const char *object_path; /* a Parquet file */

enum { MEMBERS = 5, TAR_BYTES = 32768, CHUNKED = 2 };

/* ---- datasets ---- */

typedef struct source {
    char path[300];
    bool unpacks;
    uint64_t sum; /* sum without a cache */
} source;

static size_t make_tar(uint8_t *tar)
{
    size_t size = 0;
    for (unsigned i = 0; i < MEMBERS; i++) {
        char name[32];
        char text[300];
        memset(text, 'a' + (int)i, sizeof(text));
        (void)snprintf(name, sizeof(name), "%u.txt", i);
        size += tar_put(tar + size, name, text, 100 + 40 * i);
    }
    return size + tar_put_end(tar + size);
}

static void make_source(source *s, bool packed)
{
    static uint8_t tar[TAR_BYTES];
    const size_t size = make_tar(tar);
    (void)snprintf(s->path, sizeof(s->path), "%s", test_path(packed ? "a.tar.gz" : "a.tar"));
    s->unpacks = packed;
    if (packed) {
        gzFile file = gzopen(s->path, "wb");
        assert_non_null(file);
        assert_int_equal(gzwrite(file, tar, (unsigned)size), size);
        assert_int_equal(gzclose(file), Z_OK);
    } else {
        const int fd = open(s->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(pwrite(fd, tar, size, 0), size);
        (void)close(fd);
    }
}

static void add_sample(sl_checksum_stream *stream, const sluice_dataset *dataset, uint64_t index,
                       uint32_t fields)
{
    static uint8_t buffer[1 << 20];
    sluice_error error = SLUICE_ERROR_INIT;
    for (uint32_t i = 0; i < fields; i++) {
        size_t bytes = 0;
        sluice_field field = SLUICE_FIELD_INIT;
        assert_int_equal(sluice_dataset_get_field(dataset, i, &field), SLUICE_OK);
        const sluice_status status =
            sluice_dataset_read(dataset, index, field.name, buffer, sizeof(buffer), &bytes, &error);
        if (status < 0) {
            power_print_state();
            fail_msg("sample %llu: %s", (unsigned long long)index, error.text);
        }
        sl_checksum_add_u64(stream, bytes);
        sl_checksum_add(stream, buffer, bytes);
    }
}

/* Sums all samples of the dataset, opened with caches in `folder`. */
static uint64_t sum_of(const source *s, const char *folder)
{
    char unpacked[400];
    const char *path = s->path;
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    (void)snprintf(unpacked, sizeof(unpacked), "%s/unpacked", folder);
    options.unpacked_dir = s->unpacks ? unpacked : NULL;
    assert_int_equal(setenv("SLUICE_CACHE_DIR", folder, 1), 0);
    if (sluice_dataset_open(&dataset, &path, 1, &options, &error) < 0) {
        power_print_state();
        fail_msg("%s: %s", error.file, error.text);
    }
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    sl_checksum_add_u64(&stream, info.samples);
    for (uint64_t i = 0; i < info.samples; i++) {
        add_sample(&stream, dataset, i, info.fields);
    }
    sluice_dataset_close(dataset);
    return sl_checksum_value(&stream);
}

static void check_source(const char *folder, void *ctx)
{
    const source *s = ctx;
    for (int i = 0; i < 2; i++) { /* the second time with the files that the first one kept */
        if (sum_of(s, folder) != s->sum) {
            power_print_state();
            fail_msg("other data through the cache");
        }
    }
}

static void fail_everywhere(source *s)
{
    char root[300];
    char plain[300];
    char into[300];
    (void)snprintf(root, sizeof(root), "%s", test_path("root"));
    (void)snprintf(plain, sizeof(plain), "%s", test_path("plain"));
    (void)snprintf(into, sizeof(into), "%s", test_path("into"));
    assert_int_equal(mkdir(root, 0700), 0);
    s->sum = sum_of(s, plain);
    power_record(root);
    assert_true(sum_of(s, root) == s->sum);
    power_stop();
    assert_true(power_operations() >= 3); /* something was kept */
    const uint32_t states = power_each(into, 1, 1, check_source, s);
    print_message("%u operations, %u states\n", power_operations(), states);
    assert_true(states > power_operations());
}

TEST_WITH(an_index_of_a_tar, test_folder_make, test_folder_remove)
{
    source s;
    make_source(&s, false);
    fail_everywhere(&s);
}

TEST_WITH(a_file_that_is_kept_unpacked, test_folder_make, test_folder_remove)
{
    source s;
    make_source(&s, true);
    fail_everywhere(&s);
}

/* The part of a server's file that opening read. */
TEST_WITH(the_beginning_of_an_object, test_folder_make, test_folder_remove)
{
    file_bytes object;
    source s = {.unpacks = false};
    const char *slash = strrchr(object_path, '/');
    char folder[400];
    assert_non_null(slash);
    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - object_path), object_path);
    file_load(&object, folder, slash + 1);
    http_server *server = http_server_start(&(http_server_config){.folder = NULL});
    http_server_put(server, "/bucket/a.parquet", object.data, object.size);
    (void)snprintf(s.path, sizeof(s.path), "%s/bucket/a.parquet", http_server_url(server));
    fail_everywhere(&s);
    http_server_stop(server);
    file_free(&object);
}

/* ---- chunks ---- */

static void keep_chunks(void)
{
    sl_chunk_cache *cache = chunk_rig_open(UINT64_C(1) << 30);
    chunk_rig_fill(cache, CHUNKED);
    sl_chunk_cache_close(cache);
}

/* A lost chunk is kept again. The rig compares the bytes of a chunk that exists. */
static void check_chunk(sl_chunk_cache *cache, unsigned number)
{
    sl_cached_object *object = chunk_rig_object(cache, number, CHUNK_RIG_SMALL);
    if (chunk_rig_check(object, number, 0) == SL_CHUNK_ABSENT) {
        const sluice_status status = chunk_rig_keep(object, number, 0);
        const sl_chunk_state state = chunk_rig_check(object, number, 0);
        if (status != SLUICE_OK || state != SL_CHUNK_HERE) {
            power_print_state();
            fail_msg("chunk %u is not kept again: %d, %d", number, status, (int)state);
        }
    }
    sl_cached_object_close(object);
}

static void check_chunks(const char *folder, void *ctx)
{
    char path[400];
    (void)ctx;
    (void)snprintf(path, sizeof(path), "%s/cache", folder);
    remove_tree(chunk_rig_folder());
    const bool moved = rename(path, chunk_rig_folder()) == 0;
    assert_true(moved || access(path, F_OK) != 0);
    sl_chunk_cache *cache = chunk_rig_open(UINT64_C(1) << 30);
    for (unsigned i = 0; i < CHUNKED; i++) {
        check_chunk(cache, i);
    }
    sl_chunk_cache_close(cache);
}

TEST_WITH(chunks_of_objects, test_folder_make, test_folder_remove)
{
    char into[300];
    (void)snprintf(into, sizeof(into), "%s", test_path("into"));
    power_record(test_folder());
    keep_chunks();
    power_stop();
    const uint32_t states = power_each(into, TEST_AMOUNT(1, 3), 1, check_chunks, NULL);
    print_message("%u operations, %u states\n", power_operations(), states);
    assert_true(states > power_operations() / TEST_AMOUNT(1, 3));
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        return 1;
    }
    object_path = argv[1];
    return test_run(NULL, NULL);
}
