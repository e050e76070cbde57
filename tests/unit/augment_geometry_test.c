/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composed geometries against a model that applies steps one by one: it maps an output position
 * back through every canvas, in doubles, and finds its position in the image, or the canvas outside
 * which it fell. augment_drawing_test checks results of drawings by hand.
 */
#include "geometry.h"
#include "test.h"
#include "whole_params.h"

#include <math.h>
#include <string.h>

enum { CHAINS = 1500, PLACES = 60, STEPS_MAX = 9, SIDE = 60 };

/* ---- the model ---- */

typedef enum kind { CROP, RESIZE, FLIP, WARP, KINDS } kind;

typedef struct step {
    kind kind;
    uint32_t width, height; /* of the canvas before this step */
    uint32_t to_width, to_height;
    int64_t x, y;
    bool vertical;
    double matrix[9];
    sl_interpolation interpolation;
    uint8_t fill[3];
} step;

typedef struct chain {
    uint32_t count, width, height;
    step steps[STEPS_MAX];
} chain;

typedef struct place {
    double x, y;
    bool inside;
    uint8_t fill[3]; /* outside */
    double margin;   /* distance to the nearest edge, in pixels of its canvas */
    bool missed;     /* it is in a part of a canvas that is not computed */
} place;

static void transform(const double m[9], place *p)
{
    const double w = m[6] * p->x + m[7] * p->y + m[8];
    const double x = (m[0] * p->x + m[1] * p->y + m[2]) / w;
    p->y = (m[3] * p->x + m[4] * p->y + m[5]) / w;
    p->x = x;
}

static void come_to(place *p, double width, double height, const uint8_t fill[3])
{
    const bool inside = p->x >= 0 && p->x < width && p->y >= 0 && p->y < height;
    const double edges[4] = {fabs(p->x), fabs(p->x - width), fabs(p->y), fabs(p->y - height)};
    for (size_t i = 0; i < 4; i++) {
        p->margin = fmin(p->margin, isfinite(edges[i]) ? edges[i] : 0);
    }
    if (p->inside && !inside) {
        memcpy(p->fill, fill, 3);
        p->inside = false;
    }
}

static void undo(const step *s, place *p)
{
    switch (s->kind) {
    case CROP:
        p->x += (double)s->x;
        p->y += (double)s->y;
        break;
    case RESIZE:
        p->x *= (double)s->width / s->to_width;
        p->y *= (double)s->height / s->to_height;
        break;
    case FLIP:
        p->x = s->vertical ? p->x : s->width - p->x;
        p->y = s->vertical ? s->height - p->y : p->y;
        break;
    default:
        transform(s->matrix, p);
        break;
    }
    come_to(p, s->width, s->height, s->fill);
}

static place model(const chain *c, double x, double y)
{
    place p = {.x = x, .y = y, .inside = true, .margin = 1e9};
    for (uint32_t i = c->count; i > 0; i--) {
        undo(&c->steps[i - 1], &p);
    }
    return p;
}

/* ---- composed geometries ---- */

/* The fill of a resize does not matter: no position falls outside there. */
static void through_warp(const sl_geometry *g, place *p)
{
    const place at = *p;
    for (uint32_t i = 0; i < g->warp.frame_count; i++) {
        place framed = at;
        transform(g->warp.frames[i].matrix, &framed);
        come_to(&framed, g->warp.frames[i].width, g->warp.frames[i].height, g->warp.fill);
        p->inside = framed.inside;
        p->margin = fmin(p->margin, framed.margin);
        if (at.inside && !framed.inside) {
            memcpy(p->fill, framed.fill, 3);
        }
        if (!p->inside) {
            return;
        }
    }
    transform(g->warp.matrix, p);
    come_to(p, g->canvas_width, g->canvas_height, g->warp.fill);
    p->x -= g->canvas_x;
    p->y -= g->canvas_y;
}

static void through_box(const sl_geometry *g, place *p)
{
    const sl_mapping *box = &g->box;
    const double x = box->flip_x ? box->width - p->x : p->x;
    const double y = box->flip_y ? box->height - p->y : p->y;
    p->missed = p->missed || !(x >= 0 && x < box->width && y >= 0 && y < box->height);
    p->x = x + box->window_x;
    p->y = y + box->window_y;
    come_to(p, box->virtual_width, box->virtual_height, g->fill);
    p->x = box->source.x + p->x * box->source.width / box->virtual_width;
    p->y = box->source.y + p->y * box->source.height / box->virtual_height;
}

static place composed(const sl_params *params, double x, double y)
{
    place p = {.x = x, .y = y, .inside = true, .margin = 1e9};
    for (uint32_t i = params->geometry_count; i > 0 && p.inside; i--) {
        const sl_geometry *g = &params->geometries[i - 1];
        if (g->warps) {
            through_warp(g, &p);
        }
        if (p.inside) {
            through_box(g, &p);
        }
    }
    return p;
}

/* ---- random chains ---- */

static uint32_t random_side(sl_random *random)
{
    return 1 + sl_random_below(random, sl_random_below(random, 6) == 0 ? 3 : SIDE);
}

