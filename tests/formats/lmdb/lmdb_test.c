/* SPDX-License-Identifier: Apache-2.0 */
/* Tests LMDB files made by hand, sound and damaged. python/tests/test_lmdb.py checks that files
 * written by liblmdb are read as liblmdb reads them. */
#include "dataset_checks.h"
#include "datum.h"
#include "lmdb_make.h"
#include "lmdb_page.h"
#include "photo_folder.h"
#include "test.h"

#include <sluice/dataset.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROOM = 70000, BIG = 700 };

static char root[256];
static char path[300];
static int memory = -1;
static uint8_t value[ROOM], read_back[ROOM];

/* A file that is in no folder, since the test writes thousands of them in turn. */
static void save(const lmdb_file *file, size_t bytes)
{
    assert_int_equal(ftruncate(memory, 0), 0);
    assert_int_equal(pwrite(memory, file->data, bytes, 0), bytes);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
}

/* Checks that opening fails, and why. */
static void expect_refused(const lmdb_file *file, size_t bytes, sluice_status status,
                           const char *words)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = NULL;
    const char *at = path;
    save(file, bytes);
    assert_int_equal(sluice_dataset_open(&dataset, &at, 1, NULL, &error), status);
    assert_null(dataset);
    if (strstr(error.text, words) == NULL || strstr(error.file, "/fd/") == NULL) {
        fail_msg("\"%s\" is not in: %s (%s)", words, error.text, error.file);
    }
}

static uint64_t samples_of(const sluice_dataset *dataset)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_string_equal(info.format, "lmdb");
    return info.samples;
}

static void expect_key(const sluice_dataset *dataset, uint64_t index, const char *key)
{
    sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
    assert_int_equal(sluice_dataset_get_sample(dataset, index, &info, NULL), SLUICE_OK);
    assert_string_equal(info.key, key);
}

/*
 * Page 2 is a branch, 3 and 4 are leaves: a has 5 bytes, b has BIG from page 5 on, c has none, d
 * has 9. The last page is free.
 */
static void make_two_leaves(lmdb_file *file, uint32_t page_bytes)
{
    const uint32_t apart = (16 + BIG + page_bytes - 1) / page_bytes;
    lmdb_begin(file, page_bytes, 6 + apart);
    lmdb_meta(file, 1, 7, &(lmdb_tree){.depth = 2, .entries = 4, .root = 2});
    lmdb_page(file, 2, LMDB_BRANCH);
    lmdb_child(file, 2, "", 3);
    lmdb_child(file, 2, "c", 4);
    lmdb_page(file, 3, LMDB_LEAF);
    lmdb_put(file, 3, "a", value, 5);
    lmdb_put_apart(file, 3, "b", 5, value, BIG);
    lmdb_page(file, 4, LMDB_LEAF);
    lmdb_put(file, 4, "c", value, 0);
    lmdb_put(file, 4, "d", value + 1, 9);
}

static void check_two_leaves(const sluice_dataset *dataset)
{
    assert_int_equal(samples_of(dataset), 4);
    dataset_expect_bytes(dataset, 0, "data", value, 5);
    dataset_expect_bytes(dataset, 1, "data", value, BIG);
    dataset_expect_bytes(dataset, 2, "data", value, 0);
    dataset_expect_bytes(dataset, 3, "data", value + 1, 9);
}

TEST(entries_in_the_order_of_keys)
{
    static const uint32_t sizes[] = {512, 4096, 16384, 32768};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        lmdb_file file;
        make_two_leaves(&file, sizes[i]);
        (void)snprintf(path, sizeof(path), "%s/data.mdb", root);
        write_file(path, file.data, (uint32_t)lmdb_size(&file));
        for (int folder = 0; folder < 2; folder++) {
            sluice_dataset *dataset = dataset_opened(folder ? root : path);
            check_two_leaves(dataset);
            expect_key(dataset, 0, "a");
            expect_key(dataset, 1, "b");
            expect_key(dataset, 3, "d");
            sluice_dataset_close(dataset);
        }
        lmdb_free(&file);
    }
}

