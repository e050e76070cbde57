/* SPDX-License-Identifier: Apache-2.0 */
/* Tests MDS with bytes written here according to its description: heads of arrays, a shard with its
 * index.json, hashes, and the same damaged at every byte. python/tests/test_mds.py tests other
 * encodings against another writer. */
#include "array_head.h"
#include "checksum.h"
#include "index_json.h"
#include "little_endian.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD ((size_t)4 * (SAMPLES + 2))

enum { SAMPLES = 3, ROOM = 4096, PATH = 512 };

/* ---- heads of arrays ---- */

static sl_refusal parse(sl_array *array, sl_array_head head, const void *bytes, size_t size)
{
    /* exactly that size: a sanitizer detects an extra byte */
    uint8_t *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    const sl_refusal refusal = sl_array_parse(array, head, (sl_bytes){copy, size});
    free(copy);
    return refusal;
}

/* 2 x 3 of int16: the head of each kind, before the same 12 bytes. */
static const struct {
    sl_array_head head;
    const char *bytes;
    size_t size;
} heads[] = {
    {SL_ARRAY_MDS_SHAPE, "\x08\x02\x03", 3},
    {SL_ARRAY_MDS_SHAPE, "\x09\x02\0\x03\0", 5},
    {SL_ARRAY_MDS_SHAPE, "\x0a\x02\0\0\0\x03\0\0\0", 9},
    {SL_ARRAY_MDS_SHAPE, "\x0b\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0", 17},
    {SL_ARRAY_MDS, "\x11\x08\x02\x03", 4},
    {SL_ARRAY_TORCH, "\0\0\0\x0e\0\0\0\x02\0\0\0\x02\0\0\0\x03", 16},
    {SL_ARRAY_TORCH, "\x0d\0\0\0\x02\0\0\0\x02\0\0\0\x03\0\0\0", 16},
    {SL_ARRAY_NUMPY, "\x01\0\0\0\x02\0\0\0\x02\0\0\0\x03\0\0\0", 16},
};

TEST(heads_are_parsed)
{
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        uint8_t bytes[40] = {0};
        memcpy(bytes, heads[i].bytes, heads[i].size);
        const size_t size = heads[i].size + 12;
        sl_array array = {.dtype = SLUICE_I16};
        assert_null(parse(&array, heads[i].head, bytes, size).text);
        assert_int_equal(array.dtype, SLUICE_I16);
        assert_int_equal(array.dims, 2);
        assert_int_equal(array.shape[0], 2);
        assert_int_equal(array.shape[1], 3);
        assert_int_equal(array.data, heads[i].size);
        for (size_t cut = 0; cut < size; cut++) {
            assert_non_null(parse(&array, heads[i].head, bytes, cut).text);
        }
        assert_non_null(parse(&array, heads[i].head, bytes, size + 1).text);
    }
}

TEST(heads_of_no_sense_are_refused)
{
    sl_array array = {.dtype = SLUICE_U8};
    /* products that wrap around, to 0 and to the actual size */
    assert_non_null(
        parse(&array, SL_ARRAY_MDS_SHAPE, "\x0b\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0", 17).text);
    assert_non_null(
        parse(&array, SL_ARRAY_NUMPY, "\x04\0\0\0\x02\0\0\0\0\0\0\x80\x02\0\0\0", 16).text);
    assert_non_null(parse(&array, SL_ARRAY_NUMPY, "\x0b\0\0\0\0\0\0\0", 8).text); /* complex64 */
    assert_non_null(parse(&array, SL_ARRAY_NUMPY, "\xff\xff\xff\xff\0\0\0\0", 8).text);
    assert_non_null(parse(&array, SL_ARRAY_TORCH, "\0\0\0\x04\0\0\0\0", 8).text);
    assert_non_null(parse(&array, SL_ARRAY_TORCH, "\0\0\0\x0b\xff\xff\xff\xff", 8).text);
    assert_non_null(parse(&array, SL_ARRAY_MDS, "\x07\x04\x01x", 4).text);
    /* no dimensions, and one */
    assert_null(parse(&array, SL_ARRAY_NUMPY, "\x04\0\0\0\x01\0\0\0\0\0\0\0", 12).text);
    assert_int_equal(array.shape[0], 0);
    assert_null(parse(&array, SL_ARRAY_TORCH, "\0\0\0\0\0\0\0\0abcd", 12).text);
    assert_int_equal(array.dims, 0);
    assert_int_equal(array.dtype, SLUICE_F32);
}