static void identity(double m[9])
{
    const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(m, one, sizeof(one));
}

/* Draws a rotation, scale and translation around the canvas; every fourth is a perspective, which
 * may fold. */
static void random_matrix(sl_random *random, const step *s, double m[9])
{
    const double angle = sl_random_range(random, -3.2, 3.2);
    const double across = exp(sl_random_range(random, -1, 1.2));
    const double down = exp(sl_random_range(random, -1, 1.2));
    identity(m);
    m[0] = across * cos(angle);
    m[1] = -down * sin(angle);
    m[3] = across * sin(angle);
    m[4] = down * cos(angle);
    m[2] = s->width / 2.0 - m[0] * s->to_width / 2 - m[1] * s->to_height / 2 +
           sl_random_range(random, -5, 5);
    m[5] = s->height / 2.0 - m[3] * s->to_width / 2 - m[4] * s->to_height / 2 +
           sl_random_range(random, -5, 5);
    if (sl_random_below(random, 4) == 0) {
        m[6] = sl_random_range(random, -0.02, 0.02);
        m[7] = sl_random_range(random, -0.02, 0.02);
    }
}

static void random_colour(sl_random *random, uint8_t fill[3])
{
    static const uint8_t fills[3][3] = {{0, 0, 0}, {0, 0, 0}, {1, 2, 3}};
    memcpy(fill, fills[sl_random_below(random, 3)], 3);
}

static void random_step(sl_random *random, step *s)
{
    s->kind = (kind)sl_random_below(random, KINDS);
    s->interpolation = (sl_interpolation)sl_random_below(random, s->kind == RESIZE ? 4 : 3);
    s->vertical = sl_random_below(random, 2) == 1;
    random_colour(random, s->fill);
    s->to_width = s->kind == FLIP ? s->width : random_side(random);
    s->to_height = s->kind == FLIP ? s->height : random_side(random);
    if (s->kind == WARP) {
        random_matrix(random, s, s->matrix);
    } else if (s->kind == CROP && sl_random_below(random, 2) == 0) {
        s->to_width = 1 + sl_random_below(random, s->width);
        s->to_height = 1 + sl_random_below(random, s->height);
        s->x = sl_random_below(random, s->width - s->to_width + 1);
        s->y = sl_random_below(random, s->height - s->to_height + 1);
    } else if (s->kind == CROP) {
        s->x = (int64_t)sl_random_below(random, SIDE) - SIDE / 2;
        s->y = (int64_t)sl_random_below(random, SIDE) - SIDE / 2;
    }
}

static void random_chain(sl_random *random, chain *c)
{
    uint32_t width = c->width = random_side(random);
    uint32_t height = c->height = random_side(random);
    c->count = 1 + sl_random_below(random, STEPS_MAX);
    for (uint32_t i = 0; i < c->count; i++) {
        step *s = &c->steps[i];
        *s = (step){.width = width, .height = height};
        random_step(random, s);
        width = s->to_width;
        height = s->to_height;
    }
}

static sluice_status draw_step(sl_drawing *drawing, const step *s)
{
    switch (s->kind) {
    case CROP:
        return sl_draw_crop(drawing, s->x, s->y, s->to_width, s->to_height, s->fill);
    case RESIZE:
        return sl_draw_resize(drawing, s->to_width, s->to_height, s->interpolation);
    case FLIP:
        return sl_draw_flip(drawing, s->vertical);
    default:
        return sl_draw_warp(drawing, s->matrix, s->to_width, s->to_height, s->interpolation,
                            s->fill);
    }
}

static void draw_chain(const chain *c, bool exact, sl_params *params)
{
    sl_drawing drawing;
    sl_drawing_begin(&drawing, params, c->width, c->height, exact, NULL);
    for (uint32_t i = 0; i < c->count; i++) {
        assert_int_equal(draw_step(&drawing, &c->steps[i]), SLUICE_OK);
        assert_int_equal(drawing.width, c->steps[i].to_width);
        assert_int_equal(drawing.height, c->steps[i].to_height);
    }
    sl_drawing_end(&drawing);
    assert_int_equal(params->width, c->steps[c->count - 1].to_width);
    assert_int_equal(params->height, c->steps[c->count - 1].to_height);
}

/* ---- comparing ---- */

static void check_program(const chain *c, const sl_params *params)
{
    const sl_rect *need = &params->need;
    assert_int_equal(params->operation_count, params->geometry_count - 1);
    assert_true(need->width > 0 && need->x + need->width <= c->width);
    assert_true(need->height > 0 && need->y + need->height <= c->height);
    for (uint32_t i = 0; i < params->operation_count; i++) {
        assert_ptr_equal(params->operations[i].kind, &sl_operation_geometry);
        assert_int_equal(params->operations[i].values[0], i + 1);
    }
    for (uint32_t i = 0; i < params->geometry_count; i++) {
        const sl_geometry *g = &params->geometries[i];
        const uint32_t width = g->warps ? g->warp.width : g->box.width;
        const uint32_t height = g->warps ? g->warp.height : g->box.height;
        assert_true(i + 1 < params->geometry_count ||
                    (width == params->width && height == params->height));
        if (i > 0) {
            assert_int_equal(width, params->operations[i - 1].width);
            assert_int_equal(height, params->operations[i - 1].height);
        }
    }
}

