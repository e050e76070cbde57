/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask: the rows of pixels that shapes are drawn to. Plain data with another owner.
 */
#ifndef SL_MASK_H
#define SL_MASK_H

#include "view.h"
#include "work.h"

#include <stddef.h>
#include <stdint.h>

/* Pixel (x, y) is pixels[y * stride_bytes + x]. Pixels that a shape covers become `value`; all
 * others stay unchanged. The time is charged to `work` (NULL: not charged). */
typedef struct sl_mask {
    uint8_t *pixels;
    size_t stride_bytes;
    uint32_t width, height;
    uint8_t value;
    sl_work *work;
    sl_rect *drawn; /* set to a part of the mask that contains all drawn pixels; NULL: not needed */
} sl_mask;

#endif
