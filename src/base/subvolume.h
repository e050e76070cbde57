/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subvolume: the part of a tensor that a column takes, and what of the tensor is read for it.
 *
 * Purpose: where a part begins is a pure function of (seed, epoch, sample) and the tensor's shape,
 * so it is known before the tensor is read. What is read is a BOX of the tensor: its dimensions
 * below `split` are those of the part, the others are whole. The deeper the split, the fewer bytes
 * are read, in the more and shorter RUNS of neighbours.
 * The split is chosen by cost, counted in bytes: those of the box, a call to read as
 * SL_SUBVOLUME_CALL_BYTES, and a run of a call that takes small gaps along (SL_PIECE_GAP_BYTES) as
 * its gap and SL_SUBVOLUME_RUN_BYTES. It is the cheapest of those that read at most a fifth more
 * than the part has; where that costs about as much as the whole tensor, the cheapest of all.
 * Threads: pure. Units: elements, but where bytes are said. Invariant: a tensor has less than 2^31
 * bytes (SL_RECORD_BYTES_MAX), which sl_subvolume_box checks.
 */
#ifndef SL_SUBVOLUME_H
#define SL_SUBVOLUME_H

#include "view.h"

#include <sluice/columns.h>

#include <stdbool.h>

/* Fields of a sample that parts are read of. */
#define SL_SUBVOLUMES_MAX 3U
/* Strided pieces (sl_piece) of a field, at most. */
#define SL_SUBVOLUME_PIECES_MAX 4096U
/* A read of some hundred bytes takes as long as one of so many more, from the page cache. */
#define SL_SUBVOLUME_CALL_BYTES ((uint64_t)4096)

#define SL_SUBVOLUME_RUN_BYTES ((uint64_t)256)

/* What is taken of a tensor. */
typedef struct sl_subvolume {
    uint32_t field; /* of the dataset */
    uint32_t dims, element_bytes;
    sluice_column_part part;
    uint64_t shape[SLUICE_TENSOR_DIMS_MAX];
} sl_subvolume;

/* Of all fields that a sample is read for. */
typedef struct sl_subvolumes {
    uint64_t seed;
    uint32_t count;
    sl_subvolume of[SL_SUBVOLUMES_MAX];
} sl_subvolumes;

/* Whose part it is. Of a sample that comes again in an epoch `index` is behind all samples. */
typedef struct sl_subvolume_key {
    uint64_t seed, epoch, index;
} sl_subvolume_key;

/* Whether a tensor of the shape `whole` has such a part. */
bool sl_subvolume_fits(const sl_subvolume *taken, const uint64_t *whole);
/* Where the part begins in each dimension of such a tensor. Tensors of one shape have the same
 * `begin` for a key and a part's shape; of such as have the same first dimensions it is that of
 * these. */
void sl_subvolume_begin(const sl_subvolume *taken, const uint64_t *whole,
                        const sl_subvolume_key *key, uint64_t *begin);

/* What is read of a tensor. */
typedef struct sl_box {
    uint32_t split;
    uint32_t run_bytes;                     /* of neighbours in the tensor */
    uint32_t count, stride;                 /* of a piece: so many runs, so many bytes apart */
    uint32_t pieces;                        /* SL_SUBVOLUME_PIECES_MAX at most */
    uint64_t bytes;                         /* of all runs */
    uint64_t cost;                          /* bytes, with calls counted as such */
    uint64_t shape[SLUICE_TENSOR_DIMS_MAX]; /* of the box */
} sl_box;

/* What is read for a part, wherever in the tensor it is. False: the tensor has no such part, or
 * is too large. */
bool sl_subvolume_box(const sl_subvolume *taken, const uint64_t *whole, sl_box *box);
/* Piece `number` of the box for the part that begins at `begin`; its offset counts from the
 * tensor's first element. One behind the other the pieces are the box, in C's order. */
sl_piece sl_subvolume_piece(const sl_subvolume *taken, const uint64_t *whole, const sl_box *box,
                            const uint64_t *begin, uint32_t number);

#endif
