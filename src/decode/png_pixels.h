/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_pixels: converts rows of a PNG as stored to 8-bit RGB.
 *
 * Purpose: the colour contract of decoder.h for PNG: grey is replicated, fewer bits are spread over
 * 0..255, of 16 bits the upper 8 are used, alpha and transparent colours are dropped (no background
 * is known), and so are gamma and profiles. Equal to Pillow's convert("RGB"), except for 16-bit
 * grey: Pillow clips that at 255, which makes all but the darkest pixels white.
 *
 * Threads: pure.
 */
#ifndef SL_PNG_PIXELS_H
#define SL_PNG_PIXELS_H

#include "png_chunks.h"

/* The colours of a palette, or of grey with less than 8 bits. */
typedef struct sl_png_colours {
    uint32_t count; /* 0: pixels contain their colours */
    uint8_t rgb[256 * 3];
} sl_png_colours;

void sl_png_colours_of(const sl_png *png, sl_png_colours *colours);
/* Converts pixels [x, x + count) of a row. Returns false if the palette lacks a pixel's colour. */
bool sl_png_to_rgb(const sl_png *png, const sl_png_colours *colours, const uint8_t *row, uint32_t x,
                   uint32_t count, uint8_t *rgb);

#endif
