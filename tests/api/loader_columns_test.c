/* SPDX-License-Identifier: Apache-2.0 */
/* Tests batches of requested columns, from a folder and from shards, on the host and on a device (a
 * fake CUDA driver): images equal those of a loader with that recipe alone, labels and texts those
 * of the dataset, and rows without a sample are blank. Also tests the errors of open. */
#include "fake_cuda_client.h"
#include "loader_setup.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 3, PER_CLASS = 9, SAMPLES = CLASSES * PER_CLASS, BATCH = 8, KEY = 24, BAD = 5 };
enum { SMALL = 16, SMALL_BYTES = SMALL * SMALL * 3 * 2, LARGE_BYTES = SETUP_SIZE * SETUP_SIZE * 3 };

static photo_folder photos;
static char packed[300];
static const fake_cuda_control *fake;

/* ---- requests ---- */

/* The same pixels in every epoch. */
static sluice_augment *plain_recipe(void)
{
    const float mean[] = {0.485F, 0.456F, 0.406F};
    const float deviation[] = {0.229F, 0.224F, 0.225F};
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_resize_center_crop(recipe, SMALL + 4, SMALL, SMALL), SLUICE_OK);
    assert_int_equal(sluice_augment_normalize(recipe, mean, deviation, 3), SLUICE_OK);
    return recipe;
}

static void ask(sluice_columns *columns, const sluice_column *column)
{
    assert_int_equal(sluice_columns_add(columns, column), SLUICE_OK);
}

static sluice_columns *everything(void)
{
    sluice_columns *columns = NULL;
    sluice_augment *drawn = setup_recipe(false);
    sluice_augment *plain = plain_recipe();
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_image(columns, "image", drawn, SLUICE_U8, SLUICE_NHWC),
                     SLUICE_OK);
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_IMAGE;
    column.field = "image";
    column.name = "small";
    column.recipe = plain;
    column.dtype = SLUICE_F16;
    column.layout = SLUICE_NCHW;
    ask(columns, &column);
    sluice_augment_destroy(drawn);
    sluice_augment_destroy(plain);
    assert_int_equal(sluice_columns_number(columns, "label", SLUICE_I32), SLUICE_OK);
    column = (sluice_column)SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_ONE_HOT;
    column.field = "label";
    column.name = "target";
    column.length = CLASSES;
    column.dtype = SLUICE_F32;
    ask(columns, &column);
    assert_int_equal(sluice_columns_ragged(columns, "key", KEY), SLUICE_OK);
    column = (sluice_column)SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_PADDED;
    column.field = "key";
    column.name = "path";
    column.length = KEY;
    ask(columns, &column);
    return columns;
}

static sluice_loader *open_asked(const char *path, sluice_loader_options options)
{
    sluice_columns *columns = everything();
    sluice_dataset *dataset = setup_dataset(path);
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    options.columns = columns;
    if (sluice_loader_open(&loader, dataset, NULL, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_columns_destroy(columns); /* the loader has a copy */
    sluice_dataset_close(dataset);
    return loader;
}

/* Opens a loader of the field "image" alone, through `recipe`, which it takes over. */
static sluice_loader *open_natural(const char *path, sluice_loader_options options,
                                   sluice_augment *recipe)
{
    sluice_dataset *dataset = setup_dataset(path);
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    options.device = "host";
    assert_int_equal(sluice_loader_open(&loader, dataset, recipe, &options, &error), SLUICE_OK);
    sluice_augment_destroy(recipe);
    sluice_dataset_close(dataset);
    return loader;
}

/* ---- what comes ---- */

static const void *column_of(const sluice_batch *batch, const char *name, uint64_t bytes)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, name, &tensor), SLUICE_OK);
    assert_int_equal(tensor.size_bytes, bytes);
    return tensor.device_type == SLUICE_DEVICE_TYPE_CUDA ? fake->memory(tensor.data) : tensor.data;
}

/* Three loaders side by side over the same rows. */
typedef struct trio {
    sluice_loader *asked, *drawn, *plain;
    sluice_dataset *dataset;
    struct CUstream_st *stream; /* NULL: on the host */
    uint32_t blanks;
} trio;

