/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_lmdb: any bytes as an LMDB file, as a Caffe Datum, and as a value to be examined. Input: one
 * byte (choice of format, and whether the file is also read as a dataset), then the bytes. Samples
 * must be in the file, values in their stored bytes, and a Datum's data in the Datum. */
#include "dataset_run.h"

#include "datum.h"
#include "lmdb_index.h"
#include "lmdb_make.h"
#include "lmdb_values.h"
#include "shard_format.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILE_WALKED, FILE_OPENED, DATUM, VALUE, MODES };

static void expect_inside(sl_bytes part, sl_bytes whole)
{
    fuzz_expect(part.size == 0 || (part.data >= whole.data && part.size <= whole.size &&
                                   part.data <= whole.data + (whole.size - part.size)),
                "a part lies in the whole");
}

static void run_datum(sl_bytes bytes)
{
    static const sl_lmdb_part parts[] = {SL_LMDB_DATUM_FILE, SL_LMDB_DATUM_PIXELS,
                                         SL_LMDB_DATUM_LABEL};
    const sl_field pixels = {.type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U8, .dims = 3};
    const sl_field file = {.type = SLUICE_FIELD_IMAGE};
    sl_datum datum;
    const sl_refusal why = sl_datum_parse(&datum, bytes);
    fuzz_expect(why.offset <= bytes.size, "a refusal points into the message");
    if (why.text != NULL) {
        fuzz_expect(!sl_is_datum(bytes), "a refused message is not a datum");
        return;
    }
    expect_inside(datum.data, bytes);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        sl_value value;
        const bool of_pixels = parts[i] == SL_LMDB_DATUM_PIXELS;
        if (sl_lmdb_datum_value(&datum, parts[i], of_pixels ? &pixels : &file, &value).text != NULL)
            continue;
        expect_inside(value.bytes, bytes);
        fuzz_expect(!of_pixels ||
                        value.shape[0] * value.shape[1] * value.shape[2] == value.bytes.size,
                    "pixels are as many as their shape says");
    }
}

static void run_value(sl_bytes bytes)
{
    static sl_lmdb_columns columns;
    const sl_field label = {.type = SLUICE_FIELD_TEXT};
    sl_lmdb_look look = {.values = 0};
    sl_lmdb_look_at(&look, bytes);
    for (int i = 0; i < 2; i++) {
        sl_lmdb_columns_make(&columns, &look, i == 0 ? NULL : &label);
        fuzz_expect(columns.count > 0 && columns.count <= SL_LMDB_COLUMNS_MAX, "there are columns");
        fuzz_expect(columns.words != NULL && columns.of[0].name[0] != '\0', "which have names");
    }
}

static void look_at_sample(const sl_lmdb_index *index, uint64_t number, sl_bytes file)
{
    sl_bytes value;
    sl_bytes key;
    const size_t bytes = index->places.bytes[number];
    const uint64_t offset = index->places.offsets[number];
    fuzz_expect(bytes <= file.size && offset <= file.size - bytes, "a sample lies in the file");
    uint8_t *copy = malloc(bytes); /* of exactly that size, for the sanitizer */
    fuzz_expect(copy != NULL, "memory");
    memcpy(copy, file.data + offset, bytes);
    const sl_bytes stored = {copy, bytes};
    if (sl_lmdb_value(stored, offset, index->page_bytes, &value).text == NULL) {
        expect_inside(value, stored);
        run_value(value);
    }
    free(copy);
    const sl_lmdb_leaf *leaf = sl_lmdb_index_leaf(index, number);
    const sl_bytes page = {file.data + leaf->page * index->page_bytes, index->page_bytes};
    fuzz_expect(sl_lmdb_index_key(index, leaf, page, number, &key).text == NULL,
                "each sample has a key");
    expect_inside(key, page);
}

