/* SPDX-License-Identifier: Apache-2.0 */
/* Trails, checked by points that are carried step by step; boxes have their own test. */
#include "augment_trail_chains.h"
#include "test.h"

#include <math.h>
#include <stddef.h>

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

/* ---- the visible part as a whole ---- */

static void expect_row(const sl_trail *trail, const chain *c, uint32_t y)
{
    uint32_t from;
    uint32_t to;
    sl_trail_row(trail, y + 0.5, c->width, &from, &to);
    assert_true(from <= to && to <= c->width);
    for (uint32_t x = 0; x < c->width; x++) {
        const bool shown = sl_trail_shows(trail, (const double[2]){x + 0.5, y + 0.5});
        assert_int_equal(shown, x >= from && x < to);
    }
}

TEST(rows_are_what_is_shown_of_them)
{
    uint32_t turned = 0;
    for (uint64_t i = 0; i < CHAINS; i++) {
        sl_trail trail;
        const chain c = draw_chain(i, KINDS, &trail);
        for (uint32_t y = 0; y < c.height; y++) {
            expect_row(&trail, &c, y);
        }
        turned += trail.corner_count > 0;
    }
    assert_true(turned > CHAINS / 4);
}

/* Returns how far a point is inside a convex polygon; below 0: outside. */
static double depth_in(double (*corners)[2], uint32_t count, const double at[2])
{
    double least = INFINITY;
    double twice = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double *a = corners[i];
        const double *b = corners[(i + 1) % count];
        twice += a[0] * b[1] - a[1] * b[0];
    }
    for (uint32_t i = 0; i < count; i++) {
        const double *a = corners[i];
        const double *b = corners[(i + 1) % count];
        const double across = (b[0] - a[0]) * (at[1] - a[1]) - (b[1] - a[1]) * (at[0] - a[0]);
        const double length = hypot(b[0] - a[0], b[1] - a[1]);
        least = length > CLOSE ? fmin(least, (twice < 0 ? -across : across) / length) : least;
    }
    return count > 2 ? least : -1;
}

TEST(the_polygon_is_what_is_shown)
{
    uint32_t inside = 0;
    uint32_t outside = 0;
    for (uint64_t i = 0; i < CHAINS; i++) {
        sl_trail trail;
        double corners[SL_TRAIL_SHOWN_MAX][2];
        const chain c = draw_chain(i, KINDS, &trail);
        const uint32_t count = sl_trail_shown(&trail, corners);
        sl_random random = sl_random_for(12, 0, i, 0);
        for (uint32_t k = 0; k < 40; k++) {
            const double at[2] = {between(&random, -5, c.width + 5),
                                  between(&random, -5, c.height + 5)};
            const double depth = depth_in(corners, count, at);
            if (fabs(depth) > CLOSE) {
                assert_int_equal(depth > 0, sl_trail_shows(&trail, at));
            }
            inside += depth > CLOSE;
            outside += depth < -CLOSE;
        }
    }
    assert_true(inside > CHAINS && outside > CHAINS);
}

/* ---- at the edges ---- */

static const double quarter[9] = {0, 1, 0, -1, 0, 90, 0, 0, 1}; /* a quarter turn */
static const double half[9] = {0.8, 0.6, 0, -0.6, 0.8, 20, 0, 0, 1};

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
    double corners[SL_TRAIL_SHOWN_MAX][2];
    double area = 0;
    const uint32_t count = sl_trail_shown(trail, corners);
    for (uint32_t i = 0; i < count; i++) {
        area += corners[i][0] * corners[(i + 1) % count][1] -
                corners[i][1] * corners[(i + 1) % count][0];
    }
    assert_true(fabs(area) < CLOSE);
    sl_trail_seen(trail, WIDTH, HEIGHT, seen);
    assert_true(seen[0] == 0 && seen[1] == 0 && seen[2] == 0 && seen[3] == 0);
}

/* Once a canvas shows nothing of the image, or only a line or a corner, it stays so; the matrix is
 * still updated. */
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

/* If an image extends behind the viewpoint, only the part in front of it counts. */
TEST(horizons)
{
    /* w = 1 - y / 40 of the image, so that rows beyond 40 are not visible */
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

/* Orientation and scale of the chains, checked by points carried step by step, without looking at a
 * matrix. */
TEST(orientation_and_scale_are_those_of_places_about_it)
{
    const double little = 1e-4;
    uint32_t mirrored[2] = {0};
    for (uint64_t i = 0; i < CHAINS; i++) {
        sl_trail trail;
        const chain c = draw_chain(i, KINDS, &trail);
        sl_random random = sl_random_for(9, 0, i, 0);
        for (uint32_t k = 0; k < 20; k++) {
            const double at[2] = {between(&random, 1, WIDTH - 1), between(&random, 1, HEIGHT - 1)};
            const carried from = carry(&c, at[0], at[1]);
            const carried x = carry(&c, at[0] + little, at[1]);
            const carried y = carry(&c, at[0], at[1] + little);
            double scale[2];
            if (!from.shown || !x.shown || !y.shown) {
                continue;
            }
            const double across[2] = {(x.at[0] - from.at[0]) / little,
                                      (x.at[1] - from.at[1]) / little};
            const double down[2] = {(y.at[0] - from.at[0]) / little,
                                    (y.at[1] - from.at[1]) / little};
            const bool turned = across[0] * down[1] - across[1] * down[0] < 0;
            assert_int_equal(sl_trail_is_mirrored(&trail), turned);
            assert_int_equal(trail.flipped[0] != trail.flipped[1], turned);
            sl_trail_scale(&trail, at, scale);
            assert_true(fabs(scale[0] / hypot(across[0], across[1]) - 1) < 1e-2);
            assert_true(fabs(scale[1] / hypot(down[0], down[1]) - 1) < 1e-2);
            mirrored[turned]++;
        }
    }
    assert_true(mirrored[0] > CHAINS && mirrored[1] > CHAINS);
}

/* A border after a perspective moves the output's corner to where the weight is negative. */
TEST(a_border_mirrors_nothing)
{
    const double lying[9] = {1, 0, 0, 0, 1, 0, 0, 1.0 / 40, 1};
    sl_trail trail;
    sl_trail_begin(&trail, WIDTH, HEIGHT);
    sl_trail_warp(&trail, lying, WIDTH, HEIGHT);
    assert_false(sl_trail_is_mirrored(&trail));
    sl_trail_crop(&trail, -400, -400, WIDTH + 800, HEIGHT + 800);
    const double *m = trail.matrix;
    assert_true(m[0] * m[4] - m[1] * m[3] < 0); /* the sign that must not decide */
    assert_false(sl_trail_is_mirrored(&trail));
    assert_false(trail.flipped[0] || trail.flipped[1]);
}

/* A rotation by 125 degrees around the origin. */
TEST(a_turn_is_no_flip)
{
    const double turn[9] = {-0.573576436351046,
                            0.819152044288992,
                            40,
                            -0.819152044288992,
                            -0.573576436351046,
                            80,
                            0,
                            0,
                            1};
    sl_trail trail;
    sl_trail_begin(&trail, WIDTH, HEIGHT);
    sl_trail_warp(&trail, turn, WIDTH, HEIGHT);
    assert_false(trail.flipped[0] || trail.flipped[1]);
    sl_trail_flip(&trail, false, WIDTH);
    sl_trail_flip(&trail, true, HEIGHT);
    assert_true(trail.flipped[0] && trail.flipped[1] && !sl_trail_is_mirrored(&trail));
}
