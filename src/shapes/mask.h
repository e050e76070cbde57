/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask: the rows of pixels that shapes are drawn to. Plain data that somebody else owns.
 */
#ifndef SL_MASK_H
#define SL_MASK_H

#include "view.h"
#include "work.h"

#include <stddef.h>
#include <stdint.h>

/* Pixel (x, y) is pixels[y * stride_bytes + x]. What a shape covers becomes `value`; all else stays
 * as it is. What it takes is charged to `work` (NULL: to nobody). */
typedef struct sl_mask {
    uint8_t *pixels;
    size_t stride_bytes;
    uint32_t width, height;
    uint8_t value;
    sl_work *work;
    sl_rect
        *drawn; /* set to a part of the mask that has all that was drawn to; NULL: nobody asks */
} sl_mask;

#endif
