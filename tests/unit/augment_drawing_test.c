/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of drawings, by hand: the number of boxes, the size of the canvas that a warp reads, the
 * part of an image needed, and sizes that are too large. augment_geometry_test checks the positions
 * shown.
 */
#include "error.h"
#include "geometry.h"
#include "test.h"
#include "whole_params.h"

#include <math.h>
#include <string.h>

/* ---- boxes ---- */

/* Crops, resizes and flips alone: one box as long as there is one resize and one border colour. */
TEST(boxes_stay_one_box)
{
    static const uint8_t black[3];
    static const uint8_t grey[3] = {9, 9, 9};
    STATIC_PARAMS(params);
    sl_drawing d;
    sl_drawing_begin(&d, &params, 100, 80, true, NULL);
    assert_int_equal(sl_draw_crop(&d, 10, 20, 60, 40, black), SLUICE_OK);
    assert_int_equal(sl_draw_flip(&d, false), SLUICE_OK);
    assert_int_equal(sl_draw_crop(&d, 5, 0, 50, 40, black), SLUICE_OK);
    assert_int_equal(sl_draw_resize(&d, 30, 30, SL_BICUBIC), SLUICE_OK);
    assert_int_equal(sl_draw_resize(&d, 30, 30, SL_NEAREST), SLUICE_OK); /* a copy */
    assert_int_equal(sl_draw_flip(&d, true), SLUICE_OK);
    assert_int_equal(sl_draw_crop(&d, -4, -4, 40, 40, grey), SLUICE_OK);
    assert_int_equal(sl_draw_crop(&d, -1, -1, 42, 42, grey), SLUICE_OK);
    assert_int_equal(sl_draw_crop(&d, 0, 3, 20, 20, black), SLUICE_OK);
    sl_drawing_end(&d);
    assert_int_equal(params.geometry_count, 1);
    assert_int_equal(sl_mapping_interpolation(&params.geometries[0].box), SL_BICUBIC);
    assert_int_equal(params.geometries[0].box.source.x, 15);
    assert_int_equal(params.geometries[0].box.source.width, 50);
    assert_int_equal(params.geometries[0].box.window_x, 15); /* 30 + 4 - 40, 40 + 1 - 42, 42 - 20 */
    assert_true(params.geometries[0].box.flip_x && params.geometries[0].box.flip_y);
    /* Each of these starts a second geometry. */
    for (int i = 0; i < 4; i++) {
        sl_drawing_begin(&d, &params, 100, 80, false, NULL);
        assert_int_equal(sl_draw_crop(&d, -4, -4, 200, 200, grey), SLUICE_OK);
        if (i == 0) {
            assert_int_equal(sl_draw_crop(&d, -4, -4, 300, 300, black), SLUICE_OK);
        } else if (i == 1) {
            assert_int_equal(sl_draw_resize(&d, 10, 10, SL_BILINEAR), SLUICE_OK);
        } else if (i == 2) {
            assert_int_equal(sl_draw_crop(&d, 9, 9, 10, 10, black), SLUICE_OK);
            assert_int_equal(sl_draw_crop(&d, -9, -9, 30, 30, grey), SLUICE_OK);
        } else {
            sl_drawing_close(&d);
            assert_int_equal(sl_draw_flip(&d, false), SLUICE_OK);
        }
        sl_drawing_end(&d);
        assert_int_equal(params.geometry_count, 2);
    }
}

/* ---- antialiasing ---- */

static void through(const double m[9], double x, double y, double to[2])
{
    const double w = m[6] * x + m[7] * y + m[8];
    to[0] = (m[0] * x + m[1] * y + m[2]) / w;
    to[1] = (m[3] * x + m[4] * y + m[5]) / w;
}

/* Distances of neighbours in the canvas that the warp reads, across and down, by differences. */
static void distances(const sl_geometry *g, double steps[2])
{
    const double x = g->warp.width / 2.0;
    const double y = g->warp.height / 2.0;
    double at[3][2];
    through(g->warp.matrix, x, y, at[0]);
    through(g->warp.matrix, x + 1e-4, y, at[1]);
    through(g->warp.matrix, x, y + 1e-4, at[2]);
    steps[0] = hypot(at[1][0] - at[0][0], at[2][0] - at[0][0]) * 1e4;
    steps[1] = hypot(at[1][1] - at[0][1], at[2][1] - at[0][1]) * 1e4;
}

static void turn_and_shrink(bool exact, double scale, sl_interpolation interpolation,
                            bool composed_resize, sl_params *params)
{
    static const uint8_t black[3];
    const double m[9] = {scale * 0.8, -scale * 0.6, 100, scale * 0.6, scale * 0.8, 50, 0, 0, 1};
    sl_drawing d;
    sl_drawing_begin(&d, params, 1000, 700, exact, NULL);
    assert_int_equal(sl_draw_flip(&d, false), SLUICE_OK);
    assert_int_equal(sl_draw_warp(&d, m, 100, 100, interpolation, black), SLUICE_OK);
    if (composed_resize) {
        assert_int_equal(sl_draw_resize(&d, 40, 20, SL_BILINEAR), SLUICE_OK);
    }
    sl_drawing_end(&d);
}

/* A shrinking warp resamples first, so that one output pixel is about one canvas pixel; not for
 * NEAREST, and not in an exact drawing. */
