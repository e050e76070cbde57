/* SPDX-License-Identifier: Apache-2.0 */
/* Tests samples with any fields through the public interface: written, read back bit for bit, and
 * as columns of batches. */
#include "dataset_checks.h"
#include "jpeg_make.h"
#include "loader_setup.h"
#include "shard_bytes.h"
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LEFT, RIGHT, MATRIX, CAPTION, BLOB, CLASS, SCORE, TOKENS, FIELDS };
enum { SAMPLES = 150, SIDE = 24, ROOM = 1 << 16 };

static const struct {
    const char *name;
    sluice_field_type type;
    sluice_dtype dtype;
    uint32_t dims;
    int64_t shape[2];
} kinds[FIELDS] = {
    [LEFT] = {"left", SLUICE_FIELD_IMAGE},
    [RIGHT] = {"right", SLUICE_FIELD_IMAGE},
    [MATRIX] = {"matrix", SLUICE_FIELD_TENSOR, SLUICE_F32, 2, {3, 4}},
    [CAPTION] = {"caption", SLUICE_FIELD_TEXT},
    [BLOB] = {"blob", SLUICE_FIELD_BYTES},
    [CLASS] = {"class", SLUICE_FIELD_INT},
    [SCORE] = {"score", SLUICE_FIELD_FLOAT},
    [TOKENS] = {"tokens", SLUICE_FIELD_TENSOR, SLUICE_U16, 2, {0, 2}},
};

static void make_fields(sluice_field *fields)
{
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = (sluice_field)SLUICE_FIELD_INIT;
        (void)snprintf(fields[i].name, sizeof(fields[i].name), "%s", kinds[i].name);
        fields[i].type = (int32_t)kinds[i].type;
        fields[i].dtype = (int32_t)kinds[i].dtype;
        fields[i].dims = kinds[i].dims;
        memcpy(fields[i].shape, kinds[i].shape, sizeof(kinds[i].shape));
    }
}

/* Generates the contents of sample `number`; the same each time. */
typedef struct content {
    jpeg_file left;
    uint8_t right[SIDE * SIDE * 3];
    float matrix[12];
    char caption[80];
    size_t caption_bytes;
    uint8_t blob[512];
    size_t blob_bytes;
    int64_t class;
    double score;
    uint16_t tokens[200][2];
    size_t token_rows;
    bool has_caption, has_tokens, has_class;
} content;

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

static void content_make(content *c, uint32_t number)
{
    uint32_t seed = number + 1;
    memset(c, 0, sizeof(*c));
    c->left = jpeg_make_pattern(30 + number % 20, 25 + number % 9, number, NULL);
    for (size_t i = 0; i < sizeof(c->right); i++) {
        c->right[i] = (uint8_t)next_random(&seed);
    }
    for (size_t i = 0; i < 12; i++) {
        c->matrix[i] = (float)next_random(&seed) / 7 - 100;
    }
    c->caption_bytes =
        (size_t)snprintf(c->caption, sizeof(c->caption), "caption%c of %u", 0, number);
    c->blob_bytes = number % 3 == 0 ? 0 : (size_t)number * 37 % sizeof(c->blob);
    memset(c->blob, (int)number, c->blob_bytes);
    c->class = (int64_t)number * -1000000007;
    c->score = number / 3.0;
    c->token_rows = number * 7 % 200;
    for (size_t i = 0; i < c->token_rows * 2; i++) {
        c->tokens[i / 2][i % 2] = (uint16_t)next_random(&seed);
    }
    c->has_caption = number % 4 != 1;
    c->has_tokens = number % 5 != 2;
    c->has_class = number % 11 != 3;
}

static void content_free(content *c)
{
    jpeg_free(&c->left);
}

