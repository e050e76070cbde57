/* SPDX-License-Identifier: Apache-2.0 */
/* output_file: files that a command leaves, with what goes wrong reported. Main thread. */
#ifndef TOOL_OUTPUT_FILE_H
#define TOOL_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Whether `path` (NULL: nothing is to be written) could be; else reported. */
bool output_file_is_writable(const char *path);
/* NULL: reported. */
FILE *output_file_open(const char *path);
/* Whether all of it is in the file; else reported. */
bool output_file_close(FILE *stream, const char *path);

#endif
