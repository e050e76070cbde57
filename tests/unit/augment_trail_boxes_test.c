/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes along trails, checked by carrying points of a grid over each box step by step. */
#include "augment_trail_chains.h"
#include "test.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct hull {
    double box[4];
    uint32_t count;
} hull;

static void hull_add(hull *h, const double at[2])
{
    h->box[0] = h->count == 0 ? at[0] : fmin(h->box[0], at[0]);
    h->box[1] = h->count == 0 ? at[1] : fmin(h->box[1], at[1]);
    h->box[2] = h->count == 0 ? at[0] : fmax(h->box[2], at[0]);
    h->box[3] = h->count == 0 ? at[1] : fmax(h->box[3], at[1]);
    h->count++;
}

/* Returns the hull of the grid points of a box that are visible at the end. */
static hull hull_of(const chain *c, const float box[4])
{
    hull h = {.count = 0};
    for (uint32_t y = 0; y <= GRID; y++) {
        for (uint32_t x = 0; x <= GRID; x++) {
            const carried p = carry(c, box[0] + ((double)box[2] - box[0]) * x / GRID,
                                    box[1] + ((double)box[3] - box[1]) * y / GRID);
            if (p.shown) {
                hull_add(&h, p.at);
            }
        }
    }
    return h;
}

static void draw_box(sl_random *random, float box[4])
{
    box[0] = (float)between(random, -20, WIDTH);
    box[1] = (float)between(random, -20, HEIGHT);
    box[2] = box[0] + (float)between(random, 1, 60);
    box[3] = box[1] + (float)between(random, 1, 60);
}

static void expect_holds(const double box[4], const hull *h)
{
    assert_true(h->box[0] >= box[0] - CLOSE && h->box[1] >= box[1] - CLOSE);
    assert_true(h->box[2] <= box[2] + CLOSE && h->box[3] <= box[3] + CLOSE);
}

TEST(boxes_hold_all_that_is_shown_of_them)
{
    uint32_t some = 0;
    uint32_t none = 0;
    for (uint64_t i = 0; i < CHAINS; i++) {
        sl_trail trail;
        sl_trail_box to;
        float box[4];
        const chain c = draw_chain(i, KINDS, &trail);
        sl_random random = sl_random_for(9, 0, i, 0);
        draw_box(&random, box);
        const hull h = hull_of(&c, box);
        const bool shown = sl_trail_move_box(&trail, box, &to);
        assert_true(shown || h.count == 0);
        if (!shown) {
            none++;
            continue;
        }
        if (h.count > 0) {
            expect_holds(to.box, &h);
        }
        expect_holds(to.whole, &(hull){.box = {to.box[0], to.box[1], to.box[2], to.box[3]}});
        assert_true(to.box[0] >= -CLOSE && to.box[1] >= -CLOSE);
        assert_true(to.box[2] <= c.width + CLOSE && to.box[3] <= c.height + CLOSE);
        some++;
    }
    assert_true(some > CHAINS / 8 && none > CHAINS / 8);
}

/* Upright: also no larger than the visible part, up to the grid's spacing. */
TEST(upright_boxes_are_what_is_shown_of_them)
{
    uint32_t some = 0;
    for (uint64_t i = 0; i < CHAINS; i++) {
        sl_trail trail;
        sl_trail_box to;
        float box[4];
        const chain c = draw_chain(i, WARP, &trail);
        sl_random random = sl_random_for(10, 0, i, 0);
        draw_box(&random, box);
        const hull h = hull_of(&c, box);
        if (!sl_trail_move_box(&trail, box, &to) || h.count == 0) {
            continue;
        }
        const double steps[2] = {fabs(trail.matrix[0]) * (box[2] - box[0]) / GRID,
                                 fabs(trail.matrix[4]) * (box[3] - box[1]) / GRID};
        for (size_t k = 0; k < 4; k++) {
            assert_true(fabs(to.box[k] - h.box[k]) <= steps[k % 2] + CLOSE);
        }
        some++;
    }
    assert_true(some > CHAINS / 8);
}

