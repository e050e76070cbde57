/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: lists of texts, and what is said of classes, as the library takes them.
 *
 * Purpose: names are pointers into texts that are kept until they are dropped, also while the GIL
 * is not held; what is said of classes is copied, so that it may outlive the caller's. Threads:
 * names are taken and dropped by a thread that has the GIL; labels are dropped by any.
 */
#ifndef PYTHON_NAMES_H
#define PYTHON_NAMES_H

#include "extension.h"

#include <sluice/datasets.h>

/* Names, as they are in the texts of `kept`. */
typedef struct names {
    PyObject *kept; /* a tuple; owned; NULL: None was given */
    const char **of;
    uint32_t count;
} names;

/* Of a list of texts, with None for NULL, or of None. -1 with an exception; to be dropped in any
 * case. */
int names_take(names *n, PyObject *list);
void names_drop(names *n);

/* As sluice.concat makes them of its arguments. */
typedef struct labels {
    char **texts; /* `count` of them, owned; NULL where None stands */
    size_t count;
    sluice_label_options options;
    const sluice_label_options *given; /* NULL: None was given */
} labels;

/* Of None, or of (classes, from, to, allow_case_duplicates), the first three as names take them. -1
 * with an exception; to be dropped in any case. */
int labels_take(labels *l, PyObject *given);
void labels_drop(labels *l);

#endif
