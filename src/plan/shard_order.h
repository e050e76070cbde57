/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_order: the order of an epoch that reads each file from front to back.
 *
 * Purpose: files that can only be read in their own order are shuffled all the same: which file
 * comes when is drawn anew in each epoch, several are read side by side, and the samples of a
 * window of what comes out are mixed with each other. Seen from one rank:
 *
 *   line      the shards in the order of a permutation, one behind the other. Rank r of W has the
 *             samples [r N / W, (r + 1) N / W) of it, so that no rank reads (much of) what others
 *             do. Where an epoch drops samples (sl_plan), each rank's share of them is left out at
 *             the beginning of its range, or at the end, as drawn for the epoch.
 *   block     neighbours in a shard, as many as `block_samples` and an eighth of a window allow;
 *             where blocks begin depends on the shard alone.
 *   lanes     SL_SHARD_LANES of them take a block in turn. A lane that has no shard, or is done
 *             with its own, takes the next of the line when it is its turn.
 *   window    blocks in that order, as many as `window_blocks` and `window_units` allow, one at
 *             least. The n samples of a window, in the order in which they are read, stand at the
 *             n positions of a permutation of them.
 *
 * A walk gives samples in the order of reading, with the POSITION (of the rank, from 0) of each.
 * Units are what a sample takes of the memory for reading, as counted by the maker of the set.
 * Walk of an example: 2 shards of 3 samples, blocks of 2, window of 3 blocks: the lanes give
 * a0 a1 | b0 b1 | a2, a window; then b2, another. Memory: 8 bytes a block, 40 a block of a window.
 * Threads: a set is immutable once made; a walk belongs to one thread at a time.
 */
#ifndef SL_SHARD_ORDER_H
#define SL_SHARD_ORDER_H

#include "permutation.h"

#include <sluice/common.h>

#include <stdbool.h>

#define SL_SHARD_LANES 8U

/* A run of samples that are in one file, each behind the one before. */
typedef struct sl_shard_span {
    uint64_t first, count; /* samples; numbers of the dataset */
    uint64_t block;        /* number of its first block */
} sl_shard_span;

typedef struct sl_shard_block {
    uint32_t samples, units;
} sl_shard_block;

typedef struct sl_shard_limits {
    uint32_t block_samples, window_blocks;
    uint32_t window_units;
} sl_shard_limits;

typedef struct sl_shard_set {
    sl_shard_limits limits;
    sl_shard_span *shards;
    sl_shard_block *blocks;
    uint64_t samples, count, block_count; /* count: of shards */
    uint64_t shard_capacity, block_capacity;
    uint64_t units;      /* of all */
    uint32_t most_units; /* of a block */
} sl_shard_set;

/* An empty set. A zeroed one may be closed. */
void sl_shard_set_open(sl_shard_set *set, const sl_shard_limits *limits);
void sl_shard_set_close(sl_shard_set *set);
/* The dataset's next sample, which takes `units`; `begins`: it is the first of a shard. False: no
 * memory. */
bool sl_shard_set_add(sl_shard_set *set, uint32_t units, bool begins);
/* The shard of a sample. */
uint64_t sl_shard_set_find(const sl_shard_set *set, uint64_t sample);
/* What a window takes at most. */
uint32_t sl_shard_set_window_units(const sl_shard_set *set);
/* How many samples a window has at most. */
uint32_t sl_shard_set_window(const sl_shard_set *set);
/*
 * The sample that stands in for a bad one at `position`: one of the first of some shard, which is
 * quick to read; a function of (seed, epoch, rank, position, attempt), attempt 1.. Never `bad`
 * itself while there are two samples.
 */
typedef struct sl_shard_bad {
    uint64_t seed, epoch, position, sample;
    uint32_t rank, attempt;
} sl_shard_bad;
uint64_t sl_shard_set_substitute(const sl_shard_set *set, const sl_shard_bad *bad);

/* What an epoch is walked for. */
typedef struct sl_shard_epoch {
    uint64_t seed, epoch;
    uint64_t start;   /* of the rank's positions: those below were consumed before */
    uint64_t dropped; /* samples that the epoch drops, on all ranks together */
    uint32_t rank, world;
} sl_shard_epoch;

typedef enum sl_shard_end {
    SL_SHARD_GOES_ON, /* more of the shard follows */
    SL_SHARD_ENDS,    /* the last of it that is read */
    SL_SHARD_PASSED   /* the last that this rank reads: another one reads on */
} sl_shard_end;

typedef struct sl_shard_next {
    uint64_t sample, position, shard;
    sl_shard_end end;
} sl_shard_next;

typedef struct sl_shard_lane {
    uint64_t shard, block; /* the block that `at` is in */
    uint64_t at, stop;     /* samples of the shard, from its first: the next, and behind the last */
    uint64_t block_end;
    sl_shard_end end;
    bool busy;
} sl_shard_lane;

/* A block of a window, or what of it is read. */
typedef struct sl_shard_run {
    uint64_t sample, shard;
    uint32_t count;
    uint32_t last; /* its sample that `end` is about */
    uint32_t lane;
    sl_shard_end end;
} sl_shard_run;

typedef struct sl_shard_walk {
    const sl_shard_set *set;
    sl_shard_run *runs; /* of the window */
    uint32_t run_capacity, run_count;
    sl_shard_epoch epoch;
    sl_permutation line;
    sl_permutation mixed; /* of the window */
    sl_shard_lane lanes[SL_SHARD_LANES];
    uint32_t turn; /* of which lane */
    uint64_t key;
    uint64_t taken, line_at;       /* shards of the line that were taken; samples before the next */
    uint64_t begin, end;           /* the rank's range of the line, less what is dropped, */
    uint64_t whole_end;            /* and not less that */
    uint64_t window, window_count; /* position of the window's first sample; samples in it */
    uint64_t windows;              /* number of the window in the epoch, from 1 */
    uint32_t run, in_run, in_window;
} sl_shard_walk;

/* Errors: NOMEM. A zeroed one may be closed. */
sluice_status sl_shard_walk_open(sl_shard_walk *walk, const sl_shard_set *set, sluice_error *error);
void sl_shard_walk_close(sl_shard_walk *walk);
/* Goes to the beginning of an epoch, or to `start` in it. */
void sl_shard_walk_begin(sl_shard_walk *walk, const sl_shard_epoch *epoch);
/* The sample that is read next; false: the rank has no more in this epoch. */
bool sl_shard_walk_next(sl_shard_walk *walk, sl_shard_next *next);
/* All positions below it were given, or consumed before. */
uint64_t sl_shard_walk_given(const sl_shard_walk *walk);

#endif
