/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output: the folder that shards are written to.
 *
 * Purpose: files appear whole or not at all: they are made as `.NAME.tmp`, synced, renamed, and the
 * folder synced. Only names of docs/format.md are ever made or removed here.
 * Lock: an advisory lock on the folder for as long as it is open, so that two packs on one machine
 * cannot mix. Closing gives it up also for children that were forked meanwhile, who share it; where
 * the process is killed instead, it lasts until they have ended, too. Several may share a folder
 * that write whole files of equal bytes only: their temporary files have names of their own, and
 * nothing relies on the lock.
 * Forks: in a child of the process that opened it nothing is made, named or removed: STATE. Closing
 * closes the child's descriptor, and leaves the lock alone.
 * Threads: one owner.
 */
#ifndef SL_OUTPUT_H
#define SL_OUTPUT_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

#define SL_OUTPUT_PATH_BYTES 4096

typedef struct sl_output {
    int fd;         /* of the folder; -1: closed */
    uint64_t forks; /* sl_fork_count of the process that opened it */
    char *path;
    char tag[24]; /* ".HEX", in the names of temporary files of a shared folder; "" */
} sl_output;

#define SL_OUTPUT_SETS_MAX 8

/* Parts of a pack: files named so. */
typedef struct sl_part_set {
    uint32_t parts; /* that there are to be */
    uint32_t count; /* that are there */
} sl_part_set;

typedef struct sl_output_contents {
    uint64_t shards, left_out;            /* files named like those */
    sl_part_set sets[SL_OUTPUT_SETS_MAX]; /* count 0: no more */
    bool manifest, journal;
    char foreign[256]; /* something that is not ours; "" */
} sl_output_contents;

/* Creates the folder (one level) when it is missing, its name synced, and locks it. Errors: IO,
 * STATE (locked). */
sluice_status sl_output_open(sl_output *output, const char *path, bool shared, sluice_error *error);
void sl_output_close(sl_output *output);
/* false in a forked child */
bool sl_output_is_ours(const sl_output *output);
sluice_status sl_output_survey(const sl_output *output, sl_output_contents *contents,
                               sluice_error *error);

/* What sl_output_remove takes away. */
typedef enum sl_output_kind {
    SL_OUTPUT_TEMPORARY, /* files that a killed run left half-written, but no tagged ones, which
                            may be another process's */
    SL_OUTPUT_PACKING,   /* all of these, and what only an unfinished pack has: the journal last */
    SL_OUTPUT_DATASET    /* those and all of a dataset or pack, the manifest first */
} sl_output_kind;
sluice_status sl_output_remove(const sl_output *output, sl_output_kind kind, sluice_error *error);
/* Removes one file, which may be missing. */
sluice_status sl_output_remove_file(const sl_output *output, const char *name, sluice_error *error);

/* "PATH/NAME", or "PATH/.NAME.tmp" for the temporary. INVALID when it does not fit. */
sluice_status sl_output_name(const sl_output *output, const char *name, bool temporary, char *path,
                             sluice_error *error);
/* Opens the temporary of `name`, empty, for reading and writing. */
sluice_status sl_output_create(const sl_output *output, const char *name, int *fd,
                               sluice_error *error);
/* Makes the temporary of `name`, synced, of these bytes; or none. */
sluice_status sl_output_write(const sl_output *output, const char *name, const void *data,
                              size_t bytes, sluice_error *error);
/* Syncs the file and lets the page cache forget it. */
sluice_status sl_output_sync(const sl_output *output, const char *name, int fd,
                             sluice_error *error);
/* Renames the synced temporary of `name` to it, for good. */
sluice_status sl_output_publish(const sl_output *output, const char *name, sluice_error *error);
/* The same, but END and nothing done where there is such a file. */
sluice_status sl_output_publish_new(const sl_output *output, const char *name, sluice_error *error);
/* Removes the temporary of `name`. */
void sl_output_discard(const sl_output *output, const char *name);

#endif
