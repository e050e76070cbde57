/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_huffman_tables.h"

#include <string.h>

enum {
    INDEX_BITS = SL_HUFFMAN_INDEX_BITS,
    ENTRIES = SL_HUFFMAN_ENTRIES,
    TABLE_BYTES = ENTRIES * (int)sizeof(sl_huffman_entry),
    LONG = SL_HUFFMAN_LONG,
    NO_CODE = SL_HUFFMAN_NO_CODE,
    END = SL_HUFFMAN_END
};

_Static_assert(sizeof(sl_huffman_entry) == 8, "an entry is one word");
_Static_assert(SL_HUFFMAN_ALIGN == (size_t)2 * TABLE_BYTES, "ac lies behind dc");

/* ITU-T T.81, C.2 and F.2.2.3, with libjpeg's checks. */
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
        /* libjpeg wants no code of all ones */
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

/* T.81 F.2.2.1, EXTEND. */
static int16_t extend(uint32_t bits, uint32_t size)
{
    const int32_t half = size > 0 ? 1 << (size - 1) : 0;
    const int32_t value = (int32_t)bits;
    return (int16_t)(value < half ? value - 2 * half + 1 : value);
}

/* An entry for one symbol whose magnitude bits are known. */
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

/* An entry as one word: tables are filled by copies and sums of words. */
typedef uint64_t word;

static inline word word_of(sl_huffman_entry entry)
{
    word w;
    memcpy(&w, &entry, sizeof(w));
    return w;
}

static inline uint32_t total_of(word w)
{
    sl_huffman_entry entry;
    memcpy(&entry, &w, sizeof(entry));
    return entry.total;
}

/*
 * A pair is the sum of two words, byte by byte, with no carries: `head` of the first symbol, `tail`
 * of the second. (The tail of an end of block writes a zero where a zero is.)
 */
static word head_of(sl_huffman_entry entry)
{
    entry.second = (uint8_t)entry.advance;
    entry.values[1] = 0;
    return word_of(entry);
}

static word tail_of(sl_huffman_entry entry)
{
    entry.second = entry.first;
    entry.first = 0;
    entry.values[1] = entry.values[0];
    entry.values[0] = 0;
    return word_of(entry);
}

/*
 * Fills the indices that begin with the `total` bits of `index`. With `tails` the bits behind them
 * are used too, where they are a whole symbol.
 */
static void fill(word *table, uint32_t index, sl_huffman_entry entry, const word *tails)
{
    const uint32_t total = entry.total;
    const uint32_t spare = (uint32_t)INDEX_BITS - total;
    const word alone = word_of(entry);
    word *at = table + index;
    if (tails == NULL || entry.advance == END || spare < 2) {
        for (uint32_t rest = 0; rest < 1U << spare; rest++) {
            at[rest] = alone;
        }
        return;
    }
    const word head = head_of(entry);
    for (uint32_t rest = 0; rest < 1U << spare; rest++) {
        const word tail = tails[rest << total];
        at[rest] = total_of(tail) <= spare ? head + tail : alone;
    }
}

/* What goes into a table: single symbols, pairs where there are tails, or tails. */
typedef struct filling {
    const sl_huffman_code *code;
    const word *tails;
    bool dc, into_tails;
} filling;

static void fill_symbol(word *table, const filling *how, uint32_t symbol, uint32_t length,
                        uint32_t index)
{
    const uint32_t size = symbol & 15;
    const uint32_t total = length + size;
    if (total > INDEX_BITS) {
        const word outside = word_of((sl_huffman_entry){.total = (uint8_t)total,
                                                        .advance = LONG,
                                                        .first = (uint8_t)(symbol >> 4),
                                                        .second = (uint8_t)size});
        for (uint32_t rest = 0; rest < 1U << (INDEX_BITS - length); rest++) {
            table[index + rest] = outside;
        }
        return;
    }
    for (uint32_t magnitude = 0; magnitude < 1U << size; magnitude++) {
        sl_huffman_entry entry = entry_of(total, symbol, magnitude, how->dc);
        if (how->into_tails) {
            const word tail = tail_of(entry);
            memcpy(&entry, &tail, sizeof(entry));
        }
        fill(table, index + (magnitude << ((uint32_t)INDEX_BITS - total)), entry, how->tails);
    }
}

static void table_make(word *table, const filling *how)
{
    const sl_huffman_code *code = how->code;
    uint32_t next = 0;
    const uint8_t *symbol = code->symbols;
    for (uint32_t length = 1; length <= INDEX_BITS; length++, next <<= 1) {
        for (int i = 0; i < code->bits[length]; i++, next++, symbol++) {
            fill_symbol(table, how, *symbol, length, next << ((uint32_t)INDEX_BITS - length));
        }
    }
    /* longer codes, and what is no code */
    const word unknown = word_of((sl_huffman_entry){.total = NO_CODE, .advance = LONG});
    for (uint32_t index = next >> 1; index < ENTRIES; index++) {
        table[index] = unknown;
    }
}

bool sl_huffman_make(sl_huffman_tables *tables, const sl_huffman_code *dc,
                     const sl_huffman_code *ac)
{
    if (!canonical_make(&tables->dc_code, dc, true) ||
        !canonical_make(&tables->ac_code, ac, false)) {
        return false;
    }
    word table[ENTRIES];
    word tails[ENTRIES];
    table_make(tails, &(filling){.code = ac, .into_tails = true});
    table_make(table, &(filling){.code = ac, .tails = tails});
    memcpy(tables->ac, table, sizeof(table));
    /* pairs would save less here than they cost: DC is one symbol of many */
    table_make(table, &(filling){.code = dc, .dc = true});
    memcpy(tables->dc, table, sizeof(table));
    return true;
}

void sl_huffman_make_stop(sl_huffman_tables *stop)
{
    memset(stop, 0, sizeof(*stop));
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
