/* SPDX-License-Identifier: Apache-2.0 */
/* Tests moved shapes: drawn as if they had been made in place, and the boxes of their visible
 * parts. */
#include "instances.h"
#include "polygon_cases.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 1 << 16, SIDE = 100 };

static sl_scratch scratch;
static polygon_case c;
static sl_polygon parts[POLYGON_PARTS];
static uint8_t drawn[PIXELS], wanted[PIXELS];
static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

static int open_scratch(void **state)
{
    (void)state;
    return sl_scratch_open(&scratch, 1 << 22, 1 << 16, NULL);
}

static int close_scratch(void **state)
{
    (void)state;
    sl_scratch_close(&scratch);
    return 0;
}

static sl_instance take_case(uint32_t number)
{
    polygon_case_make(&c, number);
    for (uint32_t i = 0; i < c.parts; i++)
        parts[i] = (sl_polygon){c.part[i], c.counts[i]};
    return (sl_instance){.polygons = c.parts};
}

static void draw(const sl_instance *instance, const double matrix[9], uint8_t *to)
{
    const sl_instances all = {1, instance, parts};
    const sl_mask mask = {to, SIDE, SIDE, SIDE, 1, NULL, NULL};
    memset(to, 0, (size_t)SIDE * SIDE);
    assert_int_equal(sl_instances_rasterise(&all, 0, matrix, &mask, &scratch, NULL), SLUICE_OK);
    assert_int_equal(sl_scratch_mark(&scratch), 0);
}

static void find_box(const sl_instance *instance, const double matrix[9], double box[4])
{
    const sl_instances all = {1, instance, parts};
    sl_shape_view view = {.width = SIDE, .height = SIDE};
    memcpy(view.matrix, matrix, sizeof(view.matrix));
    sl_shape_box found;
    assert_int_equal(sl_instances_box(&all, 0, &view, &scratch, &found, NULL), SLUICE_OK);
    memcpy(box, found.seen, sizeof(found.seen));
    assert_int_equal(sl_scratch_mark(&scratch), 0);
}

/* ---- polygons ---- */

/* Moves the points one by one with the same matrix. */
static void move_here(const double m[9])
{
    for (uint32_t i = 0; i < c.parts; i++) {
        for (uint32_t k = 0; k < c.counts[i]; k++) {
            double *p = c.points + (c.part[i] - c.points) + 2 * (size_t)k;
            const double depth = m[6] * p[0] + m[7] * p[1] + m[8];
            const double x = (m[0] * p[0] + m[1] * p[1] + m[2]) / depth;
            p[1] = (m[3] * p[0] + m[4] * p[1] + m[5]) / depth;
            p[0] = x;
        }
    }
}

TEST_WITH(polygons_are_moved_and_then_drawn, open_scratch, close_scratch)
{
    static const double views[][9] = {
        {1, 0, 0, 0, 1, 0, 0, 0, 1},           {-1, 0, 100, 0, 1, 0, 0, 0, 1},
        {3.5, 0, -70, 0, 4.25, -20, 0, 0, 1},  {.8, -.6, 20, .6, .8, -10, 0, 0, 1},
        {1, .1, 0, 0, 1, 3, 1e-3, -2e-3, 1.5},
    };
    uint32_t some = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        const double *view = views[i / 10 % 5];
        sl_instance instance = take_case(i);
        if (c.kind == 5)
            continue;
        draw(&instance, view, drawn);
        move_here(view);
        const sl_mask mask = {wanted, SIDE, SIDE, SIDE, 1, NULL, NULL};
        memset(wanted, 0, sizeof(wanted));
        assert_int_equal(sl_polygons_fill(parts, c.parts, &mask, &scratch, NULL), SLUICE_OK);
        assert_memory_equal(drawn, wanted, (size_t)SIDE * SIDE);
        some += memchr(wanted, 1, sizeof(wanted)) != NULL;
    }
    assert_true(some > 500);
}

