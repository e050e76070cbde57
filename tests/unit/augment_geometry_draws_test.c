/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws of steps that change the geometry, checked against the rules of torchvision 0.14.1
 * (transforms.py): ranges, and distributions by Pearson's test and first moments, with fixed seeds.
 */
#include "distributions.h"
#include "recipes.h"
#include "step_row.h"
#include "test.h"
#include "whole_params.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 20000, WIDTH = RECIPE_WIDTH, HEIGHT = RECIPE_HEIGHT };
#define DEGREE (3.14159265358979323846 / 180)

/* ---- warps ---- */

TEST(rotations)
{
    sluice_augment *r = recipe_of_step("random_rotation", (const double[]){-30, 75}, 2);
    uniform angle = {.name = "angle", .least = -30, .most = 75};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_warp *warp = &recipe_draw_step(r, i)->geometries[0].warp;
        const double *m = warp->matrix;
        assert_true(m[6] == 0 && m[7] == 0 && m[8] == 1);
        assert_true(warp->width == WIDTH && warp->height == HEIGHT);
        assert_true(fabs(m[0] - m[4]) < 1e-14 && fabs(m[1] + m[3]) < 1e-14);
        assert_true(fabs(m[0] * m[0] + m[1] * m[1] - 1) < 1e-12);
        /* the centre stays; counterclockwise: the right side shows pixels from above it */
        assert_true(fabs(m[0] * WIDTH / 2 + m[1] * HEIGHT / 2 + m[2] - WIDTH / 2.0) < 1e-9);
        assert_true(fabs(m[3] * WIDTH / 2 + m[4] * HEIGHT / 2 + m[5] - HEIGHT / 2.0) < 1e-9);
        uniform_note(&angle, atan2(-m[1], m[0]) / DEGREE);
    }
    uniform_expect(&angle);
    sluice_augment_destroy(r);
}

/* The cosine and sine of Pillow's Image.rotate, which rounds them to 15 digits as Python does. */
TEST(rotations_are_pillows)
{
    static const struct {
        double degrees, c, s;
    } cases[] = {{15.923, 0.961631257784617, -0.274345264314105},
                 {131.59, -0.663795687152537, -0.747913956092338},
                 {-121.284, -0.519280481707489, 0.854603873919162},
                 {127.419, -0.607639244187175, -0.794213163403653},
                 {0, 1.0, -0.0},
                 {90, 0.0, -1.0},
                 {180, -1.0, -0.0},
                 {-90, -0.0, 1.0},
                 {-30, 0.866025403784438, 0.5}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double m[9];
        sl_rotation_matrix(cases[i].degrees, 2 * WIDTH, 2 * HEIGHT, m);
        const double c = cases[i].c;
        const double s = cases[i].s;
        const double expected[9] = {c,  s, c * -WIDTH + s * -HEIGHT + WIDTH,
                                    -s, c, -s * -WIDTH + c * -HEIGHT + HEIGHT,
                                    0,  0, 1};
        for (size_t k = 0; k < 9; k++) {
            assert_true(m[k] == expected[k]);
        }
    }
}

/* Recovers the drawn values from a matrix, by torchvision's own description: M = T C RSS C^-1,
 * RSS = R S Sh, inverted (transforms/functional.py); shears first, then the scale, then the
 * rotation. */
typedef struct affine_parts {
    double angle, x, y, scale, shear_x, shear_y;
} affine_parts;

static void forward(const affine_parts *p, double m[6])
{
    const double rot = p->angle * DEGREE;
    const double sx = p->shear_x * DEGREE;
    const double sy = p->shear_y * DEGREE;
    const double a = p->scale * cos(rot - sy) / cos(sy);
    const double b = p->scale * (-cos(rot - sy) * tan(sx) / cos(sy) - sin(rot));
    const double c = p->scale * sin(rot - sy) / cos(sy);
    const double d = p->scale * (-sin(rot - sy) * tan(sx) / cos(sy) + cos(rot));
    const double cx = WIDTH * 0.5;
    const double cy = HEIGHT * 0.5;
    const double all[6] = {a, b, cx + p->x - a * cx - b * cy, c, d, cy + p->y - c * cx - d * cy};
    memcpy(m, all, sizeof(all));
}

/* The forward matrix after our inverse is the identity. */
static void assert_inverse(const double *ours, const affine_parts *parts)
{
    double f[6];
    forward(parts, f);
    for (int i = 0; i < 3; i++) {
        const double x = i * 40 + 0.5;
        const double y = i * i * 13 + 0.5;
        const double u = ours[0] * x + ours[1] * y + ours[2];
        const double v = ours[3] * x + ours[4] * y + ours[5];
        assert_true(fabs(f[0] * u + f[1] * v + f[2] - x) < 1e-6);
        assert_true(fabs(f[3] * u + f[4] * v + f[5] - y) < 1e-6);
    }
}

