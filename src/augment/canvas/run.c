/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: keeps at most two canvases at a time; a canvas operation reads one and writes the other. On
 * a worker, which owns scratch and row.
 */
#include "run.h"

#include "aug_mix.h"
#include "clock.h"
#include "error.h"
#include "geometry.h"
#include "mix_rule.h"
#include "operations.h"
#include "pixels.h"
#include "tables.h"

#include <assert.h>
#include <string.h>

/* ---- profile ---- */

static uint64_t profile_begin(const sl_run *run)
{
    return run->profile != NULL ? sl_now_ns() : 0;
}

static void profile_end(const sl_run *run, const sl_operation_kind *kind, uint64_t began)
{
    if (run->profile != NULL) {
        run->profile->ns[kind->number] += sl_now_ns() - began;
    }
}

/* ---- chains ---- */

void sl_chain_apply(const sl_run *run, const sl_chain *chain, uint8_t *pixels, uint32_t width,
                    uint32_t first_row, uint32_t rows)
{
    const sl_pixel_kernels *kernels = sl_pixel_kernels_for(run->tools->simd);
    const size_t count = (size_t)width * rows;
    for (uint32_t i = 0; i < chain->count; i++) {
        const sl_chain_stage *stage = &chain->stages[i];
        const uint64_t began = profile_begin(run);
        if (stage->rows != NULL) {
            stage->rows->kind->rows(stage->rows, run->tools, pixels, first_row, rows);
        } else if (stage->same) {
            kernels->look_up_one(pixels, count, stage->table[0]);
        } else {
            kernels->look_up(pixels, count, stage->table);
        }
        profile_end(run, stage->kind, began);
    }
}

static sluice_status chain_add_table(const sl_run *run, sl_chain *chain,
                                     const sl_operation *operation, const sl_measured *measured)
{
    uint8_t table[3][SL_LUT_SIZE];
    sl_chain_stage *stage = chain->count > 0 ? &chain->stages[chain->count - 1] : NULL;
    operation->kind->table(operation, measured, table);
    const bool same = operation->kind->measure != SL_MEASURE_HISTOGRAM;
    if (stage != NULL && stage->rows == NULL) {
        for (size_t c = 0; c < 3; c++) {
            sl_lut_append(stage->table[c], table[c]);
        }
        stage->same = stage->same && same;
        return SLUICE_OK;
    }
    stage = &chain->stages[chain->count++];
    *stage = (sl_chain_stage){.same = same,
                              .kind = operation->kind,
                              .table = sl_scratch_take(run->scratch, sizeof(table))};
    if (stage->table == NULL) {
        return sl_error_set(run->error, SLUICE_NOMEM, "augment", "no scratch memory for a table");
    }
    memcpy(stage->table, table, sizeof(table));
    return SLUICE_OK;
}

/* ---- canvases ---- */

typedef struct canvases {
    uint8_t *now, *spare; /* spare: NULL until one is needed */
    size_t now_bytes, spare_bytes;
    uint32_t width, height;  /* of `now` */
    bool made;               /* `now` has content */
    const uint8_t *borrowed; /* read-only canvas used in place of `now`, if not NULL */
} canvases;

static void swap_canvases(canvases *c)
{
    uint8_t *const pixels = c->now;
    const size_t bytes = c->now_bytes;
    c->now = c->spare;
    c->now_bytes = c->spare_bytes;
    c->spare = pixels;
    c->spare_bytes = bytes;
    c->borrowed = NULL;
}

/* Returns the current content. */
static const uint8_t *canvas_pixels(const canvases *c)
{
    return c->borrowed != NULL ? c->borrowed : c->now;
}

/* Makes `spare` large enough for width x height pixels. */
static bool need_spare(const sl_run *run, canvases *c, uint32_t width, uint32_t height)
{
    const size_t bytes = (size_t)width * height * 3;
    if (c->spare == NULL || c->spare_bytes < bytes) {
        c->spare = sl_scratch_take(run->scratch, bytes);
        c->spare_bytes = bytes;
    }
    return c->spare != NULL;
}

