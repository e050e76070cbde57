/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_join: joins the parts of a pack.
 *
 * Any number of processes may do this at once: each makes the same files and renames them
 * atomically, and removes files only after that.
 */
#include "error.h"
#include "file.h"
#include "memory.h"
#include "pack_state.h"
#include "rejected.h"
#include "shards.h"
#include "store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAGE       "pack"
#define NAMED_PARTS 8u

typedef struct joining {
    const sl_output *output;
    sl_journal journal;
    sl_ranges ranges;
    uint64_t pack_id, shard_id;
    uint32_t parts;
    uint64_t known; /* number of samples left out by the dataset that is added to */
    bool opened;    /* true if the series is open */
    sl_series series;
} joining;

/* ---- which parts there are ---- */

static bool has_part(const sl_output *output, uint32_t part, uint32_t parts)
{
    char name[48];
    (void)snprintf(name, sizeof(name), SL_PART_NAME_FORMAT, part, parts);
    return faccessat(output->fd, name, F_OK, 0) == 0;
}

/* Checks that all parts exist. END: some are missing; the error says which. */
static sluice_status check_parts(const sl_output *output, uint32_t parts, sluice_error *error)
{
    char missing[128] = "";
    size_t length = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < parts; i++) {
        if (has_part(output, i, parts)) {
            continue;
        }
        if (count++ < NAMED_PARTS) {
            length += (size_t)snprintf(missing + length, sizeof(missing) - length, "%s%" PRIu32,
                                       count > 1 ? ", " : "", i);
        }
    }
    if (count == 0) {
        return SLUICE_OK;
    }
    sl_error_file(error, SLUICE_STATE, STAGE, 0, output->path, -1,
                  "the pack has %u parts, counted from 0; %u %s missing: %s%s: not begun, "
                  "interrupted, or still being written",
                  parts, count, count == 1 ? "is" : "are", missing,
                  count > NAMED_PARTS ? ", ..." : "");
    return SLUICE_END;
}

/* ---- reading them ---- */

static sluice_status pack_join_open_series(joining *j, const sl_dataset *part, sluice_error *error)
{
    const sluice_status status =
        sl_series_open_like(&j->series, j->output, part, part->fields, error);
    if (status == SLUICE_OK) {
        j->opened = true;
        sl_series_settle(&j->series, j->shard_id);
    }
    return status;
}

/* What a part's manifest must match. */
typedef struct part_file {
    char path[SL_OUTPUT_PATH_BYTES];
    uint32_t part;
    uint64_t first, end; /* ranges */
} part_file;

/* Reports a part that does not belong. END: it counts as missing. */
static sluice_status pack_join_pass_over(const part_file *file, sluice_error *error)
{
    sl_error_file(error, SLUICE_STATE, STAGE, 0, file->path, -1,
                  "part %" PRIu32
                  " is from another source, or packed with other options: pack it again",
                  file->part);
    return SLUICE_END;
}

static sluice_status pack_join_refuse_part(const part_file *file, const char *what,
                                           sluice_error *error)
{
    return sl_error_file(error, SLUICE_STATE, STAGE, 0, file->path, -1,
                         "part %" PRIu32 " %s: delete this file, then pack the part again",
                         file->part, what);
}

/*
 * Checks that the shard's header, which identifies its samples, is the one in the part's manifest.
 */
static sluice_status pack_join_check_shard(const joining *j, const part_file *file,
                                           const char *name, const sl_shard_row *row,
                                           sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    sl_handle from;
    sl_file_identity found = {0};
    sl_shard_header header;
    sluice_error reason;
    sluice_status status = sl_output_name(j->output, name, false, path, error);
    if (status < 0) {
        return status;
    }
    status = sl_handle_open(&from, (sl_file_name){STAGE, path}, &found, &reason);
    if (status < 0) {
        return sl_error_file(error, reason.sys_errno == ENOENT ? SLUICE_STATE : SLUICE_IO, STAGE,
                             reason.sys_errno, file->path, -1,
                             "cannot find %s, which part %" PRIu32 " made", name, file->part);
    }
    status = sl_shard_read_header(&from, found.bytes, &header, &reason);
    sl_handle_close(&from);
    if (status < 0 || !sl_shard_row_matches(row, &header)) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                             "not the shard that part %" PRIu32
                             " made: delete %s, then pack the part again",
                             file->part, file->path);
    }
    return SLUICE_OK;
}

