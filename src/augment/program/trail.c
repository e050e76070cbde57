/* SPDX-License-Identifier: Apache-2.0 */
/* trail: a matrix, and convex polygons clipped by half-planes. Pure. */
#include "trail.h"

#include "matrix.h"

#include <math.h>
#include <string.h>

#define EYE        1e-9 /* the least weight in front of the eye */
#define AREA_LEAST 1e-6 /* in pixels: a smaller visible area counts as empty */

/* ---- polygons ---- */

/* Convex; vertices are (x, y, w); w is above 0 after clipping. */
enum { VERTICES_MAX = SL_TRAIL_SHOWN_MAX };
typedef struct polygon {
    uint32_t count;
    double at[VERTICES_MAX][3];
} polygon;

static void polygon_of_box(polygon *p, const double box[4])
{
    const double corners[4][3] = {
        {box[0], box[1], 1}, {box[2], box[1], 1}, {box[2], box[3], 1}, {box[0], box[3], 1}};
    p->count = 4;
    memcpy(p->at, corners, sizeof(corners));
}

static void polygon_move(polygon *p, const double m[9])
{
    for (uint32_t i = 0; i < p->count; i++) {
        double *v = p->at[i];
        const double moved[3] = {m[0] * v[0] + m[1] * v[1] + m[2] * v[2],
                                 m[3] * v[0] + m[4] * v[1] + m[5] * v[2],
                                 m[6] * v[0] + m[7] * v[1] + m[8] * v[2]};
        memcpy(v, moved, sizeof(moved));
    }
}

static void polygon_add(polygon *p, const double vertex[3])
{
    if (p->count < VERTICES_MAX) {
        memcpy(p->at[p->count++], vertex, sizeof(p->at[0]));
    }
}

/* Keeps where line * (x, y, w) + least >= 0 (Sutherland and Hodgman, 1974). */
static void polygon_clip(polygon *p, const double line[3], double least)
{
    const polygon from = *p;
    p->count = 0;
    for (uint32_t i = 0; i < from.count; i++) {
        const double *a = from.at[i];
        const double *b = from.at[(i + 1) % from.count];
        const double of_a = line[0] * a[0] + line[1] * a[1] + line[2] * a[2] + least;
        const double of_b = line[0] * b[0] + line[1] * b[1] + line[2] * b[2] + least;
        if (of_a >= 0) {
            polygon_add(p, a);
        }
        if ((of_a >= 0) != (of_b >= 0)) {
            const double share = of_a / (of_a - of_b);
            const double cut[3] = {a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]),
                                   a[2] + share * (b[2] - a[2])};
            polygon_add(p, cut);
        }
    }
}

/* Clips to the part in front of the eye, and divides by w. */
static void polygon_face(polygon *p)
{
    polygon_clip(p, (const double[3]){0, 0, 1}, -EYE);
    for (uint32_t i = 0; i < p->count; i++) {
        const double w = p->at[i][2];
        p->at[i][0] /= w;
        p->at[i][1] /= w;
        p->at[i][2] = 1;
    }
}

static double corners_area(const sl_trail *trail)
{
    double twice = 0;
    for (uint32_t i = 0; i < trail->corner_count; i++) {
        const double *a = trail->corners[i];
        const double *b = trail->corners[(i + 1) % trail->corner_count];
        twice += a[0] * b[1] - a[1] * b[0];
    }
    return twice / 2;
}

/* Returns the area of points in order. */
static double polygon_area(const polygon *p)
{
    double twice = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const double *a = p->at[i];
        const double *b = p->at[(i + 1) % p->count];
        twice += (a[0] - p->at[0][0]) * (b[1] - p->at[0][1]) -
                 (a[1] - p->at[0][1]) * (b[0] - p->at[0][0]);
    }
    return fabs(twice / 2);
}

/* Computes the line through corner i and the next: above 0 inside. */
static void corner_line(const sl_trail *trail, uint32_t i, double sign, double line[3])
{
    const double *a = trail->corners[i];
    const double *b = trail->corners[(i + 1) % trail->corner_count];
    line[0] = sign * (a[1] - b[1]);
    line[1] = sign * (b[0] - a[0]);
    line[2] = -(line[0] * a[0] + line[1] * a[1]);
}

static void polygon_clip_corners(polygon *p, const sl_trail *trail)
{
    const double sign = corners_area(trail) < 0 ? -1 : 1;
    for (uint32_t i = 0; i < trail->corner_count && p->count > 0; i++) {
        double line[3];
        corner_line(trail, i, sign, line);
        /* points on the line up to rounding are not cut */
        polygon_clip(p, line, 1e-9 * (fabs(line[0]) + fabs(line[1])));
    }
}

