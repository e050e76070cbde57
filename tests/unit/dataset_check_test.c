/* SPDX-License-Identifier: Apache-2.0 */
/* Checking a file, which may be large, ends when its caller cancels. */
#include "dataset.h"
#include "photo_folder.h"
#include "test.h"

#include <sluice/dataset.h>

#include <stdio.h>
#include <string.h>

static char *data; /* folder of fixtures */

static void count(void *ctx, const sluice_error *finding)
{
    (void)finding;
    ++*(int *)ctx;
}

/* Returns how much is read of a dataset's only file, expecting no findings or `findings`. */
static uint64_t bytes_read(const char *path, bool stopped, int findings)
{
    int found = 0;
    sluice_dataset *opened = NULL;
    atomic_bool stop;
    atomic_init(&stop, stopped);
    assert_int_equal(sluice_dataset_open(&opened, &path, 1, NULL, NULL), SLUICE_OK);
    const sl_dataset *dataset = (const sl_dataset *)(const void *)opened;
    sl_findings seen = {.report = count, .ctx = &found, .stop = &stop};
    assert_int_equal(dataset->checks->check_object(dataset, 0, &seen), SLUICE_OK);
    sluice_dataset_close(opened);
    assert_int_equal(found, findings);
    return seen.bytes_read;
}

TEST(pages_of_parquet)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/0.parquet", data);
    assert_true(bytes_read(path, false, 0) > 0);
    assert_int_equal(bytes_read(path, true, 0), 0);
}

/* One shard with a sample of 4 bytes and a wrong hash. */
TEST(hashes_of_mds)
{
    static const uint8_t shard[] = {1, 0, 0, 0, 12, 0, 0, 0, 16, 0, 0, 0, 'a', 'b', 'c', 'd'};
    static const char index[] =
        "{\"version\": 2, \"shards\": [{\"version\": 2, \"format\": \"mds\", \"samples\": 1, "
        "\"column_names\": [\"x\"], \"column_encodings\": [\"bytes\"], \"column_sizes\": [4], "
        "\"raw_data\": {\"basename\": \"a.mds\", \"bytes\": 16, \"hashes\": {\"xxh64\": \"12\"}}, "
        "\"zip_data\": null}]}";
    char folder[256];
    char path[300];
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/a.mds", folder);
    write_file(path, shard, sizeof(shard));
    (void)snprintf(path, sizeof(path), "%s/index.json", folder);
    write_file(path, index, sizeof(index) - 1);
    assert_int_equal(bytes_read(folder, false, 1), sizeof(shard));
    assert_int_equal(bytes_read(folder, true, 0), 0);
    remove_tree(folder);
}

/* One stored array in an archive with a wrong checksum. */
TEST(members_of_npz)
{
    char folder[256];
    char path[300];
    uint8_t npz[512];
    size_t size = 0;
    static const char head[] = "\x93NUMPY\x01\0\x76\0{'descr': '|u1', 'fortran_order': False, "
                               "'shape': (8,), }";
    static const uint8_t local[30] = {'P', 'K', 3, 4, 20, [18] = 136, [22] = 136, [26] = 5};
    static const uint8_t central[46] = {'P', 'K', 1,          2,          20,
                                        0,   20,  [20] = 136, [24] = 136, [28] = 5};
    static const uint8_t end[22] = {'P', 'K', 5, 6, [8] = 1, [10] = 1, [12] = 51, [16] = 171};
#define PUT(from, bytes)                 \
    do {                                 \
        memcpy(npz + size, from, bytes); \
        size += (bytes);                 \
    } while (0)
    PUT(local, sizeof(local));
    PUT("x.npy", 5);
    const size_t array = size;
    memset(npz + size, ' ', 128);
    memcpy(npz + size, head, sizeof(head) - 1);
    npz[size + 127] = '\n';
    size += 128;
    PUT("12345678", 8);
    assert_int_equal(size - array, 136);
    PUT(central, sizeof(central));
    PUT("x.npy", 5);
    PUT(end, sizeof(end));
#undef PUT
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/a.npz", folder);
    write_file(path, npz, (uint32_t)size);
    assert_int_equal(bytes_read(path, false, 1), 136);
    assert_int_equal(bytes_read(path, true, 0), 0);
    remove_tree(folder);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        return 2;
    }
    data = argv[1];
    return test_run(NULL, NULL);
}
