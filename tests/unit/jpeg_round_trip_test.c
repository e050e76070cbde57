/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG artefacts, compared with libjpeg writing and reading the image, at each instruction set. */
#include "canvas_make.h"
#include "jpeg_fdct.h"
#include "jpeg_make.h"
#include "jpeg_round_trip.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { CASES = 600, SIDE_MAX = 100 };

static void round_trip(sl_simd level, const canvas *in, int quality, canvas *out,
                       sl_scratch *scratch)
{
    assert_int_equal(setenv("SLUICE_SIMD", sl_simd_name(level), 1), 0);
    assert_int_equal(sl_jpeg_round_trip(&in->view, quality, out->pixels, scratch, NULL), SLUICE_OK);
    assert_int_equal(unsetenv("SLUICE_SIMD"), 0);
    assert_int_equal(scratch->used, 0);
}

TEST(is_what_libjpeg_writes_and_reads)
{
    sl_scratch scratch;
    sl_random random = sl_random_for(61, 0, 0, 0);
    assert_int_equal(sl_scratch_open(&scratch, 8 << 20, 8 << 20, NULL), SLUICE_OK);
    for (uint32_t i = 0; i < CASES; i++) {
        canvas in = canvas_make(&random, i, SIDE_MAX);
        canvas out = canvas_empty(&in);
        const int quality = i % 7 == 0 ? 100 : 1 + (int)sl_random_below(&random, 100);
        jpeg_file file =
            jpeg_make(in.pixels, in.width, in.height, &(jpeg_options){.quality = quality});
        uint32_t channels = 0;
        uint32_t width = 0;
        uint32_t height = 0;
        uint8_t *expected =
            jpeg_plain_decode(file.data, file.size, &width, &height, &channels, NULL);
        assert_non_null(expected);
        assert_int_equal(channels, 3);
        sl_simd level = SL_SIMD_SCALAR;
        do {
            round_trip(level, &in, quality, &out, &scratch);
            assert_memory_equal(out.pixels, expected, in.bytes);
            level = canvas_next_level(level);
        } while (level != SL_SIMD_SCALAR);
        round_trip(sl_simd_best(), &in, quality, &in, &scratch); /* in place */
        assert_memory_equal(in.pixels, expected, in.bytes);
        free(expected);
        jpeg_free(&file);
        canvas_free(&in);
        canvas_free(&out);
    }
    sl_scratch_close(&scratch);
}

/* All quantizers and all possible results of a transform: the divisions are exact. */
TEST(division_is_exact)
{
    static sl_jpeg_divisors divisors;
    for (uint32_t quantizer = 1; quantizer <= 255; quantizer++) {
        for (size_t i = 0; i < SL_JPEG_BLOCK; i++) {
            divisors.quantizers[i] = (uint16_t)quantizer;
        }
        sl_jpeg_divisors_prepare(&divisors);
        for (uint32_t n = 0; n < 1 << 13; n++) {
            const uint32_t part = 2 * n * divisors.reciprocals[0] >> 16;
            assert_int_equal(2 * part * divisors.scales[0] >> 16, n / quantizer);
        }
    }
}

TEST(a_small_scratch_is_no_memory)
{
    sl_scratch scratch;
    sl_random random = sl_random_for(62, 0, 0, 0);
    canvas in = canvas_of(&random, 200, 200, 0);
    sluice_error error;
    assert_int_equal(sl_scratch_open(&scratch, 16384, 16384, NULL), SLUICE_OK);
    assert_int_equal(sl_jpeg_round_trip(&in.view, 50, in.pixels, &scratch, &error), SLUICE_NOMEM);
    assert_int_equal(scratch.used, 0);
    sl_scratch_close(&scratch);
    canvas_free(&in);
}
