/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_order: the order of an epoch that reads each file from front to back.
 *
 * Purpose: shuffles files that can only be read in their own order. Each epoch draws the order of
 * the files, reads several side by side, and shuffles the samples they return within a window. As
 * seen from one rank:
 *
 *   line      the shards, concatenated in the order of a permutation. Rank r of W has the samples
 *             [r N / W, (r + 1) N / W) of it, so ranks read (almost) nothing twice. If an epoch
 * drops samples (sl_plan), each rank's share of them is left out at the beginning or the end of its
 * range, as drawn for the epoch. block     consecutive samples of a shard, as many as
 * `block_samples` and an eighth of a window allow; where blocks begin depends on the shard alone.
 *   lanes     SL_SHARD_LANES of them take a block in turn. A lane that has no shard, or has
 * finished its own, takes the next of the line when it is its turn. window    blocks in that order,
 * as many as `window_blocks` and `window_units` allow, at least one. The n samples of a window, in
 * the order of reading, are at the n positions of a permutation of them.
 *
 * A walk returns samples in the order of reading, with the POSITION (of the rank, from 0) of each.
 * Units are the read memory that a sample takes, as counted by the maker of the set.
 * Example: 2 shards of 3 samples, blocks of 2, window of 3 blocks: the lanes return a0 a1 | b0 b1 |
 * a2, a window; then b2, another. Memory: 8 bytes a block, 40 a block of a window.
 * Threads: a set is immutable once made; a walk belongs to one thread at a time.
 */
#ifndef SL_SHARD_ORDER_H
#define SL_SHARD_ORDER_H

#include "permutation.h"

#include <sluice/common.h>

#include <stdbool.h>

#define SL_SHARD_LANES 8U

/* Consecutive samples of one file. */
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
    uint64_t units;      /* of all samples */
    uint32_t most_units; /* maximum of a block */
} sl_shard_set;

/* Makes an empty set. A zeroed one may be closed. */
void sl_shard_set_open(sl_shard_set *set, const sl_shard_limits *limits);
void sl_shard_set_close(sl_shard_set *set);
/* Adds the dataset's next sample, which takes `units`; `begins`: it is the first of a shard.
 * False: no memory. */
bool sl_shard_set_add(sl_shard_set *set, uint32_t units, bool begins);
/* Returns the shard of a sample. */
uint64_t sl_shard_set_find(const sl_shard_set *set, uint64_t sample);
/* Returns the maximum units of a window. */
uint32_t sl_shard_set_window_units(const sl_shard_set *set);
/* Returns the maximum number of samples in a window. */
uint32_t sl_shard_set_window(const sl_shard_set *set);
/*
 * A request for a substitute for a bad sample at `position`: one of the first samples of some
 * shard, which are quick to read; a function of (seed, epoch, rank, position, attempt), attempt 1..
 * Never `bad` itself if there are two samples.
 */
typedef struct sl_shard_bad {
    uint64_t seed, epoch, position, sample;
    uint32_t rank, attempt;
} sl_shard_bad;
uint64_t sl_shard_set_substitute(const sl_shard_set *set, const sl_shard_bad *bad);

/* The parameters of an epoch's walk. */
typedef struct sl_shard_epoch {
    uint64_t seed, epoch;
    uint64_t start;   /* first of the rank's positions; those before it were consumed */
    uint64_t dropped; /* samples that the epoch drops, on all ranks together */
    uint32_t rank, world;
} sl_shard_epoch;

typedef enum sl_shard_end {
    SL_SHARD_GOES_ON, /* more of the shard follows */
    SL_SHARD_ENDS,    /* the last sample of it that is read */
    SL_SHARD_PASSED   /* the last that this rank reads: another rank continues */
} sl_shard_end;

typedef struct sl_shard_next {
    uint64_t sample, position, shard;
    sl_shard_end end;
} sl_shard_next;

typedef struct sl_shard_lane {
    uint64_t shard, block; /* the block that has `at` */
    uint64_t at, stop;     /* samples of the shard, from its first: the next, and the end */
    uint64_t block_end;
    sl_shard_end end;
    bool busy;
} sl_shard_lane;

/* A block of a window, or the part of it that is read. */
typedef struct sl_shard_run {
    uint64_t sample, shard;
    uint32_t count;
    uint32_t last; /* the sample that `end` describes */
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
    uint32_t turn; /* current lane */
    uint64_t key;
    uint64_t taken, line_at;       /* shards of the line taken so far; samples before the next */
    uint64_t begin, end;           /* the rank's range of the line without dropped samples, */
    uint64_t whole_end;            /* and its end with them */
    uint64_t window, window_count; /* position of the window's first sample; samples in it */
    uint64_t windows;              /* number of the window in the epoch, from 1 */
    uint32_t run, in_run, in_window;
} sl_shard_walk;

/* Errors: NOMEM. A zeroed one may be closed. */
sluice_status sl_shard_walk_open(sl_shard_walk *walk, const sl_shard_set *set, sluice_error *error);
void sl_shard_walk_close(sl_shard_walk *walk);
/* Goes to the beginning of an epoch, or to `start` in it. */
void sl_shard_walk_begin(sl_shard_walk *walk, const sl_shard_epoch *epoch);
/* Finds the sample to read next; false: the rank has no more in this epoch. */
bool sl_shard_walk_next(sl_shard_walk *walk, sl_shard_next *next);
/* Returns a position; the walk returned all positions below it, or they were consumed before. */
uint64_t sl_shard_walk_given(const sl_shard_walk *walk);

#endif
