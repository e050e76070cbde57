/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged and hostile images. Any bytes give an error with a reason, or pixels; no crash, no read
 * past the bytes (they end at an inaccessible page), no excessive work.
 */
#include "clock.h"
#include "decoder.h"
#include "jpeg_make.h"
#include "philox.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_PIXELS = 100000000, FLIPPED_FILES = 6000, FILE_MAX = 1 << 20, GUARD = 1 << 16 };

static uint8_t *guarded_end; /* FILE_MAX accessible bytes before it, none after it */

static int make_guard(void **state)
{
    uint8_t *block =
        mmap(NULL, FILE_MAX + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED || mprotect(block + FILE_MAX, GUARD, PROT_NONE) != 0) {
        return -1;
    }
    guarded_end = block + FILE_MAX;
    return 0;
}

static int setup(void **state)
{
    sl_decoder *decoder = NULL;
    sl_decoder_config config = {
        .max_pixels = MAX_PIXELS, .max_unpacked_bytes = 1 << 24, .exif = SLUICE_EXIF_APPLY};
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    *state = decoder;
    return 0;
}

/* Does the same through libjpeg. */
static int setup_libjpeg(void **state)
{
    const int failed = setup(state);
    sl_decoder_avoid(*state, SL_PATH_KERNELS);
    return failed;
}

static int teardown(void **state)
{
    sl_decoder_close(*state);
    return 0;
}

/* Decodes rows [0, rows) (0: all) of bytes that end at the guard. */
static sluice_status decode(sl_decoder *decoder, const uint8_t *data, size_t size, uint32_t rows,
                            sl_image *view, sluice_error *error)
{
    assert_true(size <= FILE_MAX);
    uint8_t *block = guarded_end - size;
    memcpy(block, data, size);
    sl_value stored = {.bytes = {block, size}};
    sl_picture picture;
    sluice_status status = sl_decoder_open_picture(decoder, &stored, &picture, error);
    if (status == SLUICE_OK) {
        uint32_t height = rows > 0 && rows < picture.height ? rows : picture.height;
        sl_rect need = {0, 0, picture.width, height};
        status = sl_decoder_decode(decoder, need, 0, 0, view, error);
    }
    if (status != SLUICE_OK) {
        assert_int_equal(error->status, status);
        assert_string_not_equal(error->text, "");
    }
    return status;
}

static void expect(sl_decoder *decoder, const uint8_t *data, size_t size, sluice_status expected,
                   const char *text)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sl_image view = {0};
    uint64_t start = test_cpu_ns();
    sluice_status status = decode(decoder, data, size, 0, &view, &error);
    assert_true(test_cpu_ns() - start < UINT64_C(5000000000));
    if (status != expected || strstr(error.text, text) == NULL) {
        fail_msg("status %d, \"%s\" where \"%s\" was expected", status, error.text, text);
    }
}

static uint8_t *copy_pixels(const sl_image *view)
{
    size_t row = (size_t)view->width * 3;
    uint8_t *copy = malloc(row * view->height + 1); /* never nothing */
    assert_non_null(copy);
    for (uint32_t y = 0; y < view->height; y++) {
        memcpy(copy + y * row, view->pixels + y * view->stride_bytes, row);
    }
    return copy;
}

typedef struct truncation {
    uint32_t corrupt, whole;
    size_t last_corrupt; /* the longest rejected file */
} truncation;

/* Every length is rejected, or gives the pixels of the whole file. */
static truncation truncate_everywhere(sl_decoder *decoder, const jpeg_file *file, uint32_t rows)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sl_image view = {0};
    truncation counts = {0};
    assert_int_equal(decode(decoder, file->data, file->size, rows, &view, &error), SLUICE_OK);
    uint8_t *whole = copy_pixels(&view);
    size_t row = (size_t)view.width * 3;
    for (size_t size = 0; size < file->size; size++) {
        sluice_status status = decode(decoder, file->data, size, rows, &view, &error);
        if (status != SLUICE_OK) {
            assert_int_equal(status, SLUICE_CORRUPT);
            assert_in_range(error.offset, 0, size);
            counts.corrupt++;
            counts.last_corrupt = size;
            continue;
        }
        for (uint32_t y = 0; y < view.height; y++) {
            assert_memory_equal(view.pixels + y * view.stride_bytes, whole + y * row, row);
        }
        counts.whole++;
    }
    free(whole);
    return counts;
}

