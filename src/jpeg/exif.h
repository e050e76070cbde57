/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exif: the orientation of an image.
 *
 * Purpose: reads one number from a JPEG's first APP1 segment with EXIF, or from the same block of
 * another format, like Pillow: an entry of any numeric type and count (phones write LONG, and other
 * counts). Bounds-checked; anything invalid counts as "upright".
 * Threads: pure.
 */
#ifndef SL_EXIF_H
#define SL_EXIF_H

#include "view.h"

/* Returns 1..8; 1 if the orientation is missing or invalid. */
uint32_t sl_exif_orientation(sl_bytes jpeg);
/* Returns the same for the block of a PNG or a WebP: a TIFF file, perhaps after a segment's six
 * bytes. */
uint32_t sl_exif_orientation_of_block(sl_bytes block);

#endif
