/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_look: checks by name whether the files of a folder belong to the images of another one.
 *
 * Purpose: recognises masks and label files beside images by a look at the first files: one of them
 * must have an image with the same base name, relative to their folders. Threads: any; blocks while
 * it looks up names, and reads the beginnings of files if a kind requires it.
 */
#ifndef SL_PAIR_LOOK_H
#define SL_PAIR_LOOK_H

#include "store.h"

/* How the names of the other files may end after the part they share with the images. */
enum { SL_PAIR_SUFFIXES = 9 };

typedef struct sl_pair_kind {
    const char *picture;                    /* endings of image names */
    const char *suffixes[SL_PAIR_SUFFIXES]; /* NULL: no more */
    bool (*takes)(const char *name); /* decides by name whether a file is one of the others */
    bool (*holds)(const char *path); /* decides by contents; NULL: the name is enough */
} sl_pair_kind;

typedef struct sl_pair {
    const char *root;              /* common parent of both folders */
    const char *pictures, *others; /* relative to `root` */
    const sl_pair_kind *kind;
    bool deep;        /* true if sub-folders are included */
    bool beside_json; /* true if a JSON file in the folder of the others does not matter */
} sl_pair;

bool sl_pair_is(const sl_pair *pair);

/*
 * Brackets a search that decides the format. A lookup without an answer between the two calls
 * counts as an error, not as a missing file. `end` takes the status of the search, and returns it,
 * or IO.
 */
typedef struct sl_pair_search {
    sl_store_doubt doubt;
    sl_store_doubt *before;
} sl_pair_search;
void sl_pair_search_begin(sl_pair_search *search);
sluice_status sl_pair_search_end(sl_pair_search *search, sluice_status status, sluice_error *error);

#endif