static void walk(const char *path, sl_bytes file)
{
    sl_lmdb_index index;
    sl_side_columns labels = {.count = 0};
    sluice_error error = SLUICE_ERROR_INIT;
    const sl_field label = {.type = SLUICE_FIELD_TEXT};
    fuzz_expect(sl_side_columns_open(&labels, &label, 1, NULL) == SLUICE_OK, "memory");
    if (sl_lmdb_index_make(&index, path, &labels, &error) == SLUICE_OK) {
        fuzz_expect(labels.of[0].rows == (index.recognition ? index.places.samples : 0),
                    "each sample has its row of labels");
        for (uint64_t i = 0; i < index.places.samples; i++)
            look_at_sample(&index, i, file);
        sl_lmdb_index_close(&index);
    } else {
        fuzz_expect(error.status < 0 && error.text[0] != '\0', "a refusal has a reason");
        fuzz_expect(error.offset <= (int64_t)file.size, "and points into the file");
    }
    sl_side_columns_close(&labels);
}

static void run_file(sl_bytes file, bool open)
{
    char path[64];
    const int fd = memfd_create("lmdb", MFD_CLOEXEC);
    fuzz_expect(fd >= 0 && write(fd, file.data, file.size) == (ssize_t)file.size,
                "a file of memory");
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (open) {
        fuzz_dataset_run(path);
    } else {
        walk(path, file);
    }
    (void)close(fd);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    uint8_t *copy = malloc(size);
    fuzz_expect(copy != NULL, "memory");
    memcpy(copy, data + 1, size - 1);
    const sl_bytes bytes = {copy, size - 1};
    const uint8_t mode = data[0] % MODES;
    if (mode == DATUM) {
        run_datum(bytes);
    } else if (mode == VALUE) {
        run_value(bytes);
    } else { /* opening starts threads: done for few mutations only */
        run_file(bytes, mode == FILE_OPENED && data[size - 1] % 16 == 0);
    }
    free(copy);
    return 0;
}

/* ---- seeds ---- */

static const char datum[] = "\x08\x01\x10\x01\x18\x02\x22\x02"
                            "ab\x28\x03\x38\x00";
static const char photo[] = "\xff\xd8\xff\xe0 a picture";

/* A branch, two leaves, a value in separate pages, a named database. */
static void make_plain(lmdb_file *file)
{
    const lmdb_tree tree = {.depth = 2, .entries = 5, .root = 2};
    char big[600] = {0};
    lmdb_begin(file, 512, 9);
    lmdb_page(file, 2, LMDB_BRANCH);
    lmdb_child(file, 2, "", 3);
    lmdb_child(file, 2, "c", 4);
    lmdb_page(file, 3, LMDB_LEAF);
    lmdb_put(file, 3, "__len__", "3", 1);
    lmdb_put(file, 3, "a", datum, sizeof(datum) - 1);
    lmdb_put_apart(file, 3, "b", 5, big, sizeof(big));
    lmdb_page(file, 4, LMDB_LEAF);
    lmdb_put(file, 4, "c", datum, sizeof(datum) - 1);
    lmdb_put(file, 4, "d", datum, 0);
    lmdb_page(file, 7, LMDB_LEAF);
    lmdb_put_tree(file, 7, "train", &tree);
    lmdb_meta(file, 0, 2, &tree);
    lmdb_meta(file, 1, 3, &(lmdb_tree){.depth = 1, .entries = 1, .root = 7});
}

static void make_texts(lmdb_file *file)
{
    lmdb_begin(file, 512, 5);
    lmdb_page(file, 2, LMDB_LEAF);
    lmdb_put(file, 2, "image-01", photo, sizeof(photo));
    lmdb_put(file, 2, "image-02", photo, sizeof(photo));
    lmdb_put(file, 2, "image-03", photo, sizeof(photo));
    lmdb_put(file, 2, "label-01", "one", 3);
    lmdb_put_apart(file, 2, "label-03", 3, "three", 5);
    lmdb_put(file, 2, "num-samples", "3", 1);
    lmdb_meta(file, 1, 1, &(lmdb_tree){.depth = 1, .entries = 6, .root = 2});
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    lmdb_file file;
    if (index >= 6)
        return 0;
    buffer[0] = (uint8_t)(index % MODES);
    if (index == DATUM || index == VALUE) {
        memcpy(buffer + 1, datum, sizeof(datum) - 1);
        return sizeof(datum);
    }
    if (index < DATUM) {
        make_plain(&file);
    } else {
        make_texts(&file);
    }
    const size_t size = lmdb_size(&file);
    memcpy(buffer + 1, file.data, size);
    lmdb_free(&file);
    return 1 + size;
}
