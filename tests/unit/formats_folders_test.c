/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognition of folders by their contents: a row for each kind. Images are never opened, so they
 * are empty here; test_folders.py checks that the files found are read correctly.
 */
#include "dataset.h"
#include "formats.h"
#include "photo_folder.h"
#include "splits.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static char root[256];

/* Makes an array of 2 rows of 2 bytes. */
static void make_npy(const char *path)
{
    static const char text[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), }";
    uint8_t file[132];
    memset(file, ' ', sizeof(file));
    static const uint8_t head[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0};
    memcpy(file, head, sizeof(head));
    memcpy(file + sizeof(head), text, sizeof(text) - 1);
    file[127] = '\n';
    write_file(path, file, sizeof(file));
}

/* Makes an index of one sequence of 2 tokens of 1 byte, and its data. */
static void make_pair(const char *path)
{
    char bin[600];
    uint8_t file[34 + 4 + 8 + 16] = "MMIDIDX\0\0";
    file[9] = 1;  /* version */
    file[17] = 1; /* u8 */
    file[18] = 1; /* sequences */
    file[26] = 2; /* documents */
    file[34] = 2; /* tokens */
    file[54] = 1;
    write_file(path, file, sizeof(file));
    (void)snprintf(bin, sizeof(bin), "%.*s.bin", (int)(strlen(path) - 4), path);
    write_file(bin, "ab", 2);
}

static void make_coco(const char *path)
{
    static const char text[] = "{\"images\": [{\"id\": 1, \"file_name\": \"1.jpg\"}]}";
    write_file(path, text, sizeof(text) - 1);
}

/* The contents depend on the name's ending; a name ending with '/' is a folder. */
static void make(const char *name)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(path, 0777) == 0 || errno == EEXIST);
        *slash = '/';
    }
    const char *dot = strrchr(path, '.');
    if (path[strlen(path) - 1] == '/') {
        return;
    }
    if (dot != NULL && strcasecmp(dot, ".npy") == 0) {
        make_npy(path);
    } else if (dot != NULL && strcmp(dot, ".idx") == 0) {
        make_pair(path);
    } else if (dot != NULL && strcmp(dot, ".json") == 0) {
        make_coco(path);
    } else if (dot != NULL && strcmp(dot, ".csv") == 0) {
        write_file(path, "path,label\n1.jpg,3\n", 19);
    } else {
        write_file(path, "1", 1);
    }
}

typedef struct row {
    const char *files;          /* separated by blanks */
    const char *format, *words; /* format and words of its kind; or NULL and words of the error */
    uint64_t samples;
} row;

static const row rows[] = {
    {"", NULL, "empty", 0},
    {"a.log b.txt", NULL, "2 files (a.log, b.txt)", 0},
    {"x/ y/z", NULL, "2 folders (x, y)", 0},
    {"a.npy", "npy", "", 2},
    {"a.NPY README.md notes.txt x.json~ LICENSE", "npy", "", 2},
    {"a.npy b.npy", "npy", "", 4},
    {"a.npy .b.npy", "npy", "", 2},
    {"a_train.npy a_val.npy", NULL, "different splits", 0},
    {"a_train.npy b_train.npy", "npy", "", 4},
    {"a.npy x/", NULL, "1 folder (x)", 0},
    {"a.npy __MACOSX/ @eaDir/", "npy", "", 2},
    {"x/a.npy", NULL, "\"x\" (npy): open that", 0},
    {"x/a.npy y/b.idx", NULL, "\"x\" (npy), \"y\" (megatron)", 0},
    {"a.idx", "megatron", "", 1},
    {"a.idx b.idx", "megatron", "", 2},
    {"a.idx b.npy", NULL, "\"npy\" and one of \"megatron\" (b.npy; a.idx)", 0},
    {"a.npy b.tar", NULL, "\"tar\" and one of \"npy\" (b.tar; a.npy)", 0},
    {"a.npy b.parquet", NULL, "\"parquet\" and one of \"npy\"", 0},
    {"a.npy 1.jpg", NULL, "\"folder\" and one of \"npy\" (1.jpg; a.npy)", 0},
    {"a.csv", "table", "", 1},
    {"a.csv b.csv", NULL, "several tables, and only one can be opened", 0},
    {"a.csv a.npy", NULL, "\"table\" and one of \"npy\"", 0},
    {"1.jpg a.csv", "table", "", 1},
    {"1.jpg a.json", "coco", "", 1},
    {"1.jpg a.json b.json", NULL, "several files of COCO annotations", 0},
    {"annotations/instances_x.json annotations/captions_x.json x/1.jpg", NULL,
     "annotations/captions_x.json (captions), annotations/instances_x.json (boxes and classes)", 0},
    {"annotations/instances_x.json x/1.jpg", "coco", "", 1},
    {"images/1.jpg a.json", "coco", "", 1},
    {"cat/1.jpg dog/1.jpg a.json", "folder", "class folders", 2},
    {"1.jpg 2.png", "folder", "without labels", 2},
    {"1.jpg 2.jpg 1.txt", "folder", "unpacked WebDataset", 2},
    {"1.jpg 2.jpg 3.jpg 1.txt", "folder", "without labels", 3},
    {"1.jpg 2.jpg 3.jpg a.txt b.txt c.txt", "folder", "without labels", 3},
    {"1.jpg 1.txt 2.txt", "folder", "without 1 other files (2.txt)", 1},
    {"1.jpg 1.npy 1.cls", "folder", "unpacked WebDataset", 1},
    {"1.npy 1.cls 2.npy 2.cls", "folder", "unpacked WebDataset", 2},
    {"1.flac 1.txt", "folder", "unpacked WebDataset", 1},
    {"1.c 1.h", NULL, "no dataset in it", 0},
    {"0/1.jpg 0/1.txt 1/2.jpg 1/2.txt", "folder", "unpacked WebDataset", 2},
    {"a/1.jpg a/1.txt b/2.jpg b/2.txt", "folder", "class folders", 2},
    {"a/1.jpg a/1.cls b/2.jpg b/2.cls", "folder", "unpacked WebDataset", 2},
    {"p-7/1.jpg p-7/1.txt p-8/2.jpg p-8/2.txt", "folder", "unpacked WebDataset", 2},
    {"n7/1.jpg n7/1.txt n9999/2.jpg n9999/2.txt", "folder", "class folders", 2},
    {"class-0/1.jpg class-0/1.txt class-1/2.jpg class-1/2.txt", "folder", "class folders", 2},
    {"a0/1.jpg a0/1.txt b1/2.jpg b1/2.txt", "folder", "class folders", 2},
    {"a/1.jpg a/1.txt", "folder", "unpacked WebDataset", 1},
    {"00/1.jpg 00/1.txt 01/2.jpg 01/2.txt 00.parquet 01.parquet", "folder", "unpacked", 2},
    {"00/1.jpg 00/1.txt 00.parquet x.parquet", NULL, "contains Parquet files and the folder \"00\"",
     0},
    {"a/1.jpg b/2.jpg", "folder", "class folders", 2},
    {"a/1.jpg", "folder", "one class folder", 1},
    {"a/1.jpg b/2.jpg x.jpg", "folder", "without the 1 beside them (x.jpg)", 2},
    {"a/1.jpg x.jpg", NULL, "would be skipped", 0},
    {"train/a/1.jpg train/b/1.jpg val/a/1.jpg", NULL, "splits, not classes (train, val)", 0},
    {"Train/1.jpg TEST_2/2.jpg", NULL, "splits, not classes", 0},
    {"train/1.jpg bus/2.jpg", "folder", "class folders", 2},
    {"train/1.jpg", NULL, "a split, which would be their only class", 0},
    {"train/1.jpg holdout/1.jpg", NULL, "splits, not classes (holdout, train)", 0},
    {"extra/1.jpg holdout/1.jpg", "folder", "class folders", 2},
    {"cat/1.jpg", "folder", "one class folder", 1},
    {"x/a/1.jpg x/b/2.jpg", NULL,
     "\"x\", which would be a single class, but contains 2 image folders", 0},
    {"x/y/a/1.jpg x/y/b/2.jpg", NULL, "\"x/y\"", 0},
    {"x/a/1.jpg x/b/2.jpg x/3.jpg", "folder", "one class folder", 3},
};

