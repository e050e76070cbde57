/* SPDX-License-Identifier: Apache-2.0 */
/* Tests mixed rows of a batch: against a model that knows only the unmixed batches of a loader
 * without the step and the parts with partner and weight; and errors.
 * loader_mixing_reproducible_test checks that they are reproducible. */
#include "loader_setup.h"
#include "mixed_epochs.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = MIXED_WIDTH, HEIGHT = MIXED_HEIGHT, PIXELS = WIDTH * HEIGHT };
enum { ELEMENTS = 3 * PIXELS, LABELS = MIXED_CLASSES };

static const mixed_step unmixed = {.name = NULL};

/* ---- the model ---- */

/* Encodes a number rounded to `bits` bits of fraction, with that least exponent, by arithmetic in
 * binary64. */
static uint16_t encode(float value, int bits, int least)
{
    const int width = bits == 10 ? 5 : 8;
    const double size = fabs((double)value);
    int exponent = size == 0 ? least : ilogb(size);
    exponent = exponent < least ? least : exponent;
    const double units = nearbyint(ldexp(size, bits - exponent));
    const uint32_t code = (uint32_t)units + ((uint32_t)(exponent - least) << bits);
    return (uint16_t)(code | (uint32_t)(signbit(value) != 0) << (bits + width));
}

static bool element_is(const mixed_form *how, const uint8_t *row, size_t i, float value)
{
    uint16_t narrow;
    uint32_t stored;
    uint32_t bits;
    switch (how->dtype) {
    case SLUICE_U8:
        return (float)row[i] == value;
    case SLUICE_F32:
        memcpy(&stored, row + i * 4, 4);
        memcpy(&bits, &value, 4);
        return stored == bits;
    default:
        memcpy(&narrow, row + i * 2, 2);
        return narrow ==
               (how->dtype == SLUICE_F16 ? encode(value, 10, -14) : encode(value, 7, -126));
    }
}

/* An epoch of mixed rows and the rows they are made from: bytes, or binary32 numbers. */
typedef struct comparison {
    const mixed_form *how;
    const mixed_epoch *mixed, *plain;
    uint64_t mixups, cuts, none;
    double weights;
} comparison;

static float plain_element(const comparison *c, uint64_t row, size_t i)
{
    float value;
    if (c->how->dtype == SLUICE_U8) {
        return (float)c->plain->arrays[MIXED_IMAGE][row * ELEMENTS + i];
    }
    memcpy(&value, c->plain->arrays[MIXED_IMAGE] + (row * ELEMENTS + i) * 4, 4);
    return value;
}

static const uint8_t *mixed_row(const comparison *c, uint64_t row)
{
    return c->mixed->arrays[MIXED_IMAGE] + row * (c->mixed->bytes[MIXED_IMAGE] / c->mixed->rows);
}

static bool is_shares(const comparison *c, uint64_t row, uint64_t other, float weight)
{
    const float rest = 1.0F - weight;
    for (size_t i = 0; i < ELEMENTS; i++) {
        const float second = rest * plain_element(c, other, i);
        const float value = fmaf(weight, plain_element(c, row, i), second);
        if (!element_is(c->how, mixed_row(c, row), i,
                        c->how->dtype == SLUICE_U8 ? nearbyintf(value) : value)) {
            return false;
        }
    }
    return true;
}

/* Returns the pixel of element number i. */
static size_t pixel_of(const mixed_form *how, size_t i)
{
    return how->layout == SLUICE_NCHW ? i % PIXELS : i / 3;
}

/* Returns the number of pixels of a rectangle in which the image is the other one, if outside it is
 * its own; -1 if there is no such rectangle. */
static int box_pixels(const comparison *c, uint64_t row, uint64_t other)
{
    bool changed[PIXELS] = {false};
    size_t left = WIDTH;
    size_t right = 0;
    size_t top = HEIGHT;
    size_t bottom = 0;
    for (size_t i = 0; i < ELEMENTS; i++) {
        const size_t pixel = pixel_of(c->how, i);
        changed[pixel] =
            changed[pixel] || !element_is(c->how, mixed_row(c, row), i, plain_element(c, row, i));
    }
    for (size_t i = 0; i < PIXELS; i++) {
        if (changed[i]) {
            left = i % WIDTH < left ? i % WIDTH : left;
            right = i % WIDTH >= right ? i % WIDTH + 1 : right;
            top = i / WIDTH < top ? i / WIDTH : top;
            bottom = i / WIDTH + 1;
        }
    }
    for (size_t i = 0; i < ELEMENTS; i++) {
        const size_t x = pixel_of(c->how, i) % WIDTH;
        const size_t y = pixel_of(c->how, i) / WIDTH;
        const bool inside = x >= left && x < right && y >= top && y < bottom;
        if (inside && !element_is(c->how, mixed_row(c, row), i, plain_element(c, other, i))) {
            return -1;
        }
    }
    return right > left ? (int)((right - left) * (bottom - top)) : 0;
}

