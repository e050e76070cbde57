/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_mix: the order of the rows of several packings, by the shares of a mix.
 *
 * Purpose: each source of a mix is packed by itself (packing.h), so a row has documents of one
 * source. Rows are numbered source by source: those of source i from mix->first[i] on, before
 * mix->first[i + 1]. Which source stands at a position follows from the mix (mixing.h), whose
 * shares are shares of rows; which of its rows, from the order of its packing (packed_order.h) in
 * the source's own epoch. So each row of a source comes once before any comes again, and then in
 * another order, unless rows stand in theirs. That epoch is also the one that documents are drawn
 * by (column_packed.c): all pieces of a document agree, though they may stand in several epochs of
 * the mix, and a row that comes twice in one of these is drawn twice.
 * The draws of a source, also those of its packing, are made by a seed of its own: a dataset that
 * is a source twice has other rows in each.
 * Threads, memory: those of each packing. Ownership: `set` of the order is an sl_packed_mix, which
 * must stay, as what it points to.
 */
#ifndef SL_PACKED_MIX_H
#define SL_PACKED_MIX_H

#include "order.h"
#include "packing.h"

typedef struct sl_packed_mix {
    const sl_mix *mix;               /* counts rows */
    sl_packed_rows *const *packings; /* of each source, by sl_packed_mix_seed */
} sl_packed_mix;

/* `count` is mix->epoch_samples. Also says how many members each row has: its pieces. */
extern const sl_order_kind sl_packed_mix_order;

/* The seed of a source, for sl_packing_source. */
uint64_t sl_packed_mix_seed(uint64_t seed, uint32_t source);
/* The source of a row. */
uint32_t sl_packed_mix_source(const sl_mix *mix, uint64_t row);

#endif
