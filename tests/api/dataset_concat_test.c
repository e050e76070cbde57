/* SPDX-License-Identifier: Apache-2.0 */
/* Tests joined datasets through the public interface: each sample is its part's, however it is
 * read; order, ranks and cursors behave as for any dataset; mismatching parts fail with their
 * names. The parts are an image folder, shards of the same images, and shards of tensors. */
#include "batches.h"
#include "dataset_checks.h"
#include "loader_setup.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 3, EACH = 7, PHOTOS = CLASSES * EACH, PARTS = 3, ALL = PARTS * PHOTOS };
enum { FIELD_MAX = 1 << 16 };

static photo_folder folder;
static char root[200], packed[256];

/* Joins folder, shards and folder. */
static void open_parts(sluice_dataset *parts[PARTS])
{
    parts[0] = dataset_opened(folder.path);
    parts[1] = dataset_opened(packed);
    parts[2] = dataset_opened(folder.path);
}

static sluice_dataset *join(sluice_dataset *const *parts, size_t count)
{
    sluice_dataset *joined = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_concat(&joined, parts, count, NULL, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return joined;
}

static sluice_dataset *join_all(void)
{
    sluice_dataset *parts[PARTS];
    open_parts(parts);
    sluice_dataset *joined = join(parts, PARTS);
    for (size_t i = 0; i < PARTS; i++) {
        sluice_dataset_close(parts[i]); /* the joined dataset keeps them */
    }
    return joined;
}

static int set_up(void **state)
{
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    sluice_pack_result result = SLUICE_PACK_RESULT_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    photo_folder_make(&folder, CLASSES, EACH);
    temporary_directory(root, sizeof(root));
    (void)snprintf(packed, sizeof(packed), "%s/packed", root);
    options.keep_bytes = 1;
    options.keep_order = 1;
    sluice_dataset *dataset = dataset_opened(folder.path);
    const sluice_status status = sluice_pack(dataset, packed, &options, &result, &error);
    sluice_dataset_close(dataset);
    if (status != SLUICE_OK) {
        print_error("%s\n", error.text);
    }
    return status == SLUICE_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    photo_folder_remove(&folder);
    remove_tree(root);
    return 0;
}

/* ---- samples ---- */

static void expect_same_field(const sluice_dataset *a, uint64_t i, const sluice_dataset *b,
                              uint64_t k, const char *field)
{
    static uint8_t left[FIELD_MAX];
    static uint8_t right[FIELD_MAX];
    size_t sizes[2] = {0};
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_dataset_read(a, i, field, left, FIELD_MAX, &sizes[0], &error),
                     SLUICE_OK);
    assert_int_equal(sluice_dataset_read(b, k, field, right, FIELD_MAX, &sizes[1], &error),
                     SLUICE_OK);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(left, right, sizes[0]);
}

TEST(test_samples_are_those_of_the_parts)
{
    static sluice_sample_info own;
    static sluice_sample_info other;
    sluice_dataset *parts[PARTS];
    open_parts(parts);
    sluice_dataset *joined = join(parts, PARTS);
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(joined, &info), SLUICE_OK);
    assert_int_equal(info.samples, ALL);
    assert_int_equal(info.classes, CLASSES);
    assert_int_equal(info.fields, 3);
    assert_string_equal(info.format, "mixed");
    assert_string_equal(sluice_dataset_class_name(joined, 1), "c01");
    for (uint64_t i = 0; i < ALL; i++) {
        const sluice_dataset *part = parts[i / PHOTOS];
        own = other = (sluice_sample_info)SLUICE_SAMPLE_INFO_INIT;
        assert_int_equal(sluice_dataset_get_sample(joined, i, &own, NULL), SLUICE_OK);
        assert_int_equal(sluice_dataset_get_sample(part, i % PHOTOS, &other, NULL), SLUICE_OK);
        assert_memory_equal(&own, &other, sizeof(own));
        expect_same_field(joined, i, part, i % PHOTOS, "image");
        expect_same_field(joined, i, part, i % PHOTOS, "label");
        expect_same_field(joined, i, part, i % PHOTOS, "key");
    }
    assert_int_equal(sluice_dataset_get_sample(joined, ALL, &own, NULL), SLUICE_INVALID);
    sluice_dataset_close(joined);
    for (size_t i = 0; i < PARTS; i++) {
        sluice_dataset_close(parts[i]);
    }
}

