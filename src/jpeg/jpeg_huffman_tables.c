/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_huffman_tables: makes look-up tables from a code's lengths, by plain loops and with AVX2,
 * with the same result. Pure. Rejects invalid codes. */
#include "jpeg_huffman_tables.h"

#include <string.h>

enum {
    INDEX_BITS = SL_HUFFMAN_INDEX_BITS,
    TAIL_BITS = INDEX_BITS - 1, /* maximum bits after a symbol */
    ENTRIES = SL_HUFFMAN_ENTRIES,
    TABLE_BYTES = ENTRIES * (int)sizeof(sl_huffman_entry),
    LONG = SL_HUFFMAN_LONG,
    NO_CODE = SL_HUFFMAN_NO_CODE,
    END = SL_HUFFMAN_END
};

_Static_assert(sizeof(sl_huffman_entry) == 8, "an entry is one word");
_Static_assert(SL_HUFFMAN_ALIGN == (size_t)2 * TABLE_BYTES, "ac lies behind dc");

/* Makes the canonical code: ITU-T T.81, C.2 and F.2.2.3, with libjpeg's checks. */
static bool canonical_make(sl_huffman_canonical *canonical, const sl_huffman_code *code, bool dc)
{
    int32_t next = 0;
    int32_t count = 0;
    for (int length = 1; length <= 16; length++) {
        const int32_t here = code->bits[length];
        canonical->first[length] = count - next;
        canonical->last[length] = here > 0 ? next + here - 1 : -1;
        next += here;
        count += here;
        /* libjpeg forbids a code of all ones */
        if (count > 256 || (here > 0 && next >= (1 << length))) {
            return false;
        }
        next <<= 1;
    }
    canonical->last[17] = INT32_MAX;
    canonical->first[17] = 0;
    memset(canonical->symbols, 0, sizeof(canonical->symbols));
    memcpy(canonical->symbols, code->symbols, (size_t)count);
    for (int32_t i = 0; dc && i < count; i++) {
        if (code->symbols[i] > 15) {
            return false;
        }
    }
    return true;
}

/* An entry as one word: tables are filled by sums of words, several at a time. A sum of entries
 * is computed field by field, as long as no field overflows. */
typedef uint64_t word __attribute__((may_alias));
typedef uint64_t words __attribute__((vector_size(32), aligned(8), may_alias));
/* Inlined into a function for each level of SIMD. */
#define FILLS static inline __attribute__((always_inline))
enum { WORDS = sizeof(words) / sizeof(word), SPILL = WORDS - 1 };

FILLS word word_of(sl_huffman_entry entry)
{
    word w;
    memcpy(&w, &entry, sizeof(w));
    return w;
}

/* Writes `value` `count` times. Returns the end; up to SPILL words after it may be overwritten,
 * which saves a branch for each of many short runs. */
FILLS word *jpeg_huffman_tables_put(word *at, uint32_t count, word value)
{
    word *const end = at + count;
    do {
        *(words *)at = (words){0} + value;
        at += WORDS;
    } while (at < end);
    return end;
}

/* Writes several values and their successors, `step` further each. */
FILLS word *put_ramp(word *at, uint32_t count, words values, word step)
{
    word *const end = at + count;
    do {
        *(words *)at = values;
        values += step;
        at += WORDS;
    } while (at < end);
    return end;
}

/* Writes `value` with each of `tails` added. */
FILLS word *put_sums(word *at, uint32_t count, word value, const word *tails)
{
    word *const end = at + count;
    do {
        *(words *)at = *(const words *)tails + value;
        at += WORDS;
        tails += WORDS;
    } while (at < end);
    return end;
}

/* A symbol to be put into a table: its word without a magnitude, and the addend for a magnitude
 * of 1. */
typedef struct filling {
    word base, one;
    uint32_t size;     /* bits of the magnitude */
    uint32_t spare;    /* bits of the index after the symbol */
    const word *tails; /* for these bits; NULL: the symbol stays alone */
} filling;

/* Writes `count` neighbouring magnitudes, each with all possible tails. */
FILLS word *put_magnitudes(word *at, const filling *f, uint32_t first, uint32_t count)
{
    const word value = f->base + f->one * (uint16_t)first;
    if (f->spare == 0) {
        return put_ramp(at, count, (words){0, 1, 2, 3} * f->one + value, f->one * WORDS);
    }
    if (f->spare == 1) {
        return put_ramp(at, 2 * count, (words){0, 0, 1, 1} * f->one + value, f->one * WORDS / 2);
    }
    for (uint32_t i = 0; i < count; i++) {
        at = f->tails != NULL ? put_sums(at, 1U << f->spare, value + i * f->one, f->tails)
                              : jpeg_huffman_tables_put(at, 1U << f->spare, value + i * f->one);
    }
    return at;
}

