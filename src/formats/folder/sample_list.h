/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_list: groups the files of an unpacked WebDataset into samples.
 *
 * Purpose: files below the root whose paths are equal up to the first dot of the last component
 * form a sample. The rest of the name identifies the part (member_names.h). Samples are in the
 * order in which `tar --sort=name` puts them into an archive. A sample must have an image (or, if
 * requested, a recording or a class number); other files, such as lists beside them, are left out.
 * Hidden and system files and folders (hidden.h) do not count. Links are followed; a folder that
 * several links lead to counts once. Memory: 24 bytes per sample; 1 byte and its name per file.
 * Threads: built by one, immutable afterwards.
 */
#ifndef SL_SAMPLE_LIST_H
#define SL_SAMPLE_LIST_H

#include "file_index.h"
#include "member_names.h"
#include "seen_names.h"

enum { SL_SAMPLE_SPELLINGS_MAX = 255 };

typedef struct sl_sample_dir {
    uint64_t path; /* arena offset; relative to the root, "" for the root */
    uint64_t device, inode;
} sl_sample_dir;

typedef struct sl_sample_item {
    uint64_t name; /* arena offset of its main file's name, whose first `key_bytes` end the key */
    uint32_t dir;
    uint32_t first; /* first of its parts: the main one, then the others in name order */
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
    /* Extensions as spelled in names, and the number of each in `index`. */
    uint32_t spelling_count;
    char spellings[SL_SAMPLE_SPELLINGS_MAX][SL_MEMBER_EXTENSION_BYTES];
    uint8_t extension[SL_SAMPLE_SPELLINGS_MAX];
    sl_file_index index; /* lower-case extensions, and SL_MEMBER_TWO_PICTURES */
    uint64_t with_company,
        with_class;         /* numbers of samples with more than one part, and with a "cls" */
    sl_seen_names left_out; /* files that belong to no sample */
    uint64_t hidden;        /* number of files and folders (hidden.h) */
} sl_sample_list;

/*
 * `list` is zeroed. `recordings`: a sample must have a recording or a class number instead of an
 * image. Errors: IO, INVALID (a path is too long), UNSUPPORTED (too many or too long extensions),
 * NOMEM. Close the list in any case.
 */
sluice_status sl_sample_list_open(sl_sample_list *list, const char *root, bool recordings,
                                  sluice_error *error);
void sl_sample_list_close(sl_sample_list *list);

/* Writes the key of a sample; INVALID if it does not fit. */
sluice_status sl_sample_list_key(const sl_sample_list *list, uint64_t sample, char *key,
                                 size_t bytes);
/* Writes the path of a part below the root; INVALID if it does not fit. */
sluice_status sl_sample_list_path(const sl_sample_list *list, uint64_t sample, uint32_t part,
                                  char *path, size_t bytes);

#endif
