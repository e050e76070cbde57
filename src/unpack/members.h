/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members: a sample's values as the files that it is unpacked to; a job of prepare.h.
 *
 * Purpose: bytes go as they are, frames and lists unpacked; raw pixels become a PNG, tensors .npy
 * files, numbers texts. What is written in the end is the same whoever makes it. Its config is an
 * sl_members_config, what it makes an sl_members. Threads: those of prepare.h.
 * Ownership: members point into the sample's bytes and into `pieces`.
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
    sl_bytes head, bytes; /* both are its contents, one behind the other */
} sl_member;

typedef struct sl_members {
    sl_member of[SL_FIELDS_MAX];
    uint32_t count;
    uint32_t picture; /* the one that the sample is called like, SL_FIELD_NONE: it has none */
    bool is_file;     /* that one is as it was: not raw pixels */
    int64_t label;    /* of the field "label", if it is an int; -1: none */
    uint64_t bytes;
    uint8_t *pieces[SL_FIELDS_MAX]; /* owned: of fields */
    char heads[SL_FIELDS_MAX][SL_NPY_MADE_MAX];
} sl_members;

extern const sl_prepare_job sl_members_job;

#endif