TEST(dtypes_have_their_numbers)
{
    sluice_dtype dtype;
    assert_true(sl_array_torch_dtype(10, &dtype));
    assert_int_equal(dtype, SLUICE_BF16);
    assert_true(sl_array_torch_dtype(18, &dtype));
    assert_int_equal(dtype, SLUICE_I64);
    assert_true(sl_array_torch_dtype(20, &dtype));
    assert_int_equal(dtype, SLUICE_U16);
    assert_false(sl_array_torch_dtype(21, &dtype));
    assert_true(sl_array_numpy_dtype(10, &dtype));
    assert_int_equal(dtype, SLUICE_F64);
    assert_true(sl_array_numpy_dtype(13, &dtype));
    assert_int_equal(dtype, SLUICE_BOOL);
    assert_false(sl_array_numpy_dtype(14, &dtype));
    assert_true(sl_array_mds_dtype("float16:3", 7, &dtype));
    assert_int_equal(dtype, SLUICE_F16);
    assert_false(sl_array_mds_dtype("float16", 6, &dtype));
}

/* ---- a shard ---- */

/* Columns "label" (int) and "text" (str): sample i has label i and i letters. */
static size_t make_shard(uint8_t *to)
{
    size_t at = HEAD;
    sl_store32(to, SAMPLES);
    to[at++] = '{'; /* settings, which are not read */
    to[at++] = '}';
    for (uint32_t i = 0; i < SAMPLES; i++) {
        sl_store32(to + 4 + (size_t)4 * i, (uint32_t)at);
        sl_store32(to + at, i);
        sl_store64(to + at + 4, i);
        memset(to + at + 12, 'a', i);
        at += 12 + i;
    }
    sl_store32(to + HEAD - 4, (uint32_t)at);
    return at;
}

static void write_index(size_t bytes, uint64_t hash)
{
    char text[ROOM];
    const int size = snprintf(
        text, sizeof(text),
        "{\"shards\": [{\"column_encodings\": [\"int\", \"str\"], \"column_names\": [\"label\", "
        "\"text\"], \"column_sizes\": [8, null], \"compression\": null, \"format\": \"mds\", "
        "\"hashes\": [], \"raw_data\": {\"basename\": \"a.mds\", \"bytes\": %zu, \"hashes\": "
        "{\"xxh3_64\": \"%016llx\"}}, \"samples\": %d, \"version\": 2, \"zip_data\": null}], "
        "\"version\": 2}",
        bytes, (unsigned long long)hash, SAMPLES);
    write_file(test_path("index.json"), text, (uint32_t)size);
}

static sluice_dataset *open_root(sluice_error *error)
{
    sluice_dataset *dataset = NULL;
    const char *path = test_folder();
    (void)!sluice_dataset_open(&dataset, &path, 1, NULL, error);
    return dataset;
}

static int64_t label_of(const sluice_dataset *dataset, uint64_t index, sluice_status *status)
{
    int64_t label = -1;
    size_t size = 0;
    *status = sluice_dataset_read(dataset, index, "label", &label, sizeof(label), &size, NULL);
    return label;
}

TEST_WITH(samples_are_read, test_folder_make, test_folder_remove)
{
    uint8_t shard[ROOM];
    char text[8];
    size_t size = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    const size_t bytes = make_shard(shard);
    write_file(test_path("a.mds"), shard, (uint32_t)bytes);
    write_index(bytes, sl_checksum(shard, bytes));
    sluice_dataset *dataset = open_root(&error);
    assert_non_null(dataset);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        sluice_status status;
        assert_int_equal(label_of(dataset, i, &status), i);
        assert_int_equal(status, SLUICE_OK);
        assert_int_equal(sluice_dataset_read(dataset, i, "text", text, sizeof(text), &size, &error),
                         SLUICE_OK);
        assert_int_equal(size, i);
    }
    sluice_dataset_close(dataset);
}

static uint64_t bad_by_verify(const sluice_dataset *dataset)
{
    sluice_verify_options options = {.struct_size = sizeof(options), .workers = 1};
    sluice_verify_result result = {.struct_size = sizeof(result)};
    (void)!sluice_dataset_verify(dataset, &options, &result, NULL);
    return result.bad;
}

