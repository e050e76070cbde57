/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several views of one image: the same bits as each column makes of its own image, for every kind
 * of image, on every code path, for damaged images, and in any amount of memory.
 */
#include "columns_rig.h"
#include "jpeg_make.h"
#include "jpeg_retile.h"
#include "philox.h"
#include "png_make.h"
#include "test.h"
#ifdef SLUICE_TEST_WEBP
#    include "webp_make.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2, WIDTH = 702, HEIGHT = 525, VIEWS_MAX = 14, DAMAGED = TEST_AMOUNT(30, 12) };
enum { PICTURE, OTHER, BLOB, FIELDS };

static const sl_field fields[FIELDS] = {
    [PICTURE] = {.name = "picture", .type = SLUICE_FIELD_IMAGE},
    [OTHER] = {.name = "other", .type = SLUICE_FIELD_IMAGE},
    [BLOB] = {.name = "blob", .type = SLUICE_FIELD_BYTES},
};

/* Counts how often the columns opened an image, and decoded for several of them. */
static uint32_t opens, decodes;

sluice_status __real_sl_decoder_open_picture(sl_decoder *decoder, const sl_value *value,
                                             sl_picture *picture, sluice_error *error);
sluice_status __wrap_sl_decoder_open_picture(sl_decoder *decoder, const sl_value *value,
                                             sl_picture *picture, sluice_error *error);
sluice_status __wrap_sl_decoder_open_picture(sl_decoder *decoder, const sl_value *value,
                                             sl_picture *picture, sluice_error *error)
{
    opens++;
    return __real_sl_decoder_open_picture(decoder, value, picture, error);
}

sluice_status __real_sl_decoder_decode_scaled(sl_decoder *decoder, sl_rect need,
                                              uint32_t denominator, sl_image *view,
                                              sluice_error *error);
sluice_status __wrap_sl_decoder_decode_scaled(sl_decoder *decoder, sl_rect need,
                                              uint32_t denominator, sl_image *view,
                                              sluice_error *error);
sluice_status __wrap_sl_decoder_decode_scaled(sl_decoder *decoder, sl_rect need,
                                              uint32_t denominator, sl_image *view,
                                              sluice_error *error)
{
    decodes++;
    return __real_sl_decoder_decode_scaled(decoder, need, denominator, view, error);
}

/* ---- columns ---- */

typedef struct view {
    double size, least, most, interpolation;
    bool turned;
    sluice_dtype dtype;
    sluice_layout layout;
} view;

/* Two large and eight small views; then views that are scaled down, rotated, or use the nearest
 * pixel. */
static const view views[VIEWS_MAX] = {
    {224, 0.4, 1, 2, false, SLUICE_F32, SLUICE_NCHW},
    {224, 0.4, 1, 2, false, SLUICE_U8, SLUICE_NHWC},
    {96, 0.05, 0.4, 2, false, SLUICE_U8, SLUICE_NHWC},
    {96, 0.05, 0.4, 2, false, SLUICE_U8, SLUICE_NCHW},
    {96, 0.05, 0.4, 1, false, SLUICE_F16, SLUICE_NHWC},
    {96, 0.05, 0.4, 1, false, SLUICE_U8, SLUICE_NHWC},
    {96, 0.05, 0.4, 3, false, SLUICE_U8, SLUICE_NHWC},
    {96, 0.05, 0.4, 2, true, SLUICE_U8, SLUICE_NHWC},
    {96, 0.05, 0.4, 1, true, SLUICE_U8, SLUICE_NHWC},
    {96, 0.05, 0.4, 0, false, SLUICE_U8, SLUICE_NHWC},
    {40, 0.6, 1, 1, false, SLUICE_U8, SLUICE_NHWC},
    {40, 0.6, 1, 2, false, SLUICE_U8, SLUICE_NHWC},
    {20, 0.6, 1, 1, true, SLUICE_U8, SLUICE_NHWC},
    {13, 0.3, 1, 1, false, SLUICE_U8, SLUICE_NHWC},
};

