/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_readback: reads a re-tiled JPEG and compares it with its original.
 *
 * Purpose: a stored image is never different from the source. The comparison covers everything that
 * a decoder uses: sizes, components, sampling, quantisation tables, the meaning of the colours, and
 * every coefficient of every block that has a pixel. (Blocks that only fill an MCU at the right and
 * lower edge are the encoder's choice; no decoder uses their samples.)
 * Memory: one row of MCUs at a time, from the given scratch.
 * Threads: those of the original's decompressor.
 */
#ifndef SL_JPEG_READBACK_H
#define SL_JPEG_READBACK_H

#include "scratch.h"
#include "view.h"

#include <stdio.h>

#include <jpeglib.h>

/* An image whose coefficients were read (jpeg_read_coefficients). */
typedef struct sl_jpeg_original {
    j_decompress_ptr cinfo;
    jvirt_barray_ptr *coefficients;
} sl_jpeg_original;

/* Compares. OK: `jpeg` is the same image, sequential, in one scan, with this restart interval.
 * Otherwise INTERNAL, and NOMEM if the scratch is too small. */
sluice_status sl_jpeg_readback(const sl_jpeg_original *original, sl_bytes jpeg, uint32_t interval,
                               sl_scratch *scratch, sluice_error *error);

#endif
