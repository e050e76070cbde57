/* SPDX-License-Identifier: Apache-2.0 */
/* Value tables: examples by hand, and joined tables against one after the other. */
#include "philox.h"
#include "tables.h"
#include "test.h"

#include <string.h>

static void assert_identity(const uint8_t table[SL_LUT_SIZE])
{
    for (uint32_t i = 0; i < SL_LUT_SIZE; i++) {
        assert_int_equal(table[i], i);
    }
}

TEST(factors)
{
    uint8_t table[SL_LUT_SIZE];
    sl_lut_brightness(table, 1.0F);
    assert_identity(table);
    sl_lut_brightness(table, 0.0F);
    assert_int_equal(table[255], 0);
    sl_lut_brightness(table, 2.5F);
    assert_int_equal(table[101], 252); /* 252.5, rounded down */
    assert_int_equal(table[103], 255);
    sl_lut_contrast(table, 100, 1.0F);
    assert_identity(table);
    sl_lut_contrast(table, 100, 0.0F);
    assert_int_equal(table[7], 100);
    sl_lut_contrast(table, 100, 1000.0F);
    assert_int_equal(table[99], 0);
    assert_int_equal(table[100], 100);
    assert_int_equal(table[101], 255);
}

TEST(bits_and_thresholds)
{
    uint8_t table[SL_LUT_SIZE];
    sl_lut_posterize(table, 8);
    assert_identity(table);
    sl_lut_posterize(table, 0);
    assert_int_equal(table[255], 0);
    sl_lut_posterize(table, 3);
    assert_int_equal(table[0x7f], 0x60);
    sl_lut_solarize(table, 256.0);
    assert_identity(table);
    sl_lut_solarize(table, 127.5);
    assert_int_equal(table[127], 127);
    assert_int_equal(table[128], 127);
    sl_lut_solarize_add(table, 110, 128);
    assert_int_equal(table[127], 237);
    assert_int_equal(table[128], 128);
    sl_lut_solarize_add(table, -5, 256);
    assert_int_equal(table[4], 0);
    sl_lut_solarize_add(table, INT32_MAX, 128);
    assert_int_equal(table[0], 255);
    sl_lut_invert(table);
    assert_int_equal(table[3], 252);
}

TEST(measured_tables)
{
    uint8_t table[SL_LUT_SIZE];
    uint32_t histogram[SL_LUT_SIZE] = {0};
    sl_lut_autocontrast(table, histogram);
    assert_identity(table);
    sl_lut_equalize(table, histogram);
    assert_identity(table);
    histogram[9] = UINT32_MAX; /* a single colour */
    sl_lut_autocontrast(table, histogram);
    assert_identity(table);
    sl_lut_equalize(table, histogram);
    assert_identity(table);
    histogram[9] = 300;
    histogram[60] = 300;
    sl_lut_autocontrast(table, histogram);
    assert_int_equal(table[8], 0);
    assert_int_equal(table[9], 0);
    assert_int_equal(table[10], 5);
    assert_int_equal(table[11], 10);
    assert_int_equal(table[60], 255);
    assert_int_equal(table[61], 255);
    sl_lut_equalize(table, histogram);
    assert_int_equal(table[9], 0);
    assert_int_equal(table[60], 255); /* 300 times 1 is clipped */
}

TEST(means)
{
    assert_int_equal(sl_mean_grey(0, 0), 0);
    assert_int_equal(sl_mean_grey(5, 2), 3);
    assert_int_equal(sl_mean_grey(7, 3), 2);
    assert_int_equal(sl_mean_grey(UINT64_C(255) << 40, UINT64_C(1) << 40), 255);
}

TEST(joined_tables_and_pushed_histograms)
{
    sl_random random = sl_random_for(31, 0, 0, 0);
    for (int i = 0; i < 100; i++) {
        uint8_t first[SL_LUT_SIZE];
        uint8_t second[SL_LUT_SIZE];
        uint8_t both[SL_LUT_SIZE];
        uint32_t before[SL_LUT_SIZE] = {0};
        uint32_t after[SL_LUT_SIZE] = {0};
        uint32_t pushed[SL_LUT_SIZE];
        for (int k = 0; k < SL_LUT_SIZE; k++) {
            first[k] = (uint8_t)sl_random_below(&random, 256);
            second[k] = (uint8_t)sl_random_below(&random, 256);
        }
        memcpy(both, first, sizeof(both));
        sl_lut_append(both, second);
        for (int k = 0; k < 1000; k++) {
            const uint32_t value = sl_random_below(&random, 256);
            before[value]++;
            after[first[value]]++;
            assert_int_equal(both[value], second[first[value]]);
        }
        sl_lut_push(first, before, pushed);
        assert_memory_equal(pushed, after, sizeof(after));
    }
}