static void check_blank(const sluice_batch *batch, uint32_t row, uint32_t rows)
{
    const uint8_t *path = column_of(batch, "path", (uint64_t)rows * KEY);
    const float *target = column_of(batch, "target", (uint64_t)rows * CLASSES * sizeof(float));
    for (int i = 0; i < KEY; i++) {
        assert_int_equal(path[row * KEY + (uint32_t)i], 0);
    }
    for (int i = 0; i < CLASSES; i++) {
        assert_true(target[row * CLASSES + (uint32_t)i] == 0);
    }
    const uint8_t *small = column_of(batch, "small", (uint64_t)rows * SMALL_BYTES);
    for (int i = 0; i < SMALL_BYTES; i++) {
        assert_int_equal(small[row * SMALL_BYTES + (uint32_t)i], 0);
    }
    assert_int_equal(((const int32_t *)column_of(batch, "label", (uint64_t)rows * 4))[row], -1);
}

/* Checks the text of row `row` in both of its columns. */
static void check_key(const sluice_batch *batch, uint32_t row, const char *key)
{
    const uint32_t rows = sluice_batch_rows(batch);
    const uint64_t length = strlen(key);
    const int64_t *offsets = column_of(batch, "key.offsets", (rows + 1) * sizeof(int64_t));
    const int64_t *lengths = column_of(batch, "path.lengths", rows * sizeof(int64_t));
    const uint8_t *values = column_of(batch, "key", (uint64_t)offsets[rows]);
    const uint8_t *padded = column_of(batch, "path", (uint64_t)rows * KEY);
    assert_int_equal(offsets[0], 0);
    assert_int_equal(offsets[row + 1] - offsets[row], length);
    assert_int_equal(lengths[row], length);
    assert_memory_equal(values + offsets[row], key, length);
    assert_memory_equal(padded + (size_t)row * KEY, key, length);
    for (uint64_t i = length; i < KEY; i++) {
        assert_int_equal(padded[(size_t)row * KEY + i], 0);
    }
}

static void check_sample(const trio *t, const sluice_batch *batch, uint32_t row, int64_t index)
{
    const uint32_t rows = sluice_batch_rows(batch);
    const int32_t label = ((const int32_t *)column_of(batch, "label", (uint64_t)rows * 4))[row];
    const float *target = column_of(batch, "target", (uint64_t)rows * CLASSES * sizeof(float));
    sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_dataset_get_sample(t->dataset, (uint64_t)index, &info, &error),
                     SLUICE_OK);
    assert_int_equal(label, info.key[2] - '0'); /* class "c01" is number 1 */
    for (int i = 0; i < CLASSES; i++) {
        assert_true(target[row * CLASSES + (uint32_t)i] == (i == label ? 1.0F : 0.0F));
    }
    check_key(batch, row, info.key);
}

static void check_pictures(const sluice_batch *asked, const sluice_batch *drawn,
                           const sluice_batch *plain)
{
    const uint64_t rows = sluice_batch_rows(asked);
    assert_memory_equal(column_of(asked, "image", rows * LARGE_BYTES),
                        column_of(drawn, "image", rows * LARGE_BYTES), rows * LARGE_BYTES);
    assert_memory_equal(column_of(asked, "small", rows * SMALL_BYTES),
                        column_of(plain, "image", rows * SMALL_BYTES), rows * SMALL_BYTES);
}

static void check_batch(trio *t, const sluice_batch *asked, const sluice_batch *drawn,
                        const sluice_batch *plain)
{
    const uint32_t rows = sluice_batch_rows(asked);
    assert_int_equal(sluice_batch_rows(drawn), rows);
    check_pictures(asked, drawn, plain);
    const int64_t *index = column_of(asked, "index", rows * sizeof(int64_t));
    const uint8_t *mask = column_of(asked, "mask", rows);
    assert_memory_equal(index, column_of(drawn, "index", rows * sizeof(int64_t)),
                        rows * sizeof(int64_t));
    for (uint32_t row = 0; row < rows; row++) {
        if (mask[row] == 0) {
            check_blank(asked, row, rows);
            check_key(asked, row, "");
            t->blanks++;
        } else {
            check_sample(t, asked, row, index[row]);
        }
    }
}