static void truncated_one_scan(void **state)
{
    const jpeg_options kinds[] = {
        {0},
        {.h_factor = 1, .v_factor = 1},
        {.restart_interval = 2},
        {.colour = JPEG_GREY},
        {.colour = JPEG_YCCK},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        jpeg_file file = jpeg_make_pattern(35, 40, 3, &kinds[i]);
        truncation all = truncate_everywhere(*state, &file, 0);
        /* at most without the end marker and the padding bits before it */
        assert_in_range(all.whole, 1, 4);
        assert_int_equal(all.corrupt + all.whole, file.size);
        truncation top = truncate_everywhere(*state, &file, 8);
        assert_true(top.whole > all.whole + 50);
        assert_int_equal(top.last_corrupt + 1, top.corrupt);
        jpeg_free(&file);
    }
}

static void truncated_several_scans(void **state)
{
    const jpeg_options kinds[] = {
        {.progressive = true},
        {.progressive = true, .colour = JPEG_GREY, .restart_interval = 3},
        {.separate_scans = true},
        {.arithmetic = true},
        {.arithmetic = true, .progressive = true},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].arithmetic && !jpeg_can_arithmetic()) {
            continue;
        }
        jpeg_file file = jpeg_make_pattern(35, 40, 3, &kinds[i]);
        truncation all = truncate_everywhere(*state, &file, 0);
        /* as with one scan; but arithmetic coding reads missing bytes as zeros */
        assert_in_range(all.whole, kinds[i].arithmetic ? 0 : 2, kinds[i].arithmetic ? 2 : 5);
        assert_int_equal(all.corrupt + all.whole, file.size);
        jpeg_free(&file);
    }
}

/* Flips one to three bits; the image may or may not stay decodable, but the decoder survives. */
static void flipped_bits(void **state)
{
    const jpeg_options kinds[] = {
        {0},
        {.progressive = true},
        {.restart_interval = 1, .orientation = 6},
        {.colour = JPEG_YCCK},
        {.separate_scans = true, .h_factor = 3, .v_factor = 1},
        {.arithmetic = jpeg_can_arithmetic(), .progressive = true},
    };
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    sl_random random = sl_random_for(1, 2, 3, 4);
    uint32_t refused = 0;
    for (size_t k = 0; k < KINDS; k++) {
        jpeg_file file = jpeg_make_pattern(40, 33, 5, &kinds[k]);
        uint8_t *damaged = malloc(file.size);
        assert_non_null(damaged);
        for (int i = 0; i < FLIPPED_FILES / KINDS; i++) {
            memcpy(damaged, file.data, file.size);
            for (uint32_t flips = 1 + sl_random_below(&random, 3); flips > 0; flips--) {
                uint32_t reach = (uint32_t)(i % 2 == 0 ? file.size : 400); /* more in headers */
                uint32_t at = sl_random_below(&random, reach < file.size ? reach : 1);
                damaged[at] ^= (uint8_t)(1U << sl_random_below(&random, 8));
            }
            sl_image view = {0};
            sluice_error error = SLUICE_ERROR_INIT;
            sluice_status status = decode(*state, damaged, file.size, 0, &view, &error);
            assert_true(status == SLUICE_OK || status == SLUICE_CORRUPT ||
                        status == SLUICE_UNSUPPORTED);
            refused += status != SLUICE_OK;
        }
        free(damaged);
        jpeg_free(&file);
    }
    assert_in_range(refused, FLIPPED_FILES / 10, FLIPPED_FILES - 100);
}