/* A folder whose path leaves no space for its file's name. */
TEST(a_path_that_is_too_long)
{
    enum { PATH_MOST = 4095 };
    static char longest[PATH_MOST + 1];
    lmdb_file file;
    make_two_leaves(&file, 4096);
    (void)snprintf(path, sizeof(path), "%s/data.mdb", root);
    write_file(path, file.data, (uint32_t)lmdb_size(&file));
    lmdb_free(&file);
    for (size_t bytes = PATH_MOST - 16; bytes <= PATH_MOST; bytes++) {
        sluice_dataset *dataset = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        memset(longest, '/', bytes);
        memcpy(longest, root, strlen(root));
        longest[bytes] = '\0';
        const char *const paths[] = {root, longest};
        assert_int_equal(sluice_dataset_open(&dataset, paths, 2, NULL, &error),
                         bytes + strlen("/data.mdb") > PATH_MOST ? SLUICE_INVALID : SLUICE_OK);
        sluice_dataset_close(dataset);
    }
}

/* The file may be shorter than it claims if the missing pages are free. */
TEST(every_truncation)
{
    lmdb_file file;
    make_two_leaves(&file, 512);
    const size_t needed = (size_t)5 * 512 + 16 + BIG;
    for (size_t bytes = 0; bytes < lmdb_size(&file); bytes++) {
        sluice_error error = SLUICE_ERROR_INIT;
        sluice_dataset *dataset = NULL;
        const char *at = path;
        save(&file, bytes);
        const sluice_status status = sluice_dataset_open(&dataset, &at, 1, NULL, &error);
        assert_int_equal(status == SLUICE_OK, bytes >= needed);
        assert_true(status == SLUICE_OK || error.text[0] != '\0');
        if (status == SLUICE_OK) {
            check_two_leaves(dataset);
            sluice_dataset_close(dataset);
        } else if (bytes >= 152) { /* recognized by its first page */
            assert_int_equal(status, SLUICE_CORRUPT);
        }
    }
    lmdb_free(&file);
}

/* Reading the damaged file fails or returns bytes of the file. */
static void read_damaged(const lmdb_file *file)
{
    sluice_dataset *dataset = NULL;
    const char *name = path;
    size_t bytes = 0;
    save(file, lmdb_size(file));
    if (sluice_dataset_open(&dataset, &name, 1, NULL, NULL) != SLUICE_OK) {
        return;
    }
    const uint64_t samples = samples_of(dataset);
    assert_true(samples <= 4);
    for (uint64_t k = 0; k < samples; k++) {
        const sluice_status status =
            sluice_dataset_read(dataset, k, "data", read_back, sizeof(read_back), &bytes, NULL);
        assert_true(status <= SLUICE_OK);
        assert_true(bytes <= 2 * 512 - 16); /* within the pages of its value */
    }
    sluice_dataset_close(dataset);
}

TEST(every_byte_damaged)
{
    static const uint8_t flips[] = {0x01, 0x80};
    lmdb_file file;
    make_two_leaves(&file, 512);
    for (size_t at = 0; at < (size_t)5 * 512 + 16; at += TEST_AMOUNTS(1, 3, 41)) {
        for (size_t i = 0; i < sizeof(flips); i++) {
            file.data[at] ^= flips[i];
            read_damaged(&file);
            file.data[at] ^= flips[i];
        }
    }
    lmdb_free(&file);
}

static void put16(uint8_t *at, unsigned number)
{
    at[0] = (uint8_t)number;
    at[1] = (uint8_t)(number >> 8);
}

static void expect_corrupt(lmdb_file *file, const char *words)
{
    expect_refused(file, lmdb_size(file), SLUICE_CORRUPT, words);
    lmdb_free(file);
    make_two_leaves(file, 512);
}

