/* SPDX-License-Identifier: Apache-2.0 */
/*
 * photo_folder: small image folders for tests, made in a temporary directory.
 *
 * Sample i (in the folder's order) is a JPEG whose colours and size depend on i: no two are the
 * same. Functions abort on failure, including a failure to write the files.
 */
#ifndef SL_PHOTO_FOLDER_H
#define SL_PHOTO_FOLDER_H

#include <stdint.h>

typedef struct photo_folder {
    char path[256];
    uint32_t classes, per_class;
} photo_folder;

/* Makes classes x per_class photos: path/c00/p0000.jpg ... */
void photo_folder_make(photo_folder *folder, uint32_t classes, uint32_t per_class);
/* Writes the path of sample `index`. */
void photo_folder_file(const photo_folder *folder, uint32_t index, char *path, uint32_t bytes);
/* Removes the folder and everything in it. */
void photo_folder_remove(photo_folder *folder);

/* Makes an empty temporary directory; removes one with all its contents. */
void temporary_directory(char *path, uint32_t bytes);
void remove_tree(const char *path);
/* Replaces a file's contents. */
void write_file(const char *path, const void *data, uint32_t bytes);

#endif
