/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voc_files: finds the annotation files of a Pascal VOC path, and their images.
 *
 * Purpose: a path is the folder of a dataset (with Annotations/ or annotations/ in it), a folder of
 * annotations with or without images beside it, or a list in ImageSets: NAME.txt with lines
 * "2008_000002" or "2008_000002 1". Annotations/ is then in the list's folder, or up to two folders
 * above. Memory: a path per annotation, and 8 bytes if lines have numbers. Threads: one owner.
 * Ownership: sl_voc_files_close.
 */
#ifndef SL_VOC_FILES_H
#define SL_VOC_FILES_H

#include "dataset.h"
#include "file_list.h"
#include "look.h"

typedef struct sl_voc_files {
    bool anywhere;              /* true if names may lead out of the folders */
    bool chosen;                /* true if a list names the files */
    char folder[SL_PATH_BYTES]; /* folder of the annotations */
    sl_file_list list;          /* each path is absolute, or `folder`, a slash, a name and ".xml" */
    int64_t *numbers;           /* numbers in the lines of a list; NULL: none */
} sl_voc_files;

/* Looks at names and at the beginnings of a few annotations. */
bool sl_voc_files_probe(sl_look *look);
/*
 * Returns whether an annotation, given with or without an image extension, exists in the folder
 * that a list belongs to.
 */
bool sl_voc_files_list_has(const char *list, const char *name);
/*
 * `files` is zeroed, except for `anywhere`. Errors: IO, INVALID (no annotations; a list names files
 * outside the folder), CORRUPT (a list), NOMEM.
 */
sluice_status sl_voc_files_open(sl_voc_files *files, const char *path, sluice_error *error);
/*
 * Lists all annotations of a folder; `files` is zeroed, except for its folder. Errors: IO, NOMEM,
 * INVALID (none).
 */
sluice_status sl_voc_files_list_folder(sl_voc_files *files, const char *folder,
                                       sluice_error *error);
void sl_voc_files_close(sl_voc_files *files); /* `files` may be zeroed */

/* Returns the name of an annotation: its path relative to `folder`, without ".xml". */
sl_bytes sl_voc_files_name(const sl_voc_files *files, uint32_t number);

/*
 * Sets `*found` if a list is one of segmented images: it is in a folder named Segmentation, and a
 * folder of masks exists; `from`: the folder of annotations. Errors: IO.
 */
sluice_status sl_voc_files_find_masks(const sl_voc_files *files, const char *list, const char *from,
                                      bool *found, sluice_error *error);
/*
 * Writes the path of an annotation's mask, relative to the folder of annotations; false: too long,
 * or the annotation is elsewhere.
 */
bool sl_voc_files_write_mask(const sl_voc_files *files, uint32_t number, const char *from,
                             char mask[SL_PATH_BYTES]);
/* Checks whether the mask exists. Errors: IO. */
sluice_status sl_voc_files_find_mask(const sl_voc_files *files, const char *mask, bool *found,
                                     sluice_error *error);

/* Number of folders searched for images: relative to `folder`, ".", "../JPEGImages" and so on. */
#define SL_VOC_PLACES 6U
extern const char *const sl_voc_places[SL_VOC_PLACES];
/*
 * Finds the image of an annotation in a place, and writes its path relative to the place. Tries the
 * annotation's name with the extension of `filename`; then `filename`, if it stays in the place or
 * may be anywhere; then the name with other image extensions. False: none exists; `picture` is then
 * the expected name.
 */
bool sl_voc_files_picture(const sl_voc_files *files, uint32_t number, const char *filename,
                          const char *place, char picture[SL_PATH_BYTES]);

#endif
