/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_list: names in a message, "image, label, key", as many as fit: "... and 12 more". Names are
 * never cut. Ownership: none; the text is in the struct. Threads: any, each with its own.
 */
#ifndef SL_NAME_LIST_H
#define SL_NAME_LIST_H

#include "value.h"

#include <stddef.h>
#include <stdint.h>

typedef struct sl_name_list {
    char text[256]; /* ends with a NUL at all times; "none" before the first name */
    size_t bytes;
    uint32_t names, left_out;
} sl_name_list;

void sl_name_list_begin(sl_name_list *list);
void sl_name_list_add(sl_name_list *list, const char *name);

/* Lists the names of fields. Returns its text. */
const char *sl_name_list_fields(sl_name_list *list, const sl_field *fields, uint32_t count);

#endif
