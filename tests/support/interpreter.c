/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreter.h"

#include "geometry.h"
#include "operations.h"
#include "policy.h"
#include "resample.h"
#include "run.h"
#include "test.h"
#include "warp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

sluice_status interpreter_jpeg(const sl_image *in, int quality, uint8_t *out, sl_scratch *scratch,
                               sluice_error *error)
{
    (void)scratch;
    (void)error;
    for (size_t i = 0; i < (size_t)in->width * in->height * 3; i++) {
        out[i] = (uint8_t)(in->pixels[i] ^ quality);
    }
    return SLUICE_OK;
}

static const sl_tools scalar = {.simd = SL_SIMD_SCALAR, .jpeg = interpreter_jpeg};

canvas interpreter_canvas(uint32_t width, uint32_t height)
{
    canvas c = {width, height, malloc((size_t)width * height * 3)};
    assert_non_null(c.pixels);
    return c;
}

static void become(canvas *c, canvas next)
{
    free(c->pixels);
    *c = next;
}

typedef struct interpreter {
    const sl_params *params;
    sl_scratch scratch;
} interpreter;

sl_image canvas_view(const canvas *c)
{
    return (sl_image){.pixels = c->pixels,
                      .width = c->width,
                      .height = c->height,
                      .channels = 3,
                      .stride_bytes = (size_t)c->width * 3,
                      .picture_width = c->width,
                      .picture_height = c->height,
                      .denominator = 1};
}

/* Resamples the whole raster, then cuts the window out pixel by pixel. */
static canvas box_alone(interpreter *in, const sl_geometry *g, const canvas *from)
{
    const sl_mapping *box = &g->box;
    const sl_mapping all = {.source = box->source,
                            .width = box->virtual_width,
                            .height = box->virtual_height,
                            .virtual_width = box->virtual_width,
                            .virtual_height = box->virtual_height,
                            .beyond_bilinear = box->beyond_bilinear};
    const sl_image view = canvas_view(from);
    canvas raster = interpreter_canvas(all.width, all.height);
    canvas out = interpreter_canvas(box->width, box->height);
    assert_int_equal(sl_resample(SL_SIMD_SCALAR, &view, &all, raster.pixels, &in->scratch, NULL),
                     SLUICE_OK);
    for (uint32_t row = 0; row < out.height; row++) {
        for (uint32_t column = 0; column < out.width; column++) {
            const int64_t x =
                (int64_t)box->window_x + (box->flip_x ? box->width - 1 - column : column);
            const int64_t y = (int64_t)box->window_y + (box->flip_y ? box->height - 1 - row : row);
            const bool shown = x >= 0 && y >= 0 && x < all.width && y < all.height;
            memcpy(out.pixels + ((size_t)row * out.width + column) * 3,
                   shown ? raster.pixels + ((size_t)y * all.width + (size_t)x) * 3 : g->fill, 3);
        }
    }
    free(raster.pixels);
    return out;
}

/* With a warp, uses its whole canvas, not only the visible part. */
static sl_geometry whole_geometry(const sl_geometry *g)
{
    sl_geometry whole = *g;
    sl_mapping *box = &whole.box;
    if (g->warps) {
        box->window_x -=
            (int32_t)(box->flip_x ? g->canvas_width - g->canvas_x - box->width : g->canvas_x);
        box->window_y -=
            (int32_t)(box->flip_y ? g->canvas_height - g->canvas_y - box->height : g->canvas_y);
        box->width = g->canvas_width;
        box->height = g->canvas_height;
    }
    return whole;
}

static void geometry_alone(interpreter *in, uint32_t number, canvas *c)
{
    const sl_geometry whole = whole_geometry(&in->params->geometries[number]);
    const sl_geometry *g = &whole;
    canvas box = box_alone(in, g, c);
    if (g->warps) {
        const sl_image view = canvas_view(&box);
        canvas out = interpreter_canvas(g->warp.width, g->warp.height);
        assert_int_equal(
            sl_warp_apply(SL_SIMD_SCALAR, &g->warp, &view, out.pixels, &in->scratch, NULL),
            SLUICE_OK);
        become(&box, out);
    }
    become(c, box);
}

static uint32_t grey_of(const uint8_t *p)
{
    return (p[0] * 19595U + p[1] * 38470U + p[2] * 7471U + 0x8000U) >> 16;
}

static void table_alone(const sl_operation *operation, canvas *c)
{
    sl_measured measured = {.mean_grey = 0};
    uint8_t table[3][256];
    uint64_t grey = 0;
    const size_t count = (size_t)c->width * c->height;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *p = c->pixels + i * 3;
        grey += grey_of(p);
        for (size_t k = 0; k < 3; k++) {
            measured.histogram[k][p[k]]++;
        }
    }
    measured.mean_grey = (uint8_t)floor((double)grey / (double)count + 0.5);
    operation->kind->table(operation, &measured, table);
    for (size_t i = 0; i < count * 3; i++) {
        c->pixels[i] = table[i % 3][c->pixels[i]];
    }
}