/* Finds the bounding box; false: it is empty. */
static bool polygon_bounds(const polygon *p, double box[4])
{
    box[0] = box[1] = INFINITY;
    box[2] = box[3] = -INFINITY;
    for (uint32_t i = 0; i < p->count; i++) {
        box[0] = fmin(box[0], p->at[i][0]);
        box[1] = fmin(box[1], p->at[i][1]);
        box[2] = fmax(box[2], p->at[i][0]);
        box[3] = fmax(box[3], p->at[i][1]);
    }
    return p->count > 0;
}

static void box_clip(double box[4], const double to[4])
{
    box[0] = fmax(box[0], to[0]);
    box[1] = fmax(box[1], to[1]);
    box[2] = fmin(box[2], to[2]);
    box[3] = fmin(box[3], to[3]);
}

static bool box_is_empty(const double box[4])
{
    return !(box[0] < box[2] && box[1] < box[3]);
}

/* ---- steps ---- */

void sl_trail_begin(sl_trail *trail, uint32_t width, uint32_t height)
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    trail->picture_width = width;
    trail->picture_height = height;
    trail->folded = false;
    trail->flipped[0] = trail->flipped[1] = false;
    trail->corner_count = 0;
    memcpy(trail->matrix, identity, sizeof(identity));
    memcpy(trail->shown, (const double[4]){0, 0, width, height}, sizeof(trail->shown));
}

/* x' = across * x + right, y' = down * y + below */
static void trail_move(sl_trail *trail, double across, double right, double down, double below)
{
    const double step[9] = {across, 0, right, 0, down, below, 0, 0, 1};
    double *shown = trail->shown;
    const double x[2] = {across * shown[0] + right, across * shown[2] + right};
    const double y[2] = {down * shown[1] + below, down * shown[3] + below};
    const bool turned[2] = {across < 0, down < 0};
    shown[0] = x[turned[0]];
    shown[1] = y[turned[1]];
    shown[2] = x[!turned[0]];
    shown[3] = y[!turned[1]];
    for (uint32_t i = 0; i < trail->corner_count; i++) {
        trail->corners[i][0] = across * trail->corners[i][0] + right;
        trail->corners[i][1] = down * trail->corners[i][1] + below;
    }
    sl_matrix_multiply(trail->matrix, step, trail->matrix);
}

void sl_trail_crop(sl_trail *trail, int64_t x, int64_t y, uint32_t width, uint32_t height)
{
    trail_move(trail, 1, -(double)x, 1, -(double)y);
    box_clip(trail->shown, (const double[4]){0, 0, width, height});
}

void sl_trail_resize(sl_trail *trail, double across, double down)
{
    trail_move(trail, across, 0, down, 0);
}

void sl_trail_flip(sl_trail *trail, bool vertical, uint32_t size)
{
    trail_move(trail, vertical ? 1 : -1, vertical ? 0 : size, vertical ? -1 : 1,
               vertical ? size : 0);
    trail->flipped[vertical] = !trail->flipped[vertical];
}

/* Moves the part visible so far. False: nothing is left, or a line. */
static bool trail_turn(sl_trail *trail, const double step[9])
{
    polygon p;
    polygon_of_box(&p, trail->shown);
    polygon_clip_corners(&p, trail);
    if (box_is_empty(trail->shown) || polygon_area(&p) < AREA_LEAST) {
        return false;
    }
    if (p.count > SL_TRAIL_CORNERS - 1) { /* one more, where it is cut at the eye */
        polygon_of_box(&p, trail->shown);
    }
    polygon_move(&p, step);
    polygon_face(&p);
    trail->corner_count = p.count;
    for (uint32_t i = 0; i < trail->corner_count; i++) {
        trail->corners[i][0] = p.at[i][0];
        trail->corners[i][1] = p.at[i][1];
    }
    return p.count > 0;
}

void sl_trail_warp(sl_trail *trail, const double matrix[9], uint32_t width, uint32_t height)
{
    double step[9];
    const double canvas[4] = {0, 0, width, height};
    const double nowhere[4] = {0, 0, 0, 0};
    if (trail->folded || !sl_matrix_invert(matrix, step)) {
        trail->folded = true;
        return;
    }
    const bool shows = trail_turn(trail, step);
    trail->flipped[0] ^= sl_matrix_determinant(step) < 0; /* only corners that were crossed over */
    sl_matrix_multiply(trail->matrix, step, trail->matrix);
    memcpy(trail->shown, shows ? canvas : nowhere, sizeof(canvas));
}

/* ---- coordinates and boxes ---- */

bool sl_trail_move_box(const sl_trail *trail, const float from[4], sl_trail_box *to)
{
    polygon p;
    if (trail->folded) {
        return false;
    }
    double box[4] = {from[0], from[1], from[2], from[3]};
    polygon_of_box(&p, box);
    polygon_move(&p, trail->matrix);
    polygon_face(&p);
    if (!polygon_bounds(&p, to->whole)) {
        return false;
    }
    /* Only the image is ever shown; far outside it precision would be lost. */
    box_clip(box, (const double[4]){0, 0, trail->picture_width, trail->picture_height});
    if (box_is_empty(box)) {
        return false;
    }
    polygon_of_box(&p, box);
    polygon_move(&p, trail->matrix);
    polygon_face(&p);
    polygon_clip_corners(&p, trail);
    if (!polygon_bounds(&p, to->box)) {
        return false;
    }
    box_clip(to->box, trail->shown);
    return !box_is_empty(to->box);
}