static void expect_label(const comparison *c, uint64_t row, uint64_t other, double weight)
{
    const int64_t *labels = (const void *)c->mixed->arrays[MIXED_LABEL];
    const float *soft = (const float *)(const void *)c->mixed->arrays[MIXED_SOFT] + row * LABELS;
    const double off = c->how->smoothing / LABELS;
    const double on = 1 - c->how->smoothing + off;
    for (int k = 0; k < LABELS; k++) {
        const double own = labels[row] == k ? on : labels[row] < 0 ? 0 : off;
        const double second = labels[other] == k ? on : labels[other] < 0 ? 0 : off;
        const double value = own == second ? own : weight * own + (1 - weight) * second;
        assert_true(soft[k] == (float)value);
    }
}

/* Returns row `first` + `i` of a batch. */
static void expect_row(comparison *c, uint64_t first, uint64_t i, uint32_t filled)
{
    const uint64_t row = first + i;
    const int64_t partner = ((const int64_t *)(const void *)c->mixed->arrays[MIXED_WITH])[row];
    const float weight = ((const float *)(const void *)c->mixed->arrays[MIXED_WEIGHT])[row];
    assert_true(partner >= 0 && (partner == (int64_t)i || partner < (int64_t)filled));
    expect_label(c, row, first + (uint64_t)partner, (double)weight);
    assert_true(weight >= 0 && weight <= 1);
    if (partner == (int64_t)i) {
        assert_true(weight == 1);
        for (size_t k = 0; k < ELEMENTS; k++) {
            assert_true(element_is(c->how, mixed_row(c, row), k, plain_element(c, row, k)));
        }
        c->none++;
        return;
    }
    c->weights += (double)weight;
    assert_true(c->mixed->arrays[MIXED_MASK][row] &&
                c->mixed->arrays[MIXED_MASK][first + (uint64_t)partner]);
    if (is_shares(c, row, first + (uint64_t)partner, weight)) {
        c->mixups++;
        return;
    }
    const int pixels = box_pixels(c, row, first + (uint64_t)partner);
    assert_true(pixels > 0);
    assert_true(weight == (float)(1 - (double)pixels / PIXELS));
    c->cuts++;
}

/* Compares all rows; `filled` rows of a batch have a sample, or should have one. */
static comparison expect_mixed(const mixed_epoch *mixed, const mixed_epoch *plain,
                               const mixed_form *how)
{
    comparison c = {.how = how, .mixed = mixed, .plain = plain};
    assert_int_equal(mixed->end, SLUICE_END);
    assert_int_equal(mixed->rows, plain->rows);
    assert_memory_equal(mixed->arrays[MIXED_INDEX], plain->arrays[MIXED_INDEX],
                        mixed->bytes[MIXED_INDEX]);
    assert_memory_equal(mixed->arrays[MIXED_LABEL], plain->arrays[MIXED_LABEL],
                        mixed->bytes[MIXED_LABEL]);
    uint64_t first = 0;
    for (uint64_t s = 0; s < mixed->steps; s++) {
        const int64_t *index = (const int64_t *)(const void *)mixed->arrays[MIXED_INDEX] + first;
        uint32_t filled = mixed->rows_of[s];
        while (filled > 0 && index[filled - 1] < 0) {
            filled--;
        }
        for (uint32_t i = 0; i < mixed->rows_of[s]; i++) {
            expect_row(&c, first, i, filled);
        }
        first += mixed->rows_of[s];
    }
    return c;
}

static void check_step(const sluice_loader_options *options, const char *path,
                       const mixed_step *mix, const mixed_form *how, comparison *sum)
{
    mixed_form base = *how;
    base.dtype = how->dtype == SLUICE_U8 ? SLUICE_U8 : SLUICE_F32;
    mixed_epoch plain = mixed_run(path, options, &unmixed, &base, 0);
    mixed_epoch mixed = mixed_run(path, options, mix, how, 0);
    const comparison c = expect_mixed(&mixed, &plain, how);
    sum->mixups += c.mixups;
    sum->cuts += c.cuts;
    sum->none += c.none;
    mixed_free(&plain);
    mixed_free(&mixed);
}

/* ---- tests ---- */

