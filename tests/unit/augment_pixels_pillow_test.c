/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on pixels against Pillow, several in a row, where tables are joined before pixels are
 * changed; no tolerance. Arguments: Python, pillow_oracle.py.
 */
#include "philox.h"
#include "pillow.h"
#include "pixels.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum {
    PICTURES = 200,
    ROWS = 15,
    STEPS_TEXT = 256,
    SIDE_MAX = 24,
    BYTES_MAX = SIDE_MAX * SIDE_MAX * 3,
    COLOURS_SIDE = 2048
};

/* Pixels, the tables still to be applied to them, and the lookup function. */
typedef struct canvas {
    const sl_pixel_kernels *kernels;
    uint8_t pixels[BYTES_MAX];
    size_t count;
    uint8_t tables[3][SL_LUT_SIZE];
    bool pending;
} canvas;

static void flush(canvas *c)
{
    if (c->pending) {
        c->kernels->look_up(c->pixels, c->count, c->tables);
    }
    for (int k = 0; k < 3; k++) {
        sl_lut_identity(c->tables[k]);
    }
    c->pending = false;
}

static void append(canvas *c, const uint8_t table[SL_LUT_SIZE])
{
    for (int k = 0; k < 3; k++) {
        sl_lut_append(c->tables[k], table);
    }
    c->pending = true;
}

typedef void measured_table(uint8_t table[SL_LUT_SIZE], const uint32_t histogram[SL_LUT_SIZE]);

static void append_measured(canvas *c, measured_table *make)
{
    uint32_t histograms[3][SL_LUT_SIZE] = {{0}};
    c->kernels->histogram(c->pixels, c->count, histograms);
    for (int k = 0; k < 3; k++) {
        uint32_t pushed[SL_LUT_SIZE];
        uint8_t table[SL_LUT_SIZE];
        sl_lut_push(c->tables[k], histograms[k], pushed);
        make(table, pushed);
        sl_lut_append(c->tables[k], table);
    }
    c->pending = true;
}

typedef void step(canvas *c, double number);

static void step_brightness(canvas *c, double factor)
{
    uint8_t table[SL_LUT_SIZE];
    sl_lut_brightness(table, (float)factor);
    append(c, table);
}

static void step_contrast(canvas *c, double factor)
{
    uint8_t table[SL_LUT_SIZE];
    flush(c);
    const uint64_t sum = c->kernels->sum_grey(c->pixels, c->count);
    sl_lut_contrast(table, sl_mean_grey(sum, c->count), (float)factor);
    c->kernels->look_up_one(c->pixels, c->count, table);
}

static void step_saturation(canvas *c, double factor)
{
    flush(c);
    c->kernels->blend_grey(c->pixels, c->count, (float)factor);
}

static void step_posterize(canvas *c, double bits)
{
    uint8_t table[SL_LUT_SIZE];
    sl_lut_posterize(table, (uint32_t)bits);
    append(c, table);
}

static void step_solarize(canvas *c, double threshold)
{
    uint8_t table[SL_LUT_SIZE];
    sl_lut_solarize(table, threshold);
    append(c, table);
}

static void step_solarize_add(canvas *c, double add)
{
    uint8_t table[SL_LUT_SIZE];
    sl_lut_solarize_add(table, (int32_t)add, 128);
    append(c, table);
}

static void step_invert(canvas *c, double unused)
{
    uint8_t table[SL_LUT_SIZE];
    sl_lut_invert(table);
    append(c, table);
}

static void step_autocontrast(canvas *c, double unused)
{
    append_measured(c, sl_lut_autocontrast);
}

static void step_equalize(canvas *c, double unused)
{
    append_measured(c, sl_lut_equalize);
}

static void step_grey(canvas *c, double unused)
{
    flush(c);
    c->kernels->grey(c->pixels, c->count);
}

static void step_hue(canvas *c, double factor)
{
    flush(c);
    c->kernels->hue(c->pixels, c->count, sl_hue_shift(factor));
}

static void step_permute(canvas *c, double order)
{
    const uint32_t digits = (uint32_t)order;
    const uint8_t places[3] = {(uint8_t)(digits / 100), (uint8_t)(digits / 10 % 10),
                               (uint8_t)(digits % 10)};
    flush(c);
    c->kernels->permute(c->pixels, c->count, places);
}

