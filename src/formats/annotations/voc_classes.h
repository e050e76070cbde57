/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voc_classes: collects and numbers the classes in Pascal VOC annotations.
 *
 * Purpose: a class has the same number in every list of a folder, so all annotations of the folder
 * count, not only those of the opened list. Threads: any may number a name; all else is one
 * owner's. Ownership: sl_voc_classes_close.
 */
#ifndef SL_VOC_CLASSES_H
#define SL_VOC_CLASSES_H

#include "listed.h"
#include "thread.h"
#include "voc_files.h"

typedef struct sl_voc_classes {
    pthread_mutex_t mutex; /* guards `names`, `unreadable` and `example` while files are read */
    json_t *names;         /* an object: the number of each name, in order of appearance */
    int64_t *labels;       /* label of each of these numbers */
    uint32_t unreadable;   /* number of unreadable annotations that no list names */
    char example[SL_PATH_BYTES];
} sl_voc_classes;

/* `classes` is zeroed. Errors: NOMEM; close it in any case. */
sluice_status sl_voc_classes_open(sl_voc_classes *classes, sluice_error *error);
void sl_voc_classes_close(sl_voc_classes *classes);
/* Returns the number of a name, in order of appearance. UINT32_MAX: no memory. */
uint32_t sl_voc_classes_number(sl_voc_classes *classes, const char *name);
/*
 * Numbers the names in all annotations of the folder that are not in the list of `files`, and
 * counts the unreadable ones. Errors: IO, NOMEM.
 */
sluice_status sl_voc_classes_add_others(sl_voc_classes *classes, const sl_voc_files *files,
                                        sluice_error *error);
/*
 * Makes the list of classes once all names are numbered: VOC's 20 if no other name occurs, else the
 * names in code point order. Errors: UNSUPPORTED (too many; names the dataset's `path`), NOMEM.
 */
sluice_status sl_voc_classes_finish(sl_voc_classes *classes, const char *path, sl_listed *own,
                                    sluice_error *error);

#endif
