/* SPDX-License-Identifier: Apache-2.0 */
#include "digest_list.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 16 };

sluice_status sl_digest_list_open(sl_digest_list *list, const char *hashes, sluice_error *error)
{
    const char *at = hashes != NULL ? hashes : "";
    while (*at != '\0' && list->count < SL_DIGEST_NAMES) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "="), at);
        const sluice_status status = sl_digest_open(&list->of[list->count], name, error);
        if (status < 0) {
            return status;
        }
        list->wanted[list->count++] = at;
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    return SLUICE_OK;
}

void sl_digest_list_add(sl_digest_list *list, const void *data, size_t bytes)
{
    for (uint32_t i = 0; i < list->count; i++) {
        sl_digest_add(list->of[i], data, bytes);
    }
}

bool sl_digest_list_differs(sl_digest_list *list, uint32_t number, char name[NAME_BYTES])
{
    char digits[SL_DIGEST_TEXT_BYTES];
    const char *wanted = list->wanted[number];
    const size_t length = strcspn(wanted, "=");
    const size_t bytes = strcspn(wanted, " ") - length - 1;
    (void)snprintf(name, NAME_BYTES, "%.*s", (int)length, wanted);
    return !sl_digest_text(list->of[number], digits) || strlen(digits) != bytes ||
           strncasecmp(digits, wanted + length + 1, bytes) != 0;
}

void sl_digest_list_close(sl_digest_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        sl_digest_close(list->of[i]);
    }
    *list = (sl_digest_list){.count = 0};
}
