/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caption_names: finds captions of images among the text files of a class.
 *
 * Purpose: finds "a.v2.txt" or "a.v2.caption" for the image "a.v2.jpg" in the same directory.
 * Threads: one owner. Ownership: sl_caption_names_close. Memory: the names of the texts of a class.
 */
#ifndef SL_CAPTION_NAMES_H
#define SL_CAPTION_NAMES_H

#include "folder_list.h"

typedef struct sl_caption_name {
    uint64_t text; /* offset of the name */
    uint32_t dir;
} sl_caption_name;

/* Names of text files; zeroed: empty. */
typedef struct sl_caption_names {
    sl_caption_name *of;
    char *arena;
    uint64_t count, capacity, used, arena_capacity;
} sl_caption_names;

/* Returns the kind of caption that a file name has. */
sl_caption sl_caption_of(const char *name);
/* Adds a name. False: no memory. */
bool sl_caption_names_add(sl_caption_names *names, const char *name, uint32_t dir);
void sl_caption_names_sort(sl_caption_names *names);
/* Returns the kind of an image's caption, once the names are sorted; .txt comes first. */
uint8_t sl_caption_names_find(const sl_caption_names *names, const char *picture, uint32_t dir);
void sl_caption_names_clear(sl_caption_names *names);
void sl_caption_names_close(sl_caption_names *names);

#endif
