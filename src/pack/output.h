/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output: the folder that shards are written to.
 *
 * Purpose: files appear whole or not at all: they are made as `.NAME.tmp`, synced, renamed, and the
 * folder synced. Only names of docs/format.md are ever made or removed here.
 * Lock: an advisory lock on the folder for as long as it is open, so that two packs cannot mix.
 * Threads: one owner.
 */
#ifndef SL_OUTPUT_H
#define SL_OUTPUT_H

#include <sluice/common.h>

#include <stdbool.h>

#define SL_OUTPUT_PATH_BYTES 4096

typedef struct sl_output {
    int fd; /* of the folder; -1: closed */
    char *path;
} sl_output;

typedef struct sl_output_contents {
    uint64_t shards; /* files named like one */
    bool manifest, journal, rejected;
    char foreign[256]; /* something that is not ours; "" */
} sl_output_contents;

/* Creates the folder (one level) when it is missing, its name synced, and locks it. Errors: IO,
 * STATE (locked). */
sluice_status sl_output_open(sl_output *output, const char *path, sluice_error *error);
void sl_output_close(sl_output *output);
sluice_status sl_output_survey(const sl_output *output, sl_output_contents *contents,
                               sluice_error *error);

/* What sl_output_remove takes away. */
typedef enum sl_output_kind {
    SL_OUTPUT_TEMPORARY, /* files that a killed run left half-written */
    SL_OUTPUT_DATASET    /* those and all of a dataset or pack, the manifest first */
} sl_output_kind;
sluice_status sl_output_remove(const sl_output *output, sl_output_kind kind, sluice_error *error);
/* Removes the shards numbered `first` and up. */
sluice_status sl_output_remove_shards(const sl_output *output, uint64_t first, sluice_error *error);
/* Removes one file, which may be missing. */
sluice_status sl_output_remove_file(const sl_output *output, const char *name, sluice_error *error);

/* "PATH/NAME", or "PATH/.NAME.tmp" for the temporary. INVALID when it does not fit. */
sluice_status sl_output_name(const sl_output *output, const char *name, bool temporary, char *path,
                             sluice_error *error);
/* Opens the temporary of `name`, empty, for reading and writing. */
sluice_status sl_output_create(const sl_output *output, const char *name, int *fd,
                               sluice_error *error);
/* Syncs the file and lets the page cache forget it. */
sluice_status sl_output_sync(const sl_output *output, const char *name, int fd,
                             sluice_error *error);
/* Renames the synced temporary of `name` to it, for good. */
sluice_status sl_output_publish(const sl_output *output, const char *name, sluice_error *error);
/* Removes the temporary of `name`. */
void sl_output_discard(const sl_output *output, const char *name);

#endif
