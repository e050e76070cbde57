/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member_fields: the fields of samples that are files with the same base name, as in WebDataset.
 *
 * Purpose: each extension is a field with its name: "txt", "json", "seg.png". Two have standard
 * names: if no sample has two images, those of jpg, jpeg, png, webp and so on are the field
 * "image"; cls is "label". The key is the text "key". Threads: built once, then immutable; values
 * from any thread, without allocating.
 */
#ifndef SL_MEMBER_FIELDS_H
#define SL_MEMBER_FIELDS_H

#include "file_index.h"
#include "member_names.h"

/* Flag in an index's facts: a sample has several members that are images by their names. */
enum { SL_MEMBER_TWO_PICTURES = 1 };

typedef struct sl_member_fields {
    uint32_t count;
    sl_field fields[SL_FIELDS_MAX];
    uint32_t extension_count;
    struct {
        char name[SL_MEMBER_EXTENSION_BYTES];
        uint32_t field;
    } extensions[SL_FIELDS_MAX];
    uint32_t key; /* number of the key field */
} sl_member_fields;

/*
 * Makes fields of all extensions, which are the names in `count` indexes. Errors: UNSUPPORTED (too
 * many, or two with one name).
 */
sluice_status sl_member_fields_make(sl_member_fields *fields, const sl_file_index *indexes,
                                    uint32_t count, sluice_error *error);
/* Returns the field of a lower-case extension; SL_FIELD_NONE. */
uint32_t sl_member_fields_find(const sl_member_fields *fields, const char *extension);
/* Completes a value whose bytes are set. False: it must be a whole number, and is not. */
bool sl_member_fields_read(const sl_member_fields *fields, uint32_t field, sl_value *value);

#endif
