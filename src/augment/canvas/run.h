/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: carries out a program (program.h): a view of the decoded picture becomes a canvas, and that
 * the pixels of a row.
 *
 * Purpose: as few passes over pixels as the program allows. The first geometry makes its rows a
 * strip at a time; tables and row operations that follow it work on the strip while it is in the
 * nearest cache, and so does the conversion at the end (apply.c). Only what needs all of a canvas,
 * as a blur, a native function, or the measurement that a table is made of, has it made as a whole
 * first; it is small
 * enough for the second cache. Tables in a row are composed into one. A histogram is pushed through
 * tables that are pending, so that these need no pass of their own.
 * Threads: pure; on a worker, with its scratch.
 */
#ifndef SL_RUN_H
#define SL_RUN_H

#include "program.h"
#include "view.h"
#include "work.h"

typedef struct sl_run {
    const sl_tools *tools;
    const sl_params *params;
    sl_scratch *scratch;
    sluice_error *error;
    sl_profile *profile; /* added to; NULL: nobody wants it */
    bool unmirrored;     /* the picture's box leaves its mirror to whoever has the row next */
    const sl_work *work; /* whose stop is looked at; NULL: nobody's */
} sl_run;

/* Tables and row operations that are pending, in their order. */
typedef struct sl_chain_stage {
    const sl_operation *rows;      /* NULL: a table */
    const sl_operation_kind *kind; /* of the first operation that it is */
    uint8_t (*table)[256];         /* of 3 channels */
    bool same;                     /* the channels have one */
} sl_chain_stage;

typedef struct sl_chain {
    uint32_t count;
    sl_chain_stage stages[SL_OPERATIONS_MAX];
} sl_chain;

/* Pixels of rows [first_row, first_row + rows) of a canvas `width` wide. */
void sl_chain_apply(const sl_run *run, const sl_chain *chain, uint8_t *pixels, uint32_t width,
                    uint32_t first_row, uint32_t rows);

/* Rows that are worked on at a time: so much of a canvas stays in the nearest cache. */
static inline uint32_t sl_strip_rows(uint32_t width)
{
    const uint32_t bytes = 12 << 10;
    const size_t stride = (size_t)width * 3;
    return stride < bytes ? (uint32_t)(bytes / stride) : 1;
}

/* What is left when all that needs whole canvases is done: a canvas, or NULL where the picture's
 * first geometry is still to be made; and the chain behind it. */
typedef struct sl_run_result {
    uint8_t *canvas;
    sl_chain chain;
} sl_run_result;

/* `row`: memory of the size of the output that may be used for canvases. */
sluice_status sl_run_program(const sl_run *run, const sl_image *view, uint8_t *row,
                             size_t row_bytes, sl_run_result *result);

/* A layer, of a view, or of a canvas of the first geometry, which is worked in; to `layer`, or,
 * where that is NULL, anywhere in scratch. */
sluice_status sl_run_layer(const sl_run *run, const sl_image *view, uint8_t *canvas, uint8_t *layer,
                           uint8_t **made);

/* The same behind the first geometry, or behind layers, of a canvas, which is worked in. */
sluice_status sl_run_operations(const sl_run *run, uint8_t *canvas, uint8_t *row, size_t row_bytes,
                                sl_run_result *result);

/* The box of geometry `number`, as it is carried out here. */
sl_mapping sl_run_box(const sl_run *run, uint32_t number);
/* Geometry `number` of the program, of a view, to a canvas. */
sluice_status sl_run_geometry(const sl_run *run, uint32_t number, const sl_image *view,
                              uint8_t *out);
/* Whether that is a box alone, whose rows can be had one by one. */
bool sl_geometry_is_box(const sl_geometry *geometry);
/* There is no scratch memory for a canvas of that size: NOMEM. */
sluice_status sl_run_no_memory(const sl_run *run, uint32_t width, uint32_t height);
/* An AugMix operation and its chains. */
sluice_status sl_run_mix(const sl_run *run, const sl_operation *mix, const uint8_t *in,
                         uint8_t *out);

#endif
