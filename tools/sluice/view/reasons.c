/* SPDX-License-Identifier: Apache-2.0 */
#include "reasons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const char *reasons_begin(struct reasons *reasons)
{
    *reasons = (struct reasons){.fd = memfd_create("sluice-reasons", MFD_CLOEXEC)};
    snprintf(reasons->path, sizeof reasons->path, "/proc/self/fd/%d", reasons->fd);
    if (reasons->fd < 0 || access(reasons->path, W_OK) != 0) {
        return NULL;
    }
    return reasons->path;
}

void reasons_end(struct reasons *reasons)
{
    if (reasons->fd >= 0) {
        close(reasons->fd);
    }
    free(reasons->text);
    *reasons = (struct reasons){.fd = -1};
}

void reasons_read(struct reasons *reasons)
{
    struct stat status;
    if (reasons->fd < 0 || fstat(reasons->fd, &status) != 0) {
        return;
    }
    const size_t size = (size_t)status.st_size;
    reasons->text = malloc(size + 1);
    if (reasons->text != NULL) {
        const ssize_t got = pread(reasons->fd, reasons->text, size, 0);
        reasons->text[got > 0 ? got : 0] = '\0';
    }
}

/* Copies the text up to the next tab or the line's end, and moves after it. */
static void take(const char **at, char *field, size_t bytes)
{
    const size_t length = strcspn(*at, "\t\n");
    snprintf(field, bytes, "%.*s", (int)length, *at);
    *at += length + ((*at)[length] == '\t');
}

/* Parses epoch, sample, status, file, offset, text, separated by tabs. */
static int64_t parse(const char *line, struct reason *reason)
{
    char epoch[24];
    char sample[24];
    char offset[24];
    take(&line, epoch, sizeof epoch);
    take(&line, sample, sizeof sample);
    take(&line, reason->status, sizeof reason->status);
    take(&line, reason->file, sizeof reason->file);
    take(&line, offset, sizeof offset);
    take(&line, reason->text, sizeof reason->text);
    reason->offset = strtoll(offset, NULL, 10);
    return strtoll(sample, NULL, 10);
}

bool reasons_find(const struct reasons *reasons, int64_t sample, struct reason *reason)
{
    const char *line = reasons->text;
    while (line != NULL && *line != '\0') {
        if (parse(line, reason) == sample) {
            return true;
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return false;
}
