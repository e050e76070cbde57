/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_counts: how often each Huffman symbol will occur when coefficients are written.
 *
 * Purpose: with the counts known the best tables can be made and the picture written in one pass;
 * libjpeg's own way of counting takes longer than all the rest of a transcode.
 * Invariant: the order of blocks, the restarts and the blocks that fill MCUs are those of libjpeg's
 * transcoder (jctrans.c). Should they ever differ, the picture comes out wrong and is not stored
 * (jpeg_readback.h).
 * Threads: those of the codec objects.
 */
#ifndef SL_JPEG_COUNTS_H
#define SL_JPEG_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

/*
 * Fills the Huffman tables of `out`, whose parameters are set, for writing the coefficients that
 * `in` read in one scan with this restart interval. False: a value is too large for 8-bit
 * sequential coding.
 */
bool sl_jpeg_counts_fit_tables(j_compress_ptr out, j_decompress_ptr in,
                               jvirt_barray_ptr *coefficients, uint32_t interval);

#endif
