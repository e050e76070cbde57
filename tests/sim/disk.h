/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk: the files that datasets of the simulation are in, and what goes wrong with them.
 *
 * Purpose: a store (src/io/store.h) of files in memory, whose addresses begin with "sim:". What it
 * does takes time of the world (world.h), and fails as sim_disk_how says. What can be mended by
 * trying again is limited to what the library tries (retry.h): it never makes a sample bad.
 * Threads: fibers.
 */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "draw.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_SCHEME "sim:"

/* Bytes that cannot be read, ever. */
typedef struct sim_dead {
    const char *path;
    uint64_t begin, end;
    int sys_errno;
} sim_dead;

enum { SIM_DEAD_MAX = 64 };

typedef struct sim_disk_how {
    uint64_t delay_ns;                 /* of a read, at most */
    uint64_t open_ns;                  /* of an open, at most */
    uint32_t short_permille;           /* reads that get less than there is */
    uint32_t moment_permille, moments; /* fail with EAGAIN, EINTR, EBUSY; so many at most */
    uint32_t device_permille, devices; /* fail with EIO, ESTALE, ETIMEDOUT */
    uint32_t hang_permille, hangs;     /* come back after `hang_ns` */
    uint64_t hang_ns;
    bool refuses_direct;
    uint32_t dead_count;
    const sim_dead *dead;
} sim_disk_how;

/* Copies all files of a folder of this machine to SIM_SCHEME/NAME. */
void sim_disk_load(const char *folder, const char *name);
/* From now on. */
void sim_disk_set(const sim_disk_how *how);
/* The bytes of a file, to spoil them and to mend them. */
uint8_t *sim_disk_bytes(const char *path, uint64_t *bytes);
/* Reads that hung since sim_disk_set. */
uint32_t sim_disk_hung(void);
/* Objects that are open. */
uint32_t sim_disk_handles(void);

#endif
