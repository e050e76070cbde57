/* SPDX-License-Identifier: Apache-2.0 */
/* Compares polygons with the output of COCO's own tool (tests/data/shapes) and with a walk along
 * the whole boundary; then tests hostile input.
 *
 *   shapes_polygon_test FILE     FILE: tests/data/shapes/coco_masks.txt */
#include "polygon.h"
#include "polygon_cases.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIXELS = 1 << 16, LINE = 1 << 14, HUGE_KIND = 5 };

static const char *coco;
static sl_scratch scratch;
static polygon_case c;
static uint8_t drawn[PIXELS], walked[PIXELS];

static int open_scratch(void **state)
{
    (void)state;
    return sl_scratch_open(&scratch, 1 << 20, 1 << 16, NULL);
}

static int close_scratch(void **state)
{
    (void)state;
    sl_scratch_close(&scratch);
    return 0;
}

static uint64_t draw(uint32_t number)
{
    sl_polygon parts[POLYGON_PARTS];
    sluice_error error = SLUICE_ERROR_INIT;
    polygon_case_make(&c, number);
    const sl_mask mask = {drawn, c.width, c.width, c.height, 1, NULL, NULL};
    uint64_t area = 0;
    for (uint32_t i = 0; i < c.parts; i++)
        parts[i] = (sl_polygon){c.part[i], c.counts[i]};
    memset(drawn, 0, (size_t)c.width * c.height);
    if (sl_polygons_fill(parts, c.parts, &mask, &scratch, &error) != SLUICE_OK)
        fail_msg("case %u: %s", number, error.text);
    assert_int_equal(sl_scratch_mark(&scratch), 0);
    for (size_t i = 0; i < (size_t)c.width * c.height; i++)
        area += drawn[i];
    return area;
}

/* ---- COCO's tool ---- */

static void check_cases(uint32_t first, uint32_t count, uint64_t area, uint64_t hash)
{
    uint64_t areas = 0;
    uint64_t hashes = 0;
    for (uint32_t i = first; i < first + count; i++) {
        areas += draw(i);
        hashes = hashes * 31 + mask_hash(drawn, (size_t)c.width * c.height);
    }
    if (areas != area || hashes != hash) {
        fail_msg("cases from %u on: area %llu, not %llu", first, (unsigned long long)areas,
                 (unsigned long long)area);
    }
}

TEST_WITH(masks_are_those_of_cocos_tool, open_scratch, close_scratch)
{
    static char line[LINE];
    FILE *file = fopen(coco, "r");
    uint32_t checked = 0;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "cases ", 6) == 0) {
            char *at = line + 6;
            const uint32_t first = (uint32_t)strtoul(at, &at, 10);
            const uint32_t count = (uint32_t)strtoul(at, &at, 10);
            const uint64_t area = strtoull(at, &at, 10);
            check_cases(first, count, area, strtoull(at, NULL, 16));
            checked += count;
        } else if (strncmp(line, "mask ", 5) == 0) {
            char *at = line + 5;
            const uint64_t area = draw((uint32_t)strtoul(at, &at, 10));
            for (uint32_t i = 0; i < 2; i++)
                (void)strtoul(at, &at, 10);
            assert_int_equal(area, strtoul(at, &at, 10));
            for (uint32_t i = 0; i < 4; i++)
                (void)strtoul(at, &at, 10);
            assert_int_equal(mask_hash(drawn, (size_t)c.width * c.height), strtoull(at, NULL, 16));
        }
    }
    assert_int_equal(checked, POLYGON_CASES);
    (void)fclose(file);
}

/* ---- a walk ---- */

typedef struct fifths {
    long u, v;
} fifths;

/* The boundary as the header describes it: all of its steps in order. */
static void note_crossing(uint8_t *crossed, fifths a, fifths b)
{
    const long low = a.u < b.u ? a.u : b.u;
    const long v = a.v < b.v ? a.v : b.v;
    const long row = v <= 2 ? 0 : (v + 2) / 5;
    if (a.u != b.u && low >= 2 && low % 5 == 2 && low / 5 < (long)c.width && row < (long)c.height)
        crossed[row * (long)c.width + low / 5] ^= 1;
}