/* A third of the numbers are extremes; the others are anything from `least` to `most`. */
static const struct {
    const char *name;
    step *apply;
    double least, most;
    bool whole;
    double extremes[6];
} kinds[] = {
    {"brightness", step_brightness, 0, 3, false, {0, 1, 2.5, 1000, 0.5, 255}},
    {"contrast", step_contrast, 0, 3, false, {0, 1, 2.5, 1000, 0.5, 255}},
    {"saturation", step_saturation, 0, 3, false, {0, 1, 2.5, 1000, 0.5, 70000}},
    {"posterize", step_posterize, 0, 9, true, {0, 1, 7, 8, 4, 2}},
    {"solarize", step_solarize, 0, 256, false, {0, 1, 128, 255, 256, 127.5}},
    {"solarize_add", step_solarize_add, 0, 128, true, {0, 1, 110, 127, 128, 255}},
    {"invert", step_invert, 0, 0, false, {0}},
    {"autocontrast", step_autocontrast, 0, 0, false, {0}},
    {"equalize", step_equalize, 0, 0, false, {0}},
    {"grey", step_grey, 0, 0, false, {0}},
    {"hue", step_hue, -0.5, 0.5, false, {-0.5, 0.5, 0, 1.0 / 255, -1.0 / 255, 0.25}},
    {"permute", step_permute, 120, 120, true, {12, 21, 102, 120, 201, 210}},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static double random_number(sl_random *random, uint32_t kind)
{
    const uint32_t extreme = sl_random_below(random, 18);
    if (extreme < 6) {
        return kinds[kind].extremes[extreme];
    }
    const double number = sl_random_range(random, kinds[kind].least, kinds[kind].most);
    /* Rounded to binary32, the type of factors. */
    return kinds[kind].whole ? (double)(int)number : (double)(float)number;
}

/* Noise, narrow ranges of values, single colours, single pixels. */
static void random_canvas(sl_random *random, canvas *c, uint32_t size[2])
{
    const uint32_t kind = sl_random_below(random, 8);
    size[0] = kind == 0 ? 1 : 1 + sl_random_below(random, SIDE_MAX);
    size[1] = kind == 0 ? 1 : 1 + sl_random_below(random, SIDE_MAX);
    c->count = (size_t)size[0] * size[1];
    c->pending = false;
    const uint32_t first = sl_random_below(random, 256);
    const uint32_t range = kind == 1 ? 1 : kind < 4 ? 1 + sl_random_below(random, 256 - first) : 0;
    for (size_t i = 0; i < c->count * 3; i++) {
        c->pixels[i] = (uint8_t)(range != 0 ? first + sl_random_below(random, range)
                                            : sl_random_below(random, 256));
    }
    flush(c);
}

/* Draws one to four steps; the first goes through all kinds in turn. `text` describes them. */
static void random_steps(sl_random *random, canvas *c, uint32_t number, char text[STEPS_TEXT])
{
    text[0] = '\0';
    for (uint32_t k = 0; k <= number % 4; k++) {
        const uint32_t kind = k == 0 ? number % KINDS : sl_random_below(random, KINDS);
        const double argument = random_number(random, kind);
        const size_t length = strlen(text);
        (void)snprintf(text + length, STEPS_TEXT - length, " %s %.17g", kinds[kind].name, argument);
        kinds[kind].apply(c, argument);
    }
    flush(c);
}

TEST(rows_of_steps_are_pillows)
{
    static canvas canvases[PICTURES][ROWS];
    static uint8_t theirs[ROWS * BYTES_MAX];
    static char text[ROWS * (STEPS_TEXT + 2)];
    const uint32_t levels = 1 + (uint32_t)sl_simd_best();
    pillow oracle;
    pillow_open(&oracle);
    sl_random random = sl_random_for(21, 0, 0, 0);
    for (uint32_t i = 0; i < PICTURES; i++) {
        static canvas given;
        uint32_t size[2];
        random_canvas(&random, &given, size);
        pillow_input(&oracle, i, given.pixels, given.count * 3);
        text[0] = '\0';
        for (uint32_t k = 0; k < ROWS; k++) {
            char steps[STEPS_TEXT];
            canvases[i][k] = given;
            canvases[i][k].kernels = sl_pixel_kernels_for((sl_simd)((i + k) % levels));
            random_steps(&random, &canvases[i][k], i * ROWS + k, steps);
            const size_t length = strlen(text);
            (void)snprintf(text + length, sizeof(text) - length, "%s%s", k == 0 ? "" : " /", steps);
        }
        pillow_ask(&oracle, "jitter %u %u %u%s", i, size[0], size[1], text);
    }
    pillow_run(&oracle);
    for (uint32_t i = 0; i < PICTURES; i++) {
        const size_t bytes = canvases[i][0].count * 3;
        pillow_answer(&oracle, i, theirs, bytes * ROWS);
        for (uint32_t k = 0; k < ROWS; k++) {
            assert_memory_equal(canvases[i][k].pixels, theirs + k * bytes, bytes);
        }
    }
    pillow_close(&oracle);
}

/* Tests a quarter of all colours; augment_pixels_test has the others. */
TEST(hue_of_colours_is_pillows)
{
    const size_t count = (size_t)COLOURS_SIDE * COLOURS_SIDE;
    uint8_t *ours = malloc(count * 3);
    uint8_t *theirs = malloc(count * 3);
    assert_non_null(ours);
    assert_non_null(theirs);
    for (size_t i = 0; i < count * 3; i++) {
        const size_t colour = i / 3 * 4 + i / 3 / 64 % 4;
        ours[i] = (uint8_t)(colour >> (i % 3 * 8));
    }
    pillow oracle;
    pillow_open(&oracle);
    pillow_input(&oracle, 0, ours, count * 3);
    pillow_ask(&oracle, "jitter 0 %d %d hue 0.3", COLOURS_SIDE, COLOURS_SIDE);
    pillow_run(&oracle);
    pillow_answer(&oracle, 0, theirs, count * 3);
    pillow_close(&oracle);
    sl_pixel_kernels_for(sl_simd_best())->hue(ours, count, sl_hue_shift(0.3));
    assert_true(memcmp(ours, theirs, count * 3) == 0);
    free(ours);
    free(theirs);
}

int main(int argc, char **argv)
{
    const int code = pillow_begin(argc, argv);
    if (code != 0) {
        return code;
    }
    return test_run(NULL, NULL);
}
