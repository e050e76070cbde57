/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs through the workers' entry point, against an interpreter that applies each
 * operation separately to a whole canvas with scalar kernels: fusing, strips and consecutive
 * canvases must change no bit, at any SIMD level.
 */
#include "converter.h"
#include "geometry.h"
#include "interpreter.h"
#include "operations.h"
#include "policy.h"
#include "test.h"
#include "whole_params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = TEST_AMOUNT(500, 150), SIDE = 90, OPERATIONS = 8 };

/* ---- random programs ---- */

static void random_values(sl_random *random, sl_operation *o)
{
    double *v = o->values;
    if (o->kind == &sl_operation_posterize) {
        v[0] = sl_random_below(random, 9);
    } else if (o->kind == &sl_operation_solarize || o->kind == &sl_operation_solarize_add) {
        v[0] = sl_random_below(random, 256);
        v[1] = sl_random_below(random, 257);
    } else if (o->kind == &sl_operation_hue) {
        v[0] = sl_random_range(random, -0.5, 0.5);
    } else if (o->kind == &sl_operation_hsv) {
        v[0] = sl_random_below(random, 180);
        v[1] = (double)(float)sl_random_range(random, 0, 2);
        v[2] = (double)(float)sl_random_range(random, 0, 2);
    } else if (o->kind == &sl_operation_permute) {
        v[0] = sl_random_below(random, 3);
        v[1] = sl_random_below(random, 3);
        v[2] = sl_random_below(random, 3);
    } else if (o->kind == &sl_operation_erase) {
        v[2] = 1 + sl_random_below(random, o->width);
        v[3] = 1 + sl_random_below(random, o->height);
        v[0] = sl_random_below(random, o->width - (uint32_t)v[2] + 1);
        v[1] = sl_random_below(random, o->height - (uint32_t)v[3] + 1);
        v[4] = v[5] = v[6] = sl_random_below(random, 256);
        v[7] = 57.6;
        o->key = sl_random_below(random, 3);
    } else if (o->kind == &sl_operation_gaussian_blur) {
        v[0] = 1 + 2 * sl_random_below(random, 12);
        v[1] = 1 + 2 * sl_random_below(random, 60);
        v[2] = v[3] = sl_random_range(random, 0.1, 12);
    } else if (o->kind == &sl_operation_elastic) {
        v[0] = v[1] = sl_random_range(random, 0, 100);
        v[2] = v[3] = sl_random_range(random, 0.1, 6);
        v[SL_ELASTIC_INTERPOLATION] = sl_random_below(random, 2);
        v[SL_ELASTIC_FILL] = sl_random_below(random, 256);
        o->key = sl_random_u32(random);
    } else if (o->kind == &sl_operation_jpeg) {
        v[0] = 1 + sl_random_below(random, 100);
    } else {
        v[0] = sl_random_range(random, 0, sl_random_below(random, 4) == 0 ? 30 : 2);
    }
}

static const sl_operation_kind *const kinds[] = {
    &sl_operation_brightness,   &sl_operation_contrast,     &sl_operation_posterize,
    &sl_operation_solarize,     &sl_operation_solarize_add, &sl_operation_invert,
    &sl_operation_autocontrast, &sl_operation_equalize,     &sl_operation_saturation,
    &sl_operation_grey,         &sl_operation_hue,          &sl_operation_permute,
    &sl_operation_erase,        &sl_operation_sharpness,    &sl_operation_gaussian_blur,
    &sl_operation_box_blur,     &sl_operation_jpeg,         &sl_operation_hsv,
    &sl_operation_elastic};

static void add_operation(sl_random *random, sl_drawing *drawing)
{
    const uint32_t pick = sl_random_below(random, sizeof(kinds) / sizeof(kinds[0]));
    sl_operation *operation = sl_draw_operation(drawing, kinds[pick]);
    assert_non_null(operation);
    random_values(random, operation);
}

static void add_pad(sl_random *random, sl_drawing *drawing)
{
    sl_operation *pad = sl_draw_operation(drawing, &sl_operation_pad);
    assert_non_null(pad);
    pad->values[0] = sl_random_below(random, 30);
    pad->values[1] = sl_random_below(random, 30);
    pad->values[2] = SL_PAD_EDGE + sl_random_below(random, 3);
    pad->width = drawing->width += (uint32_t)pad->values[0] + sl_random_below(random, 30);
    pad->height = drawing->height += (uint32_t)pad->values[1] + sl_random_below(random, 30);
}

