/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_readback: reads a re-tiled JPEG again and compares it with the one that it was made from.
 *
 * Purpose: what is stored is never a picture other than the source's. Compared are all that a
 * decoder uses: sizes, components, sampling, quantisation tables, what the colours mean, and every
 * coefficient of every block that has a pixel. (Blocks that only fill an MCU at the right and lower
 * edge are the encoder's choice; no decoder uses their samples.)
 * Memory: one row of MCUs at a time, from the scratch given.
 * Threads: those of the original's decompressor.
 */
#ifndef SL_JPEG_READBACK_H
#define SL_JPEG_READBACK_H

#include "scratch.h"
#include "view.h"

#include <stdio.h>

#include <jpeglib.h>

/* A picture whose coefficients were read (jpeg_read_coefficients). */
typedef struct sl_jpeg_original {
    j_decompress_ptr cinfo;
    jvirt_barray_ptr *coefficients;
} sl_jpeg_original;

/*
 * OK: `jpeg` is the same picture, sequential, in one scan, with this restart interval. Otherwise
 * INTERNAL, and NOMEM when the scratch is too small.
 */
sluice_status sl_jpeg_readback(const sl_jpeg_original *original, sl_bytes jpeg, uint32_t interval,
                               sl_scratch *scratch, sluice_error *error);

#endif
