/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask_pairs: which masks belong to which pictures, by their names.
 *
 * Purpose: a picture and its mask have the same path from their folders, but for the extension and
 * what the names' row says of their ends (mask_places.h). Of several masks of a picture the one
 * with the fewest additions counts, a PNG before others. Nothing is opened.
 * Memory: the names, and 24 bytes a mask. Threads: built by one, immutable afterwards.
 * Ownership: sl_mask_pairs_close.
 */
#ifndef SL_MASK_PAIRS_H
#define SL_MASK_PAIRS_H

#include "mask_places.h"
#include "name_tree.h"

typedef struct sl_mask_key {
    const char *path; /* from the folder of masks */
    uint32_t bytes;   /* of it that are the picture's, too */
    uint32_t rank;
} sl_mask_key;

typedef struct sl_mask_pairs {
    const sl_mask_places *places;
    sl_name_tree pictures;
    sl_name_tree trees[SL_MASK_KINDS]; /* those of kinds that have a folder of their own */
    sl_mask_key *keys[SL_MASK_KINDS];  /* in their order */
    uint64_t count[SL_MASK_KINDS], capacity[SL_MASK_KINDS];
} sl_mask_pairs;

/* `pairs` is all zero; `places` has to outlive it. Errors: IO, INVALID (a path is too long),
 * NOMEM. */
sluice_status sl_mask_pairs_open(sl_mask_pairs *pairs, const sl_mask_places *places,
                                 sluice_error *error);
void sl_mask_pairs_close(sl_mask_pairs *pairs);

/* The mask of a picture, from its folder; NULL: there is none. */
const char *sl_mask_pairs_find(const sl_mask_pairs *pairs, int kind, const char *picture);
/* The picture of a stem; NULL: there is none. */
const char *sl_mask_pairs_picture(const sl_mask_pairs *pairs, const char *stem);

#endif