/* Makes the first canvas, if it is missing, and applies pending operations. */
static sluice_status settle(const sl_run *run, const sl_image *view, canvases *c, sl_chain *chain)
{
    if (!c->made) {
        if (!need_spare(run, c, c->width, c->height)) {
            return sl_run_no_memory(run, c->width, c->height);
        }
        const uint64_t began = profile_begin(run);
        const sluice_status status = sl_run_geometry(run, 0, view, c->spare);
        profile_end(run, &sl_operation_geometry, began);
        if (status != SLUICE_OK) {
            return status;
        }
        swap_canvases(c);
        c->made = true;
    }
    if (c->borrowed != NULL && chain->count > 0) {
        if (!need_spare(run, c, c->width, c->height)) {
            return sl_run_no_memory(run, c->width, c->height);
        }
        memcpy(c->spare, c->borrowed, (size_t)c->width * c->height * 3);
        swap_canvases(c);
    }
    const uint32_t strip = sl_strip_rows(c->width);
    for (uint32_t y = 0; chain->count > 0 && y < c->height; y += strip) {
        const uint32_t left = c->height - y;
        sl_chain_apply(run, chain, c->now + (size_t)y * c->width * 3, c->width, y,
                       left < strip ? left : strip);
    }
    chain->count = 0;
    return SLUICE_OK;
}

static void measure_histogram(const sl_run *run, const canvases *c, const sl_chain *chain,
                              sl_measured *measured)
{
    uint32_t counts[3][SL_LUT_SIZE];
    const bool pending = chain->count > 0;
    memset(counts, 0, sizeof(counts));
    sl_pixel_kernels_for(run->tools->simd)
        ->histogram(canvas_pixels(c), (size_t)c->width * c->height, counts);
    for (size_t channel = 0; channel < 3; channel++) {
        if (pending) {
            sl_lut_push(chain->stages[0].table[channel], counts[channel],
                        measured->histogram[channel]);
        } else {
            memcpy(measured->histogram[channel], counts[channel], sizeof(counts[channel]));
        }
    }
}

static sluice_status measure(const sl_run *run, const sl_image *view, const sl_operation *operation,
                             canvases *c, sl_chain *chain, sl_measured *measured)
{
    const sl_measure wanted = operation->kind->measure;
    if (wanted == SL_MEASURE_NOTHING) {
        return SLUICE_OK;
    }
    const bool tables_only =
        chain->count == 0 || (chain->count == 1 && chain->stages[0].rows == NULL);
    if (!c->made || wanted == SL_MEASURE_GREY || !tables_only) {
        const sluice_status status = settle(run, view, c, chain);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    const uint64_t began = profile_begin(run);
    if (wanted == SL_MEASURE_HISTOGRAM) {
        measure_histogram(run, c, chain, measured);
    } else {
        const size_t pixels = (size_t)c->width * c->height;
        measured->mean_grey = sl_mean_grey(
            sl_pixel_kernels_for(run->tools->simd)->sum_grey(canvas_pixels(c), pixels), pixels);
    }
    profile_end(run, operation->kind, began);
    return SLUICE_OK;
}

static sluice_status canvas_operation(const sl_run *run, const sl_operation *operation, canvases *c)
{
    if (!need_spare(run, c, operation->width, operation->height)) {
        return sl_run_no_memory(run, operation->width, operation->height);
    }
    const sl_canvas_work work = {.run = run,
                                 .in = {.pixels = canvas_pixels(c),
                                        .width = c->width,
                                        .height = c->height,
                                        .channels = 3,
                                        .stride_bytes = (size_t)c->width * 3,
                                        .picture_width = c->width,
                                        .picture_height = c->height,
                                        .denominator = 1},
                                 .out = c->spare};
    const uint64_t began = profile_begin(run);
    const sluice_status status = operation->kind->canvas(operation, &work);
    profile_end(run, operation->kind, began);
    swap_canvases(c);
    c->width = operation->width;
    c->height = operation->height;
    return status;
}

/* Runs an operation in place, on a canvas that is made and settled. Chains of an AugMix, which
 * borrow theirs, have none. */
static sluice_status in_place_operation(const sl_run *run, const sl_operation *operation,
                                        const canvases *c)
{
    assert(c->borrowed == NULL && c->width == operation->width && c->height == operation->height);
    const uint64_t began = profile_begin(run);
    const sluice_status status = operation->kind->in_place(operation, run, c->now);
    profile_end(run, operation->kind, began);
    return status;
}

/* Returns how many operations of the list belong to the one at `at`, itself included. */
static uint32_t operation_span(const sl_operation *at)
{
    uint32_t span = 1;
    for (uint32_t chain = 0; at->kind == &sl_operation_mix && chain < (uint32_t)at->values[3];
         chain++) {
        assert(at[span].kind == &sl_operation_chain);
        span += 1 + (uint32_t)at[span].values[1];
    }
    return span;
}

static sluice_status run_operations(const sl_run *run, const sl_image *view,
                                    const sl_operation *operations, uint32_t count, canvases *c,
                                    sl_chain *chain)
{
    sl_measured measured;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < count && status == SLUICE_OK; i += operation_span(&operations[i])) {
        const sl_operation *operation = &operations[i];
        if (sl_work_is_stopped(run->work)) {
            return sl_error_set(run->error, SLUICE_CANCELED, "augment", "stopped");
        }
        if (operation->kind->canvas != NULL) {
            status = settle(run, view, c, chain);
            status = status == SLUICE_OK ? canvas_operation(run, operation, c) : status;
        } else if (operation->kind->in_place != NULL) {
            status = settle(run, view, c, chain);
            status = status == SLUICE_OK ? in_place_operation(run, operation, c) : status;
        } else if (operation->kind->rows != NULL) {
            chain->stages[chain->count++] =
                (sl_chain_stage){.rows = operation, .kind = operation->kind};
        } else {
            status = measure(run, view, operation, c, chain, &measured);
            status =
                status == SLUICE_OK ? chain_add_table(run, chain, operation, &measured) : status;
        }
    }
    return status;
}