/* Numbers known only to the drawing are recovered from the matrix. */
static affine_parts parts_of(const double *m, bool sheared)
{
    affine_parts p = {0};
    const double determinant = m[0] * m[4] - m[1] * m[3];
    /* the forward linear part: [a b; c d] */
    const double a = m[4] / determinant;
    const double b = -m[1] / determinant;
    const double c = -m[3] / determinant;
    const double d = m[0] / determinant;
    p.scale = sqrt(fabs(a * d - b * c));
    p.x = a * (WIDTH * 0.5 - m[2]) + b * (HEIGHT * 0.5 - m[5]) - WIDTH * 0.5;
    p.y = c * (WIDTH * 0.5 - m[2]) + d * (HEIGHT * 0.5 - m[5]) - HEIGHT * 0.5;
    if (!sheared) {
        p.angle = atan2(c, a) / DEGREE;
    } else { /* one axis: the first column rotates by the angle, the second by the angle and the
              * shear */
        p.angle = atan2(c, a) / DEGREE;
        const double along = (a * b + c * d) / p.scale / p.scale;
        p.shear_x = -atan(along) / DEGREE;
    }
    return p;
}

TEST(affine_maps)
{
    sluice_augment *r =
        recipe_of_step("random_affine", (const double[]){-40, 10, 0.1, 0.25, 0.5, 1.5}, 6);
    uniform angle = {.name = "angle", .least = -40, .most = 10};
    uniform scale = {.name = "scale", .least = 0.5, .most = 1.5};
    uint32_t across[21] = {0};
    uint32_t down[31] = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double *m = recipe_draw_step(r, i)->geometries[0].warp.matrix;
        const affine_parts p = parts_of(m, false);
        assert_inverse(m, &p);
        uniform_note(&angle, p.angle);
        uniform_note(&scale, p.scale);
        /* whole pixels, up to 10.1 and 15: the outermost of 15 are half as likely */
        assert_true(fabs(p.x - round(p.x)) < 1e-6 && fabs(p.x) < 10.5);
        assert_true(fabs(p.y - round(p.y)) < 1e-6 && fabs(p.y) < 15.5);
        across[(int)round(p.x) + 10]++;
        down[(int)round(p.y) + 15]++;
    }
    uniform_expect(&angle);
    uniform_expect(&scale);
    distribution_expect(across + 1, NULL, 19, "translate_x");
    distribution_expect(down + 1, NULL, 29, "translate_y");
    distribution_expect_share(across[0], DRAWS, 0.6 / 20.2);
    distribution_expect_share(down[0], DRAWS, 0.5 / 30);
    distribution_expect_share(down[30], DRAWS, 0.5 / 30);
    sluice_augment_destroy(r);
}

TEST(affine_shears)
{
    sluice_augment *r =
        recipe_of_step("random_affine", (const double[]){-20, 20, 0, 0, 2, 2, -25, 35}, 8);
    uniform angle = {.name = "angle", .least = -20, .most = 20};
    uniform shear = {.name = "shear_x", .least = -25, .most = 35};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double *m = recipe_draw_step(r, i)->geometries[0].warp.matrix;
        affine_parts p = parts_of(m, true);
        p.scale = 2;
        assert_inverse(m, &p);
        uniform_note(&angle, p.angle);
        uniform_note(&shear, p.shear_x);
    }
    uniform_expect(&angle);
    uniform_expect(&shear);
    sluice_augment_destroy(r);
    /* the other axis: its own number, and the whole formula */
    r = recipe_of_step("random_affine", (const double[]){15, 15, 0, 0, 0.7, 0.7, 9, 9, -30, 30},
                       10);
    uniform other = {.name = "shear_y", .least = -30, .most = 30};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double *m = recipe_draw_step(r, i)->geometries[0].warp.matrix;
        /* a = s cos(rot - sy) / cos(sy) = s (cos(rot) + sin(rot) tan(sy)) */
        const double determinant = m[0] * m[4] - m[1] * m[3];
        const double a = m[4] / determinant / 0.7;
        const double sy = atan((a - cos(15 * DEGREE)) / sin(15 * DEGREE)) / DEGREE;
        const affine_parts p = {.angle = 15, .scale = 0.7, .shear_x = 9, .shear_y = sy};
        assert_inverse(m, &p);
        uniform_note(&other, sy);
    }
    uniform_expect(&other);
    sluice_augment_destroy(r);
}

static void through(const double *m, double x, double y, double to[2])
{
    const double w = m[6] * x + m[7] * y + m[8];
    to[0] = (m[0] * x + m[1] * y + m[2]) / w;
    to[1] = (m[3] * x + m[4] * y + m[5]) / w;
}