static uint64_t fingerprint_of(const sluice_dataset *dataset)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    return info.fingerprint;
}

/* (a + b) + c equals a + b + c and no other order of the parts. */
TEST(test_parts_are_taken_apart)
{
    sluice_dataset *parts[PARTS];
    open_parts(parts);
    sluice_dataset *whole = join(parts, PARTS);
    sluice_dataset *first = join(parts, 2);
    sluice_dataset *nested = join((sluice_dataset *[]){first, parts[2]}, 2);
    sluice_dataset *turned = join((sluice_dataset *[]){parts[1], parts[0], parts[2]}, PARTS);
    assert_int_equal(fingerprint_of(nested), fingerprint_of(whole));
    assert_int_not_equal(fingerprint_of(turned), fingerprint_of(whole));
    assert_int_not_equal(fingerprint_of(first), fingerprint_of(whole));
    sluice_dataset *const all[] = {whole, first, nested, turned, parts[0], parts[1], parts[2]};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        sluice_dataset_close(all[i]);
    }
}

TEST(test_verify_looks_at_all)
{
    sluice_dataset *joined = join_all();
    sluice_verify_options options = SLUICE_VERIFY_OPTIONS_INIT;
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    options.decode = 1;
    assert_int_equal(sluice_dataset_verify(joined, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.samples, ALL);
    assert_int_equal(result.bad, 0);
    sluice_dataset_close(joined);
}

TEST(test_it_can_be_packed)
{
    char path[300];
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    sluice_pack_result result = SLUICE_PACK_RESULT_INIT;
    (void)snprintf(path, sizeof(path), "%s/all", root);
    options.keep_order = 1;
    options.keep_bytes = 1;
    sluice_dataset *joined = join_all();
    assert_int_equal(sluice_pack(joined, path, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.samples, ALL);
    sluice_dataset *again = dataset_opened(path);
    for (uint64_t i = 0; i < ALL; i++) {
        expect_same_field(joined, i, again, i, "image");
        expect_same_field(joined, i, again, i, "key");
    }
    sluice_dataset_close(again);
    sluice_dataset_close(joined);
}

/* ---- loaders ---- */

static sluice_loader *open_loader(sluice_dataset *dataset, const sluice_loader_options *options)
{
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment *recipe = setup_recipe(false);
    if (sluice_loader_open(&loader, dataset, recipe, options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_augment_destroy(recipe);
    return loader;
}

static void collect(batches *all, const sluice_loader_options *options, uint64_t epoch)
{
    sluice_dataset *joined = join_all();
    sluice_loader *loader = open_loader(joined, options);
    sluice_dataset_close(joined);
    batches_collect(all, loader, epoch);
    assert_int_equal(all->end, SLUICE_END);
    sluice_loader_close(loader);
}

/* Regardless of the number of workers and the reading method: each sample once, the same bytes. */
TEST(test_batches_do_not_depend_on_workers)
{
    batches first = {0};
    for (uint32_t workers = 1; workers <= 4; workers += 3) {
        for (int32_t shuffle = SLUICE_SHUFFLE_FULL; shuffle <= SLUICE_SHUFFLE_NONE; shuffle++) {
            sluice_loader_options options = setup_options();
            batches all = {0};
            options.workers = workers;
            options.shuffle = shuffle;
            options.last_batch = SLUICE_LAST_SHORT;
            collect(&all, &options, 3);
            bool seen[ALL] = {false};
            assert_int_equal(all.rows, ALL);
            for (uint64_t i = 0; i < all.rows; i++) {
                assert_false(seen[all.indices[i]]);
                seen[all.indices[i]] = true;
                assert_int_equal(all.labels[i], all.indices[i] % PHOTOS / EACH);
            }
            if (shuffle == SLUICE_SHUFFLE_FULL && workers == 1) {
                first = all;
            } else if (shuffle == SLUICE_SHUFFLE_FULL) {
                assert_true(batches_equal(&first, &all));
                batches_free(&all);
            } else {
                batches_free(&all);
            }
        }
    }
    batches_free(&first);
}

TEST(test_ranks_share_an_epoch)
{
    bool seen[ALL] = {false};
    for (uint32_t rank = 0; rank < 3; rank++) {
        sluice_loader_options options = setup_options();
        batches all = {0};
        options.rank = rank;
        options.world_size = 3;
        options.last_batch = SLUICE_LAST_SHORT;
        collect(&all, &options, 0);
        for (uint64_t i = 0; i < all.rows; i++) {
            assert_false(seen[all.indices[i]]);
            seen[all.indices[i]] = true;
        }
        batches_free(&all);
    }
    for (uint64_t i = 0; i < ALL; i++) {
        assert_true(seen[i]);
    }
}

TEST(test_a_cursor_continues)
{
    sluice_loader_options options = setup_options();
    batches whole = {0};
    options.last_batch = SLUICE_LAST_SHORT;
    collect(&whole, &options, 1);
    for (uint64_t stop = 0; stop < whole.steps; stop++) {
        uint8_t cursor[SLUICE_CURSOR_BYTES];
        size_t bytes = sizeof(cursor);
        uint64_t epoch = 0;
        batches both = {0};
        sluice_dataset *joined = join_all();
        sluice_loader *loader = open_loader(joined, &options);
        assert_int_equal(sluice_loader_start_epoch(loader, 1), SLUICE_OK);
        batches_continue(&both, loader, stop);
        assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_OK);
        sluice_loader_close(loader);
        loader = open_loader(joined, &options);
        sluice_dataset_close(joined);
        assert_int_equal(sluice_loader_restore(loader, cursor, bytes, &epoch), SLUICE_OK);
        assert_int_equal(epoch, 1);
        batches rest = {0};
        batches_collect(&rest, loader, epoch);
        batches_append(&both, &rest);
        assert_int_equal(both.rows, whole.rows);
        assert_memory_equal(both.indices, whole.indices, whole.rows * sizeof(*whole.indices));
        assert_memory_equal(both.images, whole.images, whole.rows * whole.row_bytes);
        sluice_loader_close(loader);
        batches_free(&rest);
        batches_free(&both);
    }
    batches_free(&whole);
}

TEST(test_the_cursor_of_a_part_is_refused)
{
    uint8_t cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = sizeof(cursor);
    uint64_t epoch = 0;
    const sluice_loader_options options = setup_options();
    sluice_dataset *part = dataset_opened(folder.path);
    sluice_dataset *joined = join_all();
    sluice_loader *loader = open_loader(part, &options);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_OK);
    sluice_loader_close(loader);
    loader = open_loader(joined, &options);
    assert_int_equal(sluice_loader_restore(loader, cursor, bytes, &epoch), SLUICE_INVALID);
    sluice_loader_close(loader);
    sluice_dataset_close(part);
    sluice_dataset_close(joined);
}

/* ---- fields ---- */

typedef struct tensor_set {
    const char *name; /* of the tensor */
    int32_t dtype;
    uint32_t dims;
    int64_t length; /* 0: differs */
    int turned;     /* the label comes first */
} tensor_set;

/* Sample i has label i and a tensor filled with i. */
static sluice_dataset *write_tensors(const char *where, const tensor_set *set)
{
    char path[300];
    sluice_field fields[2] = {SLUICE_FIELD_INIT, SLUICE_FIELD_INIT};
    sluice_field *tensor = &fields[set->turned];
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    sluice_writer *writer = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    (void)snprintf(path, sizeof(path), "%s/%s", root, where);
    (void)snprintf(tensor->name, sizeof(tensor->name), "%s", set->name);
    tensor->type = SLUICE_FIELD_TENSOR;
    tensor->dtype = set->dtype;
    tensor->dims = set->dims;
    tensor->shape[0] = set->length;
    (void)snprintf(fields[!set->turned].name, sizeof(fields[0].name), "number");
    fields[!set->turned].type = SLUICE_FIELD_INT;
    options.fields = fields;
    options.field_count = 2;
    assert_int_equal(sluice_writer_open(&writer, path, &options, &error), SLUICE_OK);
    for (int64_t i = 0; i < 20; i++) {
        sluice_value values[2] = {SLUICE_VALUE_INIT, SLUICE_VALUE_INIT};
        float numbers[8];
        const int64_t length = set->length > 0 ? set->length : 1 + i % 5;
        for (int64_t k = 0; k < 8; k++) {
            numbers[k] = (float)(100 * i + k);
        }
        values[!set->turned].integer = i;
        values[set->turned].data = numbers;
        values[set->turned].bytes = (uint64_t)length * sizeof(float);
        for (uint32_t d = 0; d < set->dims; d++) {
            values[set->turned].shape[d] = d == 0 ? length : 1;
        }
        assert_int_equal(sluice_writer_add_values(writer, values, 2, &error), SLUICE_OK);
    }
    assert_int_equal(sluice_writer_finish(writer, &error), SLUICE_OK);
    return dataset_opened(path);
}

static const void *column_of(const sluice_batch *batch, const char *name)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, name, &tensor), SLUICE_OK);
    return tensor.data;
}