static sluice_status add(sluice_writer *writer, const content *c, sluice_error *error)
{
    sluice_value values[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        values[i] = (sluice_value)SLUICE_VALUE_INIT;
    }
    values[LEFT].data = c->left.data;
    values[LEFT].bytes = c->left.size;
    values[RIGHT].data = c->right;
    values[RIGHT].bytes = sizeof(c->right);
    values[RIGHT].raw_width = SIDE;
    values[RIGHT].raw_height = SIDE;
    values[MATRIX].data = c->matrix;
    values[MATRIX].bytes = sizeof(c->matrix);
    values[CAPTION].absent = !c->has_caption;
    values[CAPTION].data = c->caption;
    values[CAPTION].bytes = c->caption_bytes;
    values[BLOB].data = c->blob;
    values[BLOB].bytes = c->blob_bytes;
    values[CLASS].absent = !c->has_class;
    values[CLASS].integer = c->class;
    values[SCORE].number = c->score;
    values[TOKENS].absent = !c->has_tokens;
    values[TOKENS].data = c->tokens;
    values[TOKENS].bytes = c->token_rows * 4;
    return sluice_writer_add_values(writer, values, FIELDS, error);
}

static void write_all(const char *folder, int32_t zstd_level)
{
    sluice_field fields[FIELDS];
    sluice_writer *writer;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    make_fields(fields);
    options.fields = fields;
    options.field_count = FIELDS;
    options.zstd_level = zstd_level;
    options.keep_bytes = 1;
    options.overwrite = 1;
    assert_int_equal(sluice_writer_open(&writer, folder, &options, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        content c;
        content_make(&c, i);
        if (add(writer, &c, &error) != SLUICE_OK) {
            fail_msg("sample %u: %s", i, error.text);
        }
        content_free(&c);
    }
    assert_int_equal(sluice_writer_finish(writer, &error), SLUICE_OK);
}

static void expect_bytes(const sluice_dataset *dataset, uint64_t index, int field,
                         const void *expected, size_t size)
{
    static uint8_t got[ROOM];
    size_t bytes = 0;
    assert_int_equal(
        sluice_dataset_read(dataset, index, kinds[field].name, got, sizeof(got), &bytes, NULL),
        SLUICE_OK);
    assert_int_equal(bytes, size);
    assert_memory_equal(got, expected, size);
}

static void expect_sample(const sluice_dataset *dataset, uint64_t index, uint32_t number)
{
    content c;
    content_make(&c, number);
    expect_bytes(dataset, index, LEFT, c.left.data, c.left.size);
    expect_bytes(dataset, index, RIGHT, c.right, sizeof(c.right));
    expect_bytes(dataset, index, MATRIX, c.matrix, sizeof(c.matrix));
    expect_bytes(dataset, index, CAPTION, c.caption, c.has_caption ? c.caption_bytes : 0);
    expect_bytes(dataset, index, BLOB, c.blob, c.blob_bytes);
    expect_bytes(dataset, index, CLASS, &c.class, c.has_class ? sizeof(c.class) : 0);
    expect_bytes(dataset, index, SCORE, &c.score, sizeof(c.score));
    expect_bytes(dataset, index, TOKENS, c.tokens, c.has_tokens ? c.token_rows * 4 : 0);
    content_free(&c);
}

static uint64_t findings(const sluice_dataset *dataset)
{
    const sluice_verify_options options = {.struct_size = sizeof(options), .decode = 1};
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    assert_int_equal(sluice_dataset_verify(dataset, &options, &result, NULL), SLUICE_OK);
    return result.bad;
}

static void expect_fields(const sluice_dataset *dataset, const int32_t *compression)
{
    sluice_field field = SLUICE_FIELD_INIT;
    for (uint32_t i = 0; i < FIELDS; i++) {
        assert_int_equal(sluice_dataset_get_field(dataset, i, &field), SLUICE_OK);
        assert_string_equal(field.name, kinds[i].name);
        assert_int_equal(field.type, kinds[i].type);
        assert_int_equal(field.compression, compression[i]);
    }
    assert_int_equal(sluice_dataset_get_field(dataset, TOKENS, &field), SLUICE_OK);
    assert_int_equal(field.dtype, SLUICE_U16);
    assert_int_equal(field.dims, 2);
    assert_int_equal(field.shape[0], 0);
    assert_int_equal(field.shape[1], 2);
}

enum { NEVER = SLUICE_COMPRESSION_NEVER, ALWAYS = SLUICE_COMPRESSION_ALWAYS };

/* Without compression, at a fixed level, and automatically: the blobs, each of one value, compress
 * well. */
TEST(everything_comes_back)
{
    static const struct {
        int32_t level;
        int32_t compression[FIELDS];
    } ways[] = {
        {SLUICE_ZSTD_OFF, {NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER}},
        {7, {ALWAYS, ALWAYS, ALWAYS, ALWAYS, ALWAYS, NEVER, NEVER, ALWAYS}},
        {SLUICE_ZSTD_AUTO, {NEVER, NEVER, NEVER, NEVER, ALWAYS, NEVER, NEVER, NEVER}},
    };
    char folder[256];
    temporary_directory(folder, sizeof(folder));
    for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
        write_all(folder, ways[way].level);
        sluice_dataset *dataset = dataset_opened(folder);
        expect_fields(dataset, ways[way].compression);
        for (uint32_t i = 0; i < SAMPLES; i++) {
            expect_sample(dataset, i, i);
        }
        assert_int_equal(findings(dataset), 0);
        sluice_dataset_close(dataset);
    }
    remove_tree(folder);
}

