/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_packing_model: packing.h by brute force: the fullest row by looking at all of them, SPLIT
 * block by block. One thread.
 */
#ifndef PLAN_PACKING_MODEL_H
#define PLAN_PACKING_MODEL_H

#include "packing.h"

enum { MODEL_ROWS = 40000, MODEL_PIECES = 200000 };

typedef struct model_piece {
    uint64_t document, first, count;
    uint32_t row; /* of the window, in the order of the rows' numbers */
} model_piece;

typedef struct packing_model {
    uint32_t rows, pieces;
    uint64_t closed;                 /* rows with space left that were full of pieces */
    model_piece piece[MODEL_PIECES]; /* row after row */
} packing_model;

/* The rows of a window of `count` documents, in their order, of which each has its length. */
void packing_model_make(packing_model *model, const sl_packing_shape *shape,
                        const uint64_t *documents, const uint64_t *lengths, uint32_t count);

#endif