/* An epoch, here one batch, of two sets of 20 samples. */
static void expect_rows(sluice_dataset *two)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    sluice_loader *loader = NULL;
    sluice_batch *batch = NULL;
    options.batch_size = 40;
    assert_int_equal(sluice_loader_open(&loader, two, NULL, &options, NULL), SLUICE_OK);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    const float *x = column_of(batch, "x");
    const int64_t *number = column_of(batch, "number");
    const int64_t *index = column_of(batch, "index");
    for (size_t i = 0; i < 40; i++) {
        assert_int_equal(number[i], index[i] % 20);
        assert_true(x[4 * i + 3] == (float)(100 * number[i] + 3));
    }
    sluice_batch_release(batch);
    sluice_loader_close(loader);
}

/* With another field order and differing lengths, the values are still those of the parts. */
TEST(test_fields_are_found_by_name)
{
    const tensor_set sets[] = {
        {"x", SLUICE_F32, 1, 4, 0}, {"x", SLUICE_F32, 1, 4, 1}, {"x", SLUICE_F32, 1, 0, 1}};
    sluice_dataset *parts[3];
    sluice_field field = SLUICE_FIELD_INIT;
    parts[0] = write_tensors("t0", &sets[0]);
    parts[1] = write_tensors("t1", &sets[1]);
    parts[2] = write_tensors("t2", &sets[2]);
    sluice_dataset *two = join(parts, 2);
    assert_int_equal(sluice_dataset_get_field(two, 0, &field), SLUICE_OK);
    assert_string_equal(field.name, "x");
    assert_int_equal(field.shape[0], 4);
    sluice_dataset *three = join(parts, 3);
    assert_int_equal(sluice_dataset_get_field(three, 0, &field), SLUICE_OK);
    assert_int_equal(field.shape[0], 0);
    for (uint64_t i = 0; i < 60; i++) {
        expect_same_field(three, i, parts[i / 20], i % 20, "x");
        expect_same_field(three, i, parts[i / 20], i % 20, "number");
    }

    expect_rows(two);
    sluice_dataset *const all[] = {two, three, parts[0], parts[1], parts[2]};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        sluice_dataset_close(all[i]);
    }
}

