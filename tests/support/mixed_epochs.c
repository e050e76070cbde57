/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data, loaders and the contents of their batches. The running test's thread owns all data.
 * Contents on the device are copied on the stream that takes the batch.
 */
#include "mixed_epochs.h"

#include "loader_setup.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static photo_folder photos;
static char packed[300];
static const fake_cuda_control *fake;

int mixed_data_make(void **state)
{
    (void)state;
    photo_folder_make(&photos, MIXED_CLASSES, MIXED_PER_CLASS);
    temporary_directory(packed, sizeof(packed));
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    assert_int_equal(sluice_pack(dataset, packed, &options, NULL, NULL), SLUICE_OK);
    sluice_dataset_close(dataset);
    fake = fake_cuda_open();
    return 0;
}

int mixed_data_remove(void **state)
{
    (void)state;
    remove_tree(packed);
    photo_folder_remove(&photos);
    return 0;
}

const photo_folder *mixed_photos(void)
{
    return &photos;
}

const char *mixed_packed(void)
{
    return packed;
}

const fake_cuda_control *mixed_fake(void)
{
    return fake;
}

/* ---- loaders ---- */

const mixed_step mixed_steps[MIXED_STEPS] = {{"mixup", 2, {0.8, 0.9}},
                                             {"mixup", 3, {0.2, 1, 1}},
                                             {"cutmix", 1, {1}},
                                             {"cutmix", 3, {1, 0.7, 1}},
                                             {"timm_mix", 8, {0.8, 1, 0, 0, 1, 0.5, 2, 1}},
                                             {"timm_mix", 8, {0.8, 1, 0, 0, 0.8, 0.5, 1, 1}},
                                             {"timm_mix", 9, {0.8, 1, 0, 0, 1, 0.5, 2, 1, 1}},
                                             {"timm_mix", 8, {0.4, 0, 0.2, 0.7, 1, 0.5, 1, 1}},
                                             {"timm_mix", 2, {0, 1}}};

sluice_augment *mixed_recipe(const mixed_step *mix, bool normalizes, uint32_t width,
                             uint32_t height)
{
    const float mean[] = {0.485F, 0.456F, 0.406F};
    const float stddev[] = {0.229F, 0.224F, 0.225F};
    sluice_augment *recipe;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    if (mix->name != NULL) { /* the step moves to the end by itself */
        assert_int_equal(sluice_augment_add(recipe, mix->name, mix->arguments, mix->count),
                         SLUICE_OK);
    }
    if (normalizes) {
        assert_int_equal(sluice_augment_normalize(recipe, mean, stddev, 3), SLUICE_OK);
    }
    assert_int_equal(sluice_augment_random_resized_crop(recipe, width, height, 0.08, 1, 0.75, 1.25),
                     SLUICE_OK);
    assert_int_equal(sluice_augment_random_flip(recipe, 0.5), SLUICE_OK);
    return recipe;
}

static sluice_columns *columns_of(const mixed_step *mix, const mixed_form *how)
{
    sluice_columns *columns;
    sluice_augment *recipe = mixed_recipe(mix, how->dtype != SLUICE_U8, MIXED_WIDTH,
                                          how->height > 0 ? how->height : MIXED_HEIGHT);
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    const sluice_column soft = {.struct_size = sizeof(soft),
                                .kind = SLUICE_COLUMN_ONE_HOT,
                                .field = "label",
                                .name = "soft",
                                .dtype = SLUICE_F32,
                                .length = MIXED_CLASSES,
                                .mixes = mix->name != NULL ? "image" : NULL,
                                .smoothing = how->smoothing};
    assert_int_equal(sluice_columns_add(columns, &soft), SLUICE_OK);
    assert_int_equal(sluice_columns_image(columns, "image", recipe, how->dtype, how->layout),
                     SLUICE_OK);
    assert_int_equal(sluice_columns_number(columns, "label", SLUICE_I64), SLUICE_OK);
    sluice_augment_destroy(recipe);
    return columns;
}

