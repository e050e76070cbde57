/* SPDX-License-Identifier: Apache-2.0 */
/* Checks lines and colours over a tile pixel by pixel. */
#include "test.h"

#include "../../tools/sluice/view/overlay.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { SIDE = 160, AROUND = 8, WIDE = SIDE + 2 * AROUND, PAPER = 100 };

static const uint8_t red[3] = {200, 10, 20};
static uint8_t pixels[WIDE][WIDE][3];

/* A tile surrounded by other pixels, which must not change. */
static struct overlay tile_of(uint32_t width, uint32_t height)
{
    memset(pixels, PAPER, sizeof pixels);
    return (struct overlay){&pixels[AROUND][AROUND][0], width, height, sizeof pixels[0]};
}

static bool is_red(int x, int y)
{
    return memcmp(pixels[y + AROUND][x + AROUND], red, 3) == 0;
}

static bool is_black(int x, int y)
{
    const uint8_t *pixel = pixels[y + AROUND][x + AROUND];
    return pixel[0] == 0 && pixel[1] == 0 && pixel[2] == 0;
}

/* Checks the outline: pixels inside the box and outside the box that is `line` smaller on each
 * side, within the tile. */
static void expect_outline(const struct overlay *tile, const int box[4], int line)
{
    for (int y = -AROUND; y < SIDE + AROUND; y++) {
        for (int x = -AROUND; x < SIDE + AROUND; x++) {
            const bool inside = x >= box[0] && x < box[2] && y >= box[1] && y < box[3];
            const bool within =
                x >= box[0] + line && x < box[2] - line && y >= box[1] + line && y < box[3] - line;
            const bool there = x >= 0 && y >= 0 && x < (int)tile->width && y < (int)tile->height;
            assert_int_equal(is_red(x, y), inside && !within && there);
        }
    }
}

TEST(test_boxes)
{
    static const struct {
        double box[4];
        int whole[4];
    } cases[] = {
        {{3, 4, 20, 11}, {3, 4, 20, 11}},
        {{3.4, 4.5, 19.6, 11.49}, {3, 5, 20, 11}},
        {{-7, 4, 9, 300}, {-7, 4, 9, 300}},
        {{-1e9, -1e300, 1e9, 1e300}, {-1000, -1000, 1000, 1000}},
        {{5, 5, 5, 5}, {5, 5, 6, 6}},
        {{7, 7, 8, 30}, {7, 7, 8, 30}},
        {{50, 50, 60, 60}, {50, 50, 60, 60}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct overlay tile = tile_of(40, 30);
        overlay_box(&tile, cases[i].box, red);
        expect_outline(&tile, cases[i].whole, 1);
        tile = tile_of(SIDE, SIDE - 32);
        overlay_box(&tile, cases[i].box, red);
        expect_outline(&tile, cases[i].whole, 2);
    }
}

TEST(test_lines)
{
    /* Each column has one pixel, within half a pixel of the line. */
    struct overlay tile = tile_of(40, 30);
    overlay_line(&tile, (double[]){4, 5}, (double[]){24, 15}, red);
    for (int x = 5; x < 23; x++) {
        int drawn = 0;
        for (int y = 0; y < 30; y++) {
            drawn += is_red(x, y);
            assert_true(!is_red(x, y) || fabs(y + 0.5 - (5 + (x + 0.5 - 4) / 2)) <= 1);
        }
        assert_in_range(drawn, 1, 2);
    }
    /* Of a long line, the part in the tile is drawn. */
    tile = tile_of(40, 30);
    overlay_line(&tile, (double[]){-1e9, 10}, (double[]){1e9, 10}, red);
    for (int x = 0; x < 40; x++) {
        assert_true(is_red(x, 9) || is_red(x, 10));
    }
    /* Lines outside the tile draw nothing. */
    tile = tile_of(40, 30);
    overlay_line(&tile, (double[]){-5, 0}, (double[]){-5, 30}, red);
    overlay_line(&tile, (double[]){0, 70}, (double[]){90, 40}, red);
    overlay_line(&tile, (double[]){NAN, 0}, (double[]){9, 9}, red);
    overlay_line(&tile, (double[]){1, 0}, (double[]){9, INFINITY}, red);
    expect_outline(&tile, (int[]){0, 0, 0, 0}, 1);
}

TEST(test_points)
{
    struct overlay tile = tile_of(40, 30);
    overlay_point(&tile, 1.9, 10.2, red);
    for (int y = -AROUND; y < SIDE; y++) {
        for (int x = -AROUND; x < SIDE; x++) {
            const bool arm = (y == 10 && x <= 3) || (x == 1 && y >= 8 && y <= 12);
            assert_int_equal(is_red(x, y), arm && x >= 0);
        }
    }
    tile = tile_of(SIDE, SIDE);
    overlay_point(&tile, 20, 20, red);
    /* A disc with a rim. */
    assert_true(is_red(17, 20) && is_red(23, 20) && is_red(20, 23) && is_red(22, 22));
    assert_true(is_black(16, 20) && is_black(24, 20) && is_black(20, 24) && is_black(23, 23));
    assert_true(pixels[20 + AROUND][25 + AROUND][0] == PAPER &&
                pixels[16 + AROUND][16 + AROUND][0] == PAPER);
}

TEST(test_nothing_of_what_is_no_number)
{
    const double odd[] = {NAN, INFINITY, -INFINITY};
    const struct overlay tile = tile_of(40, 30);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        for (size_t k = 0; k < 4; k++) {
            double box[4] = {1, 1, 9, 9};
            box[k] = odd[i];
            overlay_box(&tile, box, red);
        }
        overlay_point(&tile, odd[i], 3, red);
        overlay_point(&tile, 3, odd[i], red);
    }
    expect_outline(&tile, (int[]){0, 0, 0, 0}, 1);
}

TEST(test_tint)
{
    const struct overlay tile = tile_of(40, 30);
    overlay_tint(&tile, 39, 29, red);
    const uint8_t half[3] = {150, 55, 60};
    assert_memory_equal(pixels[29 + AROUND][39 + AROUND], half, 3);
    assert_int_equal(pixels[29 + AROUND][40 + AROUND][0], PAPER);
    assert_int_equal(pixels[28 + AROUND][39 + AROUND][0], PAPER);
}

TEST(test_palette)
{
    for (uint64_t i = 0; i < OVERLAY_COLORS; i++) {
        for (uint64_t k = 0; k < i; k++) {
            assert_memory_not_equal(overlay_color(i), overlay_color(k), 3);
        }
        assert_ptr_equal(overlay_color(i), overlay_color(i + OVERLAY_COLORS));
    }
    assert_non_null(overlay_color(UINT64_MAX));
}
