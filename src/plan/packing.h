/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing: assigns documents to rows of packed sequences, and to places in them.
 *
 * Purpose: a document is a sample with a length in elements (tokens); a row has adjacent pieces of
 * one or more documents, at most `length` elements and `max_documents` pieces. Rows depend on
 * lengths alone: nothing here reads a document.
 *   entries   `unit` consecutive documents; documents n * unit .. n * unit + unit - 1 are entry n.
 *   windows   the entries stand in one permutation, drawn by the seed (or in their own order), and
 *             are cut into windows of `window` documents. Each window is packed by itself, so the
 *             plan of a window is a function of seed, shape and lengths, and takes O(window).
 *   lengths   are rounded up to `align` before anything is packed. A piece therefore begins in its
 *             row behind the aligned counts of the pieces before it.
 *   NONE      best fit decreasing: entries by length, the longest first and equal ones in the order
 *             of the window, each into the fullest row that has space for it; of several such rows,
 *             into the one that was changed last. A row that has no space for `unit` more pieces is
 *             closed. A document that is longer than a row fails.
 *   LONG      a document longer than a row is cut into pieces of `length`, each a row of its own,
 *             and a rest, which is packed as above (best-fit packing: Ding et al., "Fewer
 *             truncations improve language modeling", ICML 2024, arXiv 2404.10830).
 *   SPLIT     documents are concatenated in the order of the window and cut at each `length`. A row
 *             with `max_documents` pieces ends early; so does a window's last row.
 *   rows      of a window: LONG's whole pieces in the order of their documents, then the others in
 *             the order of their first document. Pieces of a row stand in the order of the window.
 *             Rows are numbered window by window.
 *   empty     documents of no elements stand in no row. An entry must not mix them with others.
 * So all epochs have the same rows; packed_order.h orders them.
 * Rows do not depend on documents read before, unlike in a packer that searches a buffer of
 * documents, so a run resumes exactly, on any number of ranks. A window of 8,192 documents instead
 * of 65,536 costs 0.1 % of padding and takes an eighth of the memory.
 *
 * Threads: opening runs on several, under the caller's stop (stop.h); a packing is then used by any
 * thread. Recent plans are kept: a lock for looking (short), another for planning a window, about
 * 1 ms for 8,192 documents. No call after opening allocates or fails.
 * Memory: 8 bytes a window for all of them; SL_PACKING_PLANS plans of 24 (NONE), 32 (LONG) or 28
 * (SPLIT) bytes x `window`, or as many as there are documents; a planner of 32 bytes x that and 4
 * bytes x `length` / `align`.
 * Ownership: `lengths` must stay valid until the packing is closed.
 */
#ifndef SL_PACKING_H
#define SL_PACKING_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

#define SL_PACKING_WINDOW        8192U        /* documents of a window, by default */
#define SL_PACKING_WINDOW_MAX    65536U       /* documents */
#define SL_PACKING_LENGTH_MAX    (1U << 24)   /* elements of a row */
#define SL_PACKING_DOCUMENTS_MAX 65536U       /* pieces of a row */
#define SL_PACKING_DOCUMENT_MAX  (1ULL << 40) /* elements of a document */
#define SL_PACKING_GROUP         16U          /* windows whose rows an epoch mixes */
#define SL_PACKING_PLANS         32U          /* kept: two groups */

typedef enum sl_packing_cut {
    SL_PACKING_CUT_NONE,
    SL_PACKING_CUT_LONG,
    SL_PACKING_CUT_SPLIT
} sl_packing_cut;

typedef struct sl_packing_shape {
    uint64_t length;        /* elements of a row: a multiple of align, at most LENGTH_MAX */
    uint32_t max_documents; /* pieces of a row: unit .. DOCUMENTS_MAX */
    uint32_t align;         /* elements, 1 or more */
    uint32_t unit;          /* documents that stay together, 1 or more; 1 with SPLIT */
    uint32_t window;        /* documents: unit .. WINDOW_MAX; the last few, if unit does not divide
                               it, belong to the next window */
    sl_packing_cut cut;
} sl_packing_shape;

typedef struct sl_packing_lengths {
    uint64_t documents;
    /* Writes the lengths of `count` documents, in elements. Any thread; reads no file. */
    void (*of)(const void *ctx, const uint64_t *documents, uint32_t count, uint64_t *lengths);
    const void *ctx;
} sl_packing_lengths;

typedef struct sl_packing_source {
    sl_packing_lengths lengths;
    uint64_t seed;
    bool shuffled; /* false: documents keep their order, and `seed` is ignored */
} sl_packing_source;

/* Elements [first, first + count) of a document. */
typedef struct sl_packed_piece {
    uint64_t document, first;
    uint32_t count; /* 1 or more */
} sl_packed_piece;

/* Facts about a packing, counted when it is opened. */
typedef struct sl_packing_facts {
    uint64_t documents, windows, rows, pieces;
    uint64_t tokens;           /* elements of all documents; rows have them all */
    uint64_t align_padding;    /* elements between pieces */
    uint64_t end_padding;      /* elements after the last piece of each row */
    uint64_t cut;              /* documents in more than one piece */
    uint64_t empty;            /* documents without elements, which are in no row */
    uint64_t closed;           /* rows with space left that max_documents closed */
    uint64_t longest;          /* elements of the longest document */
    uint64_t longest_document; /* the first document of that length */
    uint32_t most_pieces;      /* maximum of a row */
    uint64_t hash;             /* of all that the rows depend on, as far as rows and tokens of each
                                  window show it; never 0 */
    uint64_t lengths_hash;     /* of the documents' lengths alone */
} sl_packing_facts;

typedef struct sl_packed_rows sl_packed_rows;

/* Returns lengths from an array of `documents` elements, which must stay. */
sl_packing_lengths sl_packing_lengths_of_array(const uint32_t *array, uint64_t documents);

/*
 * Counts the rows of all windows; blocks for about 0.1 s per million documents on one CPU. Errors:
 * INVALID: a shape out of range, documents that are not a multiple of `unit`, no elements at all,
 * an entry with empty and other documents, a document (NONE) or an entry (NONE and LONG, `unit`
 * above 1) longer than a row, with the longest one's number, its length and what to change, a
 * length above DOCUMENT_MAX; CANCELED; NOMEM.
 */
sluice_status sl_packing_open(sl_packed_rows **packing, const sl_packing_shape *shape,
                              const sl_packing_source *source, sluice_error *error);
void sl_packing_close(sl_packed_rows *packing); /* may be NULL */

const sl_packing_shape *sl_packing_shape_of(const sl_packed_rows *packing);
const sl_packing_facts *sl_packing_facts_of(const sl_packed_rows *packing);
/* Returns the number of bytes of the kept tables and plans, without the caller's lengths. */
uint64_t sl_packing_bytes(const sl_packed_rows *packing);
/* Writes pieces [first, first + count) of `row` < facts.rows, as far as they exist; `count` may
 * be 0. Returns how many the row has, 1 to facts.most_pieces. Time: O(count); for SPLIT,
 * O(pieces of the row). */
uint32_t sl_packing_pieces(const sl_packed_rows *packing, uint64_t row, uint32_t first,
                           uint32_t count, sl_packed_piece *pieces);

#endif
