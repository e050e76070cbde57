/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_parts: photos packed by one process and by several, for comparison, and files moved between
 * such folders. For tests linked with WRAP fsync, which does nothing here. Functions abort on
 * failure unless stated otherwise.
 */
#ifndef SL_PACK_PARTS_H
#define SL_PACK_PARTS_H

#include "pack_setup.h"

#include <sys/types.h>

typedef struct parts_rig {
    pack_setup setup;
    char work[256];
    char whole[300]; /* packed by one process */
    char path[300];  /* packed by several */
} parts_rig;

/* Makes 24 good photos and some bad ones, and packs `whole`. */
void parts_make(parts_rig *f, uint64_t shard_bytes);
void parts_remove(parts_rig *f);
sluice_pack_options parts_options(uint32_t part, uint32_t parts);
/* Expects `path` to equal `whole` and to be a dataset. `what` and `number` identify the case. */
void parts_expect_whole(const parts_rig *f, const char *what, uint32_t number);
/* Returns how the child ended, as reported by waitpid. */
int parts_wait_for(pid_t child);

/* Copies file `name` from one folder to another. */
void parts_copy_file(const char *from, const char *to, const char *name);
void parts_move_file(const char *folder, const char *name, const char *to);
/* Returns the number of samples of a dataset without bad ones; `fingerprint` may be NULL. */
uint64_t parts_samples_of(const char *path, uint64_t *fingerprint);
uint64_t parts_lines_of(const char *folder, const char *name);

#endif
