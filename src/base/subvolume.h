/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subvolume: the part of a tensor that a column takes, and the range of the tensor that is read for
 * it.
 *
 * Purpose: the beginning of a part is a pure function of (seed, epoch, sample) and the tensor's
 * shape, so it is known before the tensor is read. A read covers a BOX of the tensor: its
 * dimensions below `split` are those of the part, the others are whole. The deeper the split, the
 * fewer bytes are read, in more and shorter RUNS of neighbours. The split is chosen by cost,
 * counted in bytes: those of the box, a read call as SL_SUBVOLUME_CALL_BYTES, and a run of a call
 * that reads small gaps along (SL_PIECE_GAP_BYTES) as its gap and SL_SUBVOLUME_RUN_BYTES. It is the
 * cheapest of those that read at most a fifth more than the part; if that costs about as much as
 * the whole tensor, the cheapest of all.
 *
 * Threads: pure. Units: elements, except where bytes are named. Invariant: a tensor has less than
 * 2^31 bytes (SL_RECORD_BYTES_MAX), which sl_subvolume_box checks.
 */
#ifndef SL_SUBVOLUME_H
#define SL_SUBVOLUME_H

#include "view.h"

#include <sluice/columns.h>

#include <stdbool.h>

/* Most fields of a sample that are read in parts. */
#define SL_SUBVOLUMES_MAX 3U
/* Most strided pieces (sl_piece) of a field. */
#define SL_SUBVOLUME_PIECES_MAX 4096U
/* A read of some hundred bytes takes as long as one of so many more, from the page cache. */
#define SL_SUBVOLUME_CALL_BYTES ((uint64_t)4096)

#define SL_SUBVOLUME_RUN_BYTES ((uint64_t)256)

/* The part to take of a tensor. */
typedef struct sl_subvolume {
    uint32_t field; /* of the dataset */
    uint32_t dims, element_bytes;
    sluice_column_part part;
    uint64_t shape[SLUICE_TENSOR_DIMS_MAX];
} sl_subvolume;

/* The parts of all fields that a sample is read for. */
typedef struct sl_subvolumes {
    uint64_t seed;
    uint32_t count;
    sl_subvolume of[SL_SUBVOLUMES_MAX];
} sl_subvolumes;

/* Identifies a part's draw. For a sample that repeats in an epoch `index` is past all samples. */
typedef struct sl_subvolume_key {
    uint64_t seed, epoch, index;
} sl_subvolume_key;

/* Returns whether a tensor of the shape `whole` has such a part. */
bool sl_subvolume_fits(const sl_subvolume *taken, const uint64_t *whole);
/* Finds the part's beginning in each dimension of such a tensor. For one key and shape of the part,
 * tensors of one shape have the same `begin`; tensors that share first dimensions have the same in
 * these. */
void sl_subvolume_begin(const sl_subvolume *taken, const uint64_t *whole,
                        const sl_subvolume_key *key, uint64_t *begin);

/* The range of a tensor to read. */
typedef struct sl_box {
    uint32_t split;
    uint32_t run_bytes; /* of neighbours in the tensor */
    /* of a piece: number of runs, and their distance in bytes */
    uint32_t count, stride;
    uint32_t pieces;                        /* SL_SUBVOLUME_PIECES_MAX at most */
    uint64_t bytes;                         /* of all runs */
    uint64_t cost;                          /* bytes, with calls counted as such */
    uint64_t shape[SLUICE_TENSOR_DIMS_MAX]; /* of the box */
} sl_box;

/* Finds the box for a part, wherever in the tensor it is. False: the tensor has no such part, or is
 * too large. */
bool sl_subvolume_box(const sl_subvolume *taken, const uint64_t *whole, sl_box *box);
/* Returns piece `number` of the box for the part at `begin`; its offset counts from the tensor's
 * first element. Back to back the pieces are the box, in C's order. */
sl_piece sl_subvolume_piece(const sl_subvolume *taken, const uint64_t *whole, const sl_box *box,
                            const uint64_t *begin, uint32_t number);

#endif