TEST(pages_that_are_wrong)
{
    lmdb_file file;
    make_two_leaves(&file, 512);
    put16(lmdb_at(&file, 4), 3);
    expect_corrupt(&file, "the wrong number");
    put16(lmdb_at(&file, 4) + 10, LMDB_LEAF | 0x20);
    expect_corrupt(&file, "neither a branch nor a leaf");
    put16(lmdb_at(&file, 4) + 12, 15);
    expect_corrupt(&file, "node table");
    put16(lmdb_at(&file, 4) + 14, 513);
    expect_corrupt(&file, "node table");
    put16(lmdb_at(&file, 4) + 16, 505); /* a node's head has 8 bytes */
    expect_corrupt(&file, "outside its page");
    put16(lmdb_at(&file, 4) + 16, 12);
    expect_corrupt(&file, "outside its page");
    uint32_t at = lmdb_put(&file, 4, "e", value, 10);
    lmdb_claim(&file, 4, at, 400);
    expect_corrupt(&file, "value extends beyond its page");
    at = lmdb_put(&file, 4, "e", value, 10);
    put16(lmdb_at(&file, 4) + at + 6, 500);
    expect_corrupt(&file, "key extends beyond its page");
    lmdb_node(&file, 4, 8, "e", value, 10);
    expect_corrupt(&file, "flags are unknown");
    lmdb_put(&file, 4, "e", value, 10);
    expect_corrupt(&file, "more entries than its header says");
    lmdb_free(&file);
}

TEST(trees_that_are_wrong)
{
    lmdb_file file;
    uint32_t at;
    make_two_leaves(&file, 512);
    lmdb_child(&file, 2, "e", 2); /* to itself */
    expect_corrupt(&file, "a page is in the wrong place");
    lmdb_child(&file, 2, "e", 3); /* twice */
    expect_corrupt(&file, "a page is in the wrong place");
    lmdb_child(&file, 2, "e", 1); /* a meta page */
    expect_corrupt(&file, "outside the file");
    lmdb_child(&file, 2, "e", UINT64_C(0xffffffffffff));
    expect_corrupt(&file, "outside the file");
    lmdb_child(&file, 2, "e", 5); /* a value */
    expect_corrupt(&file, "neither a branch nor a leaf");
    lmdb_meta(&file, 1, 7, &(lmdb_tree){.depth = 3, .entries = 4, .root = 2});
    expect_corrupt(&file, "a page is in the wrong place");
    lmdb_meta(&file, 1, 7, &(lmdb_tree){.depth = 33, .entries = 4, .root = 2});
    expect_corrupt(&file, "depth or size");
    lmdb_meta(&file, 1, 7, &(lmdb_tree){.depth = 2, .entries = 4, .root = UINT64_MAX - 1});
    expect_corrupt(&file, "outside the file");
    lmdb_meta(&file, 1, 7, &(lmdb_tree){.entries = 4, .root = UINT64_MAX});
    expect_corrupt(&file, "depth or size");
    lmdb_meta(&file, 1, 7, &(lmdb_tree){.depth = 2, .entries = UINT64_MAX, .root = 2});
    expect_corrupt(&file, "it has 4 entries");
    /* values in pages that do not exist */
    lmdb_claim(&file, 4, lmdb_node(&file, 4, LMDB_NODE_APART, "e", "\5\0\0\0\0\0\0", 8), 5000);
    expect_corrupt(&file, "beyond the end of the file");
    lmdb_node(&file, 4, LMDB_NODE_APART, "e", "\0\0\0\0\0\0\0\x80", 8);
    expect_corrupt(&file, "beyond the end of the file");
    at = lmdb_node(&file, 4, LMDB_NODE_APART, "e", "\7\0\0\0\0\0\0", 8);
    lmdb_claim(&file, 4, at, UINT32_MAX);
    expect_corrupt(&file, "beyond the end of the file");
    lmdb_free(&file);
}

/* Sets the last page number in both meta pages. */
static void claim_last_page(lmdb_file *file, uint64_t number)
{
    for (uint32_t meta = 0; meta < 2; meta++) {
        for (int i = 0; i < 8; i++) {
            lmdb_at(file, meta)[136 + i] = (uint8_t)(number >> (8 * i));
        }
    }
}

/* A tree whose branches refer to one another 2^31 times: each page is read once, however many pages
 * the file claims to have. */
