/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_huffman_tables: the look-up tables of jpeg_huffman.
 *
 * Purpose: a table has an entry for every index of 11 bits: the symbol that begins there with its
 * magnitude, and the next one if it fits, too. Symbols that do not fit are decoded by the canonical
 * code, one by one.
 * Threads: pure.
 */
#ifndef SL_JPEG_HUFFMAN_TABLES_H
#define SL_JPEG_HUFFMAN_TABLES_H

#include "simd.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_HUFFMAN_INDEX_BITS 11
#define SL_HUFFMAN_ENTRIES    (1 << SL_HUFFMAN_INDEX_BITS)

/* Special values of `advance` and `total`. */
enum {
    SL_HUFFMAN_END = -128,   /* advance: an end of block */
    SL_HUFFMAN_LONG = 64,    /* advance: total > SL_HUFFMAN_INDEX_BITS, or the code does not fit: */
    SL_HUFFMAN_NO_CODE = 255 /* total */
};

/* The symbols at an index of bits. */
typedef struct sl_huffman_entry {
    uint8_t total;         /* bits used */
    int8_t advance;        /* of the place in the block; see jpeg_huffman.c */
    uint8_t first, second; /* places of the values, from the place before; LONG: run and size */
    int16_t values[2];     /* if there is only one, the second is 0, or the first again */
} sl_huffman_entry;

/* A Huffman code as a JPEG stores it: bits[l] codes of length l (1..16), symbols in order. */
typedef struct sl_huffman_code {
    const uint8_t *bits;    /* 17; the first is unused */
    const uint8_t *symbols; /* one for each code, at most 256 */
} sl_huffman_code;

/* The canonical code, for decoding symbol by symbol. */
typedef struct sl_huffman_canonical {
    int32_t last[18];  /* greatest code of each length; -1: none; [17] ends every search */
    int32_t first[18]; /* place of the first symbol of a length, less the first code */
    uint8_t symbols[256];
} sl_huffman_canonical;

#define SL_HUFFMAN_ALIGN ((size_t)2 * SL_HUFFMAN_ENTRIES * sizeof(sl_huffman_entry))

/* The tables of a component. `ac` differs from `dc` in one address bit: hence the alignment. */
typedef struct sl_huffman_tables {
    alignas(SL_HUFFMAN_ALIGN) sl_huffman_entry dc[SL_HUFFMAN_ENTRIES];
    sl_huffman_entry ac[SL_HUFFMAN_ENTRIES];
    sl_huffman_entry spill[8]; /* after `ac`, for the function that fills it */
    sl_huffman_canonical dc_code, ac_code;
} sl_huffman_tables;

/* Makes the tables. False: one of the codes is invalid for libjpeg. */
bool sl_huffman_make(sl_simd simd, sl_huffman_tables *tables, const sl_huffman_code *dc,
                     const sl_huffman_code *ac);
/* Makes the tables at the end of a chain of blocks: they take no bits and advance nothing. */
void sl_huffman_make_stop(sl_huffman_tables *stop);

/* Decodes one symbol by the canonical code, from the first bits of `buffer`; it need not be in
 * `table`. total 0: no symbol. */
sl_huffman_entry sl_huffman_exact(uint64_t buffer, const sl_huffman_entry *table);

#endif
