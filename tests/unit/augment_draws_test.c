/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What steps draw, judged against the rules of torchvision 0.14.1 (transforms.py): ranges, and
 * distributions by Pearson's test and first moments, with fixed seeds.
 */
#include "operations.h"
#include "recipe.h"
#include "steps_draw.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 20000, BINS = 20, WIDTH = 101, HEIGHT = 60 };
#define DEGREE (3.14159265358979323846 / 180)

/* ---- statistics ---- */

/* Below the limit of a probability of 0.001, by Wilson and Hilferty. */
static void assert_fits(double statistic, double freedom, const char *what)
{
    const double share = 2 / (9 * freedom);
    const double limit = freedom * pow(1 - share + 3.09 * sqrt(share), 3);
    if (!(statistic <= limit)) {
        print_message("%s: chi-squared %g, limit %g\n", what, statistic, limit);
    }
    assert_true(statistic <= limit);
}

static void assert_equal_parts(const uint32_t *seen, uint32_t count, const char *what)
{
    double all = 0;
    double statistic = 0;
    for (uint32_t i = 0; i < count; i++) {
        all += seen[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        const double expected = all / count;
        statistic += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    assert_fits(statistic, count - 1.0, what);
}

/* A uniform number of [least, most]. */
typedef struct uniform {
    const char *name;
    double least, most;
    uint32_t seen[BINS], count;
    double sum;
} uniform;

static void note(uniform *u, double value)
{
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the caller fills it in
    const double slack = 1e-6 * (u->most - u->least);
    assert_true(value >= u->least - slack && value <= u->most + slack);
    const double part = (value - u->least) / (u->most - u->least);
    const double bin = floor(fmin(fmax(part, 0), 1) * BINS);
    u->seen[(uint32_t)fmin(bin, BINS - 1)]++;
    u->sum += part;
    u->count++;
}

static void judge(const uniform *u)
{
    assert_true(u->count > 1000);
    assert_equal_parts(u->seen, BINS, u->name);
    assert_true(fabs(u->sum / u->count - 0.5) < 4 * sqrt(1.0 / 12 / u->count));
}

/* Whole numbers 0 to count - 1, all alike. */
static void judge_share(uint32_t seen, uint32_t of, double probability)
{
    assert_true(fabs(seen - of * probability) <=
                4 * sqrt(of * probability * (1 - probability)) + 1e-9);
}

/* ---- drawing ---- */

static sluice_augment *make_recipe(const char *name, const double *arguments, uint32_t count)
{
    sluice_augment *recipe = NULL;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, "center_crop", (const double[]){WIDTH, HEIGHT}, 2),
                     SLUICE_OK);
    assert_int_equal(sluice_augment_add(recipe, name, arguments, count), SLUICE_OK);
    return recipe;
}

static const sl_params *draw(const sluice_augment *recipe, uint64_t sample)
{
    static sl_params params;
    const sl_draw_key key = {.seed = 77, .epoch = 1, .sample = sample, .exact = true};
    assert_int_equal(sl_draw(recipe, &key, 300, 200, &params, NULL), SLUICE_OK);
    return &params;
}

/* ---- warps ---- */

TEST(rotations)
{
    sluice_augment *r = make_recipe("random_rotation", (const double[]){-30, 75}, 2);
    uniform angle = {.name = "angle", .least = -30, .most = 75};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_warp *warp = &draw(r, i)->geometries[0].warp;
        const double *m = warp->matrix;
        assert_true(m[6] == 0 && m[7] == 0 && m[8] == 1);
        assert_true(warp->width == WIDTH && warp->height == HEIGHT);
        assert_true(fabs(m[0] - m[4]) < 1e-14 && fabs(m[1] + m[3]) < 1e-14);
        assert_true(fabs(m[0] * m[0] + m[1] * m[1] - 1) < 1e-12);
        /* the centre stays; counterclockwise: right of it shows what was above it */
        assert_true(fabs(m[0] * WIDTH / 2 + m[1] * HEIGHT / 2 + m[2] - WIDTH / 2.0) < 1e-9);
        assert_true(fabs(m[3] * WIDTH / 2 + m[4] * HEIGHT / 2 + m[5] - HEIGHT / 2.0) < 1e-9);
        note(&angle, atan2(-m[1], m[0]) / DEGREE);
    }
    judge(&angle);
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

