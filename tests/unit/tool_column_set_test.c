/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the default columns the tool reports for a dataset are those of a loader, and that
 * requested columns are delivered. */
#include "../../tools/sluice/common/column_set.h"
#include "../../tools/sluice/common/exit_code.h"
#include "loader_setup.h"
#include "test_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 6, FACTS = 3 };

PHOTO_GROUP(photos, 3, SAMPLES / 3)

static const struct column_look look = {
    .shape = {.kind = PIPELINE_EVAL, .size = 20, .area_min = 0.08, .area_max = 1}};

/* Returns the first batch of a loader configured with `set`. */
static sluice_batch *first_batch(sluice_dataset *dataset, struct column_set *set,
                                 sluice_loader **loader)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    struct column_source source;
    sluice_batch *batch = NULL;
    assert_int_equal(column_set_complete(set, dataset), TOOL_FINE);
    assert_int_equal(column_set_make(set, &look, &source, &options), TOOL_FINE);
    options.batch_size = SAMPLES;
    assert_int_equal(sluice_loader_open(loader, dataset, source.recipe, &options, NULL), SLUICE_OK);
    column_source_free(&source);
    assert_int_equal(sluice_loader_start_epoch(*loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(*loader, &batch, -1), SLUICE_OK);
    return batch;
}

/* Closes the dataset. */
static void expect_natural(sluice_dataset *dataset, const char *picture)
{
    const struct option_list nothing = {.count = 0};
    struct column_set *set = calloc(1, sizeof *set);
    sluice_loader *loader = NULL;
    assert_int_equal(column_set_parse(set, &nothing), TOOL_FINE);
    sluice_batch *batch = first_batch(dataset, set, &loader);
    assert_int_equal(sluice_batch_columns(batch), set->count + FACTS);
    for (uint32_t i = 0; i < set->count; i++) {
        const struct column_spec *spec = &set->specs[i];
        sluice_tensor tensor = SLUICE_TENSOR_INIT;
        assert_int_equal(sluice_batch_get_column(batch, i, &tensor), SLUICE_OK);
        assert_string_equal(sluice_batch_column_name(batch, i), spec->name);
        assert_int_equal(tensor.dtype, spec->column.dtype);
        assert_int_equal(tensor.dims, spec->column.dims + 1);
        for (uint32_t k = 0; k < spec->column.dims; k++) {
            assert_true(spec->column.shape[k] == 0 ? tensor.shape[k + 1] == 20
                                                   : tensor.shape[k + 1] == spec->column.shape[k]);
        }
    }
    if (picture != NULL) {
        assert_string_equal(column_set_picture(set, 0)->field, picture);
    }
    assert_null(column_set_picture(set, picture != NULL));
    sluice_batch_release(batch);
    sluice_loader_close(loader);
    sluice_dataset_close(dataset);
    free(set);
}

TEST(test_natural)
{
    expect_natural(setup_dataset(photos.path), "image");
}

/* Fields named like the columns of every batch; the last two have no column. */
TEST(test_natural_of_any_name)
{
    static const char *const names[] = {"index", "mask", "field.index", "status", "field.mask"};
    enum { FIELDS = sizeof names / sizeof *names };
    char path[300];
    sluice_field fields[FIELDS];
    temporary_directory(path, sizeof path);
    for (size_t i = 0; i < FIELDS; i++) {
        fields[i] = (sluice_field)SLUICE_FIELD_INIT;
        (void)snprintf(fields[i].name, sizeof fields[i].name, "%s", names[i]);
        fields[i].type = i < FIELDS - 2 ? SLUICE_FIELD_INT : SLUICE_FIELD_TEXT;
    }
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = fields;
    options.field_count = FIELDS;
    sluice_writer *writer = NULL;
    assert_int_equal(sluice_writer_open(&writer, path, &options, NULL), SLUICE_OK);
    for (int i = 0; i < SAMPLES; i++) {
        sluice_value values[FIELDS];
        for (size_t k = 0; k < FIELDS; k++) {
            values[k] = (sluice_value)SLUICE_VALUE_INIT;
            values[k].data = "a";
            values[k].bytes = k < FIELDS - 2 ? 0 : 1;
        }
        assert_int_equal(sluice_writer_add_values(writer, values, FIELDS, NULL), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, NULL), SLUICE_OK);
    expect_natural(setup_dataset(path), NULL);
    remove_tree(path);
}