static void add_warp(sl_random *random, sl_drawing *drawing, bool keeps_size)
{
    static const uint8_t fills[2][3] = {{0, 0, 0}, {9, 99, 199}};
    const double angle = sl_random_range(random, -3.2, 3.2);
    const double scale = exp(sl_random_range(random, -1, 1));
    const double x = drawing->width / 2.0;
    const double y = drawing->height / 2.0;
    double m[9] = {scale * cos(angle),
                   -scale * sin(angle),
                   0,
                   scale * sin(angle),
                   scale * cos(angle),
                   0,
                   0,
                   0,
                   1};
    m[2] = x - m[0] * x - m[1] * y;
    m[5] = y - m[3] * x - m[4] * y;
    m[6] = sl_random_below(random, 3) == 0 ? sl_random_range(random, -0.01, 0.01) : 0;
    const uint32_t width = keeps_size ? drawing->width : 1 + sl_random_below(random, SIDE);
    const uint32_t height = keeps_size ? drawing->height : 1 + sl_random_below(random, SIDE);
    assert_int_equal(sl_draw_warp(drawing, m, width, height,
                                  (sl_interpolation)sl_random_below(random, 3),
                                  fills[sl_random_below(random, 2)]),
                     SLUICE_OK);
}

static void add_geometry(sl_random *random, sl_drawing *drawing)
{
    static const uint8_t fills[2][3] = {{0, 0, 0}, {200, 100, 0}};
    const uint32_t width = 1 + sl_random_below(random, SIDE);
    const uint32_t height = 1 + sl_random_below(random, SIDE);
    switch (sl_random_below(random, 4)) {
    case 0:
        assert_int_equal(sl_draw_crop(drawing, (int64_t)sl_random_below(random, 60) - 30,
                                      (int64_t)sl_random_below(random, 60) - 30, width, height,
                                      fills[sl_random_below(random, 2)]),
                         SLUICE_OK);
        break;
    case 1:
        assert_int_equal(sl_draw_resize(drawing, width, height, SL_BILINEAR), SLUICE_OK);
        break;
    case 2:
        assert_int_equal(sl_draw_flip(drawing, sl_random_below(random, 2) == 1), SLUICE_OK);
        break;
    default:
        add_warp(random, drawing, false);
        break;
    }
}

static void add_mix(sl_random *random, sl_drawing *drawing)
{
    sl_operation *mix = sl_draw_operation(drawing, &sl_operation_mix);
    assert_non_null(mix);
    mix->values[0] = sl_random_below(random, 3);
    mix->values[1] = sl_random_range(random, 0, 1);
    mix->values[2] = sl_random_range(random, 0, 1);
    mix->values[3] = 1 + sl_random_below(random, 3);
    for (uint32_t i = 0; i < (uint32_t)mix->values[3]; i++) {
        sl_operation *chain = sl_draw_operation(drawing, &sl_operation_chain);
        assert_non_null(chain);
        const uint32_t before = drawing->params->operation_count;
        chain->values[0] = sl_random_range(random, 0, 1);
        for (uint32_t k = sl_random_below(random, 4); k > 0; k--) {
            if (sl_random_below(random, 3) == 0) {
                add_warp(random, drawing, true);
            } else {
                add_operation(random, drawing);
            }
        }
        chain->values[1] = drawing->params->operation_count - before;
    }
    sl_drawing_close(drawing);
}

static void random_program(sl_random *random, uint32_t number, const canvas *picture,
                           sl_params *params)
{
    sl_drawing drawing;
    sl_drawing_begin(&drawing, params, picture->width, picture->height, number % 2 == 1, NULL);
    for (uint32_t i = sl_random_below(random, OPERATIONS + 1); i > 0; i--) {
        const uint32_t what = sl_random_below(random, 12);
        if (what == 0) {
            add_mix(random, &drawing);
        } else if (what == 1) {
            add_pad(random, &drawing);
        } else if (what < 6) {
            add_geometry(random, &drawing);
        } else {
            add_operation(random, &drawing);
        }
    }
    sl_drawing_end(&drawing);
}

/* Draws noise, or a dark image with few values, so that histograms have gaps. */
static canvas random_picture(sl_random *random, uint32_t number)
{
    canvas c = interpreter_canvas(1 + sl_random_below(random, number % 7 == 0 ? 3 : SIDE),
                                  1 + sl_random_below(random, number % 5 == 0 ? 3 : SIDE));
    for (size_t i = 0; i < (size_t)c.width * c.height * 3; i++) {
        c.pixels[i] = number % 3 == 0 ? (uint8_t)(40 + 7 * sl_random_below(random, 9))
                                      : (uint8_t)sl_random_below(random, 256);
    }
    return c;
}

/* ---- comparison ---- */

