/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_values: groups the values of a text by column or JSON key.
 *
 * Purpose: finds candidates for image names in a list of any form, without a full parser for each.
 * Threads: pure. Memory: the caller's, of fixed size.
 */
#ifndef SL_LIST_VALUES_H
#define SL_LIST_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SL_LIST_GROUPS = 40, SL_LIST_VALUES = 32, SL_LIST_TEXT = 64 };

typedef struct sl_list_value {
    uint64_t hash; /* hash of the last path component in lower case, without image extension and
                      leading zeros; 0: cannot be a name */
    bool is_number, is_picture, has_folder;
    char text[SL_LIST_TEXT]; /* beginning of the value */
} sl_list_value;

typedef struct sl_list_group {
    uint64_t id;
    uint64_t total;
    uint32_t count;   /* number of values kept */
    bool has_digests; /* true if the values are checksums of files, not labels */
    char name[SL_LIST_TEXT], first[SL_LIST_TEXT];
    sl_list_value values[SL_LIST_VALUES];
} sl_list_group;

typedef struct sl_list_values {
    uint32_t count;
    uint64_t dropped; /* values of groups beyond the capacity */
    uint64_t lines;   /* non-empty lines of a line-based text */
    bool is_data;     /* true if the name is that of a table or of JSON */
    bool is_keyed;    /* true for JSON: groups belong to keys */
    sl_list_group groups[SL_LIST_GROUPS];
} sl_list_values;

sl_list_value sl_list_value_of(const char *text, size_t bytes);
/* `values` is zeroed; `text` is zero-terminated. */
void sl_list_values_read(sl_list_values *values, const char *name, const char *text, size_t bytes);

#endif
