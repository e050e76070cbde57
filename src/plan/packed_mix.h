/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_mix: the order of the rows of several packings, by the shares of a mix.
 *
 * Purpose: each source of a mix is packed separately (packing.h), so a row has documents of one
 * source. Rows are numbered source by source: source i has the rows from mix->first[i] up to
 * mix->first[i + 1]. The mix gives the source at a position (mixing.h); its shares are shares of
 * rows. The order of the source's packing (packed_order.h), in the source's own epoch, gives the
 * row. So each row of a source appears once before any appears again, then in another order, unless
 * rows are not shuffled. Documents are drawn from that epoch, too (column_packed.c): all pieces of
 * a document agree even if they are in several epochs of the mix, and a row that appears twice in
 * one of these is drawn twice. Each source has its own seed for its draws and its packing, so a
 * dataset that is a source twice has different rows in each. Threads, memory: those of each
 * packing. Ownership: `set` of the order is an sl_packed_mix, which must stay, like everything it
 * points to.
 */
#ifndef SL_PACKED_MIX_H
#define SL_PACKED_MIX_H

#include "order.h"
#include "packing.h"

typedef struct sl_packed_mix {
    const sl_mix *mix;               /* counts rows */
    sl_packed_rows *const *packings; /* of each source, by sl_packed_mix_seed */
} sl_packed_mix;

/* `count` is mix->epoch_samples. Also returns how many members each row has: its pieces. */
extern const sl_order_kind sl_packed_mix_order;

/* Returns the seed of a source, for sl_packing_source. */
uint64_t sl_packed_mix_seed(uint64_t seed, uint32_t source);
/* Returns the source of a row. */
uint32_t sl_packed_mix_source(const sl_mix *mix, uint64_t row);

#endif