TEST(a_tree_that_has_no_end)
{
    static const uint64_t claims[] = {39, UINT64_C(1) << 50, UINT64_MAX - 1};
    lmdb_file file;
    lmdb_begin(&file, 512, 40);
    lmdb_meta(&file, 1, 1, &(lmdb_tree){.depth = 32, .entries = UINT64_C(1) << 31, .root = 2});
    for (uint32_t i = 2; i < 33; i++) {
        lmdb_page(&file, i, LMDB_BRANCH);
        lmdb_child(&file, i, "", i + 1);
        lmdb_child(&file, i, "a", i + 1);
    }
    lmdb_page(&file, 33, LMDB_LEAF);
    lmdb_put(&file, 33, "a", value, 5);
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        claim_last_page(&file, claims[i]);
        expect_refused(&file, lmdb_size(&file), SLUICE_CORRUPT, "a page is in the wrong place");
    }
    lmdb_free(&file);
}

TEST(meta_pages_that_are_wrong)
{
    lmdb_file file;
    make_two_leaves(&file, 512);
    put16(lmdb_at(&file, 1) + 16, 0);
    expect_corrupt(&file, "not a meta page");
    put16(lmdb_at(&file, 0) + 40, 600);
    expect_corrupt(&file, "page size");
    put16(lmdb_at(&file, 0) + 40, 0);
    expect_corrupt(&file, "page size");
    put16(lmdb_at(&file, 1) + 40, 1024);
    expect_corrupt(&file, "different page sizes");
    put16(lmdb_at(&file, 0) + 20, 2);
    expect_refused(&file, lmdb_size(&file), SLUICE_UNSUPPORTED, "version");
    lmdb_meta(&file, 0, 0, &(lmdb_tree){.root = UINT64_MAX});
    memmove(file.data + 12, file.data + 16, 4); /* page numbers of 32 bits */
    memset(file.data + 16, 1, 4);
    expect_refused(&file, lmdb_size(&file), SLUICE_UNSUPPORTED, "32-bit");
    memcpy(file.data + 16, "\xbe\xef\xc0\xde", 4);
    expect_refused(&file, lmdb_size(&file), SLUICE_UNSUPPORTED, "big-endian");
    lmdb_free(&file);
    lmdb_begin(&file, 512, 2);
    expect_refused(&file, lmdb_size(&file), SLUICE_INVALID, "no sample");
    lmdb_free(&file);
}

TEST(the_later_transaction_counts)
{
    lmdb_file file;
    make_two_leaves(&file, 512);
    lmdb_meta(&file, 0, 8, &(lmdb_tree){.depth = 1, .entries = 2, .root = 4});
    save(&file, lmdb_size(&file));
    sluice_dataset *dataset = dataset_opened(path);
    assert_int_equal(samples_of(dataset), 2);
    expect_key(dataset, 0, "c");
    sluice_dataset_close(dataset);
    lmdb_free(&file);
}

TEST(named_databases)
{
    lmdb_file file;
    const lmdb_tree named = {.depth = 2, .entries = 4, .root = 2};
    make_two_leaves(&file, 4096);
    lmdb_page(&file, 6, LMDB_LEAF);
    lmdb_put_tree(&file, 6, "train", &named);
    lmdb_meta(&file, 1, 7, &(lmdb_tree){.depth = 1, .entries = 1, .root = 6});
    save(&file, lmdb_size(&file));
    sluice_dataset *dataset = dataset_opened(path);
    check_two_leaves(dataset);
    sluice_dataset_close(dataset);
    lmdb_put(&file, 6, "zebra", value, 4);
    lmdb_meta(&file, 1, 7, &(lmdb_tree){.depth = 1, .entries = 2, .root = 6});
    expect_refused(&file, lmdb_size(&file), SLUICE_UNSUPPORTED, "named databases (\"train\")");
    lmdb_page(&file, 6, LMDB_LEAF);
    lmdb_node(&file, 6, LMDB_NODE_TREE, "train", value, 47);
    lmdb_meta(&file, 1, 7, &(lmdb_tree){.depth = 1, .entries = 1, .root = 6});
    expect_refused(&file, lmdb_size(&file), SLUICE_CORRUPT, "named database is damaged");
    lmdb_page(&file, 6, LMDB_LEAF);
    lmdb_put_tree(&file, 6, "t", &(lmdb_tree){.flags = 4, .depth = 2, .entries = 4, .root = 2});
    expect_refused(&file, lmdb_size(&file), SLUICE_UNSUPPORTED, "MDB_DUPSORT");
    lmdb_page(&file, 6, LMDB_LEAF);
    lmdb_node(&file, 6, LMDB_NODE_SEVERAL, "t", value, 5);
    expect_refused(&file, lmdb_size(&file), SLUICE_UNSUPPORTED, "MDB_DUPSORT");
    lmdb_free(&file);
}

