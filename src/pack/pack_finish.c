/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_finish: ends a pack: reading back, the list of rejected samples, and last the manifest. Runs
 * on the calling thread of a pack.
 */
#include "error.h"
#include "file.h"
#include "pack_state.h"
#include "rejected.h"
#include "shards.h"
#include "verify.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STAGE "pack"

/* ---- files of a dataset other than shards ---- */

static sluice_status copy_left_out(const sl_left_out_file *file, uint64_t expected, FILE *to,
                                   sluice_error *error)
{
    uint64_t count = 0;
    const sluice_status status = sl_left_out_read(file, &count, NULL, to, error);
    if (status == SLUICE_END || (status == SLUICE_OK && count != expected)) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, file->output->path, -1,
                             "unknown which %llu samples of shard %u were rejected: its .rejected "
                             "file is missing or corrupt, and its part must be packed again",
                             (unsigned long long)expected, file->number);
    }
    return status;
}

static sluice_status copy_all_left_out(const sl_left_out_file *of, const sl_ranges *ranges,
                                       const sl_series *series, FILE *to, sluice_error *error)
{
    const uint64_t range_count = sl_ranges_count(ranges);
    sluice_status status = SLUICE_OK;
    uint32_t row = 0;
    while (row < series->count && series->rows[row].number < ranges->shards) {
        row++;
    }
    for (uint64_t k = 0; status == SLUICE_OK && k < range_count; k++) {
        sl_left_out_file file = *of;
        file.number = sl_ranges_number(ranges, k);
        file.first = sl_ranges_first(ranges, k);
        file.end = sl_ranges_first(ranges, k + 1);
        const bool has_shard = row < series->count && series->rows[row].number == file.number;
        const uint64_t samples = has_shard ? series->rows[row].samples : 0;
        row += has_shard;
        if (samples < file.end - file.first) {
            status = copy_left_out(&file, file.end - file.first - samples, to, error);
        }
    }
    return status;
}

static sluice_status cannot_write(const sl_output *output, sluice_error *error)
{
    return sl_error_file(error, SLUICE_IO, STAGE, 0, output->path, -1,
                         "cannot write " SL_REJECTED_NAME);
}

/*
 * Returns the bytes of a block that belong to the first `most` lines of the file; `*lines`: lines
 * before the block, then also those in it.
 */
static size_t pack_finish_take_lines(const char *block, size_t size, uint64_t most, uint64_t *lines)
{
    size_t taken = 0;
    while (taken < size && *lines < most) {
        *lines += block[taken++] == '\n';
    }
    return taken;
}

/*
 * Copies heading and lines of the existing rejected.tsv; `to` NULL: only checks them. Lines added
 * after the dataset was complete, by a run that ended early, are skipped.
 */
static sluice_status copy_known(const sl_output *output, uint64_t known, FILE *to,
                                sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    char block[4096];
    int fd = -1;
    sl_file_identity file = {0};
    uint64_t lines = 0;
    bool good = true;
    sluice_status status = sl_output_name(output, SL_REJECTED_NAME, false, path, error);
    if (status == SLUICE_OK) {
        status = sl_file_open((sl_file_name){STAGE, path}, &fd, &file, error);
    }
    for (uint64_t at = 0; status == SLUICE_OK && good && lines <= known && at < file.bytes;
         at += sizeof(block)) {
        const uint64_t left = file.bytes - at;
        const size_t size = left < sizeof(block) ? (size_t)left : sizeof(block);
        status = sl_file_read(fd, (sl_file_name){STAGE, path}, block, size, at, error);
        const size_t taken =
            status == SLUICE_OK ? pack_finish_take_lines(block, size, known + 1, &lines) : 0;
        good = to == NULL || fwrite(block, 1, taken, to) == taken;
    }
    sl_file_close(fd);
    if (status < 0) {
        return status;
    }
    if (good && lines <= known) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                             "has %llu lines instead of %llu, one per rejected sample",
                             (unsigned long long)lines, (unsigned long long)known + 1);
    }
    return good ? SLUICE_OK : cannot_write(output, error);
}

sluice_status sl_pack_check_rejected(const sl_output *output, uint64_t known, sluice_error *error)
{
    return known > 0 ? copy_known(output, known, NULL, error) : SLUICE_OK;
}

