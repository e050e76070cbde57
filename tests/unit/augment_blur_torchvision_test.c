/* SPDX-License-Identifier: Apache-2.0 */
/* The gaussian blur against torchvision's. Arguments: Python, torchvision_oracle.py. */
#include "blur.h"
#include "canvas_make.h"
#include "pillow.h"
#include "test.h"

enum { CASES = 700, SIDE_MAX = 90 };

static uint32_t random_kernel(sl_random *random, uint32_t number, uint32_t side)
{
    const uint32_t most = number % 8 == 0 ? 50 : 11;
    /* torchvision requires padding smaller than the image */
    return 1 + 2 * sl_random_below(random, (most < side - 1 ? most : side - 1) + 1);
}

static double random_sigma(sl_random *random, uint32_t number)
{
    static const double extremes[] = {0.01, 1000.0};
    return number % 16 < 2 ? extremes[number % 16] : sl_random_range(random, 0.1, 5.0);
}

static sl_gaussian random_blur(sl_random *random, uint32_t number, const canvas *in)
{
    return (sl_gaussian){.kernel_x = random_kernel(random, number, in->width),
                         .kernel_y = random_kernel(random, number, in->height),
                         .sigma_x = random_sigma(random, number),
                         .sigma_y = random_sigma(random, number / 16)};
}

/* Counts differing samples among all; no difference may exceed 1. */
static void count_different(canvas made[CASES], const uint8_t *theirs, size_t *differ, size_t *all)
{
    for (uint32_t i = 0; i < CASES; i++) {
        assert_true(largest_difference(made[i].pixels, theirs, made[i].bytes) <= 1);
        for (size_t k = 0; k < made[i].bytes; k++) {
            *differ += made[i].pixels[k] != theirs[k];
        }
        *all += made[i].bytes;
        theirs += made[i].bytes;
        canvas_free(&made[i]);
    }
}

TEST(blur_is_within_one_of_torchvision)
{
    static canvas made[CASES];
    canvas_batch batch = {.bytes = 0};
    sl_scratch scratch;
    sl_random random = sl_random_for(51, 0, 0, 0);
    assert_int_equal(sl_scratch_open(&scratch, 8 << 20, 8 << 20, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < CASES; i++) {
        canvas in = canvas_make(&random, i, SIDE_MAX);
        const sl_gaussian blur = random_blur(&random, i, &in);
        made[i] = canvas_empty(&in);
        assert_int_equal(
            sl_blur_gaussian(sl_simd_best(), &in.view, &blur, made[i].pixels, &scratch, NULL),
            SLUICE_OK);
        canvas_batch_add(&batch, &in, "%u %u %.17g %.17g", blur.kernel_x, blur.kernel_y,
                         blur.sigma_x, blur.sigma_y);
        canvas_free(&in);
    }
    size_t differ = 0;
    size_t all = 0;
    count_different(made, canvas_batch_answer(&batch), &differ, &all);
    print_message("%.3f %% differ\n", 100.0 * (double)differ / (double)all);
    assert_true(differ * 200 < all);
    canvas_batch_free(&batch);
    sl_scratch_close(&scratch);
}

int main(int argc, char **argv)
{
    const int code = pillow_begin(argc, argv);
    if (code != 0) {
        return code;
    }
    return test_run(NULL, NULL);
}