/* Nodes that were entries when the file was opened. */
TEST(files_that_change)
{
    lmdb_file file;
    size_t bytes;
    sluice_error error = SLUICE_ERROR_INIT;
    make_two_leaves(&file, 512);
    save(&file, lmdb_size(&file));
    sluice_dataset *dataset = dataset_opened(path);
    check_two_leaves(dataset);
    lmdb_page(&file, 3, LMDB_LEAF); /* another leaf in its place */
    lmdb_put(&file, 3, "abc", value, 30);
    lmdb_page(&file, 5, LMDB_LEAF); /* and one in place of the value */
    save(&file, lmdb_size(&file));
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(
            sluice_dataset_read(dataset, i, "data", read_back, sizeof(read_back), &bytes, &error),
            SLUICE_CORRUPT);
        assert_non_null(strstr(error.text, "modified since it was opened"));
        assert_int_equal(error.sample, (int64_t)i);
    }
    sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
    assert_true(sluice_dataset_get_sample(dataset, 0, &info, &error) < 0);
    expect_key(dataset, 3, "d");
    sluice_dataset_close(dataset);
    lmdb_free(&file);
}

/* The value's pages state their number, too. */
TEST(a_value_longer_than_its_pages)
{
    lmdb_file file;
    size_t bytes;
    lmdb_begin(&file, 512, 7);
    lmdb_meta(&file, 1, 1, &(lmdb_tree){.depth = 1, .entries = 1, .root = 2});
    lmdb_page(&file, 2, LMDB_LEAF);
    const uint32_t node = lmdb_put_apart(&file, 2, "a", 3, value, 600);
    for (int longer = 0; longer < 2; longer++) {
        lmdb_claim(&file, 2, node, longer ? 2 * 512 - 15 : 2 * 512 - 16);
        save(&file, lmdb_size(&file));
        sluice_dataset *dataset = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        const char *at = path;
        sluice_status status = sluice_dataset_open(&dataset, &at, 1, NULL, &error);
        if (status == SLUICE_OK) {
            status = sluice_dataset_read(dataset, 0, "data", read_back, sizeof(read_back), &bytes,
                                         &error);
        }
        assert_int_equal(status, longer ? SLUICE_CORRUPT : SLUICE_OK);
        sluice_dataset_close(dataset);
    }
    lmdb_free(&file);
}

/* ---- text recognition ---- */

static const char jpeg[] = "\xff\xd8\xff\xe0 some picture";

static void make_texts(lmdb_file *file, const char *const *labels, uint32_t count)
{
    lmdb_begin(file, 4096, 5);
    lmdb_meta(file, 1, 1, &(lmdb_tree){.depth = 1, .entries = 4 + count, .root = 2});
    lmdb_page(file, 2, LMDB_LEAF);
    lmdb_put(file, 2, "image-000000001", jpeg, sizeof(jpeg));
    lmdb_put(file, 2, "image-000000002", jpeg, sizeof(jpeg));
    lmdb_put(file, 2, "image-000000004", jpeg, sizeof(jpeg));
    for (uint32_t i = 0; i < count; i++) {
        lmdb_put(file, 2, labels[i], labels[i] + 13, 2);
    }
    lmdb_put(file, 2, "num-samples", "4", 1);
}