/* From a matrix back to what was drawn, by its own words: M = T C RSS C^-1, RSS = R S Sh, inverted
 * (transforms/functional.py); shears first, then the scale, then the turn. */
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

/* Forward after our inverse is nothing. */
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

/* Numbers that only the drawing itself knows are found from the matrix. */
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
    } else { /* in one axis: the first column turns by the angle, the second by it and the shear */
        p.angle = atan2(c, a) / DEGREE;
        const double along = (a * b + c * d) / p.scale / p.scale;
        p.shear_x = -atan(along) / DEGREE;
    }
    return p;
}

TEST(affine_maps)
{
    sluice_augment *r =
        make_recipe("random_affine", (const double[]){-40, 10, 0.1, 0.25, 0.5, 1.5}, 6);
    uniform angle = {.name = "angle", .least = -40, .most = 10};
    uniform scale = {.name = "scale", .least = 0.5, .most = 1.5};
    uint32_t across[21] = {0};
    uint32_t down[31] = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double *m = draw(r, i)->geometries[0].warp.matrix;
        const affine_parts p = parts_of(m, false);
        assert_inverse(m, &p);
        note(&angle, p.angle);
        note(&scale, p.scale);
        /* whole pixels, up to 10.1 and 15: the outermost of 15 are half as likely */
        assert_true(fabs(p.x - round(p.x)) < 1e-6 && fabs(p.x) < 10.5);
        assert_true(fabs(p.y - round(p.y)) < 1e-6 && fabs(p.y) < 15.5);
        across[(int)round(p.x) + 10]++;
        down[(int)round(p.y) + 15]++;
    }
    judge(&angle);
    judge(&scale);
    assert_equal_parts(across + 1, 19, "translate_x");
    assert_equal_parts(down + 1, 29, "translate_y");
    judge_share(across[0], DRAWS, 0.6 / 20.2);
    judge_share(down[0], DRAWS, 0.5 / 30);
    judge_share(down[30], DRAWS, 0.5 / 30);
    sluice_augment_destroy(r);
}

TEST(affine_shears)
{
    sluice_augment *r =
        make_recipe("random_affine", (const double[]){-20, 20, 0, 0, 2, 2, -25, 35}, 8);
    uniform angle = {.name = "angle", .least = -20, .most = 20};
    uniform shear = {.name = "shear_x", .least = -25, .most = 35};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double *m = draw(r, i)->geometries[0].warp.matrix;
        affine_parts p = parts_of(m, true);
        p.scale = 2;
        assert_inverse(m, &p);
        note(&angle, p.angle);
        note(&shear, p.shear_x);
    }
    judge(&angle);
    judge(&shear);
    sluice_augment_destroy(r);
    /* the other axis: an own number, and the whole formula */
    r = make_recipe("random_affine", (const double[]){15, 15, 0, 0, 0.7, 0.7, 9, 9, -30, 30}, 10);
    uniform other = {.name = "shear_y", .least = -30, .most = 30};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double *m = draw(r, i)->geometries[0].warp.matrix;
        /* a = s cos(rot - sy) / cos(sy) = s (cos(rot) + sin(rot) tan(sy)) */
        const double determinant = m[0] * m[4] - m[1] * m[3];
        const double a = m[4] / determinant / 0.7;
        const double sy = atan((a - cos(15 * DEGREE)) / sin(15 * DEGREE)) / DEGREE;
        const affine_parts p = {.angle = 15, .scale = 0.7, .shear_x = 9, .shear_y = sy};
        assert_inverse(m, &p);
        note(&other, sy);
    }
    judge(&other);
    sluice_augment_destroy(r);
}

static void through(const double *m, double x, double y, double to[2])
{
    const double w = m[6] * x + m[7] * y + m[8];
    to[0] = (m[0] * x + m[1] * y + m[2]) / w;
    to[1] = (m[3] * x + m[4] * y + m[5]) / w;
}