sluice_loader *mixed_open(const char *path, const sluice_loader_options *wanted,
                          const mixed_step *mix, const mixed_form *how)
{
    sluice_loader_options options = *wanted;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader *loader = NULL;
    sluice_dataset *dataset = setup_dataset(path);
    sluice_columns *columns = columns_of(mix, how);
    options.columns = columns;
    options.read_buffer_bytes = 2U << 20; /* small, since there are hundreds of loaders */
    if (sluice_loader_open(&loader, dataset, NULL, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_columns_destroy(columns);
    sluice_dataset_close(dataset);
    return loader;
}

/* ---- batches ---- */

static const char *const names[MIXED_ARRAYS] = {
    "image", "image.mixed_with", "image.weight", "label", "soft", "index", "mask"};

typedef struct piece {
    const void *from;
    void *to;
    size_t bytes;
} piece;

static void copy_piece(void *ctx)
{
    const piece *p = ctx;
    memcpy(p->to, p->from, p->bytes);
}

static void take_array(mixed_epoch *all, sluice_batch *batch, int i, struct CUstream_st *stream)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    if (sluice_batch_tensor(batch, names[i], &tensor) != SLUICE_OK || tensor.size_bytes == 0) {
        return; /* unmixed rows have no partner */
    }
    all->arrays[i] = realloc(all->arrays[i], all->bytes[i] + tensor.size_bytes);
    assert_non_null(all->arrays[i]);
    piece p = {tensor.data, all->arrays[i] + all->bytes[i], tensor.size_bytes};
    all->bytes[i] += tensor.size_bytes;
    if (tensor.device_type != SLUICE_DEVICE_TYPE_CUDA) {
        copy_piece(&p);
        return;
    }
    p.from = fake->memory(tensor.data);
    const fake_cuda_reader reader = {
        .from = {tensor.data}, .bytes = {p.bytes}, .run = copy_piece, .ctx = &p};
    fake->launch(stream, &reader);
    fake->synchronize(stream);
}

void mixed_take(mixed_epoch *all, sluice_loader *loader, uint64_t steps, struct CUstream_st *stream)
{
    sluice_batch *batch;
    all->end = SLUICE_OK;
    while (steps-- > 0 && (all->end = sluice_loader_next(loader, &batch, -1)) == SLUICE_OK) {
        if (stream != NULL) {
            assert_int_equal(sluice_batch_wait(batch, stream), SLUICE_OK);
        }
        for (int i = 0; i < MIXED_ARRAYS; i++) {
            take_array(all, batch, i, stream);
        }
        all->rows_of[all->steps++] = sluice_batch_rows(batch);
        all->rows += sluice_batch_rows(batch);
        sluice_batch_release(batch);
    }
}

mixed_epoch mixed_run(const char *path, const sluice_loader_options *options, const mixed_step *mix,
                      const mixed_form *how, uint64_t epoch)
{
    mixed_epoch all = {.rows = 0};
    sluice_loader *loader = mixed_open(path, options, mix, how);
    assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
    mixed_take(&all, loader, MIXED_ROWS_MAX, NULL);
    sluice_loader_close(loader);
    return all;
}

void mixed_free(mixed_epoch *all)
{
    for (int i = 0; i < MIXED_ARRAYS; i++) {
        free(all->arrays[i]);
    }
}

void mixed_expect_equal(const mixed_epoch *a, const mixed_epoch *b)
{
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->rows, b->rows);
    for (int i = 0; i < MIXED_ARRAYS; i++) {
        assert_int_equal(a->bytes[i], b->bytes[i]);
        if (a->bytes[i] > 0 && memcmp(a->arrays[i], b->arrays[i], a->bytes[i]) != 0) {
            fail_msg("\"%s\" differs", names[i]);
        }
    }
}
