/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned nearest_steps(const char *a, const char *b)
{
    unsigned rows[3][NEAREST_LETTERS_MAX + 1]; /* the last three, in turns */
    const size_t letters = strlen(b);
    for (size_t k = 0; k <= letters; k++) {
        rows[0][k] = (unsigned)k;
    }
    size_t i = 0;
    for (; a[i] != '\0'; i++) {
        const unsigned *above = rows[i % 3];
        const unsigned *before = rows[(i + 2) % 3]; /* the row before that, from the second on */
        unsigned *row = rows[(i + 1) % 3];
        row[0] = (unsigned)i + 1;
        for (size_t k = 0; k < letters; k++) {
            row[k + 1] = least(least(above[k + 1], row[k]) + 1, above[k] + (a[i] != b[k]));
            if (i > 0 && k > 0 && a[i] == b[k - 1] && a[i - 1] == b[k]) {
                row[k + 1] = least(row[k + 1], before[k - 1] + 1);
            }
        }
    }
    return rows[i % 3][letters];
}

/* Returns 2 if the shorter word is all of the longer one before a hyphen, 3 if it is all of it
 * after one, which is a weaker match; else UINT_MAX. */
static unsigned part_steps(const char *a, const char *b)
{
    const char *part = strlen(a) < strlen(b) ? a : b;
    const char *whole = part == a ? b : a;
    const size_t letters = strlen(part);
    const size_t more = strlen(whole) - letters;
    if (letters < 3 || more < 2) {
        return UINT_MAX;
    }
    if (strncmp(whole, part, letters) == 0 && whole[letters] == '-') {
        return 2;
    }
    return strcmp(whole + more, part) == 0 && whole[more - 1] == '-' ? 3 : UINT_MAX;
}

void nearest_begin(struct nearest *nearest, const char *typed)
{
    const size_t letters = strlen(typed);
    const bool too_long = letters > NEAREST_LETTERS_MAX;
    /* Too many to be near. */
    *nearest = (struct nearest){.typed = typed, .steps = too_long ? 0 : (unsigned)letters / 3 + 1};
}

void nearest_try(struct nearest *nearest, const char *word)
{
    if (nearest->steps == 0 || strlen(word) > NEAREST_LETTERS_MAX) {
        return;
    }
    const unsigned steps =
        least(nearest_steps(nearest->typed, word), part_steps(nearest->typed, word));
    if (steps < nearest->steps) {
        nearest->steps = steps;
        nearest->word = word;
    }
}

const char *nearest_question(const struct nearest *nearest, const char *prefix, char *text,
                             size_t bytes)
{
    text[0] = '\0';
    if (nearest->word != NULL) {
        (void)snprintf(text, bytes, "; did you mean %s%s?", prefix, nearest->word);
    }
    return text;
}

const char *nearest_of(const char *typed, const char *const *words, char *text, size_t bytes)
{
    struct nearest nearest;
    nearest_begin(&nearest, typed);
    for (size_t i = 0; words[i] != NULL; i++) {
        nearest_try(&nearest, words[i]);
    }
    return nearest_question(&nearest, "", text, bytes);
}