/* ---- programs ---- */

/* Returns whether the first canvas is made in `spare`, since each canvas operation swaps them: so
 * the last one ends in the row, if it is wanted there. */
static bool ends_in_spare(const sl_params *params, uint32_t begin, uint32_t end)
{
    bool odd = true;
    for (uint32_t i = begin; i < end; i += operation_span(&params->operations[i])) {
        odd = odd != (params->operations[i].kind->canvas != NULL);
    }
    return odd;
}

static void first_size(const sl_params *params, uint32_t *width, uint32_t *height)
{
    const sl_geometry *g = &params->geometries[0];
    const bool by_warp = g->warps || g->placed;
    *width = by_warp ? g->warp.width : g->box.width;
    *height = by_warp ? g->warp.height : g->box.height;
}

sluice_status sl_run_program(const sl_run *run, const sl_image *view, uint8_t *row,
                             size_t row_bytes, sl_run_result *result)
{
    canvases c = {.made = false};
    first_size(run->params, &c.width, &c.height);
    result->chain.count = 0;
    if (row != NULL && ends_in_spare(run->params, 0, run->params->operation_count)) {
        c.spare = row;
        c.spare_bytes = row_bytes;
    } else {
        c.now = row;
        c.now_bytes = row_bytes;
    }
    sluice_status status = run_operations(run, view, run->params->operations,
                                          run->params->operation_count, &c, &result->chain);
    if (status == SLUICE_OK && !c.made && !sl_geometry_is_box(&run->params->geometries[0])) {
        sl_chain none = {.count = 0};
        status = settle(run, view, &c, &none);
    }
    result->canvas = c.made ? c.now : NULL;
    return status;
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is worked in
sluice_status sl_run_operations(const sl_run *run, uint8_t *canvas, uint8_t *row, size_t row_bytes,
                                sl_run_result *result)
{
    const sl_params *params = run->params;
    const uint32_t first = params->layered ? params->layer_operations : 0;
    const uint32_t count = params->operation_count;
    canvases c = {
        .now = canvas, .width = params->layer_width, .height = params->layer_height, .made = true};
    if (!params->layered) {
        first_size(params, &c.width, &c.height);
    }
    c.now_bytes = (size_t)c.width * c.height * 3;
    result->chain.count = 0;
    if (!ends_in_spare(params, first, count)) { /* an odd number of them, the first not run here */
        c.spare = row;
        c.spare_bytes = row_bytes;
    }
    const sluice_status status =
        run_operations(run, NULL, params->operations + first, count - first, &c, &result->chain);
    result->canvas = c.now;
    return status;
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is worked in
sluice_status sl_run_layer(const sl_run *run, const sl_image *view, uint8_t *canvas, uint8_t *layer,
                           uint8_t **made)
{
    const sl_params *params = run->params;
    const size_t bytes = (size_t)params->layer_width * params->layer_height * 3;
    canvases c = {.now = canvas, .made = canvas != NULL};
    sl_chain chain = {.count = 0};
    first_size(params, &c.width, &c.height);
    c.now_bytes = canvas != NULL ? (size_t)c.width * c.height * 3 : 0;
    if (layer != NULL && ends_in_spare(params, 0, params->layer_operations) == (canvas == NULL)) {
        c.spare = layer;
        c.spare_bytes = bytes;
    } else if (layer != NULL && canvas == NULL) {
        c.now = layer;
        c.now_bytes = bytes;
    }
    sluice_status status =
        run_operations(run, view, params->operations, params->layer_operations, &c, &chain);
    status = status == SLUICE_OK ? settle(run, view, &c, &chain) : status;
    if (status == SLUICE_OK && layer != NULL && c.now != layer) {
        memcpy(layer, c.now, bytes);
        c.now = layer;
    }
    *made = c.now;
    return status;
}

/* ---- AugMix ---- */

/* Result of one chain, without its pending operations. */
typedef struct mix_branch {
    const uint8_t *in; /* its image, or */
    uint8_t *canvas;   /* a canvas of its own */
    sl_chain pending;
    uint8_t *strip; /* space for a strip of the image with pending operations */
} mix_branch;

static sluice_status run_branch(const sl_run *run, const sl_operation *chain, const uint8_t *in,
                                canvases *c, mix_branch *branch)
{
    branch->pending.count = 0;
    const sluice_status status =
        run_operations(run, NULL, chain + 1, (uint32_t)chain->values[1], c, &branch->pending);
    branch->in = in;
    branch->canvas = c->now;
    return status;
}

/* Runs all chains of the image. The next one reuses a canvas that one leaves unused. */
static sluice_status run_branches(const sl_run *run, const sl_operation *mix, const uint8_t *in,
                                  mix_branch *branches)
{
    const size_t bytes = (size_t)mix->width * mix->height * 3;
    const size_t strip = (size_t)sl_strip_rows(mix->width) * mix->width * 3;
    const sl_operation *chain = mix + 1;
    uint8_t *spare = NULL;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < (uint32_t)mix->values[3] && status == SLUICE_OK; i++) {
        canvases c = {.borrowed = in,
                      .spare = spare,
                      .spare_bytes = spare != NULL ? bytes : 0,
                      .width = mix->width,
                      .height = mix->height,
                      .made = true};
        status = run_branch(run, chain, in, &c, &branches[i]);
        spare = c.spare;
        if (status == SLUICE_OK && branches[i].canvas == NULL && branches[i].pending.count > 0) {
            branches[i].strip = sl_scratch_take(run->scratch, strip);
            status = branches[i].strip != NULL ? SLUICE_OK
                                               : sl_run_no_memory(run, mix->width, mix->height);
        }
        chain += 1 + (uint32_t)chain->values[1];
    }
    return status;
}

/* Returns rows of a branch, with their pending operations applied. */
static const uint8_t *branch_rows(const sl_run *run, const mix_branch *branch, uint32_t width,
                                  uint32_t first_row, uint32_t rows)
{
    const size_t start = (size_t)first_row * width * 3;
    uint8_t *pixels = branch->strip;
    if (branch->canvas != NULL) {
        pixels = branch->canvas + start;
    } else if (branch->pending.count == 0) {
        return branch->in + start;
    } else {
        memcpy(pixels, branch->in + start, (size_t)rows * width * 3);
    }
    sl_chain_apply(run, &branch->pending, pixels, width, first_row, rows);
    return pixels;
}

static sl_aug_mixing aug_mixing_of(const sl_operation *mix)
{
    sl_aug_mixing mixing = {.rule = (sl_mix_rule)mix->values[0],
                            .original = (float)mix->values[1],
                            .blend = (float)mix->values[2],
                            .width = (uint32_t)mix->values[3]};
    const sl_operation *chain = mix + 1;
    for (uint32_t i = 0; i < mixing.width; i++) {
        mixing.weights[i] = (float)chain->values[0];
        chain += 1 + (uint32_t)chain->values[1];
    }
    return mixing;
}

sluice_status sl_run_mix(const sl_run *run, const sl_operation *mix, const uint8_t *in,
                         uint8_t *out)
{
    const sl_aug_mixing mixing = aug_mixing_of(mix);
    const size_t mark = sl_scratch_mark(run->scratch);
    mix_branch *branches = sl_scratch_take(run->scratch, mixing.width * sizeof(*branches));
    if (branches == NULL) {
        return sl_run_no_memory(run, mix->width, mix->height);
    }
    const sluice_status status = run_branches(run, mix, in, branches);
    const uint32_t strip = sl_strip_rows(mix->width);
    for (uint32_t y = 0; y < mix->height && status == SLUICE_OK; y += strip) {
        const uint32_t rows = mix->height - y < strip ? mix->height - y : strip;
        const size_t start = (size_t)y * mix->width * 3;
        const uint8_t *chains[SL_POLICY_WIDTH_MAX];
        for (uint32_t i = 0; i < mixing.width; i++) {
            chains[i] = branch_rows(run, &branches[i], mix->width, y, rows);
        }
        sl_mix_for(run->tools->simd)(&mixing, in + start, chains, (size_t)rows * mix->width * 3,
                                     out + start);
    }
    sl_scratch_release(run->scratch, mark);
    return status;
}
