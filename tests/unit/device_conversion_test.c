/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversion kernels without a GPU: their body, compiled for the host, runs for every thread of
 * the library's launches. The results are compared with augment's results for the same images and
 * with plain loops.
 */
#include "convert_emulation.h"
#include "converter.h"
#include "memory.h"
#include "philox.h"
#include "test.h"
#include "whole_params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GUARD ((size_t)256)

static const float imagenet_scale[3] = {1.0F / (255.0F * 0.229F), 1.0F / (255.0F * 0.224F),
                                        1.0F / (255.0F * 0.225F)};
static const float imagenet_bias[3] = {-0.485F / 0.229F, -0.456F / 0.224F, -0.406F / 0.225F};

/* ---- cases ---- */

typedef struct batch {
    uint8_t *from, *flags, *to; /* `to` has GUARD bytes before and after it */
    uint8_t *expected;
    size_t bytes; /* size of the results */
} batch;

static uint8_t random_byte(sl_random *random)
{
    return (uint8_t)(sl_random_u32(random) >> 7);
}

static batch make_batch(const sl_conversion *c, uint32_t rows, uint64_t seed)
{
    sl_random random = sl_random_for(seed, 0, 0, 0);
    const size_t samples = (size_t)c->width * c->height * 3;
    batch b = {.bytes = sl_conversion_row_bytes(c) * rows};
    /* exact size, so that a sanitizer sees reads outside */
    void *from = NULL;
    assert_int_equal(posix_memalign(&from, 256, samples * rows), 0);
    b.from = from;
    b.to = aligned_alloc(256, (b.bytes + 2 * GUARD + 255) / 256 * 256);
    b.expected = malloc(b.bytes);
    b.flags = malloc(rows);
    assert_true(b.from != NULL && b.to != NULL && b.expected != NULL && b.flags != NULL);
    for (size_t i = 0; i < samples * rows; i++) {
        b.from[i] = random_byte(&random);
    }
    for (uint32_t row = 0; row < rows; row++) {
        b.flags[row] = (seed + row) % 4; /* SL_ROW_MIRROR, SL_ROW_ZERO, both or none */
        convert_plainly(c, b.flags[row], b.from + row * samples,
                        b.expected + row * sl_conversion_row_bytes(c));
    }
    return b;
}

static void free_batch(batch *b)
{
    free(b->from);
    free(b->flags);
    free(b->to);
    free(b->expected);
}

static void check_bytes(const uint8_t *bytes, size_t count, uint8_t value)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(bytes[i], value);
    }
}

static void check(const sl_conversion *c, uint32_t rows, uint64_t seed)
{
    batch b = make_batch(c, rows, seed);
    const uint8_t poisons[] = {0x5A, 0xC3};
    for (size_t i = 0; i < 2; i++) {
        memset(b.to, poisons[i], b.bytes + 2 * GUARD);
        const sl_conversion_rows what = {
            .from = b.from, .flags = b.flags, .to = b.to + GUARD, .rows = rows};
        assert_true(sl_conversion_takes(c));
        convert_emulate_rows(c, &what);
        assert_memory_equal(b.to + GUARD, b.expected, b.bytes);
        check_bytes(b.to, GUARD, poisons[i]);
        check_bytes(b.to + GUARD + b.bytes, GUARD, poisons[i]);
    }
    free_batch(&b);
}

static sl_conversion conversion(sluice_dtype dtype, sluice_layout layout, uint32_t width,
                                uint32_t height)
{
    sl_conversion c = {.dtype = dtype, .layout = layout, .width = width, .height = height};
    memcpy(c.scale, imagenet_scale, sizeof(c.scale));
    memcpy(c.bias, imagenet_bias, sizeof(c.bias));
    return c;
}

static void check_size(uint32_t width, uint32_t height)
{
    for (int dtype = SLUICE_U8; dtype <= SLUICE_BF16; dtype++) {
        for (int layout = SLUICE_NHWC; layout <= SLUICE_NCHW; layout++) {
            const sl_conversion c =
                conversion((sluice_dtype)dtype, (sluice_layout)layout, width, height);
            check(&c, 1, SL_ROW_MIRROR);
            check(&c, 5, (uint64_t)width * 100 + height);
        }
    }
}

