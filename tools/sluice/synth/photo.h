/* SPDX-License-Identifier: Apache-2.0 */
/*
 * photo: the properties of a synthetic photo's file. The numbers follow those measured on 300
 * photos of ImageNet (docs/measurements/decoding.md compares them). Pure functions of (seed,
 * index).
 */
#ifndef TOOL_PHOTO_H
#define TOOL_PHOTO_H

#include <stdbool.h>
#include <stdint.h>

enum photo_colour { PHOTO_444, PHOTO_422, PHOTO_420, PHOTO_GREY, PHOTO_CMYK };

struct photo {
    uint64_t seed;  /* of the whole set */
    uint64_t index; /* in the set */
    uint32_t label; /* its class */
    uint32_t width, height;
    int quality; /* libjpeg's scale */
    enum photo_colour colour;
    bool progressive;
    double detail; /* strength of texture and grain, about 1 */
};

/* Draws a photo. `scale` multiplies both sides (clamped to 8 .. 16384 pixels). */
struct photo photo_draw(uint64_t seed, uint64_t index, uint32_t classes, double scale);

#endif
