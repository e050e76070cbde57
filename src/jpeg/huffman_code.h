/* SPDX-License-Identifier: Apache-2.0 */
/*
 * huffman_code: the shortest Huffman code for given counts that is allowed in a JPEG.
 *
 * Purpose: ITU-T T.81, annex K.2: lengths up to 16 bits, and no code of all ones.
 * Threads: pure.
 */
#ifndef SL_HUFFMAN_CODE_H
#define SL_HUFFMAN_CODE_H

#include <stdint.h>

/* A code as in a DHT segment. */
typedef struct sl_huffman_lengths {
    uint8_t bits[17];     /* codes of each length; [0] is 0 */
    uint8_t symbols[256]; /* in the order of their codes */
} sl_huffman_lengths;

/* Makes the code of the symbols whose count is not 0. There is at least one; the counts' sum is
 * below 2^63. */
void sl_huffman_code_make(sl_huffman_lengths *code, const uint64_t counts[256]);

#endif