/* A rotation that shows everything: the box around the corners, as they were cut before. */
TEST(turned_boxes_are_about_what_was_left)
{
    for (uint64_t i = 0; i < CHAINS; i++) {
        sl_trail trail;
        sl_trail_box to;
        float box[4];
        chain c = draw_chain(i, WARP, &trail);
        sl_random random = sl_random_for(11, 0, i, 0);
        step *s = &c.steps[c.count < STEPS_MAX ? c.count++ : STEPS_MAX - 1];
        if (c.count == STEPS_MAX) {
            continue;
        }
        *s = (step){.kind = WARP, .width = 1000, .height = 1000};
        const double angle = between(&random, -3, 3);
        const double turn[9] = {cos(angle), sin(angle), 0, -sin(angle), cos(angle), 0, 0, 0, 1};
        memcpy(s->matrix, turn, sizeof(turn));
        s->matrix[2] = 50 - 500 * (turn[0] + turn[1]);
        s->matrix[5] = 50 - 500 * (turn[3] + turn[4]);
        take_step(&trail, s);
        draw_box(&random, box);
        const hull h = hull_of(&c, box);
        if (sl_trail_move_box(&trail, box, &to) && h.count > 0) {
            const double reach = (hypot(trail.matrix[0], trail.matrix[3]) * (box[2] - box[0]) +
                                  hypot(trail.matrix[1], trail.matrix[4]) * (box[3] - box[1])) /
                                 GRID;
            for (size_t k = 0; k < 4; k++) {
                assert_true(fabs(to.box[k] - h.box[k]) <= reach + CLOSE);
            }
        }
    }
}

/* ---- at the edges ---- */

static const double half[9] = {0.8, 0.6, 0, -0.6, 0.8, 20, 0, 0, 1};

/* Parts far outside the image are cut off before they cost precision. */
TEST(huge_boxes_are_the_picture)
{
    static const float huge[] = {1e4F, 1e12F, 1e20F, 1e38F, FLT_MAX};
    sl_trail trail;
    sl_trail_begin(&trail, WIDTH, HEIGHT);
    sl_trail_warp(&trail, half, 200, 200);
    sl_trail_box picture;
    assert_true(sl_trail_move_box(&trail, (float[4]){0, 0, WIDTH, HEIGHT}, &picture));
    for (size_t i = 0; i < sizeof(huge) / sizeof(*huge); i++) {
        sl_trail_box to;
        const float x = huge[i];
        assert_true(sl_trail_move_box(&trail, (float[4]){-x, -x, x, x}, &to));
        for (size_t k = 0; k < 4; k++) {
            assert_true(fabs(to.box[k] - picture.box[k]) < CLOSE);
        }
        assert_false(sl_trail_move_box(&trail, (float[4]){x, -x, x, x}, &to));
        assert_false(sl_trail_move_box(&trail, (float[4]){WIDTH, 0, x, x}, &to));
    }
}

TEST(without_width_or_height_nothing_is_shown)
{
    sl_trail trail;
    sl_trail_box to;
    sl_trail_begin(&trail, WIDTH, HEIGHT);
    assert_false(sl_trail_move_box(&trail, (float[4]){50, 33, 50, 39}, &to));
    sl_trail_warp(&trail, half, 200, 200);
    assert_false(sl_trail_move_box(&trail, (float[4]){50, 33, 50, 39}, &to));
    assert_false(sl_trail_move_box(&trail, (float[4]){50, 33, 59, 33}, &to));
    assert_true(sl_trail_move_box(&trail, (float[4]){50, 33, 50 + 0x1p-16F, 39}, &to));
}

/* More corners than are kept: boxes are then larger, but contain the visible part. */
TEST(many_warps)
{
    enum { WARPS = 40 };
    sl_trail trail;
    sl_trail_box to;
    uint32_t most = 0;
    const double middle[2] = {WIDTH / 2.0, HEIGHT / 2.0};
    sl_trail_begin(&trail, WIDTH, HEIGHT);
    for (uint32_t k = 0; k < WARPS; k++) {
        const double c = cos(0.1 + 0.37 * k);
        const double s = sin(0.1 + 0.37 * k);
        const double turn[9] = {c,  s, middle[0] * (1 - c) - middle[1] * s,
                                -s, c, middle[1] * (1 - c) + middle[0] * s,
                                0,  0, 1};
        sl_trail_warp(&trail, turn, WIDTH, HEIGHT);
        most = trail.corner_count > most ? trail.corner_count : most;
        assert_in_range(trail.corner_count, 4, SL_TRAIL_CORNERS);
        assert_true(sl_trail_move_box(&trail, (float[4]){40, 25, 50, 35}, &to));
        assert_true(to.box[0] < middle[0] - 4 && to.box[2] > middle[0] + 4);
        assert_true(to.box[1] < middle[1] - 4 && to.box[3] > middle[1] + 4);
        assert_true(to.box[2] - to.box[0] < 15 && to.box[3] - to.box[1] < 15);
    }
    assert_true(most > 8);
}
