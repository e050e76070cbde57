/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask_places: finds a folder of images and the folder of their label masks.
 *
 * Purpose: implements docs/formats/images.md, "Folders of masks": a fixed list of folder names, and
 * a look at the first masks (pair_look.h). The path is the parent of both folders, the folder of
 * images, or a list in ImageSets. Threads: any; blocks while it looks up names.
 */
#ifndef SL_MASK_PLACES_H
#define SL_MASK_PLACES_H

#include "look.h"
#include "pair_look.h"

/* Kinds of masks of an image. */
enum { SL_MASK, SL_MASK_INSTANCES, SL_MASK_TRAIN_IDS, SL_MASK_KINDS };
typedef struct sl_mask_places {
    char root[SL_PATH_BYTES];                 /* common parent of the folders */
    char pictures[SL_PATH_BYTES];             /* relative to `root` */
    char masks[SL_MASK_KINDS][SL_PATH_BYTES]; /* relative to `root`; "": none */
    const sl_pair_kind *names;                /* names for each kind */
    bool deep;                                /* true if sub-folders are included */
    bool is_list;                             /* true if the path is a list that names images */
} sl_mask_places;

/* Finds the folders. False: the path is not of this format. */
bool sl_mask_places_find(sl_look *look, sl_mask_places *places);

/*
 * Returns whether a file may be a mask by its name: an image, or a GIF, which then causes an error.
 */
bool sl_mask_is_named(const char *name);
#endif
