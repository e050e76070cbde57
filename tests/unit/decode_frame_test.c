/* SPDX-License-Identifier: Apache-2.0 */
/* Raw pixels and zstd frames. */
#include "decoder.h"
#include "jpeg_make.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

enum { WIDTH = 40, HEIGHT = 30, BYTES = WIDTH * HEIGHT * 3, PACKED_MAX = 2 * BYTES };

typedef struct fixture {
    sl_decoder *decoder;
    uint8_t pixels[BYTES], packed[PACKED_MAX];
    size_t packed_size;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    sl_decoder_config config = {
        .max_pixels = 10000, .max_unpacked_bytes = 20000, .exif = SLUICE_EXIF_APPLY};
    assert_int_equal(sl_decoder_open(&f->decoder, &config, NULL), SLUICE_OK);
    pattern_fill(f->pixels, WIDTH, HEIGHT, 3, 1);
    f->packed_size = ZSTD_compress(f->packed, PACKED_MAX, f->pixels, BYTES, 3);
    assert_false(ZSTD_isError(f->packed_size));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    sl_decoder_close(f->decoder);
    free(f);
    return 0;
}

static void expect(fixture *f, const sl_value *stored, sluice_status expected, const char *text)
{
    sl_picture picture;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_status status = sl_decoder_open_picture(f->decoder, stored, &picture, &error);
    if (status != expected || strstr(error.text, text) == NULL) {
        fail_msg("status %d, \"%s\" where \"%s\" was expected", status, error.text, text);
    }
}

static void expect_pixels(fixture *f, const sl_value *stored)
{
    sl_picture picture;
    sl_image view;
    expect(f, stored, SLUICE_OK, "");
    assert_int_equal(sl_decoder_open_picture(f->decoder, stored, &picture, NULL), SLUICE_OK);
    assert_int_equal(picture.width, WIDTH);
    assert_int_equal(picture.height, HEIGHT);
    sl_rect need = {3, 4, 5, 6};
    assert_int_equal(sl_decoder_decode(f->decoder, need, 0, 0, &view, NULL), SLUICE_OK);
    for (uint32_t y = 4; y < 10; y++) {
        const uint8_t *ours =
            view.pixels + (y - view.origin_y) * view.stride_bytes + (size_t)(3 - view.origin_x) * 3;
        assert_memory_equal(ours, f->pixels + (size_t)(y * WIDTH + 3) * 3, 15);
    }
}

TEST_WITH(raw_pixels, setup, teardown)
{
    fixture *f = *state;
    sl_value stored = {
        .bytes = {f->pixels, BYTES}, .codec = SL_CODEC_RAW, .width = WIDTH, .height = HEIGHT};
    expect_pixels(f, &stored);
    stored.bytes.size = BYTES - 1;
    expect(f, &stored, SLUICE_CORRUPT, "raw pixels");
    stored.bytes.size = BYTES + 3;
    expect(f, &stored, SLUICE_CORRUPT, "raw pixels");
    stored.width = 0;
    expect(f, &stored, SLUICE_CORRUPT, "raw pixels");
    stored.bytes.size = 0;
    expect(f, &stored, SLUICE_CORRUPT, "empty");
    stored.bytes.size = BYTES;
    stored.width = UINT32_MAX;
    stored.height = UINT32_MAX;
    expect(f, &stored, SLUICE_UNSUPPORTED, "limit");
    stored.width = 10001;
    stored.height = 1;
    expect(f, &stored, SLUICE_UNSUPPORTED, "10001 x 1");
}

TEST_WITH(packed_raw_pixels_and_jpeg, setup, teardown)
{
    fixture *f = *state;
    sl_value stored = {.bytes = {f->packed, f->packed_size},
                       .codec = SL_CODEC_RAW,
                       .packing = &sl_value_packing_zstd,
                       .width = WIDTH,
                       .height = HEIGHT};
    expect_pixels(f, &stored);
    jpeg_file file = jpeg_make_pattern(WIDTH, HEIGHT, 1, NULL);
    f->packed_size = ZSTD_compress(f->packed, PACKED_MAX, file.data, file.size, 3);
    stored = (sl_value){.bytes = {f->packed, f->packed_size}, .packing = &sl_value_packing_zstd};
    sl_picture picture;
    assert_int_equal(sl_decoder_open_picture(f->decoder, &stored, &picture, NULL), SLUICE_OK);
    assert_int_equal(picture.width, WIDTH);
    jpeg_free(&file);
}

TEST_WITH(broken_frames, setup, teardown)
{
    fixture *f = *state;
    sl_value stored = {.bytes = {f->packed, 0},
                       .codec = SL_CODEC_RAW,
                       .packing = &sl_value_packing_zstd,
                       .width = WIDTH,
                       .height = HEIGHT};
    for (size_t size = 0; size < f->packed_size; size++) {
        stored.bytes.size = size;
        expect(f, &stored, SLUICE_CORRUPT, "");
    }
    stored.bytes.size = f->packed_size + 5;
    expect(f, &stored, SLUICE_CORRUPT, "5 bytes follow");
    stored.bytes.size = f->packed_size;
    for (size_t at = 0; at < f->packed_size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            sl_picture picture;
            f->packed[at] ^= (uint8_t)(1U << bit);
            sluice_status status = sl_decoder_open_picture(f->decoder, &stored, &picture, NULL);
            assert_true(status == SLUICE_OK || status == SLUICE_CORRUPT ||
                        status == SLUICE_UNSUPPORTED);
            f->packed[at] ^= (uint8_t)(1U << bit);
        }
    }
    expect_pixels(f, &stored);
}

/* Ten million zeros in a few bytes, and a frame that does not declare its size. */
TEST_WITH(frames_over_the_limit, setup, teardown)
{
    fixture *f = *state;
    uint8_t *zeros = calloc(1, 10000000);
    assert_non_null(zeros);
    f->packed_size = ZSTD_compress(f->packed, PACKED_MAX, zeros, 10000000, 1);
    assert_false(ZSTD_isError(f->packed_size));
    free(zeros);
    sl_value stored = {.bytes = {f->packed, f->packed_size}, .packing = &sl_value_packing_zstd};
    expect(f, &stored, SLUICE_UNSUPPORTED, "above the limit");

    ZSTD_CCtx *context = ZSTD_createCCtx();
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
    f->packed_size = ZSTD_compress2(context, f->packed, PACKED_MAX, f->pixels, BYTES);
    (void)ZSTD_freeCCtx(context);
    assert_false(ZSTD_isError(f->packed_size));
    stored.bytes.size = f->packed_size;
    expect(f, &stored, SLUICE_UNSUPPORTED, "no content size");
}
