/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_scanlines: a rectangle of a JPEG through libjpeg's scanlines.
 *
 * Purpose: the code path that takes every picture. Of a sequential Huffman picture the rows above
 * the rectangle are entropy-decoded only, the columns beside it too, and rows below it are not
 * read. Pictures of several scans and arithmetic-coded ones are decoded from the first row on, at
 * full width.
 * The result equals the rectangle cut out of a full decode (at the same denominator) bit for bit.
 * libjpeg's upsampling treats the edge of a cut like the edge of the picture, hence the margins.
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
    j_decompress_ptr cinfo; /* has read the header and nothing more; is left aborted */
    sl_scratch *scratch;
    sl_rect need;         /* full-size pixels of this JPEG, at multiples of the denominator */
    uint32_t denominator; /* 1, 2, 4 or 8 */
    sl_image view;        /* out */
} sl_jpeg_cut;

/* `argument` is a sl_jpeg_cut: a function for sl_jpeg_guard. */
void sl_jpeg_scanlines_work(void *argument);

/*
 * `need` and what upsampling reads around it, inside a picture of width x height: what to keep of a
 * JPEG in which `need` is to come out right. Full-size pixels.
 */
sl_rect sl_jpeg_with_margin(j_decompress_ptr cinfo, sl_rect need, uint32_t denominator,
                            sl_rect picture);

/* One scan, Huffman-coded, sequential: its rows come one after the other. */
bool sl_jpeg_is_plain(j_decompress_ptr cinfo);

/*
 * `pixels` of 4 bytes as Adobe stores them in JPEG (inverted: 255 is no ink) to RGB. Equal to
 * Pillow's Image.open(...).convert("RGB").
 */
void sl_rgb_from_inverted_cmyk(const uint8_t *cmyk, uint8_t *rgb, size_t pixels);

#endif
