/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_sources: the packings of a loader's documents: one, or one for each source of a mix.
 *
 * Purpose: reads the lengths of all documents, and packs each source separately. Rows are numbered
 * source by source. A piece has the number row * `most` + its place in the row; numbers after the
 * pieces of a row have none. The rows of a mix have a mix of their own: the dataset's, recounted by
 * the number of rows of each source, so that its weights are fractions of rows.
 *
 * Threads: opening blocks, under the caller's stop; finding is for any thread. Memory: that of
 * document_lengths.h, and the packings (packing.h). Ownership: the dataset, whose mix the schedules
 * belong to, must stay.
 */
#ifndef SL_PACKED_SOURCES_H
#define SL_PACKED_SOURCES_H

#include "document_layout.h"
#include "document_lengths.h"
#include "notices.h"
#include "packed_mix.h"
#include "packing.h"
#include "pieces.h"

/* Documents and rules of a packing. */
typedef struct sl_packed_wanted {
    const sl_dataset *dataset;
    sl_document_fields fields; /* tokens: a tensor of one dimension */
    sl_packing_shape shape;
    sl_document_rule rule; /* elements that rows add to documents */
    uint64_t seed;         /* the loader's */
    bool shuffled;
} sl_packed_wanted;

/* The documents of one source. */
typedef struct sl_packed_source {
    const struct sl_packed_sources *all;
    uint64_t first; /* document */
} sl_packed_source;

/* Constant once opened. */
typedef struct sl_packed_sources {
    uint32_t count; /* 1 where the dataset is not a mix */
    sl_packed_rows **packings;
    uint64_t *documents;  /* number of each source's first document, and the end */
    uint64_t *rows;       /* number of each source's first row, and the end */
    sl_packed_source *of; /* each source's lengths, in its packing's form */
    sl_document_lengths lengths;
    sl_document_rule rule;
    uint64_t seed; /* of the rule */
    uint32_t most; /* pieces of the fullest row */
    uint64_t pieces, tokens;
    uint64_t bytes;        /* of all tables */
    uint64_t hash;         /* of the rows' inputs (sl_packing_facts) */
    uint64_t rule_hash;    /* of the rule; 0: nothing is added to documents */
    uint64_t lengths_hash; /* of all documents' lengths, in their order */
    uint64_t per_token;    /* of the fields */
    sl_mix *mix;           /* of rows; NULL: the dataset is not a mix */
    sl_packed_mix set;     /* of sl_packed_mix_order, of a mix */
} sl_packed_sources;

/* Opens the sources. Adds a notice of the number of empty documents. Errors: those of
 * sl_document_lengths_open, sl_packing_open and sl_mix_recount; for a mix they name the source: its
 * number, from 1, and the file of its first document. */
sluice_status sl_packed_sources_open(sl_packed_sources **sources, const sl_packed_wanted *wanted,
                                     sl_notices *notices, sluice_error *error);
void sl_packed_sources_close(sl_packed_sources *sources); /* may be NULL */

/* For sl_pieces_shape.find and close; `ctx` is an sl_packed_sources. */
bool sl_packed_sources_find(const void *ctx, uint64_t number, sl_document_piece *piece);
void sl_packed_sources_end(void *ctx);

#endif
