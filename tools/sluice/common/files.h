/* SPDX-License-Identifier: Apache-2.0 */
/* files: files that appear whole or not at all, and folders. Any thread. */
#ifndef TOOL_FILES_H
#define TOOL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Writes `path`, or its link target. A regular file is written beside it and renamed, so that it
 * appears whole or not at all; another kind (a device, a FIFO) is written to in place. False with
 * errno set.
 */
bool files_write(const char *path, const void *bytes, size_t size);

/* Returns whether `path` could be written now, for a check before long work; changes nothing.
 * False with errno set. */
bool files_can_write(const char *path);

/* Creates a folder and the folders above it, unless they exist. False with errno set. */
bool files_make_folder(const char *path);

/* Returns whether `path` does not exist or is an empty folder. False with errno set. */
bool files_is_free(const char *path);

/* Returns a file's size, or -1 with errno set. */
int64_t files_size(const char *path);

#endif