/* Returns exactly the part that the program needs: sanitizers see reads outside. */
static sl_image needed(const canvas *picture, const sl_rect *need)
{
    sl_image view = canvas_view(picture);
    uint8_t *pixels = malloc((size_t)need->width * need->height * 3);
    assert_non_null(pixels);
    for (uint32_t y = 0; y < need->height; y++) {
        memcpy(pixels + (size_t)y * need->width * 3,
               picture->pixels + ((size_t)(need->y + y) * picture->width + need->x) * 3,
               (size_t)need->width * 3);
    }
    view.pixels = pixels;
    view.width = need->width;
    view.height = need->height;
    view.stride_bytes = (size_t)need->width * 3;
    view.origin_x = need->x;
    view.origin_y = need->y;
    return view;
}

static void converter_make(sl_converter *converter, const sl_params *params, sluice_dtype dtype,
                           sluice_layout layout)
{
    static const double arguments[6] = {0.5, 0.4, 0.3, 0.2, 0.25, 0.3};
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(
        sluice_augment_add(recipe, "resize", (const double[]){params->width, params->height}, 2),
        SLUICE_OK);
    if (dtype != SLUICE_U8) {
        assert_int_equal(sluice_augment_add(recipe, "normalize", arguments, 6), SLUICE_OK);
    }
    assert_int_equal(sl_converter_make(converter, recipe, dtype, layout, NULL), SLUICE_OK);
    converter->tools.jpeg = interpreter_jpeg;
    sluice_augment_destroy(recipe);
}

/* Converts each value by the converter's table and stores it in its position. */
static void check_row(const sl_converter *converter, const canvas *expected, const void *row)
{
    const size_t size = sluice_dtype_bytes(converter->dtype);
    const size_t pixels = (size_t)expected->width * expected->height;
    for (size_t i = 0; i < pixels * 3; i++) {
        const size_t place = converter->layout == SLUICE_NHWC ? i : i % 3 * pixels + i / 3;
        const uint32_t value = converter->table[i % 3][expected->pixels[i]];
        if (memcmp((const uint8_t *)row + place * size, &value, size) != 0) {
            print_message("pixel %zu channel %zu of %u x %u, %s\n", i / 3, i % 3, expected->width,
                          expected->height, sl_simd_name(converter->tools.simd));
            fail();
        }
    }
}

static const struct {
    sluice_dtype dtype;
    sluice_layout layout;
} outputs[] = {{SLUICE_U8, SLUICE_NHWC},
               {SLUICE_U8, SLUICE_NCHW},
               {SLUICE_F32, SLUICE_NCHW},
               {SLUICE_F16, SLUICE_NHWC},
               {SLUICE_BF16, SLUICE_NCHW}};

static void describe(const sl_params *params, uint32_t number)
{
    print_message("program %u:", number);
    for (uint32_t i = 0; i < params->operation_count; i++) {
        print_message(" %s", params->operations[i].kind->name);
    }
    print_message("\n");
}

static void check_program(const sl_params *params, const canvas *picture, uint32_t number,
                          sl_scratch *scratch)
{
    canvas expected = interpret(params, picture);
    const sl_image view = needed(picture, &params->need);
    const sl_apply_work work = {.scratch = scratch};
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        sl_converter converter;
        converter_make(&converter, params, outputs[i].dtype, outputs[i].layout);
        const size_t bytes = sl_converter_row_bytes(&converter);
        void *row = malloc(bytes);
        assert_non_null(row);
        for (int level = SL_SIMD_SCALAR; level <= (int)sl_simd_best(); level++) {
            const size_t mark = sl_scratch_mark(scratch);
            converter.tools.simd = (sl_simd)level;
            memset(row, 0xA5, bytes);
            if (number == UINT32_MAX) {
                describe(params, number);
            }
            assert_int_equal(sl_augment_apply(&converter, &view, params, &work, row, NULL),
                             SLUICE_OK);
            assert_int_equal(sl_scratch_mark(scratch), mark);
            check_row(&converter, &expected, row);
        }
        free(row);
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it was allocated here
    free((void *)(uintptr_t)view.pixels);
    free(expected.pixels);
}

static int open_scratch(void **state)
{
    sl_scratch *scratch = calloc(1, sizeof(*scratch));
    assert_non_null(scratch);
    *state = scratch;
    return sl_scratch_open(scratch, (size_t)64 << 20, 8 << 20, NULL) == SLUICE_OK ? 0 : 1;
}

static int close_scratch(void **state)
{
    sl_scratch_close(*state);
    free(*state);
    return 0;
}

TEST_WITH(programs_are_what_their_operations_are, open_scratch, close_scratch)
{
    STATIC_PARAMS(params);
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        sl_random random = sl_random_for(5, i, 0, 0);
        canvas picture = random_picture(&random, i);
        random_program(&random, i, &picture, &params);
        check_program(&params, &picture, i, *state);
        free(picture.pixels);
    }
}

