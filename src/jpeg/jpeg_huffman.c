/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place in a block is kept + 128, so that one bit each tells what `place + advance` means:
 *   bit 7 clear: the block is complete (an end of block advances by -128 besides);
 *   bit 6 set:   this entry cannot be taken as it is. That is a coefficient past the end of the
 *                block (or at it: whatever was packed behind it belongs to the next block), or
 *                advance = LONG.
 */
#include "jpeg_huffman.h"

#include "jpeg_zigzag.h"
#include "little_endian.h"

#include <assert.h>
#include <string.h>

enum {
    INDEX_BITS = SL_HUFFMAN_INDEX_BITS,
    ENTRIES = SL_HUFFMAN_ENTRIES,
    TABLE_BYTES = ENTRIES * (int)sizeof(sl_huffman_entry),
    LONG = 64, /* total > INDEX_BITS, or not even the code fits: */
    NO_CODE = 255,
    END = -128,     /* of a block */
    PLACE = 128,    /* place 0 */
    COMPLETE = 192, /* place 64 */
    ROUND = 4       /* look-ups for one refill: 4 x 11 bits of at least 56 */
};

_Static_assert(sizeof(sl_huffman_entry) == 8, "an entry is one word");
_Static_assert(SL_HUFFMAN_ALIGN == (size_t)2 * TABLE_BYTES, "ac lies behind dc");

/* --- tables --- */

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

/* --- streams --- */

void sl_huffman_begin(sl_huffman_stream *stream, const uint8_t *bytes, size_t size,
                      const sl_huffman_tables *stop)
{
    *stream = (sl_huffman_stream){.at = bytes,
                                  .begin = bytes,
                                  .limit = bytes + size + sizeof(uint64_t),
                                  .place = PLACE,
                                  .table = stop->ac,
                                  .stop = stop->ac};
}

void sl_huffman_aim(sl_huffman_stream *stream, sl_huffman_block *block,
                    const sl_huffman_tables *tables)
{
    stream->block = block;
    stream->place = PLACE;
    stream->table = tables->dc;
}

uint64_t sl_huffman_used(const sl_huffman_stream *stream)
{
    return (uint64_t)(stream->at - stream->begin) * 8 - stream->valid;
}

/* Afterwards at least 56 bits are valid (Giesen, "Reading bits in far too many ways", part 2). */
static inline void refill(sl_huffman_stream *s)
{
    s->buffer |= __builtin_bswap64(sl_load64(s->at)) >> s->valid;
    s->at += (63 - s->valid) >> 3;
    s->valid |= 56;
}

static inline void consume(sl_huffman_stream *s, uint64_t bits)
{
    s->buffer <<= bits & 63;
    s->valid -= bits;
}

/* One symbol by the canonical code; total 0 when there is none. */
static __attribute__((noinline)) sl_huffman_entry decode_exact(uint64_t buffer,
                                                               const sl_huffman_entry *table)
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

/* The code is in the index, its magnitude not. */
static inline sl_huffman_entry decode_long(uint64_t buffer, const sl_huffman_entry *entry)
{
    const uint64_t size = entry->second;
    const uint64_t bits = (buffer << (entry->total - size)) >> (64 - size);
    const uint64_t negative = (bits >> (size - 1)) - 1; /* all ones, or 0 */
    sl_huffman_entry found = *entry;
    found.advance = (int8_t)(entry->first + 1);
    found.values[0] = (int16_t)(bits - (negative & ((UINT64_C(1) << size) - 1)));
    return found;
}

/* Where the symbol at hand cannot be taken from its entry. Gives the new place. */
static inline uint64_t step_aside(sl_huffman_stream *s, const sl_huffman_entry *entry)
{
    refill(s);
    const sl_huffman_entry found = entry->advance == LONG && entry->total != NO_CODE
                                       ? decode_long(s->buffer, entry)
                                       : decode_exact(s->buffer, s->table);
    consume(s, found.total);
    refill(s);
    if (found.total == 0 ||
        (found.advance != END && s->place + (uint64_t)found.advance > COMPLETE)) {
        s->at = s->limit + 1; /* the mark of a bad stream */
        s->table = s->stop;
        return PLACE;
    }
    if (found.advance == END) {
        return 0;
    }
    s->block->values[sl_jpeg_natural_order[s->place - PLACE + found.first]] = found.values[0];
    const uint64_t place = s->place + (uint64_t)found.advance;
    return place == COMPLETE ? 0 : place;
}

