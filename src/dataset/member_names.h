/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member_names: what the names of an archive's members, or of files that were unpacked, mean, as
 * WebDataset has it.
 *
 * "dir.x/a.seg.png" is the part "seg.png" of the sample "dir.x/a": the key is all up to the first
 * dot of the last component, the extension all behind it, in small letters. Members without one,
 * hidden ones, and those below a component like __this__ belong to no sample.
 * Threads: pure.
 */
#ifndef SL_MEMBER_NAMES_H
#define SL_MEMBER_NAMES_H

#include "value.h"

#include <stdbool.h>
#include <stddef.h>

#define SL_MEMBER_EXTENSION_BYTES SL_FIELD_NAME_BYTES

typedef enum sl_member_name {
    SL_MEMBER_NAME_NONE, /* of no sample */
    SL_MEMBER_NAME_GOOD,
    SL_MEMBER_NAME_LONG /* its extension has more than SL_MEMBER_EXTENSION_BYTES - 1 bytes */
} sl_member_name;

typedef struct sl_member_part {
    size_t key_bytes; /* the name begins with that many bytes of key */
    char extension[SL_MEMBER_EXTENSION_BYTES];
} sl_member_part;

sl_member_name sl_member_split(const char *name, sl_member_part *part);
/* Whether it is below a component like __this__. */
bool sl_member_is_meta(const char *name);

/* What is to be expected behind an extension. */
sluice_field_type sl_member_type(const char *extension);
/* Whether it is all of a picture's extension: "jpg", not "seg.jpg". */
bool sl_member_is_picture(const char *extension);

#endif
