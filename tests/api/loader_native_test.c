/* SPDX-License-Identifier: Apache-2.0 */
/* Tests native steps. The oracle is random_invert, a step of the library: a native function that
 * inverts gives the same batches in its place, bit for bit, at any position. Also tests seeds,
 * errors, and the lifetime of the user data. */
#include "batches.h"
#include "loader_setup.h"
#include "test.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { CLASSES = 2, PER_CLASS = 8, SAMPLES = CLASSES * PER_CLASS, SIDE = 32 };

static photo_folder photos;

static int make_photos(void **state)
{
    (void)state;
    photo_folder_make(&photos, CLASSES, PER_CLASS);
    return 0;
}

static int remove_photos(void **state)
{
    (void)state;
    photo_folder_remove(&photos);
    return 0;
}

TEST_GROUP(make_photos, remove_photos)

/* ---- functions ---- */

static int invert(uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, uint64_t seed,
                  void *user_data)
{
    (void)seed;
    (void)user_data;
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t i = 0; i < width * 3; i++) {
            pixels[y * stride + i] = (uint8_t)(255 - pixels[y * stride + i]);
        }
    }
    return 0;
}

/* Writes the seed at the offset that *user_data gives. */
static int write_seed(uint8_t *pixels, uint32_t width, uint32_t height, size_t stride,
                      uint64_t seed, void *user_data)
{
    (void)width;
    (void)height;
    (void)stride;
    memcpy(pixels + *(const size_t *)user_data, &seed, sizeof(seed));
    return 0;
}

/* Fails with 7 for every other image, by its seed. */
// NOLINTNEXTLINE(readability-non-const-parameter): of sluice_native_function
static int refuse_some(uint8_t *pixels, uint32_t width, uint32_t height, size_t stride,
                       uint64_t seed, void *user_data)
{
    (void)pixels;
    (void)width;
    (void)height;
    (void)stride;
    atomic_fetch_add_explicit((atomic_uint *)user_data, 1, memory_order_relaxed);
    return seed % 2 == 0 ? 7 : 0;
}

/* ---- recipes ---- */

/* '!' inverts, with a native function or with the library's step. */
static void add_invert(sluice_augment *recipe, bool native)
{
    assert_int_equal(native ? sluice_augment_native(recipe, invert, NULL, NULL, NULL)
                            : sluice_augment_add(recipe, "random_invert", (const double[]){1}, 1),
                     SLUICE_OK);
}

static void add(sluice_augment *recipe, const char *name, const double *arguments, uint32_t count)
{
    assert_int_equal(sluice_augment_add(recipe, name, arguments, count), SLUICE_OK);
}

