/* SPDX-License-Identifier: Apache-2.0 */
/* Re-tiled images decoded by Pillow. Arguments: Python, pillow_oracle.py. */
#include "jpeg_make.h"
#include "jpeg_retile.h"
#include "pillow.h"
#include "test.h"

#include <stdlib.h>

enum { WIDTH = 83, HEIGHT = 61, BYTES = WIDTH * HEIGHT * 3 };

static const jpeg_options kinds[] = {
    {.orientation = 6},
    {.colour = JPEG_GREY},
    {.colour = JPEG_RGB},
    {.colour = JPEG_CMYK},
    {.colour = JPEG_YCCK},
    {.progressive = true, .h_factor = 1, .v_factor = 1},
    {.separate_scans = true, .orientation = 3, .exif_big_endian = true},
    {.h_factor = 2, .v_factor = 1, .restart_interval = 3},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Each kind unchanged, re-tiled, and re-tiled without metadata: all upright. */
TEST(pillow_sees_the_same)
{
    static uint8_t want[BYTES];
    static uint8_t got[BYTES];
    pillow oracle;
    pillow_open(&oracle);
    for (uint32_t i = 0; i < KINDS; i++) {
        jpeg_file file = jpeg_make_pattern(WIDTH, HEIGHT, i, &kinds[i]);
        pillow_input(&oracle, 3 * i, file.data, file.size);
        pillow_ask(&oracle, "decode %u 1", 3 * i);
        for (uint32_t drop = 0; drop < 2; drop++) {
            const sl_jpeg_retile_options how = {
                .max_pixels = 1 << 20, .max_bytes = 1 << 20, .tile_mcus = 2, .drop_metadata = drop};
            sl_jpeg_retiler *retiler;
            uint64_t memory;
            sl_bytes made;
            sl_jpeg_outcome outcome;
            assert_int_equal(sl_jpeg_retiler_open(&retiler, &how, NULL), SLUICE_OK);
            assert_int_equal(
                sl_jpeg_retiler_begin(retiler, (sl_bytes){file.data, file.size}, &memory, NULL),
                SLUICE_OK);
            assert_int_equal(sl_jpeg_retiler_run(retiler, &outcome, &made, NULL), SLUICE_OK);
            assert_int_equal(outcome, SL_JPEG_RETILED);
            pillow_input(&oracle, 3 * i + 1 + drop, made.data, made.size);
            pillow_ask(&oracle, "decode %u 1", 3 * i + 1 + drop);
            sl_jpeg_retiler_close(retiler);
        }
        jpeg_free(&file);
    }
    pillow_run(&oracle);
    for (uint32_t i = 0; i < KINDS; i++) {
        pillow_answer(&oracle, 3 * i, want, BYTES);
        for (uint32_t drop = 0; drop < 2; drop++) {
            pillow_answer(&oracle, 3 * i + 1 + drop, got, BYTES);
            assert_memory_equal(got, want, BYTES);
        }
    }
    pillow_close(&oracle);
}

int main(int argc, char **argv)
{
    const int code = pillow_begin(argc, argv);
    if (code != 0) {
        return code;
    }
    return test_run(NULL, NULL);
}
