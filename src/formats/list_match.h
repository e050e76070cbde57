/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_match: whether a list means the images of a dataset, though it calls them otherwise.
 *
 * Purpose: names in lists have other folders, other extensions, other cases of letters or no
 * leading zeros. A column of a table, or the values of a key in JSON, that correspond to images
 * then make the file a list of them. Threads: pure, apart from the file. Memory: the beginning of
 * the file; time: the names of all images of the dataset, once.
 */
#ifndef SL_LIST_MATCH_H
#define SL_LIST_MATCH_H

#include "dataset.h"

enum { SL_LIST_NAME_BYTES = 80 };

typedef struct sl_list_match {
    bool matches; /* its names correspond to images */
    bool says_more;
    bool sorts;                    /* names are in several lists of one object, such as classes */
    bool is_bare;                  /* the names are without folders */
    bool agrees;                   /* a column has the names of the images' folders */
    bool counts;                   /* it has as many values or lines as there are images */
    bool is_cut;                   /* it is longer than what was looked at */
    char name[SL_LIST_NAME_BYTES]; /* one of its names */
    char key[SL_LIST_NAME_BYTES];  /* and the image that it stands for */
} sl_list_match;

/* Zeros where the file cannot be read, or there is no memory. */
void sl_list_match_find(const sl_dataset *dataset, const char *path, sl_list_match *match);

#endif