/* Finds the frame header: FF C0 or C2, length, precision, height, width. */
static uint8_t *frame_of(const jpeg_file *file)
{
    for (size_t at = 2; at + 9 < file->size;
         at += 2 + ((size_t)file->data[at + 2] << 8 | file->data[at + 3])) {
        if (file->data[at + 1] == 0xC0 || file->data[at + 1] == 0xC2) {
            return file->data + at;
        }
    }
    fail();
    return NULL;
}

static void set_size(const jpeg_file *file, uint32_t width, uint32_t height)
{
    uint8_t *frame = frame_of(file);
    frame[5] = (uint8_t)(height >> 8);
    frame[6] = (uint8_t)height;
    frame[7] = (uint8_t)(width >> 8);
    frame[8] = (uint8_t)width;
}

static void headers_that_lie(void **state)
{
    for (int progressive = 0; progressive < 2; progressive++) {
        jpeg_options options = {.progressive = progressive == 1};
        jpeg_file file = jpeg_make_pattern(64, 64, 5, &options);
        set_size(&file, 60000, 60000);
        expect(*state, file.data, file.size, SLUICE_UNSUPPORTED, "60000 x 60000");
        set_size(&file, 10000, 10000);
        expect(*state, file.data, file.size, SLUICE_CORRUPT, "");
        set_size(&file, 64, 65500);
        expect(*state, file.data, file.size, SLUICE_CORRUPT, "");
        set_size(&file, 0, 64);
        expect(*state, file.data, file.size, SLUICE_CORRUPT, "Empty");
        set_size(&file, 64, 0);
        expect(*state, file.data, file.size, SLUICE_CORRUPT, "Empty");
        jpeg_free(&file);
    }
}

static void not_a_picture(void **state)
{
    expect(*state, (const uint8_t *)"", 0, SLUICE_CORRUPT, "empty");
    expect(*state, (const uint8_t *)"x", 1, SLUICE_CORRUPT, "78 00");
    expect(*state, (const uint8_t *)"hello, world", 12, SLUICE_CORRUPT, "not an image");
    expect(*state, (const uint8_t *)"\xff\xd8", 2, SLUICE_CORRUPT, "Premature");
    expect(*state, (const uint8_t *)"\xff\xd8\xff\xd9", 4, SLUICE_CORRUPT, "no image");
    expect(*state, (const uint8_t *)"GIF89a", 6, SLUICE_UNSUPPORTED, "GIF");
    expect(*state, (const uint8_t *)"MM\0*\0\0\0\x08", 8, SLUICE_UNSUPPORTED, "TIFF");
    const uint8_t zeros[64] = {0};
    expect(*state, zeros, sizeof(zeros), SLUICE_CORRUPT, "all zero bytes");
}

/* Returns the offset of the last scan header. */
static size_t last_scan(const jpeg_file *file)
{
    size_t at = file->size - 2;
    while (file->data[at] != 0xFF || file->data[at + 1] != 0xDA) {
        at--;
    }
    return at;
}

/* Repeats the image's last scan `times` more. */
static jpeg_file repeat_scan(const jpeg_file *file, size_t times)
{
    size_t at = last_scan(file);
    size_t scan = file->size - 2 - at;
    jpeg_file made = {malloc(file->size + scan * times), file->size + scan * times};
    assert_non_null(made.data);
    memcpy(made.data, file->data, file->size - 2);
    for (size_t i = 0; i < times; i++) {
        memcpy(made.data + file->size - 2 + i * scan, file->data + at, scan);
    }
    made.data[made.size - 2] = 0xFF;
    made.data[made.size - 1] = 0xD9;
    return made;
}