static sluice_status pack_join_check_row(const joining *j, const part_file *file,
                                         const sl_shard_row *row, sluice_error *error)
{
    char name[32];
    const uint64_t k = (uint64_t)row->number - j->ranges.shards; /* may wrap; checked below */
    if (k < file->first || k >= file->end ||
        row->samples > sl_ranges_first(&j->ranges, k + 1) - sl_ranges_first(&j->ranges, k)) {
        return pack_join_refuse_part(file, "has shards of another pack", error);
    }
    (void)snprintf(name, sizeof(name), SL_SHARD_NAME_FORMAT, row->number);
    return pack_join_check_shard(j, file, name, row, error);
}

static sluice_status pack_join_take_rows(joining *j, const part_file *file, const sl_dataset *part,
                                         sluice_error *error)
{
    const sl_shards *shards = sl_shards_of(part);
    sluice_status status = j->opened ? SLUICE_OK : pack_join_open_series(j, part, error);
    if (status == SLUICE_OK && (shards->meta_checksum != j->series.plan.meta_checksum ||
                                shards->meta_bytes != j->series.plan.meta_bytes)) {
        return pack_join_refuse_part(file, "has other fields or classes than the others", error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < shards->count; i++) {
        status = pack_join_check_row(j, file, &shards->shards[i].row, error);
        if (status == SLUICE_OK) {
            status = sl_series_add_row(&j->series, &shards->shards[i].row, error);
        }
    }
    return status;
}

static sluice_status pack_join_take_part(joining *j, uint32_t part, sluice_error *error)
{
    char name[48];
    sl_manifest_header header = {0};
    part_file file = {.part = part,
                      .first = sl_ranges_of_part(&j->ranges, part, j->parts),
                      .end = sl_ranges_of_part(&j->ranges, part + 1, j->parts)};
    (void)snprintf(name, sizeof(name), SL_PART_NAME_FORMAT, part, j->parts);
    sluice_status status = sl_pack_read_page(j->output, name, file.path, &header, error);
    if (status < 0) {
        return status;
    }
    if (header.pack_id != j->shard_id) {
        return pack_join_pass_over(&file, error);
    }
    if (header.source_samples !=
        sl_ranges_first(&j->ranges, file.end) - sl_ranges_first(&j->ranges, file.first)) {
        return pack_join_refuse_part(&file, "covers another range of samples than in this pack",
                                     error);
    }
    if (header.shards == 0) {
        return SLUICE_OK;
    }
    sl_dataset *dataset;
    status = sl_shards_open_manifest(&dataset, file.path, error);
    if (status == SLUICE_OK) {
        status = pack_join_take_rows(j, &file, dataset, error);
        sl_dataset_close(dataset);
    }
    return status;
}

/* ---- one dataset ---- */

/* Adds the existing rows first, since rows are in order; their dataset may have fewer classes. */
static sluice_status take_base(joining *j, sluice_error *error)
{
    sl_dataset *base;
    sluice_status status = sl_pack_open_base(j->output, &j->journal, &base, &j->known, error);
    if (status < 0) {
        return status;
    }
    const sl_shards *shards = sl_shards_of(base);
    status = j->opened ? SLUICE_OK : pack_join_open_series(j, base, error);
    if (status == SLUICE_OK && !sl_schema_extends(&j->series.schema, &shards->schema)) {
        status = sl_error_file(error, SLUICE_STATE, STAGE, 0, j->output->path, -1,
                               "the fields or classes of the parts differ from those of the "
                               "dataset they are added to: pack them again");
    }
    j->series.grown = shards->grown || shards->meta_bytes != j->series.plan.meta_bytes;
    for (uint32_t i = 0; status == SLUICE_OK && i < shards->count; i++) {
        status = sl_series_add_row(&j->series, &shards->shards[i].row, error);
    }
    sl_dataset_close(base);
    return status;
}

/* for a moment, rejected.tsv may list more than the existing dataset left out */
static sluice_status pack_join_publish(joining *j, sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    const sl_manifest_plan plan = {SL_MANIFEST_NAME, j->ranges.before + j->ranges.positions,
                                   j->pack_id};
    sl_series_put_in_order(&j->series);
    sluice_status status =
        sl_pack_write_rejected(j->output, &j->journal, &j->ranges, &j->series, j->known, error);
    if (status == SLUICE_OK && j->series.count == 0) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, j->output->path, -1,
                             "every sample was rejected: see " SL_REJECTED_NAME);
    }
    if (status == SLUICE_OK) {
        status = sl_series_write_manifest(&j->series, &plan, path, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_publish(j->output, SL_MANIFEST_NAME, error);
    }
    return status == SLUICE_OK ? sl_pack_write_options(j->output, j->journal.head, error) : status;
}

