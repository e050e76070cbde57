/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voc_files: which annotation files of Pascal VOC's kind a path means, and where pictures are.
 *
 * Purpose: a path is the folder of a dataset (Annotations/ or annotations/ in it), a folder of
 * annotations itself, beside pictures or not, or a list in ImageSets: NAME.txt, in whose folder or
 * up to two above it Annotations/ is, of lines "2008_000002" or "2008_000002 1".
 * Memory: a path an annotation, and 8 bytes where lines have numbers. Threads: one owner.
 * Ownership: sl_voc_files_close.
 */
#ifndef SL_VOC_FILES_H
#define SL_VOC_FILES_H

#include "dataset.h"
#include "file_list.h"
#include "look.h"

typedef struct sl_voc_files {
    bool anywhere;              /* names may lead out of the folders */
    bool chosen;                /* a list names the files */
    char folder[SL_PATH_BYTES]; /* of the annotations */
    sl_file_list list;          /* each is `folder`, a slash, a name and ".xml", or absolute */
    int64_t *numbers;           /* of the lines of a list; NULL: they have none */
} sl_voc_files;

/* Looks at names, and at the beginnings of a few annotations. */
bool sl_voc_files_probe(sl_look *look);
/* Whether the annotation of a name, with or without an extension of pictures, is in the folder that
 * a list is of. */
bool sl_voc_files_list_has(const char *list, const char *name);
/* `files` is all zero, but for `anywhere`. Errors: IO, INVALID (none; a list names others than
 * those in the folder), CORRUPT (a list), NOMEM. */
sluice_status sl_voc_files_open(sl_voc_files *files, const char *path, sluice_error *error);
/* Lists all annotations of a folder; `files` is all zero, except for its folder. Errors: IO, NOMEM,
 * INVALID (none). */
sluice_status sl_voc_files_list_folder(sl_voc_files *files, const char *folder,
                                       sluice_error *error);
void sl_voc_files_close(sl_voc_files *files); /* of all zero is fine */

/* The name of an annotation: its path from `folder`, without ".xml". */
sl_bytes sl_voc_files_name(const sl_voc_files *files, uint32_t number);

/* Whether the list is one of pictures that are segmented: in a folder Segmentation, where there is
 * a folder of masks, `from` the folder of annotations. Errors: IO. */
sluice_status sl_voc_files_find_masks(const sl_voc_files *files, const char *list, const char *from,
                                      bool *found, sluice_error *error);
/* What the mask of an annotation is called there, from the folder of annotations; false: too long,
 * or the annotation is elsewhere. */
bool sl_voc_files_write_mask(const sl_voc_files *files, uint32_t number, const char *from,
                             char mask[SL_PATH_BYTES]);
/* Whether there is such a file. Errors: IO. */
sluice_status sl_voc_files_find_mask(const sl_voc_files *files, const char *mask, bool *found,
                                     sluice_error *error);

/* How many folders pictures are looked for in: from `folder`, ".", "../JPEGImages" and so on. */
#define SL_VOC_PLACES 6U
extern const char *const sl_voc_places[SL_VOC_PLACES];
/*
 * The picture of an annotation in that place, from there: its name with the extension that
 * `filename` has; else `filename`, if it stays there, or may be anywhere; else its name with
 * another extension of pictures. False: none of them is there; `picture` is what it should be
 * called.
 */
bool sl_voc_files_picture(const sl_voc_files *files, uint32_t number, const char *filename,
                          const char *place, char picture[SL_PATH_BYTES]);

#endif
