/* SPDX-License-Identifier: Apache-2.0 */
/* Tests files that are large but take no disk space: the contents they claim cost no memory. */
#include "packed.h"
#include "photo_folder.h"
#include "shard_bytes.h"
#include "test.h"

#include <sluice/sluice.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { PAGE = 4096, RSS_KIB_MOST = 48 << 10, FIELDS = 3, META_HEAD = 64, FIELD_ROW = 128 };
#define META_MOST ((uint64_t)1 << 28)

static uint64_t rss_kib(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss;
}

/* Returns the result of `look`, run in a child; checks the child's peak memory. */
static int in_child(int (*look)(const char *path), const char *path)
{
    int result = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const uint64_t before = rss_kib();
        const int said = look(path);
        _exit(rss_kib() - before > RSS_KIB_MOST ? 99 : said);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    return WEXITSTATUS(result);
}

/* Returns the status of open, without its sign. */
static int look_at_dataset(const char *path)
{
    sluice_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_status status = sluice_dataset_open(&dataset, &path, 1, NULL, &error);
    sluice_dataset_close(dataset);
    return -status;
}

static int count_findings(const char *path)
{
    sluice_dataset *dataset;
    const sluice_verify_options options = {.struct_size = sizeof(options), .workers = 2};
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    if (sluice_dataset_open(&dataset, &path, 1, NULL, NULL) != SLUICE_OK ||
        sluice_dataset_verify(dataset, &options, &result, NULL) != SLUICE_OK) {
        return 98;
    }
    sluice_dataset_close(dataset);
    return (int)result.bad;
}

static void make(char folder[256])
{
    temporary_directory(folder, 256);
    packed_make(folder, &(packed_options){.samples = 3, .classes = 2, .raw_every = 2});
}

static void make_long(const char *path, uint64_t bytes)
{
    assert_int_equal(truncate(path, (off_t)bytes), 0);
}

/* Keeps the metadata's fields and appends as many classes without names as fit. */
static void give_empty_classes(file_bytes *shard, uint64_t meta_bytes)
{
    const size_t meta = get64(shard, SHARD_META_OFFSET_AT);
    const size_t used = META_HEAD + FIELDS * FIELD_ROW;
    const uint64_t names = meta_bytes - used;
    put32(shard, meta + 4, (uint32_t)names);
    put64(shard, meta + 8, names);
    uint8_t *whole = mmap(NULL, meta_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(whole != MAP_FAILED);
    memcpy(whole, shard->data + meta, used);
    put64(shard, 88, XXH3_64bits(whole, meta_bytes));
    assert_int_equal(munmap(whole, meta_bytes), 0);
    put64(shard, 24, meta + meta_bytes);
    put64(shard, SHARD_META_BYTES_AT, meta_bytes);
    seal_header(shard);
    file_store(shard, meta + used);
    make_long(shard->path, meta + meta_bytes);
}

TEST(names_that_are_not_there_cost_nothing)
{
    char folder[256];
    file_bytes shard;
    make(folder);
    file_load(&shard, folder, "shard-000000.sluice");
    give_empty_classes(&shard, META_MOST); /* more classes than allowed */
    assert_int_equal(in_child(look_at_dataset, shard.path), -SLUICE_UNSUPPORTED);
    give_empty_classes(&shard, META_MOST / 32); /* more classes without a name */
    assert_int_equal(in_child(look_at_dataset, shard.path), -SLUICE_UNSUPPORTED);
    give_empty_classes(&shard, META_HEAD + FIELDS * FIELD_ROW + 1000); /* unused labels */
    assert_int_equal(in_child(look_at_dataset, shard.path), SLUICE_OK);
    file_free(&shard);
    remove_tree(folder);
}

TEST(rows_that_are_not_there_cost_nothing)
{
    char folder[256];
    file_bytes manifest;
    const uint64_t shards = 1 << 25;
    make(folder);
    file_load(&manifest, folder, "manifest.sluice");
    const uint64_t rows = get64(&manifest, 56);
    const uint64_t meta_bytes = get64(&manifest, 80);
    const uint64_t meta = PAGE + shards * 64;
    put64(&manifest, 24, meta + meta_bytes);
    put64(&manifest, 32, shards); /* samples */
    put64(&manifest, 48, shards);
    put64(&manifest, 56, shards * 64);
    put64(&manifest, 72, meta);
    put64(&manifest, 96, shards); /* source samples */
    seal_header(&manifest);
    file_store(&manifest, PAGE + 64); /* one good row */
    make_long(manifest.path, meta);
    const int fd = open(manifest.path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, manifest.data + PAGE + rows, meta_bytes, (off_t)meta), meta_bytes);
    assert_int_equal(close(fd), 0);
    assert_int_equal(in_child(look_at_dataset, folder), -SLUICE_CORRUPT);
    file_free(&manifest);
    remove_tree(folder);
}

TEST(a_picture_that_is_not_there_costs_nothing)
{
    photo_folder photos;
    char path[600];
    photo_folder_make(&photos, 2, 2);
    photo_folder_file(&photos, 1, path, sizeof(path));
    make_long(path, (uint64_t)1 << 36);
    assert_int_equal(in_child(count_findings, photos.path), 1);
    photo_folder_remove(&photos);
}
