/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each step of the table with any arguments in its ranges, on images of any shape: gives a result
 * of the right size, the same at every SIMD level, or an error with a message.
 */
#include "converter.h"
#include "error.h"
#include "recipe.h"
#include "test.h"
#include "whole_params.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 28, WIDTH = 5, HEIGHT = 4, SCRATCH = 3 << 20, CANVAS_MOST = 64 << 20 };

static const uint32_t sizes[][2] = {{1, 1},     {2, 1},     {1, 3},   {3, 2},   {2, 2},
                                    {65535, 1}, {1, 65535}, {40, 30}, {300, 2}, {17, 90}};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static sluice_status invert_jpeg(const sl_image *in, int quality, uint8_t *out, sl_scratch *scratch,
                                 sluice_error *error)
{
    (void)quality;
    (void)scratch;
    (void)error;
    for (size_t i = 0; i < (size_t)in->width * in->height * 3; i++) {
        out[i] = (uint8_t)(255 - in->pixels[i]);
    }
    return SLUICE_OK;
}

/* Draws one end of the range, the preset, or a value in between, small as likely as large. */
static double random_argument(sl_random *random, const sl_argument *a)
{
    double value = 0;
    switch (sl_random_below(random, 6)) {
    case 0:
        value = a->above ? nextafter(a->least, INFINITY) : a->least;
        break;
    case 1:
        value = a->most;
        break;
    case 2:
        value = isnan(a->preset) ? a->most : a->preset;
        break;
    case 3:
        value = sl_random_range(random, a->least, fmin(a->most, a->least + 3));
        break;
    default: {
        const double reach = fmin(a->most - a->least, 1e9);
        value = a->least + reach * exp(sl_random_range(random, -20, 0));
        break;
    }
    }
    if (a->type == SL_NUMBER_WHOLE || a->type == SL_NUMBER_WORD) {
        value = floor(value);
    }
    return fmin(fmax(value, a->least), a->most);
}

/* Finds compatible arguments by trying. */
static void add_random(sluice_augment *r, sl_random *random, const sl_step_kind *kind)
{
    const sluice_augment before = *r;
    const uint32_t most = sl_step_number_count(kind);
    const uint32_t least = sl_step_argument_count(kind);
    for (int tries = 0; tries < 1000; tries++) {
        double arguments[SL_STEP_ARGUMENTS_MAX];
        const uint32_t count = least + sl_random_below(random, most - least + 1);
        for (uint32_t i = 0; i < count; i++) {
            arguments[i] = random_argument(random, sl_step_argument_at(kind, i));
        }
        if (sluice_augment_add(r, kind->name, arguments, count) == SLUICE_OK) {
            return;
        }
        *r = before;
    }
    print_message("no arguments go together for %s\n", kind->name);
    fail();
}

typedef struct picture {
    uint32_t width, height;
    uint8_t *pixels;
} picture;

static sl_image needed(const picture *p, const sl_rect *need, uint8_t **memory)
{
    const size_t stride = (size_t)need->width * 3;
    uint8_t *pixels = malloc(stride * need->height);
    assert_non_null(pixels);
    assert_true(need->width > 0 && need->x + need->width <= p->width);
    assert_true(need->height > 0 && need->y + need->height <= p->height);
    for (uint32_t y = 0; y < need->height; y++) {
        memcpy(pixels + y * stride, p->pixels + ((size_t)(need->y + y) * p->width + need->x) * 3,
               stride);
    }
    *memory = pixels;
    return (sl_image){.pixels = pixels,
                      .width = need->width,
                      .height = need->height,
                      .channels = 3,
                      .stride_bytes = stride,
                      .origin_x = need->x,
                      .origin_y = need->y,
                      .picture_width = p->width,
                      .picture_height = p->height,
                      .denominator = 1};
}

static uint32_t outcomes[3]; /* done, no memory, unsupported */