TEST(every_size_dtype_and_layout)
{
    static const uint32_t sizes[][2] = {
        {1, 1},   {1, 2},   {2, 1},    {1, 3},    {3, 1},    {4, 1},    {1, 4},    {3, 3},
        {2, 2},   {5, 7},   {7, 4},    {4, 7},    {8, 8},    {15, 17},  {16, 16},  {33, 2},
        {6, 6},   {257, 1}, {1, 257},  {64, 31},  {31, 64},  {100, 3},  {32, 32},  {32, 33},
        {45, 91}, {91, 45}, {33, 32},  {5, 205},  {41, 25},  {1025, 3}, {1, 1024}, {224, 3},
        {300, 4}, {260, 2}, {1024, 5}, {1040, 5}, {1032, 3}, {1028, 4}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_size(sizes[i][0], sizes[i][1]);
    }
    /* Every remainder of a width by the groups, with heights that compensate for it and heights
     * that do not. */
    for (uint32_t width = 1; width <= 52; width++) {
        for (uint32_t height = 1; height <= 16; height *= 2) {
            check_size(width, height);
        }
        check_size(width, 3);
    }
}

static uint32_t group_of(sluice_dtype dtype, sluice_layout layout, uint32_t width, uint32_t height)
{
    const sl_conversion c = conversion(dtype, layout, width, height);
    sl_conversion_launch launch;
    sl_conversion_launch_make(&launch, &c, &(sl_conversion_rows){.rows = 1});
    const uint64_t units = (uint64_t)width * height * (layout == SLUICE_NHWC ? 3 : 1);
    const uint64_t each = launch.parameters.group == 1 ? 4 : launch.parameters.group;
    assert_int_equal(launch.grid[0], ((units + each - 1) / each + 255) / 256);
    return launch.parameters.group;
}

/* Groups of 16 bytes of results where they fill images; mirrored ones are words. */
TEST(groups_are_as_wide_as_can_be)
{
    static const uint32_t sizes[][2] = {{224, 224}, {4, 4}, {4, 2}, {4, 1}, {2, 8}, {6, 6}, {5, 5}};
    static const uint32_t expected[][4] = {/* u8, f32, f16, bf16 */
                                           {16, 4, 8, 8}, {16, 4, 8, 8}, {4, 4, 8, 8}, {4, 4, 4, 4},
                                           {4, 4, 4, 4},  {4, 4, 4, 4},  {1, 1, 1, 1}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int dtype = SLUICE_U8; dtype <= SLUICE_BF16; dtype++) {
            for (int layout = SLUICE_NHWC; layout <= SLUICE_NCHW; layout++) {
                const sl_conversion c = {.dtype = (sluice_dtype)dtype};
                assert_int_equal(group_of(c.dtype, (sluice_layout)layout, sizes[i][0], sizes[i][1]),
                                 expected[i][dtype]);
            }
        }
    }
}

/* Results that are tiny, huge for 16 bits, exact halves between two of them; finite ones that round
 * to infinity. */
TEST(every_value_is_rounded_as_on_the_host)
{
    static const float factors[][2] = {{1.0F, 0.0F},      {1e-9F, 0.0F},   {3e-8F, -1e-7F},
                                       {1000.0F, 0.5F},   {-1.0F, 127.5F}, {1e-40F, 1e-41F},
                                       {0.125F, 2048.0F}, {1e36F, -3e37F}, {1.333e36F, 0.0F}};
    for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
        for (int dtype = SLUICE_F32; dtype <= SLUICE_BF16; dtype++) {
            sl_conversion c = conversion((sluice_dtype)dtype, SLUICE_NCHW, 16, 48);
            for (size_t channel = 0; channel < 3; channel++) {
                c.scale[channel] = factors[i][0];
                c.bias[channel] = factors[i][1];
            }
            check(&c, 3, i);
            c.layout = SLUICE_NHWC;
            check(&c, 3, i);
        }
    }
}

/* More images than a grid has blocks in y. */
TEST(more_rows_than_blocks)
{
    const sl_conversion c = conversion(SLUICE_F16, SLUICE_NCHW, 2, 1);
    check(&c, 65536 + 3, 1);
}

TEST(sizes_that_kernels_take)
{
    const uint32_t largest = INT32_MAX / 3;
    sl_conversion c = conversion(SLUICE_U8, SLUICE_NHWC, largest, 1);
    assert_true(sl_conversion_takes(&c));
    c.width++;
    assert_false(sl_conversion_takes(&c));
    c.width = c.height = UINT32_MAX;
    assert_false(sl_conversion_takes(&c));
    c.width = 0;
    assert_false(sl_conversion_takes(&c));
}