/* Returns whether the point is in the part left before the last warp. */
static bool corners_have(const sl_trail *trail, const double at[2])
{
    const double sign = corners_area(trail) < 0 ? -1 : 1;
    for (uint32_t i = 0; i < trail->corner_count; i++) {
        double line[3];
        corner_line(trail, i, sign, line);
        if (line[0] * at[0] + line[1] * at[1] + line[2] < -1e-9 * (fabs(line[0]) + fabs(line[1]))) {
            return false;
        }
    }
    return true;
}

bool sl_trail_shows(const sl_trail *trail, const double at[2])
{
    const double *shown = trail->shown;
    return !trail->folded && at[0] >= shown[0] && at[0] < shown[2] && at[1] >= shown[1] &&
           at[1] < shown[3] && corners_have(trail, at);
}

uint32_t sl_trail_shown(const sl_trail *trail, double corners[SL_TRAIL_SHOWN_MAX][2])
{
    polygon p;
    if (trail->folded || box_is_empty(trail->shown)) {
        return 0;
    }
    polygon_of_box(&p, trail->shown);
    polygon_clip_corners(&p, trail);
    for (uint32_t i = 0; i < p.count; i++) {
        corners[i][0] = p.at[i][0];
        corners[i][1] = p.at[i][1];
    }
    return p.count;
}

void sl_trail_row(const sl_trail *trail, double y, uint32_t width, uint32_t *from, uint32_t *to)
{
    const double *shown = trail->shown;
    const double sign = corners_area(trail) < 0 ? -1 : 1;
    double first = fmax(ceil(shown[0] - 0.5), 0);
    double behind = fmin(ceil(shown[2] - 0.5), width);
    bool some = !trail->folded && y >= shown[1] && y < shown[3];
    for (uint32_t i = 0; i < trail->corner_count; i++) {
        double line[3];
        corner_line(trail, i, sign, line);
        const double away = line[1] * y + line[2] + 1e-9 * (fabs(line[0]) + fabs(line[1]));
        const double at = -away / line[0] - 0.5; /* of a pixel whose centre is on the line */
        first = line[0] > 0 ? fmax(first, ceil(at)) : first;
        behind = line[0] < 0 ? fmin(behind, floor(at) + 1) : behind;
        some = some && (line[0] != 0 || away >= 0);
    }
    some = some && first < behind;
    *from = some ? (uint32_t)first : 0;
    *to = some ? (uint32_t)behind : 0;
}

bool sl_trail_move_point(const sl_trail *trail, const double from[2], double to[2])
{
    const double *m = trail->matrix;
    const double w = m[6] * from[0] + m[7] * from[1] + m[8];
    const double before = fmax(w, EYE); /* points behind the eye have no position: far away, then */
    to[0] = (m[0] * from[0] + m[1] * from[1] + m[2]) / before;
    to[1] = (m[3] * from[0] + m[4] * from[1] + m[5]) / before;
    return w >= EYE && sl_trail_shows(trail, to);
}

bool sl_trail_inverse(const sl_trail *trail, double to[9])
{
    return !trail->folded && sl_matrix_invert(trail->matrix, to);
}

void sl_trail_seen(const sl_trail *trail, uint32_t width, uint32_t height, double box[4])
{
    const double picture[4] = {0, 0, trail->picture_width, trail->picture_height};
    double shown[4] = {0, 0, width, height};
    double back[9];
    polygon p;
    memset(box, 0, 4 * sizeof(*box));
    box_clip(shown, trail->shown);
    if (box_is_empty(shown) || !sl_trail_inverse(trail, back)) {
        return;
    }
    polygon_of_box(&p, shown);
    polygon_clip_corners(&p, trail);
    polygon_move(&p, back);
    polygon_face(&p);
    if (polygon_bounds(&p, box)) {
        box_clip(box, picture);
    }
    if (box_is_empty(box)) {
        memset(box, 0, 4 * sizeof(*box));
    }
}

void sl_trail_scale(const sl_trail *trail, const double at[2], double scale[2])
{
    const double *m = trail->matrix;
    const double w = m[6] * at[0] + m[7] * at[1] + m[8];
    double to[2];
    (void)sl_trail_move_point(trail, at, to);
    for (size_t i = 0; i < 2; i++) {
        const double across = m[i] - to[0] * m[6 + i];
        const double down = m[3 + i] - to[1] * m[6 + i];
        scale[i] = w >= EYE ? hypot(across, down) / w : 0;
    }
}

bool sl_trail_is_mirrored(const sl_trail *trail)
{
    return sl_matrix_determinant(trail->matrix) < 0;
}
