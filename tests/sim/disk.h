/* SPDX-License-Identifier: Apache-2.0 */
/* disk: the files of the simulated datasets, and their faults.
 *
 * Purpose: a store (src/io/store.h) of files in memory, with addresses that begin with "sim:". Its
 * operations take simulated time (world.h) and fail as sim_disk_how describes. Transient faults are
 * limited to the library's number of retries (retry.h): they never make a sample bad. Threads:
 * fibers. */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "draw.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_SCHEME "sim:"

/* A byte range that can never be read. */
typedef struct sim_dead {
    const char *path;
    uint64_t begin, end;
    int sys_errno;
} sim_dead;

enum { SIM_DEAD_MAX = 64 };

typedef struct sim_disk_how {
    uint64_t delay_ns;                 /* longest read */
    uint64_t open_ns;                  /* longest open */
    uint32_t short_permille;           /* reads that return too few bytes */
    uint32_t moment_permille, moments; /* fail with EAGAIN, EINTR, EBUSY; maximum number */
    uint32_t device_permille, devices; /* fail with EIO, ESTALE, ETIMEDOUT */
    uint32_t hang_permille, hangs;     /* return after `hang_ns` */
    uint64_t hang_ns;
    bool refuses_direct;
    uint32_t dead_count;
    const sim_dead *dead;
} sim_disk_how;

/* Copies all files of a real folder to SIM_SCHEME/NAME. */
void sim_disk_load(const char *folder, const char *name);
/* Sets the faults from now on. */
void sim_disk_set(const sim_disk_how *how);
/* Returns the bytes of a file, to damage or restore them. */
uint8_t *sim_disk_bytes(const char *path, uint64_t *bytes);
/* Returns the number of reads that hung since sim_disk_set. */
uint32_t sim_disk_hung(void);
/* Returns the number of open objects. */
uint32_t sim_disk_handles(void);

#endif
