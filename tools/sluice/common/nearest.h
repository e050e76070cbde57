/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest: finds the word that was probably meant by a mistyped one, for "did you mean". Pure.
 *
 * The distance is the number of letters to insert, delete, change or exchange with their neighbour
 * (optimal string alignment): at most a third of those typed. A word that is the other one's part
 * up to a hyphen, or from one, is near, too: --batch of --batch-size, --workers of --num-workers.
 */
#ifndef TOOL_NEAREST_H
#define TOOL_NEAREST_H

#include <stddef.h>

enum { NEAREST_LETTERS_MAX = 31 }; /* no word is near to longer ones */

struct nearest {
    const char *typed, *word; /* borrowed; `word` NULL: none is near */
    unsigned steps;
};

void nearest_begin(struct nearest *nearest, const char *typed);
/* Tries a word. Of equally near words the first one stays. */
void nearest_try(struct nearest *nearest, const char *word);

/* Writes "; did you mean PREFIX and the word?", or nothing if none is near; returns `text`. */
const char *nearest_question(const struct nearest *nearest, const char *prefix, char *text,
                             size_t bytes);
/* Does the same for the nearest of `words`, which end with NULL. */
const char *nearest_of(const char *typed, const char *const *words, char *text, size_t bytes);

/* Returns the letters to insert, delete, change or exchange; for words of at most
 * NEAREST_LETTERS_MAX. */
unsigned nearest_steps(const char *a, const char *b);

#endif
