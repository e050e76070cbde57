/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_counts: how often each Huffman symbol will occur when coefficients are written.
 *
 * Purpose: with the counts known the best tables can be made and the picture written in one pass;
 * libjpeg's own way of counting takes longer than all the rest of a transcode. They also tell how
 * many bytes any tables would make of it.
 * Invariant: the order of blocks, the restarts and the blocks that fill MCUs are those of libjpeg's
 * transcoder (jctrans.c). Should they ever differ, the picture comes out wrong and is not stored
 * (jpeg_readback.h).
 * Threads: those of the codec objects.
 */
#ifndef SL_JPEG_COUNTS_H
#define SL_JPEG_COUNTS_H

#include "huffman_code.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

#define SL_JPEG_COUNTS_TABLES \
    2 /* of each kind: those that jpeg_set_colorspace gives to components */

typedef struct sl_jpeg_counts {
    uint64_t dc[SL_JPEG_COUNTS_TABLES][256], ac[SL_JPEG_COUNTS_TABLES][256];
    bool used[SL_JPEG_COUNTS_TABLES];
    uint64_t zigzag[DCTSIZE][256]; /* bits of a row of a block, as bits in zigzag order */
} sl_jpeg_counts;

/* Once for all pictures. */
void sl_jpeg_counts_init(sl_jpeg_counts *counts);
/*
 * Counts the coefficients that `in` read, for `out`, whose parameters are set, in one scan with
 * this restart interval (0: none). False: a value is too large for 8-bit sequential coding.
 */
bool sl_jpeg_counts_take(sl_jpeg_counts *counts, j_compress_ptr out, j_decompress_ptr in,
                         jvirt_barray_ptr *coefficients, uint32_t interval);
/* Huffman codes for each table. */
typedef struct sl_jpeg_codes {
    sl_huffman_lengths dc[SL_JPEG_COUNTS_TABLES], ac[SL_JPEG_COUNTS_TABLES];
} sl_jpeg_codes;

/* The shortest ones. Those of tables that are not used stay as they are. */
void sl_jpeg_codes_best(sl_jpeg_codes *codes, const sl_jpeg_counts *counts);
/* Those that `out` has: at first the usual ones (ITU-T T.81, K.3), which can code anything. */
void sl_jpeg_codes_of(sl_jpeg_codes *codes, const struct jpeg_compress_struct *out);
void sl_jpeg_codes_set(const sl_jpeg_codes *codes, const sl_jpeg_counts *counts,
                       j_compress_ptr out);
/* What the symbols and their magnitudes take, without what is stuffed. */
uint64_t sl_jpeg_codes_bytes(const sl_jpeg_codes *codes, const sl_jpeg_counts *counts);

#endif