/* Writes in the order of their bits: the negative magnitudes, then the positive ones (T.81
 * F.2.2.1). */
FILLS word *put_symbol(word *at, const filling *f)
{
    if (f->size == 0) {
        return put_magnitudes(at, f, 0, 1);
    }
    const uint32_t half = 1U << (f->size - 1);
    at = put_magnitudes(at, f, 1 - 2 * half, half);
    return put_magnitudes(at, f, half, half);
}

/*
 * Returns the head. A pair is the sum of two words: the head, of the first symbol, and the tail, of
 * the second. A head alone is a pair, too: it writes a zero at the place after it, which is still
 * empty. So does the tail of an end of block.
 */
FILLS word head_of(uint32_t total, uint32_t symbol)
{
    const uint32_t run = symbol >> 4;
    if ((symbol & 15) == 0 && run != 15) {
        return word_of((sl_huffman_entry){.total = (uint8_t)total, .advance = END});
    }
    return word_of((sl_huffman_entry){.total = (uint8_t)total,
                                      .advance = (int8_t)(run + 1),
                                      .first = (uint8_t)run,
                                      .second = (uint8_t)(run + 1)});
}

FILLS word tail_of(uint32_t total, uint32_t symbol)
{
    const uint32_t run = symbol >> 4;
    if ((symbol & 15) == 0 && run != 15) {
        return word_of((sl_huffman_entry){.total = (uint8_t)total, .advance = END});
    }
    return word_of((sl_huffman_entry){
        .total = (uint8_t)total, .advance = (int8_t)(run + 1), .second = (uint8_t)run});
}

FILLS word outside_of(uint32_t total, uint32_t symbol)
{
    return word_of((sl_huffman_entry){.total = (uint8_t)total,
                                      .advance = LONG,
                                      .first = (uint8_t)(symbol >> 4),
                                      .second = (uint8_t)(symbol & 15)});
}

/* Fills the end of a table: longer codes, and invalid ones. */
FILLS void put_rest(word *at, const word *table)
{
    const word unknown = word_of((sl_huffman_entry){.total = NO_CODE, .advance = LONG});
    for (; at < table + ENTRIES; at++) {
        *at = unknown;
    }
}

/* Makes the tails for k bits at tails + 2^k, for each k up to TAIL_BITS; a word is 0 if the bits
 * are not a whole symbol. */
FILLS void make_tails(word *tails, const sl_huffman_code *ac)
{
    word *at = tails + ((size_t)1 << TAIL_BITS);
    const uint8_t *symbol = ac->symbols;
    for (uint32_t length = 1; length <= TAIL_BITS; length++) {
        for (int i = 0; i < ac->bits[length]; i++, symbol++) {
            const uint32_t size = *symbol & 15;
            const uint32_t total = length + size;
            if (total > TAIL_BITS) {
                at = jpeg_huffman_tables_put(at, 1U << (TAIL_BITS - length), 0);
                continue;
            }
            at = put_symbol(at, &(filling){.base = tail_of(total, *symbol),
                                           .one = word_of((sl_huffman_entry){.values = {0, 1}}),
                                           .size = size,
                                           .spare = TAIL_BITS - total});
        }
    }
    memset(at, 0, (size_t)((tails + ((size_t)2 << TAIL_BITS)) - at) * sizeof(*at));
    for (uint32_t k = TAIL_BITS - 1; k > 0; k--) {
        const word *from = tails + ((size_t)2 << k);
        word *to = tails + ((size_t)1 << k);
        for (size_t i = 0; i < (size_t)1 << k; i++) {
            /* all ones if at most k bits are used */
            const word fits = 0 - (((from[2 * i] & UINT8_MAX) - (k + 1)) >> 63);
            to[i] = from[2 * i] & fits;
        }
    }
}

FILLS void make_ac(word *table, const sl_huffman_code *ac)
{
    alignas(64) word tails[(2U << TAIL_BITS) + SPILL];
    make_tails(tails, ac);
    word *at = table;
    const uint8_t *symbol = ac->symbols;
    for (uint32_t length = 1; length <= INDEX_BITS; length++) {
        for (int i = 0; i < ac->bits[length]; i++, symbol++) {
            const uint32_t size = *symbol & 15;
            const uint32_t total = length + size;
            if (total > INDEX_BITS) {
                at = jpeg_huffman_tables_put(at, 1U << (INDEX_BITS - length),
                                             outside_of(total, *symbol));
                continue;
            }
            const uint32_t spare = INDEX_BITS - total;
            const word head = head_of(total, *symbol);
            const bool pairs = spare >= 2 && (size > 0 || *symbol >> 4 == 15);
            at = put_symbol(at, &(filling){.base = head,
                                           .one = word_of((sl_huffman_entry){.values = {1, 0}}),
                                           .size = size,
                                           .spare = spare,
                                           .tails = pairs ? tails + (1U << spare) : NULL});
        }
    }
    put_rest(at, table);
}