/* The last blocks of the largest possible image; untouched memory costs nothing. */
static void check_largest(sluice_dtype dtype, sluice_layout layout, uint32_t width, uint32_t height)
{
    const sl_conversion c = conversion(dtype, layout, width, height);
    const size_t samples = (size_t)width * height * 3;
    const size_t bytes = sl_conversion_row_bytes(&c);
    const size_t each = bytes / samples;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint8_t *from = mmap(NULL, samples, PROT_READ | PROT_WRITE, flags, -1, 0);
    uint8_t *to = mmap(NULL, bytes + GUARD, PROT_READ | PROT_WRITE, flags, -1, 0);
    assert_true(from != MAP_FAILED && to != MAP_FAILED);
    const uint8_t row_flags = 0;
    from[samples - 1] = 200;
    const sl_conversion_rows rows = {.from = from, .flags = &row_flags, .to = to, .rows = 1};
    sl_conversion_launch launch;
    sl_conversion_launch_make(&launch, &c, &rows);
    assert_true(sl_conversion_takes(&c));
    const uint32_t blocks = launch.grid[0];
    convert_emulate_block(&launch, sl_conversion_kernel(c.dtype, c.layout), blocks - 1, 0);
    uint8_t expected[3 * sizeof(float)];
    const uint8_t pixel[3] = {0, 0, 200};
    const sl_conversion one = conversion(dtype, SLUICE_NHWC, 1, 1);
    convert_plainly(&one, 0, pixel, expected);
    assert_memory_equal(to + each * (samples - 1), expected + 2 * each, each);
    check_bytes(to, GUARD, 0); /* an offset modulo 2^32 would write here */
    check_bytes(to + bytes, GUARD, 0);
    munmap(from, samples);
    munmap(to, bytes + GUARD);
}

TEST(the_end_of_the_largest_picture)
{
    /* Groups of 4, 8 and 16 fill it evenly, the widest of NHWC nearly up to 2^31 units. */
    static const uint32_t sizes[][2] = {{26754, 26754}, {26752, 26752}, {44739240, 16}};
    for (int dtype = SLUICE_U8; dtype <= SLUICE_BF16; dtype++) {
        for (int layout = SLUICE_NHWC; layout <= SLUICE_NCHW; layout++) {
            for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                check_largest((sluice_dtype)dtype, (sluice_layout)layout, sizes[i][0], sizes[i][1]);
            }
            check_largest((sluice_dtype)dtype, (sluice_layout)layout, INT32_MAX / 3, 1);
        }
    }
}

/* ---- the same as augment ---- */

enum { SOURCE_WIDTH = 64, SOURCE_HEIGHT = 48 };

/* Makes a worker's row of the sample: the final values, or the bytes that a device must finish. */
static uint8_t make_row(const sl_converter *converter, const sluice_augment *recipe,
                        const uint8_t *pixels, uint64_t sample, bool device, void *row)
{
    sl_image view = {pixels, SOURCE_WIDTH, SOURCE_HEIGHT, 3, (size_t)SOURCE_WIDTH * 3, 0,
                     0,      SOURCE_WIDTH, SOURCE_HEIGHT, 1};
    WHOLE_PARAMS(params);
    sl_scratch scratch;
    assert_int_equal(sl_scratch_open(&scratch, 1 << 20, 1 << 20, NULL), SLUICE_OK);
    assert_int_equal(sl_draw(recipe, &(sl_draw_key){.seed = 7, .sample = sample}, SOURCE_WIDTH,
                             SOURCE_HEIGHT, &params, NULL),
                     SLUICE_OK);
    const uint8_t flags = device && params.geometries[0].box.flip_x ? SL_ROW_MIRROR : 0;
    params.geometries[0].box.flip_x = params.geometries[0].box.flip_x && !device;
    const sl_apply_work work = {.scratch = &scratch};
    assert_int_equal(sl_augment_apply(converter, &view, &params, &work, row, NULL), SLUICE_OK);
    sl_scratch_close(&scratch);
    return flags;
}

