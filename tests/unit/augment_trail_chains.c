/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. */
#include "augment_trail_chains.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- the replay ---- */

/* Solves matrix * (x, y, w) = (at, 1) by elimination. False: behind the viewpoint. */
static bool solve(const double matrix[9], double at[2])
{
    double m[3][4];
    for (size_t i = 0; i < 3; i++) {
        memcpy(m[i], matrix + 3 * i, 3 * sizeof(double));
        m[i][3] = i < 2 ? at[i] : 1;
    }
    for (size_t i = 0; i < 3; i++) {
        size_t pivot = i;
        for (size_t k = i; k < 3; k++) {
            pivot = fabs(m[k][i]) > fabs(m[pivot][i]) ? k : pivot;
        }
        for (size_t c = 0; c < 4; c++) {
            const double other = m[i][c];
            m[i][c] = m[pivot][c];
            m[pivot][c] = other;
        }
        for (size_t k = 0; k < 3; k++) {
            const double factor = k == i ? 0 : m[k][i] / m[i][i];
            for (size_t c = 0; c < 4; c++) {
                m[k][c] -= factor * m[i][c];
            }
        }
    }
    const double w = m[2][3] / m[2][2];
    at[0] = m[0][3] / m[0][0] / w;
    at[1] = m[1][3] / m[1][1] / w;
    return w > 0;
}

static bool is_inside(const double at[2], double width, double height)
{
    return at[0] >= 0 && at[0] < width && at[1] >= 0 && at[1] < height;
}

/* Returns the distance to the edge of the part that a step shows, where rounding decides. */
static double margin_of(const double at[2], double width, double height)
{
    return fmin(fmin(fabs(at[0]), fabs(at[0] - width)), fmin(fabs(at[1]), fabs(at[1] - height)));
}

carried carry(const chain *c, double x, double y)
{
    carried p = {.at = {x, y}, .margin = margin_of((double[2]){x, y}, WIDTH, HEIGHT)};
    p.shown = is_inside(p.at, WIDTH, HEIGHT);
    uint32_t sides[2] = {WIDTH, HEIGHT};
    for (uint32_t i = 0; i < c->count; i++) {
        const step *s = &c->steps[i];
        switch (s->kind) {
        case CROP:
            p.at[0] -= (double)s->x;
            p.at[1] -= (double)s->y;
            break;
        case RESIZE:
            p.at[0] *= s->across;
            p.at[1] *= s->down;
            break;
        case FLIP:
            p.at[s->vertical] = sides[s->vertical] - p.at[s->vertical];
            break;
        default:
            p.shown = solve(s->matrix, p.at) && p.shown;
            break;
        }
        sides[0] = s->width;
        sides[1] = s->height;
        p.shown = p.shown && is_inside(p.at, sides[0], sides[1]);
        p.margin = fmin(p.margin, margin_of(p.at, sides[0], sides[1]));
    }
    return p;
}

/* ---- chains ---- */

double between(sl_random *random, double least, double most)
{
    return least + (most - least) * sl_random_unit(random);
}

static void draw_warp(step *s, sl_random *random, double fold)
{
    const double angle = between(random, -3.2, 3.2);
    const double scale = exp(between(random, -0.7, 0.7));
    const double shear = between(random, -0.4, 0.4);
    double *m = s->matrix;
    m[0] = scale * cos(angle);
    m[1] = scale * (sin(angle) + shear);
    m[3] = -scale * sin(angle);
    m[4] = scale * cos(angle);
    m[6] = between(random, -fold, fold) / s->width;
    m[7] = between(random, -fold, fold) / s->height;
    m[8] = 1;
    /* the middle maps to about the middle */
    m[2] = s->width * between(random, 0.3, 0.7) - m[0] * s->width / 2 - m[1] * s->height / 2;
    m[5] = s->height * between(random, 0.3, 0.7) - m[3] * s->width / 2 - m[4] * s->height / 2;
}

static void draw_step(step *s, uint32_t kind, uint32_t width, uint32_t height, sl_random *random)
{
    *s = (step){.kind = (int)kind, .width = width, .height = height};
    if (kind == CROP) {
        s->width = 1 + sl_random_below(random, width + 20);
        s->height = 1 + sl_random_below(random, height + 20);
        s->x = (int64_t)sl_random_below(random, width + 1) - 10;
        s->y = (int64_t)sl_random_below(random, height + 1) - 10;
    } else if (kind == RESIZE) {
        s->width = 20 + sl_random_below(random, 100);
        s->height = 20 + sl_random_below(random, 100);
        s->across = (double)s->width / width;
        s->down = (double)s->height / height;
    } else if (kind == FLIP) {
        s->vertical = sl_random_below(random, 2);
    } else {
        draw_warp(s, random, 0.4);
    }
}

void take_step(sl_trail *trail, const step *s)
{
    switch (s->kind) {
    case CROP:
        sl_trail_crop(trail, s->x, s->y, s->width, s->height);
        break;
    case RESIZE:
        sl_trail_resize(trail, s->across, s->down);
        break;
    case FLIP:
        sl_trail_flip(trail, s->vertical, s->vertical ? s->height : s->width);
        break;
    default:
        sl_trail_warp(trail, s->matrix, s->width, s->height);
        break;
    }
}

chain draw_chain(uint64_t number, uint32_t kinds, sl_trail *trail)
{
    sl_random random = sl_random_for(7, kinds, number, 0);
    chain c = {.width = WIDTH, .height = HEIGHT};
    sl_trail_begin(trail, WIDTH, HEIGHT);
    c.count = 1 + sl_random_below(&random, STEPS_MAX);
    for (uint32_t i = 0; i < c.count; i++) {
        step *s = &c.steps[i];
        draw_step(s, sl_random_below(&random, kinds), c.width, c.height, &random);
        take_step(trail, s);
        c.width = s->width;
        c.height = s->height;
    }
    return c;
}