static sluice_status pack_join_parts(joining *j, sluice_pack_result *result, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < j->parts; i++) {
        status = pack_join_take_part(j, i, error);
    }
    if (status == SLUICE_OK && j->journal.before > 0) {
        status = take_base(j, error);
    }
    if (status == SLUICE_OK) {
        status = pack_join_publish(j, error);
    }
    if (status == SLUICE_OK) {
        *result = (sluice_pack_result){.struct_size = sizeof(*result),
                                       .shards = j->series.count,
                                       .samples = j->series.samples,
                                       .rejected = j->ranges.before + j->ranges.positions -
                                                   j->series.samples,
                                       .bytes = j->series.file_bytes,
                                       .complete = 1};
    }
    return status;
}

/* Begins with the journal's first line. */
static sluice_status pack_join_begin(joining *j, sluice_error *error)
{
    static const char name[] = "\tsamples=";
    const char *samples = strstr(j->journal.head, name);
    const uint64_t positions = samples != NULL ? strtoull(samples + sizeof(name) - 1, NULL, 10) : 0;
    if (positions == 0) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, j->output->path, -1,
                             "the journal does not say how many samples are packed");
    }
    j->shard_id = sl_journal_shard_id(&j->journal);
    j->ranges = (sl_ranges){.positions = positions,
                            .length = j->journal.shard_samples,
                            .shards = j->journal.shards,
                            .before = j->journal.before};
    if (sl_journal_pack_id(&j->journal) != j->pack_id ||
        sl_ranges_count(&j->ranges) > SL_SHARDS_MAX - j->ranges.shards) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, j->output->path, -1,
                             "the journal belongs to another pack, or has too many shards");
    }
    return SLUICE_OK;
}

static sluice_status join_known(joining *j, sluice_pack_result *result, sluice_error *error)
{
    sluice_status status = sl_journal_read(j->output, &j->journal, error);
    if (status == SLUICE_END) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, j->output->path, -1,
                             "no pack to join: no " SL_JOURNAL_NAME);
    }
    if (status == SLUICE_OK) {
        status = pack_join_begin(j, error);
    }
    if (status == SLUICE_OK) {
        status = check_parts(j->output, j->parts, error);
    }
    return status == SLUICE_OK ? pack_join_parts(j, result, error) : status;
}

