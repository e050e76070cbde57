/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_look: whether the files of a folder belong to the pictures of another one, by their names.
 *
 * Purpose: what masks and label files beside pictures are known by: a look at the first files of
 * their kind, of which one has to have a picture that is called alike, from their folders.
 * Threads: any; blocks for looks at names, and at the beginnings of files where a kind asks for it.
 */
#ifndef SL_PAIR_LOOK_H
#define SL_PAIR_LOOK_H

#include "store.h"

/* How names of the others may end, besides what they share with the pictures'. */
enum { SL_PAIR_SUFFIXES = 9 };

typedef struct sl_pair_kind {
    const char *picture;                    /* ends of pictures' names */
    const char *suffixes[SL_PAIR_SUFFIXES]; /* NULL: no more */
    bool (*takes)(const char *name);        /* whether a file is one of the others */
    bool (*holds)(const char *path);        /* the same, by what is in it; NULL: the name tells */
} sl_pair_kind;

typedef struct sl_pair {
    const char *root;              /* what both folders are in */
    const char *pictures, *others; /* from there */
    const sl_pair_kind *kind;
    bool deep;        /* folders in them are followed */
    bool beside_json; /* a JSON right in the folder of the others does not matter */
} sl_pair;

bool sl_pair_is(const sl_pair *pair);

/*
 * What is looked at while a dataset is opened decides what it is: so between these two nothing that
 * does not answer is taken for what is not there. `end` has the status of what was done between,
 * and returns it, or IO.
 */
typedef struct sl_pair_search {
    sl_store_doubt doubt;
    sl_store_doubt *before;
} sl_pair_search;
void sl_pair_search_begin(sl_pair_search *search);
sluice_status sl_pair_search_end(sl_pair_search *search, sluice_status status, sluice_error *error);

#endif
