/* SPDX-License-Identifier: Apache-2.0 */
#include "list_xml.h"

#include <stdio.h>
#include <string.h>

void sl_list_xml_find(sl_bytes text, const char *element, char *value, size_t bytes)
{
    char mark[64];
    const int length = snprintf(mark, sizeof(mark), "<%s>", element);
    value[0] = '\0';
    const uint8_t *at =
        length > 0 && text.size > 0 ? memmem(text.data, text.size, mark, (size_t)length) : NULL;
    if (at == NULL) {
        return;
    }
    at += length;
    size_t used = 0;
    const uint8_t *end = text.data + text.size;
    while (at < end && *at != '<' && used + 1 < bytes) {
        const bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                           (*at >= '0' && *at <= '9') || *at == '-';
        if (plain) {
            value[used++] = (char)*at;
        }
        at++;
    }
    value[used] = '\0';
}
