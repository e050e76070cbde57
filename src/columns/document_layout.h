/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_layout: which elements a document has in rows of packed sequences, and in which order.
 *
 * Purpose: rows have more of a document than is stored: ids in front of it and behind it, and where
 * it is transformed for filling in the middle (FIM), three between its parts. A layout is the
 * document as a list of runs, each one id or consecutive stored elements. The loader packs
 * documents by their lengths with sl_document_extra, and columns write rows by the layout, so both
 * go by one rule.
 * FIM: whether a document is transformed is drawn by (seed, document), since its length depends on
 * it; where it is split and which form it has by (seed, epoch, document).
 * Invariants: the runs' counts add up to the document's length in rows, and each stored element is
 * in one run. Threads: pure. Memory: the caller's. Units: elements.
 */
#ifndef SL_DOCUMENT_LAYOUT_H
#define SL_DOCUMENT_LAYOUT_H

#include "value.h"

#include <sluice/columns.h>

/* Numbers of the ids; bit 1 << number of sluice_packed_ids. */
enum { SL_ID_BOS, SL_ID_EOS, SL_ID_FIM_PREFIX, SL_ID_FIM_MIDDLE, SL_ID_FIM_SUFFIX, SL_IDS };
#define SL_ID_NONE    UINT32_MAX
#define SL_LAYOUT_MAX 8U

typedef struct sl_document_rule {
    uint32_t ids;       /* bits of sluice_packed_ids: those that rows have */
    int64_t id[SL_IDS]; /* by number; 0 where rows do not have it */
    double fim_rate;    /* share of documents that are transformed, 0 to 1 */
    double fim_spm;     /* share of these in the form SPM; 0 if none are */
} sl_document_rule;

typedef struct sl_layout_run {
    uint32_t id;    /* number of the id; SL_ID_NONE: stored elements */
    uint64_t first; /* the first stored element's number in the document */
    uint64_t count; /* 1 or more; 1 of an id */
} sl_layout_run;

typedef struct sl_document_layout {
    uint32_t count;
    sl_layout_run runs[SL_LAYOUT_MAX];
} sl_document_layout;

static inline bool sl_rule_has(const sl_document_rule *rule, uint32_t id)
{
    return (rule->ids >> id & 1) != 0;
}

/* Elements that rows have of a document, if it is not empty, besides the stored ones. */
uint32_t sl_document_extra(const sl_document_rule *rule, uint64_t seed, uint64_t document);
/* The most that a document can have of those. */
uint32_t sl_document_extra_most(const sl_document_rule *rule);
/* Sets what a piece says about its document of this length in rows, which is not empty. */
void sl_document_measure(const sl_document_rule *rule, uint64_t seed, uint64_t length,
                         sl_document_piece *piece);
sl_document_layout sl_document_layout_make(const sl_document_rule *rule,
                                           const sl_document_piece *piece, uint64_t seed,
                                           uint64_t epoch);
/* The part of one run that has the document's element `at`: from there on, `most` elements at most.
 * The document has such an element. */
sl_layout_run sl_document_layout_at(const sl_document_layout *layout, uint64_t at, uint64_t most);
/* Hash of all that rows differ by, besides lengths; 0: nothing is added to documents. */
uint64_t sl_document_rule_hash(const sl_document_rule *rule, uint64_t seed);

#endif