/* Packed again in another order, with and without re-tiling images. */
TEST(packs_carry_all_fields_over)
{
    char folder[256];
    char packed[300];
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(packed, sizeof(packed), "%s/packed", folder);
    write_all(folder, SLUICE_ZSTD_AUTO);
    sluice_dataset *dataset = dataset_opened(folder);
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    sluice_pack_result result = SLUICE_PACK_RESULT_INIT;
    options.keep_bytes = 1;
    options.workers = 3;
    options.zstd_level = 2;
    assert_int_equal(sluice_pack(dataset, packed, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.samples, SAMPLES);
    sluice_dataset *again = dataset_opened(packed);
    uint32_t in_place = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        double score = 0;
        size_t bytes = 0;
        assert_int_equal(
            sluice_dataset_read(again, i, "score", &score, sizeof(score), &bytes, NULL), SLUICE_OK);
        const uint32_t number = (uint32_t)(score * 3 + 0.5);
        expect_sample(again, i, number);
        in_place += number == i;
    }
    assert_true(in_place < SAMPLES / 4);
    sluice_dataset_close(again);
    options.keep_bytes = 0;
    options.overwrite = 1;
    assert_int_equal(sluice_pack(dataset, packed, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.jpegs_retiled + result.jpegs_kept, SAMPLES);
    again = dataset_opened(packed);
    assert_int_equal(findings(again), 0);
    sluice_dataset_close(again);
    sluice_dataset_close(dataset);
    remove_tree(folder);
}

/* ---- columns of a loader ---- */

static void expect_row(sluice_batch *batch, const char *name, uint32_t row, const void *expected,
                       size_t bytes)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, name, &tensor), SLUICE_OK);
    assert_memory_equal((const uint8_t *)tensor.data + row * bytes, expected, bytes);
}

/* Checks a row of a ragged column; an element has `element` bytes. */
static void expect_ragged(sluice_batch *batch, const char *name, uint32_t row, const void *expected,
                          size_t bytes)
{
    char offsets_name[40];
    sluice_tensor values = SLUICE_TENSOR_INIT;
    sluice_tensor offsets = SLUICE_TENSOR_INIT;
    (void)snprintf(offsets_name, sizeof(offsets_name), "%s.offsets", name);
    assert_int_equal(sluice_batch_tensor(batch, name, &values), SLUICE_OK);
    assert_int_equal(sluice_batch_tensor(batch, offsets_name, &offsets), SLUICE_OK);
    const int64_t *at = offsets.data;
    assert_int_equal(at[row + 1] - at[row], bytes);
    assert_memory_equal((const uint8_t *)values.data + at[row], expected, bytes);
}

