/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a batch that are mixed: against a model that knows nothing but the unmixed batches of a
 * loader without the step, and the parts that tell of partner and weight; by any number of workers,
 * on any device, wherever in an epoch they begin.
 */
#include "fake_cuda_client.h"
#include "loader_setup.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES = 4, PER_CLASS = 11, SAMPLES = CLASSES * PER_CLASS, WIDTH = 21, HEIGHT = 18 };
enum { PIXELS = WIDTH * HEIGHT, ELEMENTS = 3 * PIXELS, ROWS_MAX = 64, LABELS = CLASSES };

static photo_folder photos;
static char packed[300];
static const fake_cuda_control *fake;

static int make_data(void **state)
{
    photo_folder_make(&photos, CLASSES, PER_CLASS);
    temporary_directory(packed, sizeof(packed));
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    assert_int_equal(sluice_pack(dataset, packed, &options, NULL, NULL), SLUICE_OK);
    sluice_dataset_close(dataset);
    fake = fake_cuda_open();
    return 0;
}

static int remove_data(void **state)
{
    remove_tree(packed);
    photo_folder_remove(&photos);
    return 0;
}

/* ---- loaders ---- */

typedef struct step {
    const char *name; /* NULL: rows are not mixed */
    uint32_t count;
    double arguments[9];
} step;