static void add_step(sluice_augment *recipe, const char *name, const double *arguments,
                     uint32_t count)
{
    assert_int_equal(sluice_augment_add(recipe, name, arguments, count), SLUICE_OK);
}

static void add_view(columns_rig *r, const view *v, const char *field, uint32_t number)
{
    char name[16];
    sluice_augment *recipe;
    const double crop[] = {v->size, v->size, v->least, v->most, 0.75, 4.0 / 3, v->interpolation};
    (void)snprintf(name, sizeof(name), "view%u", number);
    assert_int_equal(sluice_augment_create(&recipe), SLUICE_OK);
    add_step(recipe, "random_resized_crop", crop, 7);
    add_step(recipe, "random_flip", (const double[]){0.5}, 1);
    if (v->turned) {
        add_step(recipe, "random_rotation", (const double[]){-30, 30}, 2);
    }
    add_step(recipe, "color_jitter", (const double[]){0.4, 0.4, 0.2, 0.1}, 4);
    const sluice_column column = {.struct_size = sizeof(column),
                                  .kind = SLUICE_COLUMN_IMAGE,
                                  .field = field,
                                  .name = name,
                                  .recipe = recipe,
                                  .dtype = v->dtype,
                                  .layout = v->layout,
                                  .missing = SLUICE_MISSING_BLANK};
    assert_int_equal(sluice_columns_add(r->asked, &column), SLUICE_OK);
    sluice_augment_destroy(recipe);
}

/* Applies EXIF orientation. */
static columns_rig *open_rig(void)
{
    columns_rig *r = columns_rig_open(fields, FIELDS, ROWS);
    const sl_decoder_config config = {
        .max_pixels = 1 << 20, .max_unpacked_bytes = 1 << 22, .exif = SLUICE_EXIF_APPLY};
    sl_decoder_close(r->decoder);
    assert_int_equal(sl_decoder_open(&r->decoder, &config, NULL), SLUICE_OK);
    r->row->decoder = r->decoder;
    return r;
}

/* All views, with another column in the middle that uses the decoder's scratch memory. */
static columns_rig *open_views(bool apart)
{
    columns_rig *r = open_rig();
    for (uint32_t i = 0; i < VIEWS_MAX; i++) {
        add_view(r, &views[i], "picture", i);
        if (i == 4) {
            assert_int_equal(sluice_columns_ragged(r->asked, "blob", 100), SLUICE_OK);
            add_view(r, &views[5], "other", 100);
        }
    }
    must_bind(r);
    r->set.apart = apart;
    return r;
}

typedef struct pair {
    columns_rig *together, *apart;
    jpeg_file other;
} pair;

static int open_pair(void **state)
{
    pair *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    p->together = open_views(false);
    p->apart = open_views(true);
    p->other = jpeg_make_pattern(200, 150, 9, NULL);
    *state = p;
    return 0;
}

static int close_pair(void **state)
{
    pair *p = *state;
    void *rigs[] = {p->together, p->apart};
    columns_rig_close(&rigs[0]);
    columns_rig_close(&rigs[1]);
    jpeg_free(&p->other);
    free(p);
    return 0;
}

static void set_values(const pair *p, const sl_value *picture)
{
    columns_rig *const rigs[] = {p->together, p->apart};
    for (int i = 0; i < 2; i++) {
        *value(rigs[i], PICTURE) = *picture;
        set_bytes(rigs[i], OTHER, p->other.data, p->other.size);
        set_bytes(rigs[i], BLOB, "blob", 4);
    }
}

static void must_be_equal(const pair *p, uint32_t row)
{
    const sl_column_set *set = &p->together->set;
    for (uint32_t i = 0; i < set->part_count; i++) {
        const size_t bytes = set->parts[i].row_bytes;
        if (bytes > 0 && memcmp(p->together->parts[i] + row * bytes,
                                p->apart->parts[i] + row * bytes, bytes) != 0) {
            fail_msg("row %u of \"%s\" differs", row, set->parts[i].name);
        }
    }
}