static void run_epoch(trio *t, uint64_t epoch)
{
    sluice_batch *a;
    sluice_batch *b;
    sluice_batch *c;
    assert_int_equal(sluice_loader_start_epoch(t->asked, epoch), SLUICE_OK);
    assert_int_equal(sluice_loader_start_epoch(t->drawn, epoch), SLUICE_OK);
    assert_int_equal(sluice_loader_start_epoch(t->plain, epoch), SLUICE_OK);
    while (sluice_loader_next(t->asked, &a, -1) == SLUICE_OK) {
        assert_int_equal(sluice_loader_next(t->drawn, &b, -1), SLUICE_OK);
        assert_int_equal(sluice_loader_next(t->plain, &c, -1), SLUICE_OK);
        if (t->stream != NULL) {
            assert_int_equal(sluice_batch_wait(a, t->stream), SLUICE_OK);
            fake->synchronize(t->stream);
        }
        check_batch(t, a, b, c);
        if (t->stream != NULL) {
            assert_int_equal(sluice_batch_release_on(a, t->stream), SLUICE_OK);
        } else {
            sluice_batch_release(a);
        }
        sluice_batch_release(b);
        sluice_batch_release(c);
    }
    assert_int_equal(sluice_loader_next(t->drawn, &b, -1), SLUICE_END);
}

static void compare(const char *path, const char *device, uint32_t blanks)
{
    sluice_loader_options options = setup_options();
    options.on_bad_sample = SLUICE_BAD_MASK;
    options.last_batch = SLUICE_LAST_PAD;
    options.device = device;
    trio t = {.asked = open_asked(path, options),
              .dataset = setup_dataset(path),
              .stream = strcmp(device, "host") == 0 ? NULL : fake->stream_new(false)};
    t.drawn = open_natural(path, options, setup_recipe(false));
    options.dtype = SLUICE_F16;
    options.layout = SLUICE_NCHW;
    t.plain = open_natural(path, options, plain_recipe());
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        run_epoch(&t, epoch);
    }
    assert_int_equal(t.blanks, 3 * blanks);
    sluice_loader_close(t.asked);
    sluice_loader_close(t.drawn);
    sluice_loader_close(t.plain);
    sluice_dataset_close(t.dataset);
}

TEST(columns_of_a_folder)
{
    compare(photos.path, "host", 1 + BATCH - SAMPLES % BATCH);
}

TEST(columns_of_shards)
{
    compare(packed, "host", BATCH - (SAMPLES - 1) % BATCH);
}

TEST(columns_on_a_device)
{
    if (fake == NULL) {
        skip();
        return; /* not reached */
    }
    compare(photos.path, "cuda:0", 1 + BATCH - SAMPLES % BATCH);
    compare(packed, "cuda:0", BATCH - (SAMPLES - 1) % BATCH);
}

/* Every column is also available by number, in the order of the requests. */
TEST(columns_are_counted)
{
    static const char *const names[] = {"image", "small",       "label", "target",
                                        "key",   "key.offsets", "path",  "path.lengths",
                                        "index", "mask",        "status"};
    const uint32_t count = sizeof(names) / sizeof(names[0]);
    sluice_loader *loader = open_asked(packed, setup_options());
    sluice_batch *batch;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    assert_int_equal(sluice_batch_columns(batch), count);
    for (uint32_t i = 0; i < count; i++) {
        sluice_tensor by_number = SLUICE_TENSOR_INIT;
        sluice_tensor by_name = SLUICE_TENSOR_INIT;
        assert_string_equal(sluice_batch_column_name(batch, i), names[i]);
        assert_int_equal(sluice_batch_get_column(batch, i, &by_number), SLUICE_OK);
        assert_int_equal(sluice_batch_tensor(batch, names[i], &by_name), SLUICE_OK);
        assert_memory_equal(&by_number, &by_name, sizeof(by_name));
    }
    sluice_batch_release(batch);
    sluice_loader_close(loader);
}

/* ---- the caller's memory ---- */

