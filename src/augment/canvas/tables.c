/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

#include "blend.h"

#include <assert.h>
#include <string.h>

static uint8_t clip_to_byte(int64_t value)
{
    if (value < 0) {
        return 0;
    }
    return value > 255 ? 255 : (uint8_t)value;
}

void sl_lut_identity(uint8_t table[SL_LUT_SIZE])
{
    for (uint32_t i = 0; i < SL_LUT_SIZE; i++) {
        table[i] = (uint8_t)i;
    }
}

void sl_lut_contrast(uint8_t table[SL_LUT_SIZE], uint8_t mean, float factor)
{
    for (int32_t i = 0; i < SL_LUT_SIZE; i++) {
        table[i] = sl_blend(mean, i, factor);
    }
}

void sl_lut_brightness(uint8_t table[SL_LUT_SIZE], float factor)
{
    sl_lut_contrast(table, 0, factor);
}

void sl_lut_posterize(uint8_t table[SL_LUT_SIZE], uint32_t bits)
{
    assert(bits <= 8);
    for (uint32_t i = 0; i < SL_LUT_SIZE; i++) {
        table[i] = (uint8_t)(i & (0xff00U >> bits));
    }
}

void sl_lut_solarize(uint8_t table[SL_LUT_SIZE], double threshold)
{
    for (uint32_t i = 0; i < SL_LUT_SIZE; i++) {
        table[i] = (uint8_t)((double)i < threshold ? i : 255 - i);
    }
}

void sl_lut_solarize_add(uint8_t table[SL_LUT_SIZE], int32_t add, int32_t threshold)
{
    for (int32_t i = 0; i < SL_LUT_SIZE; i++) {
        table[i] = i < threshold ? clip_to_byte((int64_t)i + add) : (uint8_t)i;
    }
}

void sl_lut_invert(uint8_t table[SL_LUT_SIZE])
{
    sl_lut_solarize(table, 0.0);
}

/* Finds the smallest and the largest value that occurs; 255 and 0 if none does. */
static void value_range(const uint32_t histogram[SL_LUT_SIZE], int32_t *low, int32_t *high)
{
    *low = 0;
    *high = 255;
    while (*low < 255 && histogram[*low] == 0) {
        ++*low;
    }
    while (*high > 0 && histogram[*high] == 0) {
        --*high;
    }
}

void sl_lut_autocontrast(uint8_t table[SL_LUT_SIZE], const uint32_t histogram[SL_LUT_SIZE])
{
    int32_t low = 0;
    int32_t high = 0;
    value_range(histogram, &low, &high);
    if (high <= low) {
        sl_lut_identity(table);
        return;
    }
    const double scale = 255.0 / (high - low);
    const double offset = -low * scale;
    for (int32_t i = 0; i < SL_LUT_SIZE; i++) {
        table[i] = clip_to_byte((int64_t)(i * scale + offset));
    }
}

void sl_lut_equalize(uint8_t table[SL_LUT_SIZE], const uint32_t histogram[SL_LUT_SIZE])
{
    uint32_t total = 0;
    uint32_t last = 0; /* that is not 0 */
    for (uint32_t i = 0; i < SL_LUT_SIZE; i++) {
        total += histogram[i];
        last = histogram[i] != 0 ? histogram[i] : last;
    }
    const uint32_t step = (total - last) / 255;
    if (step == 0) {
        sl_lut_identity(table);
        return;
    }
    uint64_t sum = step / 2;
    for (uint32_t i = 0; i < SL_LUT_SIZE; i++) {
        table[i] = clip_to_byte((int64_t)(sum / step));
        sum += histogram[i];
    }
}

uint8_t sl_mean_grey(uint64_t sum, uint64_t count)
{
    if (count == 0) {
        return 0;
    }
    const int32_t mean = (int32_t)((double)sum / (double)count + 0.5);
    return (uint8_t)mean;
}

void sl_lut_append(uint8_t table[SL_LUT_SIZE], const uint8_t then[SL_LUT_SIZE])
{
    for (uint32_t i = 0; i < SL_LUT_SIZE; i++) {
        table[i] = then[table[i]];
    }
}

void sl_lut_push(const uint8_t table[SL_LUT_SIZE], const uint32_t from[SL_LUT_SIZE],
                 uint32_t to[SL_LUT_SIZE])
{
    memset(to, 0, SL_LUT_SIZE * sizeof(*to));
    for (uint32_t i = 0; i < SL_LUT_SIZE; i++) {
        to[table[i]] += from[i];
    }
}