/* Too little scratch is an error that leaves it as it was; with enough the result is the same. */
// NOLINTNEXTLINE(readability-function-size): the macro's variables
TEST_WITH(too_little_scratch, open_scratch, close_scratch)
{
    STATIC_PARAMS(params);
    uint32_t refused = 0;
    uint32_t done = 0;
    for (uint32_t i = 0; i < TEST_AMOUNT(60, 15); i++) {
        sl_random random = sl_random_for(6, i, 0, 0);
        canvas picture = random_picture(&random, i);
        random_program(&random, i, &picture, &params);
        canvas expected = interpret(&params, &picture);
        const sl_image view = needed(&picture, &params.need);
        sl_converter converter;
        converter_make(&converter, &params, SLUICE_F32, i % 2 == 0 ? SLUICE_NHWC : SLUICE_NCHW);
        void *row = malloc(sl_converter_row_bytes(&converter));
        assert_non_null(row);
        for (size_t limit = 64; limit < (size_t)4 << 20; limit += limit / 4) {
            sl_scratch scratch;
            sluice_error error = SLUICE_ERROR_INIT;
            assert_int_equal(sl_scratch_open(&scratch, limit, limit, NULL), SLUICE_OK);
            const sl_apply_work work = {.scratch = &scratch};
            const sluice_status status =
                sl_augment_apply(&converter, &view, &params, &work, row, &error);
            assert_true(status == SLUICE_OK || status == SLUICE_NOMEM);
            assert_int_equal(sl_scratch_mark(&scratch), 0);
            if (status == SLUICE_OK) {
                check_row(&converter, &expected, row);
                done++;
            } else {
                assert_true(error.status == SLUICE_NOMEM && error.text[0] != '\0');
                refused++;
            }
            sl_scratch_close(&scratch);
        }
        free(row);
        // NOLINTNEXTLINE(performance-no-int-to-ptr): it was allocated here
        free((void *)(uintptr_t)view.pixels);
        free(expected.pixels);
        free(picture.pixels);
    }
    assert_true(refused > TEST_AMOUNT(60, 15) && done > TEST_AMOUNT(60, 15));
}

/* Times are attributed to the operations that ran, and to no others. */
TEST_WITH(the_profile_names_operations, open_scratch, close_scratch)
{
    STATIC_PARAMS(params);
    for (uint32_t i = 0; i < 40; i++) {
        sl_random random = sl_random_for(7, i, 0, 0);
        canvas picture = random_picture(&random, 1);
        bool there[SL_OPERATION_NUMBERS] = {[SL_OPERATION_GEOMETRY] = true};
        random_program(&random, i, &picture, &params);
        for (uint32_t k = 0; k < params.operation_count; k++) {
            there[params.operations[k].kind->number] = true;
        }
        const sl_image view = needed(&picture, &params.need);
        sl_profile profile = {{0}};
        const sl_apply_work work = {.scratch = *state, .profile = &profile};
        sl_converter converter;
        converter_make(&converter, &params, SLUICE_F32, SLUICE_NCHW);
        void *row = malloc(sl_converter_row_bytes(&converter));
        assert_non_null(row);
        assert_int_equal(sl_augment_apply(&converter, &view, &params, &work, row, NULL), SLUICE_OK);
        for (size_t k = 0; k < SL_OPERATION_NUMBERS; k++) {
            assert_true(there[k] || profile.ns[k] == 0);
        }
        free(row);
        // NOLINTNEXTLINE(performance-no-int-to-ptr): it was allocated here
        free((void *)(uintptr_t)view.pixels);
        free(picture.pixels);
    }
}

/* A recipe with "jpeg" but no codec gives an error for the sample, not a crash. */
TEST_WITH(no_codec_for_jpeg, open_scratch, close_scratch)
{
    STATIC_PARAMS(params);
    sl_random random = sl_random_for(8, 0, 0, 0);
    canvas picture = random_picture(&random, 1);
    sluice_error error = SLUICE_ERROR_INIT;
    sl_drawing drawing;
    sl_drawing_begin(&drawing, &params, picture.width, picture.height, false, NULL);
    sl_draw_operation(&drawing, &sl_operation_jpeg)->values[0] = 50;
    sl_drawing_end(&drawing);
    const sl_image view = needed(&picture, &params.need);
    const sl_apply_work work = {.scratch = *state};
    sl_converter converter;
    converter_make(&converter, &params, SLUICE_U8, SLUICE_NHWC);
    converter.tools.jpeg = NULL;
    uint8_t *row = malloc(sl_converter_row_bytes(&converter));
    assert_non_null(row);
    assert_int_equal(sl_augment_apply(&converter, &view, &params, &work, row, &error),
                     SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "jpeg"));
    free(row);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it was allocated here
    free((void *)(uintptr_t)view.pixels);
    free(picture.pixels);
}