/* Makes this image's row both ways and expects the same result. */
static sluice_status make_both(const pair *p, const sl_value *picture, uint32_t row)
{
    sluice_error errors[2];
    set_values(p, picture);
    const sluice_status status = make(p->apart, row, &errors[1]);
    opens = decodes = 0;
    assert_int_equal(make(p->together, row, &errors[0]), status);
    if (status == SLUICE_OK) {
        must_be_equal(p, row);
        return status;
    }
    assert_string_equal(errors[0].text, errors[1].text);
    assert_int_equal(errors[0].offset, errors[1].offset);
    assert_int_equal(p->together->row->blame - p->together->row->values.of,
                     p->apart->row->blame - p->apart->row->values.of);
    return status;
}

/* Half of the rows with each setting of exact; the image is opened once, and decoded fewer times
 * than there are views. */
static void compare_rows(const pair *p, const sl_value *picture)
{
    for (int exact = 0; exact < 2; exact++) {
        p->together->row->exact = p->apart->row->exact = exact != 0;
        for (uint32_t row = (uint32_t)exact; row < ROWS; row += 2) {
            assert_int_equal(make_both(p, picture, row), SLUICE_OK);
            assert_int_equal(opens, 2); /* the other image too */
            assert_true(decodes > 0 && decodes < VIEWS_MAX);
        }
    }
    p->together->row->exact = p->apart->row->exact = false;
}

static sl_value value_of(const void *data, size_t size)
{
    return (sl_value){.present = true, .bytes = {data, size}};
}

/* ---- every kind of image ---- */

static const jpeg_options jpegs[] = {
    {.quality = 90},
    {.quality = 80, .h_factor = 2, .v_factor = 1},
    {.h_factor = 1, .v_factor = 2},
    {.h_factor = 1, .v_factor = 1, .own_tables = true},
    {.colour = JPEG_GREY},
    {.colour = JPEG_RGB},
    {.colour = JPEG_CMYK},
    {.restart_interval = 44},
    {.restart_interval = 4, .quality = 97},
    {.restart_interval = 7},
    {.h_factor = 4, .v_factor = 1, .restart_interval = 11},
    {.progressive = true},
    {.progressive = true, .h_factor = 1, .v_factor = 1},
    {.separate_scans = true},
    {.orientation = 3},
    {.orientation = 6, .restart_interval = 6},
    {.orientation = 8, .progressive = true, .exif_big_endian = true},
};
enum { JPEGS = sizeof(jpegs) / sizeof(jpegs[0]) };

TEST_WITH(jpegs_on_every_road, open_pair, close_pair)
{
    const pair *p = *state;
    const uint32_t paths[] = {0, SL_PATH_KERNELS, SL_PATH_KERNELS | SL_PATH_INTERVALS};
    for (uint32_t i = 0; i < JPEGS * 3; i += TEST_AMOUNT(2, 4)) {
        jpeg_file file = jpeg_make_pattern(WIDTH, HEIGHT, i, &jpegs[i / 3]);
        const sl_value picture = value_of(file.data, file.size);
        sl_decoder_avoid(p->together->decoder, paths[i % 3]);
        sl_decoder_avoid(p->apart->decoder, paths[i % 3]);
        compare_rows(p, &picture);
        jpeg_free(&file);
    }
}

static sl_jpeg_retiler *retile(const jpeg_file *file, sl_bytes *tiled)
{
    sl_jpeg_retiler *retiler;
    sl_jpeg_outcome outcome;
    uint64_t memory;
    const sl_jpeg_retile_options how = {.max_pixels = 1 << 20, .max_bytes = 1 << 26};
    assert_int_equal(sl_jpeg_retiler_open(&retiler, &how, NULL), SLUICE_OK);
    assert_int_equal(
        sl_jpeg_retiler_begin(retiler, (sl_bytes){file->data, file->size}, &memory, NULL),
        SLUICE_OK);
    assert_int_equal(sl_jpeg_retiler_run(retiler, &outcome, tiled, NULL), SLUICE_OK);
    assert_int_equal(outcome, SL_JPEG_RETILED);
    return retiler;
}