TEST(outputs_on_the_host)
{
    _Alignas(64) static uint8_t memory[3][BATCH * LARGE_BYTES];
    void *outputs[] = {memory[0], memory[1], memory[2]};
    sluice_loader_options options = setup_options();
    options.outputs = outputs;
    options.output_count = 3;
    sluice_loader *loader = open_asked(packed, options);
    options.outputs = NULL;
    options.output_count = 0;
    sluice_loader *natural = open_natural(packed, options, setup_recipe(false));
    bool used[3] = {false, false, false};
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        sluice_batch *a;
        sluice_batch *b;
        assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
        assert_int_equal(sluice_loader_start_epoch(natural, epoch), SLUICE_OK);
        while (sluice_loader_next(loader, &a, -1) == SLUICE_OK) {
            const uint8_t *image = column_of(a, "image", (uint64_t)BATCH * LARGE_BYTES);
            const size_t block = (size_t)(image - memory[0]) / sizeof(memory[0]);
            assert_true(image == memory[block]);
            used[block] = true;
            assert_int_equal(sluice_loader_next(natural, &b, -1), SLUICE_OK);
            assert_memory_equal(image, column_of(b, "image", (uint64_t)BATCH * LARGE_BYTES),
                                (size_t)BATCH * LARGE_BYTES);
            sluice_batch_release(a);
            sluice_batch_release(b);
        }
    }
    assert_true(used[0] && used[1] && used[2]);
    sluice_loader_close(loader);
    sluice_loader_close(natural);
}

/* ---- what open refuses ---- */

static void refuse(const sluice_columns *columns, const sluice_augment *recipe,
                   sluice_loader_options options, const char *words)
{
    sluice_dataset *dataset = setup_dataset(packed);
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    options.columns = columns;
    assert_int_equal(sluice_loader_open(&loader, dataset, recipe, &options, &error),
                     SLUICE_INVALID);
    assert_null(loader);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    }
    sluice_dataset_close(dataset);
}

TEST(what_contradicts_is_refused)
{
    sluice_columns *columns = everything();
    sluice_augment *recipe = setup_recipe(false);
    sluice_loader_options options = setup_options();
    refuse(columns, recipe, options, "with option columns, recipe");
    options.dtype = SLUICE_F32;
    refuse(columns, NULL, options, "with option columns, recipe");
    options.dtype = SLUICE_U8;
    options.layout = SLUICE_NCHW;
    refuse(columns, NULL, options, "with option columns, recipe");
    refuse(NULL, NULL, setup_options(), "need a recipe");
    sluice_augment_destroy(recipe);
    sluice_columns_destroy(columns);
}

TEST(columns_that_are_not_there_are_refused)
{
    sluice_columns *columns = NULL;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    refuse(columns, NULL, setup_options(), "the list of columns is empty");
    assert_int_equal(sluice_columns_number(columns, "weight", 0), SLUICE_OK);
    refuse(columns, NULL, setup_options(), "weight");
    sluice_columns_destroy(columns);
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_number(columns, "label", 0), SLUICE_OK);
    assert_int_equal(sluice_columns_number(columns, "label", SLUICE_I32), SLUICE_OK);
    refuse(columns, NULL, setup_options(), "label");
    sluice_columns_destroy(columns);
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_number(columns, "label", 0), SLUICE_OK);
    _Alignas(16) static uint8_t memory[2][16];
    void *const outputs[] = {memory[0], memory[1]};
    sluice_loader_options options = setup_options();
    options.outputs = outputs;
    options.output_count = 2;
    refuse(columns, NULL, options, "needs an image column, but the loader has none");
    sluice_columns_destroy(columns);
}

/* open reports the first failed call. */
TEST(a_refused_call_is_remembered)
{
    sluice_columns *columns = NULL;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_number(columns, "label", 0), SLUICE_OK);
    assert_int_equal(sluice_columns_one_hot(columns, "key", 0, 0), SLUICE_INVALID);
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_columns_get_error(columns, &error), SLUICE_INVALID);
    refuse(columns, NULL, setup_options(), error.text);
    sluice_columns_destroy(columns);
}

