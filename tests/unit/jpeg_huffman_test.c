/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_huffman against a bit-by-bit model: random codes (all lengths up to 16), random blocks, one
 * stream and two, and garbage, with guards around the memory of streams and blocks.
 */
#include "jpeg_huffman.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 12, STREAM_BYTES = 8192 };

static const uint8_t order[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                  12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                  35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                  58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

static uint32_t state = 1;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525U + 1013904223U;
    return (uint32_t)(((uint64_t)state * below) >> 32);
}

/* --- a code and its words --- */

typedef struct code {
    uint8_t bits[17];
    uint8_t symbols[256];
    uint32_t word[256]; /* indexed by symbol */
    uint8_t length[256];
    uint32_t count;
} code;

/* Assigns words of the lengths in bits[], in order; all ones stays free, as T.81 requires. */
static void assign(code *c)
{
    uint32_t next = 0;
    uint32_t at = 0;
    for (uint32_t length = 1; length <= 16; length++, next <<= 1) {
        for (uint32_t i = 0; i < c->bits[length]; i++, at++, next++) {
            c->word[c->symbols[at]] = next;
            c->length[c->symbols[at]] = (uint8_t)length;
        }
    }
    c->count = at;
}

/* Makes a prefix code of `count` symbols; splitting random leaves gives the word lengths. */
static void make_code(code *c, const uint8_t *symbols, uint32_t count, bool deep)
{
    uint32_t leaves[17] = {0, 2};
    for (uint32_t made = 2; made < count + 1;) { /* one extra word: all ones */
        uint32_t length = deep ? 15 - draw(15) : 1 + draw(9);
        while (length > 0 && (leaves[length] == 0 || length > 15)) {
            length--;
        }
        if (length == 0) {
            for (length = 1; leaves[length] == 0; length++) {
            }
        }
        leaves[length]--;
        leaves[length + 1] += 2;
        made++;
    }
    *c = (code){0};
    for (uint32_t length = 16, spare = 1; length > 0; length--) {
        const uint32_t here = leaves[length];
        c->bits[length] = (uint8_t)(here > 0 ? here - spare : 0);
        spare = here > 0 ? 0 : spare;
    }
    memcpy(c->symbols, symbols, count);
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t j = draw(i);
        const uint8_t swap = c->symbols[i - 1];
        c->symbols[i - 1] = c->symbols[j];
        c->symbols[j] = swap;
    }
    assign(c);
    assert_int_equal(c->count, count);
}

/* --- writing bits --- */

typedef struct writer {
    uint8_t bytes[STREAM_BYTES];
    size_t used; /* bits */
} writer;

static void put(writer *w, uint32_t value, uint32_t bits)
{
    for (uint32_t i = bits; i > 0; i--, w->used++) {
        assert_true(w->used / 8 < sizeof(w->bytes));
        const uint32_t bit = (value >> (i - 1)) & 1;
        w->bytes[w->used / 8] |= (uint8_t)(bit << (7 - w->used % 8));
    }
}

static void put_symbol(writer *w, const code *c, uint32_t symbol, int32_t value, uint32_t size)
{
    assert_true(c->length[symbol] > 0);
    put(w, c->word[symbol], c->length[symbol]);
    put(w, (uint32_t)(value < 0 ? value + (1 << size) - 1 : value), size);
}

static uint32_t size_of(int32_t value)
{
    uint32_t size = 0;
    for (uint32_t v = (uint32_t)abs(value); v > 0; v >>= 1) {
        size++;
    }
    return size;
}

/* T.81 F.1.2: writes one block, coefficients in zigzag order. */
static void put_block(writer *w, const code *dc, const code *ac, const int16_t zigzag[64])
{
    put_symbol(w, dc, size_of(zigzag[0]), zigzag[0], size_of(zigzag[0]));
    uint32_t run = 0;
    for (uint32_t k = 1; k < 64; k++) {
        if (zigzag[k] == 0) {
            run++;
            continue;
        }
        for (; run > 15; run -= 16) {
            put_symbol(w, ac, 0xF0, 0, 0);
        }
        const uint32_t size = size_of(zigzag[k]);
        put_symbol(w, ac, run << 4 | size, zigzag[k], size);
        run = 0;
    }
    if (run > 0) {
        put_symbol(w, ac, 0, 0, 0);
    }
}

/* --- a scan of random blocks --- */

typedef struct scan {
    code dc, ac;
    writer bits;
    int16_t blocks[BLOCKS][64]; /* natural order */
} scan;

static int32_t random_value(uint32_t size_max)
{
    const uint32_t size = 1 + draw(size_max);
    const int32_t magnitude = (int32_t)((1U << (size - 1)) + draw(1U << (size - 1)));
    return draw(2) ? magnitude : -magnitude;
}

/* `density` of 256: the number of nonzero coefficients; 256: all, so that there is no end of
 * block. */