TEST_WITH(jpegs_as_they_are_packed, open_pair, close_pair)
{
    const pair *p = *state;
    for (uint32_t seed = 0; seed < TEST_AMOUNT(2, 1); seed++) {
        jpeg_file file = jpeg_make_pattern(WIDTH - seed, HEIGHT + 3 * seed, seed, NULL);
        sl_bytes tiled;
        sl_jpeg_retiler *retiler = retile(&file, &tiled);
        const sl_value picture = value_of(tiled.data, tiled.size);
        compare_rows(p, &picture);
        sl_jpeg_retiler_close(retiler);
        jpeg_free(&file);
    }
}

TEST_WITH(png_and_raw_pictures, open_pair, close_pair)
{
    const pair *p = *state;
    const png_options options[] = {
        {.filter = 0}, {.interlaced = true}, {.colour = 3}, {.orientation = 5}};
    for (uint32_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        png_file file = png_make(WIDTH, HEIGHT, i, &options[i]);
        const sl_value picture = value_of(file.data, file.size);
        compare_rows(p, &picture);
        png_make_free(&file);
    }
    uint8_t *pixels = malloc((size_t)WIDTH * HEIGHT * 3);
    assert_non_null(pixels);
    pattern_fill(pixels, WIDTH, HEIGHT, 3, 5);
    sl_value raw = value_of(pixels, (size_t)WIDTH * HEIGHT * 3);
    raw.codec = SL_CODEC_RAW;
    raw.width = WIDTH;
    raw.height = HEIGHT;
    compare_rows(p, &raw);
    free(pixels);
}

#ifdef SLUICE_TEST_WEBP
TEST_WITH(webp_pictures, open_pair, close_pair)
{
    const pair *p = *state;
    const webp_options options[] = {
        {.quality = 75}, {.lossless = true}, {.simple_filter = true}, {.orientation = 7}};
    for (uint32_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        webp_file file = webp_make(WIDTH, HEIGHT, i, &options[i]);
        const sl_value picture = value_of(file.data, file.size);
        compare_rows(p, &picture);
        webp_free(&file);
    }
}
#endif

/* Narrower than a block, and than the requested size. */
TEST_WITH(small_pictures, open_pair, close_pair)
{
    const pair *p = *state;
    const uint32_t sizes[][2] = {{1, 1}, {2, 300}, {5, 3}, {17, 16}, {300, 2}, {63, 65}};
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        jpeg_file file = jpeg_make_pattern(sizes[i][0], sizes[i][1], i, &jpegs[i % 5]);
        const sl_value picture = value_of(file.data, file.size);
        compare_rows(p, &picture);
        jpeg_free(&file);
    }
}

/* ---- the columns alone ---- */

/* Compares each view of group k with a set whose only other columns are k of another field. */
TEST(each_view_is_what_its_column_is_alone)
{
    jpeg_file file = jpeg_make_pattern(WIDTH, HEIGHT, 3, &jpegs[8]);
    jpeg_file other = jpeg_make_pattern(20, 20, 1, NULL);
    columns_rig *all = open_rig();
    for (uint32_t i = 0; i < VIEWS_MAX; i++) {
        add_view(all, &views[i], "picture", i);
    }
    must_bind(all);
    set_bytes(all, PICTURE, file.data, file.size);
    must_make(all, 1);
    for (uint32_t k = 0; k < VIEWS_MAX; k++) {
        columns_rig *alone = open_rig();
        for (uint32_t i = 0; i < k; i++) {
            add_view(alone, &views[13], "other", 100 + i);
        }
        add_view(alone, &views[k], "picture", k);
        must_bind(alone);
        set_bytes(alone, PICTURE, file.data, file.size);
        set_bytes(alone, OTHER, other.data, other.size);
        must_make(alone, 1);
        char name[16];
        (void)snprintf(name, sizeof(name), "view%u", k);
        const size_t bytes = all->set.parts[part_named(all, name)].row_bytes;
        assert_memory_equal((uint8_t *)array(all, name) + bytes,
                            (uint8_t *)array(alone, name) + bytes, bytes);
        void *rig = alone;
        columns_rig_close(&rig);
    }
    void *rig = all;
    columns_rig_close(&rig);
    jpeg_free(&file);
    jpeg_free(&other);
}