/* Goes on behind an entry: in the block, or in the next one when `place` says so. */
static inline void move_on(sl_huffman_stream *s, uint64_t place)
{
    const sl_huffman_entry *next_table = s->block->next_table;
    sl_huffman_block *block = s->block->next;
    /* the component's ac table: the same address with one bit set */
    const sl_huffman_entry *table =
        s->table + (~(uintptr_t)s->table & TABLE_BYTES) / sizeof(*table);
    uint64_t here = PLACE;
#if defined(__x86_64__)
    /* a compiler would make this a branch, which would be mispredicted at every other block */
    __asm__("testb $-128, %b[place]\n\t"
            "cmovz %[next_table], %[table]\n\t"
            "cmovnz %[same], %[block]\n\t"
            "cmovnz %[place], %[here]"
            : [table] "+&r"(table), [block] "+&r"(block), [here] "+r"(here)
            : [place] "r"(place), [next_table] "rm"(next_table), [same] "r"(s->block)
            : "cc");
#else
    const bool complete = (place & 128) == 0;
    table = complete ? next_table : table;
    block = complete ? block : s->block;
    here = complete ? here : place;
#endif
    s->table = table;
    s->block = block;
    s->place = here;
}

static inline void step(sl_huffman_stream *s)
{
    const sl_huffman_entry *entry = s->table + (s->buffer >> (64 - INDEX_BITS));
    uint64_t place = s->place + (uint64_t)(int64_t)entry->advance;
    if (__builtin_expect((place & 64) != 0, 0)) {
        place = step_aside(s, entry);
    } else {
        const uint8_t *order = sl_jpeg_natural_order + (s->place - PLACE);
        s->block->values[order[entry->first]] = entry->values[0];
        s->block->values[order[entry->second]] = entry->values[1];
        consume(s, entry->total);
    }
    move_on(s, place);
}

static inline bool going(const sl_huffman_stream *s)
{
    return s->table != s->stop && s->at <= s->limit;
}

/* The streams are copied, so that they can live in registers. */
static inline __attribute__((always_inline)) bool run_two(sl_huffman_stream *a_out,
                                                          sl_huffman_stream *b_out)
{
    sl_huffman_stream a = *a_out;
    sl_huffman_stream b = *b_out;
    do {
        refill(&a);
        refill(&b);
        for (int i = 0; i < ROUND; i++) {
            step(&a);
            step(&b);
        }
    } while (going(&a) && going(&b));
    *a_out = a;
    *b_out = b;
    return a.at <= a.limit && b.at <= b.limit;
}

static inline __attribute__((always_inline)) bool run_one(sl_huffman_stream *out)
{
    sl_huffman_stream s = *out;
    do {
        refill(&s);
        for (int i = 0; i < ROUND; i++) {
            step(&s);
        }
    } while (going(&s));
    *out = s;
    return s.at <= s.limit;
}

static bool run_portable(sl_huffman_stream *a, sl_huffman_stream *b)
{
    return b != NULL ? run_two(a, b) : run_one(a);
}

#if defined(__x86_64__)
__attribute__((target("bmi,bmi2"))) static bool run_bmi2(sl_huffman_stream *a, sl_huffman_stream *b)
{
    return b != NULL ? run_two(a, b) : run_one(a);
}
#endif

bool sl_huffman_run(sl_simd simd, sl_huffman_stream *a, sl_huffman_stream *b)
{
    assert(!sl_huffman_at_end(a) && (b == NULL || !sl_huffman_at_end(b)));
#if defined(__x86_64__)
    if (simd >= SL_SIMD_AVX2) {
        return run_bmi2(a, b);
    }
#endif
    (void)simd;
    return run_portable(a, b);
}