/* Under a perspective, the image plane ends at a line; nothing behind the line is visible. */
TEST_WITH(what_is_behind_the_camera_is_cut_off, open_scratch, close_scratch)
{
    static const double view[9] = {1, 0, 50, 0, 1, 0, .01, 0, 1}; /* the line is at x = -100 */
    static const double across[] = {-5000, 10, 50, 10, 50, 40, -5000, 40};
    static const double behind[] = {-5000, 10, -200, 10, -200, 40};
    sl_instance instance = {.polygons = 1};
    parts[0] = (sl_polygon){across, 4};
    draw(&instance, view, drawn);
    /* x = 50 maps to (50 + 50) / 1.5; at x = 10, the rows are 10 / .556 to 40 / .556; at x = 0,
     * rows 20 to 80 */
    assert_int_equal(drawn[15 * SIDE + 60], 1);
    assert_int_equal(drawn[15 * SIDE + 68], 0);
    assert_int_equal(drawn[40 * SIDE + 10], 1);
    assert_int_equal(drawn[16 * SIDE + 10], 0);
    assert_int_equal(drawn[75 * SIDE + 0], 1);
    parts[0] = (sl_polygon){behind, 3};
    draw(&instance, view, drawn);
    assert_null(memchr(drawn, 1, (size_t)SIDE * SIDE));
    double box[4];
    find_box(&instance, view, box);
    assert_true(box[0] == 0 && box[1] == 0 && box[2] == 0 && box[3] == 0);
}

TEST_WITH(what_is_moved_out_of_reach_is_no_error, open_scratch, close_scratch)
{
    static const double views[][9] = {{1e9, 0, 0, 0, 1e9, 0, 0, 0, 1},
                                      {INFINITY, 0, 0, 0, 1, 0, 0, 0, 1},
                                      {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN},
                                      {0, 0, 0, 0, 0, 0, 0, 0, 0}};
    static const double triangle[] = {-1, -1, 50, -1, -1, 50};
    const sl_instance instance = {.polygons = 1};
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        double box[4];
        parts[0] = (sl_polygon){triangle, 3};
        draw(&instance, views[i], drawn);
        find_box(&instance, views[i], box);
        for (int k = 0; k < 4; k++)
            assert_true(box[k] >= 0 && box[k] <= SIDE);
    }
}

/* ---- masks ---- */

TEST_WITH(masks_are_sampled, open_scratch, close_scratch)
{
    static const uint32_t ends[] = {10, 12, 30, 50, 100};
    static const double twice[9] = {2, 0, 7, 0, 2, 3, 0, 0, 1};
    static const double flat[9] = {1, 1, 0, 1, 1, 0, 0, 0, 1};
    const sl_instance instance = {.runs = {10, 10, 5, ends}};
    draw(&instance, twice, drawn);
    for (uint32_t y = 0; y < SIDE; y++) {
        for (uint32_t x = 0; x < SIDE; x++) {
            const bool in = x >= 7 && y >= 3 && x < 27 && y < 23;
            const uint32_t at = in ? (x - 7) / 2 * 10 + (y - 3) / 2 : 0;
            const bool is = (at >= 10 && at < 12) || (at >= 30 && at < 50);
            assert_int_equal(drawn[y * SIDE + x], is);
        }
    }
    double box[4];
    find_box(&instance, twice, box);
    assert_true(box[0] == 9 && box[1] == 3 && box[2] == 17 && box[3] == 23);
    sluice_error error = SLUICE_ERROR_INIT;
    const sl_instances all = {1, &instance, parts};
    const sl_mask mask = {drawn, SIDE, SIDE, SIDE, 1, NULL, NULL};
    assert_int_equal(sl_instances_rasterise(&all, 0, flat, &mask, &scratch, &error),
                     SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "flattens"));
}

TEST_WITH(an_instance_may_have_no_shape, open_scratch, close_scratch)
{
    double box[4] = {1, 1, 1, 1};
    const sl_instance instance = {.polygons = 0};
    draw(&instance, identity, drawn);
    assert_null(memchr(drawn, 1, sizeof(drawn)));
    find_box(&instance, identity, box);
    assert_true(box[0] == 0 && box[1] == 0 && box[2] == 0 && box[3] == 0);
}

/* ---- boxes ---- */

static sl_shape_box box_seen(const sl_instance *instance, const double matrix[9],
                             const double (*seen)[2], uint32_t corners)
{
    const sl_instances all = {1, instance, parts};
    sl_shape_view view = {.seen = seen, .seen_corners = corners};
    sl_shape_box box;
    memcpy(view.matrix, matrix, sizeof(view.matrix));
    assert_int_equal(sl_instances_box(&all, 0, &view, &scratch, &box, NULL), SLUICE_OK);
    assert_int_equal(sl_scratch_mark(&scratch), 0);
    return box;
}

static void is_box(const double box[4], double left, double top, double right, double bottom)
{
    const double want[4] = {left, top, right, bottom};
    for (int k = 0; k < 4; k++) {
        if (fabs(box[k] - want[k]) > 1e-9)
            fail_msg("side %d is at %.17g, not %g", k, box[k], want[k]);
    }
}

