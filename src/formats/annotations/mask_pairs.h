/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask_pairs: matches masks with images by their names.
 *
 * Purpose: an image and its mask have the same path relative to their folders, except for the
 * extension and the endings that the names' row allows (mask_places.h). If an image has several
 * masks, the one with the shortest additions counts, PNGs first. Opens no file. Memory: the names,
 * and 24 bytes per mask. Threads: built by one, immutable afterwards. Ownership:
 * sl_mask_pairs_close.
 */
#ifndef SL_MASK_PAIRS_H
#define SL_MASK_PAIRS_H

#include "mask_places.h"
#include "name_tree.h"

typedef struct sl_mask_key {
    const char *path; /* relative to the folder of masks */
    uint32_t bytes;   /* length of the part that it shares with the image */
    uint32_t rank;
} sl_mask_key;

typedef struct sl_mask_pairs {
    const sl_mask_places *places;
    sl_name_tree pictures;
    sl_name_tree trees[SL_MASK_KINDS]; /* files of the kinds that have a folder of their own */
    sl_mask_key *keys[SL_MASK_KINDS];  /* sorted */
    uint64_t count[SL_MASK_KINDS], capacity[SL_MASK_KINDS];
} sl_mask_pairs;

/* `pairs` is zeroed; `places` must outlive it. Errors: IO, INVALID (a path is too long), NOMEM. */
sluice_status sl_mask_pairs_open(sl_mask_pairs *pairs, const sl_mask_places *places,
                                 sluice_error *error);
void sl_mask_pairs_close(sl_mask_pairs *pairs);

/* Returns the mask of an image, which is given relative to its folder; NULL: none. */
const char *sl_mask_pairs_find(const sl_mask_pairs *pairs, int kind, const char *picture);
/* Returns the image with a stem; NULL: none. */
const char *sl_mask_pairs_picture(const sl_mask_pairs *pairs, const char *stem);

#endif