/* Applies one of two layers; the second is blended into black. */
static sluice_status apply_layer(const sl_converter *converter, const sl_params *params,
                                 const sl_apply_work *work, sl_layer *layer, uint8_t *row,
                                 sluice_error *error)
{
    if (sl_layer_bytes(params) > CANVAS_MOST) {
        return sl_error_set(error, SLUICE_NOMEM, "test", "a layer that large");
    }
    layer->pixels = calloc(sl_layer_bytes(params), 1);
    assert_non_null(layer->pixels);
    sluice_status status = sl_layer_make(converter, params, work, layer, error);
    if (status == SLUICE_OK) {
        status = sl_canvas_end(converter, params, work, layer->pixels, row, error);
    }
    free(layer->pixels);
    return status;
}

/* Applies the only image of a row that may have several. */
static sluice_status apply_one(const sl_converter *converter, const sl_image *view,
                               const sl_params *params, const sl_apply_work *work, uint8_t *row,
                               sluice_error *error)
{
    if (params->layered && !params->geometries[0].warp.keeps) {
        return apply_layer(converter, params, work, &(sl_layer){.view = view}, row, error);
    }
    if (!params->geometries[0].warp.keeps) {
        return sl_augment_apply(converter, view, params, work, row, error);
    }
    if (sl_canvas_bytes(params) > CANVAS_MOST) {
        return sl_error_set(error, SLUICE_NOMEM, "test", "a canvas that large");
    }
    uint8_t *canvas = malloc(sl_canvas_bytes(params));
    assert_non_null(canvas);
    sl_canvas_begin(params, canvas);
    sluice_status status = sl_canvas_tile(converter, view, params, work, canvas, error);
    if (status == SLUICE_OK && params->layered) {
        status = apply_layer(converter, params, work, &(sl_layer){.tiles = canvas}, row, error);
    } else if (status == SLUICE_OK) {
        status = sl_canvas_end(converter, params, work, canvas, row, error);
    }
    free(canvas);
    return status;
}

static void apply_all(const sluice_augment *r, const picture *p, const sl_params *params)
{
    static uint8_t first[WIDTH * HEIGHT * 3];
    uint8_t *memory = NULL;
    const sl_image view = needed(p, &params->need, &memory);
    sluice_status expected = SLUICE_OK;
    sl_scratch scratch;
    assert_int_equal(sl_scratch_open(&scratch, SCRATCH, SCRATCH, NULL), SLUICE_OK);
    for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
        uint8_t *row = malloc(sizeof(first));
        sl_converter converter;
        sluice_error error = SLUICE_ERROR_INIT;
        const sl_apply_work work = {.scratch = &scratch};
        assert_non_null(row);
        assert_int_equal(sl_converter_make(&converter, r, SLUICE_U8, SLUICE_NHWC, NULL), SLUICE_OK);
        converter.tools.simd = (sl_simd)level;
        converter.tools.jpeg = invert_jpeg;
        sl_scratch_reset(&scratch);
        const sluice_status status = apply_one(&converter, &view, params, &work, row, &error);
        assert_true(status == SLUICE_OK || (status == SLUICE_NOMEM && error.text[0] != '\0'));
        if (level == SL_SIMD_SCALAR) {
            expected = status;
            memcpy(first, row, sizeof(first));
            outcomes[status == SLUICE_OK ? 0 : 1]++;
        } else if (status == SLUICE_OK && expected == SLUICE_OK) {
            assert_memory_equal(row, first, sizeof(first));
        }
        free(row);
    }
    sl_scratch_close(&scratch);
    free(memory);
}

