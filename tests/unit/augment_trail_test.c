/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trails, judged by brute force: points of a picture carried step by step, each step by its own
 * formula, and dropped where one cuts them off.
 */
#include "philox.h"
#include "test.h"
#include "trail.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHAINS = 1500, STEPS_MAX = 6, GRID = 24, WIDTH = 90, HEIGHT = 60 };
enum { CROP, RESIZE, FLIP, WARP, KINDS };
#define CLOSE 1e-6

/* ---- the replay ---- */

typedef struct step {
    int kind;
    int64_t x, y;
    uint32_t width, height; /* behind it */
    double across, down;
    bool vertical;
    double matrix[9]; /* from what is behind it */
} step;

typedef struct chain {
    uint32_t count, width, height;
    step steps[STEPS_MAX];
} chain;

/* Solves matrix * (x, y, w) = (at, 1) by elimination. False: behind the eye. */
static bool solve(const double matrix[9], double at[2])
{
    double m[3][4];
    for (size_t i = 0; i < 3; i++) {
        memcpy(m[i], matrix + 3 * i, 3 * sizeof(double));
        m[i][3] = i < 2 ? at[i] : 1;
    }
    for (size_t i = 0; i < 3; i++) {
        size_t pivot = i;
        for (size_t k = i; k < 3; k++) {
            pivot = fabs(m[k][i]) > fabs(m[pivot][i]) ? k : pivot;
        }
        for (size_t c = 0; c < 4; c++) {
            const double other = m[i][c];
            m[i][c] = m[pivot][c];
            m[pivot][c] = other;
        }
        for (size_t k = 0; k < 3; k++) {
            const double factor = k == i ? 0 : m[k][i] / m[i][i];
            for (size_t c = 0; c < 4; c++) {
                m[k][c] -= factor * m[i][c];
            }
        }
    }
    const double w = m[2][3] / m[2][2];
    at[0] = m[0][3] / m[0][0] / w;
    at[1] = m[1][3] / m[1][1] / w;
    return w > 0;
}

static bool is_inside(const double at[2], double width, double height)
{
    return at[0] >= 0 && at[0] < width && at[1] >= 0 && at[1] < height;
}

/* How near it was to the edge of what a step showed: there rounding decides. */
static double margin_of(const double at[2], double width, double height)
{
    return fmin(fmin(fabs(at[0]), fabs(at[0] - width)), fmin(fabs(at[1]), fabs(at[1] - height)));
}

typedef struct carried {
    double at[2];
    bool shown;
    double margin;
} carried;

static carried carry(const chain *c, double x, double y)
{
    carried p = {.at = {x, y}, .margin = margin_of((double[2]){x, y}, WIDTH, HEIGHT)};
    p.shown = is_inside(p.at, WIDTH, HEIGHT);
    uint32_t sides[2] = {WIDTH, HEIGHT};
    for (uint32_t i = 0; i < c->count; i++) {
        const step *s = &c->steps[i];
        switch (s->kind) {
        case CROP:
            p.at[0] -= (double)s->x;
            p.at[1] -= (double)s->y;
            break;
        case RESIZE:
            p.at[0] *= s->across;
            p.at[1] *= s->down;
            break;
        case FLIP:
            p.at[s->vertical] = sides[s->vertical] - p.at[s->vertical];
            break;
        default:
            p.shown = solve(s->matrix, p.at) && p.shown;
            break;
        }
        sides[0] = s->width;
        sides[1] = s->height;
        p.shown = p.shown && is_inside(p.at, sides[0], sides[1]);
        p.margin = fmin(p.margin, margin_of(p.at, sides[0], sides[1]));
    }
    return p;
}

/* ---- chains ---- */

static double between(sl_random *random, double least, double most)
{
    return least + (most - least) * sl_random_unit(random);
}

