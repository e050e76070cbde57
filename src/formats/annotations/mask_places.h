/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask_places: which two folders are pictures and their label masks.
 *
 * Purpose: the rule of docs/formats.md, "Folders of masks": a closed list of what such folders are
 * called, and a look at the first masks (pair_look.h).
 * A path is the folder that both are in, the folder of pictures, or a list in ImageSets.
 * Threads: any; blocks for looks at names.
 */
#ifndef SL_MASK_PLACES_H
#define SL_MASK_PLACES_H

#include "look.h"
#include "pair_look.h"

/* What of a picture there may be. */
enum { SL_MASK, SL_MASK_INSTANCES, SL_MASK_TRAIN_IDS, SL_MASK_KINDS };
typedef struct sl_mask_places {
    char root[SL_PATH_BYTES];                 /* what the others are in */
    char pictures[SL_PATH_BYTES];             /* from there */
    char masks[SL_MASK_KINDS][SL_PATH_BYTES]; /* from there; "": there are none */
    const sl_pair_kind *names;                /* of each kind */
    bool deep;                                /* folders in them are followed */
    bool is_list;                             /* the path is a list, which names pictures */
} sl_mask_places;

/* False: the path is nothing of that kind. */
bool sl_mask_places_find(sl_look *look, sl_mask_places *places);

/* Whether a file of that name may be a mask: a picture, or a GIF, which then is refused. */
bool sl_mask_is_named(const char *name);
#endif
