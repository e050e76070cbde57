/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_file: reads a request for classes from a JSON file.
 *
 * Purpose: a list of names, ["cat", "dog"], requests these classes in this order; an object,
 * {"kitty": "cat", "background": null}, renames some (null: no class). Threads: pure. Ownership:
 * sl_label_file_close.
 */
#ifndef SL_LABEL_FILE_H
#define SL_LABEL_FILE_H

#include "class_union.h"

/* Zeroed: closed. */
typedef struct sl_label_file {
    struct sl_json_tree *tree; /* owns the texts of the names */
    const char **names;        /* owned arrays that `labels` points to */
    const char **to;
    sl_class_request labels;
} sl_label_file;

/*
 * Reads a file. Errors: INVALID (other contents), IO, CORRUPT (invalid JSON), UNSUPPORTED (too
 * large), NOMEM. Close `file` in any case.
 */
sluice_status sl_label_file_read(sl_label_file *file, const char *path, sluice_error *error);
void sl_label_file_close(sl_label_file *file);

#endif