static void too_many_scans(void **state)
{
    jpeg_file file = jpeg_make_pattern(16, 16, 5, &(jpeg_options){.separate_scans = true});
    jpeg_file many = repeat_scan(&file, 490);
    sl_image view = {0};
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(decode(*state, many.data, many.size, 0, &view, &error), SLUICE_OK);
    jpeg_free(&many);
    many = repeat_scan(&file, 600);
    expect(*state, many.data, many.size, SLUICE_UNSUPPORTED, "scans");
    jpeg_free(&many);
    jpeg_free(&file);
}

/* Makes a one-colour, arithmetic-coded image: each byte of a scan costs 10 us of work. */
static jpeg_file make_bomb(size_t scans)
{
    enum { SIDE = 1024 };
    uint8_t *pixels = calloc(SIDE, (size_t)SIDE * 3);
    assert_non_null(pixels);
    jpeg_file file =
        jpeg_make(pixels, SIDE, SIDE, &(jpeg_options){.separate_scans = true, .arithmetic = true});
    jpeg_file bomb = repeat_scan(&file, scans);
    jpeg_free(&file);
    free(pixels);
    return bomb;
}

static sl_decoder *open_decoder(sl_decoder_config config)
{
    sl_decoder *decoder = NULL;
    config.max_pixels = config.max_pixels > 0 ? config.max_pixels : 1 << 20;
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    return decoder;
}

/* Work is bounded by max_pixels and by the number of bytes. */
static void too_much_work_for_so_few_bytes(void **state)
{
    if (!jpeg_can_arithmetic()) {
        skip();
    }
    sl_image view = {0};
    sluice_error error = SLUICE_ERROR_INIT;
    jpeg_file few = make_bomb(4);
    jpeg_file many = make_bomb(400);
    sl_decoder *decoder = open_decoder((sl_decoder_config){0});
    assert_int_equal(decode(decoder, few.data, few.size, 0, &view, &error), SLUICE_OK);
    expect(decoder, many.data, many.size, SLUICE_UNSUPPORTED, "scans");
    sl_decoder_close(decoder);
    decoder = open_decoder((sl_decoder_config){.max_pixels = 1 << 28});
    assert_int_equal(decode(decoder, many.data, many.size, 0, &view, &error), SLUICE_OK);
    sl_decoder_close(decoder);
    jpeg_free(&few);
    jpeg_free(&many);
}

static void long_decodes_are_given_up(void **state)
{
    _Atomic bool stop = true;
    jpeg_file file = jpeg_make_pattern(64, 64, 6, &(jpeg_options){.progressive = true});
    sl_decoder *decoder = open_decoder((sl_decoder_config){.stop = &stop});
    sl_image view = {0};
    sluice_error error = SLUICE_ERROR_INIT;
    expect(decoder, file.data, file.size, SLUICE_CANCELED, "stopped");
    atomic_store(&stop, false);
    assert_int_equal(decode(decoder, file.data, file.size, 0, &view, &error), SLUICE_OK);
    sl_decoder_close(decoder);
    jpeg_free(&file);
}

/* Coefficients of a progressive image are kept: 1024 x 1024 x 1.5 of two bytes. */
static void memory_is_bounded(void **state)
{
    jpeg_file file = jpeg_make_pattern(1024, 1024, 6, &(jpeg_options){.progressive = true});
    sl_image view = {0};
    sluice_error error = SLUICE_ERROR_INIT;
    sl_decoder *decoder = open_decoder((sl_decoder_config){.scratch_bytes = 3 << 20});
    expect(decoder, file.data, file.size, SLUICE_NOMEM, "scratch memory");
    sl_decoder_close(decoder);
    decoder = open_decoder((sl_decoder_config){.scratch_bytes = 8 << 20});
    assert_int_equal(decode(decoder, file.data, file.size, 0, &view, &error), SLUICE_OK);
    sl_decoder_close(decoder);
    jpeg_free(&file);
}

