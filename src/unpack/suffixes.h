/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suffixes: chooses the suffixes of a sample's files.
 *
 * Purpose: implements "Unpack" of docs/formats/reading.md: NAME.SUFFIX. Tar fields are read back
 * as what they were where possible (by the rules of dataset/member_names.h), and no two fields of a
 * dataset share a file. Threads: made once, then pure.
 */
#ifndef SL_SUFFIXES_H
#define SL_SUFFIXES_H

#include "dataset.h"

#include <sluice/unpack.h>

#define SL_SUFFIX_BYTES SL_FIELD_NAME_BYTES /* including NUL: the limit of a tar's reader */

typedef struct sl_suffixes {
    /* For images: without the extension of their bytes; "" for the sample's own image. */
    char of[SL_FIELDS_MAX][SL_SUFFIX_BYTES];
    uint64_t left_out; /* set of fields without a file: the key, a label that has a folder */
    uint32_t picture;  /* field whose file has only the extension; SL_FIELD_NONE */
    bool others;       /* true if there are other files */
} sl_suffixes;

/* Chooses the suffixes. `class_folders`: samples are in folders of their classes. */
void sl_suffixes_make(sl_suffixes *suffixes, const sl_dataset *dataset, sluice_unpack_form form,
                      bool class_folders);
/*
 * Writes the suffix of an image's file; `extension` is that of its bytes: "jpg", ... A field name
 * that already ends in it ("seg.jpg") does not get it twice.
 */
void sl_suffix_of_picture(const sl_suffixes *suffixes, uint32_t field, const char *extension,
                          char suffix[SL_SUFFIX_BYTES]);
/* Returns the field of the sample's own image: "image"; in folders, otherwise the first image. */
uint32_t sl_suffixes_find_picture(const sl_dataset *dataset, sluice_unpack_form form);

#endif