TEST(warps_that_shrink_are_antialiased)
{
    STATIC_PARAMS(params);
    sl_random random = sl_random_for(3, 0, 0, 0);
    for (int i = 0; i < 400; i++) {
        const double scale = sl_random_range(&random, 0.2, 6);
        const bool resized = i % 2 == 1;
        const bool exact = i % 5 == 0;
        const sl_interpolation interpolation = (sl_interpolation)(i % 3);
        double steps[2];
        turn_and_shrink(exact, scale, interpolation, resized, &params);
        const sl_geometry *g = &params.geometries[0];
        const sl_mapping *box = &g->box;
        const double times[2] = {hypot(0.8 * (resized ? 2.5 : 1), 0.6 * (resized ? 5 : 1)),
                                 hypot(0.6 * (resized ? 2.5 : 1), 0.8 * (resized ? 5 : 1))};
        if (exact || (interpolation == SL_NEAREST && !resized)) {
            assert_int_equal(box->virtual_width, 1000);
            assert_int_equal(box->virtual_height, 700);
            assert_int_equal(g->warp.frame_count, 0);
            assert_int_equal(params.geometry_count, exact && resized ? 2 : 1);
            continue;
        }
        const bool across = scale * times[0] > 1.25;
        const bool down = scale * times[1] > 1.25;
        distances(g, steps);
        assert_int_equal(params.geometry_count, 1);
        assert_int_equal(box->virtual_width, across ? round(1000 / (scale * times[0])) : 1000);
        assert_int_equal(box->virtual_height, down ? round(700 / (scale * times[1])) : 700);
        assert_int_equal(g->warp.frame_count, across || down);
        assert_true(steps[0] < 1.2501 && steps[1] < 1.2501);
        assert_true(!across || fabs(steps[0] - 1) < 0.02);
        assert_true(!down || fabs(steps[1] - 1) < 0.02);
        assert_int_equal(sl_mapping_interpolation(box), SL_BILINEAR);
    }
}

/* A rotated crop decodes the part it shows and a margin for the filters, not the whole image. */
TEST(need_of_a_turned_crop_is_small)
{
    static const uint8_t black[3];
    STATIC_PARAMS(params);
    const double m[9] = {0.8, -0.6, 300, 0.6, 0.8, 100, 0, 0, 1};
    sl_drawing d;
    sl_drawing_begin(&d, &params, 1000, 1000, false, NULL);
    assert_int_equal(sl_draw_warp(&d, m, 1000, 1000, SL_BICUBIC, black), SLUICE_OK);
    assert_int_equal(sl_draw_crop(&d, 400, 400, 100, 100, black), SLUICE_OK);
    sl_drawing_end(&d);
    /* Corners: (380, 660), (460, 720), (320, 740), (400, 800). */
    assert_true(params.need.x <= 320 && params.need.x >= 315);
    assert_true(params.need.y <= 660 && params.need.y >= 655);
    assert_true(params.need.width <= 150 && params.need.height <= 150);
}

/* ---- limits ---- */

TEST(too_many_operations)
{
    static const uint8_t black[3];
    static const sl_operation_kind any = {.name = "any"};
    STATIC_PARAMS(params);
    sluice_error error = SLUICE_ERROR_INIT;
    sl_drawing d;
    sl_drawing_begin(&d, &params, 10, 10, false, &error);
    for (int i = 0; i < SL_OPERATIONS_MAX; i++) {
        sl_operation *operation = sl_draw_operation(&d, &any);
        assert_ptr_equal(operation, &params.operations[i]);
        assert_int_equal(operation->width, 10);
    }
    assert_null(sl_draw_operation(&d, &any));
    assert_int_equal(error.status, SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "128"));
    assert_int_equal(sl_draw_flip(&d, true), SLUICE_UNSUPPORTED);
    assert_int_equal(sl_draw_crop(&d, 0, 0, 5, 5, black), SLUICE_UNSUPPORTED);
    assert_int_equal(sl_draw_resize(&d, 7, 5, SL_BILINEAR), SLUICE_UNSUPPORTED);
    sl_drawing_end(&d);
    assert_int_equal(params.width, 10);
    sl_drawing_begin(&d, &params, 10, 10, false, &error);
    for (int i = 1; i < SL_GEOMETRIES_MAX; i++) {
        assert_int_equal(sl_draw_flip(&d, true), SLUICE_OK);
        sl_drawing_close(&d);
        assert_int_equal(params.geometry_count, i);
    }
    assert_int_equal(sl_draw_flip(&d, true), SLUICE_OK);
    sl_drawing_close(&d);
    assert_int_equal(sl_draw_flip(&d, true), SLUICE_UNSUPPORTED);
    sl_drawing_end(&d);
    assert_int_equal(params.geometry_count, SL_GEOMETRIES_MAX);
}

TEST(sizes_that_cannot_be)
{
    static const uint8_t black[3];
    STATIC_PARAMS(params);
    const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const uint32_t bad[] = {0, INT32_MAX / 2 + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        for (int side = 0; side < 2; side++) {
            const uint32_t width = side == 0 ? bad[i] : 5;
            const uint32_t height = side == 0 ? 5 : bad[i];
            sluice_error error = SLUICE_ERROR_INIT;
            sl_drawing d;
            sl_drawing_begin(&d, &params, 10, 10, false, &error);
            assert_int_equal(sl_draw_crop(&d, 0, 0, width, height, black), SLUICE_UNSUPPORTED);
            assert_int_equal(sl_draw_resize(&d, width, height, SL_BILINEAR), SLUICE_UNSUPPORTED);
            assert_int_equal(sl_draw_warp(&d, one, width, height, SL_NEAREST, black),
                             SLUICE_UNSUPPORTED);
            assert_non_null(strstr(error.text, bad[i] == 0 ? "empty" : "too large"));
            sl_drawing_end(&d);
            assert_int_equal(params.width, 10);
            assert_int_equal(params.height, 10);
        }
    }
}
