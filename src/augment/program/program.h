/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program: what was drawn for one sample, ready to be carried out.
 *
 * Purpose: a recipe (recipe.h) is drawn once for a sample and becomes a program: a geometry that
 * makes the first canvas of the decoded picture, and operations on canvases behind it. A canvas is
 * height x width x 3 bytes of RGB without padding. run.h carries programs out; the decoder reads
 * `need` only.
 *
 * A geometry is a box (mapping.h: crop, resize, flip, by a separable filter) and, where a step
 * turns or shears, a warp of what the box gives. Steps in a row are composed to one geometry as far
 * as that is exact, and, unless the drawing is `exact`, also where one resampling takes the place
 * of several (geometry.h). An operation is of one of four classes, by which function its kind has:
 *   table   each value of a channel goes to another by a table of 256, which may depend on a
 *           measurement of the canvas; tables in a row become one,
 *   rows    pixels in place, of which none looks at another,
 *   canvas  anything else, from one canvas to another,
 *   in_place  a whole canvas, which it changes in place (a function of the user's).
 * Rows of several pictures: the program of each has the same sizes and operations, and a first
 * geometry that writes only where its picture is, of a canvas that all of them share; operations
 * are done once, when the last was there. Of two layers each is a picture, or such a canvas, with
 * operations of its own; they are blended, or objects of the second are put over the first, and the
 * operations behind that are done once.
 * Plain data; a program belongs to whoever holds it, in memory for as many operations as its recipe
 * may come to: a copy of an sl_params shares that. Threads: none.
 */
#ifndef SL_PROGRAM_H
#define SL_PROGRAM_H

#include "mapping.h"
#include "native.h"
#include "scratch.h"
#include "simd.h"
#include "trail.h"
#include "view.h"
#include "warp_need.h"

#include <sluice/common.h>

/* That of the picture, and one of each operation. */
enum { SL_OPERATIONS_MAX = 128, SL_GEOMETRIES_MAX = 1 + SL_OPERATIONS_MAX };
enum { SL_OPERATION_VALUES = 10 };

typedef struct sl_geometry {
    sl_mapping box;
    uint8_t fill[3]; /* where the box's window is outside its raster */
    bool warps;
    /* With a warp: the box's output is the part at (canvas_x, canvas_y) of a canvas of such a size,
     * which the warp's coordinates are of. */
    uint32_t canvas_x, canvas_y, canvas_width, canvas_height;
    sl_warp warp;
    /* A tile whose warp neither turns nor shears is no warp: the box's output is at `place` of a
     * canvas of the warp's size, and nowhere if it is empty. */
    bool placed;
    sl_rect place;
} sl_geometry;

/* What times are added up by. */
typedef enum sl_operation_number {
    SL_OPERATION_GEOMETRY,
    SL_OPERATION_BRIGHTNESS,
    SL_OPERATION_CONTRAST,
    SL_OPERATION_POSTERIZE,
    SL_OPERATION_SOLARIZE,
    SL_OPERATION_SOLARIZE_ADD,
    SL_OPERATION_INVERT,
    SL_OPERATION_AUTOCONTRAST,
    SL_OPERATION_EQUALIZE,
    SL_OPERATION_SATURATION,
    SL_OPERATION_GREY,
    SL_OPERATION_HUE,
    SL_OPERATION_PERMUTE,
    SL_OPERATION_ERASE,
    SL_OPERATION_SHARPNESS,
    SL_OPERATION_GAUSSIAN_BLUR,
    SL_OPERATION_BOX_BLUR,
    SL_OPERATION_JPEG,
    SL_OPERATION_PAD,
    SL_OPERATION_MIX,
    SL_OPERATION_CHAIN,
    SL_OPERATION_HSV,
    SL_OPERATION_NATIVE,
    SL_OPERATION_ELASTIC,
    SL_OPERATION_MIXING, /* of rows, which is no part of a program */
    SL_OPERATION_NUMBERS
} sl_operation_number;

/* As users see it. */
const char *sl_operation_name(sl_operation_number number);

typedef struct sl_profile {
    uint64_t ns[SL_OPERATION_NUMBERS];
} sl_profile;

/* What carrying out needs from elsewhere. Immutable, and shared by threads. */
typedef sluice_status sl_jpeg_function(const sl_image *in, int quality, uint8_t *out,
                                       sl_scratch *scratch, sluice_error *error);
typedef struct sl_tools {
    sl_simd simd;
    sl_jpeg_function *jpeg; /* compresses and decodes a canvas */
} sl_tools;

typedef struct sl_operation sl_operation;

/* What tables are made of. */
typedef struct sl_measured {
    uint32_t histogram[3][256];
    uint8_t mean_grey; /* rounded */
} sl_measured;

typedef enum sl_measure { SL_MEASURE_NOTHING, SL_MEASURE_HISTOGRAM, SL_MEASURE_GREY } sl_measure;

/* One canvas operation at work. */
typedef struct sl_canvas_work {
    const struct sl_run *run;
    sl_image in;  /* a canvas */
    uint8_t *out; /* operation->width x operation->height, apart from `in` */
} sl_canvas_work;

typedef struct sl_operation_kind {
    const char *name;
    sl_operation_number number;
    sl_measure measure;
    /* One of four. */
    void (*table)(const sl_operation *operation, const sl_measured *measured,
                  uint8_t table[3][256]);
    void (*rows)(const sl_operation *operation, const sl_tools *tools, uint8_t *pixels,
                 uint32_t first_row, uint32_t rows);
    sluice_status (*canvas)(const sl_operation *operation, const sl_canvas_work *work);
    /* Of the canvas's width and height. */
    sluice_status (*in_place)(const sl_operation *operation, const struct sl_run *run,
                              uint8_t *pixels);
} sl_operation_kind;

struct sl_operation {
    const sl_operation_kind *kind;
    uint32_t width, height;             /* of the canvas behind it */
    uint64_t key;                       /* of noise, or of a native function */
    const sl_native *native;            /* NULL: of another kind */
    double values[SL_OPERATION_VALUES]; /* by kind */
};

typedef struct sl_params {
    sl_rect need;           /* of the picture: what to decode */
    uint32_t width, height; /* of the output */
    sl_trail trail;         /* where the geometry takes what belongs to the picture */
    bool absent;            /* of a partner: it is no part of the row (sl_draw_tile) */
    bool layered;           /* of two layers (sl_draw_blend, sl_draw_paste): this one's number, */
    uint32_t layer;
    uint32_t layer_operations; /* those of a layer alone; the rest is of what both come to */
    uint32_t layer_width, layer_height;
    sl_trail layer_trail; /* up to there */
    float share;          /* of the first layer in that; 1: there is no other */
    bool pastes;          /* objects of the second, each chosen by that key with that chance */
    uint64_t paste_key;
    double paste_chance;
    uint32_t geometry_count, operation_count;
    uint32_t operations_most; /* that there is memory for, and for one geometry more */
    sl_geometry *geometries;  /* the first: of the picture */
    sl_operation *operations;
} sl_params;

/* Returns the bytes of memory that a program of at most that many operations takes beside its
 * sl_params (sl_recipe_operations). */
static inline size_t sl_params_bytes(uint32_t operations)
{
    return (1 + (size_t)operations) * sizeof(sl_geometry) + operations * sizeof(sl_operation);
}

/* Has programs be drawn into `memory`, of sl_params_bytes, aligned as malloc does, which must
 * outlive `params`. Before anything else is done with `params`; a draw does not change it. */
static inline void sl_params_place(sl_params *params, uint32_t operations, void *memory)
{
    params->operations_most = operations;
    params->geometries = memory;
    params->operations = (sl_operation *)(void *)(params->geometries + 1 + operations);
}

#endif