/* Returns the offset of the `number`th restart marker. */
static size_t restart_marker(const jpeg_file *file, int number)
{
    for (size_t at = last_scan(file); at + 1 < file->size; at++) {
        if (file->data[at] == 0xFF && (file->data[at + 1] & 0xF8) == 0xD0 && number-- == 0) {
            return at;
        }
    }
    fail();
    return 0;
}

static void lost_restart_markers(void **state)
{
    jpeg_file file = jpeg_make_pattern(64, 64, 5, &(jpeg_options){.restart_interval = 2});
    size_t second = restart_marker(&file, 1);
    uint8_t kept = file.data[second + 1];
    file.data[second + 1] = 0xD5; /* out of order */
    expect(*state, file.data, file.size, SLUICE_CORRUPT, "");
    file.data[second + 1] = 0; /* a stuffed FF: the interval continues */
    expect(*state, file.data, file.size, SLUICE_CORRUPT, "");
    file.data[second + 1] = kept;
    /* eight bytes of an interval are removed: it ends early */
    memmove(file.data + second - 8, file.data + second, file.size - second);
    expect(*state, file.data, file.size - 8, SLUICE_CORRUPT, "");
    jpeg_free(&file);
    /* too many bytes in an interval */
    file = jpeg_make_pattern(64, 64, 5, &(jpeg_options){.restart_interval = 2});
    jpeg_file longer = {malloc(file.size + 40), file.size + 40};
    assert_non_null(longer.data);
    memcpy(longer.data, file.data, second);
    memset(longer.data + second, 0x55, 40);
    memcpy(longer.data + second + 40, file.data + second, file.size - second);
    expect(*state, longer.data, longer.size, SLUICE_CORRUPT, "xtraneous");
    jpeg_free(&longer);
    jpeg_free(&file);
}

/* After any error the decoder works like a new one. */
static void good_pictures_after_bad_ones(void **state)
{
    jpeg_file good = jpeg_make_pattern(64, 64, 5, NULL);
    jpeg_file scans = jpeg_make_pattern(64, 64, 6, &(jpeg_options){.progressive = true});
    sluice_error error = SLUICE_ERROR_INIT;
    sl_image view = {0};
    assert_int_equal(decode(*state, good.data, good.size, 0, &view, &error), SLUICE_OK);
    uint8_t *pixels = copy_pixels(&view);
    for (size_t size = 0; size < scans.size; size += 97) {
        assert_int_equal(decode(*state, scans.data, size, 0, &view, &error), SLUICE_CORRUPT);
        assert_int_equal(decode(*state, good.data, good.size, 0, &view, &error), SLUICE_OK);
        uint8_t *again = copy_pixels(&view);
        assert_memory_equal(again, pixels, (size_t)64 * 64 * 3);
        free(again);
    }
    free(pixels);
    jpeg_free(&good);
    jpeg_free(&scans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(truncated_one_scan, setup, teardown),
        cmocka_unit_test_setup_teardown(truncated_several_scans, setup, teardown),
        cmocka_unit_test_setup_teardown(flipped_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(headers_that_lie, setup, teardown),
        cmocka_unit_test_setup_teardown(not_a_picture, setup, teardown),
        cmocka_unit_test_setup_teardown(too_many_scans, setup, teardown),
        cmocka_unit_test(too_much_work_for_so_few_bytes),
        cmocka_unit_test(long_decodes_are_given_up),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test_setup_teardown(lost_restart_markers, setup, teardown),
        cmocka_unit_test_setup_teardown(good_pictures_after_bad_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(truncated_one_scan, setup_libjpeg, teardown),
        cmocka_unit_test_setup_teardown(flipped_bits, setup_libjpeg, teardown),
        cmocka_unit_test_setup_teardown(lost_restart_markers, setup_libjpeg, teardown),
        cmocka_unit_test_setup_teardown(good_pictures_after_bad_ones, setup_libjpeg, teardown),
    };
    return cmocka_run_group_tests(tests, make_guard, NULL);
}