/* ---- damage ---- */

static void damage(uint8_t *data, size_t size, uint32_t seed)
{
    sl_random random = sl_random_for(seed, 0, 0, 0);
    const uint32_t flips = 1 + sl_random_below(&random, 3);
    for (uint32_t i = 0; i < flips; i++) {
        data[sl_random_below(&random, (uint32_t)size)] ^=
            (uint8_t)(1U << sl_random_below(&random, 8));
    }
}

/* Some damage makes all views fail, some only those views that need the damaged part. */
static void compare_damaged(const pair *p, const uint8_t *data, size_t size, uint32_t times)
{
    uint32_t bad = 0;
    uint32_t fine = 0;
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    for (uint32_t i = 0; i < times; i++) {
        memcpy(copy, data, size);
        damage(copy, size, i);
        const sl_value picture = value_of(copy, i % 7 == 0 ? size * (i % 100) / 100 : size);
        (make_both(p, &picture, i % ROWS) == SLUICE_OK ? &fine : &bad)[0]++;
    }
    assert_true(bad > 0);
    assert_true(fine + bad == times);
    free(copy);
}

TEST_WITH(damage_is_judged_as_ever, open_pair, close_pair)
{
    const pair *p = *state;
    const jpeg_options options[] = {{.restart_interval = 6},
                                    {.quality = 70},
                                    {.progressive = true},
                                    {.colour = JPEG_RGB, .restart_interval = 88}};
    for (uint32_t i = 0; i < 4; i++) {
        jpeg_file file = jpeg_make_pattern(WIDTH / 2, HEIGHT / 2, i, &options[i]);
        compare_damaged(p, file.data, file.size, DAMAGED);
        jpeg_free(&file);
    }
    png_file png = png_make(WIDTH / 2, HEIGHT / 2, 2, &(png_options){.data_bytes = 5000});
    compare_damaged(p, png.data, png.size, DAMAGED / 5);
    png_make_free(&png);
}

/* A row that fits in memory when made apart also fits here. (The converse may fail: if the large
 * rectangle does not fit, libjpeg decodes it with less memory.) */
TEST_WITH(memory_that_is_too_little_for_all, open_pair, close_pair)
{
    const pair *p = *state;
    jpeg_file file = jpeg_make_pattern(WIDTH, HEIGHT, 4, &jpegs[0]);
    const sl_value picture = value_of(file.data, file.size);
    uint32_t refused = 0;
    uint32_t one_by_one = 0;
    set_values(p, &picture);
    for (uint64_t bytes = 1 << 16; bytes < (uint64_t)4 << 20; bytes += bytes / TEST_AMOUNT(5, 2)) {
        sluice_error error;
        sl_decoder_bind(p->together->decoder, bytes);
        sl_decoder_bind(p->apart->decoder, bytes);
        const sluice_status apart = make(p->apart, 1, &error);
        opens = 0;
        const sluice_status together = make(p->together, 1, &error);
        assert_true(together == SLUICE_OK || (together == SLUICE_NOMEM && together == apart));
        if (apart == SLUICE_OK) {
            must_be_equal(p, 1);
        }
        refused += together != SLUICE_OK;
        one_by_one += together == SLUICE_OK && opens > 2;
    }
    assert_true(refused > 0);
    assert_true(one_by_one > 0);
    jpeg_free(&file);
}

TEST_WITH(without_a_picture, open_pair, close_pair)
{
    const pair *p = *state;
    assert_int_equal(make_both(p, &(sl_value){.present = false}, 0), SLUICE_OK);
    const sl_value nothing = value_of("", 0);
    assert_int_equal(make_both(p, &nothing, 0), SLUICE_CORRUPT);
}
