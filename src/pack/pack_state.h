/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_state: a pack under way, and the parts that it is made of. Private to pack*.c.
 *
 * One sample's way: its position, in the order in which samples are written, is in a range
 * (ranges.h), which is the shard of that number. pack_measure.c finds out how long ranges
 * are; pack_write.c takes over those that are done and packs the others of this part, prepare.h's
 * threads making the records; pack_finish.c writes the manifest of what there is, reads it back and
 * gives it its name: the dataset's, or that of a part, which pack_join.c puts together.
 * Threads: the caller's, but for prepare's and verify's own.
 */
#ifndef SL_PACK_STATE_H
#define SL_PACK_STATE_H

#include "journal.h"
#include "left_out.h"
#include "pack.h"
#include "pack_job.h"
#include "ranges.h"
#include "series.h"
#include "stop.h"

typedef struct sl_pack_state {
    const sl_dataset *dataset;
    sl_dataset *relabelled; /* instead of the one that was given; owned; NULL: that one */
    const sluice_pack_options *options;
    const sl_class_request
        *labels; /* how they are joined with those of a dataset that is added to; NULL */
    sl_stop stop;
    sl_output output;
    sl_journal journal;
    sl_ranges ranges;
    uint64_t first, end; /* ranges of this part */
    uint8_t *done;       /* of each of them, whether it is; owned */
    sl_series series;
    sl_left_out left_out;
    sl_prepare *prepare;
    sl_pack_job_config job; /* prepare's */
    sl_record_plan plan;
    uint64_t open; /* fields of which it is not settled how they are stored */
    uint64_t pack_id;
    uint64_t positions_done; /* of this part */
    uint64_t reported_ns;
    uint64_t rejected, resumed_samples;
    uint64_t jpegs[SL_JPEG_OUTCOMES]; /* written */
    uint64_t jpeg_bytes_before, jpeg_bytes_after;
    uint64_t decoded, decoded_bytes_before, decoded_bytes_after;
    uint64_t resized, resized_bytes_before, resized_bytes_after;
} sl_pack_state;

/* About the size of a shard, as far as parts do not make it smaller. */
static inline uint64_t sl_pack_shard_bytes(const sl_pack_state *p)
{
    return p->options->shard_bytes > 0 ? p->options->shard_bytes : SL_SHARD_BYTES_DEFAULT;
}

/* Whether shards may be made smaller, so that there are as many as parts. */
static inline bool sl_pack_cuts_for_parts(const sl_pack_state *p)
{
    return p->options->shard_bytes == 0 && p->options->parts > 1;
}

/* The most samples of a shard with which there are as many shards as parts, if there are as many
 * samples. */
static inline uint64_t sl_pack_share(const sl_pack_state *p)
{
    const uint64_t share = p->dataset->info.samples / p->options->parts;
    return share > 0 ? share : 1;
}

/* Positions of this part. */
static inline uint64_t sl_pack_positions(const sl_pack_state *p)
{
    return sl_ranges_first(&p->ranges, p->end) - sl_ranges_first(&p->ranges, p->first);
}

/* JPEGs that were stored as they are. */
uint64_t sl_pack_kept(const sl_pack_state *p);
/* Calls on_progress, a few times a second or `always`. */
void sl_pack_report(sl_pack_state *p, bool always);
/* CANCELED: the caller wants the pack to stop. */
sluice_status sl_pack_check_stop(const sl_pack_state *p, sluice_error *error);

/* What prepare's threads do with samples stored by `plan`, and how they run. */
sl_pack_job_config sl_pack_job_for(const sl_pack_state *p, const sl_record_plan *plan);
sl_prepare_config sl_pack_prepare_for(const sl_pack_state *p, const sl_pack_job_config *job,
                                      uint64_t first, uint64_t end);

/* Looks at the first samples, in the order in which they will be written: which of the open fields
 * are to be frames, unless a dataset that is added to tells, and how many samples make a shard.
 * Fills in the journal. */
sluice_status sl_pack_measure(sl_pack_state *p, sluice_error *error);
/* Takes over what earlier runs left of this part, and writes the rest. */
sluice_status sl_pack_write(sl_pack_state *p, sluice_error *error);
/* All of this part is written: its manifest, and the dataset's when it is the last. */
sluice_status sl_pack_finish(sl_pack_state *p, sluice_pack_result *result, sluice_error *error);

/*
 * Where the classes of the dataset that the folder has are others than the source's, makes one that
 * has the source's samples with labels of both: p->relabelled. Those that are there keep their
 * numbers. Errors: STATE, and those of sl_class_union_make.
 */
sluice_status sl_pack_join_labels(sl_pack_state *p, sluice_error *error);
/*
 * Makes ready to add to the dataset that the folder has: its fields must be the source's, and so
 * must its classes, but for more behind them where labels are joined; fields are stored as there.
 * Fills in the journal's part on it.
 */
sluice_status sl_pack_begin_append(sl_pack_state *p, sluice_error *error);
/* The dataset that is added to, which must be as the journal says; how many samples it left out
 * goes to `left_out`. */
sluice_status sl_pack_open_base(const sl_output *output, const sl_journal *journal,
                                sl_dataset **base, uint64_t *left_out, sluice_error *error);
/* The folder has a manifest: done already, when it is of pack `pack_id`; else STATE. */
sluice_status sl_pack_take_finished(const sl_output *output, uint64_t pack_id,
                                    sluice_pack_result *result, sluice_error *error);
/* Removes what only an unfinished pack has, but nothing of another one than `pack_id`. */
sluice_status sl_pack_clear_up(const sl_output *output, uint64_t pack_id, sluice_error *error);
/* Reads and checks the first page of a manifest, or of a part's, whose path goes to `path`. */
sluice_status sl_pack_read_page(const sl_output *output, const char *name, char *path,
                                sl_manifest_header *header, sluice_error *error);

/* ---- what a whole dataset has besides shards, from its rows, which are in order ---- */

/* rejected.tsv, or none when nothing was left out. `known`: lines that the one that is there has of
 * the dataset that is added to. */
sluice_status sl_pack_write_rejected(const sl_output *output, const sl_journal *journal,
                                     const sl_ranges *ranges, const sl_series *series,
                                     uint64_t known, sluice_error *error);
/* STATE: rejected.tsv has fewer lines than a dataset left samples out. */
sluice_status sl_pack_check_rejected(const sl_output *output, uint64_t known, sluice_error *error);
/* pack.options, where pixels were changed: what was asked for, which the pack id vouches for. */
sluice_status sl_pack_write_options(const sl_output *output, const char *head, sluice_error *error);
/* Whether the folder is the dataset of pack `pack_id`. Then `result` is filled in, and what was
 * left over removed. */
bool sl_pack_is_joined(const sl_output *output, uint64_t pack_id, sluice_pack_result *result);
/*
 * Puts all parts of pack `pack_id` together, in a folder that has its journal, or sees that another
 * process did. END: they are not all there; `error` tells which are missing, or of another pack.
 */
sluice_status sl_pack_join_parts(const sl_output *output, uint64_t pack_id, uint32_t parts,
                                 sluice_pack_result *result, sluice_error *error);

#endif
