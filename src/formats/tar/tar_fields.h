/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_fields: the fields of samples in archives, and values from members.
 *
 * Purpose: a field for each extension that there is, called by it: "txt", "json", "seg.png". Two
 * are called as everywhere: where no sample has two pictures, those of jpg, jpeg, png, webp and so
 * on are the field "image"; cls is "label". The key is the text "key".
 * Threads: built once, then immutable; values from any thread, without allocating.
 */
#ifndef SL_TAR_FIELDS_H
#define SL_TAR_FIELDS_H

#include "error.h"
#include "tar_index.h"

typedef struct sl_tar_fields {
    uint32_t count;
    sl_field fields[SL_FIELDS_MAX];
    uint32_t extension_count;
    struct {
        char name[SL_TAR_EXTENSION_BYTES];
        uint32_t field;
    } extensions[SL_FIELDS_MAX];
    uint32_t key; /* the field */
} sl_tar_fields;

/* Over all extensions of `count` indexes. Errors: UNSUPPORTED (too many, or two of one name). */
sluice_status sl_tar_fields_make(sl_tar_fields *fields, const sl_file_index *const *indexes,
                                 uint32_t count, sluice_error *error);

/* Takes a sample's bytes apart: `bytes` begin with its first member. */
sl_refusal sl_tar_fields_unpack(const sl_tar_fields *fields, sl_bytes bytes, sl_values *values);

#endif
