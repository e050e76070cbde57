/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_values: the values of a text in groups: columns of lines, or what keys of JSON have.
 *
 * Purpose: what may be names of images in a list of any form, without a full parser of each.
 * Threads: pure. Memory: the caller's, of fixed size.
 */
#ifndef SL_LIST_VALUES_H
#define SL_LIST_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SL_LIST_GROUPS = 40, SL_LIST_VALUES = 32, SL_LIST_TEXT = 64 };

typedef struct sl_list_value {
    uint64_t hash; /* of its last part, in small letters, without a picture's extension, without
                      leading zeros; 0: nothing that could be a name */
    bool is_number, is_picture, has_folder;
    char text[SL_LIST_TEXT]; /* its beginning */
} sl_list_value;

typedef struct sl_list_group {
    uint64_t id;
    uint64_t total;
    uint32_t count;   /* of the values that are kept */
    bool has_digests; /* checksums of files, which are no labels */
    char name[SL_LIST_TEXT], first[SL_LIST_TEXT];
    sl_list_value values[SL_LIST_VALUES];
} sl_list_group;

typedef struct sl_list_values {
    uint32_t count;
    uint64_t dropped; /* values of groups that there was no room for */
    uint64_t lines;   /* of a text of lines, that are not empty */
    bool is_data;     /* by its name: a table, or JSON */
    bool is_keyed;    /* JSON: groups are of keys */
    sl_list_group groups[SL_LIST_GROUPS];
} sl_list_values;

sl_list_value sl_list_value_of(const char *text, size_t bytes);
/* `values` is all zero; behind the text is a zero. */
void sl_list_values_read(sl_list_values *values, const char *name, const char *text, size_t bytes);

#endif
