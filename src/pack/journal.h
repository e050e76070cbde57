/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal: the state of an unfinished pack (docs/format.md, section 9).
 *
 * Purpose: has the parameters, so that only the same pack can continue, and the decisions of the
 * beginning: which fields are stored as frames, and how many samples a shard takes. The first of
 * the processes that pack together writes it once; it is removed when the dataset is complete.
 * Threads: pure except for the file.
 */
#ifndef SL_JOURNAL_H
#define SL_JOURNAL_H

#include "output.h"

typedef struct sl_pack_parameters {
    uint64_t fingerprint, samples, shard_bytes, seed;
    int32_t zstd_level;
    bool keep_order, keep_bytes;
    bool raw;
    bool drop_metadata; /* these two only without keep_bytes and raw */
    uint32_t tile_mcus;
    uint32_t max_side, quality; /* 0: images keep their size */
    double raw_share;           /* only without raw */
    bool append;
    bool joins_labels; /* only with append: joined as in `labels` */
    uint64_t labels;   /* sl_class_request_sum */
    uint64_t meaning;  /* sl_meanings_sum */
} sl_pack_parameters;

#define SL_JOURNAL_HEAD_BYTES 512

/* Writes the journal's first line, without its newline. */
void sl_journal_head(const sl_pack_parameters *parameters, char head[SL_JOURNAL_HEAD_BYTES]);

/* The decisions at the beginning of a pack. */
typedef struct sl_journal {
    char head[SL_JOURNAL_HEAD_BYTES];
    uint64_t framed;        /* set of fields stored as frames */
    uint64_t shard_samples; /* number of positions in a range (ranges.h) */
    /* The dataset that is added to; all 0: none. */
    uint64_t after; /* its fingerprint */
    uint64_t before;
    uint32_t shards; /* these two as in sl_ranges */
} sl_journal;

/* Returns the pack id, of the source and the options. A manifest has the one of the last pack. */
uint64_t sl_journal_pack_id(const sl_journal *journal);
/*
 * Returns the id of the shards, which belong to one position in one dataset: the pack id, unless
 * adding to a dataset.
 */
uint64_t sl_journal_shard_id(const sl_journal *journal);

/*
 * Creates the journal atomically, unless one exists, which must then be equal. With any_length, the
 * length of a shard may differ, and is taken from the existing journal. STATE: it differs; the text
 * says how. Errors: IO.
 */
sluice_status sl_journal_create(const sl_output *output, sl_journal *journal, bool any_length,
                                sluice_error *error);
/*
 * Reads the journal of an earlier run, or of another part; sets everything except the head. END: no
 * journal exists. STATE: its first line differs from journal->head, and the text says how; or the
 * other lines are damaged. An empty head is set too. Errors: IO.
 */
sluice_status sl_journal_read(const sl_output *output, sl_journal *journal, sluice_error *error);

#endif
