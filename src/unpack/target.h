/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target: the folder that an unpack makes, whole or not at all.
 *
 * Purpose: all is in PATH.part, beside it, until it is complete and synced; then that gets the
 * name. A hidden file in both, SL_TARGET_MARK, says that an unpack made the folder: only such ones
 * are ever removed, an unfinished one by the next unpack, a whole one when it is to be replaced.
 * Lock: an advisory one on PATH.part for as long as it is open. Threads: one owner. Forks: in a
 * child of the process that opened it nothing is named or removed.
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
    bool replaces;  /* there is a PATH with a mark */
    char path[SL_TARGET_PATH_BYTES];
    char part[SL_TARGET_PATH_BYTES];
} sl_target;

/*
 * Makes PATH.part, empty but for the mark. Errors: STATE (PATH holds something that is not to be,
 * or must not be, replaced; another process is at it); INVALID (`dataset` is there, or would have
 * more samples by what is made; a PATH that cannot get a new folder); IO.
 */
sluice_status sl_target_open(sl_target *target, const char *path, bool overwrite,
                             const sl_dataset *dataset, sluice_error *error);
/* false in a forked child */
bool sl_target_is_ours(const sl_target *target);
/* Syncs all that is in it and gives it its name. Errors: IO, STATE. */
sluice_status sl_target_finish(sl_target *target, sluice_error *error);
/* Removes what is not finished. A closed one, fd -1, may be closed. */
void sl_target_close(sl_target *target);

#endif
