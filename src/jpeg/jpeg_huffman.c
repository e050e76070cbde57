/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place in a block is kept + 128, so that single bits show what `place + advance` means:
 *   bit 7 clear: the block is complete (an end of block also advances by -128);
 *   bit 6 set:   this entry cannot be used. It is a coefficient past the end of the block (or at
 * it: anything packed after it belongs to the next block), or advance = LONG.
 */
#include "jpeg_huffman.h"

#include "jpeg_zigzag.h"
#include "little_endian.h"

#include <assert.h>

enum {
    TABLE_BYTES = SL_HUFFMAN_ENTRIES * (int)sizeof(sl_huffman_entry),
    LONG = SL_HUFFMAN_LONG,
    NO_CODE = SL_HUFFMAN_NO_CODE,
    END = SL_HUFFMAN_END,
    PLACE = 128,    /* place 0 */
    COMPLETE = 192, /* place 64 */
    ROUND = 4       /* look-ups for one refill: 4 x 11 bits of at least 56 */
};

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

/* Refills; afterwards at least 56 bits are valid (Giesen, "Reading bits in far too many ways",
 * part 2). */
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

/* Decodes a symbol whose code is in the index, but not its magnitude. */
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

/* Handles a symbol that cannot be taken from its entry. Returns the new place. */
static inline uint64_t step_aside(sl_huffman_stream *s, const sl_huffman_entry *entry)
{
    refill(s);
    const sl_huffman_entry found = entry->advance == LONG && entry->total != NO_CODE
                                       ? decode_long(s->buffer, entry)
                                       : sl_huffman_exact(s->buffer, s->table);
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

/* Continues after an entry: in the block, or in the next one, depending on `place`. */
static inline void move_on(sl_huffman_stream *s, uint64_t place)
{
    const sl_huffman_entry *next_table = s->block->next_table;
    sl_huffman_block *block = s->block->next;
    /* the component's ac table: the same address with one bit set */
    const sl_huffman_entry *table =
        s->table + (~(uintptr_t)s->table & TABLE_BYTES) / sizeof(*table);
    uint64_t here = PLACE;
#if defined(__x86_64__)
    /* a compiler would emit a branch, mispredicted at every other block */
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

static inline void jpeg_huffman_step(sl_huffman_stream *s)
{
    const sl_huffman_entry *entry = s->table + (s->buffer >> (64 - SL_HUFFMAN_INDEX_BITS));
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

/* Copies the streams, so that they can be in registers. */
static inline __attribute__((always_inline)) bool run_two(sl_huffman_stream *a_out,
                                                          sl_huffman_stream *b_out)
{
    sl_huffman_stream a = *a_out;
    sl_huffman_stream b = *b_out;
    do {
        refill(&a);
        refill(&b);
        for (int i = 0; i < ROUND; i++) {
            jpeg_huffman_step(&a);
            jpeg_huffman_step(&b);
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
            jpeg_huffman_step(&s);
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
