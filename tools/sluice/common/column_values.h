/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_values: the keys of one --column (column_spec.h), and their values.
 *
 * The library's table defines the members of sluice_column, the kinds that take them, and their
 * types, ranges and words; values go to the spec's sluice_column by the member's offset, and the
 * table checks them. The tool's own keys are those of an image's recipe, and members that are
 * lists, which the table does not describe. Pure.
 */
#ifndef TOOL_COLUMN_VALUES_H
#define TOOL_COLUMN_VALUES_H

#include "column_spec.h"

#include <sluice/describe.h>

enum { COLUMN_WORDS_BYTES = 512, COLUMN_QUESTION_BYTES = 80, COLUMN_KEYS_MAX = 64 };
#define COLUMN_NAME_LENGTHS "1 to 31 letters, digits, _, -, . or /"

struct column_own_key; /* of the tool */

struct column_key {
    char name[COLUMN_NAME_BYTES];
    bool is_taken;                    /* by the kind in question */
    const struct column_own_key *own; /* NULL: a member of the library's table */
    sluice_option option;             /* its option */
};

/* Destination of the error text. */
struct column_fault {
    char *text;
    size_t bytes;
};

/* Returns key `number`, below COLUMN_KEYS_MAX, for a column of this kind. False: no more keys. */
bool column_key_get(uint32_t number, int kind, struct column_key *key);
/* Takes a value. False: it is wrong. */
bool column_value_take(const struct column_key *key, const char *value, struct column_spec *spec,
                       const struct column_fault *fault);

/* Writes the error text; returns false. */
bool column_wrong(const struct column_fault *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes "a, b, c" from words that end with NULL. */
void column_join_words(const char *const *words, char *text, size_t bytes);
bool column_is_name(const char *text, size_t length);

#endif
