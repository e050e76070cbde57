/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exif: the orientation of a JPEG.
 *
 * Purpose: reads one number out of the APP1 segment. Bounds-checked; whatever is not understood
 * counts as "upright", as every viewer does. Threads: pure.
 */
#ifndef SL_EXIF_H
#define SL_EXIF_H

#include "view.h"

/* 1..8; 1 when there is none or when it makes no sense. */
uint32_t sl_exif_orientation(sl_bytes jpeg);

#endif