/* The hash covers bytes that no sample checks: a changed label is invisible to its sample. */
TEST_WITH(hashes_are_verified, test_folder_make, test_folder_remove)
{
    uint8_t shard[ROOM];
    const size_t bytes = make_shard(shard);
    const uint64_t hash = sl_checksum(shard, bytes);
    for (int damaged = 0; damaged < 2; damaged++) {
        shard[bytes - 10] ^= (uint8_t)damaged; /* in the last label */
        write_file(test_path("a.mds"), shard, (uint32_t)bytes);
        write_index(bytes, hash);
        sluice_dataset *dataset = open_root(NULL);
        assert_non_null(dataset);
        assert_int_equal(bad_by_verify(dataset), damaged);
        sluice_dataset_close(dataset);
    }
    write_index(bytes, 0); /* a hash like any other */
    sluice_dataset *dataset = open_root(NULL);
    assert_int_equal(bad_by_verify(dataset), 1);
    sluice_dataset_close(dataset);
}

/* ---- raw pixels of Pillow images ---- */

enum {
    LENGTH_AT = 8,
    MODE_AT = 12,
    PIXELS_AT = 15,
    WIDE = 2,
    HIGH = 3,
    PIXELS_BYTES = WIDE * HIGH * 3
};

/* Writes a dataset of one sample with `value` in its only column, "image" (pil). */
static void write_pil(const uint8_t *value, uint32_t bytes)
{
    enum { AT = 12 }; /* the sample starts after the table of offsets */
    uint8_t shard[256] = {0};
    char text[1024];
    const uint32_t end = AT + 4 + bytes;
    assert_true(end <= sizeof(shard));
    sl_store32(shard, 1);
    sl_store32(shard + 4, AT);
    sl_store32(shard + 8, end);
    sl_store32(shard + AT, bytes);
    memcpy(shard + AT + 4, value, bytes);
    write_file(test_path("a.mds"), shard, end);
    const int size = snprintf(
        text, sizeof(text),
        "{\"shards\": [{\"column_encodings\": [\"pil\"], \"column_names\": [\"image\"], "
        "\"column_sizes\": [null], \"compression\": null, \"format\": \"mds\", \"hashes\": [], "
        "\"raw_data\": {\"basename\": \"a.mds\", \"bytes\": %u, \"hashes\": {}}, \"samples\": 1, "
        "\"version\": 2, \"zip_data\": null}], \"version\": 2}",
        end);
    write_file(test_path("index.json"), text, (uint32_t)size);
}

static sluice_status decode_pil(const uint8_t *value, uint32_t bytes, uint8_t pixels[PIXELS_BYTES])
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_pixels image = SLUICE_PIXELS_INIT;
    image.buffer = pixels;
    image.capacity = PIXELS_BYTES;
    write_pil(value, bytes);
    sluice_dataset *dataset = open_root(&error);
    assert_non_null(dataset);
    const sluice_status status = sluice_dataset_decode(dataset, 0, "image", &image, NULL);
    assert_true(status != SLUICE_OK || (image.width == WIDE && image.height == HIGH));
    sluice_dataset_close(dataset);
    return status;
}

/* A value has the width, the height, the length of the mode's name, the name, and the pixels. Modes
 * other than RGB are not supported. */
TEST_WITH(pixels_of_pillow, test_folder_make, test_folder_remove)
{
    uint8_t pixels[PIXELS_BYTES];
    uint8_t value[PIXELS_AT + PIXELS_BYTES + 1] = {WIDE, 0, 0, 0, HIGH, 0, 0, 0, 3, 0, 0, 0};
    memcpy(value + MODE_AT, "RGB", 3);
    for (uint32_t i = 0; i <= PIXELS_BYTES; i++) {
        value[PIXELS_AT + i] = (uint8_t)(10 * i);
    }
    assert_int_equal(decode_pil(value, PIXELS_AT + PIXELS_BYTES, pixels), SLUICE_OK);
    assert_memory_equal(pixels, value + PIXELS_AT, PIXELS_BYTES);
    assert_int_equal(decode_pil(value, PIXELS_AT + PIXELS_BYTES + 1, pixels), SLUICE_CORRUPT);
    for (uint32_t cut = 0; cut < PIXELS_AT + PIXELS_BYTES; cut++) {
        assert_int_equal(decode_pil(value, cut, pixels), SLUICE_CORRUPT);
    }
    value[MODE_AT] = 'H';
    assert_int_equal(decode_pil(value, PIXELS_AT + PIXELS_BYTES, pixels), SLUICE_UNSUPPORTED);
    value[LENGTH_AT] = 1; /* the length of "L" */
    assert_int_equal(decode_pil(value, MODE_AT + 1, pixels), SLUICE_UNSUPPORTED);
    value[LENGTH_AT] = 0; /* an empty name: the value may end here */
    assert_int_equal(decode_pil(value, MODE_AT, pixels), SLUICE_UNSUPPORTED);
    assert_int_equal(decode_pil(value, MODE_AT - 1, pixels), SLUICE_CORRUPT);
}