static void walk_edge(uint8_t *crossed, fifths from, fifths to)
{
    const long du = labs(to.u - from.u);
    const long dv = labs(to.v - from.v);
    const long steps = du >= dv ? du : dv;
    const int turned = du >= dv ? from.u > to.u : from.v > to.v;
    const fifths a = turned ? to : from;
    const fifths b = turned ? from : to;
    const double slope =
        du >= dv ? (double)(b.v - a.v) / (double)du : (double)(b.u - a.u) / (double)dv;
    fifths last = a;
    for (long i = 0; i <= steps && steps > 0; i++) {
        const double i_slope = slope * (double)i;
        const fifths now = du >= dv ? (fifths){a.u + i, (long)((double)a.v + i_slope + .5)}
                                    : (fifths){(long)((double)a.u + i_slope + .5), a.v + i};
        if (i > 0)
            note_crossing(crossed, last, now);
        last = now;
    }
}

static void walk_part(const double *points, uint32_t count)
{
    static uint8_t crossed[PIXELS];
    const size_t pixels = (size_t)c.width * c.height;
    memset(crossed, 0, pixels);
    for (uint32_t i = 0; i < count; i++) {
        const double *p = points + 2 * (size_t)i;
        const double *q = points + 2 * (size_t)((i + 1) % count);
        walk_edge(crossed, (fifths){(long)(5 * p[0] + .5), (long)(5 * p[1] + .5)},
                  (fifths){(long)(5 * q[0] + .5), (long)(5 * q[1] + .5)});
    }
    for (size_t i = 0; i < pixels; i++) {
        crossed[i] ^= i >= c.width ? crossed[i - c.width] : 0;
        walked[i] |= crossed[i];
    }
}

TEST_WITH(masks_are_those_of_a_walk, open_scratch, close_scratch)
{
    enum { AGAIN = TEST_AMOUNT(6000, 1500), HUGE_MAX = 10 };
    for (uint32_t i = POLYGON_CASES; i < POLYGON_CASES + AGAIN; i++) {
        if (i % POLYGON_KINDS == HUGE_KIND && i > POLYGON_CASES + 10 * HUGE_MAX)
            continue;
        (void)draw(i);
        memset(walked, 0, (size_t)c.width * c.height);
        for (uint32_t k = 0; k < c.parts; k++)
            walk_part(c.part[k], c.counts[k]);
        if (memcmp(drawn, walked, (size_t)c.width * c.height) != 0)
            fail_msg("case %u, of kind %u", i, c.kind);
    }
}

/* ---- pixels that are written ---- */

TEST_WITH(only_what_is_covered_is_written, open_scratch, close_scratch)
{
    enum { STRIDE = 150, ROWS = 4, WIDTH = 140 };
    static const double square[] = {10, 1, 135, 1, 135, 3, 10, 3};
    uint8_t pixels[STRIDE * ROWS];
    const sl_mask mask = {pixels, STRIDE, WIDTH, ROWS, 200, NULL, NULL};
    const sl_polygon part = {square, 4};
    memset(pixels, 9, sizeof(pixels));
    assert_int_equal(sl_polygons_fill(&part, 1, &mask, &scratch, NULL), SLUICE_OK);
    for (int i = 0; i < STRIDE * ROWS; i++) {
        const int x = i % STRIDE;
        const int y = i / STRIDE;
        assert_int_equal(pixels[i], x >= 10 && x < 135 && y >= 1 && y < 3 ? 200 : 9);
    }
}

/* ---- hostile ones ---- */