static sluice_tensor tensor_of(const sluice_batch *batch, const char *name)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, name, &tensor), SLUICE_OK);
    return tensor;
}

TEST(test_asked)
{
    const struct option_list texts = {.at = {"big=image:image,dtype=f16,layout=nchw",
                                             "small=image:image,size=8,crop=random,padding=16",
                                             "label:number,dtype=i32",
                                             "target=label:one_hot,length=3,dtype=f32",
                                             "key:ragged,length=100", "path=key:padded,length=99"},
                                      .count = 6};
    struct column_set *set = calloc(1, sizeof *set);
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_loader *loader = NULL;
    assert_int_equal(column_set_parse(set, &texts), TOOL_FINE);
    sluice_batch *batch = first_batch(dataset, set, &loader);
    sluice_tensor tensor = tensor_of(batch, "big");
    assert_int_equal(tensor.dtype, SLUICE_F16);
    assert_true(tensor.shape[1] == 3 && tensor.shape[2] == 20 && tensor.shape[3] == 20);
    tensor = tensor_of(batch, "small");
    assert_int_equal(tensor.dtype, SLUICE_U8);
    assert_true(tensor.shape[1] == 8 && tensor.shape[2] == 8 && tensor.shape[3] == 3);
    assert_int_equal(tensor_of(batch, "label").dtype, SLUICE_I32);
    tensor = tensor_of(batch, "target");
    assert_true(tensor.dtype == SLUICE_F32 && tensor.shape[1] == 3);
    assert_int_equal(tensor_of(batch, "key.offsets").shape[0], SAMPLES + 1);
    assert_int_equal(tensor_of(batch, "path").shape[1], 99);
    assert_string_equal(column_set_picture(set, 1)->name, "small");
    sluice_batch_release(batch);
    sluice_loader_close(loader);
    sluice_dataset_close(dataset);
    free(set);
}

/* The mixed label follows from the image's weight and partner row. */
TEST(test_mixed_labels)
{
    const struct option_list texts = {
        .at = {"image:image,augment=mixup", "label:number",
               "l=label:one_hot,length=3,dtype=f32,mixes=image,smoothing=0.3"},
        .count = 3};
    struct column_set *set = calloc(1, sizeof *set);
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_loader *loader = NULL;
    assert_int_equal(column_set_parse(set, &texts), TOOL_FINE);
    sluice_batch *batch = first_batch(dataset, set, &loader);
    const float *rows = tensor_of(batch, "l").data;
    const float *weights = tensor_of(batch, "image.weight").data;
    const int64_t *partners = tensor_of(batch, "image.mixed_with").data;
    const int64_t *labels = tensor_of(batch, "label").data;
    for (size_t i = 0; i < SAMPLES; i++) {
        for (int64_t k = 0; k < 3; k++) {
            const double own = labels[i] == k ? 0.8 : 0.1;
            const double other = labels[partners[i]] == k ? 0.8 : 0.1;
            const double expected = weights[i] * own + (1 - weights[i]) * other;
            assert_true(fabs(rows[i * 3 + (size_t)k] - expected) < 1e-6);
        }
    }
    assert_true(weights[0] < 1);
    sluice_batch_release(batch);
    sluice_loader_close(loader);
    sluice_dataset_close(dataset);
    free(set);
}

TEST(test_refusals)
{
    static const char *const wrong[] = {"x:nothing", "i:image,padding=3",
                                        "i:image,crop=random,area-min=1",
                                        "i:image,area-min=0.9,area-max=0.5", "c:window"};
    struct column_set *set = calloc(1, sizeof *set);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct option_list texts = {.at = {wrong[i]}, .count = 1};
        sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
        struct column_source source;
        int code = column_set_parse(set, &texts);
        if (code == TOOL_FINE) {
            code = column_set_make(set, &look, &source, &options);
        }
        assert_int_equal(code, TOOL_USAGE);
    }
    free(set);
}
