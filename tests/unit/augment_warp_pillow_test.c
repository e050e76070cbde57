/* SPDX-License-Identifier: Apache-2.0 */
/* Warps against Pillow's Image.transform, bit for bit. Arguments: Python, pillow_oracle.py. */
#include "jpeg_make.h"
#include "philox.h"
#include "pillow.h"
#include "test.h"
#include "warp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WARPS = 3000, PICTURES = 41, SIDE_MAX = 90, OUT_MAX = 60 };

static const char *const filter_names[] = {"nearest", "bilinear", "bicubic"};

/* Kinds of matrices, in turn. */
enum { TURN, SCALE, TRANSLATION, HALF_STEPS, FAR, ANY_AFFINE, PERSPECTIVE, STEEP, SHEAR, KINDS };

typedef struct picture {
    uint8_t pixels[SIDE_MAX * SIDE_MAX * 3];
    uint32_t width, height;
} picture;

static picture pictures[PICTURES];

/* Half of them are noise; some are thin. */
static void make_pictures(sl_random *random)
{
    for (uint32_t i = 0; i < PICTURES; i++) {
        picture *p = &pictures[i];
        p->width =
            i % 8 == 7 ? 1 + sl_random_below(random, 3) : 1 + sl_random_below(random, SIDE_MAX);
        p->height =
            i % 8 == 6 ? 1 + sl_random_below(random, 3) : 1 + sl_random_below(random, SIDE_MAX);
        pattern_fill(p->pixels, p->width, p->height, 3, i);
        for (size_t k = 0; i % 2 == 0 && k < (size_t)p->width * p->height * 3; k++) {
            p->pixels[k] = (uint8_t)sl_random_below(random, 256);
        }
    }
}

static double between(sl_random *random, double least, double most)
{
    return sl_random_range(random, least, most);
}

/* Sets `linear` around both centres. */
static void set_about_middles(double m[9], const double linear[4], const picture *p,
                              const sl_warp *warp)
{
    const double x = warp->width / 2.0;
    const double y = warp->height / 2.0;
    m[0] = linear[0];
    m[1] = linear[1];
    m[3] = linear[2];
    m[4] = linear[3];
    m[2] = p->width / 2.0 - m[0] * x - m[1] * y;
    m[5] = p->height / 2.0 - m[3] * x - m[4] * y;
}

static void random_matrix(sl_random *random, uint32_t kind, const picture *p, sl_warp *warp)
{
    double *m = warp->matrix;
    const double angle = between(random, -3.2, 3.2);
    const double turn[4] = {cos(angle), -sin(angle), sin(angle), cos(angle)};
    const double scale[4] = {between(random, -3, 3), 0, 0, between(random, -3, 3)};
    double any[4];
    for (int i = 0; i < 4; i++) {
        any[i] = between(random, -2, 2);
    }
    m[8] = 1;
    m[6] = m[7] = 0;
    set_about_middles(m, kind == SCALE ? scale : kind == TURN ? turn : any, p, warp);
    if (kind == TRANSLATION || kind == HALF_STEPS) {
        const double step = kind == TRANSLATION ? 1 : 0.5;
        const bool shears = kind == HALF_STEPS && sl_random_below(random, 2) == 1;
        const double t[6] = {sl_random_below(random, 4) == 0 ? -step : step,
                             shears ? step : 0,
                             step * ((double)sl_random_below(random, 40) - 20),
                             shears ? -step : 0,
                             step,
                             step * ((double)sl_random_below(random, 40) - 20)};
        memcpy(m, t, sizeof(t));
    } else if (kind == SHEAR) { /* along one axis, by a simple fraction or any number */
        const bool is_x = sl_random_below(random, 2) == 1;
        const double by = sl_random_below(random, 2) == 1
                              ? ((double)sl_random_below(random, 19) - 9) / 30
                              : between(random, -1.5, 1.5);
        const double shift = sl_random_below(random, 2) == 1 ? 0 : between(random, -9, 9);
        const double whole = (double)sl_random_below(random, 9) - 4;
        const double t[6] = {1, is_x ? by : 0,       is_x ? shift : whole, is_x ? 0 : by,
                             1, is_x ? whole : shift};
        memcpy(m, t, sizeof(t));
    } else if (kind == FAR) { /* beyond 16.16, and just within it */
        m[0] *= 1200;
        m[3] *= 900;
        m[2] += between(random, -30000, 30000);
    } else if (kind == PERSPECTIVE || kind == STEEP) {
        const double most = kind == STEEP ? 0.1 : 0.3 / OUT_MAX;
        m[6] = between(random, -most, most);
        m[7] = between(random, -most, most);
    }
}

static sl_image view_of(const picture *p, sl_rect part)
{
    const size_t stride = (size_t)p->width * 3;
    return (sl_image){.pixels = p->pixels + part.y * stride + (size_t)part.x * 3,
                      .width = part.width,
                      .height = part.height,
                      .channels = 3,
                      .stride_bytes = stride,
                      .origin_x = part.x,
                      .origin_y = part.y,
                      .picture_width = p->width,
                      .picture_height = p->height,
                      .denominator = 1};
}

