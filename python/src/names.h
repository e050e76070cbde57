/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: lists of texts, and options of classes, in the library's form.
 *
 * Purpose: names are pointers into texts that are kept until they are dropped, also without the
 * GIL; options of classes are copied, so that they may outlive the caller's. Threads: a thread with
 * the GIL takes and drops names; any thread drops labels.
 */
#ifndef PYTHON_NAMES_H
#define PYTHON_NAMES_H

#include "extension.h"

#include <sluice/datasets.h>

/* Names, inside the texts of `kept`. */
typedef struct names {
    PyObject *kept; /* a tuple; owned; NULL: None was given */
    const char **of;
    uint32_t count;
} names;

/* Takes a list of texts, with None for NULL, or None. -1 with an exception; drop it in any case. */
int names_take(names *n, PyObject *list);
void names_drop(names *n);

/* Labels from the arguments of sluice.concat. */
typedef struct labels {
    char **texts; /* `count` of them, owned; NULL for None */
    size_t count;
    sluice_label_options options;
    const sluice_label_options *given; /* NULL: None was given */
} labels;

/* Takes None, or (classes, from, to, allow_case_duplicates) with the first three as for names. -1
 * with an exception; drop it in any case. */
int labels_take(labels *l, PyObject *given);
void labels_drop(labels *l);

#endif