static void expect_batch(sluice_batch *batch)
{
    sluice_tensor index = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, "index", &index), SLUICE_OK);
    for (uint32_t row = 0; row < sluice_batch_rows(batch); row++) {
        content c;
        content_make(&c, (uint32_t)((const int64_t *)index.data)[row]);
        const int64_t class = c.has_class ? c.class : -1;
        expect_row(batch, "matrix", row, c.matrix, sizeof(c.matrix));
        expect_row(batch, "right", row, c.right, sizeof(c.right));
        expect_row(batch, "class", row, &class, sizeof(class));
        expect_row(batch, "score", row, &c.score, sizeof(c.score));
        expect_ragged(batch, "caption", row, c.caption, c.has_caption ? c.caption_bytes : 0);
        expect_ragged(batch, "blob", row, c.blob, c.blob_bytes);
        content_free(&c);
    }
}

static sluice_columns *make_columns(const sluice_augment *small, const sluice_augment *whole)
{
    sluice_columns *columns;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    sluice_column class = SLUICE_COLUMN_INIT;
    class.kind = SLUICE_COLUMN_NUMBER;
    class.field = "class";
    class.missing = SLUICE_MISSING_BLANK;
    sluice_column caption = SLUICE_COLUMN_INIT;
    caption.kind = SLUICE_COLUMN_RAGGED;
    caption.field = "caption";
    caption.length = 80;
    caption.missing = SLUICE_MISSING_BLANK;
    (void)sluice_columns_image(columns, "left", small, SLUICE_F32, SLUICE_NCHW);
    (void)sluice_columns_image(columns, "right", whole, SLUICE_U8, SLUICE_NHWC);
    (void)sluice_columns_tensor(columns, "matrix");
    (void)sluice_columns_add(columns, &class);
    (void)sluice_columns_add(columns, &caption);
    (void)sluice_columns_number(columns, "score", SLUICE_F64);
    (void)sluice_columns_ragged(columns, "blob", 512);
    assert_int_equal(sluice_columns_get_error(columns, NULL), SLUICE_OK);
    return columns;
}