#define ADD(name, ...)                               \
    add(recipe, name, (const double[]){__VA_ARGS__}, \
        sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static void before_the_crop(sluice_augment *recipe, bool native)
{
    add_invert(recipe, native);
    ADD("random_resized_crop", SIDE, SIDE);
    ADD("random_flip", 0.5);
}

static void behind_the_crop(sluice_augment *recipe, bool native)
{
    ADD("random_resized_crop", SIDE, SIDE);
    ADD("random_flip", 0.5);
    add_invert(recipe, native);
}

static void between_operations(sluice_augment *recipe, bool native)
{
    ADD("random_resized_crop", SIDE, SIDE);
    ADD("color_jitter", 0.4, 0.4, 0.4, 0.1);
    add_invert(recipe, native);
    ADD("gaussian_blur", 5, 5);
    add_invert(recipe, native);
    ADD("random_rotation", -20, 20, 1);
    add_invert(recipe, native);
    ADD("random_equalize", 0.5);
    ADD("random_erasing", 0.5);
}

static void in_groups(sluice_augment *recipe, bool native)
{
    ADD("random_resized_crop", SIDE, SIDE);
    assert_int_equal(sluice_augment_begin(recipe, "random_apply", (const double[]){0.5}, 1),
                     SLUICE_OK);
    add_invert(recipe, native);
    ADD("random_grayscale", 0.5);
    assert_int_equal(sluice_augment_end(recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_begin(recipe, "random_choice", NULL, 0), SLUICE_OK);
    add_invert(recipe, native);
    ADD("random_solarize", 128, 1);
    assert_int_equal(sluice_augment_end(recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_begin(recipe, "random_order", NULL, 0), SLUICE_OK);
    add_invert(recipe, native);
    ADD("random_posterize", 3, 1);
    assert_int_equal(sluice_augment_end(recipe), SLUICE_OK);
}

static void behind_a_mosaic(sluice_augment *recipe, bool native)
{
    ADD("mosaic", SIDE);
    ADD("random_affine", 0, 0, 0.1, 0.1, 0.5, 1.5);
    add_invert(recipe, native);
    ADD("center_crop", SIDE, SIDE);
    add_invert(recipe, native);
    add_invert(recipe, native);
}

static void around_a_partner(sluice_augment *recipe, bool native)
{
    ADD("random_resized_crop", SIDE, SIDE);
    add_invert(recipe, native);
    ADD("mixup_partner", 1);
    add_invert(recipe, native);
}

static void in_a_mixed_batch(sluice_augment *recipe, bool native)
{
    ADD("random_resized_crop", SIDE, SIDE);
    add_invert(recipe, native);
    ADD("mixup", 1);
}

static void alone(sluice_augment *recipe, bool native)
{
    ADD("center_crop", SIDE, SIDE);
    add_invert(recipe, native);
    add_invert(recipe, native);
    add_invert(recipe, native);
}

static void without_any(sluice_augment *recipe, bool native)
{
    (void)native;
    ADD("random_resized_crop", SIDE, SIDE);
}

typedef void fill_recipe(sluice_augment *recipe, bool native);

static sluice_loader *open_loader(sluice_augment *recipe, const sluice_loader_options *options)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_loader *loader = NULL;
    const sluice_status status = sluice_loader_open(&loader, dataset, recipe, options, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, SLUICE_OK);
    sluice_augment_destroy(recipe);
    sluice_dataset_close(dataset);
    return loader;
}

static void collect(batches *all, fill_recipe *fill, bool native,
                    const sluice_loader_options *options)
{
    const float mean[] = {0.485F, 0.456F, 0.406F};
    const float stddev[] = {0.229F, 0.224F, 0.225F};
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    fill(recipe, native);
    if (options->dtype != SLUICE_U8) {
        assert_int_equal(sluice_augment_normalize(recipe, mean, stddev, 3), SLUICE_OK);
    }
    sluice_loader *loader = open_loader(recipe, options);
    batches_collect(all, loader, 1);
    assert_int_equal(all->end, SLUICE_END);
    assert_int_equal(all->rows, SAMPLES);
    sluice_loader_close(loader);
}

TEST(a_function_does_what_a_step_of_the_library_does)
{
    static fill_recipe *const recipes[] = {
        alone,           before_the_crop,  behind_the_crop,  in_groups,
        behind_a_mosaic, around_a_partner, in_a_mixed_batch, between_operations};
    static const struct {
        sluice_dtype dtype;
        sluice_layout layout;
        uint32_t workers;
    } outputs[] = {{SLUICE_U8, SLUICE_NHWC, 1}, {SLUICE_F16, SLUICE_NCHW, 3}};
    for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
        for (size_t k = 0; k < sizeof(outputs) / sizeof(outputs[0]); k++) {
            batches ours;
            batches theirs;
            sluice_loader_options options = setup_options();
            options.dtype = (int32_t)outputs[k].dtype;
            options.layout = (int32_t)outputs[k].layout;
            options.workers = outputs[k].workers;
            collect(&ours, recipes[i], true, &options);
            collect(&theirs, recipes[i], false, &options);
            assert_true(batches_equal(&ours, &theirs));
            batches_free(&ours);
            batches_free(&theirs);
        }
    }
}

/* ---- seeds ---- */

enum { STEPS = 3 };
static size_t places[STEPS] = {0, sizeof(uint64_t), 2 * sizeof(uint64_t)};

static void write_seeds(sluice_augment *recipe, bool native)
{
    (void)native;
    ADD("random_resized_crop", SIDE, SIDE);
    for (int i = 0; i < STEPS; i++) {
        assert_int_equal(sluice_augment_native(recipe, write_seed, &places[i], NULL, "seed"),
                         SLUICE_OK);
    }
}

static uint64_t seed_of(const batches *all, uint64_t row, uint64_t step)
{
    uint64_t seed;
    memcpy(&seed, all->images + row * all->row_bytes + places[step], sizeof(seed));
    return seed;
}

TEST(each_row_and_step_has_a_seed_of_its_own)
{
    batches runs[2];
    batches plain;
    sluice_loader_options options = setup_options();
    for (uint32_t i = 0; i < 2; i++) {
        options.workers = 1 + 2 * i;
        collect(&runs[i], write_seeds, true, &options);
    }
    collect(&plain, without_any, true, &options);
    assert_true(batches_equal(&runs[0], &runs[1]));
    const uint64_t count = runs[0].rows * STEPS;
    for (uint64_t i = 0; i < count; i++) {
        for (uint64_t k = i + 1; k < count; k++) {
            assert_true(seed_of(runs, i / STEPS, i % STEPS) != seed_of(runs, k / STEPS, k % STEPS));
        }
    }
    for (uint64_t row = 0; row < plain.rows; row++) { /* everything else is unchanged */
        const size_t head = STEPS * sizeof(uint64_t);
        assert_memory_equal(plain.images + row * plain.row_bytes + head,
                            runs[0].images + row * plain.row_bytes + head, plain.row_bytes - head);
    }
    batches_free(&runs[0]);
    batches_free(&runs[1]);
    batches_free(&plain);
}

TEST(random_bits_are_those_of_splitmix64)
{
    /* java.util.SplittableRandom's first numbers for the seed 1234567. */
    static const uint64_t expected[] = {UINT64_C(6457827717110365317),
                                        UINT64_C(3203168211198807973),
                                        UINT64_C(9817491932198370423)};
    uint64_t bits = 1234567;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(sluice_native_random(&bits), expected[i]);
    }
}

