/* SPDX-License-Identifier: Apache-2.0 */
/* Box blurs, sharpness and JPEG artefacts against Pillow itself, without tolerance. Arguments:
 * Python, stencil_oracle.py. */
#include "box_blur.h"
#include "canvas_make.h"
#include "jpeg_round_trip.h"
#include "pillow.h"
#include "sharpness.h"
#include "test.h"

#include <string.h>

enum { CASES = 900, SIDE_MAX = 100 };

/* The work of one question. */
typedef sluice_status stencil_work(const canvas *in, float value, canvas *out, sl_scratch *scratch);

static sluice_status box(const canvas *in, float value, canvas *out, sl_scratch *scratch)
{
    const sl_boxes boxes = {value, 1};
    return sl_box_blur(sl_simd_best(), &in->view, &boxes, out->pixels, scratch, NULL);
}

static sluice_status gaussian(const canvas *in, float value, canvas *out, sl_scratch *scratch)
{
    const sl_boxes boxes = sl_boxes_gaussian(value);
    return sl_box_blur(sl_simd_best(), &in->view, &boxes, out->pixels, scratch, NULL);
}

static sluice_status sharpness(const canvas *in, float value, canvas *out, sl_scratch *scratch)
{
    return sl_sharpness(sl_simd_best(), &in->view, value, out->pixels, scratch, NULL);
}

static sluice_status jpeg(const canvas *in, float value, canvas *out, sl_scratch *scratch)
{
    return sl_jpeg_round_trip(&in->view, (int)value, out->pixels, scratch, NULL);
}

static float random_radius(sl_random *random, uint32_t number)
{
    static const double most[] = {0.0, 1.0, 3.0, 20.0, 120.0, 20000.0};
    return (float)sl_random_range(random, 0.0, most[number % 6]);
}

static float random_factor(sl_random *random, uint32_t number)
{
    static const float whole[] = {0.0F, 1.0F, 2.0F, -3.0F, 1e7F};
    return number % 4 == 0 ? whole[number / 4 % 5] : (float)sl_random_range(random, -0.5, 3.0);
}

static float random_quality(sl_random *random, uint32_t number)
{
    return number % 5 == 0 ? 100.0F : (float)(1 + sl_random_below(random, 100));
}

static void compare(const char *question, stencil_work *work,
                    float (*value_of)(sl_random *random, uint32_t number))
{
    static canvas made[CASES];
    canvas_batch batch = {.bytes = 0};
    sl_scratch scratch;
    sl_random random = sl_random_for(41, 0, 0, (uint32_t)strlen(question));
    assert_int_equal(sl_scratch_open(&scratch, 8 << 20, 8 << 20, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < CASES; i++) {
        canvas in = canvas_make(&random, i, SIDE_MAX);
        const float value = value_of(&random, i);
        made[i] = canvas_empty(&in);
        assert_int_equal(work(&in, value, &made[i], &scratch), SLUICE_OK);
        canvas_batch_add(&batch, &in, "%s %.9g", question, (double)value);
        canvas_free(&in);
    }
    const uint8_t *theirs = canvas_batch_answer(&batch);
    for (uint32_t i = 0; i < CASES; i++) {
        assert_memory_equal(made[i].pixels, theirs, made[i].bytes);
        theirs += made[i].bytes;
        canvas_free(&made[i]);
    }
    canvas_batch_free(&batch);
    sl_scratch_close(&scratch);
}

TEST(box_blur_is_pillows)
{
    compare("box", box, random_radius);
}

TEST(gaussian_of_boxes_is_pillows)
{
    compare("gaussian", gaussian, random_radius);
}

TEST(sharpness_is_pillows)
{
    compare("sharpness", sharpness, random_factor);
}

TEST(jpeg_artefacts_are_pillows)
{
    compare("jpeg", jpeg, random_quality);
}

int main(int argc, char **argv)
{
    const int code = pillow_begin(argc, argv);
    if (code != 0) {
        return code;
    }
    return test_run(NULL, NULL);
}
