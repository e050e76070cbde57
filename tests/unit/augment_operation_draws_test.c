/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws of steps that add operations, checked against the rules of torchvision 0.14.1
 * (transforms.py): ranges, and distributions by Pearson's test and first moments, with fixed seeds.
 */
#include "distributions.h"
#include "operations.h"
#include "recipes.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 20000, WIDTH = RECIPE_WIDTH, HEIGHT = RECIPE_HEIGHT };

/* ---- erasing ---- */

/* Area uniform and aspect log-uniform as far as the rectangle fits; its position uniform. */
TEST(erasing)
{
    const double ends[] = {0.6, 0.02, 0.1, 0.5, 2, 10, 20, 30};
    sluice_augment *r = recipe_of_step("random_erasing", ends, 8);
    uniform area = {.name = "area", .least = 0.02, .most = 0.1};
    uniform aspect = {.name = "aspect", .least = log(0.5), .most = log(2)};
    uint32_t happened = 0;
    double place[2] = {0, 0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_params *params = recipe_draw_step(r, i);
        if (params->operation_count == 0) {
            continue;
        }
        happened++;
        assert_int_equal(params->operation_count, 1);
        const sl_operation *o = &params->operations[0];
        const double *v = o->values;
        assert_ptr_equal(o->kind, &sl_operation_erase);
        assert_int_equal(o->key, 0);
        assert_true(v[4] == 10 && v[5] == 20 && v[6] == 30);
        assert_true(v[2] >= 1 && v[0] + v[2] <= WIDTH && v[2] < WIDTH);
        assert_true(v[3] >= 1 && v[1] + v[3] <= HEIGHT && v[3] < HEIGHT);
        /* sides are rounded by at most half a pixel */
        const double part = v[2] * v[3] / (WIDTH * HEIGHT);
        assert_true(part > 0.015 && part < 0.115);
        area.sum += part;
        aspect.sum += log(v[3] / v[2]);
        place[0] += v[0] / (WIDTH - v[2]);
        place[1] += v[1] / (HEIGHT - v[3]);
    }
    distribution_expect_share(happened, DRAWS, 0.6);
    assert_true(fabs(area.sum / happened - 0.06) < 0.001);
    assert_true(fabs(aspect.sum / happened) < 0.02);
    assert_true(fabs(place[0] / happened - 0.5) < 0.012);
    assert_true(fabs(place[1] / happened - 0.5) < 0.012);
    sluice_augment_destroy(r);
}

/* Noise has its own key each time; -1 is the value that normalizes to 0; timm's several rectangles
 * share the area. */
TEST(erasing_with_noise)
{
    const double ends[] = {1, 0.2, 0.2, 1, 1, -1, -1, -1, 1, 2, 4};
    const double normal[] = {0.4, 0.25, 0.125, 1, 2, 3};
    sluice_augment *r = recipe_of_step("random_erasing", ends, 11);
    assert_int_equal(sluice_augment_add(r, "normalize", normal, 6), SLUICE_OK);
    uint32_t counts[3] = {0, 0, 0};
    uint64_t last = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_params *params = recipe_draw_step(r, i);
        assert_in_range(params->operation_count, 2, 4);
        counts[params->operation_count - 2]++;
        for (uint32_t k = 0; k < params->operation_count; k++) {
            const sl_operation *o = &params->operations[k];
            const double side = round(sqrt(0.2 * WIDTH * HEIGHT / params->operation_count));
            assert_true(o->values[2] == side && o->values[3] == side);
            assert_true(o->key != 0 && o->key != last);
            assert_true(o->values[4] == 102 && o->values[5] == 64 && o->values[6] == 32);
            last = o->key;
        }
    }
    distribution_expect(counts, NULL, 3, "rectangles");
    sluice_augment_destroy(r);
}

/* The value that normalizes to 0 may be black; without normalize, noise is around grey, which does
 * not clip half of it. */
TEST(noise_about_what_normalizes_to_nothing)
{
    const double ends[] = {1, 0.2, 0.2, 1, 1, -1, -1, -1, 1, 1, 1};
    const double zero_mean[] = {0, 0, 0, 1, 0.5, 0.25};
    for (int normalized = 0; normalized < 2; normalized++) {
        sluice_augment *r = recipe_of_step("random_erasing", ends, 11);
        if (normalized == 1) {
            assert_int_equal(sluice_augment_add(r, "normalize", zero_mean, 6), SLUICE_OK);
        }
        const sl_params *params = recipe_draw_step(r, 0);
        assert_int_equal(params->operation_count, 1);
        for (size_t c = 0; c < 3; c++) {
            assert_true(params->operations[0].values[4 + c] == (normalized == 1 ? 0 : 128));
        }
        sluice_augment_destroy(r);
    }
}

/* ---- colour ---- */