static void make_scan(scan *s, bool deep, uint32_t density, uint32_t size_max)
{
    uint8_t dc_symbols[16];
    uint8_t ac_symbols[256];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 16; i++) {
        dc_symbols[i] = (uint8_t)i;
        for (uint32_t size = 1; size <= 15; size++) {
            ac_symbols[count++] = (uint8_t)(i << 4 | size);
        }
    }
    ac_symbols[count++] = 0;
    ac_symbols[count++] = 0xF0;
    memset(s, 0, sizeof(*s));
    make_code(&s->dc, dc_symbols, 16, deep);
    make_code(&s->ac, ac_symbols, count, deep);
    for (int b = 0; b < BLOCKS; b++) {
        int16_t zigzag[64] = {0};
        zigzag[0] = (int16_t)(draw(4) ? random_value(size_max) : 0);
        for (int k = 1; k < 64; k++) {
            zigzag[k] = (int16_t)(draw(256) < density ? random_value(size_max) : 0);
        }
        put_block(&s->bits, &s->dc, &s->ac, zigzag);
        for (int k = 0; k < 64; k++) {
            s->blocks[b][order[k]] = zigzag[k];
        }
    }
}

/* --- decoding it --- */

typedef struct reader {
    sl_huffman_tables *tables;
    sl_huffman_block *blocks; /* BLOCKS and the one at the chain's end */
    uint8_t *bytes;           /* exactly the bytes that the contract allows reading */
    sl_huffman_stream stream;
} reader;

static void *aligned(size_t alignment, size_t bytes)
{
    void *memory = aligned_alloc(alignment, bytes);
    assert_non_null(memory);
    return memory;
}

static void reader_open(reader *r, const scan *s, const sl_huffman_tables *stop)
{
    r->tables = aligned(SL_HUFFMAN_ALIGN, sizeof(sl_huffman_tables));
    const sl_huffman_code dc = {s->dc.bits, s->dc.symbols};
    const sl_huffman_code ac = {s->ac.bits, s->ac.symbols};
    assert_true(sl_huffman_make(sl_simd_best(), r->tables, &dc, &ac));
    r->blocks = aligned(64, (size_t)(BLOCKS + 1) * sizeof(*r->blocks));
    memset(r->blocks, 0, (size_t)(BLOCKS + 1) * sizeof(*r->blocks));
    for (int i = 0; i <= BLOCKS; i++) {
        r->blocks[i].next = &r->blocks[i < BLOCKS ? i + 1 : i];
        r->blocks[i].next_table = i + 1 < BLOCKS ? r->tables->dc : stop->ac;
    }
    const size_t size = (s->bits.used + 7) / 8;
    r->bytes = calloc(1, size + SL_HUFFMAN_PADDING);
    assert_non_null(r->bytes);
    memcpy(r->bytes, s->bits.bytes, size);
    sl_huffman_begin(&r->stream, r->bytes, size, stop);
    sl_huffman_aim(&r->stream, r->blocks, r->tables);
}

static void reader_check(reader *r, const scan *s)
{
    assert_true(sl_huffman_at_end(&r->stream));
    assert_int_equal(sl_huffman_used(&r->stream), s->bits.used);
    for (int b = 0; b < BLOCKS; b++) {
        assert_memory_equal(r->blocks[b].values, s->blocks[b], sizeof(s->blocks[b]));
    }
    static const int16_t zeros[64];
    assert_memory_equal(r->blocks[BLOCKS].values, zeros, sizeof(zeros));
}

static void reader_close(reader *r)
{
    free(r->tables);
    free(r->blocks);
    free(r->bytes);
}

static sl_huffman_tables *make_stop(void)
{
    sl_huffman_tables *stop = aligned(SL_HUFFMAN_ALIGN, sizeof(*stop));
    sl_huffman_make_stop(stop);
    return stop;
}

static const uint32_t densities[] = {0, 6, 40, 128, 240, 256};

static void one_stream_equals_the_model(void **unused)
{
    (void)unused;
    sl_huffman_tables *stop = make_stop();
    static scan s;
    for (uint32_t i = 0; i < 180; i++) {
        make_scan(&s, i % 2 == 0, densities[i % 6], 1 + i % 15);
        for (sl_simd simd = SL_SIMD_SCALAR; simd <= sl_simd_best(); simd++) {
            reader r;
            reader_open(&r, &s, stop);
            assert_true(sl_huffman_run(simd, &r.stream, NULL));
            reader_check(&r, &s);
            reader_close(&r);
        }
    }
    free(stop);
}

static void two_streams_equal_the_model(void **unused)
{
    (void)unused;
    sl_huffman_tables *stop = make_stop();
    static scan s[2];
    for (uint32_t i = 0; i < 90; i++) {
        make_scan(&s[0], i % 2 == 0, densities[i % 6], 1 + i % 11);
        make_scan(&s[1], i % 3 == 0, densities[(i / 6) % 6], 1 + i % 7);
        reader r[2];
        reader_open(&r[0], &s[0], stop);
        reader_open(&r[1], &s[1], stop);
        assert_true(sl_huffman_run(sl_simd_best(), &r[0].stream, &r[1].stream));
        for (int j = 0; j < 2; j++) {
            if (!sl_huffman_at_end(&r[j].stream)) {
                assert_true(sl_huffman_run(sl_simd_best(), &r[j].stream, NULL));
            }
        }
        for (int j = 0; j < 2; j++) {
            reader_check(&r[j], &s[j]);
            reader_close(&r[j]);
        }
    }
    free(stop);
}

