/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One flipped bit under the rectangle: the code paths that read only the needed restart intervals
 * must not accept an image that the path reading every row rejects.
 */
#include "decoder.h"
#include "jpeg_make.h"
#include "philox.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum {
    TRIES = 3000,
    SIDE = 192,
    INTERVAL = 2, /* the first interval of the second row of MCUs, where an interval is half a
                   * row */
    ALL_PATHS = SL_PATH_KERNELS | SL_PATH_INTERVALS
};

/* A kind of image, and the size of its MCUs. */
typedef struct kind {
    jpeg_options options;
    uint32_t mcu_width, mcu_height;
} kind;

static bool is_marker(const uint8_t *at)
{
    return at[0] == 0xFF && at[1] != 0;
}

/* Finds the bytes [*begin, *end) of interval INTERVAL. */
static void find_interval(const jpeg_file *file, size_t *begin, size_t *end)
{
    size_t at = 2;
    while (file->data[at + 1] != 0xDA) {
        at += 2 + ((size_t)file->data[at + 2] << 8 | file->data[at + 3]);
    }
    at += 2 + ((size_t)file->data[at + 2] << 8 | file->data[at + 3]);
    for (int i = 0; i < INTERVAL; i++, at += 2) {
        while (!is_marker(file->data + at)) {
            at++;
        }
    }
    *begin = at;
    while (!is_marker(file->data + at)) {
        at++;
    }
    *end = at;
}

/* Decodes the interval's pixels, except those whose colour depends on other intervals. */
static sluice_status decode(sl_decoder *decoder, const kind *k, uint32_t avoid,
                            const jpeg_file *file)
{
    const sl_value stored = {.bytes = {file->data, file->size}};
    const sl_rect need = {2, k->mcu_height + 2, SIDE / 2 - 4, k->mcu_height - 4};
    sl_picture picture;
    sl_image view;
    sl_decoder_avoid(decoder, avoid);
    assert_int_equal(sl_decoder_open_picture(decoder, &stored, &picture, NULL), SLUICE_OK);
    return sl_decoder_decode(decoder, need, 0, 0, &view, NULL);
}

typedef struct counts {
    uint32_t refused; /* rejected by the path that reads every row */
    uint32_t missed;  /* rejected images that the others accept */
} counts;

static counts spoil(const kind *k, uint64_t seed)
{
    const sl_decoder_config config = {.max_pixels = 1 << 20, .max_unpacked_bytes = 1};
    jpeg_options options = k->options;
    options.restart_interval = (int)(SIDE / k->mcu_width / 2);
    jpeg_file file = jpeg_make_pattern(SIDE, SIDE, 3, &options);
    sl_decoder *decoder;
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    sl_random random = sl_random_for(seed, 0, 0, 0);
    counts found = {0};
    size_t begin;
    size_t end;
    find_interval(&file, &begin, &end);
    for (int i = 0; i < TRIES; i++) {
        const size_t at = begin + sl_random_below(&random, (uint32_t)(end - begin));
        const uint8_t bit = (uint8_t)(1U << sl_random_below(&random, 8));
        file.data[at] ^= bit;
        if (decode(decoder, k, ALL_PATHS, &file) == SLUICE_CORRUPT) {
            found.refused++;
            found.missed += decode(decoder, k, 0, &file) == SLUICE_OK;
        }
        file.data[at] ^= bit;
        assert_int_equal(decode(decoder, k, 0, &file), SLUICE_OK);
    }
    jpeg_free(&file);
    sl_decoder_close(decoder);
    return found;
}

static void kernels_miss_none(void **state)
{
    static const kind kinds[] = {{.options = {0}, .mcu_width = 16, .mcu_height = 16},
                                 {{.h_factor = 2, .v_factor = 1}, 16, 8},
                                 {{.h_factor = 1, .v_factor = 1}, 8, 8},
                                 {{.colour = JPEG_GREY}, 8, 8}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const counts found = spoil(&kinds[i], i);
        assert_true(found.refused > 20);
        assert_int_equal(found.missed, 0);
    }
}

/* Bits in libjpeg's buffer at the interval's end are not checked: a change that shortens the
 * interval by no more than that goes unnoticed. */
static void regions_miss_few(void **state)
{
    static const kind kinds[] = {{{.h_factor = 4, .v_factor = 1}, 32, 8},
                                 {{.colour = JPEG_YCCK}, 16, 16},
                                 {{.colour = JPEG_RGB}, 8, 8}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const counts found = spoil(&kinds[i], i);
        assert_true(found.refused > 20);
        assert_true(found.missed <= found.refused / 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_miss_none),
                                       cmocka_unit_test(regions_miss_few)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