static void expect_refused(sluice_dataset *a, sluice_dataset *b,
                           const sluice_concat_options *options, const char *words)
{
    sluice_dataset *joined = a;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_dataset_concat(&joined, (sluice_dataset *[]){a, b}, 2, options, &error),
                     SLUICE_INVALID);
    assert_null(joined);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    }
}

TEST(test_what_differs_is_named)
{
    const tensor_set sets[] = {{"x", SLUICE_F32, 1, 4, 0},
                               {"y", SLUICE_F32, 1, 4, 0},
                               {"x", SLUICE_I32, 1, 4, 0},
                               {"x", SLUICE_F32, 2, 0, 0},
                               {"number", SLUICE_F32, 1, 4, 0}};
    sluice_dataset *base = write_tensors("d0", &sets[0]);
    sluice_dataset *name = write_tensors("d1", &sets[1]);
    sluice_dataset *dtype = write_tensors("d2", &sets[2]);
    sluice_dataset *dims = write_tensors("d3", &sets[3]);
    sluice_dataset *photos = dataset_opened(folder.path);
    photo_folder other;
    photo_folder_make(&other, CLASSES + 1, 2);
    sluice_dataset *classes = dataset_opened(other.path);
    expect_refused(base, name, NULL, "dataset 2 has no field \"x\"");
    expect_refused(base, dtype, NULL, "field \"x\" is a tensor i32 in dataset 2 and f32");
    expect_refused(base, dims, NULL, "field \"x\" has 2 dimensions in dataset 2 and 1");
    expect_refused(base, photos, NULL, "dataset 2 has no field \"x\"");
    expect_refused(photos, classes, NULL, "dataset 2 has 4 classes and dataset 1 has 3");

    const char *number = "number";
    sluice_concat_options options = SLUICE_CONCAT_OPTIONS_INIT;
    options.fields = &number;
    options.field_count = 1;
    expect_refused(photos, base, &options, "dataset 1 has no field \"number\"");
    expect_refused(base, photos, &options, "dataset 2 has no field \"number\"");
    sluice_dataset *joined = NULL;
    assert_int_equal(
        sluice_dataset_concat(&joined, (sluice_dataset *[]){base, name}, 2, &options, NULL),
        SLUICE_OK);
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(joined, &info), SLUICE_OK);
    assert_int_equal(info.fields, 1);
    expect_same_field(joined, 27, name, 7, "number");
    sluice_dataset *const all[] = {joined, base, name, dtype, dims, photos, classes};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        sluice_dataset_close(all[i]);
    }
    photo_folder_remove(&other);
}

