/* SPDX-License-Identifier: Apache-2.0 */
#include "name_list.h"

#include <stdio.h>
#include <string.h>

enum { MORE_BYTES = 24 }; /* " and 4294967295 more" */

void sl_name_list_begin(sl_name_list *list)
{
    *list = (sl_name_list){.text = "none"};
}

void sl_name_list_add(sl_name_list *list, const char *name)
{
    const char *lead = list->names > 0 ? ", " : "";
    const size_t capacity = sizeof(list->text) - MORE_BYTES - list->bytes;
    const size_t bytes = strlen(lead) + strlen(name);
    /* The first name that does not fit ends the list: later names would make it look complete. */
    if (list->left_out == 0 && bytes < capacity) {
        (void)snprintf(list->text + list->bytes, capacity, "%s%s", lead, name);
        list->bytes += bytes;
        list->names++;
        return;
    }
    list->left_out++;
    (void)snprintf(list->text + list->bytes, MORE_BYTES, list->names > 0 ? " and %u more" : "%u",
                   list->left_out);
}

const char *sl_name_list_fields(sl_name_list *list, const sl_field *fields, uint32_t count)
{
    sl_name_list_begin(list);
    for (uint32_t i = 0; i < count; i++) {
        sl_name_list_add(list, fields[i].name);
    }
    return list->text;
}
