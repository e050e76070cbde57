/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing_plan: the rows of one window of documents.
 *
 * Purpose: makes the rows that packing.h describes, and finds their pieces. A plan keeps the
 * window's documents and lengths by their place, and of rows NONE, LONG   the entries of each
 * fitted row; LONG's whole pieces as prefix counts; SPLIT        where each document begins, so its
 * size depends on the window alone, not on the length of documents. Threads: none; a planner, and a
 * plan while it is made, belong to one thread. Memory: a planner and a plan allocate when they are
 * opened, and never later.
 */
#ifndef SL_PACKING_PLAN_H
#define SL_PACKING_PLAN_H

#include "packing.h"
#include "packing_fit.h"
#include "permutation.h"

/* Values that are the same for all windows. */
typedef struct sl_packing_windows {
    sl_packing_shape shape;
    sl_packing_lengths lengths;
    bool shuffled;
    sl_permutation order; /* of entries; if shuffled */
    uint64_t entries;     /* in all */
    uint32_t each;        /* entries of a window; the last one may have fewer */
    uint64_t windows;
} sl_packing_windows;

typedef struct sl_packing_plan {
    uint64_t rows;
    uint32_t entries;    /* of the window */
    uint64_t *documents; /* by place: entries x unit of them */
    uint64_t *lengths;   /* likewise; elements, not aligned */
    /* LONG: whole pieces before each place, and the total. SPLIT: row that each place begins in.
     * NONE: NULL. */
    uint64_t *begins;
    uint32_t *fills;   /* SPLIT: element of its row that each place begins at */
    uint32_t fitted;   /* NONE, LONG: rows besides the whole pieces */
    uint32_t *firsts;  /* of each fitted row: index of its first entry in `members`; and the end */
    uint32_t *members; /* entries, row after row */
} sl_packing_plan;

/* Counts of the windows so far: parts of sl_packing_facts, and errors found. */
typedef struct sl_packing_count {
    sl_packing_facts facts;   /* rows, pieces, tokens, ... ; not documents, windows and hash */
    uint64_t aligned;         /* elements of all documents, aligned */
    uint64_t torn;            /* document of an entry that mixes empty and others; UINT64_MAX:
                               * none */
    uint64_t widest;          /* aligned elements of the longest entry */
    uint64_t widest_document; /* its first document */
} sl_packing_count;

typedef struct sl_packing_planner {
    uint32_t *needs;   /* of each entry of a window: aligned elements / align; 0: none to fit */
    uint32_t *rows;    /* of each entry: its row, in the order in which rows were opened */
    uint32_t *sorted;  /* entries to fit, by length */
    uint32_t *swapped; /* of the sort */
    uint32_t *numbers; /* of each row: its number in the plan */
    uint64_t *drawn;   /* entries of a window */
    sl_packing_fit fit;
} sl_packing_planner;

/* Errors: NOMEM. Zeroed ones may be closed. */
sluice_status sl_packing_planner_open(sl_packing_planner *planner, const sl_packing_shape *shape,
                                      sluice_error *error);
void sl_packing_planner_close(sl_packing_planner *planner);
sluice_status sl_packing_plan_open(sl_packing_plan *plan, const sl_packing_shape *shape,
                                   sluice_error *error);
void sl_packing_plan_close(sl_packing_plan *plan);

/* Returns the number of bytes that each allocates. */
uint64_t sl_packing_planner_bytes(const sl_packing_shape *shape);
uint64_t sl_packing_plan_bytes(const sl_packing_shape *shape);

/* Returns the counts before the first window. */
sl_packing_count sl_packing_count_begin(void);
/* Plans a window. With `count`, adds the window to it instead: the plan then has the number of
 * rows, but not the rows. The plan leaves out documents that `count` reports as bad (torn;
 * longer than a row). */
void sl_packing_plan_make(sl_packing_plan *plan, sl_packing_planner *planner,
                          const sl_packing_windows *windows, uint64_t window,
                          sl_packing_count *count);
/* Same as sl_packing_pieces, by the row's number in the window. */
uint32_t sl_packing_plan_pieces(const sl_packing_plan *plan, const sl_packing_shape *shape,
                                uint64_t row, uint32_t first, uint32_t count,
                                sl_packed_piece *pieces);

#endif
