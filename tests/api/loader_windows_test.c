/* SPDX-License-Identifier: Apache-2.0 */
/* Tests windows of long tensors: each window of an epoch comes once, with the elements that brute
 * force finds there, regardless of the lengths of the samples, the order, the rank and the source
 * of the bytes. */
#include "loader_setup.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENTS = 1200, UNIFORM = 700, UNIFORM_LENGTH = 96, LENGTH = 17, STRIDE = 11, BATCH = 16 };
enum { WINDOWS_MAX = 1 << 16 };

static char ragged[300], uniform[300];

static uint64_t length_of(uint64_t document)
{
    return document % 7 == 3 ? document % 5 : 16 + (document * 7919) % 150;
}

static uint16_t token_of(uint64_t document, uint64_t at)
{
    return (uint16_t)(document * 31 + at * 257 + document * at);
}

static void write_documents(const char *path, uint64_t count, bool same)
{
    sluice_field fields[2] = {SLUICE_FIELD_INIT, SLUICE_FIELD_INIT};
    (void)snprintf(fields[0].name, sizeof(fields[0].name), "source");
    fields[0].type = SLUICE_FIELD_INT;
    (void)snprintf(fields[1].name, sizeof(fields[1].name), "tokens");
    fields[1].type = SLUICE_FIELD_TENSOR;
    fields[1].dtype = SLUICE_U16;
    fields[1].dims = 1;
    fields[1].compression = SLUICE_COMPRESSION_NEVER;
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = 2;
    options.shard_bytes = 1 << 20;
    sluice_writer *writer = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_writer_open(&writer, path, &options, &error), SLUICE_OK);
    for (uint64_t i = 0; i < count; i++) {
        uint16_t tokens[256];
        const uint64_t length = same ? UNIFORM_LENGTH : length_of(i);
        for (uint64_t k = 0; k < length; k++) {
            tokens[k] = token_of(i, k);
        }
        sluice_value values[2] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
        values[0].integer = (int64_t)i;
        values[1].data = tokens;
        values[1].bytes = length * sizeof(*tokens);
        values[1].shape[0] = (int64_t)length;
        if (sluice_writer_add_values(writer, values, 2, &error) != SLUICE_OK) {
            fail_msg("%s", error.text);
        }
    }
    assert_int_equal(sluice_writer_finish(writer, &error), SLUICE_OK);
}

/* ---- what there should be ---- */

typedef struct window {
    uint64_t document, at;
} window;

static window expected[WINDOWS_MAX];

static uint64_t expect_windows(uint64_t count, bool same)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t length = same ? UNIFORM_LENGTH : length_of(i);
        for (uint64_t at = 0; at + LENGTH + 1 <= length; at += STRIDE) {
            expected[found++] = (window){i, at};
        }
    }
    return found;
}

static sluice_columns *inputs_and_targets(void)
{
    sluice_columns *columns = NULL;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_WINDOW;
    column.field = "tokens";
    column.length = LENGTH;
    column.stride = STRIDE;
    column.dtype = SLUICE_I32;
    assert_int_equal(sluice_columns_add(columns, &column), SLUICE_OK);
    column.name = "targets";
    column.offset = 1;
    column.dtype = SLUICE_I64;
    assert_int_equal(sluice_columns_add(columns, &column), SLUICE_OK);
    return columns;
}

static sluice_loader *open_windows(const char *path, sluice_loader_options options)
{
    sluice_columns *columns = inputs_and_targets();
    sluice_dataset *dataset = setup_dataset(path);
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    options.columns = columns;
    if (sluice_loader_open(&loader, dataset, NULL, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_dataset_close(dataset);
    sluice_columns_destroy(columns);
    return loader;
}

static const void *column_of(const sluice_batch *batch, const char *name, uint64_t bytes)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, name, &tensor), SLUICE_OK);
    assert_int_equal(tensor.size_bytes, bytes);
    return tensor.data;
}

static void check_row(const int32_t *tokens, const int64_t *targets, const window *w)
{
    for (uint64_t i = 0; i < LENGTH; i++) {
        assert_int_equal(tokens[i], token_of(w->document, w->at + i));
        assert_int_equal(targets[i], token_of(w->document, w->at + i + 1));
    }
}

/* Takes the rest of an epoch. Counts how often each window came. */
static uint64_t run(sluice_loader *loader, uint64_t steps, uint8_t *seen)
{
    uint64_t rows = 0;
    sluice_batch *batch;
    for (; steps > 0 && sluice_loader_next(loader, &batch, -1) == SLUICE_OK; steps--) {
        const uint32_t count = sluice_batch_rows(batch);
        const int64_t *index = column_of(batch, "index", count * sizeof(int64_t));
        const int32_t *tokens = column_of(batch, "tokens", (uint64_t)count * LENGTH * 4);
        const int64_t *targets = column_of(batch, "targets", (uint64_t)count * LENGTH * 8);
        for (uint32_t i = 0; i < count; i++) {
            seen[index[i]]++;
            check_row(tokens + (size_t)i * LENGTH, targets + (size_t)i * LENGTH,
                      &expected[index[i]]);
        }
        rows += count;
        sluice_batch_release(batch);
    }
    return rows;
}

