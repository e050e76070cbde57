/* SPDX-License-Identifier: Apache-2.0 */
/* written: files that a command leaves, with what goes wrong reported. Main thread. */
#ifndef TOOL_WRITTEN_H
#define TOOL_WRITTEN_H

#include <stdbool.h>
#include <stdio.h>

/* Whether `path` (NULL: nothing is to be written) could be; else reported. */
bool written_can(const char *path);
/* NULL: reported. */
FILE *written_open(const char *path);
/* Whether all of it is in the file; else reported. */
bool written_close(FILE *stream, const char *path);

#endif
