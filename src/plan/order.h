/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order: which sample stands at each position of an epoch, and how positions become steps.
 *
 * An order is of a kind, a row of functions (sl_order_kind). To add one, write its file with its
 * sl_order_kind, and its row in loader/orders.c; nothing else asks which kind an order is.
 *   plain     full:  one permutation of all samples.
 *             block: blocks of `block` consecutive samples are permuted, `window` blocks in a row
 *                    form a window, and the samples of a window are permuted among its positions.
 *                    The last block may be short, and its place is permuted like the others'.
 *             none:  sample = position.
 *   mixed     each source of a mix in a plain order of its own, another in each of the source's own
 *             epochs (mixing.h).
 *   shards    only the number of samples: a walk says which stands where (shard_order.h).
 *   others    bucket_order.h, episode_order.h, length_order.h, repeat_order.h, weighted_order.h.
 * Threads: pure; an order is a value, built once per epoch. Memory: an order points to what its
 * kind keeps for all epochs (`set`), which must stay.
 */
#ifndef SL_ORDER_H
#define SL_ORDER_H

#include "mix.h"
#include "permutation.h"

#include <sluice/options.h>

typedef struct sl_order_kind sl_order_kind;

/* What the orders of all epochs are made from. */
typedef struct sl_order_source {
    const sl_order_kind *kind;
    const void *set;        /* the kind's own; NULL for plain and shards */
    sluice_shuffle shuffle; /* and, of plain and mixed orders: */
    uint64_t block, window;
    uint64_t count; /* positions of an epoch, >= 1 */
} sl_order_source;

typedef struct sl_order {
    const sl_order_kind *kind;
    const void *set;
    sluice_shuffle shuffle;
    uint64_t count; /* positions, >= 1 */
    uint64_t block, window;
    uint64_t window_key;  /* seeds the permutation inside each window */
    sl_permutation outer; /* of samples (full), of blocks (block), or of the kind's batches */
    uint64_t short_rank;  /* place of the short block among the permuted blocks */
    uint64_t seed, epoch; /* of kinds with a set */
} sl_order;

/* ---- groups: of orders whose batches hold samples of one group each ---- */

/* Where a position is: a place of a group. */
typedef struct sl_order_place {
    uint32_t group;
    uint64_t place; /* below the group's samples */
} sl_order_place;

/* A step, from the epoch's beginning. */
typedef struct sl_order_step {
    uint64_t base;    /* position of its first row, on all ranks together */
    uint64_t samples; /* a global batch, or fewer: the rest of a group */
    uint32_t group;
} sl_order_step;

typedef struct sl_order_groups {
    uint64_t (*whole)(const sl_order *order); /* steps of whole global batches, which come first */
    uint64_t (*rests)(const sl_order *order); /* the others */
    /* Number of the step that begins at `position`; false: none does, and it is not the end. */
    bool (*step_at)(const sl_order *order, uint64_t position, uint64_t *step);
    /* Step < whole + rests; that number itself is the epoch's end. */
    sl_order_step (*step)(const sl_order *order, uint64_t step);
    uint64_t (*samples)(const sl_order *order, uint32_t group);
    sl_order_place (*find)(const sl_order *order, uint64_t position);
    uint64_t (*position)(const sl_order *order, sl_order_place at); /* the inverse */
} sl_order_groups;

struct sl_order_kind {
    const char *name;
    sl_order (*make)(const sl_order_source *source, uint64_t seed, uint64_t epoch);
    /* The samples at `first` and the positions behind it. NULL: a walk says. */
    void (*samples)(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples);
    /* Number of a sample's repetition at `position`, which its augmentation is drawn by; a sample
     * has each number at most once. NULL: always 0. */
    uint64_t (*repetition)(const sl_order *order, uint64_t position);
    /* Epoch that the draws of the row at `position` are made by. NULL: the order's. */
    uint64_t (*round)(const sl_order *order, uint64_t position);
    /*
     * Members of the row at `position`, 1 to the most that a row of the columns has: for an order
     * whose rows are made of different numbers of samples. Member m of row number r (`samples`) is
     * then sample r * most + m of the dataset, and no row has a substitute. NULL: every row of an
     * epoch has as many as the columns say, its own sample and partners of it.
     */
    uint32_t (*members)(const sl_order *order, uint64_t position);
    /* What the rows at `first` and the positions behind it cost a rank, up to SL_ROW_COST_MAX
     * (level.h) each. NULL: it is not known. */
    void (*costs)(const sl_order *order, uint64_t first, uint32_t count, uint64_t *costs);
    /* NULL: global batches are cut from all positions in a row. */
    const sl_order_groups *groups;
    /* Positions that a rank's share of a last step keeps together. NULL: 1. */
    uint64_t (*unit)(const sl_order *order);
    /* Samples that may stand at `position`, its own among them. NULL: all of its group, or epoch.
     */
    uint64_t (*choices)(const sl_order *order, uint64_t position);
    /* For a bad sample at `position`, attempt 1 .. ; only where it has two choices or more. NULL:
     * the sample at another position of its group, or of the epoch. */
    uint64_t (*substitute)(const sl_order *order, uint64_t position, uint32_t attempt);
    /* Whether a sample may stand at `position`. NULL: each may. */
    bool (*fits)(const sl_order *order, uint64_t position, uint64_t sample);
    /* True if substitutes are of the class of the position's own sample, and a sample stands in a
     * unit once. */
    bool by_class;
};

extern const sl_order_kind sl_plain_order, sl_mixed_order, sl_shards_order;

/* A plain order. */
sl_order sl_order_make(sluice_shuffle shuffle, uint64_t count, uint64_t block, uint64_t window,
                       uint64_t seed, uint64_t epoch);
/* The same of a mix, which must stay; `shape` has shuffle, block and window. */
sl_order sl_order_make_mixed(const sl_mix *mix, const sl_order *shape, uint64_t seed,
                             uint64_t epoch);
/* The sample at `position` < count. */
uint64_t sl_order_sample(const sl_order *order, uint64_t position);
/* Those at `first` and the positions behind it. Quicker than one by one. */
void sl_order_samples(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples);

/* The order of an epoch. */
static inline sl_order sl_order_of(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    return source->kind->make(source, seed, epoch);
}

#endif