static void expect_once(const uint8_t *seen, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(seen[i], 1);
    }
}

static void every_window_once(const char *path, uint64_t windows)
{
    static uint8_t seen[WINDOWS_MAX];
    sluice_loader_options options = setup_options();
    options.batch_size = BATCH;
    options.last_batch = SLUICE_LAST_SHORT;
    for (int32_t cache = SLUICE_CACHE_AUTO; cache <= SLUICE_CACHE_DIRECT; cache++) {
        for (int32_t shuffle = SLUICE_SHUFFLE_FULL; shuffle <= SLUICE_SHUFFLE_NONE; shuffle++) {
            options.page_cache = cache;
            options.shuffle = shuffle;
            sluice_loader *loader = open_windows(path, options);
            for (uint64_t epoch = 0; epoch < TEST_AMOUNT(3, 1); epoch++) {
                memset(seen, 0, sizeof(seen));
                assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
                assert_int_equal(run(loader, UINT64_MAX, seen), windows);
                expect_once(seen, windows);
            }
            sluice_loader_close(loader);
        }
    }
}

TEST(of_samples_of_any_length)
{
    every_window_once(ragged, expect_windows(DOCUMENTS, false));
}

TEST(of_samples_of_one_length)
{
    every_window_once(uniform, expect_windows(UNIFORM, true));
}

TEST(shared_by_ranks_and_continued)
{
    static uint8_t seen[WINDOWS_MAX];
    const uint64_t windows = expect_windows(DOCUMENTS, false);
    sluice_loader_options options = setup_options();
    options.batch_size = BATCH;
    options.last_batch = SLUICE_LAST_SHORT;
    options.world_size = 3;
    uint64_t rows = 0;
    memset(seen, 0, sizeof(seen));
    for (options.rank = 0; options.rank < 3; options.rank++) {
        uint8_t cursor[SLUICE_CURSOR_BYTES];
        size_t bytes = sizeof(cursor);
        uint64_t epoch = 0;
        sluice_loader *loader = open_windows(ragged, options);
        assert_int_equal(sluice_loader_start_epoch(loader, 4), SLUICE_OK);
        rows += run(loader, 10, seen);
        assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_OK);
        sluice_loader_close(loader);
        loader = open_windows(ragged, options);
        assert_int_equal(sluice_loader_restore(loader, cursor, bytes, &epoch), SLUICE_OK);
        assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
        rows += run(loader, UINT64_MAX, seen);
        sluice_loader_close(loader);
    }
    assert_int_equal(rows, windows);
    expect_once(seen, windows);
}

/* ---- what cannot be ---- */

static void refuse(const char *path, const sluice_columns *columns, sluice_status status,
                   const char *words)
{
    sluice_dataset *dataset = setup_dataset(path);
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = setup_options();
    options.columns = columns;
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, &error), status);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    }
    sluice_dataset_close(dataset);
}

static void refuse_window(uint64_t length, sluice_dtype dtype, const char *words)
{
    sluice_columns *columns = NULL;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    (void)sluice_columns_window(columns, "tokens", length, 1, dtype);
    refuse(ragged, columns, SLUICE_INVALID, words);
    sluice_columns_destroy(columns);
}

TEST(impossible_windows)
{
    refuse_window(100000, SLUICE_I32, "more than any sample");
    refuse_window((uint64_t)1 << 33, SLUICE_I32, "2^31 - 1 bytes");
    refuse_window((uint64_t)1 << 62, SLUICE_I32, "2^40 elements");
    sluice_columns *columns = inputs_and_targets();
    assert_int_equal(sluice_columns_number(columns, "source", SLUICE_I64), SLUICE_OK);
    refuse(ragged, columns, SLUICE_INVALID, "cannot be used with windows");
    sluice_columns_destroy(columns);
}

/* A different cut is a different dataset: its cursors do not fit. */
TEST(cursors_of_another_cut)
{
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = sizeof(cursor);
    uint64_t epoch = 0;
    sluice_loader *loader = open_windows(ragged, setup_options());
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_OK);
    sluice_loader_close(loader);
    sluice_columns *columns = NULL;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_window(columns, "tokens", LENGTH + 1, LENGTH, SLUICE_U16),
                     SLUICE_OK);
    sluice_loader_options options = setup_options();
    options.columns = columns;
    sluice_dataset *dataset = setup_dataset(ragged);
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, &error), SLUICE_OK);
    assert_int_equal(sluice_loader_restore(loader, cursor, bytes, &epoch), SLUICE_INVALID);
    sluice_loader_close(loader);
    sluice_dataset_close(dataset);
    sluice_columns_destroy(columns);
}

static int make_data(void **state)
{
    temporary_directory(ragged, sizeof(ragged));
    temporary_directory(uniform, sizeof(uniform));
    write_documents(ragged, DOCUMENTS, false);
    write_documents(uniform, UNIFORM, true);
    return 0;
}

static int remove_data(void **state)
{
    remove_tree(ragged);
    remove_tree(uniform);
    return 0;
}

TEST_GROUP(make_data, remove_data)
