/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strips of 32 lines: rows are transposed so that the same pixel of all is adjacent; columns are so
 * already. All passes of a strip are done while it is in the first-level cache.
 */
#include "box_blur.h"

#include "error.h"
#include "minmax.h"
#include "stencil_kernels.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { LANES = SL_STENCIL_LANES, SAMPLES = 3, PASSES = 3 };

#define WHOLE (1U << 24)

sl_boxes sl_boxes_gaussian(float radius)
{
    const float variance = radius * radius / (float)PASSES;
    const float length = (float)sqrt(12.0 * (double)variance + 1.0);
    const float whole = (float)floor(((double)length - 1.0) / 2.0);
    float part = (2.0F * whole + 1.0F) * (whole * (whole + 1.0F) - 3.0F * variance);
    part /= 6.0F * (variance - (whole + 1.0F) * (whole + 1.0F));
    return (sl_boxes){.radius = whole + part, .passes = PASSES};
}

typedef struct box_work {
    const sl_stencil_kernels *kernels;
    uint32_t passes, reach, weight, far_weight;
    uint8_t *lines;      /* a transposed strip of rows */
    uint8_t *partial;    /* a strip of fewer than 32 columns */
    uint8_t *between[2]; /* passes */
} box_work;

static void set_weights(box_work *work, const sl_boxes *boxes)
{
    work->passes = boxes->passes;
    work->reach = (uint32_t)boxes->radius;
    work->weight = (uint32_t)((float)WHOLE / (boxes->radius * 2.0F + 1.0F));
    work->far_weight = (WHOLE - (work->reach * 2 + 1) * work->weight) / 2;
}

static bool box_take(box_work *work, uint32_t width, uint32_t height, sl_scratch *scratch)
{
    const size_t longest = sl_max_u32(width, height);
    work->lines = sl_scratch_take(scratch, (size_t)width * SAMPLES * LANES);
    work->partial = sl_scratch_take(scratch, (size_t)height * LANES);
    work->between[0] = sl_scratch_take(scratch, longest * LANES);
    work->between[1] = sl_scratch_take(scratch, longest * LANES);
    return work->lines != NULL && work->partial != NULL && work->between[0] != NULL &&
           work->between[1] != NULL;
}

/* Elements of a strip: the same 32 lines of each, or fewer. */
typedef struct strip {
    uint8_t *first;
    size_t stride;
    uint32_t count;
} strip;

static void copy_strip(const strip *to, const strip *from, size_t lines)
{
    for (uint32_t i = 0; i < to->count; i++) {
        memcpy(to->first + i * to->stride, from->first + i * from->stride, lines);
    }
}

/* Runs all passes over a strip. A pass cannot write where it reads. */
static void run_passes(const box_work *work, const strip *lines)
{
    sl_stencil_box pass = {.in = lines->first,
                           .in_stride = lines->stride,
                           .out_stride = LANES,
                           .count = lines->count,
                           .reach = work->reach,
                           .weight = work->weight,
                           .far_weight = work->far_weight};
    for (uint32_t i = 0; i + 1 < work->passes; i++) {
        pass.out = work->between[i % 2];
        work->kernels->box(&pass);
        pass.in = pass.out;
        pass.in_stride = LANES;
    }
    if (work->passes == 1) {
        const strip blurred = {work->between[0], LANES, lines->count};
        pass.out = blurred.first;
        work->kernels->box(&pass);
        copy_strip(lines, &blurred, LANES);
        return;
    }
    pass.out = lines->first;
    pass.out_stride = lines->stride;
    work->kernels->box(&pass);
}

/* Blurs 32 rows from `top` on. If there are fewer, the last one replaces the others. */
static void blur_rows(const box_work *work, const sl_image *in, uint32_t top, uint8_t *out)
{
    const size_t bytes = (size_t)in->width * SAMPLES;
    const uint32_t used = sl_min_u32(LANES, in->height - top);
    const uint8_t *rows[LANES];
    for (uint32_t r = 0; r < LANES; r++) {
        rows[r] = in->pixels + (top + sl_min_u32(r, used - 1)) * in->stride_bytes;
    }
    work->kernels->to_lines(rows, bytes, work->lines);
    for (size_t c = 0; c < SAMPLES; c++) {
        const strip channel = {work->lines + c * LANES, (size_t)SAMPLES * LANES, in->width};
        run_passes(work, &channel);
    }
    work->kernels->from_lines(work->lines, bytes, out, bytes, used);
}

/* Blurs 32 columns of bytes, or `used` of them through a strip of its own. */
static void blur_columns(const box_work *work, const strip *columns, size_t used)
{
    if (used == LANES) {
        run_passes(work, columns);
        return;
    }
    const strip whole = {work->partial, LANES, columns->count};
    memset(whole.first, 0, (size_t)whole.count * LANES);
    copy_strip(&whole, columns, used);
    run_passes(work, &whole);
    copy_strip(columns, &whole, used);
}

sluice_status sl_box_blur(sl_simd simd, const sl_image *in, const sl_boxes *boxes, uint8_t *out,
                          sl_scratch *scratch, sluice_error *error)
{
    assert(boxes->radius >= 0.0F && boxes->radius <= SL_BOX_RADIUS_MAX && boxes->passes > 0);
    assert(in->width > 0 && in->height > 0 && in->channels == SAMPLES);
    const size_t bytes = (size_t)in->width * SAMPLES;
    assert(in->pixels != out || in->stride_bytes == bytes);
    box_work work = {.kernels = sl_stencil_kernels_for(simd)};
    const size_t mark = sl_scratch_mark(scratch);
    set_weights(&work, boxes);
    if (!box_take(&work, in->width, in->height, scratch)) {
        sl_scratch_release(scratch, mark);
        return sl_no_memory(error, "augment", "to blur an image");
    }
    for (uint32_t y = 0; y < in->height; y += LANES) {
        blur_rows(&work, in, y, out + y * bytes);
    }
    for (size_t x = 0; x < bytes; x += LANES) {
        const strip columns = {out + x, bytes, in->height};
        blur_columns(&work, &columns, sl_min_size(LANES, bytes - x));
    }
    sl_scratch_release(scratch, mark);
    return SLUICE_OK;
}
