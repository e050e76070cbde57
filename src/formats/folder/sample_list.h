/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_list: the samples of an unpacked WebDataset: files that are called alike.
 *
 * Purpose: files below the root that have the same path up to the first dot of its last component
 * are a sample, whose parts are called by what is behind it (member_names.h); they come in the
 * order in which `tar --sort=name` puts them into an archive. What of a sample there has to be is a
 * picture (or, if so asked, a recording or a class number): other files are left out, such as lists
 * that are beside them. Hidden and system files and folders (hidden.h) do not count. Links are
 * followed; a folder that several lead to counts once. Memory: 24 bytes a sample, 1 and its name a
 * file. Threads: built by one, immutable afterwards.
 */
#ifndef SL_SAMPLE_LIST_H
#define SL_SAMPLE_LIST_H

#include "file_index.h"
#include "member_names.h"
#include "seen_names.h"

enum { SL_SAMPLE_SPELLINGS_MAX = 255 };

typedef struct sl_sample_dir {
    uint64_t path; /* arena offset; relative to the root, "" for the root itself */
    uint64_t device, inode;
} sl_sample_dir;

typedef struct sl_sample_item {
    uint64_t name; /* arena offset, of its main file's: `key_bytes` of it are the key's end */
    uint32_t dir;
    uint32_t first; /* of its parts: the main one, then the others in the order of names */
    uint16_t key_bytes;
    uint8_t count;
} sl_sample_item;

typedef struct sl_sample_list {
    char *arena;
    uint64_t arena_used, arena_capacity;
    sl_sample_dir *dirs;
    sl_sample_item *items;
    uint8_t *parts; /* the spelling of each part of each sample */
    uint64_t dir_count, dir_capacity, count, capacity, part_count, part_capacity;
    /* Extensions as they are written in names, and the number of each in `index`. */
    uint32_t spelling_count;
    char spellings[SL_SAMPLE_SPELLINGS_MAX][SL_MEMBER_EXTENSION_BYTES];
    uint8_t extension[SL_SAMPLE_SPELLINGS_MAX];
    sl_file_index index; /* of the extensions alone, in small letters; and SL_MEMBER_TWO_PICTURES */
    uint64_t with_company, with_class; /* samples that have more than one part; that have a "cls" */
    sl_seen_names left_out;            /* files of no sample */
    uint64_t hidden;                   /* files and folders (hidden.h) */
} sl_sample_list;

/* `list` is all zero. `recordings`: what a sample has to have is not a picture but a recording or a
 * class number. Errors: IO, INVALID (a path is too long), UNSUPPORTED (too many extensions, too
 * long ones), NOMEM; the list is to be closed then, too. */
sluice_status sl_sample_list_open(sl_sample_list *list, const char *root, bool recordings,
                                  sluice_error *error);
void sl_sample_list_close(sl_sample_list *list);

/* The key of a sample; INVALID when it does not fit. */
sluice_status sl_sample_list_key(const sl_sample_list *list, uint64_t sample, char *key,
                                 size_t bytes);
/* The path of a part, below the root; INVALID when it does not fit. */
sluice_status sl_sample_list_path(const sl_sample_list *list, uint64_t sample, uint32_t part,
                                  char *path, size_t bytes);

#endif
