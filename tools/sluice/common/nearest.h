/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest: the word that a mistyped one was probably to be, for "did you mean". Pure.
 *
 * Words are as near as the letters that have to be put in, left out, changed or exchanged with
 * their neighbour (optimal string alignment) are few: at most a third of those typed. A word that
 * is all of the other's up to a hyphen, or from one, is near, too: --batch of --batch-size,
 * --workers of
 * --num-workers.
 */
#ifndef TOOL_NEAREST_H
#define TOOL_NEAREST_H

#include <stddef.h>

enum { NEAREST_LETTERS_MAX = 31 }; /* longer words are near none */

struct nearest {
    const char *typed, *word; /* borrowed; `word` NULL: none is near */
    unsigned steps;
};

void nearest_begin(struct nearest *nearest, const char *typed);
/* Of equally near words the first one stays. */
void nearest_try(struct nearest *nearest, const char *word);

/* "; did you mean PREFIX and the word?", or nothing where none is near; `text` is returned. */
const char *nearest_question(const struct nearest *nearest, const char *prefix, char *text,
                             size_t bytes);
/* The same for one of `words`, which end with NULL. */
const char *nearest_of(const char *typed, const char *const *words, char *text, size_t bytes);

/* Letters to put in, leave out, change or exchange; of words of NEAREST_LETTERS_MAX at most. */
unsigned nearest_steps(const char *a, const char *b);

#endif
