/* SPDX-License-Identifier: Apache-2.0 */
/* output_file: files that a command writes, with errors reported. Main thread. */
#ifndef TOOL_OUTPUT_FILE_H
#define TOOL_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Returns whether `path` is writable (NULL: no file is written); else reported. */
bool output_file_is_writable(const char *path);
/* Opens a file. NULL: reported. */
FILE *output_file_open(const char *path);
/* Closes the file. Returns whether everything was written; else reported. */
bool output_file_close(FILE *stream, const char *path);

#endif