static uint32_t jitter_of(const sl_operation *o)
{
    return o->kind == &sl_operation_brightness   ? 0
           : o->kind == &sl_operation_contrast   ? 1
           : o->kind == &sl_operation_saturation ? 2
           : o->kind == &sl_operation_hue        ? 3
                                                 : 4;
}

/* All 24 orders are equally likely, and each factor is uniform. */
static void check_jitter(const sluice_augment *r, uniform factors[4])
{
    static uint32_t orders[256];
    uint32_t seen[24];
    uint32_t kinds = 0;
    memset(orders, 0, sizeof(orders));
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_params *params = recipe_draw_step(r, i);
        uint32_t order = 0;
        assert_int_equal(params->operation_count, 4);
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t which = jitter_of(&params->operations[k]);
            assert_true(which < 4);
            uniform_note(&factors[which], params->operations[k].values[0]);
            order = order * 4 + which;
        }
        orders[order]++;
    }
    for (uint32_t i = 0; i < 256; i++) {
        if (orders[i] > 0) {
            assert_true(kinds < 24);
            seen[kinds++] = orders[i];
        }
    }
    assert_int_equal(kinds, 24);
    distribution_expect(seen, NULL, 24, "orders");
    for (size_t i = 0; i < 4; i++) {
        uniform_expect(&factors[i]);
    }
}

TEST(jitter_with_hue)
{
    uniform factors[4] = {{.name = "brightness", .least = 0.6, .most = 1.4},
                          {.name = "contrast", .least = 0, .most = 3},
                          {.name = "saturation", .least = 0.9, .most = 1.1},
                          {.name = "hue", .least = -0.2, .most = 0.2}};
    sluice_augment *r = recipe_of_step("color_jitter", (const double[]){0.4, 2, 0.1, 0.2}, 4);
    check_jitter(r, factors);
    sluice_augment_destroy(r);
}

TEST(jitter_of_ranges)
{
    uniform factors[4] = {{.name = "brightness", .least = 0.2, .most = 0.7},
                          {.name = "contrast", .least = 1, .most = 3},
                          {.name = "saturation", .least = 5, .most = 9},
                          {.name = "hue", .least = 0.1, .most = 0.4}};
    sluice_augment *r =
        recipe_of_step("color_jitter_ranges", (const double[]){0.2, 0.7, 1, 3, 5, 9, 0.1, 0.4}, 8);
    check_jitter(r, factors);
    sluice_augment_destroy(r);
}

/* The hue changes neither the other draws nor their relative order. */
TEST(hue_leaves_the_others)
{
    sluice_augment *plain = recipe_of_step("color_jitter", (const double[]){0.4, 2, 0.1}, 3);
    sluice_augment *hue = recipe_of_step("color_jitter", (const double[]){0.4, 2, 0.1, 0.5}, 4);
    for (uint64_t i = 0; i < 500; i++) {
        sl_operation first[3];
        memcpy(first, recipe_draw_step(plain, i)->operations, sizeof(first));
        const sl_params *params = recipe_draw_step(hue, i);
        uint32_t at = 0;
        for (uint32_t k = 0; k < 4; k++) {
            const sl_operation *o = &params->operations[k];
            if (jitter_of(o) != 3) {
                assert_ptr_equal(o->kind, first[at].kind);
                assert_true(o->values[0] == first[at].values[0]);
                at++;
            }
        }
        assert_int_equal(at, 3);
    }
    sluice_augment_destroy(plain);
    sluice_augment_destroy(hue);
}

/* ---- HSV ---- */

/* ultralytics' RandomHSV: uniform around the identity; steps of 2 degrees. */
TEST(hsv_changes)
{
    enum { STEPS = 36 };
    uint32_t steps[STEPS] = {0};
    uniform saturation = {.name = "saturation", .least = 0.3, .most = 1.7};
    uniform value = {.name = "value", .least = 0.6, .most = 1.4};
    sluice_augment *r = recipe_of_step("random_hsv", (const double[]){0.1, 0.7, 0.4}, 3);
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_params *params = recipe_draw_step(r, i);
        const sl_operation *o = &params->operations[0];
        assert_int_equal(params->operation_count, 1);
        assert_ptr_equal(o->kind, &sl_operation_hsv);
        const double turned = o->values[0] >= 90 ? o->values[0] - 180 : o->values[0];
        assert_true(turned >= -18 && turned < 18 && turned == floor(turned));
        steps[(int)turned + 18]++;
        uniform_note(&saturation, o->values[1]);
        uniform_note(&value, o->values[2]);
    }
    distribution_expect(steps, NULL, STEPS, "hue");
    uniform_expect(&saturation);
    uniform_expect(&value);
    sluice_augment_destroy(r);
}