static uint32_t check_sample(const sluice_augment *recipe, sluice_dtype dtype, sluice_layout layout,
                             const uint8_t *pixels, uint64_t sample)
{
    sl_converter converter;
    assert_int_equal(sl_converter_make(&converter, recipe, dtype, layout, NULL), SLUICE_OK);
    sl_conversion c = {
        .dtype = dtype, .layout = layout, .width = recipe->width, .height = recipe->height};
    for (size_t channel = 0; channel < 3; channel++) {
        sl_converter_factors(&converter, channel, &c.scale[channel], &c.bias[channel]);
    }
    const size_t bytes = sl_conversion_row_bytes(&c);
    assert_int_equal(bytes, sl_converter_row_bytes(&converter));
    void *host = aligned_alloc(256, (bytes + 255) / 256 * 256);
    void *device = aligned_alloc(256, (bytes + 255) / 256 * 256);
    uint8_t *left = aligned_alloc(256, ((size_t)c.width * c.height * 3 + 255) / 256 * 256);
    assert_true(host != NULL && device != NULL && left != NULL);
    make_row(&converter, recipe, pixels, sample, false, host);
    sl_converter_leave_bytes(&converter);
    const uint8_t flags = make_row(&converter, recipe, pixels, sample, true, left);
    convert_emulate_rows(
        &c, &(sl_conversion_rows){.from = left, .flags = &flags, .to = device, .rows = 1});
    assert_memory_equal(device, host, bytes);
    free(host);
    free(device);
    free(left);
    return flags;
}

/* Resampled, jittered and mirrored on the host, or mirrored on the device after the other steps:
 * the same bits. */
TEST(pictures_are_as_on_the_host)
{
    static uint8_t pixels[SOURCE_WIDTH * SOURCE_HEIGHT * 3];
    sl_random random = sl_random_for(3, 1, 4, 1);
    for (size_t i = 0; i < sizeof(pixels); i++) {
        pixels[i] = random_byte(&random);
    }
    sluice_augment *recipe;
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    const float mean[] = {0.485F, 0.456F, 0.406F};
    const float deviation[] = {0.229F, 0.224F, 0.225F};
    sluice_augment_random_resized_crop(recipe, 29, 23, 0.2, 1.0, 0.7, 1.4);
    sluice_augment_random_flip(recipe, 0.5);
    sluice_augment_color_jitter(recipe, 0.4, 0.4, 0.4);
    sluice_augment normal = *recipe;
    sluice_augment_normalize(&normal, mean, deviation, 3);
    uint32_t mirrored = 0;
    for (uint64_t sample = 0; sample < 16; sample++) {
        for (int layout = SLUICE_NHWC; layout <= SLUICE_NCHW; layout++) {
            mirrored += check_sample(recipe, SLUICE_U8, (sluice_layout)layout, pixels, sample);
            for (int dtype = SLUICE_F32; dtype <= SLUICE_BF16; dtype++) {
                check_sample(&normal, (sluice_dtype)dtype, (sluice_layout)layout, pixels, sample);
            }
        }
    }
    assert_true(mirrored > 0 && mirrored < 32);
    sluice_augment_destroy(recipe);
}

/* A build without a toolkit has none; otherwise a fatbin, which begins with these bytes, and
 * PTX. */
TEST(the_images_are_a_fatbin_and_ptx)
{
    static const uint8_t magic[] = {0x50, 0xED, 0x55, 0xBA};
    void *fatbin;
    char *ptx;
    if (!sl_conversion_has_images()) {
        assert_int_equal(sl_conversion_unpack_fatbin(&fatbin, NULL), SLUICE_UNSUPPORTED);
        assert_int_equal(sl_conversion_unpack_ptx(&ptx, NULL), SLUICE_UNSUPPORTED);
        assert_true(fatbin == NULL && ptx == NULL);
        skip();
    }
    assert_int_equal(sl_conversion_unpack_fatbin(&fatbin, NULL), SLUICE_OK);
    assert_int_equal(sl_conversion_unpack_ptx(&ptx, NULL), SLUICE_OK);
    assert_memory_equal(fatbin, magic, sizeof(magic));
    assert_non_null(strstr(ptx, "\n.version 7.0\n"));
    const char *last = sl_conversion_kernel_name(SL_CONVERSION_KERNELS - 1);
    assert_non_null(strstr(ptx, last));
    sl_free(ptx);
    sl_free(fatbin);
}

TEST(every_kernel_has_a_name_of_its_own)
{
    static const char *const dtypes[] = {"u8", "f32", "f16", "bf16"};
    for (int dtype = SLUICE_U8; dtype <= SLUICE_BF16; dtype++) {
        for (int layout = SLUICE_NHWC; layout <= SLUICE_NCHW; layout++) {
            char expected[32];
            snprintf(expected, sizeof(expected), "sl_conversion_%s_%s", dtypes[dtype],
                     layout == SLUICE_NHWC ? "nhwc" : "nchw");
            const uint32_t kernel =
                sl_conversion_kernel((sluice_dtype)dtype, (sluice_layout)layout);
            assert_string_equal(sl_conversion_kernel_name(kernel), expected);
        }
    }
}
