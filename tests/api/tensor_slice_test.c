/* SPDX-License-Identifier: Apache-2.0 */
/* Tests slices of tensors: k micro-batches of a batch are its rows in order, without a copy, also
 * for a ragged column; an invalid range fails and writes nothing. */
#include "loader_setup.h"
#include "test_folder.h"

#include <string.h>

enum { CLASSES = 3, PER_CLASS = 4, BATCH = CLASSES * PER_CLASS, PARTS = 3, ROWS = BATCH / PARTS };

PHOTO_GROUP(photos, CLASSES, PER_CLASS)

static sluice_tensor tensor_of(const sluice_batch *batch, const char *name)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, name, &tensor), SLUICE_OK);
    return tensor;
}

static sluice_tensor slice_of(const sluice_tensor *tensor, int64_t first, int64_t count)
{
    sluice_tensor slice = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_tensor_slice(tensor, first, count, &slice), SLUICE_OK);
    return slice;
}

/* A batch of every kind of column: images, labels and keys. */
static sluice_batch *take_batch(sluice_loader **loader)
{
    sluice_columns *columns = NULL;
    sluice_augment *recipe = setup_recipe(false);
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    sluice_batch *batch = NULL;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_image(columns, "image", recipe, SLUICE_F32, SLUICE_NCHW),
                     SLUICE_OK);
    assert_int_equal(sluice_columns_number(columns, "label", SLUICE_I32), SLUICE_OK);
    assert_int_equal(sluice_columns_ragged(columns, "key", 99), SLUICE_OK);
    options.columns = columns;
    options.batch_size = BATCH;
    assert_int_equal(sluice_loader_open(loader, dataset, NULL, &options, NULL), SLUICE_OK);
    assert_int_equal(sluice_loader_start_epoch(*loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(*loader, &batch, -1), SLUICE_OK);
    sluice_columns_destroy(columns);
    sluice_augment_destroy(recipe);
    sluice_dataset_close(dataset);
    return batch;
}

/* ---- micro-batches ---- */

static void check_view(const sluice_tensor *slice, const sluice_tensor *whole, int64_t first)
{
    const uint64_t row = whole->size_bytes / BATCH;
    assert_ptr_equal(slice->data, (uint8_t *)whole->data + (uint64_t)first * row);
    assert_int_equal(slice->size_bytes, ROWS * row);
    assert_int_equal(slice->shape[0], ROWS);
    assert_int_equal(slice->dims, whole->dims);
    assert_int_equal(slice->dtype, whole->dtype);
    assert_int_equal(slice->device_type, whole->device_type);
    assert_int_equal(slice->struct_size, sizeof(*slice));
    assert_memory_equal(slice->shape + 1, whole->shape + 1, sizeof(whole->shape) - sizeof(int64_t));
    assert_memory_equal(slice->strides, whole->strides, sizeof(whole->strides));
}

TEST(rows_of_every_column)
{
    static const char *const names[] = {"image", "label", "index", "mask", "status"};
    sluice_loader *loader = NULL;
    sluice_batch *batch = take_batch(&loader);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const sluice_tensor whole = tensor_of(batch, names[i]);
        for (int64_t part = 0; part < PARTS; part++) {
            const sluice_tensor slice = slice_of(&whole, part * ROWS, ROWS);
            check_view(&slice, &whole, part * ROWS);
        }
    }
    sluice_batch_release(batch);
    sluice_loader_close(loader);
}

