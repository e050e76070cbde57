/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reasons: why rows are bad, from the list that a loader keeps of them (quarantine_path), which
 * is in memory here. One thread.
 */
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

/* What the loader is to be given; NULL: there is no such list here. */
const char *reasons_begin(struct reasons *reasons);
void reasons_end(struct reasons *reasons);

/* The loader is done: the list is read. */
void reasons_read(struct reasons *reasons);
/* False: nothing is known of the sample. */
bool reasons_find(const struct reasons *reasons, int64_t sample, struct reason *reason);

#endif
