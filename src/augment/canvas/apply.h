/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply: the entrance of this module: turns a view of an image into its row of a batch.
 *
 * Purpose: the sample's program (program.h) is run (run.h), and its result is normalised, cast and
 * laid out (augment/canvas/convert.h) as by a table of 256 values per channel made once per loader.
 * If nothing needs the whole canvas, each row of pixels is converted as soon as it is made.
 * Conversion: f32 v = fmaf(u8, scale[c], bias[c]) with scale 1/255 and bias 0, or a recipe step's
 * factors (normalise: 1/(255*stddev), -mean/stddev), all in binary32; f16 and bf16 are that,
 * rounded to nearest even. u8 is copied. Threads: sl_converter is immutable after make; apply is
 * pure, with the caller's scratch.
 */
#ifndef SL_APPLY_H
#define SL_APPLY_H

#include "program.h"
#include "scratch.h"
#include "simd.h"
#include "view.h"
#include "work.h"

enum { SL_CONVERT_STEP = 16 }; /* pixels that vector kernels convert at once */

typedef struct sl_converter {
    sluice_dtype dtype;
    sluice_layout layout;
    uint32_t width, height;
    sl_tools tools; /* simd: sl_simd_best at make; tests may lower it before use */
    bool finite;    /* no result is infinite or not a number */
    /* of SL_CONVERT_STEP pixels in the order of their results: interleaved or by channel */
    float scales[3 * SL_CONVERT_STEP], biases[3 * SL_CONVERT_STEP];
    uint32_t table[3][256]; /* output bits in the low 8, 16 or 32 bits */
} sl_converter;

/* Makes the tables: a result is fmaf(u8, scales[c], biases[c]). The caller has set dtype, layout
 * and size; converter.h makes one from a recipe. */
void sl_converter_fill(sl_converter *converter, const float scales[3], const float biases[3]);
/* Returns the factors of channel `c` (0..2) of a result. */
void sl_converter_factors(const sl_converter *converter, size_t c, float *scale, float *bias);
/* Makes it leave 8-bit images, channels last, unconverted: the rest is done elsewhere. */
void sl_converter_leave_bytes(sl_converter *converter);
/* Returns the bytes of one row (one image) of the batch. */
size_t sl_converter_row_bytes(const sl_converter *converter);

/* A worker's means. */
typedef struct sl_apply_work {
    sl_scratch *scratch; /* restored */
    sl_profile *profile; /* receives times of operations; NULL: not measured */
    bool unmirrored;     /* the image's box is not mirrored: the caller mirrors the row */
    const sl_work *work; /* its stop is checked between operations: CANCELED; NULL: none */
} sl_apply_work;

sluice_status sl_augment_apply(const sl_converter *converter, const sl_image *view,
                               const sl_params *params, const sl_apply_work *work, void *row,
                               sluice_error *error);

/*
 * Rows of several images (program.h) share a canvas of sl_canvas_bytes. begin fills it, tile puts
 * one image into it, end makes the row, by the program of any of them, and overwrites `canvas`.
 */
size_t sl_canvas_bytes(const sl_params *params);
void sl_canvas_begin(const sl_params *params, uint8_t *canvas);
sluice_status sl_canvas_tile(const sl_converter *converter, const sl_image *view,
                             const sl_params *params, const sl_apply_work *work, uint8_t *canvas,
                             sluice_error *error);
sluice_status sl_canvas_end(const sl_converter *converter, const sl_params *params,
                            const sl_apply_work *work, uint8_t *canvas, void *row,
                            sluice_error *error);

/*
 * Rows of two layers, of sl_layer_bytes each: the first is made into `pixels`, from a view, or from
 * the canvas of its tiles; the second is blended into it, fmaf(share, first, (1 - share) * second)
 * in binary32, to nearest even, or put over it where `over` is set. sl_canvas_end makes their row.
 */
typedef struct sl_layer {
    const sl_image *view; /* NULL: `tiles`, which are overwritten */
    uint8_t *tiles, *pixels;
    const uint8_t *over; /* 1 for pixels of the second, else 0; NULL: it is blended */
} sl_layer;
size_t sl_layer_bytes(const sl_params *params);
sluice_status sl_layer_make(const sl_converter *converter, const sl_params *params,
                            const sl_apply_work *work, const sl_layer *layer, sluice_error *error);

/* Copies pixels of `from` whose `over` is 1, not 0; the others of `to` stay. */
void sl_put_over(const uint8_t *over, size_t pixels, size_t pixel_bytes, const uint8_t *from,
                 uint8_t *to);

/* Round binary32 to binary16 and to bfloat16, nearest even; bits in, bits out. */
uint16_t sl_half_from_float(float value);
uint16_t sl_bfloat16_from_float(float value);

#endif
