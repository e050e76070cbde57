/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json: a small streaming writer of one JSON value, indented for people. `key` is NULL inside
 * arrays and for the outermost value. In text that is not UTF-8 (file names may be anything),
 * U+FFFD replaces the wrong bytes; numbers do not depend on the locale; values that JSON cannot
 * represent (NaN, infinity) become null. One thread.
 */
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* jansson has functions of these names, which the library in the tool must call. */
// NOLINTBEGIN(readability-identifier-naming)
#define json_real tool_json_real
#define json_null tool_json_null
// NOLINTEND(readability-identifier-naming)

struct json {
    FILE *stream;
    int depth;
    bool follows; /* the current container has a member already */
    bool row;     /* inside an array that stays on one line */
};

void json_begin(struct json *json, FILE *stream);
/* Returns whether a value was begun on stdout. Any thread. */
bool json_is_on_stdout(void);
void json_open_object(struct json *json, const char *key);
void json_close_object(struct json *json); /* ends with a newline when it is the outermost */
void json_open_array(struct json *json, const char *key);
void json_open_row(struct json *json, const char *key); /* an array of numbers, on one line */
void json_close_array(struct json *json);               /* of either kind */

void json_text(struct json *json, const char *key, const char *value); /* NULL: null */
void json_unsigned(struct json *json, const char *key, uint64_t value);
void json_signed(struct json *json, const char *key, int64_t value);
void json_real(struct json *json, const char *key, double value); /* six significant digits */
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

#endif
