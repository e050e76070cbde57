/* SPDX-License-Identifier: Apache-2.0 */
/*
 * left_out: the samples that a pack leaves out, one file for each range that has some.
 *
 * Purpose: `shard-NNNNNN.rejected` beside the shard of that number, and there before it is, so that
 * a pack that goes on, or is joined, knows them; rejected.tsv comes of all of them
 * (docs/format.md, section 9).
 * Threads: one owner.
 */
#ifndef SL_LEFT_OUT_H
#define SL_LEFT_OUT_H

#include "output.h"

#include <stdio.h>

/* Those of the range that is being packed. */
typedef struct sl_left_out {
    const sl_output *output;
    uint64_t shard_id; /* of the pack (journal.h): the first line */
    FILE *file;        /* NULL: none so far */
    uint64_t count;
    char name[32];
    char path[SL_OUTPUT_PATH_BYTES];
} sl_left_out;

/* Adds one of range `number`. Errors: IO, NOMEM. */
sluice_status sl_left_out_add(sl_left_out *left_out, uint32_t number, uint64_t position,
                              const char *key, const sluice_error *reason, sluice_error *error);
/* The range is done: its file, if any, gets its name. Errors: IO. */
sluice_status sl_left_out_publish(sl_left_out *left_out, sluice_error *error);
/* Forgets an unfinished file. A zeroed one may be closed. */
void sl_left_out_close(sl_left_out *left_out);

/* Those of a range that is done. */
typedef struct sl_left_out_file {
    const sl_output *output;
    uint64_t shard_id;
    uint64_t first, end; /* positions of the range */
    uint32_t number;
} sl_left_out_file;

/*
 * Counts the lines. With `earliest` not NULL it becomes what is said of the first of them; with
 * `to` not NULL they are appended to it, a rejected.tsv. END: no file, or not a whole one of this
 * range of this pack. Errors: IO, NOMEM.
 */
sluice_status sl_left_out_read(const sl_left_out_file *file, uint64_t *count,
                               sluice_error *earliest, FILE *to, sluice_error *error);

#endif