TEST(test_wrong_calls)
{
    sluice_dataset *joined = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *photos = dataset_opened(folder.path);
    sluice_dataset *missing[2] = {photos, NULL};
    sluice_concat_options options = SLUICE_CONCAT_OPTIONS_INIT;
    assert_int_equal(sluice_dataset_concat(NULL, missing, 1, NULL, &error), SLUICE_INVALID);
    assert_int_equal(sluice_dataset_concat(&joined, NULL, 0, NULL, &error), SLUICE_INVALID);
    assert_int_equal(sluice_dataset_concat(&joined, missing, 2, NULL, &error), SLUICE_INVALID);
    options.field_count = 1;
    assert_int_equal(sluice_dataset_concat(&joined, missing, 1, &options, &error), SLUICE_INVALID);
    options.struct_size = 1;
    assert_int_equal(sluice_dataset_concat(&joined, missing, 1, &options, &error), SLUICE_INVALID);
    assert_null(joined);
    sluice_dataset_close(photos);
}

/* Many copies of one image in a folder, read as whole files. */
TEST(test_the_same_one_several_times)
{
    enum { TIMES = 40 };
    sluice_dataset *photos = dataset_opened(folder.path);
    sluice_dataset *many[TIMES];
    for (size_t i = 0; i < TIMES; i++) {
        many[i] = photos;
    }
    sluice_dataset *joined = join(many, TIMES);
    sluice_dataset_close(photos);
    sluice_loader_options options = setup_options();
    batches all = {0};
    options.last_batch = SLUICE_LAST_SHORT;
    sluice_loader *loader = open_loader(joined, &options);
    sluice_dataset_close(joined);
    batches_collect(&all, loader, 0);
    assert_int_equal(all.end, SLUICE_END);
    assert_int_equal(all.rows, TIMES * PHOTOS);
    sluice_loader_close(loader);
    batches_free(&all);
}

TEST_GROUP(set_up, tear_down)
