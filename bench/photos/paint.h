/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paint: draws shapes with shading, texture and soft edges on a canvas of float RGB, 0..255 (values
 * outside are clipped only at the end). Pure: the caller owns the memory.
 */
#ifndef TOOL_PAINT_H
#define TOOL_PAINT_H

#include "rng.h"

#include <stdint.h>

struct colour {
    float channel[3];
};

struct canvas {
    uint32_t width, height;
    float *pixels; /* width x height x 3, rows from the top */
};

/* Appearance of a surface. */
struct surface {
    struct colour base;
    struct colour tint;      /* strength of the texture per channel, about 1 */
    const float *field;      /* a noise field */
    float texture;           /* deviation of the texture, in levels */
    uint32_t step_x, step_y; /* cells of the field per pixel: unequal for grass, fur, wood */
    uint32_t offset;         /* first cell in the field */
};

enum shape_kind { SHAPE_ELLIPSE, SHAPE_BOX };

struct shape {
    enum shape_kind kind;
    float x, y;               /* centre, pixels */
    float radius_x, radius_y; /* half sizes before rotation, pixels, > 0 */
    float angle;              /* radians */
    float wobble;             /* 0: a clean outline; 0.5: like foliage */
    float softness;           /* width of the edge, pixels, >= 1 */
    float light_x, light_y;   /* brightness added towards one side, levels */
    float roundness;          /* levels lost from the middle to the rim */
    struct surface surface;
};

/* Paints a vertical blend of two surfaces over all rows from `top` down. */
void paint_ground(const struct canvas *canvas, uint32_t top, const struct surface *upper,
                  const struct colour *lower);

void paint_shape(const struct canvas *canvas, const struct shape *shape);

/* Effects of the camera, and conversion to bytes. */
struct finish {
    float vignette;   /* brightness lost in the corners, 0..1 */
    float grain_luma; /* deviation, levels */
    float grain_chroma;
    float contrast; /* about 1, around mid-grey */
};

/* Writes width x height x 3 bytes to `rgb`. */
void paint_finish(const struct canvas *canvas, const struct finish *finish, struct rng *rng,
                  uint8_t *rgb);

#endif
