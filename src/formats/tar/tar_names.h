/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_names: what the names of an archive's members mean, as WebDataset has it.
 *
 * "dir.x/a.seg.png" is the part "seg.png" of the sample "dir.x/a": the key is all up to the first
 * dot of the last component, the extension all behind it, in small letters. Members without one,
 * hidden ones, and those below a component like __this__ belong to no sample.
 * Threads: pure.
 */
#ifndef SL_TAR_NAMES_H
#define SL_TAR_NAMES_H

#include "value.h"

#include <stdbool.h>
#include <stddef.h>

#define SL_TAR_EXTENSION_BYTES SL_FIELD_NAME_BYTES

typedef enum sl_tar_name {
    SL_TAR_NAME_NONE, /* of no sample */
    SL_TAR_NAME_GOOD,
    SL_TAR_NAME_LONG /* its extension has more than SL_TAR_EXTENSION_BYTES - 1 bytes */
} sl_tar_name;

typedef struct sl_tar_part {
    size_t key_bytes; /* the name begins with so many bytes of key */
    char extension[SL_TAR_EXTENSION_BYTES];
} sl_tar_part;

sl_tar_name sl_tar_split(const char *name, sl_tar_part *part);

/* What is to be expected behind an extension. */
sluice_field_type sl_tar_type(const char *extension);
/* Whether it is all of a picture's extension: "jpg", not "seg.jpg". */
bool sl_tar_is_picture(const char *extension);

#endif
