/* SPDX-License-Identifier: Apache-2.0 */
/* Letters of the contact sheet: Latin-1 has its own, each another one. */
#include "../../tools/sluice/view/font.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = FONT_ABOVE + FONT_HEIGHT + FONT_BELOW };

struct glyph {
    bool at[ROWS][FONT_WIDTH];
};

static struct glyph glyph_of(uint32_t point)
{
    struct glyph glyph;
    for (int y = 0; y < ROWS; y++) {
        for (int x = 0; x < FONT_WIDTH; x++) {
            glyph.at[y][x] = font_pixel(point, x, y - FONT_ABOVE);
        }
    }
    return glyph;
}

static bool equal(uint32_t a, uint32_t b)
{
    const struct glyph left = glyph_of(a);
    const struct glyph right = glyph_of(b);
    return memcmp(&left, &right, sizeof left) == 0;
}

static void test_all_differ(void **state)
{
    (void)state;
    for (uint32_t a = 32; a <= 0xff; a++) {
        const bool letter = (a < 127) || a >= 0xc0;
        for (uint32_t b = 32; letter && b < a; b++) {
            if (b < 127 || b >= 0xc0) {
                assert_false(equal(a, b));
            }
        }
    }
}

static void test_marks(void **state)
{
    (void)state;
    const struct glyph plain = glyph_of('u');
    const struct glyph accented = glyph_of(0xfc); /* u with diaeresis */
    int more = 0;
    for (int y = 0; y < ROWS; y++) {
        for (int x = 0; x < FONT_WIDTH; x++) {
            assert_true(accented.at[y][x] || !plain.at[y][x]);
            more += accented.at[y][x] && !plain.at[y][x];
        }
    }
    assert_int_equal(more, 2);
    assert_true(equal(0x161, 's') && equal(0x141, 'L') && equal(0x17f, 's'));
    assert_true(equal(0x4e2d, '?') && equal(0x80, '?') && equal(UINT32_MAX, '?'));
    assert_true(equal(0xa0, ' '));
    assert_true(font_is_mark(0x308) && !font_is_mark('u'));
}

static void test_edges(void **state)
{
    (void)state;
    for (uint32_t point = 0; point < 0x200; point++) {
        for (int i = -20; i < 20; i++) {
            assert_false(font_pixel(point, -1, i) || font_pixel(point, FONT_WIDTH, i));
            assert_false(font_pixel(point, i, -FONT_ABOVE - 1));
            assert_false(font_pixel(point, i, FONT_HEIGHT + FONT_BELOW));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_differ),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
