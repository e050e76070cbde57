/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paint: draws shapes with shading, texture and soft edges on a canvas of float RGB, 0..255 (values
 * outside are clipped at the end only). Pure: the caller owns the memory.
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

/* What a surface looks like. */
struct surface {
    struct colour base;
    struct colour tint;      /* how much of the texture each channel takes, about 1 */
    const float *field;      /* a noise field */
    float texture;           /* deviation of the texture, in levels */
    uint32_t step_x, step_y; /* cells of the field per pixel: unequal for grass, fur, wood */
    uint32_t offset;         /* where in the field it begins */
};

enum shape_kind { SHAPE_ELLIPSE, SHAPE_BOX };

struct shape {
    enum shape_kind kind;
    float x, y;               /* centre, pixels */
    float radius_x, radius_y; /* half sizes before turning, pixels, > 0 */
    float angle;              /* radians */
    float wobble;             /* 0: a clean outline; 0.5: like foliage */
    float softness;           /* width of the edge, pixels, >= 1 */
    float light_x, light_y;   /* brightness added towards one side, levels */
    float roundness;          /* levels lost from the middle to the rim */
    struct surface surface;
};

/* A vertical blend of two surfaces that covers everything from row `top` down. */
void paint_ground(const struct canvas *canvas, uint32_t top, const struct surface *upper,
                  const struct colour *lower);

void paint_shape(const struct canvas *canvas, const struct shape *shape);

/* What the camera adds, and the way to bytes. */
struct finish {
    float vignette;   /* brightness lost in the corners, 0..1 */
    float grain_luma; /* deviation, levels */
    float grain_chroma;
    float contrast; /* about 1, around mid-grey */
};

/* `rgb` takes width x height x 3 bytes. */
void paint_finish(const struct canvas *canvas, const struct finish *finish, struct rng *rng,
                  uint8_t *rgb);

#endif
