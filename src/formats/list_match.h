/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_match: decides whether a list refers to the images of a dataset under different names.
 *
 * Purpose: names in lists may have other folders, other extensions, other letter case or no leading
 * zeros. If a column of a table, or the values of a JSON key, correspond to images, the file lists
 * them. Threads: pure, except for reading the file. Memory: the beginning of the file. Time: one
 * pass over all keys of the dataset.
 */
#ifndef SL_LIST_MATCH_H
#define SL_LIST_MATCH_H

#include "dataset.h"

enum { SL_LIST_NAME_BYTES = 80 };

typedef struct sl_list_match {
    bool matches; /* true if its names correspond to images */
    bool says_more;
    bool sorts;   /* true if names are in several lists of one object, such as classes */
    bool is_bare; /* true if the names have no folders */
    bool agrees;  /* true if a column has the names of the images' folders */
    bool counts;  /* true if it has as many values or lines as there are images */
    bool is_cut;  /* true if the file is longer than the part that was read */
    char name[SL_LIST_NAME_BYTES]; /* one of its names */
    char key[SL_LIST_NAME_BYTES];  /* the image that `name` matches */
} sl_list_match;

/* Fills `match`; all zeros if the file cannot be read or memory runs out. */
void sl_list_match_find(const sl_dataset *dataset, const char *path, sl_list_match *match);

#endif