TEST_WITH(rows_are_the_models, mixed_data_make, mixed_data_remove)
{
    sluice_loader_options options = setup_options();
    options.workers = 3;
    options.last_batch = SLUICE_LAST_SHORT;
    for (size_t i = 0; i < MIXED_STEPS; i++) {
        comparison sum = {.how = NULL};
        for (int dtype = SLUICE_U8; dtype <= SLUICE_BF16; dtype++) {
            for (int layout = TEST_AMOUNT(SLUICE_NHWC, (dtype + (int)i) % 2); layout <= SLUICE_NCHW;
                 layout += TEST_AMOUNT(1, 2)) {
                const mixed_form how = {.dtype = (sluice_dtype)dtype,
                                        .layout = (sluice_layout)layout,
                                        .smoothing = 0.1 * layout};
                check_step(&options, mixed_photos()->path, &mixed_steps[i], &how, &sum);
            }
        }
        printf("%s %zu: %d in shares, %d cut, %d alone\n", mixed_steps[i].name, i, (int)sum.mixups,
               (int)sum.cuts, (int)sum.none);
        const bool both = i >= 4 && i < 8;
        assert_true(both ? sum.mixups > 0 && sum.cuts > 0 : (sum.mixups > 0) != (sum.cuts > 0));
    }
}

/* Ends of an epoch, and odd numbers of rows. */
TEST_WITH(last_batches, mixed_data_make, mixed_data_remove)
{
    static const uint32_t sizes[] = {2, 3, 5, 7, 43, 44, 64};
    const mixed_form how = {.dtype = SLUICE_F32, .layout = SLUICE_NCHW};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int last = SLUICE_LAST_PAD; last <= SLUICE_LAST_SHORT; last++) {
            comparison sum = {.how = NULL};
            sluice_loader_options options = setup_options();
            options.batch_size = sizes[i];
            options.last_batch = last;
            check_step(&options, mixed_photos()->path, &mixed_steps[1], &how, &sum);
            check_step(&options, mixed_packed(), &mixed_steps[4], &how, &sum);
            assert_true(sum.mixups > 0);
        }
    }
}

static void spoil(void)
{
    static const uint32_t bad[] = {0, 3, 4, 9, 10, 17, 30, 43};
    char path[512];
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        photo_folder_file(mixed_photos(), bad[i], path, sizeof(path));
        write_file(path, "this is not an image", 20);
    }
}

/* The partner of a bad row, which is zero, stays unmixed. */
TEST_WITH(bad_rows_are_no_partners, mixed_data_make, mixed_data_remove)
{
    spoil();
    for (int policy = SLUICE_BAD_REPLACE; policy <= SLUICE_BAD_MASK; policy++) {
        for (size_t i = 0; i < MIXED_STEPS; i++) {
            comparison sum = {.how = NULL};
            sluice_loader_options options = setup_options();
            const mixed_form how = {.dtype = i % 2 == 0 ? SLUICE_F16 : SLUICE_U8,
                                    .layout = SLUICE_NCHW};
            options.batch_size = 7;
            options.on_bad_sample = policy;
            options.last_batch = SLUICE_LAST_PAD;
            check_step(&options, mixed_photos()->path, &mixed_steps[i], &how, &sum);
            assert_true(sum.mixups + sum.cuts > 0);
            assert_true(policy == SLUICE_BAD_REPLACE || sum.none >= 8);
        }
    }
    sluice_loader_options options = setup_options();
    mixed_epoch failed = mixed_run(mixed_photos()->path, &options, &mixed_steps[0],
                                   &(mixed_form){.dtype = SLUICE_F32}, 0);
    assert_int_equal(failed.end, SLUICE_CORRUPT);
    mixed_free(&failed);
}

/* Each rank mixes the rows of its own batches, by its own draws. */
TEST_WITH(ranks, mixed_data_make, mixed_data_remove)
{
    const mixed_form how = {.dtype = SLUICE_F32, .layout = SLUICE_NHWC};
    mixed_epoch ranks[2];
    for (uint32_t rank = 0; rank < 2; rank++) {
        comparison sum = {.how = NULL};
        sluice_loader_options options = setup_options();
        options.rank = rank;
        options.world_size = 2;
        options.last_batch = SLUICE_LAST_SHORT;
        check_step(&options, mixed_packed(), &mixed_steps[0], &how, &sum);
        ranks[rank] = mixed_run(mixed_packed(), &options, &mixed_steps[0], &how, 0);
    }
    assert_memory_not_equal(ranks[0].arrays[MIXED_WEIGHT], ranks[1].arrays[MIXED_WEIGHT],
                            ranks[0].bytes[MIXED_WEIGHT]);
    mixed_free(&ranks[0]);
    mixed_free(&ranks[1]);
}

