/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal: what an unfinished pack must remember (docs/format.md, section 9).
 *
 * Purpose: the parameters, so that only the same pack goes on, which fields are stored as frames,
 * which was found out at the beginning, and the samples that were left out.
 * Life: create or resume; append; sync before each shard is published; turn into rejected.tsv;
 * remove. Threads: one owner.
 */
#ifndef SL_JOURNAL_H
#define SL_JOURNAL_H

#include "output.h"

#include <stdio.h>

typedef struct sl_pack_parameters {
    uint64_t fingerprint, samples, shard_bytes, seed;
    int32_t zstd_level;
    bool keep_order, keep_bytes;
    bool raw;
    bool drop_metadata; /* these two without keep_bytes and raw only */
    uint32_t tile_mcus;
    uint32_t max_side, quality; /* 0: pictures of any size stay as large as they are */
    double raw_share;           /* without raw only */
} sl_pack_parameters;

#define SL_JOURNAL_HEAD_BYTES 512

/* Writes the journal's first line, without its newline; its checksum is the pack id. */
void sl_journal_head(const sl_pack_parameters *parameters, char head[SL_JOURNAL_HEAD_BYTES]);

typedef struct sl_journal {
    const sl_output *output;
    FILE *file; /* positioned at its end */
    uint64_t rejected;
    char path[SL_OUTPUT_PATH_BYTES];
} sl_journal;

/* What a pack begins with. */
typedef struct sl_journal_begin {
    char head[SL_JOURNAL_HEAD_BYTES];
    uint64_t framed; /* set of the fields */
} sl_journal_begin;

/* Makes a new journal, whole or not at all. Errors: IO, NOMEM. */
sluice_status sl_journal_create(sl_journal *journal, const sl_output *output,
                                const sl_journal_begin *beginning, sluice_error *error);
/*
 * Opens the journal of an earlier run and fills in its `framed`. STATE: its first line is not
 * the head, and the text says what differs; or it tells no fields. Errors: IO, NOMEM.
 */
sluice_status sl_journal_resume(sl_journal *journal, const sl_output *output,
                                sl_journal_begin *beginning, sluice_error *error);
/*
 * Drops the lines from position `next` on (and a torn last one) and counts the others. With
 * `first` not NULL it is filled with the first rejection, if any.
 */
sluice_status sl_journal_rewind(sl_journal *journal, uint64_t next, sluice_error *first,
                                sluice_error *error);
/* Closes; the file stays. A zeroed journal may be closed. */
void sl_journal_close(sl_journal *journal);

/* Errors: IO. */
sluice_status sl_journal_reject(sl_journal *journal, uint64_t position, const char *key,
                                const sluice_error *reason, sluice_error *error);
sluice_status sl_journal_sync(sl_journal *journal, sluice_error *error);
/* Publishes rejected.tsv, or removes an old one when nothing was left out. */
sluice_status sl_journal_write_rejected(sl_journal *journal, sluice_error *error);

#endif
