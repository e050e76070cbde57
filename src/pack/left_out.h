/* SPDX-License-Identifier: Apache-2.0 */
/*
 * left_out: the samples that a pack leaves out, in one file per range.
 *
 * Purpose: `shard-NNNNNN.rejected` is written beside the shard of that number, before the shard, so
 * that a pack that is continued or joined knows them; rejected.tsv is made of all of them
 * (docs/format.md, section 9). Threads: one owner.
 */
#ifndef SL_LEFT_OUT_H
#define SL_LEFT_OUT_H

#include "output.h"

#include <stdio.h>

/* Left-out samples of the range that is being packed. */
typedef struct sl_left_out {
    const sl_output *output;
    uint64_t shard_id; /* of the pack (journal.h): written in the first line */
    FILE *file;        /* NULL: none so far */
    uint64_t count;
    char name[32];
    char path[SL_OUTPUT_PATH_BYTES];
} sl_left_out;

/* Adds a sample of range `number`. Errors: IO, NOMEM. */
sluice_status sl_left_out_add(sl_left_out *left_out, uint32_t number, uint64_t position,
                              const char *key, const sluice_error *reason, sluice_error *error);
/* Ends the range: renames its file, if any. Errors: IO. */
sluice_status sl_left_out_publish(sl_left_out *left_out, sluice_error *error);
/* Discards an unfinished file. A zeroed object may be closed. */
void sl_left_out_close(sl_left_out *left_out);

/* Left-out samples of a completed range. */
typedef struct sl_left_out_file {
    const sl_output *output;
    uint64_t shard_id;
    uint64_t first, end; /* positions of the range */
    uint32_t number;
} sl_left_out_file;

/*
 * Counts the lines. `earliest`, if not NULL, is set to the description of the first one; to `to`,
 * if not NULL, they are appended in the form of rejected.tsv. END: no file, or not a complete one
 * of this range and pack. Errors: IO, NOMEM.
 */
sluice_status sl_left_out_read(const sl_left_out_file *file, uint64_t *count,
                               sluice_error *earliest, FILE *to, sluice_error *error);

#endif