/* ---- refusals ---- */

static void expect_refused(const sluice_columns *columns, uint32_t batch, const char *words)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader *loader = NULL;
    sluice_loader_options options = setup_options();
    options.columns = columns;
    options.batch_size = batch;
    sluice_dataset *dataset = setup_dataset(mixed_photos()->path);
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, &error), SLUICE_INVALID);
    sluice_dataset_close(dataset);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", words, error.text);
    }
}

static void refuse(const mixed_step *mix, const char *mixes, double smoothing, sluice_dtype dtype,
                   uint32_t batch, const char *words)
{
    sluice_columns *columns;
    sluice_augment *recipe = mixed_recipe(mix, false, WIDTH, HEIGHT);
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    (void)sluice_columns_image(columns, "image", recipe, SLUICE_F32, SLUICE_NCHW);
    (void)sluice_columns_number(columns, "label", SLUICE_I64);
    const sluice_column soft = {.struct_size = sizeof(soft),
                                .kind = SLUICE_COLUMN_ONE_HOT,
                                .field = "label",
                                .name = "soft",
                                .dtype = (int32_t)dtype,
                                .length = LABELS,
                                .mixes = mixes,
                                .smoothing = smoothing};
    (void)sluice_columns_add(columns, &soft);
    expect_refused(columns, batch, words);
    sluice_columns_destroy(columns);
    sluice_augment_destroy(recipe);
}

TEST_WITH(what_is_refused, mixed_data_make, mixed_data_remove)
{
    const mixed_step mixup = {"mixup", 0, {0}};
    const mixed_step narrow = {"timm_mix", 4, {1, 0, 0.5, 0.51}};
    refuse(&mixup, "picture", 0, SLUICE_F32, 8, "which does not exist");
    refuse(&mixup, "label", 0, SLUICE_F32, 8, "which is not an image column");
    refuse(&unmixed, "image", 0, SLUICE_F32, 8, "mixes nothing");
    refuse(&mixup, "image", 0, SLUICE_I64, 8, "i64 cannot represent");
    refuse(&unmixed, NULL, 0.1, SLUICE_I32, 8, "i32 cannot represent");
    refuse(&unmixed, NULL, 0.1, SLUICE_U8, 8, "u8 cannot represent");
    refuse(&unmixed, NULL, 1.5, SLUICE_F32, 8, "smoothing");
    refuse(&unmixed, NULL, (double)NAN, SLUICE_F32, 8, "smoothing");
    refuse(&mixup, "no name", 0, SLUICE_F32, 8, "mixes must be");
    refuse(&mixup, NULL, 0, SLUICE_F32, 1, "no row can be mixed with another");
    refuse(&narrow, NULL, 0, SLUICE_F32, 8, "no whole number of pixels");
}

/* Returns the time of mixing, from the operation statistics. */
static uint64_t mixing_ns(sluice_loader *loader)
{
    sluice_operation_stats stats = SLUICE_OPERATION_STATS_INIT;
    for (uint32_t i = 0; sluice_loader_get_operation(loader, i, &stats) == SLUICE_OK; i++) {
        if (strcmp(stats.name, "mixing") == 0) {
            return stats.busy_ns;
        }
    }
    return 0;
}

/* Also without requested columns. */
TEST_WITH(natural_columns, mixed_data_make, mixed_data_remove)
{
    sluice_loader_options options = setup_options();
    sluice_dataset *dataset = setup_dataset(mixed_photos()->path);
    sluice_augment *recipe = mixed_recipe(&mixed_steps[0], false, WIDTH, HEIGHT);
    sluice_loader *loader = NULL;
    sluice_batch *batch;
    assert_int_equal(sluice_loader_open(&loader, dataset, recipe, &options, NULL), SLUICE_OK);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, "image.mixed_with", &tensor), SLUICE_OK);
    assert_int_equal(tensor.dtype, SLUICE_I64);
    assert_int_equal(tensor.dims, 1);
    assert_int_equal(((const int64_t *)tensor.data)[0], 7);
    assert_int_equal(sluice_batch_tensor(batch, "image.weight", &tensor), SLUICE_OK);
    assert_int_equal(tensor.dtype, SLUICE_F32);
    assert_int_equal(sluice_batch_tensor(batch, "image.mixing", &tensor), SLUICE_INVALID);
    assert_int_equal(sluice_batch_columns(batch), 7);
    assert_true(mixing_ns(loader) > 0);
    sluice_batch_release(batch);
    sluice_loader_close(loader);
    sluice_augment_destroy(recipe);
    sluice_dataset_close(dataset);
}
