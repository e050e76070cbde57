/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_state: a running pack and its parts. Private to pack*.c.
 *
 * The way of a sample: its position in writing order is in a range (ranges.h), which becomes the
 * shard of that number. pack_measure.c determines the length of ranges. pack_write.c takes over
 * completed ranges and packs the others of this part, with records from prepare.h's threads.
 * pack_finish.c writes the manifest, reads the shards back and renames the manifest: to that of the
 * dataset, or of a part, which pack_join.c joins. Threads: the caller's, except for prepare's and
 * verify's own.
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
    sl_dataset *relabelled; /* replaces the given dataset; owned; NULL: the given one */
    const sluice_pack_options *options;
    const sl_class_request
        *labels; /* how they are joined with those of the dataset added to; NULL */
    sl_stop stop;
    sl_output output;
    sl_journal journal;
    sl_ranges ranges;
    uint64_t first, end; /* ranges of this part */
    uint8_t *done;       /* per range, whether it is done; owned */
    sl_series series;
    sl_left_out left_out;
    sl_prepare *prepare;
    sl_pack_job_config job; /* for prepare */
    sl_record_plan plan;
    uint64_t open; /* fields whose storage is not decided yet */
    uint64_t pack_id;
    uint64_t positions_done; /* of this part */
    uint64_t reported_ns;
    uint64_t rejected, resumed_samples;
    uint64_t jpegs[SL_JPEG_OUTCOMES]; /* number written */
    uint64_t jpeg_bytes_before, jpeg_bytes_after;
    uint64_t decoded, decoded_bytes_before, decoded_bytes_after;
    uint64_t resized, resized_bytes_before, resized_bytes_after;
} sl_pack_state;

/* Returns the approximate size of a shard, unless parts make it smaller. */
static inline uint64_t sl_pack_shard_bytes(const sl_pack_state *p)
{
    return p->options->shard_bytes > 0 ? p->options->shard_bytes : SL_SHARD_BYTES_DEFAULT;
}

/* Returns whether shards may be made smaller, so that there is one for each part. */
static inline bool sl_pack_cuts_for_parts(const sl_pack_state *p)
{
    return p->options->shard_bytes == 0 && p->options->parts > 1;
}

/*
 * Returns the maximum number of samples per shard with which there is a shard for each part, if
 * there are enough samples.
 */
static inline uint64_t sl_pack_share(const sl_pack_state *p)
{
    const uint64_t share = p->dataset->info.samples / p->options->parts;
    return share > 0 ? share : 1;
}

/* Returns the number of positions of this part. */
static inline uint64_t sl_pack_positions(const sl_pack_state *p)
{
    return sl_ranges_first(&p->ranges, p->end) - sl_ranges_first(&p->ranges, p->first);
}

/* Returns the number of JPEGs that were stored unchanged. */
uint64_t sl_pack_kept(const sl_pack_state *p);
/* Calls on_progress, a few times per second or `always`. */
void sl_pack_report(sl_pack_state *p, bool always);
/* Returns CANCELED if the caller wants the pack to stop. */
sluice_status sl_pack_check_stop(const sl_pack_state *p, sluice_error *error);

/* Returns the job of prepare's threads for samples stored by `plan`, and how they run. */
sl_pack_job_config sl_pack_job_for(const sl_pack_state *p, const sl_record_plan *plan);
sl_prepare_config sl_pack_prepare_for(const sl_pack_state *p, const sl_pack_job_config *job,
                                      uint64_t first, uint64_t end);

/*
 * Looks at the first samples in writing order: determines which open fields become frames, unless a
 * dataset that is added to decides, and how many samples make a shard. Fills in the journal.
 */
sluice_status sl_pack_measure(sl_pack_state *p, sluice_error *error);
/* Takes over the results of earlier runs of this part, and writes the rest. */
sluice_status sl_pack_write(sl_pack_state *p, sluice_error *error);
/* Writes the manifest of this part once it is written, and the dataset's if it is the last one. */
sluice_status sl_pack_finish(sl_pack_state *p, sluice_pack_result *result, sluice_error *error);

/*
 * If the classes of the folder's dataset differ from the source's, makes p->relabelled, with the
 * source's samples and labels for both. Existing classes keep their numbers. Errors: STATE, those
 * of sl_class_union_make.
 */
sluice_status sl_pack_join_labels(sl_pack_state *p, sluice_error *error);
/*
 * Prepares to add to the folder's dataset. Its fields must be the source's, and so must its
 * classes, except for additional ones at the end if labels are joined; fields are stored as there.
 * Fills in the journal's part about it.
 */
sluice_status sl_pack_begin_append(sl_pack_state *p, sluice_error *error);
/*
 * Opens the dataset that is added to, which must match the journal; `left_out`: number of samples
 * that it left out.
 */
sluice_status sl_pack_open_base(const sl_output *output, const sl_journal *journal,
                                sl_dataset **base, uint64_t *left_out, sluice_error *error);
/* Handles a folder with a manifest: done if it is from pack `pack_id`; otherwise STATE. */
sluice_status sl_pack_take_finished(const sl_output *output, uint64_t pack_id,
                                    sluice_pack_result *result, sluice_error *error);
/* Removes files that only an unfinished pack has, but not those of a pack other than `pack_id`. */
sluice_status sl_pack_clear_up(const sl_output *output, uint64_t pack_id, sluice_error *error);
/*
 * Reads and checks the first page of a manifest, the dataset's or a part's, whose path goes to
 * `path`.
 */
sluice_status sl_pack_read_page(const sl_output *output, const char *name, char *path,
                                sl_manifest_header *header, sluice_error *error);

/* ---- what a whole dataset has besides shards, from its rows, which are in order ---- */

/*
 * Writes rejected.tsv, unless nothing was left out. `known`: number of lines in the existing one
 * that belong to the dataset added to.
 */
sluice_status sl_pack_write_rejected(const sl_output *output, const sl_journal *journal,
                                     const sl_ranges *ranges, const sl_series *series,
                                     uint64_t known, sluice_error *error);
/* Returns STATE if rejected.tsv has fewer lines than the dataset has left-out samples. */
sluice_status sl_pack_check_rejected(const sl_output *output, uint64_t known, sluice_error *error);
/* Writes pack.options if pixels were changed: the requested options, which the pack id covers. */
sluice_status sl_pack_write_options(const sl_output *output, const char *head, sluice_error *error);
/*
 * Returns whether the folder contains the dataset of pack `pack_id`. Fills in `result` and removes
 * leftovers if so.
 */
bool sl_pack_is_joined(const sl_output *output, uint64_t pack_id, sluice_pack_result *result);
/*
 * Joins all parts of pack `pack_id` in a folder with its journal, or detects that another process
 * did. END: parts are missing or from another pack; `error` says which.
 */
sluice_status sl_pack_join_parts(const sl_output *output, uint64_t pack_id, uint32_t parts,
                                 sluice_pack_result *result, sluice_error *error);

#endif
