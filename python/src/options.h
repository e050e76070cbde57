/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: the library's table of options (sluice/describe.h) for Python, and structs filled by it.
 * With the GIL.
 */
#ifndef SLUICE_PY_OPTIONS_H
#define SLUICE_PY_OPTIONS_H

#include "extension.h"

enum { OPTION_TEXTS_MAX = 8 };

/* Texts that a struct points to. A zeroed one may be dropped. */
typedef struct option_texts {
    char *at[OPTION_TEXTS_MAX];
    size_t count;
} option_texts;

void option_texts_drop(option_texts *texts);

/*
 * Sets members of `to`, which has its size, from a dict by name: ints (for a word, its number),
 * floats, words, and paths, which `texts` copies (NULL: no paths); None keeps the member. Returns
 * -1 with an exception, also for an unknown name.
 */
int options_set(const extension *e, sluice_options of, void *to, PyObject *dict,
                option_texts *texts);

/* Function of the module: options(of): [(name, keyword, type, unit, least, most, words, help),
 * ...]. */
PyObject *options_list(PyObject *module, PyObject *number);

#endif
