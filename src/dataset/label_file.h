/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_file: what is said of classes in a file of JSON.
 *
 * Purpose: a list of names, ["cat", "dog"], asks for these classes in this order; an object,
 * {"kitty": "cat", "background": null}, renames some (null: no class). Threads: pure. Ownership:
 * sl_label_file_close.
 */
#ifndef SL_LABEL_FILE_H
#define SL_LABEL_FILE_H

#include "class_union.h"

/* All zero: closed. */
typedef struct sl_label_file {
    struct sl_json_tree *tree; /* whose texts the names are */
    const char **names;        /* owned: what `labels` points to */
    const char **to;
    sl_class_request labels;
} sl_label_file;

/* Errors: INVALID (it says something else), IO, CORRUPT (no JSON), UNSUPPORTED (too large), NOMEM.
 * It is to be closed in any case. */
sluice_status sl_label_file_read(sl_label_file *file, const char *path, sluice_error *error);
void sl_label_file_close(sl_label_file *file);

#endif
