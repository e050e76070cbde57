/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_trail_chains: drawn steps, and a replay that checks trails: carries points of an image
 * through each step by its own formula, and drops points that a step cuts off.
 */
#ifndef AUGMENT_TRAIL_CHAINS_H
#define AUGMENT_TRAIL_CHAINS_H

#include "philox.h"
#include "trail.h"

#include <stdbool.h>

enum { CHAINS = 1500, STEPS_MAX = 6, GRID = 24, WIDTH = 90, HEIGHT = 60 };
enum { CROP, RESIZE, FLIP, WARP, KINDS };
#define CLOSE 1e-6

typedef struct step {
    int kind;
    int64_t x, y;
    uint32_t width, height; /* size after the step */
    double across, down;
    bool vertical;
    double matrix[9]; /* maps from the output */
} step;

typedef struct chain {
    uint32_t count, width, height;
    step steps[STEPS_MAX];
} chain;

typedef struct carried {
    double at[2];
    bool shown;
    double margin;
} carried;

/* Carries a point of the image through all steps. */
carried carry(const chain *c, double x, double y);

double between(sl_random *random, double least, double most);
void take_step(sl_trail *trail, const step *s);
/* Draws steps of kinds below `kinds`, and their trail. */
chain draw_chain(uint64_t number, uint32_t kinds, sl_trail *trail);

#endif
