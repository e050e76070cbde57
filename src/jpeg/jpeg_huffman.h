/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_huffman: decodes entropy-coded data of sequential JPEGs to coefficients, two bit streams at
 * a time.
 *
 * Purpose: Huffman decoding takes most of a JPEG decode, mostly in latency: of consecutive table
 * look-ups, and of mispredicted branches at the ends of blocks. Here one look-up of 11 bits returns
 * up to two symbols with their magnitude bits (an end of block counts as one); block ends are not
 * branches (the next block's table and place are selected); and two independent streams (restart
 * intervals) fill each other's gaps. Rare cases leave the fast path: codes and magnitudes beyond 11
 * bits, and blocks whose last coefficient is present. Use: begin sets a stream's bytes; aim sets
 * its chain of blocks; run fills the chains of two streams until one is at its end; then aim sets
 * the next chain, or begin the next interval. Invariants: a stream never reads more than
 * SL_HUFFMAN_PADDING bytes past its end, and never writes outside the blocks of its chain,
 * regardless of the bits. DC values are left as differences. Threads: pure.
 */
#ifndef SL_JPEG_HUFFMAN_H
#define SL_JPEG_HUFFMAN_H

#include "jpeg_huffman_tables.h"
#include "simd.h"

#define SL_HUFFMAN_PADDING 64

/* A block, and its successor. */
typedef struct sl_huffman_block {
    alignas(64) int16_t values[64];     /* natural order; zero before the decode */
    const sl_huffman_entry *next_table; /* the next block's `dc`, or stop->ac at the chain's end */
    struct sl_huffman_block *next;      /* at the chain's end: a block that receives a zero */
} sl_huffman_block;

/* Clears a block. The compiler would turn memset into a slow string instruction. */
static inline void sl_huffman_clear(sl_huffman_block *block)
{
    typedef long long vector __attribute__((vector_size(32)));
    vector *values = (vector *)(void *)block->values;
    for (size_t i = 0; i < 64 * sizeof(int16_t) / sizeof(vector); i++) {
        values[i] = (vector){0};
    }
}

typedef struct sl_huffman_stream {
    uint64_t buffer; /* the next bits, from the top */
    uint64_t valid;  /* how many of them are counted, 0..63 */
    const uint8_t *at, *begin, *limit;
    sl_huffman_block *block;
    uint64_t place;                /* in the block, 0..63, + 128 */
    const sl_huffman_entry *table; /* stop->ac: at the end of the chain */
    const sl_huffman_entry *stop;
} sl_huffman_stream;

/* Begins at `bytes` without stuffing, followed by SL_HUFFMAN_PADDING readable bytes. */
void sl_huffman_begin(sl_huffman_stream *stream, const uint8_t *bytes, size_t size,
                      const sl_huffman_tables *stop);
/* Sets the stream's chain, which begins with `block`, a block of the component of `tables`. */
void sl_huffman_aim(sl_huffman_stream *stream, sl_huffman_block *block,
                    const sl_huffman_tables *tables);
static inline bool sl_huffman_at_end(const sl_huffman_stream *stream)
{
    return stream->table == stream->stop;
}
/* Returns the bits read so far. */
uint64_t sl_huffman_used(const sl_huffman_stream *stream);

/* Decodes until one stream reaches the end of its chain; none may start at its end. `b` may be
 * NULL. False: a stream has an invalid code, or ran far past its bytes. */
bool sl_huffman_run(sl_simd simd, sl_huffman_stream *a, sl_huffman_stream *b);

#endif