/* Bits that are not a scan: decoding ends, and accesses only permitted memory. */
/* Makes up to 63 random bytes, followed only by the padding. */
static void make_garbage(reader *r, sl_huffman_tables *stop, bool ones)
{
    const size_t size = draw(64);
    free(r->bytes);
    r->bytes = calloc(1, size + SL_HUFFMAN_PADDING);
    assert_non_null(r->bytes);
    for (size_t k = 0; k < size; k++) {
        r->bytes[k] = (uint8_t)(ones ? 0xFF : draw(256));
    }
    sl_huffman_begin(&r->stream, r->bytes, size, stop);
    sl_huffman_aim(&r->stream, r->blocks, r->tables);
}

static void garbage_stays_inside(void **unused)
{
    (void)unused;
    sl_huffman_tables *stop = make_stop();
    static scan s;
    uint32_t refused = 0;
    for (uint32_t i = 0; i < 600; i++) {
        if (i % 20 == 0) {
            make_scan(&s, i % 40 == 0, 60, 8);
        }
        reader r[2];
        for (int j = 0; j < 2; j++) {
            reader_open(&r[j], &s, stop);
            make_garbage(&r[j], stop, i % 3 == 0);
        }
        bool good = sl_huffman_run(sl_simd_best(), &r[0].stream, &r[1].stream);
        for (int j = 0; j < 2; j++) {
            if (good && !sl_huffman_at_end(&r[j].stream)) {
                good = sl_huffman_run(sl_simd_best(), &r[j].stream, NULL);
            }
        }
        refused += !good;
        reader_close(&r[0]);
        reader_close(&r[1]);
    }
    assert_true(refused > 100);
    free(stop);
}

/* Also where a level overwrites the memory that it fills next. */
static void tables_are_the_same_at_every_level(void **unused)
{
    (void)unused;
    sl_huffman_tables *made[2];
    for (int i = 0; i < 2; i++) {
        made[i] = aligned(SL_HUFFMAN_ALIGN, sizeof(*made[i]));
    }
    static scan s;
    for (uint32_t i = 0; i < 200; i++) {
        make_scan(&s, i % 2 == 0, 40, 6);
        const sl_huffman_code dc = {s.dc.bits, s.dc.symbols};
        const sl_huffman_code ac = {s.ac.bits, s.ac.symbols};
        for (sl_simd simd = SL_SIMD_SCALAR; simd <= sl_simd_best(); simd++) {
            sl_huffman_tables *tables = made[simd != SL_SIMD_SCALAR];
            memset(tables, 0xAA, sizeof(*tables));
            assert_true(sl_huffman_make(simd, tables, &dc, &ac));
            assert_memory_equal(tables->dc, made[0]->dc, sizeof(tables->dc));
            assert_memory_equal(tables->ac, made[0]->ac, sizeof(tables->ac));
            assert_memory_equal(&tables->dc_code.last[1], &made[0]->dc_code.last[1],
                                sizeof(tables->dc_code) - sizeof(int32_t));
            assert_memory_equal(tables->ac_code.symbols, made[0]->ac_code.symbols,
                                sizeof(tables->ac_code.symbols));
        }
    }
    free(made[0]);
    free(made[1]);
}

static void bad_codes_are_refused(void **unused)
{
    (void)unused;
    sl_huffman_tables *tables = aligned(SL_HUFFMAN_ALIGN, sizeof(*tables));
    static const uint8_t symbols[256];
    uint8_t good[17] = {0, 1, 1};
    uint8_t crowded[17] = {0, 3};
    uint8_t all_ones[17] = {0, 1, 2};
    uint8_t endless[17] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};
    const sl_huffman_code fine = {good, symbols};
    assert_true(sl_huffman_make(sl_simd_best(), tables, &fine, &fine));
    assert_false(
        sl_huffman_make(sl_simd_best(), tables, &(sl_huffman_code){crowded, symbols}, &fine));
    assert_false(
        sl_huffman_make(sl_simd_best(), tables, &(sl_huffman_code){all_ones, symbols}, &fine));
    assert_false(
        sl_huffman_make(sl_simd_best(), tables, &fine, &(sl_huffman_code){endless, symbols}));
    static const uint8_t large[256] = {16, 0};
    assert_false(sl_huffman_make(sl_simd_best(), tables, &(sl_huffman_code){good, large}, &fine));
    free(tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_stream_equals_the_model),
                                       cmocka_unit_test(two_streams_equal_the_model),
                                       cmocka_unit_test(garbage_stays_inside),
                                       cmocka_unit_test(tables_are_the_same_at_every_level),
                                       cmocka_unit_test(bad_codes_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
