/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order: which sample is at each position of an epoch, and how positions become steps.
 *
 * An order is of a kind, a row of functions (sl_order_kind). To add one, write its file with its
 * sl_order_kind, and its row in loader/orders.c; no other code depends on the kind of an order.
 *   plain     full:  one permutation of all samples.
 *             block: blocks of `block` consecutive samples are permuted, `window` consecutive
 * blocks form a window, and the samples of a window are permuted among its positions. The last
 * block may be short; it is permuted like the others. none:  sample = position. mixed     each
 * source of a mix in its own plain order, another one in each of the source's own epochs
 * (mixing.h). shards    only the number of samples: a walk finds the sample at a position
 * (shard_order.h). others    bucket_order.h, episode_order.h, length_order.h, repeat_order.h,
 * weighted_order.h. Threads: pure; an order is a value, built once per epoch. Memory: an order
 * points to data that its kind keeps for all epochs (`set`), which must stay.
 */
#ifndef SL_ORDER_H
#define SL_ORDER_H

#include "mix.h"
#include "permutation.h"

#include <sluice/options.h>

typedef struct sl_order_kind sl_order_kind;

/* Source of the orders of all epochs. */
typedef struct sl_order_source {
    const sl_order_kind *kind;
    const void *set;        /* of the kind; NULL for plain and shards */
    sluice_shuffle shuffle; /* for plain and mixed orders, also: */
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

/* The group and place of a position. */
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
    uint64_t (*rests)(const sl_order *order); /* last steps of groups, after the whole ones */
    /* Sets the number of the step that begins at `position`. False: no step begins there, and it
     * is not the epoch's end. */
    bool (*step_at)(const sl_order *order, uint64_t position, uint64_t *step);
    /* Returns a step < whole + rests; step whole + rests is the epoch's end. */
    sl_order_step (*step)(const sl_order *order, uint64_t step);
    uint64_t (*samples)(const sl_order *order, uint32_t group);
    sl_order_place (*find)(const sl_order *order, uint64_t position);
    uint64_t (*position)(const sl_order *order, sl_order_place at); /* inverse of `find` */
} sl_order_groups;

struct sl_order_kind {
    const char *name;
    sl_order (*make)(const sl_order_source *source, uint64_t seed, uint64_t epoch);
    /* Finds the samples at `first` and the following positions. NULL: a walk finds them. */
    void (*samples)(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples);
    /* Returns the number of a sample's repetition at `position`, from which its augmentation is
     * drawn; a sample has each number at most once. NULL: always 0. */
    uint64_t (*repetition)(const sl_order *order, uint64_t position);
    /* Returns the epoch from which the draws of the row at `position` are made. NULL: the
     * order's. */
    uint64_t (*round)(const sl_order *order, uint64_t position);
    /*
     * Returns the number of members of the row at `position`, from 1 to the maximum of a row of the
     * columns. For orders whose rows have different numbers of samples. Member m of row number r
     * (`samples`) is then sample r * most + m of the dataset, and no row has a substitute. NULL:
     * every row of an epoch has as many as the columns specify, its own sample and partner samples.
     */
    uint32_t (*members)(const sl_order *order, uint64_t position);
    /* Finds the costs of the rows at `first` and the following positions for a rank, up to
     * SL_ROW_COST_MAX (level.h) each. NULL: not known. */
    void (*costs)(const sl_order *order, uint64_t first, uint32_t count, uint64_t *costs);
    /* NULL: global batches are cut from consecutive positions of the whole epoch. */
    const sl_order_groups *groups;
    /* Returns the number of positions that a rank's share of a last step keeps together. NULL:
     * 1. */
    uint64_t (*unit)(const sl_order *order);
    /* Returns the number of samples that may be at `position`, its own included. NULL: all of
     * its group, or epoch. */
    uint64_t (*choices)(const sl_order *order, uint64_t position);
    /* Returns a substitute for a bad sample at `position`, attempt 1 .. ; only if it has two
     * choices or more. NULL: the sample at another position of its group, or of the epoch. */
    uint64_t (*substitute)(const sl_order *order, uint64_t position, uint32_t attempt);
    /* Returns whether a sample may be at `position`. NULL: every sample may. */
    bool (*fits)(const sl_order *order, uint64_t position, uint64_t sample);
    /* True if substitutes are of the class of the position's own sample, and a sample occurs
     * once in a unit. */
    bool by_class;
};

extern const sl_order_kind sl_plain_order, sl_mixed_order, sl_shards_order;

/* Returns a plain order. */
sl_order sl_order_make(sluice_shuffle shuffle, uint64_t count, uint64_t block, uint64_t window,
                       uint64_t seed, uint64_t epoch);
/* Returns the order of a mix, which must stay; `shape` has shuffle, block and window. */
sl_order sl_order_make_mixed(const sl_mix *mix, const sl_order *shape, uint64_t seed,
                             uint64_t epoch);
/* Returns the sample at `position` < count. */
uint64_t sl_order_sample(const sl_order *order, uint64_t position);
/* Finds the samples at `first` and the following positions. Faster than one by one. */
void sl_order_samples(const sl_order *order, uint64_t first, uint32_t count, uint64_t *samples);

/* Returns the order of an epoch. */
static inline sl_order sl_order_of(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    return source->kind->make(source, seed, epoch);
}

#endif
