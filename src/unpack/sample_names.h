/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_names: what the files of a sample are called.
 *
 * Purpose: a sample's name is its key, if that is a safe name which is not taken; else its number.
 * Safe: a relative path of at most 32 components, none empty, hidden ("." and ".." among those), or
 * with control characters or backslashes, that leaves space for suffixes; in a tar nothing,
 * besides, that its readers take for something else. A picture's extension in a key is that of its
 * file. So no name leads out of the folder that files are made in, and no file is written twice,
 * whatever keys and class names say. Threads: one owner; samples in order. Memory: 8 to 21 bytes a
 * file in folders; of an archive's samples in tars.
 */
#ifndef SL_SAMPLE_NAMES_H
#define SL_SAMPLE_NAMES_H

#include "members.h"
#include "name_set.h"

#define SL_NAME_BYTES 4096 /* of a path, with its NUL */

typedef struct sl_sample_names {
    sluice_unpack_form form;
    const sl_dataset *dataset;
    size_t capacity;        /* bytes of a whole path below the folder, with its NUL */
    size_t suffix_capacity; /* bytes of it that are for suffixes, dots included */
    bool others;            /* of sl_suffixes */
    const char **folders; /* owned: of classes, by label; "" for no folder of its own. NULL: none */
    char **made_up;       /* owned: those that are not called like their class */
    uint32_t folder_count, renamed_classes;
    bool labels_differ;
    sl_name_set taken;
    char last[SL_NAME_BYTES]; /* in tars: that was given away last */
} sl_sample_names;

typedef struct sl_sample_name {
    char base[SL_NAME_BYTES]; /* a file is base + "." + suffix */
    char extension[8];        /* the suffix of the sample's own picture; "": what its bytes say */
    bool renamed;             /* there is a key, and it is called otherwise */
} sl_sample_name;

/* What is to be called. */
typedef struct sl_named {
    const char *key; /* "": none */
    uint64_t number;
    const sl_members *members;
} sl_named;

typedef struct sl_naming {
    const sl_dataset *dataset;
    sluice_unpack_form form;
    bool class_folders;  /* samples are in folders of their classes */
    bool others;         /* of sl_suffixes */
    size_t folder_bytes; /* length of the path of the folder that all will are in */
} sl_naming;

/* Errors: NOMEM, INVALID (a path too long for anything). */
sluice_status sl_sample_names_open(sl_sample_names *names, const sl_naming *naming,
                                   sluice_error *error);
/* A zeroed one may be closed. */
void sl_sample_names_close(sl_sample_names *names);

void sl_sample_names_choose(const sl_sample_names *names, const sl_named *named,
                            sl_sample_name *name);
/* The name is given away. Errors: NOMEM. */
sluice_status sl_sample_names_take(sl_sample_names *names, const sl_named *named,
                                   const sl_sample_name *name, sluice_error *error);
/* Another archive begins: its names are its own, but for the first, which must not be that of the
 * sample before it. Errors: NOMEM. */
sluice_status sl_sample_names_next_archive(sl_sample_names *names, sluice_error *error);

/* The path of member `number` below the folder. */
void sl_sample_names_path(const sl_sample_name *name, const sl_members *members, uint32_t number,
                          char path[SL_NAME_BYTES]);

#endif