static sluice_status fill_points(const double *points, uint32_t count, sluice_error *error)
{
    const sl_mask mask = {drawn, 64, 64, 64, 1, NULL, NULL};
    const sl_polygon part = {points, count};
    memset(drawn, 0, sizeof(drawn));
    const sluice_status status = sl_polygons_fill(&part, 1, &mask, &scratch, error);
    assert_int_equal(sl_scratch_mark(&scratch), 0);
    return status;
}

TEST_WITH(vertices_that_are_none_are_refused, open_scratch, close_scratch)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1048576.5, -1048577, 1e300, -1e300};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        for (int place = 0; place < 6; place++) {
            sluice_error error = SLUICE_ERROR_INIT;
            double points[6] = {1, 1, 9, 2, 3, 8};
            points[place] = bad[i];
            assert_int_equal(fill_points(points, 3, &error), SLUICE_CORRUPT);
            assert_non_null(strstr(error.text, "vertex"));
        }
    }
    assert_int_equal(fill_points(NULL, 0, NULL), SLUICE_OK);
    const double far[] = {-1048576, -1048576, 1048576,  -1048576,
                          1048576,  1048576,  -1048576, 1048576};
    assert_int_equal(fill_points(far, 4, NULL), SLUICE_OK);
    for (size_t i = 0; i < (size_t)64 * 64; i++)
        assert_int_equal(drawn[i], 1);
}

TEST_WITH(many_points_take_bounded_time, open_scratch, close_scratch)
{
    enum { POINTS = TEST_AMOUNT(1 << 22, 1 << 20) };
    sluice_error error = SLUICE_ERROR_INIT;
    double *points = malloc(sizeof(double) * 2 * POINTS);
    const clock_t begin = clock();
    assert_non_null(points);
    for (size_t i = 0; i < POINTS; i++) {
        points[2 * i] = i % 2 == 0 ? -1e6 : 1e6;
        points[2 * i + 1] = (double)(i % 64);
    }
    assert_int_equal(fill_points(points, POINTS, &error), SLUICE_UNSUPPORTED);
    assert_non_null(strstr(error.text, "too often"));
    for (size_t i = 0; i < POINTS; i++)
        points[2 * i] = i % 2 == 0 ? -1e6 : -1;
    assert_int_equal(fill_points(points, POINTS, &error), SLUICE_OK);
    assert_true(clock() - begin < 10 * CLOCKS_PER_SEC);
    free(points);
}

/* Each part is small, but together they are not. */
TEST_WITH(many_parts_take_bounded_time, open_scratch, close_scratch)
{
    enum { PARTS = TEST_AMOUNT(1 << 18, 1 << 16) };
    static const double square[] = {0, 0, 64, 0, 64, 64, 0, 64};
    const sl_mask mask = {drawn, 64, 64, 64, 1, NULL, NULL};
    sl_polygon *parts = malloc(sizeof(*parts) * PARTS);
    assert_non_null(parts);
    for (size_t i = 0; i < PARTS; i++)
        parts[i] = (sl_polygon){square, 4};
    assert_int_equal(sl_polygons_fill(parts, 64, &mask, &scratch, NULL), SLUICE_OK);
    assert_int_equal(sl_polygons_fill(parts, PARTS, &mask, &scratch, NULL), SLUICE_UNSUPPORTED);
    free(parts);
}

TEST(too_little_memory_is_said)
{
    enum { SIDE = 1024 };
    static const double square[] = {0, 0, SIDE, 0, SIDE, SIDE, 0, SIDE};
    static uint8_t pixels[SIDE * SIDE];
    const sl_mask mask = {pixels, SIDE, SIDE, SIDE, 1, NULL, NULL};
    const sl_polygon part = {square, 4};
    sl_scratch little;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_scratch_open(&little, SIDE, SIDE, NULL), SLUICE_OK);
    assert_int_equal(sl_polygons_fill(&part, 1, &mask, &little, &error), SLUICE_NOMEM);
    sl_scratch_close(&little);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)printf("usage: %s FILE\n", argv[0]);
        return 2;
    }
    coco = argv[1];
    return test_run(NULL, NULL);
}
