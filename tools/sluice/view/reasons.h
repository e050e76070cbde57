/* SPDX-License-Identifier: Apache-2.0 */
/* reasons: why rows are bad, from the loader's list (quarantine_path), which is in memory here.
 * One thread. */
#ifndef TOOL_REASONS_H
#define TOOL_REASONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reasons {
    int fd; /* -1: none are kept */
    char path[40];
    char *text;
};

struct reason {
    char status[24], file[512], text[512];
    int64_t offset; /* -1: does not apply */
};

/* Returns the path for the loader; NULL: no such list here. */
const char *reasons_begin(struct reasons *reasons);
void reasons_end(struct reasons *reasons);

/* Reads the list, once the loader is done. */
void reasons_read(struct reasons *reasons);
/* Finds a sample's reason. False: none is known. */
bool reasons_find(const struct reasons *reasons, int64_t sample, struct reason *reason);

#endif