/* ---- errors ---- */

static atomic_uint calls;

static void refuse(sluice_augment *recipe, bool native)
{
    (void)native;
    ADD("random_resized_crop", SIDE, SIDE);
    assert_int_equal(sluice_augment_native(recipe, refuse_some, &calls, NULL, "fog"), SLUICE_OK);
}

TEST(another_number_than_0_makes_a_bad_sample)
{
    batches all;
    sluice_loader_options options = setup_options();
    options.on_bad_sample = SLUICE_BAD_MASK;
    atomic_store_explicit(&calls, 0, memory_order_relaxed);
    collect(&all, refuse, true, &options);
    uint64_t bad = 0;
    for (uint64_t i = 0; i < all.rows; i++) {
        bad += all.mask[i] == 0;
        assert_int_equal(all.status[i], all.mask[i] != 0 ? SLUICE_ROW_OK : SLUICE_ROW_BAD);
    }
    assert_true(bad > 0 && bad < all.rows);
    assert_true(atomic_load_explicit(&calls, memory_order_relaxed) >= SAMPLES);
    batches_free(&all);
}

TEST(the_error_names_the_step_and_the_number)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment *recipe = NULL;
    batches all;
    const sluice_loader_options options = setup_options();
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    refuse(recipe, true);
    sluice_loader *loader = open_loader(recipe, &options);
    batches_collect(&all, loader, 0);
    assert_int_equal(all.end, SLUICE_UNSUPPORTED);
    assert_int_equal(sluice_loader_get_error(loader, &error), SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "native step \"fog\": its function returned 7 for an image "
                                       "of 32 x 32"));
    assert_true(error.sample >= 0 && error.sample < SAMPLES);
    batches_free(&all);
    sluice_loader_close(loader);
}

