/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caption_names: the texts of a class that may be captions of its pictures.
 *
 * Purpose: finds "a.v2.txt" or "a.v2.caption" for the picture "a.v2.jpg" of the same directory.
 * Threads: one owner. Ownership: sl_caption_names_close. Memory: the names of the texts of a class.
 */
#ifndef SL_CAPTION_NAMES_H
#define SL_CAPTION_NAMES_H

#include "folder_list.h"

typedef struct sl_caption_name {
    uint64_t text; /* offset */
    uint32_t dir;
} sl_caption_name;

/* All zero: empty. */
typedef struct sl_caption_names {
    sl_caption_name *of;
    char *arena;
    uint64_t count, capacity, used, arena_capacity;
} sl_caption_names;

/* What a file's name makes it. */
sl_caption sl_caption_of(const char *name);
/* False: no memory. */
bool sl_caption_names_add(sl_caption_names *names, const char *name, uint32_t dir);
void sl_caption_names_sort(sl_caption_names *names);
/* The caption of a picture, once they are sorted; .txt comes first. */
uint8_t sl_caption_names_find(const sl_caption_names *names, const char *picture, uint32_t dir);
void sl_caption_names_clear(sl_caption_names *names);
void sl_caption_names_close(sl_caption_names *names);

#endif