/* Walks one pixel at a time from the edge and turns at the end. */
static uint32_t padded(int64_t at, uint32_t size, int mode)
{
    int64_t place = 0;
    int64_t step = 1;
    if (mode == SL_PAD_EDGE || size == 1) {
        return at < 0 ? 0 : at >= size ? size - 1 : (uint32_t)at;
    }
    for (int64_t i = at < 0 ? -at : at; i > 0; i--) {
        const bool first_back = at < 0 && i == -at && mode == SL_PAD_SYMMETRIC;
        if (first_back) {
            continue; /* repeats the pixel on the edge */
        }
        const bool turns = place + step < 0 || place + step >= size;
        step = turns ? -step : step;
        place += turns && mode == SL_PAD_SYMMETRIC ? 0 : step;
    }
    return (uint32_t)place;
}

static void pad_alone(const sl_operation *operation, canvas *c)
{
    canvas out = interpreter_canvas(operation->width, operation->height);
    for (uint32_t y = 0; y < out.height; y++) {
        for (uint32_t x = 0; x < out.width; x++) {
            const int mode = (int)operation->values[2];
            const size_t row = padded(y - (int64_t)operation->values[1], c->height, mode);
            const size_t column = padded(x - (int64_t)operation->values[0], c->width, mode);
            memcpy(out.pixels + ((size_t)y * out.width + x) * 3,
                   c->pixels + (row * c->width + column) * 3, 3);
        }
    }
    become(c, out);
}

static uint32_t mix_alone(interpreter *in, const sl_operation *mix, canvas *c);

static void canvas_alone(interpreter *in, const sl_operation *operation, canvas *c)
{
    const sl_run run = {.tools = &scalar, .params = in->params, .scratch = &in->scratch};
    canvas out = interpreter_canvas(operation->width, operation->height);
    const sl_canvas_work work = {.run = &run, .in = canvas_view(c), .out = out.pixels};
    assert_int_equal(operation->kind->canvas(operation, &work), SLUICE_OK);
    become(c, out);
}

/* Returns how many operations of the list it has applied. */
static uint32_t alone(interpreter *in, const sl_operation *operation, canvas *c)
{
    const sl_operation_kind *kind = operation->kind;
    if (kind == &sl_operation_mix) {
        return mix_alone(in, operation, c);
    }
    if (kind == &sl_operation_geometry) {
        geometry_alone(in, (uint32_t)operation->values[0], c);
    } else if (kind == &sl_operation_pad) {
        pad_alone(operation, c);
    } else if (kind->canvas != NULL) {
        canvas_alone(in, operation, c);
    } else if (kind->rows != NULL) {
        kind->rows(operation, &scalar, c->pixels, 0, c->height);
    } else {
        table_alone(operation, c);
    }
    assert_int_equal(c->width, operation->width);
    assert_int_equal(c->height, operation->height);
    return 1;
}

static float blended(float from, float to, float share)
{
    return from + share * (to - from);
}

static uint32_t mix_alone(interpreter *in, const sl_operation *mix, canvas *c)
{
    const size_t bytes = (size_t)c->width * c->height * 3;
    const int rule = (int)mix->values[0];
    float *sums = malloc(bytes * sizeof(*sums));
    assert_non_null(sums);
    for (size_t i = 0; i < bytes; i++) {
        const float whole = (float)c->pixels[i];
        sums[i] = rule == SL_MIX_BLENDS ? whole
                  : rule == SL_MIX_SUM  ? (float)mix->values[1] * whole
                                        : 0;
    }
    uint32_t at = 1;
    for (uint32_t k = 0; k < (uint32_t)mix->values[3]; k++) {
        const float weight = (float)mix[at].values[0];
        const uint32_t end = at + 1 + (uint32_t)mix[at].values[1];
        canvas copy = interpreter_canvas(c->width, c->height);
        memcpy(copy.pixels, c->pixels, bytes);
        for (at++; at < end;) {
            at += alone(in, &mix[at], &copy);
        }
        for (size_t i = 0; i < bytes; i++) {
            sums[i] = rule == SL_MIX_BLENDS
                          ? floorf(blended(sums[i], (float)copy.pixels[i], weight))
                          : sums[i] + weight * (float)copy.pixels[i];
        }
        free(copy.pixels);
    }
    for (size_t i = 0; i < bytes; i++) {
        const float sum = floorf(fminf(fmaxf(sums[i], 0), 255));
        c->pixels[i] = (uint8_t)(rule == SL_MIX_SUM_AND_BLEND
                                     ? blended((float)c->pixels[i], sum, (float)mix->values[2])
                                     : sum);
    }
    free(sums);
    return at;
}

canvas interpret(const sl_params *params, const canvas *picture)
{
    interpreter in = {.params = params};
    canvas c = interpreter_canvas(picture->width, picture->height);
    memcpy(c.pixels, picture->pixels, (size_t)c.width * c.height * 3);
    assert_int_equal(sl_scratch_open(&in.scratch, (size_t)256 << 20, 1 << 20, NULL), SLUICE_OK);
    geometry_alone(&in, 0, &c);
    for (uint32_t i = 0; i < params->operation_count;) {
        i += alone(&in, &params->operations[i], &c);
    }
    sl_scratch_close(&in.scratch);
    assert_int_equal(c.width, params->width);
    assert_int_equal(c.height, params->height);
    return c;
}