sluice_status sl_pack_join_parts(const sl_output *output, uint64_t pack_id, uint32_t parts,
                                 sluice_pack_result *result, sluice_error *error)
{
    joining *j = sl_calloc(1, sizeof(*j));
    if (j == NULL) {
        return sl_no_memory(error, STAGE, "joining parts");
    }
    j->output = output;
    j->pack_id = pack_id;
    j->parts = parts;
    j->series.writer.fd = -1;
    sluice_status status = join_known(j, result, error);
    /* a failure because another process was faster is not one */
    if (status != SLUICE_OK && sl_pack_is_joined(output, pack_id, result)) {
        status = SLUICE_OK;
    }
    sl_series_close(&j->series);
    sl_free(j);
    return status == SLUICE_OK ? sl_pack_clear_up(output, pack_id, error) : status;
}

/*
 * Joins the set of parts that is complete and belongs to this pack; otherwise reports the problem
 * of the largest set.
 */
static sluice_status join_sets(const sl_output *output, uint64_t pack_id,
                               const sl_output_contents *contents, sluice_pack_result *result,
                               sluice_error *error)
{
    const sl_part_set *most = &contents->sets[0];
    sluice_status status = SLUICE_END;
    for (uint32_t i = 0; status == SLUICE_END && i < SL_OUTPUT_SETS_MAX; i++) {
        const sl_part_set *set = &contents->sets[i];
        if (set->count > 0 && set->count == set->parts) {
            status = sl_pack_join_parts(output, pack_id, set->parts, result, error);
        }
        most = set->count > most->count ? set : most;
    }
    if (status == SLUICE_END && most->count < most->parts) {
        status = sl_pack_join_parts(output, pack_id, most->parts, result, error);
    }
    return status == SLUICE_END ? SLUICE_STATE : status;
}

/* Handles a folder without anything to join: it is a dataset, or cannot be one. */
static sluice_status take_whole(const sl_output *output, sluice_pack_result *result,
                                sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    sl_manifest_header header = {0};
    sl_output_contents contents; /* read now: another join may have removed the journal */
    sluice_status status = sl_output_survey(output, &contents, error);
    if (status < 0) {
        return status;
    }
    if (!contents.manifest || contents.sets[0].count > 0) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, output->path, -1,
                             contents.sets[0].count > 0 ? "the parts' " SL_JOURNAL_NAME
                                                          " is missing from their folder"
                                                        : "no parts of a pack here");
    }
    status = sl_pack_read_page(output, SL_MANIFEST_NAME, path, &header, error);
    return status == SLUICE_OK ? sl_pack_take_finished(output, header.pack_id, result, error)
                               : status;
}

static sluice_status join_folder(const sl_output *output, sluice_pack_result *result,
                                 sluice_error *error)
{
    sl_output_contents contents;
    sl_journal journal = {0};
    sluice_status status = sl_output_survey(output, &contents, error);
    if (status == SLUICE_OK) {
        status = sl_journal_read(output, &journal, error);
    }
    if (status != SLUICE_OK) {
        return status == SLUICE_END ? take_whole(output, result, error) : status;
    }
    const uint64_t pack_id = sl_journal_pack_id(&journal);
    if (contents.sets[0].count == 0) {
        return sl_pack_is_joined(output, pack_id, result)
                   ? SLUICE_OK
                   : sl_error_file(error, SLUICE_STATE, STAGE, 0, output->path, -1,
                                   "no part of this pack is complete yet");
    }
    return join_sets(output, pack_id, &contents, result, error);
}

sluice_status sl_pack_join(const char *path, sluice_pack_result *result, sluice_error *error)
{
    struct stat found;
    sl_output output = {.fd = -1};
    errno = 0;
    if (stat(path, &found) != 0 || !S_ISDIR(found.st_mode)) {
        return sl_error_file(error, SLUICE_IO, STAGE, errno != 0 ? errno : ENOTDIR, path, -1,
                             "not a folder with parts of a pack");
    }
    sluice_status status = sl_output_open(&output, path, true, error);
    if (status == SLUICE_OK) {
        status = join_folder(&output, result, error);
    }
    sl_output_close(&output);
    return status;
}
