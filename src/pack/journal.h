/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal: what an unfinished pack must remember (docs/format.md, section 9).
 *
 * Purpose: the parameters, so that only the same pack goes on, and what was found out at the
 * beginning: which fields are stored as frames, and how many samples a shard takes. Written once,
 * by the first of those that pack together; gone when the dataset is complete.
 * Threads: pure but for the file.
 */
#ifndef SL_JOURNAL_H
#define SL_JOURNAL_H

#include "output.h"

typedef struct sl_pack_parameters {
    uint64_t fingerprint, samples, shard_bytes, seed;
    int32_t zstd_level;
    bool keep_order, keep_bytes;
    bool raw;
    bool drop_metadata; /* these two without keep_bytes and raw only */
    uint32_t tile_mcus;
    uint32_t max_side, quality; /* 0: pictures of any size stay as large as they are */
    double raw_share;           /* without raw only */
    bool append;
    bool joins_labels; /* with append only: as `labels` says */
    uint64_t labels;   /* sl_class_request_sum */
    uint64_t meaning;  /* sl_meanings_sum */
} sl_pack_parameters;

#define SL_JOURNAL_HEAD_BYTES 512

/* Writes the journal's first line, without its newline. */
void sl_journal_head(const sl_pack_parameters *parameters, char head[SL_JOURNAL_HEAD_BYTES]);

/* What a pack begins with. */
typedef struct sl_journal {
    char head[SL_JOURNAL_HEAD_BYTES];
    uint64_t framed;        /* set of the fields */
    uint64_t shard_samples; /* positions of a range (ranges.h) */
    /* The dataset that is added to; all 0: none is. */
    uint64_t after; /* its fingerprint */
    uint64_t before;
    uint32_t shards; /* these two as in sl_ranges */
} sl_journal;

/* The pack id: of the source and the options. A manifest has that of the last pack. */
uint64_t sl_journal_pack_id(const sl_journal *journal);
/* Of the shards, which belong to one place in one dataset: the pack id, unless one is added to. */
uint64_t sl_journal_shard_id(const sl_journal *journal);

/*
 * Makes the journal, whole or not at all, unless there is one: then it must say the same, but for
 * the length of a shard where that is any_length, which is the journal's then. STATE: it says
 * something else, and the text what. Errors: IO.
 */
sluice_status sl_journal_create(const sl_output *output, sl_journal *journal, bool any_length,
                                sluice_error *error);
/*
 * Reads the journal of an earlier run, or of another part, into all but the head. END: there is
 * none. STATE: its first line is not journal->head, and the text says what differs; or
 * the others are damaged. An empty head is filled in, too. Errors: IO.
 */
sluice_status sl_journal_read(const sl_output *output, sl_journal *journal, sluice_error *error);

#endif