/* Where a corner went is where the map takes it from: inverted by Cramer's rule. */
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
    sluice_augment *r = make_recipe("random_perspective", (const double[]){0.4, 0.3}, 2);
    memset(seen, 0, sizeof(seen));
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_params *params = draw(r, i);
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
    judge_share(happened, DRAWS, 0.3);
    for (int corner = 0; corner < 4; corner++) {
        assert_equal_parts(seen[corner][0], ACROSS, "corners across");
        assert_equal_parts(seen[corner][1], DOWN, "corners down");
    }
    sluice_augment_destroy(r);
}

/* ---- erasing ---- */

/* Area uniform and aspect log-uniform as far as the rectangle fits; its place uniform. */
TEST(erasing)
{
    const double ends[] = {0.6, 0.02, 0.1, 0.5, 2, 10, 20, 30};
    sluice_augment *r = make_recipe("random_erasing", ends, 8);
    uniform area = {.name = "area", .least = 0.02, .most = 0.1};
    uniform aspect = {.name = "aspect", .least = log(0.5), .most = log(2)};
    uint32_t happened = 0;
    double place[2] = {0, 0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_params *params = draw(r, i);
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
        /* sides are rounded: by no more than half a pixel */
        const double part = v[2] * v[3] / (WIDTH * HEIGHT);
        assert_true(part > 0.015 && part < 0.115);
        area.sum += part;
        aspect.sum += log(v[3] / v[2]);
        place[0] += v[0] / (WIDTH - v[2]);
        place[1] += v[1] / (HEIGHT - v[3]);
    }
    judge_share(happened, DRAWS, 0.6);
    assert_true(fabs(area.sum / happened - 0.06) < 0.001);
    assert_true(fabs(aspect.sum / happened) < 0.02);
    assert_true(fabs(place[0] / happened - 0.5) < 0.012);
    assert_true(fabs(place[1] / happened - 0.5) < 0.012);
    sluice_augment_destroy(r);
}

/* Noise has a key of its own each time; -1 is what normalizes to 0; timm's several rectangles share
 * the area. */
TEST(erasing_with_noise)
{
    const double ends[] = {1, 0.2, 0.2, 1, 1, -1, -1, -1, 1, 2, 4};
    const double normal[] = {0.4, 0.25, 0.125, 1, 2, 3};
    sluice_augment *r = make_recipe("random_erasing", ends, 11);
    assert_int_equal(sluice_augment_add(r, "normalize", normal, 6), SLUICE_OK);
    uint32_t counts[3] = {0, 0, 0};
    uint64_t last = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_params *params = draw(r, i);
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
    assert_equal_parts(counts, 3, "rectangles");
    sluice_augment_destroy(r);
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

/* All 24 orders alike, and each factor uniform. */
static void check_jitter(const sluice_augment *r, uniform factors[4])
{
    static uint32_t orders[256];
    uint32_t seen[24];
    uint32_t kinds = 0;
    memset(orders, 0, sizeof(orders));
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_params *params = draw(r, i);
        uint32_t order = 0;
        assert_int_equal(params->operation_count, 4);
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t which = jitter_of(&params->operations[k]);
            assert_true(which < 4);
            note(&factors[which], params->operations[k].values[0]);
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
    assert_equal_parts(seen, 24, "orders");
    for (size_t i = 0; i < 4; i++) {
        judge(&factors[i]);
    }
}

TEST(jitter_with_hue)
{
    uniform factors[4] = {{.name = "brightness", .least = 0.6, .most = 1.4},
                          {.name = "contrast", .least = 0, .most = 3},
                          {.name = "saturation", .least = 0.9, .most = 1.1},
                          {.name = "hue", .least = -0.2, .most = 0.2}};
    sluice_augment *r = make_recipe("color_jitter", (const double[]){0.4, 2, 0.1, 0.2}, 4);
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
        make_recipe("color_jitter_ranges", (const double[]){0.2, 0.7, 1, 3, 5, 9, 0.1, 0.4}, 8);
    check_jitter(r, factors);
    sluice_augment_destroy(r);
}

/* The hue changes nothing of what the others draw, nor of their order among themselves. */
TEST(hue_leaves_the_others)
{
    sluice_augment *plain = make_recipe("color_jitter", (const double[]){0.4, 2, 0.1}, 3);
    sluice_augment *hue = make_recipe("color_jitter", (const double[]){0.4, 2, 0.1, 0.5}, 4);
    for (uint64_t i = 0; i < 500; i++) {
        sl_operation first[3];
        memcpy(first, draw(plain, i)->operations, sizeof(first));
        const sl_params *params = draw(hue, i);
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
        sluice_augment *r = make_recipe(steps[i].name, steps[i].arguments, steps[i].count);
        uint32_t happened = 0;
        for (uint64_t k = 0; k < DRAWS; k++) {
            const sl_params *params = draw(r, k);
            happened += params->operation_count;
            if (params->operation_count == 1) {
                const sl_operation *o = &params->operations[0];
                assert_ptr_equal(o->kind, steps[i].kind);
                assert_true(steps[i].count == 1 || o->values[0] == steps[i].arguments[0]);
                assert_true(steps[i].count < 3 || o->values[1] == steps[i].arguments[1]);
            }
        }
        judge_share(happened, DRAWS, steps[i].arguments[steps[i].count - 1]);
        sluice_augment_destroy(r);
    }
}

TEST(blurs_and_qualities)
{
    uniform sigma = {.name = "sigma", .least = 0.1, .most = 2};
    uniform radius = {.name = "radius", .least = 0, .most = 5};
    uint32_t qualities[11] = {0};
    sluice_augment *blur = make_recipe("gaussian_blur", (const double[]){5, 9}, 2);
    sluice_augment *boxes = make_recipe("pillow_blur", (const double[]){0, 5}, 2);
    sluice_augment *jpeg = make_recipe("jpeg", (const double[]){40, 50}, 2);
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double *v = draw(blur, i)->operations[0].values;
        assert_true(v[0] == 5 && v[1] == 9 && v[2] == v[3]);
        note(&sigma, v[2]);
        note(&radius, draw(boxes, i)->operations[0].values[0]);
        const double quality = draw(jpeg, i)->operations[0].values[0];
        assert_true(quality >= 40 && quality <= 50 && quality == floor(quality));
        qualities[(uint32_t)quality - 40]++;
    }
    judge(&sigma);
    judge(&radius);
    assert_equal_parts(qualities, 11, "qualities");
    sluice_augment_destroy(blur);
    sluice_augment_destroy(boxes);
    sluice_augment_destroy(jpeg);
}