TEST_WITH(boxes_of_what_a_convex_part_shows, open_scratch, close_scratch)
{
    /* a square on its tip around (50, 50), in both directions */
    static const double tip[][2] = {{50, 10}, {90, 50}, {50, 90}, {10, 50}};
    static const double turned[][2] = {{10, 50}, {50, 90}, {90, 50}, {50, 10}};
    static const double square[] = {0,  0,  40, 0,
                                    40, 40, 0,  40}; /* its corner is inside by 20 / sqrt 2 */
    static const double around[] = {-5, -5, 105, -5, 105, 105, -5, 105};
    static const double beside[] = {0, 0, 20, 0, 0, 20};
    const sl_instance instance = {.polygons = 1};
    for (int i = 0; i < 2; i++) {
        const double(*seen)[2] = i == 0 ? tip : turned;
        parts[0] = (sl_polygon){square, 4};
        sl_shape_box box = box_seen(&instance, identity, seen, 4);
        is_box(box.seen, 20, 20, 40, 40);
        is_box(box.whole, 0, 0, 40, 40);
        parts[0] = (sl_polygon){around, 4};
        box = box_seen(&instance, identity, seen, 4);
        is_box(box.seen, 10, 10, 90, 90);
        is_box(box.whole, -5, -5, 105, 105);
        parts[0] = (sl_polygon){beside, 3};
        box = box_seen(&instance, identity, seen, 4);
        is_box(box.seen, 0, 0, 0, 0);
        is_box(box.whole, 0, 0, 20, 20);
        is_box(box_seen(&instance, identity, seen, 0).seen, 0, 0, 0, 0); /* nothing is visible */
    }
}

enum { ACROSS = 9, DOWN = 7, RUNS_MAX = ACROSS * DOWN + 1 };

static uint32_t draw_runs(uint32_t *random, uint32_t longest, uint32_t ends[RUNS_MAX])
{
    uint32_t count = 0;
    for (uint32_t at = 0; at < ACROSS * DOWN; ends[count++] = at) {
        *random = *random * 1664525 + 1013904223;
        at += (*random >> 16) % longest;
        if (at > ACROSS * DOWN || count + 2 == RUNS_MAX)
            at = ACROSS * DOWN;
    }
    return count;
}

static void widen_sides(double to[4], const double box[4])
{
    for (int side = 0; side < 4 && box[2] > box[0]; side++)
        to[side] = side < 2 ? fmin(to[side], box[side]) : fmax(to[side], box[side]);
}

/* Each covered pixel is a square: moved, it is a polygon, whose box is computed separately. */
static sl_shape_box box_of_pixels(const uint32_t *ends, uint32_t count, const double view[9],
                                  const double (*part)[2], uint32_t corners)
{
    static const double none[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    const sl_instance one = {.polygons = 1};
    sl_shape_box want;
    memcpy(want.seen, none, sizeof(none));
    memcpy(want.whole, none, sizeof(none));
    for (uint32_t pixel = 0, run = 0; pixel < ACROSS * DOWN; pixel++) {
        while (run < count && ends[run] <= pixel)
            run++;
        if (run % 2 == 0)
            continue;
        const uint32_t column = pixel / DOWN;
        const double x = column;
        const double y = pixel % DOWN;
        const double square[] = {x, y, x + 1, y, x + 1, y + 1, x, y + 1};
        parts[0] = (sl_polygon){square, 4};
        const sl_shape_box box = box_seen(&one, view, part, corners);
        widen_sides(want.seen, box.seen);
        widen_sides(want.whole, box.whole);
    }
    return want;
}

TEST_WITH(boxes_of_run_lengths_are_those_of_their_pixels, open_scratch, close_scratch)
{
    static const double views[][9] = {{1, 0, 0, 0, 1, 0, 0, 0, 1},
                                      {9, 4, -20, -5, 8, 30, 0, 0, 1},
                                      {6, 5, 20, -7, 9, 10, .03, -.02, 1}};
    static const double part[][2] = {{20, 5}, {80, 20}, {70, 90}, {5, 60}};
    uint32_t random = 1;
    uint32_t some = 0;
    for (uint32_t i = 0; i < 600; i++) {
        uint32_t ends[RUNS_MAX];
        const uint32_t count = draw_runs(&random, i % 2 == 0 ? 4 : 30, ends);
        const double *view = views[i % 3];
        const uint32_t corners = i % 5 == 0 ? 3 : 4;
        const sl_instance runs = {.runs = {ACROSS, DOWN, count, ends}};
        const sl_shape_box got = box_seen(&runs, view, part, corners);
        const sl_shape_box want = box_of_pixels(ends, count, view, part, corners);
        if (want.seen[2] > want.seen[0]) {
            is_box(got.seen, want.seen[0], want.seen[1], want.seen[2], want.seen[3]);
            some++;
        }
        if (want.whole[2] > want.whole[0])
            is_box(got.whole, want.whole[0], want.whole[1], want.whole[2], want.whole[3]);
    }
    assert_true(some > 300);
}

static void widen(double box[4], double x, double y)
{
    if (x >= 0 && y >= 0 && x <= SIDE && y <= SIDE) {
        box[0] = fmin(box[0], x);
        box[1] = fmin(box[1], y);
        box[2] = fmax(box[2], x);
        box[3] = fmax(box[3], y);
    }
}

/* Computes the box of many points of the moved boundary that are inside, and of the centres of
 * drawn pixels. */
static bool box_of_points(double box[4])
{
    enum { STEPS = 1000 };
    const double none[4] = {SIDE, SIDE, 0, 0};
    memcpy(box, none, sizeof(none));
    for (uint32_t i = 0; i < c.counts[0]; i++) {
        const double *p = c.part[0] + 2 * (size_t)i;
        const double *q = c.part[0] + 2 * (size_t)((i + 1) % c.counts[0]);
        for (int k = 0; k <= STEPS; k++)
            widen(box, p[0] + (q[0] - p[0]) * k / STEPS, p[1] + (q[1] - p[1]) * k / STEPS);
    }
    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        if (drawn[i] != 0)
            widen(box, i % SIDE + .5, (double)(i / SIDE) + .5); // NOLINT(bugprone-integer-division)
    }
    return box[2] > box[0] && box[3] > box[1];
}

