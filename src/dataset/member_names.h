/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member_names: interprets the names of an archive's members, or of unpacked files, as WebDataset
 * does.
 *
 * "dir.x/a.seg.png" is the part "seg.png" of the sample "dir.x/a": the key is everything up to the
 * first dot of the last component, the extension everything after it, in lower case. Members
 * without an extension, hidden ones, and those below a component like __this__ belong to no sample.
 * Threads: pure.
 */
#ifndef SL_MEMBER_NAMES_H
#define SL_MEMBER_NAMES_H

#include "value.h"

#include <stdbool.h>
#include <stddef.h>

#define SL_MEMBER_EXTENSION_BYTES SL_FIELD_NAME_BYTES

typedef enum sl_member_name {
    SL_MEMBER_NAME_NONE, /* belongs to no sample */
    SL_MEMBER_NAME_GOOD,
    SL_MEMBER_NAME_LONG /* its extension has more than SL_MEMBER_EXTENSION_BYTES - 1 bytes */
} sl_member_name;

typedef struct sl_member_part {
    size_t key_bytes; /* length of the key at the beginning of the name */
    char extension[SL_MEMBER_EXTENSION_BYTES];
} sl_member_part;

sl_member_name sl_member_split(const char *name, sl_member_part *part);
/* Returns whether a name is below a component like __this__. */
bool sl_member_is_meta(const char *name);

/* Returns the usual field type of an extension. */
sluice_field_type sl_member_type(const char *extension);
/* Returns whether the whole extension is an image's: "jpg", not "seg.jpg". */
bool sl_member_is_picture(const char *extension);

#endif
