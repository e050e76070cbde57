/* SPDX-License-Identifier: Apache-2.0 */
/*
 * box_blur: Pillow's BoxBlur, and its GaussianBlur, which is three of them.
 *
 * Purpose: a canvas (RGB, 8 bits; of `out` rows without gaps) blurred by boxes whose radius need
 * not be whole: the pixels at both ends of the box count in part (Gwosdek, Grewenig, Bruhn and
 * Weickert, "Theoretical foundations of gaussian convolution by extended box filtering", SSVM
 * 2011). Outside the canvas its first and last pixels are repeated. Arithmetic: Pillow's, bit for
 * bit: passes across, then as many down, each in 32-bit integers with weights of 24 bits of
 * fraction, and rounded to 8 bits. Time does not depend on the radius, except that one of 64 and
 * more takes the scalar kernel. Threads: pure; memory (strips of 32 lines) from the caller's
 * scratch, which is restored.
 */
#ifndef SL_BOX_BLUR_H
#define SL_BOX_BLUR_H

#include "scratch.h"
#include "simd.h"
#include "view.h"

/* Pillow's arithmetic is defined up to some millions; far above this nothing changes any more. */
#define SL_BOX_RADIUS_MAX 65535.0F

typedef struct sl_boxes {
    float radius;    /* of each, 0 to SL_BOX_RADIUS_MAX */
    uint32_t passes; /* 1 or more */
} sl_boxes;

/* Returns ImageFilter.GaussianBlur(radius) as its three boxes. */
sl_boxes sl_boxes_gaussian(float radius);

/* Blurs all of `in`, which may be a part of an image, to as large a canvas at `out`: apart from
 * `in`, or the very same, without gaps. NOMEM. */
sluice_status sl_box_blur(sl_simd simd, const sl_image *in, const sl_boxes *boxes, uint8_t *out,
                          sl_scratch *scratch, sluice_error *error);

#endif
