/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_scanlines: decodes a rectangle of a JPEG through libjpeg's scanlines.
 *
 * Purpose: the code path that decodes any image. For a sequential Huffman image, the rows above the
 * rectangle and the columns beside it are only entropy-decoded, and rows below it are not read.
 * Images of several scans and arithmetic-coded ones are decoded from the first row on, at full
 * width. The result equals the rectangle cut out of a full decode (at the same denominator) bit for
 * bit. libjpeg's upsampling treats the edge of a cut like the edge of the image, hence the margins.
 * Threads: those of the decompressor; runs inside sl_jpeg_guard.
 */
#ifndef SL_JPEG_SCANLINES_H
#define SL_JPEG_SCANLINES_H

#include "scratch.h"
#include "view.h"

#include <stdbool.h>
#include <stdio.h>

#include <jpeglib.h>

typedef struct sl_jpeg_cut {
    j_decompress_ptr cinfo; /* has read only the header; is left aborted */
    sl_scratch *scratch;
    sl_rect need;         /* full-size pixels of this JPEG, at multiples of the denominator */
    uint32_t denominator; /* 1, 2, 4 or 8 */
    sl_image view;        /* out */
} sl_jpeg_cut;

/* Decodes for sl_jpeg_guard; `argument` is a sl_jpeg_cut. */
void sl_jpeg_scanlines_work(void *argument);

/* Returns `need` with the pixels that upsampling reads around it, inside an image of width x
 * height: the part of a JPEG to keep for a correct `need`. Full-size pixels. */
sl_rect sl_jpeg_with_margin(j_decompress_ptr cinfo, sl_rect need, uint32_t denominator,
                            sl_rect picture);

/* Returns true for one scan, Huffman-coded, sequential: its rows are read in order. */
bool sl_jpeg_is_plain(j_decompress_ptr cinfo);

/* Converts `pixels` of 4 bytes as Adobe stores them in JPEG (inverted: 255 means no ink) to RGB.
 * Equal to Pillow's Image.open(...).convert("RGB"). */
void sl_rgb_from_inverted_cmyk(const uint8_t *cmyk, uint8_t *rgb, size_t pixels);

#endif