static void draw_warp(step *s, sl_random *random, double fold)
{
    const double angle = between(random, -3.2, 3.2);
    const double scale = exp(between(random, -0.7, 0.7));
    const double shear = between(random, -0.4, 0.4);
    double *m = s->matrix;
    m[0] = scale * cos(angle);
    m[1] = scale * (sin(angle) + shear);
    m[3] = -scale * sin(angle);
    m[4] = scale * cos(angle);
    m[6] = between(random, -fold, fold) / s->width;
    m[7] = between(random, -fold, fold) / s->height;
    m[8] = 1;
    /* the middle goes to about the middle */
    m[2] = s->width * between(random, 0.3, 0.7) - m[0] * s->width / 2 - m[1] * s->height / 2;
    m[5] = s->height * between(random, 0.3, 0.7) - m[3] * s->width / 2 - m[4] * s->height / 2;
}

static void draw_step(step *s, uint32_t kind, uint32_t width, uint32_t height, sl_random *random)
{
    *s = (step){.kind = (int)kind, .width = width, .height = height};
    if (kind == CROP) {
        s->width = 1 + sl_random_below(random, width + 20);
        s->height = 1 + sl_random_below(random, height + 20);
        s->x = (int64_t)sl_random_below(random, width + 1) - 10;
        s->y = (int64_t)sl_random_below(random, height + 1) - 10;
    } else if (kind == RESIZE) {
        s->width = 20 + sl_random_below(random, 100);
        s->height = 20 + sl_random_below(random, 100);
        s->across = (double)s->width / width;
        s->down = (double)s->height / height;
    } else if (kind == FLIP) {
        s->vertical = sl_random_below(random, 2);
    } else {
        draw_warp(s, random, 0.4);
    }
}

static void take_step(sl_trail *trail, const step *s)
{
    switch (s->kind) {
    case CROP:
        sl_trail_crop(trail, s->x, s->y, s->width, s->height);
        break;
    case RESIZE:
        sl_trail_resize(trail, s->across, s->down);
        break;
    case FLIP:
        sl_trail_flip(trail, s->vertical, s->vertical ? s->height : s->width);
        break;
    default:
        sl_trail_warp(trail, s->matrix, s->width, s->height);
        break;
    }
}

static chain draw_chain(uint64_t number, uint32_t kinds, sl_trail *trail)
{
    sl_random random = sl_random_for(7, kinds, number, 0);
    chain c = {.width = WIDTH, .height = HEIGHT};
    sl_trail_begin(trail, WIDTH, HEIGHT);
    c.count = 1 + sl_random_below(&random, STEPS_MAX);
    for (uint32_t i = 0; i < c.count; i++) {
        step *s = &c.steps[i];
        draw_step(s, sl_random_below(&random, kinds), c.width, c.height, &random);
        take_step(trail, s);
        c.width = s->width;
        c.height = s->height;
    }
    return c;
}

/* ---- points ---- */

TEST(points_are_where_each_step_takes_them)
{
    uint32_t shown = 0;
    uint32_t hidden = 0;
    for (uint64_t i = 0; i < CHAINS; i++) {
        sl_trail trail;
        const chain c = draw_chain(i, KINDS, &trail);
        sl_random random = sl_random_for(8, 0, i, 0);
        for (uint32_t k = 0; k < 20; k++) {
            const double from[2] = {between(&random, -5, WIDTH + 5),
                                    between(&random, -5, HEIGHT + 5)};
            const carried want = carry(&c, from[0], from[1]);
            double to[2];
            const bool got = sl_trail_move_point(&trail, from, to);
            if (want.margin < CLOSE) {
                continue;
            }
            assert_int_equal(got, want.shown);
            if (got) {
                assert_true(hypot(to[0] - want.at[0], to[1] - want.at[1]) < CLOSE);
            }
            shown += got;
            hidden += !got;
        }
    }
    assert_true(shown > CHAINS && hidden > CHAINS);
}