static sluice_status begin_rejected(const sl_output *output, uint64_t known, FILE *to,
                                    sluice_error *error)
{
    if (known > 0) {
        return copy_known(output, known, to, error);
    }
    return fputs(SL_REJECTED_HEADING, to) < 0 ? cannot_write(output, error) : SLUICE_OK;
}

sluice_status sl_pack_write_rejected(const sl_output *output, const sl_journal *journal,
                                     const sl_ranges *ranges, const sl_series *series,
                                     uint64_t known, sluice_error *error)
{
    if (series->samples == ranges->before + ranges->positions) {
        return sl_output_remove_file(output, SL_REJECTED_NAME, error);
    }
    int fd = -1;
    sluice_status status = sl_output_create(output, SL_REJECTED_NAME, &fd, error);
    if (status < 0) {
        return status;
    }
    FILE *to = sl_rejected_open(fd);
    if (to == NULL) {
        sl_file_close(fd);
        sl_output_discard(output, SL_REJECTED_NAME);
        return cannot_write(output, error);
    }
    const sl_left_out_file of = {.output = output, .shard_id = sl_journal_shard_id(journal)};
    status = begin_rejected(output, known, to, error);
    if (status == SLUICE_OK) {
        status = copy_all_left_out(&of, ranges, series, to, error);
    }
    if (status == SLUICE_OK && fflush(to) != 0) {
        status = cannot_write(output, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_sync(output, SL_REJECTED_NAME, fd, error);
    }
    (void)fclose(to);
    if (status == SLUICE_OK) {
        status = sl_output_publish(output, SL_REJECTED_NAME, error);
    }
    if (status < 0) {
        sl_output_discard(output, SL_REJECTED_NAME);
    }
    return status;
}

sluice_status sl_pack_write_options(const sl_output *output, const char *head, sluice_error *error)
{
    if (strstr(head, "\tmax_side=") == NULL && strstr(head, "\traw_share=") == NULL) {
        return sl_output_remove_file(output, SL_OPTIONS_NAME, error);
    }
    char line[SL_JOURNAL_HEAD_BYTES + 2];
    const int length = snprintf(line, sizeof(line), "%s\n", head);
    const sluice_status status =
        sl_output_write(output, SL_OPTIONS_NAME, line, (size_t)length, error);
    return status == SLUICE_OK ? sl_output_publish(output, SL_OPTIONS_NAME, error) : status;
}

/* ---- reading back ---- */

/* State of reading back the written dataset. */
typedef struct back {
    sl_pack_state *pack;
    sluice_error first; /* first finding; becomes the pack's error */
} back;

static void keep_first(void *user, const sluice_error *finding)
{
    back *b = user;
    if (b->first.status == 0) {
        b->first = *finding;
    }
}

/* Reports that the pack is alive; everything is already written. */
static void keep_reporting(void *user, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    sl_pack_report(((back *)user)->pack, false);
}

static int32_t stop_reading(void *user)
{
    const back *b = user;
    const sluice_pack_options *options = b->pack->options;
    return options->should_stop != NULL ? options->should_stop(options->user) : 0;
}

static sluice_status read_back(sl_pack_state *p, const char *manifest, sluice_error *error)
{
    sl_dataset *packed;
    back b = {.pack = p};
    sl_error_clear(&b.first);
    sluice_status status = sl_shards_open_manifest(&packed, manifest, error);
    if (status < 0) {
        return status;
    }
    const sluice_verify_options options = {.struct_size = sizeof(options),
                                           .workers = p->options->workers,
                                           .parts = 1,
                                           .max_sample_bytes = SL_RECORD_BYTES_MAX,
                                           .on_finding = keep_first,
                                           .on_progress = keep_reporting,
                                           .user = &b,
                                           .should_stop = stop_reading};
    sluice_verify_result result;
    status = sl_verify(packed, &options, SL_VERIFY_COPY, &result, error);
    sl_dataset_close(packed);
    if (status == SLUICE_OK && result.bad > 0) {
        if (error != NULL) {
            *error = b.first;
        }
        return (sluice_status)b.first.status;
    }
    return status;
}

/* Writes the manifest of this run, reads the shards back, and renames the manifest. */
static sluice_status pack_finish_publish(sl_pack_state *p, const char *name, sluice_error *error)
{
    char manifest[SL_OUTPUT_PATH_BYTES];
    const sl_manifest_plan plan = {name, sl_pack_positions(p), p->series.plan.pack_id};
    sluice_status status = sl_series_write_manifest(&p->series, &plan, manifest, error);
    if (status < 0) {
        return status;
    }
    if (!p->options->skip_verify && p->series.count > 0) {
        status = read_back(p, manifest, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_publish(&p->output, name, error);
    }
    if (status < 0) {
        sl_output_discard(&p->output, name);
    }
    return status;
}

/* ---- the end ---- */

static sluice_status finish_whole(sl_pack_state *p, sluice_error *error)
{
    sluice_status status =
        sl_pack_write_rejected(&p->output, &p->journal, &p->ranges, &p->series, 0, error);
    if (status == SLUICE_OK && p->series.count == 0) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, p->output.path, -1,
                             "every sample was rejected: see " SL_REJECTED_NAME);
    }
    if (status == SLUICE_OK) {
        status = pack_finish_publish(p, SL_MANIFEST_NAME, error);
    }
    if (status == SLUICE_OK) {
        status = sl_pack_write_options(&p->output, p->journal.head, error);
    }
    return status == SLUICE_OK ? sl_pack_clear_up(&p->output, p->pack_id, error) : status;
}

