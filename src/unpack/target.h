/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target: the output folder of an unpack, which appears whole or not at all.
 *
 * Purpose: everything is in PATH.part, beside PATH, until it is complete and synced; then it is
 * renamed. A hidden file in both, SL_TARGET_MARK, identifies folders of unpack. Only those are ever
 * removed: an unfinished one by the next unpack, a complete one when it is replaced. Lock: an
 * advisory one on PATH.part while it is open. Threads: one owner. Forks: a child of the process
 * that opened it neither renames nor removes anything.
 */
#ifndef SL_TARGET_H
#define SL_TARGET_H

#include "dataset.h"

#include <stdbool.h>
#include <stdint.h>

#define SL_TARGET_MARK       ".sluice-unpack"
#define SL_TARGET_PATH_BYTES 4096

typedef struct sl_target {
    int fd;         /* of PATH.part; -1: closed */
    uint64_t forks; /* sl_fork_count of the process that opened it */
    bool replaces;  /* true if a PATH with a mark exists */
    char path[SL_TARGET_PATH_BYTES];
    char part[SL_TARGET_PATH_BYTES];
} sl_target;

/*
 * Creates PATH.part, empty except for the mark. Errors: STATE (PATH has contents that may not be
 * replaced, or another process uses it); INVALID (`dataset` is in it, or would gain samples from
 * the output; PATH cannot be a new folder); IO.
 */
sluice_status sl_target_open(sl_target *target, const char *path, bool overwrite,
                             const sl_dataset *dataset, sluice_error *error);
/* false in a forked child */
bool sl_target_is_ours(const sl_target *target);
/* Syncs the contents and renames the folder. Errors: IO, STATE. */
sluice_status sl_target_finish(sl_target *target, sluice_error *error);
/* Removes an unfinished folder. A closed target, fd -1, may be closed. */
void sl_target_close(sl_target *target);

#endif