/* Makes the DC table without pairs, which would cost more than they save: DC is one symbol of
 * many. */
FILLS void make_dc(word *table, const sl_huffman_code *dc)
{
    word *at = table;
    const uint8_t *symbol = dc->symbols;
    for (uint32_t length = 1; length <= INDEX_BITS; length++) {
        for (int i = 0; i < dc->bits[length]; i++, symbol++) {
            const uint32_t total = length + *symbol;
            if (total > INDEX_BITS) {
                at = jpeg_huffman_tables_put(at, 1U << (INDEX_BITS - length),
                                             outside_of(total, *symbol));
                continue;
            }
            const word base = word_of((sl_huffman_entry){.total = (uint8_t)total, .advance = 1});
            at = put_symbol(at, &(filling){.base = base,
                                           .one = word_of((sl_huffman_entry){.values = {1, 1}}),
                                           .size = *symbol,
                                           .spare = INDEX_BITS - total});
        }
    }
    put_rest(at, table);
}

static void fill_portable(sl_huffman_tables *tables, const sl_huffman_code *dc,
                          const sl_huffman_code *ac)
{
    make_dc((word *)(void *)tables->dc, dc);
    make_ac((word *)(void *)tables->ac, ac);
}

#if defined(__x86_64__)
SL_TARGET_AVX2 static void fill_avx2(sl_huffman_tables *tables, const sl_huffman_code *dc,
                                     const sl_huffman_code *ac)
{
    make_dc((word *)(void *)tables->dc, dc);
    make_ac((word *)(void *)tables->ac, ac);
}
#endif

bool sl_huffman_make(sl_simd simd, sl_huffman_tables *tables, const sl_huffman_code *dc,
                     const sl_huffman_code *ac)
{
    if (!canonical_make(&tables->dc_code, dc, true) ||
        !canonical_make(&tables->ac_code, ac, false)) {
        return false;
    }
#if defined(__x86_64__)
    if (simd >= SL_SIMD_AVX2) {
        fill_avx2(tables, dc, ac);
        return true;
    }
#endif
    (void)simd;
    fill_portable(tables, dc, ac);
    return true;
}

void sl_huffman_make_stop(sl_huffman_tables *stop)
{
    memset(stop, 0, sizeof(*stop));
}

/* Extends the sign: T.81 F.2.2.1, EXTEND. */
static int16_t extend(uint32_t bits, uint32_t size)
{
    const int32_t half = size > 0 ? 1 << (size - 1) : 0;
    const int32_t value = (int32_t)bits;
    return (int16_t)(value < half ? value - 2 * half + 1 : value);
}

/* Returns an entry for one symbol whose magnitude bits are known. */
static sl_huffman_entry entry_of(uint32_t total, uint32_t symbol, uint32_t magnitude, bool dc)
{
    const uint32_t size = symbol & 15;
    const uint32_t run = symbol >> 4;
    sl_huffman_entry entry = {.total = (uint8_t)total};
    if (!dc && size == 0 && run != 15) {
        entry.advance = END;
        return entry;
    }
    entry.first = entry.second = (uint8_t)run;
    entry.advance = (int8_t)(run + 1);
    entry.values[0] = entry.values[1] = extend(magnitude, size);
    return entry;
}

sl_huffman_entry sl_huffman_exact(uint64_t buffer, const sl_huffman_entry *table)
{
    const bool dc = ((uintptr_t)table & TABLE_BYTES) == 0;
    const sl_huffman_entry *first = dc ? table : table - ENTRIES;
    const sl_huffman_tables *tables = (const sl_huffman_tables *)(const void *)first;
    const sl_huffman_canonical *canonical = dc ? &tables->dc_code : &tables->ac_code;
    uint32_t length = 1;
    while ((int32_t)(buffer >> (64 - length)) > canonical->last[length]) {
        length++;
    }
    if (length > 16) {
        return (sl_huffman_entry){0};
    }
    const int32_t index = (int32_t)(buffer >> (64 - length)) + canonical->first[length];
    const uint32_t symbol = canonical->symbols[index & 255];
    const uint32_t size = symbol & 15;
    const uint32_t magnitude = size > 0 ? (uint32_t)((buffer << length) >> (64 - size)) : 0;
    return entry_of(length + size, symbol, magnitude, dc);
}
