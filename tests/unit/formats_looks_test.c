/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Store operations of opening a dataset, counted (tests/support/store_fault.h): over a network each
 * request is a round trip. A file costs at most two opens and three stats, even if other files are
 * looked for beside it; a folder of files costs one list and one open of each. Arguments: datasets,
 * in folders named after the rows below; formats_faults.py makes one of each format.
 */
#include "store_fault.h"

#include <sluice/sluice.h>

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPENS = 2, STATS = 3, MANY = 1000, FILE_BYTES_MAX = 64 << 10, PATH_BYTES = 512 };

/* The maximum for a dataset, including all files that are looked for. More than OPENS and STATS
 * needs a reason; a single file never exceeds them. */
typedef struct allowed {
    const char *name;
    uint32_t opens, stats, lists;
    const char *reason; /* NULL: a file, within the limits */
} allowed;

static const allowed rows[] = {
    {"shards", 3, 3, 0, "a folder: its manifest, and the shard in it"},
    {"folder", 6, 40, 3, "a folder: each format looks for its files by name"},
    {"unpacked", 7, 37, 2, "a folder: each format looks for its files by name"},
    {"tar", 1, 3, 0, "2 stats are of an index beside it (.sluice-index, .idx)"},
    {"tar_gz", 1, 4, 0, "1 stat is of an index beside it (.sluice-index)"},
    {"tar_zst", 1, 4, 0, "1 stat is of an index beside it (.sluice-index)"},
    {"wids", 2, 4, 0, "the list, and an archive in it with 2 stats of an index"},
    {"tfrecord", 1, 8, 0, "7 stats are of an index beside it, by the names that tools give it"},
    {"parquet", OPENS, STATS, 0, NULL},
    {"parquet_packed", OPENS, STATS, 0, NULL},
    {"arrow", OPENS, STATS, 0, NULL},
    {"arrow_file", OPENS, STATS, 0, NULL},
    {"mds", 6, 37, 1, "a folder: each format looks for its files by name"},
    {"mds_zstd", 8, 45, 1, "a folder: each format looks for its files by name"},
    {"mds_gz", 8, 45, 1, "a folder: each format looks for its files by name"},
    {"mds_br", 8, 45, 1, "a folder: each format looks for its files by name"},
    {"mds_snappy", 8, 45, 1, "a folder: each format looks for its files by name"},
    {"litdata", 6, 37, 1, "a folder: each format looks for its files by name"},
    {"litdata_zstd", 8, 43, 1, "a folder: each format looks for its files by name"},
    {"recordio", 2, 2, 0, "the index beside it is opened, too"},
    {"beton", OPENS, STATS, 0, NULL},
    {"lmdb", 3, 36, 1, "a folder: each format looks for its files by name"},
    {"npz", 5, 41, 1, "a folder: each format looks for its files by name"},
    {"npz_rows", 1, STATS, 0, NULL},
    {"npy", OPENS, STATS, 0, NULL},
    {"megatron", 2, 0, 0, "two files"},
    {"table", 4, 48, 1, "a folder: each format looks for its files by name"},
    {"lines", 4, 48, 1, "a folder: each format looks for its files by name"},
    {"coco", 1, 12, 1, "images are looked for beside it"},
    {"voc", 11, 88, 9, "a folder: each format looks for its files by name"},
    {"masks", 6, 35, 5, "a folder: each format looks for its files by name"},
    {"yolo", 15, 89, 6, "a folder: each format looks for its files by name"},
    {"yolo_list", 7, 23, 0, "a list: labels and annotations are looked for beside it"},
    {"voc_masks", 7, 58, 4, "a list: annotations and masks are looked for beside it"},
};

static uint32_t findings;

static store_fault_counts count_opening(const char *path)
{
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    const char *paths[] = {path};
    store_fault_arm(STORE_FAULT_NONE, 0);
    if (sluice_dataset_open(&dataset, paths, 1, NULL, &error) != SLUICE_OK) {
        (void)fprintf(stderr, "%s: %s\n", path, error.text);
        abort();
    }
    const store_fault_counts counts = store_fault_count_kinds();
    sluice_dataset_close(dataset);
    return counts;
}

/* True for small files of this suffix, which are copied. */
static bool is_to_copy(const char *path, const char *suffix)
{
    struct stat facts;
    const size_t bytes = strlen(path);
    const size_t length = strlen(suffix);
    return bytes > length && strcmp(path + bytes - length, suffix) == 0 &&
           stat(path, &facts) == 0 && facts.st_size < FILE_BYTES_MAX;
}

