/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step random_hsv against OpenCV's conversions and ultralytics' tables. Arguments: Python,
 * opencv_oracle.py.
 */
#include "hsv.h"
#include "philox.h"
#include "pillow.h"
#include "pixels.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 2048, PART = SIDE * SIDE, CHANGES = 8, TURNS = 4, NARROW = 47, TALL = 900 };

typedef struct hsv_parts {
    double hue, saturation, value; /* like ultralytics' r */
} hsv_parts;

static hsv_parts parts_of(sl_random *random, int change)
{
    static const hsv_parts ends[] = {{0, 0, 0}, {-1, -1, 1}, {1, 1, 0}, {0.25, 0.5, -0.5}};
    if (change < 4) {
        return ends[change];
    }
    return (hsv_parts){sl_random_range(random, -1.0, 1.0), sl_random_range(random, -1.0, 1.0),
                       sl_random_range(random, -0.6, 0.6)};
}

static sl_hsv_change change_of(const hsv_parts *parts)
{
    return (sl_hsv_change){.hue = (uint8_t)(((int)floor(parts->hue * 180) + 180) % 180),
                           .saturation = sl_hsv_factor(parts->saturation + 1),
                           .value = sl_hsv_factor(parts->value + 1)};
}

/* Asks for OpenCV's result for input 0. */
static void ask(pillow *oracle, int width, int height, const hsv_parts *parts)
{
    pillow_ask(oracle, "hsv 0 %d %d %a %a %a", width, height, parts->hue, parts->saturation,
               parts->value);
}

/* Fills with every fourth colour; four turns give all. */
static void fill(uint8_t *pixels, int turn)
{
    for (size_t k = 0; k < (size_t)PART * 3; k++) {
        const size_t colour = k / 3 * TURNS + (k / 3 / 64 + (size_t)turn) % TURNS;
        pixels[k] = (uint8_t)(colour >> (k % 3 * 8));
    }
}

/* A quarter of all colours for each change, at alternating levels, without tolerance. Changes of
 * the same colours share one start of Python, which takes as long as two changes. */
TEST(hsv_is_opencvs)
{
    uint8_t *pixels = malloc((size_t)PART * 3);
    uint8_t *ours = malloc((size_t)PART * 3);
    uint8_t *theirs = malloc((size_t)PART * 3);
    assert_true(pixels != NULL && ours != NULL && theirs != NULL);
    sl_random random = sl_random_for(71, 0, 0, 0);
    hsv_parts parts[CHANGES];
    for (int i = 0; i < CHANGES; i++) {
        parts[i] = parts_of(&random, i);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        fill(pixels, turn);
        pillow oracle;
        pillow_open(&oracle);
        pillow_input(&oracle, 0, pixels, (size_t)PART * 3);
        for (int i = turn; i < CHANGES; i += TURNS) {
            ask(&oracle, SIDE, SIDE, &parts[i]);
        }
        pillow_run(&oracle);
        for (int i = turn; i < CHANGES; i += TURNS) {
            const sl_hsv_change change = change_of(&parts[i]);
            const int level = i % ((int)sl_simd_best() + 1);
            memcpy(ours, pixels, (size_t)PART * 3);
            sl_pixel_kernels_for((sl_simd)level)->hsv(ours, PART, &change);
            pillow_answer(&oracle, (uint32_t)(i / TURNS), theirs, (size_t)PART * 3);
            assert_true(memcmp(ours, theirs, (size_t)PART * 3) == 0);
        }
        pillow_close(&oracle);
    }
    free(pixels);
    free(ours);
    free(theirs);
}

/* Row ends that fill only part of OpenCV's vector: within 1 there, and equal before. */
TEST(ends_of_rows_are_within_one)
{
    enum { BYTES = NARROW * TALL * 3, EQUAL = 32 * 3 };
    static uint8_t ours[BYTES];
    static uint8_t theirs[BYTES];
    sl_random random = sl_random_for(72, 0, 0, 0);
    for (size_t i = 0; i < BYTES; i++) {
        ours[i] = (uint8_t)sl_random_below(&random, 256);
    }
    const hsv_parts parts = {0.013, 0.61, -0.37};
    const sl_hsv_change change = change_of(&parts);
    pillow oracle;
    pillow_open(&oracle);
    pillow_input(&oracle, 0, ours, BYTES);
    ask(&oracle, NARROW, TALL, &parts);
    pillow_run(&oracle);
    pillow_answer(&oracle, 0, theirs, BYTES);
    pillow_close(&oracle);
    sl_pixel_kernels_for(sl_simd_best())->hsv(ours, (size_t)NARROW * TALL, &change);
    assert_true(largest_difference(ours, theirs, BYTES) <= 1);
    for (size_t y = 0; y < TALL; y++) {
        assert_memory_equal(ours + y * NARROW * 3, theirs + y * NARROW * 3, EQUAL);
    }
}

int main(int argc, char **argv)
{
    const int code = pillow_begin(argc, argv);
    if (code != 0) {
        return code;
    }
    return test_run(NULL, NULL);
}
