/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of Huffman tables: sets are found again and never mixed up, an image's sets live as
 * long as it needs them, and shared sets outlive unshared ones.
 */
#include "decoder.h"
#include "huffman_code.h"
#include "jpeg_make.h"
#include "jpeg_table_cache.h"
#include "philox.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* How often the caches have made a set. The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
static int sets_made;

bool __real_sl_huffman_make(sl_simd simd, sl_huffman_tables *tables, const sl_huffman_code *dc,
                            const sl_huffman_code *ac);
bool __wrap_sl_huffman_make(sl_simd simd, sl_huffman_tables *tables, const sl_huffman_code *dc,
                            const sl_huffman_code *ac);

bool __wrap_sl_huffman_make(sl_simd simd, sl_huffman_tables *tables, const sl_huffman_code *dc,
                            const sl_huffman_code *ac)
{
    sets_made++;
    return __real_sl_huffman_make(simd, tables, dc, ac);
}

/* Makes a code for each number, all different. */
static sl_huffman_lengths code_of(uint32_t number, uint32_t symbols)
{
    uint64_t counts[256] = {0};
    sl_random random = sl_random_for(number, symbols, 0, 0);
    for (uint32_t i = 0; i < symbols; i++) {
        counts[i] = 1 + sl_random_below(&random, 1000);
    }
    sl_huffman_lengths code;
    sl_huffman_code_make(&code, counts);
    return code;
}

typedef struct pair {
    sl_huffman_lengths dc, ac;
} pair;

static pair pair_of(uint32_t number)
{
    return (pair){code_of(number, 12), code_of(number, 200)};
}

static const sl_huffman_tables *get(sl_jpeg_table_cache *cache, uint32_t number)
{
    /* In other memory for each request, as with images. */
    static pair pairs[7];
    static uint32_t turn;
    pair *p = &pairs[turn++ % 7];
    *p = pair_of(number);
    return sl_jpeg_table_cache_get(cache, &(sl_huffman_code){p->dc.bits, p->dc.symbols},
                                   &(sl_huffman_code){p->ac.bits, p->ac.symbols});
}

static sl_huffman_tables *fresh(uint32_t number)
{
    const pair p = pair_of(number);
    sl_huffman_tables *tables = aligned_alloc(SL_HUFFMAN_ALIGN, sizeof(*tables));
    assert_non_null(tables);
    assert_true(__real_sl_huffman_make(SL_SIMD_SCALAR, tables,
                                       &(sl_huffman_code){p.dc.bits, p.dc.symbols},
                                       &(sl_huffman_code){p.ac.bits, p.ac.symbols}));
    return tables;
}
/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

static void assert_same(const sl_huffman_tables *tables, const sl_huffman_tables *wanted)
{
    assert_non_null(tables);
    assert_memory_equal(tables->dc, wanted->dc, sizeof(tables->dc));
    assert_memory_equal(tables->ac, wanted->ac, sizeof(tables->ac));
    assert_memory_equal(tables->ac_code.symbols, wanted->ac_code.symbols,
                        sizeof(tables->ac_code.symbols));
}

static sl_jpeg_table_cache *open_cache(void)
{
    sl_jpeg_table_cache *cache;
    sets_made = 0;
    assert_int_equal(sl_jpeg_table_cache_open(&cache, sl_simd_best(), NULL), SLUICE_OK);
    return cache;
}

/* Requests more sets than the cache holds, in random order. */
TEST(what_comes_is_what_was_asked_for)
{
    enum { NUMBERS = 3 * SL_JPEG_TABLE_SETS };
    sl_huffman_tables *wanted[NUMBERS];
    for (uint32_t i = 0; i < NUMBERS; i++) {
        wanted[i] = fresh(i);
    }
    sl_jpeg_table_cache *cache = open_cache();
    sl_random random = sl_random_for(1, 2, 3, 4);
    for (uint32_t i = 0; i < 3000; i++) {
        /* an image has up to three sets, which must all exist when it is decoded */
        const sl_huffman_tables *of_picture[3];
        uint32_t numbers[3];
        const uint32_t count = 1 + sl_random_below(&random, 3);
        for (uint32_t c = 0; c < count; c++) {
            numbers[c] = sl_random_below(&random, i % 2 == 0 ? NUMBERS : 5);
            of_picture[c] = get(cache, numbers[c]);
        }
        for (uint32_t c = 0; c < count; c++) {
            assert_same(of_picture[c], wanted[numbers[c]]);
        }
    }
    assert_true(sets_made < 4500);
    sl_jpeg_table_cache_close(cache);
    for (uint32_t i = 0; i < NUMBERS; i++) {
        free(wanted[i]);
    }
}

TEST(alternating_sets_are_made_once)
{
    sl_jpeg_table_cache *cache = open_cache();
    for (uint32_t i = 0; i < 100 * SL_JPEG_TABLE_SETS; i++) {
        (void)get(cache, i % SL_JPEG_TABLE_SETS);
    }
    assert_int_equal(sets_made, SL_JPEG_TABLE_SETS);
    sl_jpeg_table_cache_close(cache);
}