/* Every byte of the table and of a sample's sizes: an error with a reason, or samples that are
 * inside the file. */
TEST_WITH(every_byte_may_be_wrong, test_folder_make, test_folder_remove)
{
    uint8_t shard[ROOM];
    const size_t bytes = make_shard(shard);
    write_index(bytes, 0);
    for (size_t at = 0; at < bytes; at++) {
        for (int bit = 0; bit < 8; bit += 7) {
            sluice_error error = SLUICE_ERROR_INIT;
            shard[at] ^= (uint8_t)(1 << bit);
            write_file(test_path("a.mds"), shard, (uint32_t)bytes);
            shard[at] ^= (uint8_t)(1 << bit);
            sluice_dataset *dataset = open_root(&error);
            assert_true(dataset != NULL || (error.status == SLUICE_CORRUPT && error.text[0] != 0));
            for (uint64_t i = 0; dataset != NULL && i < SAMPLES; i++) {
                sluice_status status;
                (void)label_of(dataset, i, &status);
                assert_true(status == SLUICE_OK || status == SLUICE_CORRUPT);
            }
            sluice_dataset_close(dataset);
        }
    }
}

/* ---- what an index.json is ---- */

static bool is_list_of(const char *path, const char *list)
{
    sl_look look;
    sl_look_begin(&look, path);
    return sl_index_json_probe(&look, list);
}

TEST_WITH(indexes_are_told_apart, test_folder_make, test_folder_remove)
{
    static const struct {
        const char *text;
        bool shards, chunks;
    } texts[] = {
        {"{\"shards\": [], \"version\": 2}", true, false},
        {"{\"chunks\" :\n[{\"filename\": \"shards\"}]}", false, true},
        {"{\"version\": 2, \"shards\":[{\"column_names\": [\"chunks\"]}]}", true, false},
        {"{\"chunks\": [], \"shards\": []}", false, true},
        {"{\"shards\": 5, \"chunks\": {}}", false, false},
        {"\"shards\"", false, false},
        {"", false, false},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        write_file(test_path("index.json"), texts[i].text, (uint32_t)strlen(texts[i].text));
        assert_int_equal(is_list_of(test_folder(), "shards"), texts[i].shards);
        assert_int_equal(is_list_of(test_folder(), "chunks"), texts[i].chunks);
        assert_int_equal(is_list_of(test_path("index.json"), "shards"), texts[i].shards);
    }
    write_file(test_path("index.txt"), texts[0].text, (uint32_t)strlen(texts[0].text));
    assert_false(is_list_of(test_path("index.txt"), "shards"));
    assert_false(is_list_of(test_path("nothing.json"), "shards"));
}

TEST_WITH(files_lie_below_their_index, test_folder_make, test_folder_remove)
{
    static const char *const outside[] = {"/etc/passwd", "..", "../a", "a/../../b"};
    char path[SL_PATH_BYTES];
    sl_index_json index = {.path = "/x/index.json"};
    assert_int_equal(sl_boundary_open(&index.boundary, test_folder(), "", NULL), SLUICE_OK);
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        assert_int_equal(sl_index_json_file(&index, outside[i], path, NULL), SLUICE_INVALID);
    }
    assert_int_equal(sl_index_json_file(&index, "", path, NULL), SLUICE_CORRUPT);
    assert_int_equal(sl_index_json_file(&index, NULL, path, NULL), SLUICE_CORRUPT);
    assert_int_equal(sl_index_json_file(&index, "a/../b", path, NULL), SLUICE_OK);
    assert_int_equal(sl_index_json_file(&index, "p/..a", path, NULL), SLUICE_OK);
    assert_string_equal(path, "/x/p/..a");
    (void)snprintf(index.path, sizeof(index.path), "index.json");
    assert_int_equal(sl_index_json_file(&index, "a", path, NULL), SLUICE_OK);
    assert_string_equal(path, "a");
    sl_index_json_close(&index);
    assert_int_equal(sl_index_json_file(&index, "/etc/passwd", path, NULL), SLUICE_OK);
    assert_string_equal(path, "/etc/passwd");
}