/* The map takes each corner from the place it moved to: inverted by Cramer's rule. */
static void invert_3(const double *m, double to[9])
{
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) {
            const int a = (column + 1) % 3;
            const int b = (column + 2) % 3;
            const int c = (row + 1) % 3;
            const int d = (row + 2) % 3;
            to[row * 3 + column] = m[a * 3 + c] * m[b * 3 + d] - m[a * 3 + d] * m[b * 3 + c];
        }
    }
}

/* Each corner moves inwards by 0 to int(distortion * (size // 2)) pixels. */
TEST(perspectives)
{
    enum { ACROSS = 21, DOWN = 13 }; /* int(0.4 * 50) + 1, int(0.4 * 30) + 1 */
    static uint32_t seen[4][2][ACROSS];
    uint32_t happened = 0;
    sluice_augment *r = recipe_of_step("random_perspective", (const double[]){0.4, 0.3}, 2);
    memset(seen, 0, sizeof(seen));
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_params *params = recipe_draw_step(r, i);
        const sl_geometry *g = &params->geometries[0];
        double inverse[9];
        if (!g->warps) {
            continue;
        }
        happened++;
        assert_int_equal(g->warp.interpolation, SL_BILINEAR);
        invert_3(g->warp.matrix, inverse);
        for (int corner = 0; corner < 4; corner++) {
            const double x = corner % 2 == 1 ? WIDTH - 1.0 : 0;
            const double y = corner / 2 == 1 ? HEIGHT - 1.0 : 0;
            double at[2];
            through(inverse, x, y, at);
            const double by[2] = {fabs(at[0] - x), fabs(at[1] - y)};
            assert_true(at[0] > -1e-6 && at[0] < WIDTH - 1 + 1e-6);
            assert_true(at[1] > -1e-6 && at[1] < HEIGHT - 1 + 1e-6);
            for (int axis = 0; axis < 2; axis++) {
                assert_true(fabs(by[axis] - round(by[axis])) < 1e-6);
                assert_true(by[axis] < (axis == 0 ? ACROSS : DOWN) - 0.5);
                seen[corner][axis][(uint32_t)round(by[axis])]++;
            }
        }
    }
    distribution_expect_share(happened, DRAWS, 0.3);
    for (int corner = 0; corner < 4; corner++) {
        distribution_expect(seen[corner][0], NULL, ACROSS, "corners across");
        distribution_expect(seen[corner][1], NULL, DOWN, "corners down");
    }
    sluice_augment_destroy(r);
}

/* ---- sizes ---- */

/* The shorter side is uniform in [size_min, size_max); the other is proportional, rounded down. */
TEST(random_sizes)
{
    uint32_t seen[10] = {0};
    sluice_augment *r = recipe_of_step("random_resize", (const double[]){30, 40}, 2);
    assert_int_equal(sluice_augment_add(r, "random_crop", (const double[]){20, 20}, 2), SLUICE_OK);
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_geometry *g = &recipe_draw_step(r, i)->geometries[0];
        const uint32_t side = g->box.virtual_height;
        assert_in_range(side, 30, 39);
        assert_int_equal(g->box.virtual_width, side * WIDTH / HEIGHT);
        seen[side - 30]++;
    }
    distribution_expect(seen, NULL, 10, "sizes");
    sluice_augment_destroy(r);
}

/* torchvision's Resize(size, max_size), computed in Python. */
TEST(shorter_sides_up_to_a_limit)
{
    static const struct {
        uint32_t size, limit, width, height, to_width, to_height;
    } cases[] = {{224, 0, 500, 375, 298, 224},
                 {224, 250, 500, 375, 250, 187},
                 {224, 250, 375, 500, 187, 250},
                 {10, 11, 1, 1000, 1, 11},
                 {7, 9, 7, 7, 7, 7}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        STATIC_PARAMS(params);
        sl_drawing d;
        sl_drawing_begin(&d, &params, cases[i].width, cases[i].height, false, NULL);
        assert_int_equal(
            sl_step_find("resize_shorter")
                ->draw((const double[]){cases[i].size, cases[i].limit, SL_BILINEAR}, &d),
            SLUICE_OK);
        assert_int_equal(d.width, cases[i].to_width);
        assert_int_equal(d.height, cases[i].to_height);
    }
    sluice_augment *r = recipe_of_step("resize_shorter", (const double[]){7, 8}, 2);
    assert_int_equal(sluice_augment_add(r, "resize_shorter", (const double[]){8, 8}, 2),
                     SLUICE_INVALID); /* torchvision: strictly greater */
    sluice_augment_destroy(r);
}