static sluice_status finish_part(sl_pack_state *p, bool *joined, sluice_error *error)
{
    char name[48];
    const uint32_t parts = p->options->parts;
    sluice_pack_result whole;
    (void)snprintf(name, sizeof(name), SL_PART_NAME_FORMAT, p->options->part, parts);
    sluice_status status = pack_finish_publish(p, name, error);
    if (status == SLUICE_OK) {
        status = sl_pack_join_parts(&p->output, p->pack_id, parts, &whole, error);
    }
    *joined = status == SLUICE_OK;
    return status == SLUICE_END ? SLUICE_OK : status;
}

sluice_status sl_pack_finish(sl_pack_state *p, sluice_pack_result *result, sluice_error *error)
{
    bool joined = true;
    sl_series_put_in_order(&p->series);
    const sluice_status status = p->options->parts > 1 || p->options->append != 0
                                     ? finish_part(p, &joined, error)
                                     : finish_whole(p, error);
    if (status < 0) {
        return status;
    }
    const uint64_t shards = sl_ranges_count(&p->ranges);
    const uint32_t parts = p->options->parts;
    const bool cut = sl_pack_cuts_for_parts(p) && p->ranges.length == sl_pack_share(p);
    *result = (sluice_pack_result){.struct_size = sizeof(*result),
                                   .idle_parts = shards < parts ? parts - (uint32_t)shards : 0,
                                   .cut_for_parts = cut,
                                   .shards = p->series.count,
                                   .samples = p->series.samples,
                                   .rejected = p->rejected,
                                   .bytes = p->series.file_bytes,
                                   .resumed_samples = p->resumed_samples,
                                   .jpegs_retiled = p->jpegs[SL_JPEG_RETILED],
                                   .jpegs_kept = sl_pack_kept(p),
                                   .kept_large_mcu = p->jpegs[SL_JPEG_LARGE_MCU],
                                   .kept_incomplete = p->jpegs[SL_JPEG_INCOMPLETE],
                                   .kept_unusual = p->jpegs[SL_JPEG_UNUSUAL],
                                   .kept_different = p->jpegs[SL_JPEG_DIFFERENT],
                                   .jpeg_bytes_before = p->jpeg_bytes_before,
                                   .jpeg_bytes_after = p->jpeg_bytes_after,
                                   .complete = joined,
                                   .decoded = p->decoded,
                                   .decoded_bytes_before = p->decoded_bytes_before,
                                   .decoded_bytes_after = p->decoded_bytes_after,
                                   .resized = p->resized,
                                   .resized_bytes_before = p->resized_bytes_before,
                                   .resized_bytes_after = p->resized_bytes_after};
    return SLUICE_OK;
}
