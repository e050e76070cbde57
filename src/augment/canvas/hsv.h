/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hsv: hue, saturation and value of 8 bits as OpenCV has them, changed, and back.
 *
 * Purpose: what the YOLO family's RandomHSV does to pixels: cv2.cvtColor to HSV (H 0 to 179, in
 * steps of 2 degrees), a table for each of the three, and back. The tables are one number each: H
 * turns by whole steps; S and V are multiplied, cut to whole numbers and to 255.
 *
 * Pixels are those of OpenCV 4.6 with AVX2 where it works in vectors: there the way back is in
 * binary32 with 1 - S G fused, and cut, so that it is a function of the pixel. OpenCV rounds, to
 * 1 more at most, the last pixels of a row that fill no vector of 32, and where it has no AVX2 what
 * is fused here is not. Its way there is in whole numbers everywhere:
 *   V the largest channel, C = V - the smallest, N the hue in sixths of a turn times C, -C to 5 C,
 *   S = (C round(255 * 4096 / V) + 2048) / 4096, H = (N round(180 * 4096 / (6 C)) + 2048) / 4096,
 *   the divisions by 4096 downwards, and 180 more for an H below 0.
 * Floats hold all of that exactly, which vectors use. Threads: pure. Memory: none.
 */
#ifndef SL_HSV_H
#define SL_HSV_H

#include <stdint.h>

enum {
    SL_HSV_TURN = 180,
    SL_HSV_UNIT = 4096,
    SL_HSV_SATURATION = 255 * SL_HSV_UNIT,
    SL_HSV_HUE = SL_HSV_TURN * SL_HSV_UNIT / 6
};
#define SL_HSV_LEAST (1.0F / 255.0F)
#define SL_HSV_SIXTH (6.0F / 180.0F)

typedef struct sl_hsv_change {
    float saturation, value; /* factors, 0 to 2: sl_hsv_factor */
    uint8_t hue;             /* added, 0 to 179 */
} sl_hsv_change;

/*
 * A binary32 that gives, multiplied by 0 to 255 and cut, what numpy's table clip(x * factor, 0,
 * 255).astype(uint8) has, which is made with the binary64 `factor`, 0 to 2. It is the middle of all
 * numbers that do. (A factor so close to a fraction of two such numbers that its products are
 * rounded to whole ones may not have any; one in 2^40.)
 */
float sl_hsv_factor(double factor);

/* One RGB pixel: the reference. */
void sl_hsv_pixel(uint8_t *pixel, const sl_hsv_change *change);

#endif
