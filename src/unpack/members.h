/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members: converts a sample's values to the files that it is unpacked to; a job of prepare.h.
 *
 * Purpose: bytes are written unchanged, with frames and lists unpacked; raw pixels become a PNG,
 * tensors .npy files, numbers texts. The result does not depend on the thread. Its config is an
 * sl_members_config, its result an sl_members. Threads: those of prepare.h. Ownership: members
 * point into the sample's bytes and into `pieces`.
 */
#ifndef SL_MEMBERS_H
#define SL_MEMBERS_H

#include "npy_header.h"
#include "prepare.h"
#include "suffixes.h"

typedef struct sl_members_config {
    const sl_dataset *dataset;
    const sl_suffixes *suffixes;
} sl_members_config;

typedef struct sl_member {
    char suffix[SL_SUFFIX_BYTES];
    sl_bytes head, bytes; /* the contents: both, back to back */
} sl_member;

typedef struct sl_members {
    sl_member of[SL_FIELDS_MAX];
    uint32_t count;
    uint32_t picture; /* number of the member that gives the sample its name; SL_FIELD_NONE: none */
    bool is_file;     /* true if that member is the original file, not raw pixels */
    int64_t label;    /* value of the field "label", if it is an int; -1: none */
    uint64_t bytes;
    uint8_t *pieces[SL_FIELDS_MAX]; /* owned; per field */
    char heads[SL_FIELDS_MAX][SL_NPY_MADE_MAX];
} sl_members;

extern const sl_prepare_job sl_members_job;

#endif