/* Every tenth image has the same two sets; each of the others has two of its own. */
TEST(shared_sets_outlive_others)
{
    sl_jpeg_table_cache *cache = open_cache();
    uint32_t own = 100;
    for (uint32_t picture = 0; picture < 1000; picture++) {
        const bool shares = picture < 2 || picture % 10 == 0;
        for (uint32_t c = 0; c < 2; c++) {
            (void)get(cache, shares ? c : own++);
        }
    }
    assert_int_equal(sets_made, own - 100 + 2);
    sl_jpeg_table_cache_close(cache);
}

/* Codes that differ in one symbol, or in one length with the same symbols. */
TEST(nearly_the_same_is_another)
{
    sl_jpeg_table_cache *cache = open_cache();
    pair p = pair_of(1);
    const sl_huffman_code dc = {p.dc.bits, p.dc.symbols};
    const sl_huffman_code ac = {p.ac.bits, p.ac.symbols};
    const sl_huffman_tables *first = sl_jpeg_table_cache_get(cache, &dc, &ac);
    const uint8_t was = p.ac.symbols[199];
    p.ac.symbols[199] = 250;
    assert_ptr_not_equal(sl_jpeg_table_cache_get(cache, &dc, &ac), first);
    p.ac.symbols[199] = was;
    p.dc.symbols[11] = 12;
    assert_ptr_not_equal(sl_jpeg_table_cache_get(cache, &dc, &ac), first);
    p = pair_of(1);
    p.dc.bits[0] = 77; /* never requested before */
    assert_ptr_equal(sl_jpeg_table_cache_get(cache, &dc, &ac), first);
    uint8_t fewer[17];
    memcpy(fewer, p.ac.bits, sizeof(fewer));
    for (int length = 16; length > 0; length--) {
        if (fewer[length] > 0) {
            fewer[length]--;
            break;
        }
    }
    assert_ptr_not_equal(
        sl_jpeg_table_cache_get(cache, &dc, &(sl_huffman_code){fewer, p.ac.symbols}), first);
    assert_int_equal(sets_made, 4);
    sl_jpeg_table_cache_close(cache);
}

TEST(bad_codes_leave_the_others)
{
    sl_jpeg_table_cache *cache = open_cache();
    const pair p = pair_of(0);
    const sl_huffman_code good = {p.dc.bits, p.dc.symbols};
    static const uint8_t none[256];
    const uint8_t crowded[17] = {0, 3};
    const uint8_t endless[17] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};
    for (uint32_t i = 0; i < 100; i++) {
        assert_non_null(get(cache, 0));
        for (int again = 0; again < 2; again++) {
            assert_null(sl_jpeg_table_cache_get(cache, &(sl_huffman_code){crowded, none}, &good));
            assert_null(sl_jpeg_table_cache_get(cache, &good, &(sl_huffman_code){endless, none}));
        }
    }
    sl_huffman_tables *wanted = fresh(0);
    assert_same(get(cache, 0), wanted);
    free(wanted);
    sl_jpeg_table_cache_close(cache);
}

enum { SIDE = 24, ROW = 3 * SIDE };

static sluice_status decode(sl_decoder *decoder, const jpeg_file *file, sl_image *view)
{
    const sl_value stored = {.bytes = {file->data, file->size}};
    sl_picture picture;
    sluice_status status = sl_decoder_open_picture(decoder, &stored, &picture, NULL);
    if (status != SLUICE_OK) {
        return status;
    }
    const sl_rect all = {0, 0, picture.width, picture.height};
    return sl_decoder_decode(decoder, all, 0, 0, view, NULL);
}

static void check_picture(sl_decoder *decoder, const jpeg_file *file)
{
    uint32_t size[3];
    sl_image view = {0};
    uint8_t *pixels = jpeg_plain_decode(file->data, file->size, &size[0], &size[1], &size[2], NULL);
    assert_non_null(pixels);
    assert_int_equal(decode(decoder, file, &view), SLUICE_OK);
    for (size_t y = 0; y < SIDE; y++) {
        assert_memory_equal(view.pixels + y * view.stride_bytes, pixels + y * ROW, ROW);
    }
    free(pixels);
}

/* Through the decoder: more kinds of tables than it keeps, including invalid ones. */
TEST(pictures_never_get_each_others_tables)
{
    enum { PICTURES = 40 };
    const sl_decoder_config config = {.max_pixels = 1 << 20, .exif = SLUICE_EXIF_APPLY};
    sl_decoder *decoder;
    assert_int_equal(sl_decoder_open(&decoder, &config, NULL), SLUICE_OK);
    jpeg_file files[PICTURES];
    for (uint32_t i = 0; i < PICTURES; i++) {
        const jpeg_options options = {.own_tables = i % 3 != 0};
        files[i] = jpeg_make_pattern(SIDE, SIDE, i, &options);
    }
    sl_random random = sl_random_for(5, 0, 0, 0);
    for (uint32_t round = 0; round < 2000; round++) {
        jpeg_file *file = &files[sl_random_below(&random, PICTURES)];
        if (round % 4 != 3) {
            check_picture(decoder, file);
            continue;
        }
        sl_image view;
        uint8_t *hit = &file->data[sl_random_below(&random, (uint32_t)file->size)];
        const uint8_t was = *hit;
        *hit ^= (uint8_t)(1U << round / 4 % 8);
        (void)decode(decoder, file, &view);
        *hit = was;
    }
    for (uint32_t i = 0; i < PICTURES; i++) {
        jpeg_free(&files[i]);
    }
    sl_decoder_close(decoder);
}
