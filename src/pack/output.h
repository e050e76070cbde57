/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output: the folder that shards are written to.
 *
 * Purpose: files appear whole or not at all: they are created as `.NAME.tmp`, synced, renamed, and
 * the folder is synced. Only names of docs/format.md are ever created or removed here. Lock: an
 * advisory lock on the folder while it is open, so that two packs on one machine cannot mix.
 * Closing releases it also for children that were forked meanwhile and share it; if the process is
 * killed instead, the lock lasts until they end too. Several processes may share a folder if they
 * only write whole files with equal contents: their temporary files have separate names, and
 * nothing relies on the lock. Forks: in a child of the process that opened it, creating, renaming
 * and removing fail with STATE. Closing closes the child's descriptor without touching the lock.
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
    char tag[24]; /* ".HEX", used in names of temporary files of a shared folder; "" */
} sl_output;

#define SL_OUTPUT_SETS_MAX 8

/* The parts of a pack that have such file names. */
typedef struct sl_part_set {
    uint32_t parts; /* total number of parts */
    uint32_t count; /* number of existing parts */
} sl_part_set;

typedef struct sl_output_contents {
    uint64_t shards, left_out;            /* number of files with such names */
    sl_part_set sets[SL_OUTPUT_SETS_MAX]; /* count 0: end */
    bool manifest, journal;
    char foreign[256]; /* a file that is not from a pack; "" */
} sl_output_contents;

/*
 * Creates the folder (one level) if it is missing, syncs its name, and locks it. Errors: IO, STATE
 * (locked).
 */
sluice_status sl_output_open(sl_output *output, const char *path, bool shared, sluice_error *error);
void sl_output_close(sl_output *output);
/* false in a forked child */
bool sl_output_is_ours(const sl_output *output);
sluice_status sl_output_survey(const sl_output *output, sl_output_contents *contents,
                               sluice_error *error);

/* What sl_output_remove removes. */
typedef enum sl_output_kind {
    SL_OUTPUT_TEMPORARY, /* half-written files of a killed run, without tagged ones, which may be
                            another process's */
    SL_OUTPUT_PACKING, /* all of these, and everything that only an unfinished pack has: the journal
                          last */
    SL_OUTPUT_DATASET  /* those and all files of a dataset or pack, the manifest first */
} sl_output_kind;
sluice_status sl_output_remove(const sl_output *output, sl_output_kind kind, sluice_error *error);
/* Removes one file, which may be missing. */
sluice_status sl_output_remove_file(const sl_output *output, const char *name, sluice_error *error);

/* Writes "PATH/NAME", or "PATH/.NAME.tmp" for the temporary file. INVALID if it does not fit. */
sluice_status sl_output_name(const sl_output *output, const char *name, bool temporary, char *path,
                             sluice_error *error);
/* Opens the temporary file of `name`, empty, for reading and writing. */
sluice_status sl_output_create(const sl_output *output, const char *name, int *fd,
                               sluice_error *error);
/* Creates the temporary file of `name` with these bytes, synced; none is left on failure. */
sluice_status sl_output_write(const sl_output *output, const char *name, const void *data,
                              size_t bytes, sluice_error *error);
/* Syncs the file and drops it from the page cache. */
sluice_status sl_output_sync(const sl_output *output, const char *name, int fd,
                             sluice_error *error);
/* Renames the synced temporary file to `name`, durably. */
sluice_status sl_output_publish(const sl_output *output, const char *name, sluice_error *error);
/* Does the same, but returns END and does nothing if the file exists. */
sluice_status sl_output_publish_new(const sl_output *output, const char *name, sluice_error *error);
/* Removes the temporary file of `name`. */
void sl_output_discard(const sl_output *output, const char *name);

#endif