static void check_recipe(const sluice_augment *r, const picture *p, uint64_t sample)
{
    STATIC_PARAMS(params);
    for (uint32_t way = 0; way < (sl_recipe_is_layered(r) ? 4 : 2); way++) {
        sluice_error error = SLUICE_ERROR_INIT;
        const float boxes[3][4] = {{0, 0, (float)p->width, (float)p->height},
                                   {NAN, -INFINITY, INFINITY, 1e30F},
                                   {(float)p->width / 3, 0, (float)p->width / 2, 1}};
        const sl_draw_key key = {.seed = 1,
                                 .sample = sample,
                                 .exact = way % 2 == 1,
                                 .layer = way / 2,
                                 .boxes = boxes,
                                 .box_count = 3,
                                 .width = 17,
                                 .height = 9};
        const sluice_status status = sl_draw(r, &key, p->width, p->height, &params, &error);
        if (status != SLUICE_OK) {
            assert_int_equal(status, SLUICE_UNSUPPORTED);
            assert_int_equal(error.status, SLUICE_UNSUPPORTED);
            assert_true(error.text[0] != '\0');
            outcomes[2]++;
            continue;
        }
        assert_int_equal(params.width, WIDTH);
        assert_int_equal(params.height, HEIGHT);
        assert_true(params.operation_count <= sl_recipe_operations(r));
        apply_all(r, p, &params);
    }
}

static picture picture_of(uint32_t number, sl_random *random)
{
    picture p = {sizes[number][0], sizes[number][1], NULL};
    p.pixels = malloc((size_t)p.width * p.height * 3);
    assert_non_null(p.pixels);
    for (size_t i = 0; i < (size_t)p.width * p.height * 3; i++) {
        p.pixels[i] = (uint8_t)sl_random_below(random, 256);
    }
    return p;
}

/* Adds the step alone; between a crop and a rotation; after another step of any kind. */
static void add_around(sluice_augment *r, sl_random *random, uint32_t kind, uint32_t round)
{
    if (sl_step_kinds[kind]->members != NULL) { /* this step comes first */
        round = round % 4 == 3 ? round : 0;
    }
    if (sl_step_kinds[kind]->layers != NULL) { /* this step comes after one that sets the size */
        add_random(r, random, sl_step_find(round % 3 == 0 ? "mosaic" : "random_resized_crop"));
        add_random(r, random, sl_step_find("color_jitter"));
    }
    if (round % 4 == 1) {
        assert_int_equal(sluice_augment_add(r, "center_crop", (const double[]){20, 10}, 2),
                         SLUICE_OK);
    } else if (round % 4 == 2) {
        const sl_step_kind *other = sl_step_kinds[sl_random_below(random, sl_step_kind_count)];
        const bool layers = sl_step_kinds[kind]->layers != NULL; /* of one size, with any boxes */
        if (other->draw != NULL && other->members == NULL && other->layers == NULL &&
            !(layers && (other->looks || other->size != NULL))) {
            add_random(r, random, other);
        }
    }
    add_random(r, random, sl_step_kinds[kind]);
    if (round % 4 == 3) {
        assert_int_equal(
            sluice_augment_add(r, "random_rotation", (const double[]){-180, 180, 1, 7}, 4),
            SLUICE_OK);
    }
    assert_int_equal(sluice_augment_add(r, "resize", (const double[]){WIDTH, HEIGHT}, 2),
                     SLUICE_OK);
}

TEST(any_arguments_on_any_picture)
{
    for (uint32_t kind = 0; kind < sl_step_kind_count; kind++) {
        if (sl_step_kinds[kind]->draw == NULL) {
            continue;
        }
        for (uint32_t round = 0; round < ROUNDS; round += 3) {
            sl_random random = sl_random_for(1, kind, round, 0);
            picture p = picture_of(round / 4 % SIZES, &random);
            sluice_augment *r = NULL;
            assert_int_equal(sluice_augment_create(&r), SLUICE_OK);
            add_around(r, &random, kind, round);
            check_recipe(r, &p, round);
            sluice_augment_destroy(r);
            free(p.pixels);
        }
    }
    print_message("done %u, no memory %u, unsupported %u\n", outcomes[0], outcomes[1], outcomes[2]);
    assert_true(outcomes[0] > 300 && outcomes[1] > 15 && outcomes[2] > 3);
}