TEST(points_come_back)
{
    for (uint64_t i = 0; i < CHAINS; i++) {
        sl_trail trail;
        double back[9];
        double to[2];
        (void)draw_chain(i, KINDS, &trail);
        const double from[2] = {31.5, 17.25};
        if (!sl_trail_move_point(&trail, from, to) || !sl_trail_inverse(&trail, back)) {
            continue;
        }
        const double w = back[6] * to[0] + back[7] * to[1] + back[8];
        assert_true(fabs((back[0] * to[0] + back[1] * to[1] + back[2]) / w - from[0]) < CLOSE);
        assert_true(fabs((back[3] * to[0] + back[4] * to[1] + back[5]) / w - from[1]) < CLOSE);
    }
}

/* ---- boxes ---- */

typedef struct hull {
    double box[4];
    uint32_t count;
} hull;

static void hull_add(hull *h, const double at[2])
{
    h->box[0] = h->count == 0 ? at[0] : fmin(h->box[0], at[0]);
    h->box[1] = h->count == 0 ? at[1] : fmin(h->box[1], at[1]);
    h->box[2] = h->count == 0 ? at[0] : fmax(h->box[2], at[0]);
    h->box[3] = h->count == 0 ? at[1] : fmax(h->box[3], at[1]);
    h->count++;
}

/* About the points of a grid over the box that are shown at the end. */
static hull hull_of(const chain *c, const float box[4])
{
    hull h = {.count = 0};
    for (uint32_t y = 0; y <= GRID; y++) {
        for (uint32_t x = 0; x <= GRID; x++) {
            const carried p = carry(c, box[0] + ((double)box[2] - box[0]) * x / GRID,
                                    box[1] + ((double)box[3] - box[1]) * y / GRID);
            if (p.shown) {
                hull_add(&h, p.at);
            }
        }
    }
    return h;
}

static void draw_box(sl_random *random, float box[4])
{
    box[0] = (float)between(random, -20, WIDTH);
    box[1] = (float)between(random, -20, HEIGHT);
    box[2] = box[0] + (float)between(random, 1, 60);
    box[3] = box[1] + (float)between(random, 1, 60);
}

static void expect_holds(const double box[4], const hull *h)
{
    assert_true(h->box[0] >= box[0] - CLOSE && h->box[1] >= box[1] - CLOSE);
    assert_true(h->box[2] <= box[2] + CLOSE && h->box[3] <= box[3] + CLOSE);
}

TEST(boxes_hold_all_that_is_shown_of_them)
{
    uint32_t some = 0;
    uint32_t none = 0;
    for (uint64_t i = 0; i < CHAINS; i++) {
        sl_trail trail;
        sl_trail_box to;
        float box[4];
        const chain c = draw_chain(i, KINDS, &trail);
        sl_random random = sl_random_for(9, 0, i, 0);
        draw_box(&random, box);
        const hull h = hull_of(&c, box);
        const bool shown = sl_trail_move_box(&trail, box, &to);
        assert_true(shown || h.count == 0);
        if (!shown) {
            none++;
            continue;
        }
        if (h.count > 0) {
            expect_holds(to.box, &h);
        }
        expect_holds(to.whole, &(hull){.box = {to.box[0], to.box[1], to.box[2], to.box[3]}});
        assert_true(to.box[0] >= -CLOSE && to.box[1] >= -CLOSE);
        assert_true(to.box[2] <= c.width + CLOSE && to.box[3] <= c.height + CLOSE);
        some++;
    }
    assert_true(some > CHAINS / 8 && none > CHAINS / 8);
}

/* Upright: no larger than what is shown, either, up to the grid's step. */
TEST(upright_boxes_are_what_is_shown_of_them)
{
    uint32_t some = 0;
    for (uint64_t i = 0; i < CHAINS; i++) {
        sl_trail trail;
        sl_trail_box to;
        float box[4];
        const chain c = draw_chain(i, WARP, &trail);
        sl_random random = sl_random_for(10, 0, i, 0);
        draw_box(&random, box);
        const hull h = hull_of(&c, box);
        if (!sl_trail_move_box(&trail, box, &to) || h.count == 0) {
            continue;
        }
        const double steps[2] = {fabs(trail.matrix[0]) * (box[2] - box[0]) / GRID,
                                 fabs(trail.matrix[4]) * (box[3] - box[1]) / GRID};
        for (size_t k = 0; k < 4; k++) {
            assert_true(fabs(to.box[k] - h.box[k]) <= steps[k % 2] + CLOSE);
        }
        some++;
    }
    assert_true(some > CHAINS / 8);
}

