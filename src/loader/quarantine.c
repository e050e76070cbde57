/* SPDX-License-Identifier: Apache-2.0 */
#include "quarantine.h"

#include "error.h"
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

sluice_status sl_quarantine_open(sl_quarantine *quarantine, const char *path, sluice_error *error)
{
    quarantine->fd = -1;
    if (path == NULL) {
        return SLUICE_OK;
    }
    /* O_NONBLOCK: a FIFO without a reader is an error, and not waited for. Nor is one whose reader
     * stops: a run does not wait for the list of its bad samples. */
    const int fd =
        open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd < 0) {
        return sl_error_file(error, SLUICE_IO, "loader", errno, path, -1,
                             "cannot open the quarantine list");
    }
    quarantine->fd = fd;
    return SLUICE_OK;
}

/* A file name or message may hold anything; the list has one line per sample. */
static void flatten(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\t' || *text == '\n' || *text == '\r') {
            *text = ' ';
        }
    }
}

void sl_quarantine_add(sl_quarantine *quarantine, uint64_t epoch, const sluice_error *reason)
{
    if (quarantine->fd < 0) {
        return;
    }
    sluice_error flat = *reason;
    flatten(flat.file);
    flatten(flat.text);
    char line[2048];
    const int length = snprintf(
        line, sizeof(line), "%" PRIu64 "\t%" PRId64 "\t%s\t%s\t%" PRId64 "\t%s\n", epoch,
        flat.sample, sl_status_name((sluice_status)flat.status), flat.file, flat.offset, flat.text);
    if (length > 0) {
        /* A full disk must not end the run: the sample is counted in the statistics too. */
        const ssize_t written = write(quarantine->fd, line, (size_t)length);
        (void)written;
    }
}

void sl_quarantine_close(sl_quarantine *quarantine)
{
    if (quarantine->fd >= 0) {
        close(quarantine->fd);
        quarantine->fd = -1;
    }
}
