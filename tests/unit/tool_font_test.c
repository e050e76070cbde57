/* SPDX-License-Identifier: Apache-2.0 */
/* Tests text on pixels: how it is measured and wrapped, and that it stays in its tile. */
#include "test.h"

#include "../../tools/sluice/view/font.h"
#include "../../tools/sluice/view/tag.h"

#include <stdbool.h>
#include <string.h>

enum { SIDE = 200, AROUND = 20, WIDE = SIDE + 2 * AROUND, PAPER = 40 };

static const uint8_t ink[3] = {240, 250, 255};
static uint8_t pixels[WIDE][WIDE][3];

static struct overlay tile_of(uint32_t width, uint32_t height)
{
    memset(pixels, PAPER, sizeof pixels);
    return (struct overlay){&pixels[AROUND][AROUND][0], width, height, sizeof pixels[0]};
}

static bool is_paper(int x, int y)
{
    static const uint8_t paper[3] = {PAPER, PAPER, PAPER};
    return memcmp(pixels[y + AROUND][x + AROUND], paper, 3) == 0;
}

/* Checks that everything drawn is in [left, right) x [top, bottom), and that something is. */
static void expect_drawn_in(int left, int top, int right, int bottom)
{
    size_t drawn = 0;
    for (int y = -AROUND; y < SIDE + AROUND; y++) {
        for (int x = -AROUND; x < SIDE + AROUND; x++) {
            const bool inside = x >= left && x < right && y >= top && y < bottom;
            assert_true(inside || is_paper(x, y));
            drawn += !is_paper(x, y);
        }
    }
    assert_true(drawn > 0);
}

static bool is_text(struct font_text part, const char *text)
{
    return part.bytes == strlen(text) && memcmp(part.text, text, part.bytes) == 0;
}

TEST(widths_add_up)
{
    for (int font = FONT_SMALL; font <= FONT_LARGE; font++) {
        const uint32_t a = font_width((enum font)font, font_text("Wil"));
        const uint32_t b = font_width((enum font)font, font_text("\xc3\xa9 x"));
        assert_int_equal(font_width((enum font)font, font_text("Wil\xc3\xa9 x")), a + b);
        assert_int_equal(font_width((enum font)font, font_text("")), 0);
    }
    assert_true(font_width(FONT_SMALL, font_text("W")) > font_width(FONT_SMALL, font_text("i")));
    assert_true(font_line(FONT_LARGE) > font_line(FONT_SMALL));
}

TEST(a_letter_is_where_its_pixels_are)
{
    /* A vertical bar has one or two columns and is higher than a letter; a full stop is low. */
    struct overlay tile = tile_of(SIDE, SIDE);
    font_draw(&tile, (struct font_place){50, 60}, FONT_SMALL, font_text("|"), ink);
    expect_drawn_in(50, 60, 54, 60 + (int)font_line(FONT_SMALL));
    tile = tile_of(SIDE, SIDE);
    font_draw(&tile, (struct font_place){50, 60}, FONT_SMALL, font_text("."), ink);
    expect_drawn_in(50, 68, 54, 74);
    tile = tile_of(SIDE, SIDE);
    assert_int_equal(
        font_draw(&tile, (struct font_place){50, 60}, FONT_LARGE, font_text("ab"), ink),
        50 + font_width(FONT_LARGE, font_text("ab")));
}

TEST(other_letters_and_damaged_text_are_drawn_alike)
{
    static const char *const unknown[] = {"\xe6\xb1\x89", "\xff", "\xc3"};
    static uint8_t first[sizeof pixels];
    for (size_t i = 0; i < 3; i++) {
        struct overlay tile = tile_of(SIDE, SIDE);
        font_draw(&tile, (struct font_place){9, 9}, FONT_SMALL, font_text(unknown[i]), ink);
        expect_drawn_in(9, 9, 25, 28);
        if (i == 0) {
            memcpy(first, pixels, sizeof pixels);
        }
        assert_memory_equal(first, pixels, sizeof pixels);
    }
}

TEST(nothing_is_drawn_outside_of_the_tile)
{
    static const struct font_place places[] = {{0, 0}, {95, 3}, {3, 55}, {99, 59}, {300, 5}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const struct overlay tile = tile_of(100, 60);
        font_draw(&tile, places[i], FONT_LARGE, font_text("Wj\xc3\x84|"), ink);
        for (int y = -AROUND; y < SIDE + AROUND; y++) {
            for (int x = -AROUND; x < SIDE + AROUND; x++) {
                assert_true((x >= 0 && x < 100 && y >= 0 && y < 60) || is_paper(x, y));
            }
        }
    }
}

TEST(text_is_broken_at_blanks)
{
    const struct font_text text = font_text("one two three");
    const uint32_t width = font_width(FONT_SMALL, font_text("one two"));
    const struct font_text line = font_break(FONT_SMALL, text, width);
    assert_true(is_text(line, "one two"));
    assert_true(is_text(font_rest(text, line), "three"));
    assert_true(is_text(font_break(FONT_SMALL, text, width - 1), "one"));
    assert_true(is_text(font_break(FONT_SMALL, text, 1000), "one two three"));
    /* Wraps within a word if there is no blank, and never leaves a line without a letter. */
    assert_true(is_text(
        font_break(FONT_SMALL, font_text("mmmm"), font_width(FONT_SMALL, font_text("mm"))), "mm"));
    assert_true(is_text(font_break(FONT_SMALL, font_text("mmmm"), 0), "m"));
    assert_int_equal(font_break(FONT_SMALL, font_text(""), 0).bytes, 0);
    assert_true(is_text(font_cut(FONT_SMALL, text, width - 1), "one tw"));
    assert_true(is_text(font_cut(FONT_SMALL, text, 0), ""));
}

static bool is_color(int x, int y, const uint8_t color[3])
{
    return memcmp(pixels[y + AROUND][x + AROUND], color, 3) == 0;
}

TEST(a_tag_stands_above_its_box_or_in_it)
{
    static const uint8_t red[3] = {230, 25, 75};
    struct overlay tile = tile_of(SIDE, SIDE);
    const int right = 30 + (int)font_width(FONT_SMALL, font_text("dog")) + 6;
    const int high = (int)font_line(FONT_SMALL) - 2;
    tag_draw(&tile, (double[]){30, 50, 120, 90}, "dog", red);
    expect_drawn_in(30, 50 - high, right, 50);
    assert_true(is_color(30, 50 - high, red) && is_color(right - 1, 49, red));
    tile = tile_of(SIDE, SIDE);
    tag_draw(&tile, (double[]){-40, 5, 120, 90}, "dog", red);
    expect_drawn_in(0, 5, right - 30, 5 + high);
    /* Stays in the tile at its right and lower edges, even with a word that is wider. */
    tile = tile_of(SIDE, SIDE);
    tag_draw(&tile, (double[]){195, 199, 260, 300}, "dog", red);
    expect_drawn_in(SIDE - (right - 30), 199 - high, SIDE, 199);
    tile = tile_of(SIDE, SIDE);
    tag_draw(&tile, (double[]){9, 50, 60, 60}, "a name that is much wider than all of the tile",
             red);
    expect_drawn_in(0, 50 - high, SIDE, 50);
}

TEST(small_tiles_have_no_tags)
{
    const struct overlay tile = tile_of(SIDE, 127);
    tag_draw(&tile, (double[]){30, 50, 120, 90}, "dog", ink);
    tag_draw(&tile, (double[]){30, 50, 120, 90}, "", ink);
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            assert_true(is_paper(x, y));
        }
    }
}