TEST(hsv_presets_and_nothing)
{
    sluice_augment *usual = recipe_of_step("random_hsv", NULL, 0);
    sluice_augment *nothing = recipe_of_step("random_hsv", (const double[]){0, 0, 0}, 3);
    sluice_augment *value = recipe_of_step("random_hsv", (const double[]){0, 0, 1}, 3);
    for (uint64_t i = 0; i < 500; i++) {
        const double *v = recipe_draw_step(usual, i)->operations[0].values;
        assert_true(v[0] < 3 || v[0] >= 177);
        assert_true(v[1] > 0.29 && v[1] < 1.71 && v[2] > 0.59 && v[2] < 1.41);
        assert_int_equal(recipe_draw_step(nothing, i)->operation_count, 0);
        v = recipe_draw_step(value, i)->operations[0].values;
        assert_true(v[0] == 0 && v[1] >= 1 && v[1] < 256.0 / 255);
    }
    sluice_augment_destroy(usual);
    sluice_augment_destroy(nothing);
    sluice_augment_destroy(value);
}

/* ---- one number each ---- */

TEST(steps_with_a_probability)
{
    static const struct {
        const char *name;
        const sl_operation_kind *kind;
        double arguments[3];
        uint32_t count;
    } steps[] = {{"random_grayscale", &sl_operation_grey, {0.2}, 1},
                 {"random_invert", &sl_operation_invert, {0.7}, 1},
                 {"random_posterize", &sl_operation_posterize, {3, 0.4}, 2},
                 {"random_solarize", &sl_operation_solarize, {99.5, 0.9}, 2},
                 {"random_solarize_add", &sl_operation_solarize_add, {30, 128, 0.1}, 3},
                 {"random_autocontrast", &sl_operation_autocontrast, {0.5}, 1},
                 {"random_equalize", &sl_operation_equalize, {0.3}, 1},
                 {"random_sharpness", &sl_operation_sharpness, {1.5, 0.6}, 2}};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        sluice_augment *r = recipe_of_step(steps[i].name, steps[i].arguments, steps[i].count);
        uint32_t happened = 0;
        for (uint64_t k = 0; k < DRAWS; k++) {
            const sl_params *params = recipe_draw_step(r, k);
            happened += params->operation_count;
            if (params->operation_count == 1) {
                const sl_operation *o = &params->operations[0];
                assert_ptr_equal(o->kind, steps[i].kind);
                assert_true(steps[i].count == 1 || o->values[0] == steps[i].arguments[0]);
                assert_true(steps[i].count < 3 || o->values[1] == steps[i].arguments[1]);
            }
        }
        distribution_expect_share(happened, DRAWS, steps[i].arguments[steps[i].count - 1]);
        sluice_augment_destroy(r);
    }
}

TEST(blurs_and_qualities)
{
    uniform sigma = {.name = "sigma", .least = 0.1, .most = 2};
    uniform radius = {.name = "radius", .least = 0, .most = 5};
    uint32_t qualities[11] = {0};
    sluice_augment *blur = recipe_of_step("gaussian_blur", (const double[]){5, 9}, 2);
    sluice_augment *boxes = recipe_of_step("pillow_blur", (const double[]){0, 5}, 2);
    sluice_augment *jpeg = recipe_of_step("jpeg", (const double[]){40, 50}, 2);
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double *v = recipe_draw_step(blur, i)->operations[0].values;
        assert_true(v[0] == 5 && v[1] == 9 && v[2] == v[3]);
        uniform_note(&sigma, v[2]);
        uniform_note(&radius, recipe_draw_step(boxes, i)->operations[0].values[0]);
        const double quality = recipe_draw_step(jpeg, i)->operations[0].values[0];
        assert_true(quality >= 40 && quality <= 50 && quality == floor(quality));
        qualities[(uint32_t)quality - 40]++;
    }
    uniform_expect(&sigma);
    uniform_expect(&radius);
    distribution_expect(qualities, NULL, 11, "qualities");
    sluice_augment_destroy(blur);
    sluice_augment_destroy(boxes);
    sluice_augment_destroy(jpeg);
}

TEST(channel_permutations)
{
    uint32_t seen[27] = {0};
    uint32_t counts[6];
    uint32_t kinds = 0;
    sluice_augment *r = recipe_of_step("random_channel_permutation", NULL, 0);
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double *v = recipe_draw_step(r, i)->operations[0].values;
        assert_true(v[0] != v[1] && v[1] != v[2] && v[0] != v[2]);
        seen[(uint32_t)(v[0] * 9 + v[1] * 3 + v[2])]++;
    }
    for (uint32_t i = 0; i < 27; i++) {
        if (seen[i] > 0) {
            assert_true(kinds < 6);
            counts[kinds++] = seen[i];
        }
    }
    assert_int_equal(kinds, 6);
    distribution_expect(counts, NULL, 6, "permutations");
    sluice_augment_destroy(r);
}