/* More than 2^31 - 1 bytes: not a sample, and no memory is allocated. */
TEST(a_value_that_is_too_large)
{
    lmdb_file file;
    size_t bytes = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    lmdb_begin(&file, 4096, 5);
    lmdb_meta(&file, 1, 1, &(lmdb_tree){.depth = 1, .entries = 2, .root = 2});
    lmdb_page(&file, 2, LMDB_LEAF);
    lmdb_put(&file, 2, "a", value, 5);
    lmdb_claim(&file, 2, lmdb_put_apart(&file, 2, "b", 3, value, 4000), 1U << 31);
    claim_last_page(&file, 1U << 20);
    save(&file, lmdb_size(&file));
    assert_int_equal(ftruncate(memory, INT64_C(3) << 30), 0); /* sparse */
    sluice_dataset *dataset = dataset_opened(path);
    assert_int_equal(samples_of(dataset), 2);
    dataset_expect_bytes(dataset, 0, "data", value, 5);
    assert_int_equal(
        sluice_dataset_read(dataset, 1, "data", read_back, sizeof(read_back), &bytes, &error),
        SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "more than 2^31 - 1 bytes"));
    assert_int_equal(error.sample, 1);
    sluice_dataset_close(dataset);
    lmdb_free(&file);
}

TEST(images_with_their_texts)
{
    lmdb_file file;
    static const char *const labels[] = {"label-000000001", "label-000000003", "label-000000004"};
    make_texts(&file, labels, 3);
    save(&file, lmdb_size(&file));
    sluice_dataset *dataset = dataset_opened(path);
    assert_int_equal(samples_of(dataset), 3);
    assert_non_null(strstr(sluice_dataset_describe(dataset), "1 other entries"));
    dataset_expect_bytes(dataset, 1, "image", jpeg, sizeof(jpeg));
    dataset_expect_bytes(dataset, 0, "label", "01", 2);
    dataset_expect_bytes(dataset, 1, "label", "", 0); /* it has no label */
    dataset_expect_bytes(dataset, 2, "label", "04", 2);
    expect_key(dataset, 2, "image-000000004");
    sluice_dataset_close(dataset);
    lmdb_free(&file);
}

TEST(images_without_texts)
{
    lmdb_file file;
    static const char *const others[] = {"photo-000000001"};
    make_texts(&file, others, 1);
    save(&file, lmdb_size(&file));
    sluice_dataset *dataset = dataset_opened(path);
    assert_int_equal(samples_of(dataset), 4);
    dataset_expect_bytes(dataset, 3, "data", "01", 2);
    expect_key(dataset, 3, "photo-000000001");
    sluice_dataset_close(dataset);
    lmdb_free(&file);
}

TEST(texts_that_are_wrong)
{
    lmdb_file file;
    static const char *const labels[] = {"label-000000004", "image-000000005"};
    make_texts(&file, labels, 2);
    expect_refused(&file, lmdb_size(&file), SLUICE_CORRUPT, "out of order");
    lmdb_free(&file);
    make_texts(&file, labels, 1);
    lmdb_put_apart(&file, 2, "label-000000005", 3, value, 2000); /* of no image */
    lmdb_meta(&file, 1, 1, &(lmdb_tree){.depth = 1, .entries = 6, .root = 2});
    save(&file, lmdb_size(&file));
    sluice_dataset_close(dataset_opened(path));
    lmdb_free(&file);
    /* one value as the label of many */
    make_texts(&file, NULL, 0);
    for (uint32_t i = 0; i < 3; i++) {
        char key[20];
        (void)snprintf(key, sizeof(key), "label-00000000%u", i == 2 ? 4 : i + 1);
        lmdb_put_apart(&file, 2, key, 3, value, 8000);
    }
    lmdb_meta(&file, 1, 1, &(lmdb_tree){.depth = 1, .entries = 7, .root = 2});
    expect_refused(&file, lmdb_size(&file), SLUICE_CORRUPT, "larger than the file");
    lmdb_free(&file);
}

/* ---- Datums ---- */

static sl_refusal parse(sl_datum *datum, const char *bytes, size_t size)
{
    return sl_datum_parse(datum, (sl_bytes){(const uint8_t *)bytes, size});
}

#define PARSE(datum, text) parse(datum, text, sizeof(text) - 1)
#define IS_DATUM(text)     sl_is_datum((sl_bytes){(const uint8_t *)(text), sizeof(text) - 1})

