/* SPDX-License-Identifier: Apache-2.0 */
#include "polygon_cases.h"

#include <math.h>
#include <string.h>

enum { SIDE_MAX = 200, STAR_MOST = 290, REACH = 1 << 20 };

uint64_t split_mix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t mask_hash(const uint8_t *mask, size_t bytes)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (mask[i] != 0)) * UINT64_C(0x100000001B3);
    return hash;
}

static uint32_t below(uint64_t *state, uint32_t most)
{
    return (uint32_t)(split_mix(state) % most);
}

/* Draws from [from, to) with 53 bits. */
static double between(uint64_t *state, double from, double to)
{
    return from + (to - from) * ((double)(split_mix(state) >> 11) / 9007199254740992.0);
}

static double rounded(double number, double unit)
{
    return floor(number / unit + .5) * unit;
}

/* Maps 0..4 once around a square's border. */
static void on_square(double turn, double to[2])
{
    const double part = 2 * (turn - floor(turn)) - 1;
    const double corners[4][2] = {{1, part}, {-part, 1}, {-1, -part}, {part, -1}};
    memcpy(to, corners[(int)turn % 4], sizeof(corners[0]));
}

/* Draws a star like an annotator: around a centre, with two decimals. */
static uint32_t make_star(uint64_t *state, const polygon_case *c, double *points)
{
    const uint32_t count = 5 + below(state, STAR_MOST);
    const double middle[2] = {between(state, 0, c->width), between(state, 0, c->height)};
    const double size = between(state, 1, .6 * SIDE_MAX);
    for (size_t i = 0; i < count; i++) {
        double way[2];
        const double radius = size * between(state, .6, 1);
        on_square(4.0 * (double)i / count, way);
        for (size_t k = 0; k < 2; k++)
            points[2 * i + k] = floor((middle[k] + radius * way[k]) * 100 + .5) / 100;
    }
    return count;
}

/* Draws points from range[0] to range[1] of the mask, in units of range[2]; 0: unrounded. */
static uint32_t make_points(uint64_t *state, const polygon_case *c, const double range[3],
                            double *points)
{
    const uint32_t count = 3 + below(state, 18);
    for (uint32_t i = 0; i < 2 * count; i++) {
        const double side = i % 2 == 0 ? c->width : c->height;
        points[i] = between(state, range[0] * side, range[1] * side);
        points[i] = range[2] > 0 ? rounded(points[i], range[2]) : points[i];
    }
    return count;
}

static uint32_t make_rectangle(uint64_t *state, const polygon_case *c, double *points)
{
    const double x = below(state, c->width);
    const double y = below(state, c->height);
    const double right = x + below(state, c->width);
    const double bottom = y + below(state, c->height);
    const double corners[8] = {x, y, x, bottom, right, bottom, right, y};
    memcpy(points, corners, sizeof(corners));
    return 4;
}

static uint32_t make_huge(uint64_t *state, double *points)
{
    const uint32_t count = 3 + below(state, 3);
    for (uint32_t i = 0; i < 2 * count; i++) {
        const double reach = below(state, 3) == 0 ? 300 : REACH;
        points[i] = between(state, -reach, reach);
    }
    return count;
}

/* Makes one or two points, or several that are equal or collinear. */
static uint32_t make_degenerate(uint64_t *state, const polygon_case *c, double *points)
{
    const uint32_t count = 1 + below(state, 8);
    const double step = below(state, 2);
    for (uint32_t i = 0; i < count; i++) {
        const double at = step * below(state, c->width);
        points[2 * (size_t)i] = at;
        points[2 * (size_t)i + 1] = at * .5 + (below(state, 4) == 0 ? 3 : 0);
    }
    return count;
}

static uint32_t make_part(uint64_t *state, const polygon_case *c, uint32_t kind, double *points)
{
    static const double ranges[POLYGON_KINDS][3] = {
        [0] = {.2, .5, 0},    [1] = {0, 1, 0},   [2] = {-1, 2, 0},
        [3] = {-.2, 1.2, .1}, [6] = {1.1, 3, 0},
    };
    switch (kind) {
    case 4:
        return make_rectangle(state, c, points);
    case 5:
        return make_huge(state, points);
    case 7:
        return make_degenerate(state, c, points);
    case 8:
        return make_star(state, c, points);
    default:
        return make_points(state, c, ranges[kind], points);
    }
}

void polygon_case_make(polygon_case *made, uint32_t number)
{
    uint64_t state = number;
    double *points = made->points;
    made->kind = number % POLYGON_KINDS;
    made->width = 1 + below(&state, SIDE_MAX);
    made->height = 1 + below(&state, SIDE_MAX);
    made->parts = made->kind == 9 ? 2 + below(&state, POLYGON_PARTS - 1) : 1;
    for (uint32_t i = 0; i < made->parts; i++) {
        const uint32_t kind = made->kind == 9 ? 1 + 7 * below(&state, 2) : made->kind;
        made->part[i] = points;
        made->counts[i] = make_part(&state, made, kind, points);
        points += 2 * (size_t)made->counts[i];
    }
}
