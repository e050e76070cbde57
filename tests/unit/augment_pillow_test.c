/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling and jitter against Pillow itself. Arguments: Python, pillow_oracle.py. */
#include "apply.h"
#include "jpeg_make.h"
#include "philox.h"
#include "pillow.h"
#include "programs.h"
#include "resample.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { RESIZES = 300, JITTERS = 60, SIDE_MAX = 260, LONG_SIDE = 4000, OUT_MAX = 150 };

/* Kinds of images and windows, in turn. */
enum { ANY_SIZE, LARGE_FACTORS, ONE_PIXEL_THIN, WINDOW_OUTSIDE, KINDS };

static const struct {
    const char *name;
    const sl_operation_kind *kind;
} operations[] = {{"brightness", &sl_operation_brightness},
                  {"contrast", &sl_operation_contrast},
                  {"saturation", &sl_operation_saturation}};

typedef struct picture {
    uint8_t pixels[SIDE_MAX * SIDE_MAX * 3];
    uint32_t width, height;
} picture;

/* Half of the images are noise, which shows every rounding. */
static void random_picture(picture *image, sl_random *random, uint32_t number)
{
    const uint32_t kind = number / 2 % KINDS;
    image->width = 1 + sl_random_below(random, SIDE_MAX);
    image->height = 1 + sl_random_below(random, SIDE_MAX);
    if (kind == LARGE_FACTORS || kind == ONE_PIXEL_THIN) {
        const uint32_t thin = kind == LARGE_FACTORS ? sizeof(image->pixels) / 3 / LONG_SIDE : 1;
        const bool wide = sl_random_below(random, 2) == 1;
        const uint32_t length = 1 + sl_random_below(random, LONG_SIDE);
        image->width = wide ? length : thin;
        image->height = wide ? thin : length;
    }
    pattern_fill(image->pixels, image->width, image->height, 3, number);
    for (size_t i = 0; number % 2 == 0 && i < (size_t)image->width * image->height * 3; i++) {
        image->pixels[i] = (uint8_t)sl_random_below(random, 256);
    }
}

/* Up or down; large factors: few outputs from long sides, below a factor of 256. */
static uint32_t random_outputs(sl_random *random, uint32_t kind, uint32_t source)
{
    if (kind == LARGE_FACTORS) {
        return source / 255 + 1 + sl_random_below(random, 20);
    }
    return 1 + sl_random_below(random, OUT_MAX);
}

/*
 * Draws a box, resized up or down, sometimes at the image's edge; the window shows all of the
 * result, a part, or reaches outside.
 */
static sl_mapping random_mapping(sl_random *random, uint32_t number, uint32_t width,
                                 uint32_t height)
{
    const uint32_t kind = number / 2 % KINDS;
    sl_mapping mapping = {0};
    mapping.source.width = 1 + sl_random_below(random, width);
    mapping.source.height = 1 + sl_random_below(random, height);
    const bool edge = sl_random_below(random, 4) == 0;
    const uint32_t right = width - mapping.source.width;
    const uint32_t bottom = height - mapping.source.height;
    mapping.source.x = edge ? right : sl_random_below(random, right + 1);
    mapping.source.y = edge ? bottom : sl_random_below(random, bottom + 1);
    mapping.virtual_width = random_outputs(random, kind, mapping.source.width);
    mapping.virtual_height = random_outputs(random, kind, mapping.source.height);
    mapping.width = mapping.virtual_width;
    mapping.height = mapping.virtual_height;
    if (kind == WINDOW_OUTSIDE) {
        mapping.window_x = (int32_t)sl_random_below(random, mapping.virtual_width + 30) - 30;
        mapping.window_y = (int32_t)sl_random_below(random, mapping.virtual_height + 30) - 30;
    } else if (sl_random_below(random, 2) == 1) {
        mapping.width = 1 + sl_random_below(random, mapping.virtual_width);
        mapping.height = 1 + sl_random_below(random, mapping.virtual_height);
        mapping.window_x =
            (int32_t)sl_random_below(random, mapping.virtual_width - mapping.width + 1);
        mapping.window_y =
            (int32_t)sl_random_below(random, mapping.virtual_height - mapping.height + 1);
    }
    mapping.flip_x = sl_random_below(random, 2) == 1;
    return mapping;
}

static sl_image view_of(const picture *image)
{
    return (sl_image){.pixels = image->pixels,
                      .width = image->width,
                      .height = image->height,
                      .channels = 3,
                      .stride_bytes = (size_t)image->width * 3,
                      .picture_width = image->width,
                      .picture_height = image->height,
                      .denominator = 1};
}

