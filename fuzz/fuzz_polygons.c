/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_polygons: bytes are a mask's size, a matrix and vertices: polygons are rejected with a
 * reason or drawn inside the mask, with their box inside it, too. */
#include "fuzz.h"
#include "instances.h"

#include <math.h>
#include <string.h>

enum { SIDE_MAX = 128, GUARD = 16, PARTS = 3, HEAD = 8, SCRATCH = 1 << 22 };

/* Reads the next number: 8 bytes unconverted, 2 bytes in quarter pixels. */
static double take_number(const uint8_t **at, const uint8_t *end, bool any)
{
    const size_t bytes = any ? sizeof(double) : sizeof(int16_t);
    double number = 0;
    int16_t quarters = 0;
    if ((size_t)(end - *at) < bytes)
        return 0;
    memcpy(any ? (void *)&number : (void *)&quarters, *at, bytes);
    *at += bytes;
    return any ? number : quarters * .25;
}

static void draw(const sl_instances *all, const sl_shape_view *view, sl_scratch *scratch)
{
    static uint8_t pixels[GUARD + SIDE_MAX * (SIDE_MAX + GUARD)];
    sluice_error error = SLUICE_ERROR_INIT;
    const size_t stride = view->width + (size_t)GUARD;
    const sl_mask mask = {pixels + GUARD, stride, view->width, view->height, 1, NULL, NULL};
    memset(pixels, 9, sizeof(pixels));
    const sluice_status status =
        sl_instances_rasterise(all, 0, view->matrix, &mask, scratch, &error);
    fuzz_expect(status == SLUICE_OK || error.text[0] != '\0', "a refusal has a reason");
    fuzz_expect(sl_scratch_mark(scratch) == 0, "scratch is given back");
    for (size_t i = 0; i < sizeof(pixels); i++) {
        if (pixels[i] == 9) {
            continue;
        }
        const bool inside =
            i >= GUARD && (i - GUARD) % stride < view->width && (i - GUARD) / stride < view->height;
        fuzz_expect(inside && pixels[i] == 1, "only the mask is drawn to");
    }
}

static void find_box(const sl_instances *all, const sl_shape_view *view, sl_scratch *scratch)
{
    sl_shape_box found;
    fuzz_expect(sl_instances_box(all, 0, view, scratch, &found, NULL) == SLUICE_OK, "a box");
    const double *box = found.seen;
    const double *whole = found.whole;
    fuzz_expect(box[0] >= 0 && box[1] >= 0 && box[2] <= view->width && box[3] <= view->height &&
                    box[0] <= box[2] && box[1] <= box[3],
                "the box is inside");
    const double near = 1e-6; /* tolerance where edges are cut */
    fuzz_expect(box[0] == box[2] || (whole[0] <= box[0] + near && whole[1] <= box[1] + near &&
                                     whole[2] >= box[2] - near && whole[3] >= box[3] - near),
                "the whole has it");
}

int fuzz_run(const uint8_t *data, size_t size)
{
    const uint8_t *at = data + HEAD;
    const uint8_t *end = data + size;
    sl_polygon parts[PARTS];
    sl_scratch scratch;
    if (size < HEAD)
        return 0;
    sl_shape_view view = {.matrix = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                          .width = 1 + data[0] % SIDE_MAX,
                          .height = 1 + data[1] % SIDE_MAX};
    for (int i = 0; i < 9 && (data[2] & 2) != 0; i++)
        view.matrix[i] = take_number(&at, end, (data[2] & 4) != 0) / (i < 6 ? 16 : 1024);
    const size_t most = (size_t)(end - at);
    double *points = calloc(most + 2, sizeof(*points));
    fuzz_expect(points != NULL && sl_scratch_open(&scratch, SCRATCH, SCRATCH, NULL) == SLUICE_OK,
                "memory");
    size_t count = 0;
    while (at < end && count < most)
        points[count++] = take_number(&at, end, (data[2] & 1) != 0) + (at == end ? .5 : 0);
    const uint32_t all_points = (uint32_t)count / 2;
    const uint32_t cut[PARTS + 1] = {0, all_points * data[3] / 512,
                                     all_points * (256 + data[4] % 256U) / 512, all_points};
    for (int i = 0; i < PARTS; i++)
        parts[i] = (sl_polygon){points + 2 * (size_t)cut[i], cut[i + 1] - cut[i]};
    const sl_instance instance = {.polygons = PARTS};
    const sl_instances all = {1, &instance, parts};
    draw(&all, &view, &scratch);
    find_box(&all, &view, &scratch);
    sl_scratch_close(&scratch);
    free(points);
    return 0;
}

/* Vertices of each form, with and without a matrix. */
size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    if (index >= 8)
        return 0;
    const uint8_t head[HEAD] = {100, 80, (uint8_t)index, 60, 100};
    size_t size = HEAD;
    memcpy(buffer, head, HEAD);
    for (unsigned i = 0; i < 60; i++) {
        const double number = i % 7 * 20.5 + i;
        const int16_t quarters = (int16_t)(4 * number);
        const bool any = (index & (i < 9 && (index & 2) != 0 ? 4U : 1U)) != 0;
        memcpy(buffer + size, any ? (const void *)&number : (const void *)&quarters, any ? 8 : 2);
        size += any ? 8 : 2;
    }
    return size;
}
