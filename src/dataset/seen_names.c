/* SPDX-License-Identifier: Apache-2.0 */
#include "seen_names.h"

#include <stdio.h>
#include <string.h>

/* Length of " and N more". */
enum { MORE_BYTES = 32 };

uint32_t sl_seen_names_kept(const sl_seen_names *seen)
{
    return seen->count < SL_SEEN_NAMES_MAX ? (uint32_t)seen->count : SL_SEEN_NAMES_MAX;
}

void sl_seen_names_add(sl_seen_names *seen, const char *name)
{
    uint32_t at = sl_seen_names_kept(seen);
    seen->count++;
    while (at > 0 && strcmp(name, seen->names[at - 1]) < 0) {
        at--;
    }
    if (at == SL_SEEN_NAMES_MAX) {
        return;
    }
    memmove(seen->names[at + 1], seen->names[at],
            (SL_SEEN_NAMES_MAX - 1 - at) * sizeof(seen->names[0]));
    (void)snprintf(seen->names[at], sizeof(seen->names[at]), "%s", name);
}

void sl_seen_names_write(const sl_seen_names *seen, char *text, size_t bytes)
{
    size_t used = 0;
    uint32_t written = 0;
    text[0] = '\0';
    while (written < sl_seen_names_kept(seen)) {
        const char *name = seen->names[written];
        const size_t wanted = strlen(name) + 2;
        if (used + wanted + MORE_BYTES > bytes && written > 0) {
            break;
        }
        const int length = snprintf(text + used, bytes - used, "%s%.*s", written > 0 ? ", " : "",
                                    (int)(bytes - MORE_BYTES), name);
        used += length > 0 ? (size_t)length : 0;
        written++;
    }
    if (seen->count > written && used < bytes) {
        (void)snprintf(text + used, bytes - used, " and %llu more",
                       (unsigned long long)(seen->count - written));
    }
}