/* As the header states: offsets are sliced, values stay whole. */
TEST(texts_of_a_micro_batch)
{
    sluice_loader *loader = NULL;
    sluice_batch *batch = take_batch(&loader);
    const sluice_tensor values = tensor_of(batch, "key");
    const sluice_tensor offsets = tensor_of(batch, "key.offsets");
    const sluice_tensor index = tensor_of(batch, "index");
    sluice_dataset *dataset = setup_dataset(photos.path);
    for (int64_t part = 0; part < PARTS; part++) {
        const sluice_tensor own = slice_of(&offsets, part * ROWS, ROWS + 1);
        const sluice_tensor numbers = slice_of(&index, part * ROWS, ROWS);
        assert_int_equal(own.shape[0], ROWS + 1);
        for (uint32_t row = 0; row < ROWS; row++) {
            const int64_t *at = (const int64_t *)own.data + row;
            sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
            const uint64_t number = (uint64_t)((const int64_t *)numbers.data)[row];
            assert_int_equal(sluice_dataset_get_sample(dataset, number, &sample, NULL), SLUICE_OK);
            assert_int_equal(at[1] - at[0], strlen(sample.key));
            assert_memory_equal((const uint8_t *)values.data + at[0], sample.key,
                                strlen(sample.key));
        }
    }
    sluice_dataset_close(dataset);
    sluice_batch_release(batch);
    sluice_loader_close(loader);
}

/* ---- ranges, without a batch ---- */

static float numbers[6 * 4];

static sluice_tensor matrix(void)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    tensor.dtype = SLUICE_F32;
    tensor.dims = 2;
    tensor.data = numbers;
    tensor.size_bytes = sizeof(numbers);
    tensor.shape[0] = 6;
    tensor.shape[1] = 4;
    tensor.strides[0] = 4;
    tensor.strides[1] = 1;
    return tensor;
}

TEST(edges_of_the_range)
{
    const sluice_tensor whole = matrix();
    sluice_tensor slice = slice_of(&whole, 0, 6);
    assert_memory_equal(&slice, &whole, sizeof(whole));
    slice = slice_of(&whole, 5, 1);
    assert_ptr_equal(slice.data, numbers + (ptrdiff_t)5 * 4);
    assert_int_equal(slice.size_bytes, 16);
    slice = slice_of(&whole, 6, 0);
    assert_int_equal(slice.size_bytes, 0);
    assert_int_equal(slice.shape[0], 0);
    /* a slice of a slice, into itself */
    slice = slice_of(&whole, 1, 4);
    assert_int_equal(sluice_tensor_slice(&slice, 2, 2, &slice), SLUICE_OK);
    assert_ptr_equal(slice.data, numbers + (ptrdiff_t)3 * 4);
    assert_int_equal(slice.shape[0], 2);
}

static void expect_refused(const sluice_tensor *tensor, int64_t first, int64_t count)
{
    sluice_tensor slice = SLUICE_TENSOR_INIT;
    const sluice_tensor before = slice;
    assert_int_equal(sluice_tensor_slice(tensor, first, count, &slice), SLUICE_INVALID);
    assert_memory_equal(&slice, &before, sizeof(slice));
}

TEST(what_is_out_of_range_is_refused)
{
    sluice_tensor tensor = matrix();
    expect_refused(&tensor, -1, 1);
    expect_refused(&tensor, 0, -1);
    expect_refused(&tensor, 0, 7);
    expect_refused(&tensor, 6, 1);
    expect_refused(&tensor, 7, 0);
    expect_refused(&tensor, INT64_MAX, 1);
    expect_refused(&tensor, 1, INT64_MAX);
    expect_refused(NULL, 0, 1);
    assert_int_equal(sluice_tensor_slice(&tensor, 0, 1, NULL), SLUICE_INVALID);
    tensor.dims = 0;
    expect_refused(&tensor, 0, 1);
    expect_refused(&tensor, 0, 0);
    tensor.dims = SLUICE_TENSOR_DIMS_MAX + 1;
    expect_refused(&tensor, 0, 1);
    tensor = matrix();
    tensor.dtype = 99;
    expect_refused(&tensor, 0, 1);
    tensor = matrix();
    tensor.strides[0] = INT64_MAX;
    expect_refused(&tensor, 0, 1);
    tensor = matrix();
    tensor.struct_size = 0;
    expect_refused(&tensor, 0, 1);
    tensor = matrix();
    sluice_tensor untagged = tensor;
    untagged.struct_size = 0;
    assert_int_equal(sluice_tensor_slice(&tensor, 0, 1, &untagged), SLUICE_INVALID);
    assert_int_equal(untagged.shape[0], 6);
    /* a slice too short for its shape */
    tensor.struct_size = offsetof(sluice_tensor, shape);
    expect_refused(&tensor, 0, 1);
}