/* A turn that shows everything: the box about the corners, as they were cut before. */
TEST(turned_boxes_are_about_what_was_left)
{
    for (uint64_t i = 0; i < CHAINS; i++) {
        sl_trail trail;
        sl_trail_box to;
        float box[4];
        chain c = draw_chain(i, WARP, &trail);
        sl_random random = sl_random_for(11, 0, i, 0);
        step *s = &c.steps[c.count < STEPS_MAX ? c.count++ : STEPS_MAX - 1];
        if (c.count == STEPS_MAX) {
            continue;
        }
        *s = (step){.kind = WARP, .width = 1000, .height = 1000};
        const double angle = between(&random, -3, 3);
        const double turn[9] = {cos(angle), sin(angle), 0, -sin(angle), cos(angle), 0, 0, 0, 1};
        memcpy(s->matrix, turn, sizeof(turn));
        s->matrix[2] = 50 - 500 * (turn[0] + turn[1]);
        s->matrix[5] = 50 - 500 * (turn[3] + turn[4]);
        take_step(&trail, s);
        draw_box(&random, box);
        const hull h = hull_of(&c, box);
        if (sl_trail_move_box(&trail, box, &to) && h.count > 0) {
            const double reach = (hypot(trail.matrix[0], trail.matrix[3]) * (box[2] - box[0]) +
                                  hypot(trail.matrix[1], trail.matrix[4]) * (box[3] - box[1])) /
                                 GRID;
            for (size_t k = 0; k < 4; k++) {
                assert_true(fabs(to.box[k] - h.box[k]) <= reach + CLOSE);
            }
        }
    }
}

TEST(what_is_seen_holds_all_that_is_shown)
{
    for (uint64_t i = 0; i < CHAINS; i++) {
        sl_trail trail;
        double seen[4];
        const chain c = draw_chain(i, KINDS, &trail);
        sl_trail_seen(&trail, c.width, c.height, seen);
        for (uint32_t k = 0; k < GRID * GRID; k++) {
            const uint32_t line = k / GRID;
            const double x = (k % GRID + 0.5) * WIDTH / GRID;
            const double y = (line + 0.5) * HEIGHT / GRID;
            if (carry(&c, x, y).shown) {
                assert_true(x >= seen[0] - CLOSE && x <= seen[2] + CLOSE);
                assert_true(y >= seen[1] - CLOSE && y <= seen[3] + CLOSE);
            }
        }
    }
}

/* ---- at the edges ---- */

static const double quarter[9] = {0, 1, 0, -1, 0, 90, 0, 0, 1}; /* a quarter turn */
static const double half[9] = {0.8, 0.6, 0, -0.6, 0.8, 20, 0, 0, 1};

/* What is far beside the picture is cut off before it takes the digits with it. */
TEST(huge_boxes_are_the_picture)
{
    static const float huge[] = {1e4F, 1e12F, 1e20F, 1e38F, FLT_MAX};
    sl_trail trail;
    sl_trail_begin(&trail, WIDTH, HEIGHT);
    sl_trail_warp(&trail, half, 200, 200);
    sl_trail_box picture;
    assert_true(sl_trail_move_box(&trail, (float[4]){0, 0, WIDTH, HEIGHT}, &picture));
    for (size_t i = 0; i < sizeof(huge) / sizeof(*huge); i++) {
        sl_trail_box to;
        const float x = huge[i];
        assert_true(sl_trail_move_box(&trail, (float[4]){-x, -x, x, x}, &to));
        for (size_t k = 0; k < 4; k++) {
            assert_true(fabs(to.box[k] - picture.box[k]) < CLOSE);
        }
        assert_false(sl_trail_move_box(&trail, (float[4]){x, -x, x, x}, &to));
        assert_false(sl_trail_move_box(&trail, (float[4]){WIDTH, 0, x, x}, &to));
    }
}