/* ---- user data ---- */

static void count_free(void *user_data)
{
    ++*(int *)user_data;
}

static sluice_augment *recipe_of(int *freed)
{
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    ADD("random_resized_crop", SIDE, SIDE);
    assert_int_equal(sluice_augment_native(recipe, invert, freed, count_free, "counted"),
                     SLUICE_OK);
    return recipe;
}

TEST(user_data_lives_until_the_last_of_its_users_is_gone)
{
    int freed = 0;
    sluice_loader_options options = setup_options();
    sluice_augment_destroy(recipe_of(&freed));
    assert_int_equal(freed, 1);
    freed = 0;
    sluice_loader *loader = open_loader(recipe_of(&freed), &options);
    assert_int_equal(freed, 0); /* the recipe is already destroyed */
    batches all;
    batches_collect(&all, loader, 0);
    assert_int_equal(all.end, SLUICE_END);
    batches_free(&all);
    sluice_loader_close(loader);
    assert_int_equal(freed, 1);
}

TEST(views_share_user_data)
{
    int freed = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment *recipe = recipe_of(&freed);
    sluice_columns *columns = NULL;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    static const char *const names[] = {"image", "b"};
    for (int i = 0; i < 2; i++) {
        sluice_column column = SLUICE_COLUMN_INIT;
        column.kind = SLUICE_COLUMN_IMAGE;
        column.field = "image";
        column.name = names[i];
        column.recipe = recipe;
        assert_int_equal(sluice_columns_add(columns, &column), SLUICE_OK);
    }
    sluice_augment_destroy(recipe);
    sluice_loader_options options = setup_options();
    options.columns = columns;
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_loader *loader = NULL;
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, &error), SLUICE_OK);
    assert_int_equal(freed, 0);
    sluice_loader_close(loader);
    assert_int_equal(freed, 0);
    options.batch_size = 0; /* fails without losing anything or freeing it twice */
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, &error), SLUICE_INVALID);
    sluice_dataset_close(dataset);
    assert_int_equal(freed, 0);
    sluice_columns_destroy(columns);
    assert_int_equal(freed, 1);
}

TEST(a_call_that_is_refused_frees_the_user_data)
{
    static const char longest[] =
        "0123456789012345678901234567890123456789012345678901234567890123";
    sluice_error error = SLUICE_ERROR_INIT;
    const struct {
        sluice_native_function function;
        const char *name, *words;
    } refused[] = {{NULL, NULL, "sluice_augment_native: function is NULL"},
                   {invert, "", "the name is empty"},
                   {invert, "a\nb", "control character"},
                   {invert, longest, "longer than 63 bytes"}};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        int freed = 0;
        sluice_augment *recipe = NULL;
        assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
        assert_int_equal(
            sluice_augment_native(recipe, refused[i].function, &freed, count_free, refused[i].name),
            SLUICE_INVALID);
        assert_int_equal(sluice_augment_get_error(recipe, &error), SLUICE_INVALID);
        assert_non_null(strstr(error.text, refused[i].words));
        sluice_augment_destroy(recipe);
        assert_int_equal(freed, 1);
    }
    int freed = 0;
    assert_int_equal(sluice_augment_native(NULL, invert, &freed, count_free, NULL), SLUICE_INVALID);
    assert_int_equal(freed, 1);
}

TEST(there_are_15_at_most_and_none_by_name)
{
    int freed = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(sluice_augment_native(recipe, invert, &freed, count_free, NULL),
                         i < 15 ? SLUICE_OK : SLUICE_STATE);
    }
    assert_int_equal(freed, 1);
    sluice_augment_destroy(recipe);
    assert_int_equal(freed, 16);
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, "native", NULL, 0), SLUICE_INVALID);
    assert_int_equal(sluice_augment_get_error(recipe, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "add it with sluice_augment_native"));
    sluice_augment_destroy(recipe);
}
