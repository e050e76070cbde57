/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program: the drawn steps for one sample, ready to be run.
 *
 * Purpose: a recipe (recipe.h) is drawn once for a sample and becomes a program: a geometry that
 * makes the first canvas of the decoded image, and operations on canvases after it. A canvas is
 * height x width x 3 bytes of RGB without padding. run.h runs programs; the decoder reads `need`
 * only.
 *
 * A geometry is a box (mapping.h: crop, resize, flip, by a separable filter) and, if a step rotates
 * or shears, a warp of the box's output. Consecutive steps are composed to one geometry as far as
 * that is exact, and, unless the drawing is `exact`, also where one resampling replaces several
 * (geometry.h). An operation is of one of four classes, by the function of its kind: table (maps
 * each value of a channel by a table of 256, which may depend on a measurement of the canvas;
 * consecutive tables become one), rows (pixels in place, each independent of the others), canvas
 * (anything else, from one canvas to another), in_place (changes a whole canvas in place: a
 * function of the user's).
 *
 * Rows of several images: the program of each has the same sizes and operations, and a first
 * geometry that writes only its image's place in a canvas that all of them share; operations run
 * once, after the last image. Of two layers each is an image, or such a canvas, with operations of
 * its own; they are blended, or objects of the second are put over the first, and later operations
 * run once.
 *
 * Plain data; a program belongs to its holder, in memory for the most operations of its recipe: a
 * copy of an sl_params shares that. Threads: none.
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

/* That of the image, and one of each operation. */
enum { SL_OPERATIONS_MAX = 128, SL_GEOMETRIES_MAX = 1 + SL_OPERATIONS_MAX };
enum { SL_OPERATION_VALUES = 10 };

typedef struct sl_geometry {
    sl_mapping box;
    uint8_t fill[3]; /* colour where the box's window is outside its raster */
    bool warps;
    /* With a warp: the box's output is the part at (canvas_x, canvas_y) of a canvas of this size,
     * to which the warp's coordinates refer. */
    uint32_t canvas_x, canvas_y, canvas_width, canvas_height;
    sl_warp warp;
    /* A tile whose warp neither rotates nor shears needs no warp: the box's output is at `place` of
     * a canvas of the warp's size, and nowhere if it is empty. */
    bool placed;
    sl_rect place;
} sl_geometry;

/* Keys of summed times. */
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
    SL_OPERATION_MIXING, /* of rows, which is not part of a program */
    SL_OPERATION_NUMBERS
} sl_operation_number;

/* Returns the user's name for it. */
const char *sl_operation_name(sl_operation_number number);

typedef struct sl_profile {
    uint64_t ns[SL_OPERATION_NUMBERS];
} sl_profile;

/* Functions that running needs from other modules. Immutable, and shared by threads. */
typedef sluice_status sl_jpeg_function(const sl_image *in, int quality, uint8_t *out,
                                       sl_scratch *scratch, sluice_error *error);
typedef struct sl_tools {
    sl_simd simd;
    sl_jpeg_function *jpeg; /* compresses and decodes a canvas */
} sl_tools;

typedef struct sl_operation sl_operation;

/* Inputs of tables. */
typedef struct sl_measured {
    uint32_t histogram[3][256];
    uint8_t mean_grey; /* rounded */
} sl_measured;

typedef enum sl_measure { SL_MEASURE_NOTHING, SL_MEASURE_HISTOGRAM, SL_MEASURE_GREY } sl_measure;

/* Arguments of a canvas operation. */
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
    uint32_t width, height;             /* of the resulting canvas */
    uint64_t key;                       /* of noise, or of a native function */
    const sl_native *native;            /* NULL: of another kind */
    double values[SL_OPERATION_VALUES]; /* by kind */
};

typedef struct sl_params {
    sl_rect need;           /* of the image: the part to decode */
    uint32_t width, height; /* of the output */
    sl_trail trail;         /* maps coordinates of the image through the geometry */
    bool absent;            /* of a partner: it is not part of the row (sl_draw_tile) */
    bool layered;           /* of two layers (sl_draw_blend, sl_draw_paste): number of this one */
    uint32_t layer;
    /* number of operations of one layer; the rest applies to the joined layers */
    uint32_t layer_operations;
    uint32_t layer_width, layer_height;
    sl_trail layer_trail; /* trail up to there */
    float share;          /* fraction of the first layer; 1: there is no other */
    /* objects of the second are pasted, each chosen by that key with that probability */
    bool pastes;
    uint64_t paste_key;
    double paste_chance;
    uint32_t geometry_count, operation_count;
    uint32_t operations_most; /* capacity for operations, and for one geometry more */
    sl_geometry *geometries;  /* the first: of the image */
    sl_operation *operations;
} sl_params;

/* Returns the bytes of memory that a program of at most that many operations takes beside its
 * sl_params (sl_recipe_operations). */
static inline size_t sl_params_bytes(uint32_t operations)
{
    return (1 + (size_t)operations) * sizeof(sl_geometry) + operations * sizeof(sl_operation);
}

/* Makes programs be drawn into `memory`, of sl_params_bytes, aligned like malloc's, which must
 * outlive `params`. Call it first; a draw does not change it. */
static inline void sl_params_place(sl_params *params, uint32_t operations, void *memory)
{
    params->operations_most = operations;
    params->geometries = memory;
    params->operations = (sl_operation *)(void *)(params->geometries + 1 + operations);
}

#endif