static void ask_warp(pillow *oracle, uint32_t number, const picture *p, const sl_warp *warp)
{
    const double *m = warp->matrix;
    const bool affine = m[6] == 0 && m[7] == 0;
    char rest[64] = "";
    if (!affine) {
        (void)snprintf(rest, sizeof(rest), " %a %a", m[6], m[7]);
    }
    pillow_ask(oracle, "warp %u %u %u %u %u %s %s %u %u %u %a %a %a %a %a %a%s", number, p->width,
               p->height, warp->width, warp->height, affine ? "affine" : "perspective",
               filter_names[warp->interpolation], warp->fill[0], warp->fill[1], warp->fill[2], m[0],
               m[1], m[2], m[3], m[4], m[5], rest);
}

/* Gives every level exactly the part that it needs. */
static void warp_all_levels(const picture *p, const sl_warp *warp, uint8_t *out,
                            sl_scratch *scratch)
{
    static uint8_t twin[OUT_MAX * OUT_MAX * 3];
    const sl_image view = view_of(p, sl_warp_need(warp, p->width, p->height));
    const size_t bytes = (size_t)warp->width * warp->height * 3;
    assert_int_equal(sl_warp_apply(SL_SIMD_SCALAR, warp, &view, out, scratch, NULL), SLUICE_OK);
    for (int level = SL_SIMD_SCALAR + 1; level <= (int)sl_simd_best(); level++) {
        assert_int_equal(sl_warp_apply((sl_simd)level, warp, &view, twin, scratch, NULL),
                         SLUICE_OK);
        assert_memory_equal(twin, out, bytes);
    }
}

static sl_warp warps[WARPS];
static uint8_t ours[WARPS][OUT_MAX * OUT_MAX * 3];

/* Makes all warps and asks for their results. */
static void make_warps(pillow *oracle)
{
    sl_scratch scratch;
    assert_int_equal(sl_scratch_open(&scratch, 1 << 20, 1 << 20, NULL), SLUICE_OK);
    sl_random random = sl_random_for(5, 0, 0, 0);
    make_pictures(&random);
    for (uint32_t i = 0; i < PICTURES; i++) {
        const size_t bytes = (size_t)pictures[i].width * pictures[i].height * 3;
        pillow_input(oracle, i, pictures[i].pixels, bytes);
    }
    for (uint32_t i = 0; i < WARPS; i++) {
        const picture *p = &pictures[i % PICTURES];
        sl_warp *warp = &warps[i];
        *warp = (sl_warp){.width = 1 + sl_random_below(&random, OUT_MAX),
                          .height = 1 + sl_random_below(&random, OUT_MAX),
                          .interpolation = (sl_interpolation)(i % 3),
                          .fill = {(uint8_t)i, (uint8_t)(i * 3), (uint8_t)(i * 7)}};
        random_matrix(&random, i / 3 % KINDS, p, warp);
        warp_all_levels(p, warp, ours[i], &scratch);
        ask_warp(oracle, i % PICTURES, p, warp);
    }
    sl_scratch_close(&scratch);
}

/* Debian's Pillow of arm64 is compiled with fused multiply-adds, which round once where x86-64's
 * rounds twice: some interpolated values differ by 1. Ours are equal on all processors. */
#ifdef __aarch64__
enum { SHARE_MOST = 10000, DIFFERENCE_MOST = 1 };
#else
enum { SHARE_MOST = INT32_MAX, DIFFERENCE_MOST = 0 };
#endif

/* For one interpolation: bytes, differing bytes, warps that differ too much, and fill bytes. */
typedef struct tally {
    size_t all, differ, too_large, filled;
} tally;

static void compare(const pillow *oracle, uint32_t i, tally *sum)
{
    static uint8_t theirs[OUT_MAX * OUT_MAX * 3];
    const size_t bytes = (size_t)warps[i].width * warps[i].height * 3;
    size_t wrong = 0;
    pillow_answer(oracle, i, theirs, bytes);
    for (size_t k = 0; k < bytes; k++) {
        wrong += ours[i][k] != theirs[k];
        sum->filled += theirs[k] == warps[i].fill[k % 3];
    }
    if (wrong > 0) {
        const int largest = largest_difference(ours[i], theirs, bytes);
        print_message("warp %u (kind %u, %s): %zu of %zu differ, largest %d\n", i, i / 3 % KINDS,
                      filter_names[i % 3], wrong, bytes, largest);
        sum->too_large += largest > DIFFERENCE_MOST;
    }
    sum->differ += wrong;
    sum->all += bytes;
}

TEST(warps_are_pillows)
{
    pillow oracle;
    tally sums[3] = {{0}};
    pillow_open(&oracle);
    make_warps(&oracle);
    pillow_run(&oracle);
    for (uint32_t i = 0; i < WARPS; i++) {
        compare(&oracle, i, &sums[i % 3]);
    }
    pillow_close(&oracle);
    for (int i = 0; i < 3; i++) {
        print_message("%s: %zu of %zu differ, %zu filled\n", filter_names[i], sums[i].differ,
                      sums[i].all, sums[i].filled);
        assert_int_equal(sums[i].too_large, 0);
        assert_true(sums[i].differ <= sums[i].all / SHARE_MOST);
        assert_true(sums[i].filled < sums[i].all / 4 * 3);
    }
}

int main(int argc, char **argv)
{
    const int code = pillow_begin(argc, argv);
    if (code != 0) {
        return code;
    }
    return test_run(NULL, NULL);
}
