/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: runs a program (program.h): a view of the decoded image becomes a canvas, and the canvas the
 * pixels of a row.
 *
 * Purpose: as few passes over pixels as the program allows. The first geometry makes its rows a
 * strip at a time; tables and row operations that follow it process the strip while it is in the
 * nearest cache, and so does the conversion at the end (apply.c). Only an operation that needs a
 * whole canvas, such as a blur, a native function, or the measurement for a table, has it made as a
 * whole first; it is small enough for the second cache. Consecutive tables are composed into one. A
 * histogram is pushed through pending tables, so that these need no pass of their own. Threads:
 * pure; on a worker, with its scratch.
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
    sl_profile *profile; /* receives times; NULL: not measured */
    bool unmirrored;     /* the image's box leaves its mirror to the next user of the row */
    const sl_work *work; /* its stop is checked; NULL: none */
} sl_run;

/* Pending tables and row operations, in their order. */
typedef struct sl_chain_stage {
    const sl_operation *rows;      /* NULL: a table */
    const sl_operation_kind *kind; /* of its first operation */
    uint8_t (*table)[256];         /* of 3 channels */
    bool same;                     /* all channels have the same */
} sl_chain_stage;

typedef struct sl_chain {
    uint32_t count;
    sl_chain_stage stages[SL_OPERATIONS_MAX];
} sl_chain;

/* Applies a chain to pixels of rows [first_row, first_row + rows) of a canvas `width` wide. */
void sl_chain_apply(const sl_run *run, const sl_chain *chain, uint8_t *pixels, uint32_t width,
                    uint32_t first_row, uint32_t rows);

/* Returns the rows processed at a time: so much of a canvas stays in the nearest cache. */
static inline uint32_t sl_strip_rows(uint32_t width)
{
    const uint32_t bytes = 12 << 10;
    const size_t stride = (size_t)width * 3;
    return stride < bytes ? (uint32_t)(bytes / stride) : 1;
}

/* The rest after all operations on whole canvases: a canvas, or NULL if the image's first geometry
 * is still to be made; and the chain after it. */
typedef struct sl_run_result {
    uint8_t *canvas;
    sl_chain chain;
} sl_run_result;

/* Runs a program. `row`: memory of the size of the output that may be used for canvases. */
sluice_status sl_run_program(const sl_run *run, const sl_image *view, uint8_t *row,
                             size_t row_bytes, sl_run_result *result);

/* Makes a layer from a view, or from a canvas of the first geometry, which is overwritten; to
 * `layer`, or, if that is NULL, anywhere in scratch. */
sluice_status sl_run_layer(const sl_run *run, const sl_image *view, uint8_t *canvas, uint8_t *layer,
                           uint8_t **made);

/* Runs the rest after the first geometry, or after layers, on a canvas, which is overwritten. */
sluice_status sl_run_operations(const sl_run *run, uint8_t *canvas, uint8_t *row, size_t row_bytes,
                                sl_run_result *result);

/* Returns the box of geometry `number` as run here. */
sl_mapping sl_run_box(const sl_run *run, uint32_t number);
/* Makes geometry `number` of the program from a view to a canvas. */
sluice_status sl_run_geometry(const sl_run *run, uint32_t number, const sl_image *view,
                              uint8_t *out);
/* Returns whether it is a box alone, whose rows can be made one by one. */
bool sl_geometry_is_box(const sl_geometry *geometry);
/* Records NOMEM: not enough scratch memory for a canvas of that size. */
sluice_status sl_run_no_memory(const sl_run *run, uint32_t width, uint32_t height);
/* Runs an AugMix operation and its chains. */
sluice_status sl_run_mix(const sl_run *run, const sl_operation *mix, const uint8_t *in,
                         uint8_t *out);

#endif