static sluice_augment *recipe_of(const step *mix, bool normalizes, uint32_t width, uint32_t height)
{
    const float mean[] = {0.485F, 0.456F, 0.406F};
    const float stddev[] = {0.229F, 0.224F, 0.225F};
    sluice_augment *recipe;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    if (mix->name != NULL) { /* it goes to the end by itself */
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

typedef struct form {
    sluice_dtype dtype;
    sluice_layout layout;
    double smoothing;
    uint32_t height; /* 0: HEIGHT */
} form;

static sluice_columns *columns_of(const step *mix, const form *how)
{
    sluice_columns *columns;
    sluice_augment *recipe =
        recipe_of(mix, how->dtype != SLUICE_U8, WIDTH, how->height > 0 ? how->height : HEIGHT);
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    const sluice_column soft = {.struct_size = sizeof(soft),
                                .kind = SLUICE_COLUMN_ONE_HOT,
                                .field = "label",
                                .name = "soft",
                                .dtype = SLUICE_F32,
                                .length = LABELS,
                                .mixes = mix->name != NULL ? "image" : NULL,
                                .smoothing = how->smoothing};
    assert_int_equal(sluice_columns_add(columns, &soft), SLUICE_OK);
    assert_int_equal(sluice_columns_image(columns, "image", recipe, how->dtype, how->layout),
                     SLUICE_OK);
    assert_int_equal(sluice_columns_number(columns, "label", SLUICE_I64), SLUICE_OK);
    sluice_augment_destroy(recipe);
    return columns;
}

static sluice_loader *open_mixing(const char *path, const sluice_loader_options *wanted,
                                  const step *mix, const form *how)
{
    sluice_loader_options options = *wanted;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader *loader = NULL;
    sluice_dataset *dataset = setup_dataset(path);
    sluice_columns *columns = columns_of(mix, how);
    options.columns = columns;
    options.read_buffer_bytes = 2U << 20; /* there are hundreds of loaders */
    if (sluice_loader_open(&loader, dataset, NULL, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_columns_destroy(columns);
    sluice_dataset_close(dataset);
    return loader;
}

/* ---- batches ---- */

enum { IMAGE, PARTNER, WEIGHT, LABEL, SOFT, INDEX, MASK, ARRAYS };
static const char *const names[ARRAYS] = {"image", "image.partner", "image.weight", "label",
                                          "soft",  "index",         "mask"};

typedef struct taken {
    uint64_t rows, steps;
    uint32_t rows_of[ROWS_MAX];
    uint8_t *arrays[ARRAYS];
    size_t bytes[ARRAYS]; /* of all */
    sluice_status end;
} taken;

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

static void take_array(taken *all, sluice_batch *batch, int i, struct CUstream_st *stream)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    if (sluice_batch_tensor(batch, names[i], &tensor) != SLUICE_OK || tensor.size_bytes == 0) {
        return; /* what is not mixed has no partner */
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

static void take(taken *all, sluice_loader *loader, uint64_t steps, struct CUstream_st *stream)
{
    sluice_batch *batch;
    all->end = SLUICE_OK;
    while (steps-- > 0 && (all->end = sluice_loader_next(loader, &batch, -1)) == SLUICE_OK) {
        if (stream != NULL) {
            assert_int_equal(sluice_batch_wait(batch, stream), SLUICE_OK);
        }
        for (int i = 0; i < ARRAYS; i++) {
            take_array(all, batch, i, stream);
        }
        all->rows_of[all->steps++] = sluice_batch_rows(batch);
        all->rows += sluice_batch_rows(batch);
        sluice_batch_release(batch);
    }
}

static taken run(const char *path, const sluice_loader_options *options, const step *mix,
                 const form *how, uint64_t epoch)
{
    taken all = {.rows = 0};
    sluice_loader *loader = open_mixing(path, options, mix, how);
    assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
    take(&all, loader, ROWS_MAX, NULL);
    sluice_loader_close(loader);
    return all;
}

static void free_taken(taken *all)
{
    for (int i = 0; i < ARRAYS; i++) {
        free(all->arrays[i]);
    }
}

static void expect_equal(const taken *a, const taken *b)
{
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->rows, b->rows);
    for (int i = 0; i < ARRAYS; i++) {
        assert_int_equal(a->bytes[i], b->bytes[i]);
        if (a->bytes[i] > 0 && memcmp(a->arrays[i], b->arrays[i], a->bytes[i]) != 0) {
            fail_msg("\"%s\" differs", names[i]);
        }
    }
}

/* ---- the model ---- */

/* A number rounded to `bits` of fraction, with that least exponent, by arithmetic in binary64. */
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

static bool element_is(const form *how, const uint8_t *row, size_t i, float value)
{
    uint16_t narrow;
    float single;
    switch (how->dtype) {
    case SLUICE_U8:
        return (float)row[i] == value;
    case SLUICE_F32:
        memcpy(&single, row + i * 4, 4);
        // NOLINTBEGIN(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c): of bits
        return memcmp(&single, &value, 4) == 0;
        // NOLINTEND(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c)
    default:
        memcpy(&narrow, row + i * 2, 2);
        return narrow ==
               (how->dtype == SLUICE_F16 ? encode(value, 10, -14) : encode(value, 7, -126));
    }
}

/* An epoch of mixed rows, and the rows that they are made of: bytes, or numbers in binary32. */
typedef struct comparison {
    const form *how;
    const taken *mixed, *plain;
    uint64_t mixups, cuts, none;
    double weights;
} comparison;

static float plain_element(const comparison *c, uint64_t row, size_t i)
{
    float value;
    if (c->how->dtype == SLUICE_U8) {
        return (float)c->plain->arrays[IMAGE][row * ELEMENTS + i];
    }
    memcpy(&value, c->plain->arrays[IMAGE] + (row * ELEMENTS + i) * 4, 4);
    return value;
}

static const uint8_t *mixed_row(const comparison *c, uint64_t row)
{
    return c->mixed->arrays[IMAGE] + row * (c->mixed->bytes[IMAGE] / c->mixed->rows);
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

/* Element number i is of this pixel. */
static size_t pixel_of(const form *how, size_t i)
{
    return how->layout == SLUICE_NCHW ? i % PIXELS : i / 3;
}

/* The picture is the own one outside of a rectangle, and the other one in it: how many pixels that
 * has; -1: it is not. */
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
    const int64_t *labels = (const void *)c->mixed->arrays[LABEL];
    const float *soft = (const float *)(const void *)c->mixed->arrays[SOFT] + row * LABELS;
    const double off = c->how->smoothing / LABELS;
    const double on = 1 - c->how->smoothing + off;
    for (int k = 0; k < LABELS; k++) {
        const double own = labels[row] == k ? on : labels[row] < 0 ? 0 : off;
        const double second = labels[other] == k ? on : labels[other] < 0 ? 0 : off;
        const double value = own == second ? own : weight * own + (1 - weight) * second;
        assert_true(soft[k] == (float)value);
    }
}

/* Row `first` + `i` of a batch. */
static void expect_row(comparison *c, uint64_t first, uint64_t i, uint32_t filled)
{
    const uint64_t row = first + i;
    const int64_t partner = ((const int64_t *)(const void *)c->mixed->arrays[PARTNER])[row];
    const float weight = ((const float *)(const void *)c->mixed->arrays[WEIGHT])[row];
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
    assert_true(c->mixed->arrays[MASK][row] && c->mixed->arrays[MASK][first + (uint64_t)partner]);
    if (is_shares(c, row, first + (uint64_t)partner, weight)) {
        c->mixups++;
        return;
    }
    const int pixels = box_pixels(c, row, first + (uint64_t)partner);
    assert_true(pixels > 0);
    assert_true(weight == (float)(1 - (double)pixels / PIXELS));
    c->cuts++;
}

/* Of all rows; `filled` of a batch have a sample, or should have one. */
static comparison expect_mixed(const taken *mixed, const taken *plain, const form *how)
{
    comparison c = {.how = how, .mixed = mixed, .plain = plain};
    assert_int_equal(mixed->end, SLUICE_END);
    assert_int_equal(mixed->rows, plain->rows);
    assert_memory_equal(mixed->arrays[INDEX], plain->arrays[INDEX], mixed->bytes[INDEX]);
    assert_memory_equal(mixed->arrays[LABEL], plain->arrays[LABEL], mixed->bytes[LABEL]);
    uint64_t first = 0;
    for (uint64_t s = 0; s < mixed->steps; s++) {
        const int64_t *index = (const int64_t *)(const void *)mixed->arrays[INDEX] + first;
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

static const step unmixed = {.name = NULL};
static const step steps[] = {{"mixup", 2, {0.8, 0.9}},
                             {"mixup", 3, {0.2, 1, 1}},
                             {"cutmix", 1, {1}},
                             {"cutmix", 3, {1, 0.7, 1}},
                             {"timm_mix", 8, {0.8, 1, 0, 0, 1, 0.5, 2, 1}},
                             {"timm_mix", 8, {0.8, 1, 0, 0, 0.8, 0.5, 1, 1}},
                             {"timm_mix", 9, {0.8, 1, 0, 0, 1, 0.5, 2, 1, 1}},
                             {"timm_mix", 8, {0.4, 0, 0.2, 0.7, 1, 0.5, 1, 1}},
                             {"timm_mix", 2, {0, 1}}};
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

static void check_step(const sluice_loader_options *options, const char *path, const step *mix,
                       const form *how, comparison *sum)
{
    form base = *how;
    base.dtype = how->dtype == SLUICE_U8 ? SLUICE_U8 : SLUICE_F32;
    taken plain = run(path, options, &unmixed, &base, 0);
    taken mixed = run(path, options, mix, how, 0);
    const comparison c = expect_mixed(&mixed, &plain, how);
    sum->mixups += c.mixups;
    sum->cuts += c.cuts;
    sum->none += c.none;
    free_taken(&plain);
    free_taken(&mixed);
}

/* ---- tests ---- */

TEST_WITH(rows_are_the_models, make_data, remove_data)
{
    sluice_loader_options options = setup_options();
    options.workers = 3;
    options.last_batch = SLUICE_LAST_SHORT;
    for (size_t i = 0; i < STEPS; i++) {
        comparison sum = {.how = NULL};
        for (int dtype = SLUICE_U8; dtype <= SLUICE_BF16; dtype++) {
            for (int layout = SLUICE_NHWC; layout <= SLUICE_NCHW; layout++) {
                const form how = {.dtype = (sluice_dtype)dtype,
                                  .layout = (sluice_layout)layout,
                                  .smoothing = 0.1 * layout};
                check_step(&options, photos.path, &steps[i], &how, &sum);
            }
        }
        printf("%s %zu: %d in shares, %d cut, %d alone\n", steps[i].name, i, (int)sum.mixups,
               (int)sum.cuts, (int)sum.none);
        const bool both = i >= 4 && i < 8;
        assert_true(both ? sum.mixups > 0 && sum.cuts > 0 : (sum.mixups > 0) != (sum.cuts > 0));
    }
}

/* What ends an epoch, and odd numbers of rows. */
TEST_WITH(last_batches, make_data, remove_data)
{
    static const uint32_t sizes[] = {2, 3, 5, 7, 43, 44, 64};
    const form how = {.dtype = SLUICE_F32, .layout = SLUICE_NCHW};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int last = SLUICE_LAST_PAD; last <= SLUICE_LAST_SHORT; last++) {
            comparison sum = {.how = NULL};
            sluice_loader_options options = setup_options();
            options.batch_size = sizes[i];
            options.last_batch = last;
            check_step(&options, photos.path, &steps[1], &how, &sum);
            check_step(&options, packed, &steps[4], &how, &sum);
            assert_true(sum.mixups > 0);
        }
    }
}

static void spoil(void)
{
    static const uint32_t bad[] = {0, 3, 4, 9, 10, 17, 30, 43};
    char path[512];
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        photo_folder_file(&photos, bad[i], path, sizeof(path));
        write_file(path, "this is not an image", 20);
    }
}

/* Nothing is mixed into the partner of a bad row, which is zero. */
TEST_WITH(bad_rows_are_no_partners, make_data, remove_data)
{
    spoil();
    for (int policy = SLUICE_BAD_REPLACE; policy <= SLUICE_BAD_MASK; policy++) {
        for (size_t i = 0; i < STEPS; i++) {
            comparison sum = {.how = NULL};
            sluice_loader_options options = setup_options();
            const form how = {.dtype = i % 2 == 0 ? SLUICE_F16 : SLUICE_U8, .layout = SLUICE_NCHW};
            options.batch_size = 7;
            options.on_bad_sample = policy;
            options.last_batch = SLUICE_LAST_PAD;
            check_step(&options, photos.path, &steps[i], &how, &sum);
            assert_true(sum.mixups + sum.cuts > 0);
            assert_true(policy == SLUICE_BAD_REPLACE || sum.none >= 8);
        }
    }
    sluice_loader_options options = setup_options();
    taken failed = run(photos.path, &options, &steps[0], &(form){.dtype = SLUICE_F32}, 0);
    assert_int_equal(failed.end, SLUICE_CORRUPT);
    free_taken(&failed);
}

TEST_WITH(any_number_of_workers, make_data, remove_data)
{
    static const uint32_t workers[] = {1, 2, 7};
    for (size_t i = 0; i < STEPS; i++) {
        taken runs[3];
        const form how = {.dtype = (sluice_dtype)(i % 4), .layout = (sluice_layout)(i / 2 % 2)};
        for (size_t k = 0; k < 3; k++) {
            sluice_loader_options options = setup_options();
            options.workers = workers[k];
            options.prefetch = (uint32_t)(2 + k);
            options.last_batch = SLUICE_LAST_PAD;
            runs[k] = run(i % 2 == 0 ? packed : photos.path, &options, &steps[i], &how, 3);
            assert_int_equal(runs[k].end, SLUICE_END);
        }
        expect_equal(&runs[0], &runs[2]);
        expect_equal(&runs[0], &runs[1]);
        for (size_t k = 0; k < 3; k++) {
            free_taken(&runs[k]);
        }
    }
}

static uint64_t reads_of(sluice_loader *loader)
{
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    return stats.reads;
}

/* Of a dataset in memory workers find the samples themselves. */
TEST_WITH(datasets_in_memory, make_data, remove_data)
{
    for (size_t i = 0; i < STEPS; i++) {
        sluice_loader_options options = setup_options();
        const form how = {.dtype = SLUICE_BF16, .layout = SLUICE_NHWC};
        options.workers = 3;
        options.last_batch = SLUICE_LAST_SHORT;
        uint64_t reads = 0;
        sluice_loader *kept = open_mixing(packed, &options, &steps[i], &how);
        options.page_cache = SLUICE_CACHE_BUFFERED; /* which keeps nothing */
        for (uint64_t epoch = 0; epoch < 4; epoch++) {
            taken here = {.rows = 0};
            taken there = run(packed, &options, &steps[i], &how, epoch);
            assert_int_equal(sluice_loader_start_epoch(kept, epoch), SLUICE_OK);
            take(&here, kept, ROWS_MAX, NULL);
            expect_equal(&here, &there);
            free_taken(&here);
            free_taken(&there);
            assert_true(epoch < 3 || reads_of(kept) == reads);
            reads = reads_of(kept);
        }
        sluice_loader_close(kept);
    }
}

/* Half of an epoch, and the rest by another loader from a cursor. */
TEST_WITH(an_epoch_goes_on, make_data, remove_data)
{
    for (size_t i = 0; i < STEPS; i++) {
        const form how = {.dtype = SLUICE_F32, .layout = SLUICE_NCHW};
        sluice_loader_options options = setup_options();
        options.last_batch = SLUICE_LAST_SHORT;
        taken whole = run(packed, &options, &steps[i], &how, 1);
        taken parts = {.rows = 0};
        char cursor[SLUICE_CURSOR_BYTES];
        size_t bytes = sizeof(cursor);
        sluice_loader *loader = open_mixing(packed, &options, &steps[i], &how);
        assert_int_equal(sluice_loader_start_epoch(loader, 1), SLUICE_OK);
        take(&parts, loader, 2, NULL);
        assert_int_equal(sluice_loader_save(loader, cursor, &bytes), SLUICE_OK);
        sluice_loader_close(loader);
        options.workers = 2;
        loader = open_mixing(packed, &options, &steps[i], &how);
        uint64_t epoch;
        assert_int_equal(sluice_loader_restore(loader, cursor, bytes, &epoch), SLUICE_OK);
        assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
        take(&parts, loader, ROWS_MAX, NULL);
        sluice_loader_close(loader);
        expect_equal(&whole, &parts);
        free_taken(&whole);
        free_taken(&parts);
    }
}

/* Each mixes the rows of its own batches, by draws of its own. */
TEST_WITH(ranks, make_data, remove_data)
{
    const form how = {.dtype = SLUICE_F32, .layout = SLUICE_NHWC};
    taken ranks[2];
    for (uint32_t rank = 0; rank < 2; rank++) {
        comparison sum = {.how = NULL};
        sluice_loader_options options = setup_options();
        options.rank = rank;
        options.world_size = 2;
        options.last_batch = SLUICE_LAST_SHORT;
        check_step(&options, packed, &steps[0], &how, &sum);
        ranks[rank] = run(packed, &options, &steps[0], &how, 0);
    }
    assert_memory_not_equal(ranks[0].arrays[WEIGHT], ranks[1].arrays[WEIGHT],
                            ranks[0].bytes[WEIGHT]);
    free_taken(&ranks[0]);
    free_taken(&ranks[1]);
}

/* Two heights: lines that are whole groups of the kernels, and lines that are not. */
TEST_WITH(devices_make_the_same, make_data, remove_data)
{
    if (fake == NULL) {
        skip();
    }
    // NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result): small
    for (size_t i = 0; i < STEPS * 4; i++) {
        const form how = {.dtype = (sluice_dtype)(i % 4),
                          .layout = (sluice_layout)((i + i / 4) % 2),
                          .smoothing = 0.1,
                          .height = i % 3 == 0 ? 16 : 0};
        sluice_loader_options options = setup_options();
        options.batch_size = 7;
        options.last_batch = SLUICE_LAST_PAD;
        taken here = run(packed, &options, &steps[i / 4], &how, 2);
        taken there = {.rows = 0};
        fake->reset();
        fake->set(&(fake_cuda_options){.seed = i, .delay_us = 50});
        struct CUstream_st *stream = fake->stream_new(true);
        options.device = "cuda:0";
        sluice_loader *loader = open_mixing(packed, &options, &steps[i / 4], &how);
        assert_int_equal(sluice_loader_start_epoch(loader, 2), SLUICE_OK);
        take(&there, loader, ROWS_MAX, stream);
        sluice_loader_close(loader);
        assert_int_equal(fake_cuda_complain(fake), 0);
        expect_equal(&here, &there);
        free_taken(&here);
        free_taken(&there);
    }
}

/* ---- refusals ---- */

static void expect_refused(const sluice_columns *columns, uint32_t batch, const char *words)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader *loader = NULL;
    sluice_loader_options options = setup_options();
    options.columns = columns;
    options.batch_size = batch;
    sluice_dataset *dataset = setup_dataset(photos.path);
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, &error), SLUICE_INVALID);
    sluice_dataset_close(dataset);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", words, error.text);
    }
}