TEST(channel_permutations)
{
    uint32_t seen[27] = {0};
    uint32_t counts[6];
    uint32_t kinds = 0;
    sluice_augment *r = make_recipe("random_channel_permutation", NULL, 0);
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double *v = draw(r, i)->operations[0].values;
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
    assert_equal_parts(counts, 6, "permutations");
    sluice_augment_destroy(r);
}

/* ---- sizes ---- */

/* The shorter side from `size_min` up to below `size_max`; the other in proportion, cut. */
TEST(random_sizes)
{
    uint32_t seen[10] = {0};
    sluice_augment *r = make_recipe("random_resize", (const double[]){30, 40}, 2);
    assert_int_equal(sluice_augment_add(r, "random_crop", (const double[]){20, 20}, 2), SLUICE_OK);
    for (uint64_t i = 0; i < DRAWS; i++) {
        const sl_geometry *g = &draw(r, i)->geometries[0];
        const uint32_t side = g->box.virtual_height;
        assert_in_range(side, 30, 39);
        assert_int_equal(g->box.virtual_width, side * WIDTH / HEIGHT);
        seen[side - 30]++;
    }
    assert_equal_parts(seen, 10, "sizes");
    sluice_augment_destroy(r);
}

/* torchvision's Resize(size, max_size), worked out in Python. */
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
        static sl_params params;
        sl_drawing d;
        sl_drawing_begin(&d, &params, cases[i].width, cases[i].height, false, NULL);
        assert_int_equal(
            sl_step_find("resize_shorter")
                ->draw((const double[]){cases[i].size, cases[i].limit, SL_BILINEAR}, &d),
            SLUICE_OK);
        assert_int_equal(d.width, cases[i].to_width);
        assert_int_equal(d.height, cases[i].to_height);
    }
    sluice_augment *r = make_recipe("resize_shorter", (const double[]){7, 8}, 2);
    assert_int_equal(sluice_augment_add(r, "resize_shorter", (const double[]){8, 8}, 2),
                     SLUICE_INVALID); /* torchvision: strictly greater */
    sluice_augment_destroy(r);
}
