/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quarantine: the list of bad samples that a run met.
 *
 * Purpose: one tab-separated line per bad sample and occurrence: epoch, sample, status, file,
 * offset, reason. Opened for appending, so that runs add up; each line is one write.
 * Threads: sl_quarantine_add from any thread (O_APPEND writes; no lock).
 */
#ifndef SL_QUARANTINE_H
#define SL_QUARANTINE_H

#include <sluice/common.h>

typedef struct sl_quarantine {
    int fd; /* -1: no list is kept */
} sl_quarantine;

/* `path` NULL: no list. Errors: IO. */
sluice_status sl_quarantine_open(sl_quarantine *quarantine, const char *path, sluice_error *error);
void sl_quarantine_add(sl_quarantine *quarantine, uint64_t epoch, const sluice_error *reason);
void sl_quarantine_close(sl_quarantine *quarantine);

#endif