/* Asks for the result of sl_resample on a view of 1/denominator of the image. */
static void ask_resize(pillow *oracle, uint32_t number, const picture *image, const sl_mapping *p,
                       uint32_t denominator)
{
    pillow_input(oracle, number, image->pixels, (size_t)image->width * image->height * 3);
    pillow_ask(oracle, "resize %u %u %u %u %u %u %u %u %u %u %d %d %u %u %d", number, image->width,
               image->height, denominator, p->source.x, p->source.y, p->source.width,
               p->source.height, p->virtual_width, p->virtual_height, p->window_x, p->window_y,
               p->width, p->height, p->flip_x);
}

static int worst_difference(pillow *oracle, uint8_t ours[][OUT_MAX * OUT_MAX * 3],
                            const size_t bytes[RESIZES])
{
    static uint8_t theirs[OUT_MAX * OUT_MAX * 3];
    int worst = 0;
    size_t differ = 0;
    size_t all = 0;
    pillow_run(oracle);
    for (uint32_t i = 0; i < RESIZES; i++) {
        pillow_answer(oracle, i, theirs, bytes[i]);
        int difference = largest_difference(ours[i], theirs, bytes[i]);
        worst = difference > worst ? difference : worst;
        for (size_t k = 0; k < bytes[i]; k++) {
            differ += ours[i][k] != theirs[k];
        }
        all += bytes[i];
    }
    print_message("largest difference %d, %.1f %% differ\n", worst,
                  100.0 * (double)differ / (double)all);
    return worst;
}

/* Pillow counts pixels on the box's edges as whole pixels. */
static void align(sl_mapping *p, uint32_t denominator)
{
    p->source.x -= p->source.x % denominator;
    p->source.y -= p->source.y % denominator;
    p->source.width += denominator - 1 - (p->source.width + denominator - 1) % denominator;
    p->source.height += denominator - 1 - (p->source.height + denominator - 1) % denominator;
}

/* A third of the views are scaled down by 2, 4 or 8, as a decoder does. */
TEST(resampling_is_within_one_of_pillow)
{
    pillow oracle;
    static uint8_t ours[RESIZES][OUT_MAX * OUT_MAX * 3];
    static picture image;
    size_t bytes[RESIZES];
    pillow_open(&oracle);
    sl_scratch scratch;
    assert_int_equal(sl_scratch_open(&scratch, 8 << 20, 8 << 20, NULL), SLUICE_OK);
    sl_random random = sl_random_for(1, 0, 0, 0);
    for (uint32_t i = 0; i < RESIZES; i++) {
        const uint32_t denominator = i % 3 == 0 ? 2U << (i / 3 % 3) : 1;
        random_picture(&image, &random, i);
        sl_mapping p =
            random_mapping(&random, i, image.width * denominator, image.height * denominator);
        align(&p, denominator);
        sl_image view = view_of(&image);
        view.denominator = denominator;
        bytes[i] = (size_t)p.width * p.height * 3;
        assert_int_equal(sl_resample(sl_simd_best(), &view, &p, ours[i], &scratch, NULL),
                         SLUICE_OK);
        ask_resize(&oracle, i, &image, &p, denominator);
    }
    assert_true(worst_difference(&oracle, ours, bytes) <= 1);
    pillow_close(&oracle);
    sl_scratch_close(&scratch);
}

/* The same steps in the same arithmetic, without tolerance. */
TEST(jitter_is_pillows)
{
    pillow oracle;
    static picture images[JITTERS];
    static uint8_t theirs[SIDE_MAX * SIDE_MAX * 3];
    pillow_open(&oracle);
    sl_random random = sl_random_for(2, 0, 0, 0);
    for (uint32_t i = 0; i < JITTERS; i++) {
        picture *image = &images[i];
        random_picture(image, &random, i);
        pillow_input(&oracle, i, image->pixels, (size_t)image->width * image->height * 3);
        char steps[160] = "";
        uint32_t count = 1 + sl_random_below(&random, 3);
        for (uint32_t k = 0; k < count; k++) {
            const uint32_t kind = (i + k) % 3;
            const float factor = (float)sl_random_range(&random, 0.0, i % 4 == 0 ? 3.0 : 1.6);
            (void)snprintf(steps + strlen(steps), sizeof(steps) - strlen(steps), " %s %.9g",
                           operations[kind].name, (double)factor);
            program_operate(operations[kind].kind, (double)factor, image->pixels, image->width,
                            image->height);
        }
        pillow_ask(&oracle, "jitter %u %u %u%s", i, image->width, image->height, steps);
    }
    pillow_run(&oracle);
    int worst = 0;
    for (uint32_t i = 0; i < JITTERS; i++) {
        size_t bytes = (size_t)images[i].width * images[i].height * 3;
        pillow_answer(&oracle, i, theirs, bytes);
        int difference = largest_difference(images[i].pixels, theirs, bytes);
        worst = difference > worst ? difference : worst;
    }
    pillow_close(&oracle);
    print_message("largest difference %d\n", worst);
    assert_int_equal(worst, 0);
}

int main(int argc, char **argv)
{
    const int code = pillow_begin(argc, argv);
    if (code != 0) {
        return code;
    }
    return test_run(NULL, NULL);
}