/* The smallest image through all size-preserving steps, one after the other. */
TEST(one_pixel_through_every_step)
{
    sluice_augment *r = NULL;
    sl_random random = sl_random_for(2, 0, 0, 0);
    picture p = picture_of(0, &random);
    assert_int_equal(sluice_augment_create(&r), SLUICE_OK);
    for (uint32_t kind = 0; kind < sl_step_kind_count; kind++) {
        if (sl_step_kinds[kind]->draw != NULL && sl_step_kinds[kind]->size == NULL &&
            sl_step_kinds[kind]->layers == NULL) {
            add_random(r, &random, sl_step_kinds[kind]);
        }
    }
    assert_int_equal(sluice_augment_add(r, "resize", (const double[]){WIDTH, HEIGHT}, 2),
                     SLUICE_OK);
    for (uint64_t sample = 0; sample < TEST_AMOUNT(100, 50); sample++) {
        check_recipe(r, &p, sample);
    }
    sluice_augment_destroy(r);
    free(p.pixels);
}

TEST(magnitudes_are_below_their_number)
{
    sluice_augment *r = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_augment_create(&r), SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "rand_augment", (const double[]){2, 30, 31}, 3),
                     SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "rand_augment", (const double[]){2, 31, 31}, 3),
                     SLUICE_INVALID);
    assert_int_equal(sl_recipe_check(r, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "num_magnitude_bins"));
    sluice_augment_destroy(r);
}

/* ---- more than a program holds ---- */

/* 1 + 8 x (1 + 8) operations; 64 may change the geometry. */
static sluice_status add_wide_mix(sluice_augment *r)
{
    return sluice_augment_add(r, "aug_mix", (const double[]){10, 8, 8}, 3);
}

static void expect_refused(sluice_augment *r, const char *call)
{
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_recipe_check(r, &error), SLUICE_STATE);
    assert_non_null(strstr(error.text, call));
    assert_non_null(strstr(error.text, "operations"));
    sluice_augment_destroy(r);
}

static sluice_augment *recipe_of_a_wide_mix(void)
{
    sluice_augment *r = NULL;
    assert_int_equal(sluice_augment_create(&r), SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "resize", (const double[]){WIDTH, HEIGHT}, 2),
                     SLUICE_OK);
    assert_int_equal(add_wide_mix(r), SLUICE_OK);
    assert_int_equal(sl_recipe_operations(r), 74);
    return r;
}

TEST(the_widest_mix_is_drawn)
{
    sl_random random = sl_random_for(3, 0, 0, 0);
    picture p = picture_of(7, &random);
    sluice_augment *r = recipe_of_a_wide_mix();
    const uint32_t unsupported = outcomes[2];
    for (uint64_t sample = 0; sample < TEST_AMOUNT(50, 25); sample++) {
        check_recipe(r, &p, sample);
    }
    assert_int_equal(outcomes[2], unsupported);
    sluice_augment_destroy(r);
    free(p.pixels);
}

TEST(more_operations_than_a_program_holds_are_refused)
{
    sluice_augment *r = recipe_of_a_wide_mix();
    assert_int_equal(add_wide_mix(r), SLUICE_STATE);
    expect_refused(r, "aug_mix");
    r = recipe_of_a_wide_mix();
    assert_int_equal(sluice_augment_begin(r, "random_apply", NULL, 0), SLUICE_OK);
    assert_int_equal(add_wide_mix(r), SLUICE_OK);
    assert_int_equal(sluice_augment_end(r), SLUICE_STATE);
    expect_refused(r, "random_apply");
}

/* One of two is drawn. */
TEST(a_choice_comes_to_its_largest)
{
    sluice_augment *r = NULL;
    assert_int_equal(sluice_augment_create(&r), SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "resize", (const double[]){WIDTH, HEIGHT}, 2),
                     SLUICE_OK);
    assert_int_equal(sluice_augment_begin(r, "random_choice", NULL, 0), SLUICE_OK);
    assert_int_equal(add_wide_mix(r), SLUICE_OK);
    assert_int_equal(add_wide_mix(r), SLUICE_OK);
    assert_int_equal(sluice_augment_add(r, "rand_augment", NULL, 0), SLUICE_OK);
    assert_int_equal(sluice_augment_end(r), SLUICE_OK);
    assert_int_equal(sl_recipe_operations(r), 74);
    assert_int_equal(sl_recipe_check(r, NULL), SLUICE_OK);
    sluice_augment_destroy(r);
}