static void refuse(const step *mix, const char *mixes, double smoothing, sluice_dtype dtype,
                   uint32_t batch, const char *words)
{
    sluice_columns *columns;
    sluice_augment *recipe = recipe_of(mix, false, WIDTH, HEIGHT);
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

TEST_WITH(what_is_refused, make_data, remove_data)
{
    const step mixup = {"mixup", 0, {0}};
    const step narrow = {"timm_mix", 4, {1, 0, 0.5, 0.51}};
    refuse(&mixup, "picture", 0, SLUICE_F32, 8, "there is no such column");
    refuse(&mixup, "label", 0, SLUICE_F32, 8, "which is no picture");
    refuse(&unmixed, "image", 0, SLUICE_F32, 8, "mixes nothing");
    refuse(&mixup, "image", 0, SLUICE_I64, 8, "i64 cannot hold");
    refuse(&unmixed, NULL, 0.1, SLUICE_I32, 8, "i32 cannot hold");
    refuse(&unmixed, NULL, 0.1, SLUICE_U8, 8, "u8 cannot hold");
    refuse(&unmixed, NULL, 1.5, SLUICE_F32, 8, "smoothing");
    refuse(&unmixed, NULL, (double)NAN, SLUICE_F32, 8, "smoothing");
    refuse(&mixup, "no name", 0, SLUICE_F32, 8, "mixes must be");
    refuse(&mixup, NULL, 0, SLUICE_F32, 1, "there is no other row");
    refuse(&narrow, NULL, 0, SLUICE_F32, 8, "no whole number of pixels");
}

/* Without columns that were asked for, too. */
TEST_WITH(natural_columns, make_data, remove_data)
{
    sluice_loader_options options = setup_options();
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_augment *recipe = recipe_of(&steps[0], false, WIDTH, HEIGHT);
    sluice_loader *loader = NULL;
    sluice_batch *batch;
    assert_int_equal(sluice_loader_open(&loader, dataset, recipe, &options, NULL), SLUICE_OK);
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, "image.partner", &tensor), SLUICE_OK);
    assert_int_equal(tensor.dtype, SLUICE_I64);
    assert_int_equal(tensor.dims, 1);
    assert_int_equal(((const int64_t *)tensor.data)[0], 7);
    assert_int_equal(sluice_batch_tensor(batch, "image.weight", &tensor), SLUICE_OK);
    assert_int_equal(tensor.dtype, SLUICE_F32);
    assert_int_equal(sluice_batch_tensor(batch, "image.mixing", &tensor), SLUICE_INVALID);
    assert_int_equal(sluice_batch_columns(batch), 7);
    sluice_batch_release(batch);
    sluice_loader_close(loader);
    sluice_augment_destroy(recipe);
    sluice_dataset_close(dataset);
}
