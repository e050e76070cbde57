/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_counts: counts how often each Huffman symbol will occur when coefficients are written.
 *
 * Purpose: with the counts known, the best tables can be made and the image written in one pass;
 * libjpeg's own counting takes longer than the rest of a transcode. They also give the size of the
 * image with any tables.
 * Invariant: the order of blocks, the restarts and the blocks that fill MCUs are those of libjpeg's
 * transcoder (jctrans.c). If they ever differ, the image is wrong and is not stored
 * (jpeg_readback.h). Threads: those of the codec objects.
 */
#ifndef SL_JPEG_COUNTS_H
#define SL_JPEG_COUNTS_H

#include "huffman_code.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

#define SL_JPEG_COUNTS_TABLES 2 /* of each kind: jpeg_set_colorspace uses these */

typedef struct sl_jpeg_counts {
    uint64_t dc[SL_JPEG_COUNTS_TABLES][256], ac[SL_JPEG_COUNTS_TABLES][256];
    bool used[SL_JPEG_COUNTS_TABLES];
    uint64_t zigzag[DCTSIZE][256]; /* the nonzero bits of a row of a block, in zigzag order */
} sl_jpeg_counts;

/* Called once for all images. */
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

/* Makes the shortest codes. Those of unused tables are left alone. */
void sl_jpeg_codes_best(sl_jpeg_codes *codes, const sl_jpeg_counts *counts);
/* Copies the codes of `out`: at first the usual ones (ITU-T T.81, K.3), which can code anything. */
void sl_jpeg_codes_of(sl_jpeg_codes *codes, const struct jpeg_compress_struct *out);
void sl_jpeg_codes_set(const sl_jpeg_codes *codes, const sl_jpeg_counts *counts,
                       j_compress_ptr out);
/* Returns the bytes of the symbols and their magnitudes, without stuffing. */
uint64_t sl_jpeg_codes_bytes(const sl_jpeg_codes *codes, const sl_jpeg_counts *counts);

#endif
