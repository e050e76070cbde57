/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_parts: photos that are packed by one process and by many, to be compared; and files that are
 * moved between such folders. For tests linked with WRAP fsync, which is not done.
 * Functions abort on failure unless they say otherwise.
 */
#ifndef SL_PACK_PARTS_H
#define SL_PACK_PARTS_H

#include "pack_setup.h"

#include <sys/types.h>

typedef struct parts_rig {
    pack_setup setup;
    char work[256];
    char whole[300]; /* packed by one process */
    char path[300];  /* by many */
} parts_rig;

/* 24 good photos and some bad ones, `whole` being made. */
void parts_make(parts_rig *f, uint64_t shard_bytes);
void parts_remove(parts_rig *f);
sluice_pack_options parts_options(uint32_t part, uint32_t parts);
/* `path` is as `whole`, and a dataset. `what` and `number` say which case it is. */
void parts_expect_whole(const parts_rig *f, const char *what, uint32_t number);
/* How the child ended, as waitpid says it. */
int parts_wait_for(pid_t child);

/* Copies file `name` from one folder to another. */
void parts_copy_file(const char *from, const char *to, const char *name);
void parts_move_file(const char *folder, const char *name, const char *to);
/* How many a dataset has, in which nothing is bad; `fingerprint` may be NULL. */
uint64_t parts_samples_of(const char *path, uint64_t *fingerprint);
uint64_t parts_lines_of(const char *folder, const char *name);

#endif