static void check(const char *name, const allowed *most, const store_fault_counts *counts)
{
    (void)printf("%s: %u opens, %u stats, %u lists\n", name, counts->opens, counts->stats,
                 counts->lists);
    if (counts->opens > most->opens || counts->stats > most->stats || counts->lists > most->lists) {
        (void)fprintf(stderr, "%s: allowed are %u opens, %u stats, %u lists\n", name, most->opens,
                      most->stats, most->lists);
        findings++;
    }
}

/* Finds the row named after a folder of the path. */
static const allowed *find_row(const char *path)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char folder[64];
        (void)snprintf(folder, sizeof(folder), "/%s/", rows[i].name);
        const size_t length = strlen(folder) - 1;
        const size_t bytes = strlen(path);
        if (strstr(path, folder) != NULL ||
            (bytes > length && strncmp(path + bytes - length, folder, length) == 0)) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Checks the cost of one file, regardless of the row's total. */
static void check_one(const char *path)
{
    static const allowed most = {"a file", OPENS, STATS, 0, NULL};
    struct stat facts;
    const char *local = path + strlen(STORE_FAULT_SCHEME);
    if (stat(local, &facts) == 0 && S_ISREG(facts.st_mode)) {
        const store_fault_counts counts = store_fault_count_of(path);
        check(local, &most, &counts);
    }
}

/* Checks the file that was opened, and a second one of the dataset: an archive of a list, an
 * index. */
static void check_files(const char *path)
{
    static const char *const suffixes[] = {".tar", ".idx"};
    char other[PATH_BYTES];
    const char *dot = strrchr(path, '.');
    check_one(path);
    for (size_t i = 0; dot != NULL && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        (void)snprintf(other, sizeof(other), "%.*s%s", (int)(dot - path), path, suffixes[i]);
        if (strcmp(other, path) != 0) {
            check_one(other);
        }
    }
}

static void check_dataset(const char *local)
{
    char path[PATH_BYTES];
    const allowed *row = find_row(local);
    (void)snprintf(path, sizeof(path), STORE_FAULT_SCHEME "%s", local);
    const store_fault_counts counts = count_opening(path);
    check_files(path);
    if (row == NULL) {
        (void)fprintf(stderr, "%s: no row says what it may cost\n", local);
        findings++;
        return;
    }
    check(row->name, row, &counts);
}

/* ---- a folder of many files ---- */

static size_t read_file(const char *path, uint8_t *bytes)
{
    FILE *file = fopen(path, "rb");
    assert(file != NULL);
    const size_t size = fread(bytes, 1, FILE_BYTES_MAX, file);
    assert(size < FILE_BYTES_MAX);
    (void)fclose(file);
    return size;
}

static void name_copy(char path[PATH_BYTES], const char *folder, int number, const char *suffix)
{
    (void)snprintf(path, PATH_BYTES, "%s/%05d%s", folder, number, suffix);
}

static void copy_file(const char *folder, const char *from, const char *suffix)
{
    static uint8_t bytes[FILE_BYTES_MAX];
    char path[PATH_BYTES];
    const size_t size = read_file(from, bytes);
    for (int i = 0; i < MANY; i++) {
        name_copy(path, folder, i, suffix);
        FILE *file = fopen(path, "wb");
        assert(file != NULL && fwrite(bytes, 1, size, file) == size);
        assert(fclose(file) == 0);
    }
}

/* One list, and one open of each file; the first open reveals that the path is a folder. */
static void check_many(const char *from, const char *suffix)
{
    const allowed most = {suffix, 1 + MANY, 50 + 3 * MANY, 1, "each file once"};
    char folder[] = "/tmp/sluice-looks-XXXXXX";
    char path[PATH_BYTES];
    assert(mkdtemp(folder) != NULL);
    copy_file(folder, from, suffix);
    (void)snprintf(path, sizeof(path), STORE_FAULT_SCHEME "%s", folder);
    const store_fault_counts counts = count_opening(path);
    check(suffix, &most, &counts);
    for (int i = 0; i < MANY; i++) {
        name_copy(path, folder, i, suffix);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

int main(int argc, char **argv)
{
    static const char *const suffixes[] = {".tar", ".parquet"};
    bool copied[2] = {false, false};
    assert(setenv("SLUICE_CACHE_DIR", "", 1) == 0);
    assert(argc > 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const bool is_more = rows[i].opens > OPENS || rows[i].stats > STATS || rows[i].lists > 0;
        assert(!is_more || rows[i].reason != NULL);
    }
    for (int i = 1; i < argc; i++) {
        check_dataset(argv[i]);
        for (size_t k = 0; k < 2; k++) {
            if (!copied[k] && is_to_copy(argv[i], suffixes[k])) {
                copied[k] = true;
                check_many(argv[i], suffixes[k]);
            }
        }
    }
    assert(copied[0] || copied[1]);
    return findings > 0;
}
