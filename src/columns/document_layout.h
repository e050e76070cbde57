/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_layout: the elements of a document in rows of packed sequences, in their order.
 *
 * Purpose: rows have more of a document than its stored elements: ids before and after it, and
 * three between its parts if it is transformed for filling in the middle (FIM). A layout is the
 * document as a list of runs, each one id or consecutive stored elements. The loader packs
 * documents by their lengths with sl_document_extra, and columns write rows by the layout, so both
 * use one rule.
 *
 * FIM: whether a document is transformed is drawn by (seed, document), since its length depends on
 * it; its split and its form by (seed, epoch, document). Invariants: the runs' counts add up to the
 * document's length in rows, and each stored element is in one run. Threads: pure. Memory: the
 * caller's. Units: elements.
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
    uint32_t ids;       /* bits of sluice_packed_ids: the ids in rows */
    int64_t id[SL_IDS]; /* by number; 0 if rows lack it */
    double fim_rate;    /* fraction of documents that are transformed, 0 to 1 */
    double fim_spm;     /* fraction of these in the form SPM; 0 if none are */
} sl_document_rule;

typedef struct sl_layout_run {
    uint32_t id;    /* number of the id; SL_ID_NONE: stored elements */
    uint64_t first; /* the first stored element's number in the document */
    uint64_t count; /* at least 1; 1 for an id */
} sl_layout_run;

typedef struct sl_document_layout {
    uint32_t count;
    sl_layout_run runs[SL_LAYOUT_MAX];
} sl_document_layout;

static inline bool sl_rule_has(const sl_document_rule *rule, uint32_t id)
{
    return (rule->ids >> id & 1) != 0;
}

/* Returns the elements that rows add to a document, if it is not empty. */
uint32_t sl_document_extra(const sl_document_rule *rule, uint64_t seed, uint64_t document);
/* Returns the most elements added to any document. */
uint32_t sl_document_extra_most(const sl_document_rule *rule);
/* Sets the members of a piece that depend on its document's length in rows, which is not 0. */
void sl_document_measure(const sl_document_rule *rule, uint64_t seed, uint64_t length,
                         sl_document_piece *piece);
sl_document_layout sl_document_layout_make(const sl_document_rule *rule,
                                           const sl_document_piece *piece, uint64_t seed,
                                           uint64_t epoch);
/* Returns the part of one run with the document's element `at`: from there on, at most `most`
 * elements. The document has such an element. */
sl_layout_run sl_document_layout_at(const sl_document_layout *layout, uint64_t at, uint64_t most);
/* Returns a hash of everything that changes rows, besides lengths; 0: nothing is added to
 * documents. */
uint64_t sl_document_rule_hash(const sl_document_rule *rule, uint64_t seed);

#endif