TEST(without_width_or_height_nothing_is_shown)
{
    sl_trail trail;
    sl_trail_box to;
    sl_trail_begin(&trail, WIDTH, HEIGHT);
    assert_false(sl_trail_move_box(&trail, (float[4]){50, 33, 50, 39}, &to));
    sl_trail_warp(&trail, half, 200, 200);
    assert_false(sl_trail_move_box(&trail, (float[4]){50, 33, 50, 39}, &to));
    assert_false(sl_trail_move_box(&trail, (float[4]){50, 33, 59, 33}, &to));
    assert_true(sl_trail_move_box(&trail, (float[4]){50, 33, 50 + 0x1p-16F, 39}, &to));
}

static void expect_nothing(const sl_trail *trail)
{
    sl_trail_box to;
    double at[2];
    double seen[4];
    assert_false(sl_trail_move_box(trail, (float[4]){0, 0, WIDTH, HEIGHT}, &to));
    for (uint32_t i = 0; i < 100; i++) {
        const uint32_t line = i / 10 * 6;
        assert_false(sl_trail_move_point(trail, (double[2]){i % 10 * 9 + 0.5, line + 0.5}, at));
        assert_true(isfinite(at[0]) && isfinite(at[1]));
        assert_false(sl_trail_shows(trail, (double[2]){i * 0.9, i * 0.6}));
    }
    sl_trail_seen(trail, WIDTH, HEIGHT, seen);
    assert_true(seen[0] == 0 && seen[1] == 0 && seen[2] == 0 && seen[3] == 0);
}

/* Once a canvas shows nothing of the picture, or a line or a corner, it stays so; but the matrix
 * goes on. */
TEST(what_is_gone_stays_gone)
{
    static const int64_t crops[][2] = {
        {WIDTH, HEIGHT}, {WIDTH, 0}, {0, -HEIGHT}, {(int64_t)2 * WIDTH, 3}};
    for (size_t i = 0; i < sizeof(crops) / sizeof(*crops); i++) {
        sl_trail trail;
        sl_trail_begin(&trail, WIDTH, HEIGHT);
        sl_trail_warp(&trail, (const double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}, WIDTH, HEIGHT);
        sl_trail_crop(&trail, crops[i][0], crops[i][1], WIDTH, HEIGHT);
        expect_nothing(&trail);
        sl_trail_warp(&trail, quarter, WIDTH, HEIGHT);
        expect_nothing(&trail);
        sl_trail_flip(&trail, false, WIDTH);
        sl_trail_crop(&trail, -200, -200, 400, 400);
        sl_trail_resize(&trail, 2, 3);
        expect_nothing(&trail);
        sl_trail_warp(&trail, half, 800, 800);
        expect_nothing(&trail);
        assert_false(trail.folded);
        double back[9];
        assert_true(sl_trail_inverse(&trail, back));
    }
}

TEST(singular_maps_show_nothing)
{
    static const double singular[][9] = {
        {0, 0, 0, 0, 0, 0, 0, 0, 0},          {1, 0, 0, 2, 0, 0, 0, 0, 1},
        {1, 2, 0, 2, 4, 0, 0, 0, 1},          {1, 0, 0, 0, 1, 0, 0, 0, 0},
        {NAN, 0, 0, 0, 1, 0, 0, 0, 1},        {1, 0, 0, 0, INFINITY, 0, 0, 0, 1},
        {1e-200, 0, 0, 0, 1e-200, 0, 0, 0, 1}};
    for (size_t i = 0; i < sizeof(singular) / sizeof(*singular); i++) {
        sl_trail trail;
        double back[9];
        sl_trail_begin(&trail, WIDTH, HEIGHT);
        sl_trail_warp(&trail, singular[i], WIDTH, HEIGHT);
        assert_true(trail.folded);
        assert_false(sl_trail_inverse(&trail, back));
        expect_nothing(&trail);
        sl_trail_crop(&trail, 1, 1, 5, 5);
        sl_trail_warp(&trail, half, WIDTH, HEIGHT);
        assert_true(trail.folded);
        expect_nothing(&trail);
    }
}

