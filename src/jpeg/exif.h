/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exif: the orientation of a picture.
 *
 * Purpose: reads one number out of a JPEG's first APP1 segment with EXIF, or out of the same block
 * of another format, as Pillow reads it: an entry of any numeric type and count (phones write LONG,
 * and other counts). Bounds-checked; whatever is not understood counts as "upright".
 * Threads: pure.
 */
#ifndef SL_EXIF_H
#define SL_EXIF_H

#include "view.h"

/* 1..8; 1 when there is none or when it makes no sense. */
uint32_t sl_exif_orientation(sl_bytes jpeg);
/* The same of what a PNG or a WebP has: a TIFF file, perhaps behind the six bytes of a segment. */
uint32_t sl_exif_orientation_of_block(sl_bytes block);

#endif
