/* SPDX-License-Identifier: Apache-2.0 */
/* plan_packing_model: implements packing.h by brute force: finds the fullest row by examining all
 * rows, and SPLIT block by block. One thread. */
#ifndef PLAN_PACKING_MODEL_H
#define PLAN_PACKING_MODEL_H

#include "packing.h"

enum { MODEL_ROWS = 40000, MODEL_PIECES = 200000 };

typedef struct model_piece {
    uint64_t document, first, count;
    uint32_t row; /* index in the window, by row number */
} model_piece;

typedef struct packing_model {
    uint32_t rows, pieces;
    uint64_t closed;                 /* rows with space left but the maximum number of pieces */
    model_piece piece[MODEL_PIECES]; /* row after row */
} packing_model;

/* Computes the rows, in order, of a window of `count` documents with known lengths. */
void packing_model_make(packing_model *model, const sl_packing_shape *shape,
                        const uint64_t *documents, const uint64_t *lengths, uint32_t count);

#endif