/* The computed part of a canvas contains all pixels that a geometry's pixels show. */
static void check_parts(sl_random *random, const sl_params *params)
{
    const sl_rect *need = &params->need;
    for (uint32_t i = 0; i < params->geometry_count; i++) {
        const sl_geometry *g = &params->geometries[i];
        for (int k = 0; k < PLACES / 2; k++) {
            place p = {.inside = true, .margin = 1e9};
            p.x = sl_random_below(random, g->warps ? g->warp.width : g->box.width) + 0.5;
            p.y = sl_random_below(random, g->warps ? g->warp.height : g->box.height) + 0.5;
            if (g->warps) {
                through_warp(g, &p);
            }
            if (p.inside) {
                through_box(g, &p);
            }
            if (p.margin < 1e-5 || !p.inside) {
                continue;
            }
            assert_false(p.missed);
            /* Nearest shows a canvas pixel, anywhere in which a warp may sample. */
            const bool snaps = g->warps && sl_mapping_interpolation(&g->box) == SL_NEAREST;
            assert_true(i > 0 || snaps ||
                        (floor(p.x) >= need->x && p.x < need->x + need->width &&
                         floor(p.y) >= need->y && p.y < need->y + need->height));
        }
    }
}

static void check_place(const chain *c, const sl_params *params, double x, double y,
                        uint32_t seen[2])
{
    const place expected = model(c, x, y);
    const place ours = composed(params, x, y);
    if (expected.margin < 1e-5 || ours.margin < 1e-5) {
        return; /* rounding decides on an edge */
    }
    assert_int_equal(ours.inside, expected.inside);
    seen[expected.inside]++;
    if (!expected.inside) {
        assert_memory_equal(ours.fill, expected.fill, 3);
        return;
    }
    assert_true(fabs(ours.x - expected.x) < 1e-6 && fabs(ours.y - expected.y) < 1e-6);
}

static void check_chains(uint64_t seed, bool exact)
{
    STATIC_PARAMS(params);
    static chain c;
    sl_random random = sl_random_for(seed, 0, 0, 0);
    uint32_t seen[2] = {0, 0};
    uint32_t composed_warps = 0;
    for (int i = 0; i < CHAINS; i++) {
        uint32_t warps = 0;
        random_chain(&random, &c);
        draw_chain(&c, exact, &params);
        check_program(&c, &params);
        for (uint32_t k = 0; k < c.count; k++) {
            warps += c.steps[k].kind == WARP;
        }
        for (uint32_t k = 0; k < params.geometry_count; k++) {
            warps -= params.geometries[k].warps;
        }
        composed_warps += warps;
        assert_true(!exact || warps == 0);
        check_parts(&random, &params);
        for (int k = 0; k < PLACES; k++) {
            check_place(&c, &params, sl_random_below(&random, params.width) + 0.5,
                        sl_random_below(&random, params.height) + 0.5, seen);
        }
    }
    assert_true(seen[0] > CHAINS && seen[1] > CHAINS);
    assert_true(exact || composed_warps > CHAINS / 30);
}

TEST(composed_geometries_show_the_same_places)
{
    check_chains(1, false);
}

TEST(exact_geometries_show_the_same_places)
{
    check_chains(2, true);
}

/* Rotates by a right angle, then shrinks to a line with a border of one pixel. */
static chain thin_chain(uint32_t width, uint32_t height)
{
    const double turn[9] = {0, -1, width, 1, 0, 0, 0, 0, 1};
    chain c = {.width = width, .height = height, .count = 3};
    c.steps[0] = (step){.kind = WARP,
                        .width = width,
                        .height = height,
                        .to_width = height,
                        .to_height = width,
                        .interpolation = SL_BILINEAR};
    memcpy(c.steps[0].matrix, turn, sizeof(turn));
    c.steps[1] = (step){.kind = RESIZE,
                        .width = height,
                        .height = width,
                        .to_width = 1,
                        .to_height = 7,
                        .interpolation = SL_BILINEAR};
    c.steps[2] = (step){
        .kind = CROP, .width = 1, .height = 7, .to_width = 3, .to_height = 9, .x = -1, .y = -1};
    return c;
}

static void check_thin_picture(uint32_t width, uint32_t height, bool exact)
{
    STATIC_PARAMS(params);
    const chain c = thin_chain(width, height);
    uint32_t seen[2] = {0, 0};
    draw_chain(&c, exact, &params);
    for (int y = 0; y < 9; y++) {
        for (int x = 0; x < 3; x++) {
            check_place(&c, &params, x + 0.5, y + 0.5, seen);
        }
    }
    assert_int_equal(seen[1], 7);
    assert_int_equal(seen[0], 20);
}

/* Also tests single pixels. */
TEST(thin_pictures)
{
    static const uint32_t sizes[][2] = {{1, 1}, {65535, 1}, {1, 65535}, {65535, 2}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_thin_picture(sizes[i][0], sizes[i][1], false);
        check_thin_picture(sizes[i][0], sizes[i][1], true);
    }
}