/* Of a picture that reaches behind the eye, what is in front of it. */
TEST(horizons)
{
    /* w = 1 - y / 40 of the picture, so that of it what is below 40 is not to be seen */
    const double forward[9] = {1, 0, 0, 0, 1, 0, 0, -1.0 / 40, 1};
    double m[9] = {1, 0, 0, 0, 1, 0, 0, 1.0 / 40, 1};
    sl_trail trail;
    sl_trail_box to;
    double at[2];
    sl_trail_begin(&trail, WIDTH, HEIGHT);
    sl_trail_warp(&trail, m, WIDTH, HEIGHT);
    for (size_t i = 0; i < 9; i++) {
        assert_true(fabs(trail.matrix[i] - forward[i]) < 1e-12);
    }
    assert_true(sl_trail_move_point(&trail, (double[2]){10, 10}, at));
    assert_true(fabs(at[0] - 10 / 0.75) < 1e-9 && fabs(at[1] - 10 / 0.75) < 1e-9);
    assert_false(sl_trail_move_point(&trail, (double[2]){10, 50}, at));
    assert_true(isfinite(at[0]) && isfinite(at[1]) && at[1] > 1e6);
    assert_false(sl_trail_move_point(&trail, (double[2]){10, 40}, at));
    assert_true(isfinite(at[0]) && at[1] > 1e6);
    assert_false(sl_trail_move_box(&trail, (float[4]){10, 41, 20, 60}, &to));
    assert_true(sl_trail_move_box(&trail, (float[4]){10, 10, 20, 60}, &to));
    assert_true(fabs(to.box[0] - 10 / 0.75) < 1e-6 && fabs(to.box[1] - 10 / 0.75) < 1e-6);
    assert_true(to.box[2] == WIDTH && to.box[3] == HEIGHT);
}

TEST(mirrors)
{
    sl_trail trail;
    sl_trail_begin(&trail, WIDTH, HEIGHT);
    assert_false(sl_trail_is_mirrored(&trail));
    sl_trail_flip(&trail, true, HEIGHT);
    assert_true(sl_trail_is_mirrored(&trail));
    sl_trail_warp(&trail, half, WIDTH, HEIGHT);
    assert_true(sl_trail_is_mirrored(&trail));
    sl_trail_flip(&trail, false, WIDTH);
    assert_false(sl_trail_is_mirrored(&trail));
}

/* More corners than are kept: then boxes are larger, but hold what is shown. */
TEST(many_warps)
{
    enum { WARPS = 40 };
    sl_trail trail;
    sl_trail_box to;
    uint32_t most = 0;
    const double middle[2] = {WIDTH / 2.0, HEIGHT / 2.0};
    sl_trail_begin(&trail, WIDTH, HEIGHT);
    for (uint32_t k = 0; k < WARPS; k++) {
        const double c = cos(0.1 + 0.37 * k);
        const double s = sin(0.1 + 0.37 * k);
        const double turn[9] = {c,  s, middle[0] * (1 - c) - middle[1] * s,
                                -s, c, middle[1] * (1 - c) + middle[0] * s,
                                0,  0, 1};
        sl_trail_warp(&trail, turn, WIDTH, HEIGHT);
        most = trail.corner_count > most ? trail.corner_count : most;
        assert_in_range(trail.corner_count, 4, SL_TRAIL_CORNERS);
        assert_true(sl_trail_move_box(&trail, (float[4]){40, 25, 50, 35}, &to));
        assert_true(to.box[0] < middle[0] - 4 && to.box[2] > middle[0] + 4);
        assert_true(to.box[1] < middle[1] - 4 && to.box[3] > middle[1] + 4);
        assert_true(to.box[2] - to.box[0] < 15 && to.box[3] - to.box[1] < 15);
    }
    assert_true(most > 8);
}
