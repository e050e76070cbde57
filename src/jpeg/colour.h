/* SPDX-License-Identifier: Apache-2.0 */
/* colour: CMYK to RGB as Pillow does it. Threads: pure. */
#ifndef SL_COLOUR_H
#define SL_COLOUR_H

#include <stddef.h>
#include <stdint.h>

/*
 * `pixels` of 4 bytes as Adobe stores them in JPEG (inverted: 255 is no ink) to RGB. Equal to
 * Pillow's Image.open(...).convert("RGB").
 */
void sl_rgb_from_inverted_cmyk(const uint8_t *cmyk, uint8_t *rgb, size_t pixels);

#endif
