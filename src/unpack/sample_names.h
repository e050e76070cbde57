/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_names: chooses the file names of samples.
 *
 * Purpose: a sample's name is its key, if that is safe and unused; otherwise its number. Safe: a
 * relative path of at most 32 components, none of them empty, hidden (including "." and ".."), or
 * with control characters or backslashes, which leaves space for suffixes; in a tar, also nothing
 * that readers interpret differently. An image extension in a key is that of its file. So,
 * regardless of keys and class names, no name leads out of the output folder, and no file is
 * written twice. Threads: one owner; samples in order. Memory: 8 to 21 bytes per file in folders;
 * in tars, per sample of one archive.
 */
#ifndef SL_SAMPLE_NAMES_H
#define SL_SAMPLE_NAMES_H

#include "members.h"
#include "name_set.h"

#define SL_NAME_BYTES 4096 /* size of a path, including NUL */

typedef struct sl_sample_names {
    sluice_unpack_form form;
    const sl_dataset *dataset;
    size_t capacity;        /* maximum size of a whole path below the folder, including NUL */
    size_t suffix_capacity; /* part of it reserved for suffixes, including dots */
    bool others;            /* as in sl_suffixes */
    const char **folders; /* owned; folders of classes, by label; "" if a class has no folder of its
                             own. NULL: none */
    char **made_up;       /* owned; those that differ from their class's name */
    uint32_t folder_count, renamed_classes;
    bool labels_differ;
    sl_name_set taken;
    char last[SL_NAME_BYTES]; /* in tars: the last name used */
} sl_sample_names;

typedef struct sl_sample_name {
    char base[SL_NAME_BYTES]; /* a file's name is base + "." + suffix */
    char extension[8];        /* suffix of the sample's own image; "": determined by its bytes */
    bool renamed;             /* true if the sample has a key but another name */
} sl_sample_name;

/* A sample to be named. */
typedef struct sl_named {
    const char *key; /* "": none */
    uint64_t number;
    const sl_members *members;
} sl_named;

typedef struct sl_naming {
    const sl_dataset *dataset;
    sluice_unpack_form form;
    bool class_folders;  /* true if samples are in folders of their classes */
    bool others;         /* as in sl_suffixes */
    size_t folder_bytes; /* length of the output folder's path */
} sl_naming;

/* Errors: NOMEM, INVALID (the path is too long for any name). */
sluice_status sl_sample_names_open(sl_sample_names *names, const sl_naming *naming,
                                   sluice_error *error);
/* Releases `names`, which may be zeroed. */
void sl_sample_names_close(sl_sample_names *names);

void sl_sample_names_choose(const sl_sample_names *names, const sl_named *named,
                            sl_sample_name *name);
/* Marks the name as used. Errors: NOMEM. */
sluice_status sl_sample_names_take(sl_sample_names *names, const sl_named *named,
                                   const sl_sample_name *name, sluice_error *error);
/*
 * Begins another archive, whose names are separate, except that its first name must differ from the
 * previous sample's. Errors: NOMEM.
 */
sluice_status sl_sample_names_next_archive(sl_sample_names *names, sluice_error *error);

/* Writes the path of member `number` below the folder. */
void sl_sample_names_path(const sl_sample_name *name, const sl_members *members, uint32_t number,
                          char path[SL_NAME_BYTES]);

#endif
