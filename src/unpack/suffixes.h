/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suffixes: what the files of a sample's fields are called behind the sample's name.
 *
 * Purpose: the mapping of docs/formats/reading.md, "Unpack": NAME.SUFFIX, such that the fields of a
 * tar are read back as what they were where that is possible (dataset/member_names.h is the rule
 * that reads them), and no two fields of a dataset can have one file. Threads: made once, then
 * pure.
 */
#ifndef SL_SUFFIXES_H
#define SL_SUFFIXES_H

#include "dataset.h"

#include <sluice/unpack.h>

#define SL_SUFFIX_BYTES SL_FIELD_NAME_BYTES /* with its NUL: what a tar's reader takes */

typedef struct sl_suffixes {
    /* Of pictures: without what their bytes are called by, "" for that of the sample itself. */
    char of[SL_FIELDS_MAX][SL_SUFFIX_BYTES];
    uint64_t
        left_out; /* set of fields that no file is made of: the key, a label that has a folder */
    uint32_t picture; /* whose file has nothing but the extension; SL_FIELD_NONE */
    bool others;      /* there are files besides that */
} sl_suffixes;

/* `class_folders`: samples are in folders of their classes. */
void sl_suffixes_make(sl_suffixes *suffixes, const sl_dataset *dataset, sluice_unpack_form form,
                      bool class_folders);
/*
 * The suffix of a picture's file; `extension` is what its bytes are called by: "jpg", ... A field
 * called by that already ("seg.jpg") has no second one.
 */
void sl_suffix_of_picture(const sl_suffixes *suffixes, uint32_t field, const char *extension,
                          char suffix[SL_SUFFIX_BYTES]);
/* The field whose picture is the sample's: "image"; in folders else the first one. */
uint32_t sl_suffixes_find_picture(const sl_dataset *dataset, sluice_unpack_form form);

#endif