TEST(datums)
{
    sl_datum datum;
    assert_null(PARSE(&datum, "\x08\x02\x10\x01\x18\x03\x22\x06"
                              "abcdef\x28\x07\x38\x00")
                    .text);
    assert_true(datum.pixels && datum.labelled && !datum.encoded && !datum.floats);
    assert_int_equal(datum.shape[0], 2);
    assert_int_equal(datum.shape[2], 3);
    assert_int_equal(datum.label, 7);
    assert_memory_equal(datum.data.data, "abcdef", datum.data.size);
    assert_null(PARSE(&datum, "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").text);
    assert_int_equal(datum.label, -1);
    assert_null(PARSE(&datum, "").text);
    assert_false(datum.pixels || datum.labelled);
    assert_null(PARSE(&datum, "\x22\x04\xff\xd8\xff\xe0").text); /* a file, by its bytes */
    assert_true(datum.encoded);
    /* sizes whose product only matches the bytes modulo 2^64 */
    assert_null(PARSE(&datum, "\x08\x80\x80\x80\x80\x04\x10\x80\x80\x80\x80\x04\x18\x10\x22\x01"
                              "a")
                    .text);
    assert_false(datum.pixels);
    assert_non_null(PARSE(&datum, "\x22\x07"
                                  "abcdef")
                        .text);
    assert_non_null(PARSE(&datum, "\x20\x07").text);
    assert_non_null(PARSE(&datum, "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").text);
    assert_true(IS_DATUM("\x22\x04\xff\xd8\xff\xe0\x38\x01"));
    assert_true(IS_DATUM("\x35\0\0\x80\x3f"));
    assert_true(IS_DATUM("\x32\x04\0\0\x80\x3f"));
    assert_false(IS_DATUM("\x22\x04\xff\xd8\xff\xe0\x40\x01")); /* another field */
    assert_false(IS_DATUM("\x22\x04"
                          "abcd"));
    assert_false(IS_DATUM(""));
}

TEST(datums_of_pixels)
{
    lmdb_file file;
    sluice_field field = SLUICE_FIELD_INIT;
    sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
    size_t bytes;
    lmdb_begin(&file, 4096, 3);
    lmdb_meta(&file, 1, 1, &(lmdb_tree){.depth = 1, .entries = 66, .root = 2});
    lmdb_page(&file, 2, LMDB_LEAF);
    for (uint32_t i = 0; i < 66; i++) {
        char key[4];
        /* the image that is not examined has other pixels than its shape implies */
        static const char good[] = "\x08\x01\x10\x01\x18\x02\x22\x02"
                                   "ab\x28\x03";
        static const char bad[] = "\x08\x01\x10\x01\x18\x02\x22\x03"
                                  "abc\x28\x03";
        (void)snprintf(key, sizeof(key), "%02u", i);
        lmdb_put(&file, 2, key, i == 32 ? bad : good, i == 32 ? 13 : 12);
    }
    save(&file, lmdb_size(&file));
    sluice_dataset *dataset = dataset_opened(path);
    assert_int_equal(sluice_dataset_get_field(dataset, 0, &field), SLUICE_OK);
    assert_string_equal(field.name, "data");
    assert_int_equal(field.dims, 3);
    assert_int_equal(field.shape[2], 2);
    dataset_expect_bytes(dataset, 65, "data", "ab", 2);
    assert_int_equal(sluice_dataset_get_sample(dataset, 65, &info, NULL), SLUICE_OK);
    assert_int_equal(info.label, 3);
    assert_int_equal(
        sluice_dataset_read(dataset, 32, "data", read_back, sizeof(read_back), &bytes, NULL),
        SLUICE_CORRUPT);
    sluice_dataset_close(dataset);
    lmdb_free(&file);
}

static int make_root(void **state)
{
    for (size_t i = 0; i < sizeof(value); i++) {
        value[i] = (uint8_t)(i * 7 + i / 256);
    }
    temporary_directory(root, sizeof(root));
    memory = memfd_create("lmdb", MFD_CLOEXEC);
    return memory < 0;
}

static int remove_root(void **state)
{
    remove_tree(root);
    return close(memory);
}

TEST_GROUP(make_root, remove_root)
