/* SPDX-License-Identifier: Apache-2.0 */
/* draw: random numbers from a seed (splitmix64). Each generator has one owner. */
#ifndef SIM_DRAW_H
#define SIM_DRAW_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_draw {
    uint64_t state;
} sim_draw;

static inline uint64_t sim_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline uint64_t sim_draw_next(sim_draw *draw)
{
    draw->state += UINT64_C(0x9e3779b97f4a7c15);
    return sim_mix(draw->state);
}

/* Returns a number in 0 .. below - 1; 0 for 0. */
static inline uint32_t sim_below(sim_draw *draw, uint32_t below)
{
    return (uint32_t)((sim_draw_next(draw) >> 32) * below >> 32);
}

static inline bool sim_chance(sim_draw *draw, uint32_t permille)
{
    return sim_below(draw, 1000) < permille;
}

/* Returns one of the numbers. */
#define SIM_ONE_OF(draw, ...)                     \
    (((const uint32_t[]){__VA_ARGS__})[sim_below( \
        draw, (uint32_t)(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))])

#endif