static void check_row(const row *r)
{
    char names[256];
    char *rest = names;
    sluice_error error = SLUICE_ERROR_INIT;
    sl_dataset *dataset = NULL;
    temporary_directory(root, sizeof(root));
    (void)snprintf(names, sizeof(names), "%s", r->files);
    for (const char *name = strtok_r(names, " ", &rest); name != NULL;
         name = strtok_r(NULL, " ", &rest)) {
        make(name);
    }
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    const char *path = root;
    const sluice_status status = sl_dataset_open(&dataset, &path, 1, &options, &error);
    remove_tree(root);
    if (r->format == NULL) {
        if (status != SLUICE_INVALID || strstr(error.text, r->words) == NULL) {
            fail_msg("%s: not \"%s\" but %d, %s", r->files, r->words, status, error.text);
        }
        assert_null(dataset);
        assert_non_null(strstr(error.file, root));
        return;
    }
    if (status != SLUICE_OK) {
        fail_msg("%s: %s", r->files, error.text);
    }
    if (strcmp(dataset->info.format, r->format) != 0 || strstr(dataset->kind, r->words) == NULL ||
        dataset->info.samples != r->samples) {
        fail_msg("%s: %s, %s, %llu samples", r->files, dataset->info.format, dataset->kind,
                 (unsigned long long)dataset->info.samples);
    }
    sl_dataset_close(dataset);
}

TEST(folders_of_every_kind)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_row(&rows[i]);
    }
}

TEST(words_of_splits)
{
    assert_int_equal(sl_split_of("x_train.npy"), SL_SPLIT_TRAIN);
    assert_int_equal(sl_split_of("TestSet"), SL_SPLIT_TEST);
    assert_int_equal(sl_split_of("VAL2017"), SL_SPLIT_VALIDATION);
    assert_int_equal(sl_split_of("dev-00"), SL_SPLIT_VALIDATION);
    assert_int_equal(sl_split_of("latest.npy"), SL_SPLIT_NONE);
    assert_int_equal(sl_split_of("trainer"), SL_SPLIT_NONE);
    assert_int_equal(sl_split_of(""), SL_SPLIT_NONE);
    assert_true(sl_split_is("train") && sl_split_is("val2017") && sl_split_is("Test_01"));
    assert_true(sl_split_is_part("trainA") && sl_split_is_part("fold_1") &&
                sl_split_is_part("val2017") && sl_split_is_part("test"));
    assert_false(sl_split_is_part("fold") || sl_split_is_part("trainers") ||
                 sl_split_is_part("train set") || sl_split_is_part("class1") ||
                 sl_split_is_part(""));
    assert_true(sl_split_is_beside("hold-out") && sl_split_is_beside("PublicTest"));
    assert_false(sl_split_is_beside("extra large") || sl_split_is_beside("1") ||
                 sl_split_is_beside(""));
    assert_false(sl_split_is("train_a") || sl_split_is("x_train") || sl_split_is(""));
}
