/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_values: what stands behind the equals signs of one --column (column_spec.h), by its key.
 *
 * Each value is checked, and goes to a member of the spec, by its offset; of what follows a picture
 * to that of the sluice_column in it which the library's table of options has. Pure.
 */
#ifndef TOOL_COLUMN_VALUES_H
#define TOOL_COLUMN_VALUES_H

#include "column_spec.h"

#include <sluice/describe.h>

enum { COLUMN_WORDS_BYTES = 256, COLUMN_QUESTION_BYTES = 80 };
#define COLUMN_NAME_LENGTHS "1 to 31 letters, digits, _, -, . or /"

enum column_value {
    COLUMN_VALUE_COUNT,
    COLUMN_VALUE_AREA,
    COLUMN_VALUE_PART,
    COLUMN_VALUE_WORD,
    COLUMN_VALUE_SHAPE,
    COLUMN_VALUE_NAME,  /* of another column */
    COLUMN_VALUE_FIELD, /* the name of one */
    COLUMN_VALUE_TEXT,
    COLUMN_VALUE_MIRROR,
    COLUMN_VALUE_FOLLOWER /* a member of `follower` */
};

struct column_key {
    const char *name;
    uint32_t kinds; /* that take it, as bits; 0: as the library says */
    enum column_value value;
    size_t offset;            /* of its member; of a follower's the library knows it */
    uint64_t min, max;        /* COUNT */
    const char *const *words; /* WORD; NULL: the library's of this name */
};

/* Where the sentence goes. */
struct column_fault {
    char *text;
    size_t bytes;
};

/* Writes the sentence; false. */
bool column_wrong(const struct column_fault *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "a, b, c" of words that end with NULL. */
void column_join_words(const char *const *words, char *text, size_t bytes);
bool column_is_name(const char *text, size_t length);
/* The library's member that a key is for. */
sluice_option column_member(sluice_options of, const char *key);
/* False: it is wrong. */
bool column_value_take(const struct column_key *key, const char *value, struct column_spec *spec,
                       const struct column_fault *fault);

#endif
