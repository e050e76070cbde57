/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a pack of compressed archives that stopped before the end of a damaged one and resumes
 * after its replacement: the samples from that archive are packed again, and nothing else. */
#include "formats.h"
#include "index_store.h"
#include "pack.h"
#include "pack_setup.h"
#include "photo_folder.h"
#include "tar_writer.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

/* Shards hold about 5 samples; workers read 64 ahead. */
enum { ARCHIVES = 2, SAMPLES = 200, SAMPLE_BYTES = 3000, SHARDS = 50 };

static char folder[64];
static char paths[ARCHIVES][80];

static void read_back(const char *path, uint8_t **bytes, size_t *size)
{
    FILE *file = fopen(path, "rb");
    struct stat facts;
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &facts), 0);
    *size = (size_t)facts.st_size;
    *bytes = malloc(*size);
    assert_non_null(*bytes);
    assert_int_equal(fread(*bytes, 1, *size, file), *size);
    assert_int_equal(fclose(file), 0);
}

/* An archive of `number`, stored by gzip: one flipped bit stays one flipped bit, with a wrong
 * checksum. */
static void make_archive(uint32_t number)
{
    char name[32];
    uint8_t sample[SAMPLE_BYTES];
    char plain[120];
    uint8_t *bytes;
    size_t size;
    uint32_t random = number;
    sl_tar_writer writer = {.fd = -1};
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(sl_tar_writer_open(&writer, NULL), SLUICE_OK);
    assert_int_equal(sl_tar_writer_begin(&writer, fd, folder, number, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        (void)snprintf(name, sizeof(name), "%u-%04u.bin", number, i);
        for (size_t k = 0; k < sizeof(sample); k++) {
            random = random * 1664525U + 1013904223U; /* incompressible */
            sample[k] = (uint8_t)(random >> 24);
        }
        assert_int_equal(sl_tar_writer_add(&writer, name, (sl_bytes){NULL, 0},
                                           (sl_bytes){sample, sizeof(sample)}, NULL),
                         SLUICE_OK);
    }
    assert_int_equal(sl_tar_writer_finish(&writer, NULL), SLUICE_OK);
    sl_tar_writer_close(&writer);
    assert_int_equal(close(fd), 0);
    (void)snprintf(plain, sizeof(plain), "%s/" SL_TAR_NAME_FORMAT, folder, number);
    (void)snprintf(paths[number], sizeof(paths[number]), "%s/%u.tar.gz", folder, number);
    read_back(plain, &bytes, &size);
    gzFile packed = gzopen(paths[number], "wb0");
    assert_non_null(packed);
    assert_int_equal(gzwrite(packed, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(packed), Z_OK);
    free(bytes);
    assert_int_equal(unlink(plain), 0);
}

static sl_dataset *open_archives(void)
{
    const char *given[ARCHIVES] = {paths[0], paths[1]};
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    sl_dataset *dataset = NULL;
    assert_int_equal(sl_dataset_open(&dataset, given, ARCHIVES, &options, NULL), SLUICE_OK);
    return dataset;
}

/* Puts the index that opening kept beside the file. It stays valid while size, times and ends
 * match. */
static void keep_index(uint32_t number, const char *cache)
{
    char command[600];
    (void)snprintf(command, sizeof(command), "mv %s/%u.tar.gz-* %s.sluice-index", cache, number,
                   paths[number]);
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): a glob of our own names
}

/* Changes the file in place and keeps its times, as bit rot and its repair do. */
static void flip(const char *path, off_t at)
{
    uint8_t byte;
    struct stat before;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(fstat(fd, &before), 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 16;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    assert_int_equal(futimens(fd, times), 0);
    assert_int_equal(close(fd), 0);
}

/* Stops within the second archive. `user` is the folder of the shards. */
static int32_t stop_there(void *user)
{
    const char *out = user;
    return access(out, F_OK) == 0 && count_names(out, is_shard) >= SHARDS;
}

static void name_shard(char name[400], const char *path, uint32_t shard)
{
    (void)snprintf(name, 400, "%s/shard-%06u.sluice", path, shard);
}

/* A second link, so that no other file gets its inode. */
static void hold_shard(const char *path, uint32_t shard)
{
    char name[400];
    char other[440];
    name_shard(name, path, shard);
    (void)snprintf(other, sizeof(other), "%s/held-%u", folder, shard);
    assert_int_equal(link(name, other), 0);
}

static bool is_held(const char *path, uint32_t shard)
{
    char name[400];
    char other[440];
    struct stat one;
    struct stat two;
    name_shard(name, path, shard);
    (void)snprintf(other, sizeof(other), "%s/held-%u", folder, shard);
    assert_int_equal(stat(name, &one), 0);
    assert_int_equal(stat(other, &two), 0);
    return one.st_ino == two.st_ino;
}

static void what_was_made_of_it_is_made_again(void **state)
{
    char cache[100];
    char out[100];
    char whole[100];
    char manifest[140];
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_pack_result result;
    sluice_pack_options options = pack_options();
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(cache, sizeof(cache), "%s/cache", folder);
    (void)snprintf(out, sizeof(out), "%s/out", folder);
    (void)snprintf(whole, sizeof(whole), "%s/whole", folder);
    (void)snprintf(manifest, sizeof(manifest), "%s/manifest.sluice", out);
    assert_int_equal(setenv("SLUICE_CACHE_DIR", cache, 1), 0);
    for (uint32_t i = 0; i < ARCHIVES; i++) {
        make_archive(i);
    }
    sl_dataset_close(open_archives());
    for (uint32_t i = 0; i < ARCHIVES; i++) {
        keep_index(i, cache);
    }
    options.keep_order = 1;
    flip(paths[1], 60000);
    sl_dataset *dataset = open_archives();
    options.should_stop = stop_there;
    options.user = out;
    assert_int_equal(sl_pack(dataset, out, &options, NULL, &result, &error), SLUICE_CANCELED);
    const uint32_t there = count_names(out, is_shard);
    assert_int_equal(there, SHARDS);
    for (uint32_t i = 0; i < there; i++) {
        hold_shard(out, i);
    }
    /* Resumed without repair, it fails at the damage. */
    options.should_stop = NULL;
    assert_int_equal(sl_pack(dataset, out, &options, NULL, &result, &error), SLUICE_CORRUPT);
    assert_int_equal(error.sample, -1);
    assert_string_equal(error.file, paths[1]);
    assert_int_not_equal(access(manifest, F_OK), 0);
    sl_dataset_close(dataset);
    flip(paths[1], 60000);
    dataset = open_archives();
    assert_int_equal(sl_pack(dataset, out, &options, NULL, &result, &error), SLUICE_OK);
    assert_in_range(result.resumed_samples, SAMPLES - 10, SAMPLES);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < there; i++) {
        kept += is_held(out, i);
    }
    assert_true(kept > 0 && kept < there); /* only the shards of the first archive */
    assert_int_equal(sl_pack(dataset, whole, &options, NULL, &result, &error), SLUICE_OK);
    assert_true(folders_equal(out, whole));
    sl_dataset_close(dataset);
    remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_made_of_it_is_made_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