/* A text longer than its slot: the loader's policy applies, and the report names the text. */
TEST(a_text_too_long_is_a_bad_sample)
{
    sluice_columns *columns = NULL;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_ragged(columns, "key", 4), SLUICE_OK);
    sluice_dataset *dataset = setup_dataset(packed);
    sluice_loader *loader = NULL;
    sluice_batch *batch;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = setup_options();
    options.columns = columns;
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, &error), SLUICE_OK);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_UNSUPPORTED);
    assert_int_equal(sluice_loader_get_error(loader, &error), SLUICE_UNSUPPORTED);
    assert_true(error.sample >= 0);
    assert_non_null(strstr(error.text, "key"));
    sluice_loader_close(loader);
    sluice_dataset_close(dataset);
    sluice_columns_destroy(columns);
}

/* ---- what a dataset has by nature ---- */

static uint8_t *first_rows(sluice_loader_options options, const sluice_augment *recipe,
                           size_t *bytes)
{
    sluice_dataset *dataset = setup_dataset(packed);
    sluice_loader *loader = NULL;
    sluice_batch *batch = NULL;
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_loader_open(&loader, dataset, recipe, &options, NULL), SLUICE_OK);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    assert_int_equal(sluice_batch_columns(batch), 5); /* image, label, and three of every batch */
    assert_int_equal(sluice_batch_tensor(batch, "image", &tensor), SLUICE_OK);
    uint8_t *rows = malloc(tensor.size_bytes);
    memcpy(rows, tensor.data, tensor.size_bytes);
    *bytes = tensor.size_bytes;
    sluice_batch_release(batch);
    sluice_loader_close(loader);
    sluice_dataset_close(dataset);
    return rows;
}

/* Described and added columns give the batch of a loader without columns. */
TEST(natural_columns_are_described)
{
    sluice_dataset *dataset = setup_dataset(packed);
    sluice_augment *recipe = setup_recipe(false);
    sluice_columns *columns = NULL;
    sluice_column column = SLUICE_COLUMN_INIT;
    sluice_loader_options options = setup_options();
    sluice_status status;
    size_t bytes[2];
    uint32_t ended = 0;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    for (uint32_t i = 0; (status = sluice_dataset_natural_column(dataset, i, &column)) >= 0; i++) {
        ended += status == SLUICE_END; /* text: the key */
        if (status == SLUICE_OK) {
            column.recipe = column.kind == SLUICE_COLUMN_IMAGE ? recipe : NULL;
            ask(columns, &column);
            assert_string_equal(column.name, column.field);
        }
    }
    assert_int_equal(status, SLUICE_INVALID);
    assert_true(ended > 0);
    assert_int_equal(sluice_dataset_natural_column(dataset, 0, NULL), SLUICE_INVALID);
    assert_int_equal(sluice_dataset_natural_column(NULL, 0, &column), SLUICE_INVALID);
    uint8_t *natural = first_rows(options, recipe, &bytes[0]);
    options.columns = columns;
    uint8_t *asked = first_rows(options, NULL, &bytes[1]);
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(natural, asked, bytes[0]);
    free(natural);
    free(asked);
    sluice_columns_destroy(columns);
    sluice_augment_destroy(recipe);
    sluice_dataset_close(dataset);
}

/* ---- the datasets ---- */

static int make_data(void **state)
{
    char path[512];
    photo_folder_make(&photos, CLASSES, PER_CLASS);
    photo_folder_file(&photos, BAD, path, sizeof(path));
    write_file(path, "this is not an image", 20);
    temporary_directory(packed, sizeof(packed));
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    options.on_bad = SLUICE_PACK_BAD_SKIP;
    assert_int_equal(sluice_pack(dataset, packed, &options, NULL, &error), SLUICE_OK);
    sluice_dataset_close(dataset);
    return 0;
}

static int remove_data(void **state)
{
    remove_tree(packed);
    photo_folder_remove(&photos);
    return 0;
}

int main(void)
{
    fake = fake_cuda_open();
    const int failed = test_run(make_data, remove_data);
    return failed + (fake == NULL ? 0 : fake_cuda_complain(fake));
}
