/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup: the limits of this process's control groups (v1, v2 or both).
 *
 * Purpose: inside a container the machine's own numbers are too large. Every level from the
 * process' group up to the mount point counts; the tightest wins. Threads: any.
 */
#ifndef SL_CGROUP_H
#define SL_CGROUP_H

#include <stdint.h>

typedef struct sl_cgroup {
    /* UINT64_MAX: no limit */
    uint64_t memory_limit; /* bytes */
    uint64_t memory_left;  /* bytes; droppable page cache counts as left */
    uint64_t cpus;         /* quota / period, rounded up, >= 1 */
} sl_cgroup;

/* Reads the limits from /proc/self/cgroup and /proc/self/mountinfo, or a test's files. */
sl_cgroup sl_cgroup_read(const char *cgroup_file, const char *mountinfo_file);

#endif