TEST(batches_hold_what_was_written)
{
    char folder[256];
    sluice_augment *small;
    sluice_augment *whole;
    sluice_loader *loader;
    sluice_batch *batch;
    sluice_error error = SLUICE_ERROR_INIT;
    temporary_directory(folder, sizeof(folder));
    write_all(folder, SLUICE_ZSTD_AUTO);
    sluice_dataset *dataset = dataset_opened(folder);
    assert_int_equal(sluice_augment_create(&small), SLUICE_OK);
    assert_int_equal(sluice_augment_create(&whole), SLUICE_OK);
    (void)sluice_augment_random_resized_crop(small, 8, 8, 0.5, 1.0, 0.75, 4.0 / 3);
    (void)sluice_augment_resize_center_crop(whole, SIDE, SIDE, SIDE);
    sluice_loader_options options = setup_options();
    sluice_columns *columns = make_columns(small, whole);
    options.columns = columns;
    options.last_batch = SLUICE_LAST_SHORT;
    if (sluice_loader_open(&loader, dataset, NULL, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    uint32_t rows = 0;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        expect_batch(batch);
        rows += sluice_batch_rows(batch);
        sluice_batch_release(batch);
    }
    assert_int_equal(sluice_loader_get_error(loader, &error), SLUICE_OK);
    assert_int_equal(rows, SAMPLES);
    sluice_loader_close(loader);
    sluice_columns_destroy(columns);
    sluice_augment_destroy(small);
    sluice_augment_destroy(whole);
    sluice_dataset_close(dataset);
    remove_tree(folder);
}

/* ---- samples of one size ---- */

enum { ROW = 1024, ROWS = 3000 };

static void write_rows(const char *folder, uint32_t rows)
{
    static float data[ROW];
    sluice_writer *writer;
    sluice_field field = SLUICE_FIELD_INIT;
    sluice_value value = SLUICE_VALUE_INIT;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    (void)snprintf(field.name, sizeof(field.name), "row");
    field.type = SLUICE_FIELD_TENSOR;
    field.dtype = SLUICE_F32;
    field.dims = 1;
    field.shape[0] = ROW;
    field.compression = SLUICE_COMPRESSION_NEVER;
    options.fields = &field;
    options.field_count = 1;
    options.shard_bytes = 5 << 20;
    options.overwrite = 1;
    assert_int_equal(sluice_writer_open(&writer, folder, &options, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t k = 0; k < ROW; k++) {
            data[k] = (float)(i * 31 + k);
        }
        value.data = data;
        value.bytes = sizeof(data);
        assert_int_equal(sluice_writer_add_values(writer, &value, 1, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
}

/* Without an index, files consist of their samples, after one page and before the metadata. */
TEST(samples_of_one_size_need_no_index)
{
    char folder[256];
    file_bytes shard;
    float row[ROW];
    size_t bytes;
    temporary_directory(folder, sizeof(folder));
    write_rows(folder, ROWS);
    sluice_dataset *dataset = dataset_opened(folder);
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.samples, ROWS);
    assert_int_equal(info.shards, 3);
    assert_int_equal(info.bytes, (uint64_t)ROWS * (16 + 8 + 4 * ROW));
    for (uint32_t i = 0; i < ROWS; i += 7) {
        assert_int_equal(sluice_dataset_read(dataset, i, "row", row, sizeof(row), &bytes, NULL),
                         SLUICE_OK);
        assert_int_equal(bytes, sizeof(row));
        assert_true(row[0] == (float)(i * 31) && row[ROW - 1] == (float)(i * 31 + ROW - 1));
    }
    assert_int_equal(findings(dataset), 0);
    sluice_dataset_close(dataset);
    file_load(&shard, folder, "shard-000000.sluice");
    assert_int_equal(get32(&shard, SHARD_RECORD_BYTES_AT), 16 + 8 + 4 * ROW);
    assert_int_equal(get64(&shard, 56), 0);
    const uint64_t data_end = 4096 + get64(&shard, 32) * (16 + 8 + 4 * ROW);
    assert_int_equal(shard.size, (data_end + 4095) / 4096 * 4096 + 64 + 128);
    file_free(&shard);
    remove_tree(folder);
}

/* ---- damage ---- */

/* Few samples in each kind of shard: with and without an index. */
static void write_few(const char *folder, bool same_size)
{
    if (same_size) {
        write_rows(folder, 2);
        return;
    }
    sluice_field fields[FIELDS];
    sluice_writer *writer;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    make_fields(fields);
    options.fields = fields;
    options.field_count = FIELDS;
    options.keep_bytes = 1;
    assert_int_equal(sluice_writer_open(&writer, folder, &options, NULL), SLUICE_OK);
    for (uint32_t i = 1; i < 4; i++) {
        content c;
        content_make(&c, i);
        assert_int_equal(add(writer, &c, NULL), SLUICE_OK);
        content_free(&c);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
}

static bool is_found(const char *folder)
{
    sluice_dataset *dataset;
    if (sluice_dataset_open(&dataset, &folder, 1, NULL, NULL) != SLUICE_OK) {
        return true;
    }
    const sluice_verify_options options = {.struct_size = sizeof(options), .workers = 1};
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    assert_int_equal(sluice_dataset_verify(dataset, &options, &result, NULL), SLUICE_OK);
    sluice_dataset_close(dataset);
    return result.bad > 0;
}

enum { APART = TEST_AMOUNT(1, 17) };

/* Flips all significant bytes, and some of the zeros between them. */
static void flip_bytes(const char *folder, const char *name)
{
    file_bytes file;
    file_load(&file, folder, name);
    for (size_t at = 0; at < file.size; at += file.data[at] != 0 ? APART : APART + at % 13) {
        file_store_byte(&file, at, file.data[at] ^ (uint8_t)(1U << at % 8));
        if (!is_found(folder)) {
            fail_msg("%s: a flip of byte %zu was not found", name, at);
        }
        file_store_byte(&file, at, file.data[at]);
    }
    file_free(&file);
}

TEST(every_flipped_byte_is_found)
{
    for (int same_size = 0; same_size < 2; same_size++) {
        char folder[256];
        temporary_directory(folder, sizeof(folder));
        write_few(folder, same_size == 1);
        assert_false(is_found(folder));
        flip_bytes(folder, "manifest.sluice");
        flip_bytes(folder, "shard-000000.sluice");
        assert_false(is_found(folder));
        remove_tree(folder);
    }
}