TEST_WITH(boxes_are_those_of_what_is_seen, open_scratch, close_scratch)
{
    static const double views[][9] = {{1, 0, 0, 0, 1, 0, 0, 0, 1},
                                      {1.5, .3, -60, -.2, 1.7, -40, 0, 0, 1}};
    uint32_t compared = 0;
    for (uint32_t i = 8; i < 6000; i += 10) { /* stars */
        double box[4];
        double points[4];
        const double *view = views[i / 10 % 2];
        sl_instance instance = take_case(i);
        draw(&instance, view, drawn);
        find_box(&instance, view, box);
        move_here(view);
        if (!box_of_points(points))
            continue;
        for (int k = 0; k < 4; k++) {
            const double outside = k < 2 ? points[k] - box[k] : box[k] - points[k];
            if (outside < -.3 || outside > .75) /* half a pixel, and rounding to fifths */
                fail_msg("case %u: side %d is at %g, points at %g", i, k, box[k], points[k]);
        }
        compared++;
    }
    assert_true(compared > 300);
}

TEST_WITH(boxes_are_exact, open_scratch, close_scratch)
{
    static const double around[] = {-500, -500, 700, -500, 700, 700, -500, 700};
    static const double corner[] = {-10, 90, 40, 140, -10, 140}; /* starts at (0, 100) */
    static const double tip[] = {50, 50, 150, 0, 150, 100};
    static const double hole[] = {-50, -50, 150, -50, 150, 150, -50, 150, -50, -50,
                                  20,  20,  20,  150, 150, 150, 150, 20,  20,  20};
    static const struct {
        const double *points;
        uint32_t count;
        double box[4];
    } cases[] = {
        {around, 4, {0, 0, 100, 100}},
        {corner, 3, {0, 0, 0, 0}},
        {tip, 3, {50, 25, 100, 75}},
        {hole, 10, {0, 0, 100, 100}},
    };
    const sl_instance instance = {.polygons = 1};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double box[4];
        parts[0] = (sl_polygon){cases[i].points, cases[i].count};
        find_box(&instance, identity, box);
        for (int k = 0; k < 4; k++) {
            if (fabs(box[k] - cases[i].box[k]) > 1e-9)
                fail_msg("%zu: side %d is at %.17g", i, k, box[k]);
        }
    }
    /* of two parts, one contains both */
    static const double left[] = {10, 10, 20, 10, 20, 20};
    static const double right[] = {60, 40, 70, 40, 70, 55};
    const sl_instance two = {.polygons = 2};
    double box[4];
    parts[0] = (sl_polygon){left, 3};
    parts[1] = (sl_polygon){right, 3};
    find_box(&two, identity, box);
    assert_true(box[0] == 10 && box[1] == 10 && box[2] == 70 && box[3] == 55);
}
