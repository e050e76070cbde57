/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member_fields: the fields of samples that are files called alike, as WebDataset has them.
 *
 * Purpose: a field for each extension that there is, called by it: "txt", "json", "seg.png". Two
 * are called as everywhere: where no sample has two pictures, those of jpg, jpeg, png, webp and so
 * on are the field "image"; cls is "label". The key is the text "key".
 * Threads: built once, then immutable; values from any thread, without allocating.
 */
#ifndef SL_MEMBER_FIELDS_H
#define SL_MEMBER_FIELDS_H

#include "file_index.h"
#include "member_names.h"

/* In an index's facts: a sample has several members that are pictures by their names. */
enum { SL_MEMBER_TWO_PICTURES = 1 };

typedef struct sl_member_fields {
    uint32_t count;
    sl_field fields[SL_FIELDS_MAX];
    uint32_t extension_count;
    struct {
        char name[SL_MEMBER_EXTENSION_BYTES];
        uint32_t field;
    } extensions[SL_FIELDS_MAX];
    uint32_t key; /* the field */
} sl_member_fields;

/* Over all extensions, which are the names of `count` indexes. Errors: UNSUPPORTED (too many, or
 * two of one name). */
sluice_status sl_member_fields_make(sl_member_fields *fields, const sl_file_index *indexes,
                                    uint32_t count, sluice_error *error);
/* The field of an extension in small letters; SL_FIELD_NONE. */
uint32_t sl_member_fields_find(const sl_member_fields *fields, const char *extension);
/* Completes a value that has its bytes. False: it is to be a whole number, and is none. */
bool sl_member_fields_read(const sl_member_fields *fields, uint32_t field, sl_value *value);

#endif
