/* SPDX-License-Identifier: Apache-2.0 */
#include "caption_names.h"

#include "memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

sl_caption sl_caption_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    for (uint8_t i = SL_CAPTION_TXT; dot != NULL && i <= SL_CAPTION_CAPTION; i++) {
        if (strcmp(dot, sl_caption_extension(i)) == 0) {
            return (sl_caption)i;
        }
    }
    return SL_CAPTION_NONE;
}

bool sl_caption_names_add(sl_caption_names *names, const char *name, uint32_t dir)
{
    const size_t bytes = strlen(name) + 1;
    if (!sl_grow(&names->of, &names->capacity, names->count + 1, sizeof(*names->of)) ||
        !sl_grow(&names->arena, &names->arena_capacity, names->used + bytes, 1)) {
        return false;
    }
    memcpy(names->arena + names->used, name, bytes);
    names->of[names->count++] = (sl_caption_name){names->used, dir};
    names->used += bytes;
    return true;
}

static int caption_names_compare(const void *a, const void *b, void *arena)
{
    const sl_caption_name *one = a;
    const sl_caption_name *other = b;
    if (one->dir != other->dir) {
        return one->dir < other->dir ? -1 : 1;
    }
    return strcmp((const char *)arena + one->text, (const char *)arena + other->text);
}

void sl_caption_names_sort(sl_caption_names *names)
{
    if (names->count > 1) {
        qsort_r(names->of, names->count, sizeof(*names->of), caption_names_compare, names->arena);
    }
}

static bool caption_names_has(const sl_caption_names *names, const char *name, uint32_t dir)
{
    uint64_t from = 0;
    uint64_t to = names->count;
    while (from < to) {
        const uint64_t middle = from + (to - from) / 2;
        const sl_caption_name *at = &names->of[middle];
        const int order =
            at->dir != dir ? (at->dir < dir ? -1 : 1) : strcmp(names->arena + at->text, name);
        if (order == 0) {
            return true;
        }
        from = order < 0 ? middle + 1 : from;
        to = order < 0 ? to : middle;
    }
    return false;
}

uint8_t sl_caption_names_find(const sl_caption_names *names, const char *picture, uint32_t dir)
{
    char name[NAME_MAX + 16];
    const char *dot = strrchr(picture, '.');
    const size_t stem = dot != NULL ? (size_t)(dot - picture) : strlen(picture);
    for (uint8_t i = SL_CAPTION_TXT; stem <= NAME_MAX && i <= SL_CAPTION_CAPTION; i++) {
        (void)snprintf(name, sizeof(name), "%.*s%s", (int)stem, picture, sl_caption_extension(i));
        if (caption_names_has(names, name, dir)) {
            return i;
        }
    }
    return SL_CAPTION_NONE;
}

void sl_caption_names_clear(sl_caption_names *names)
{
    names->count = names->used = 0;
}

void sl_caption_names_close(sl_caption_names *names)
{
    sl_free(names->of);
    sl_free(names->arena);
    *names = (sl_caption_names){.count = 0};
}
