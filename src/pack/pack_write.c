/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_write: the main phase of a pack: writes records in position order into shards. Runs on the
 * calling thread; prepare has the workers.
 */
#include "clock.h"
#include "error.h"
#include "pack_state.h"
#include "shard_format.h"

#define STAGE       "pack"
#define NONE        UINT32_MAX
#define PROGRESS_NS 200000000u

uint64_t sl_pack_kept(const sl_pack_state *p)
{
    uint64_t count = 0;
    for (int outcome = SL_JPEG_AS_ASKED; outcome < SL_JPEG_OUTCOMES; outcome++) {
        count += p->jpegs[outcome];
    }
    return count;
}

void sl_pack_report(sl_pack_state *p, bool always)
{
    uint64_t now = sl_now_ns();
    if (p->options->on_progress == NULL || (!always && now - p->reported_ns < PROGRESS_NS)) {
        return;
    }
    p->reported_ns = now;
    const sluice_pack_progress progress = {
        .struct_size = sizeof(progress),
        .shards = p->series.count,
        .samples_done = p->positions_done,
        .samples_total = sl_pack_positions(p),
        .bytes_written =
            p->series.file_bytes + (p->series.writer.fd >= 0 ? p->series.writer.data_bytes : 0),
        .rejected = p->rejected,
        .jpegs_retiled = p->jpegs[SL_JPEG_RETILED],
        .jpegs_kept = sl_pack_kept(p),
        .jpeg_bytes_before = p->jpeg_bytes_before,
        .jpeg_bytes_after = p->jpeg_bytes_after,
    };
    p->options->on_progress(p->options->user, &progress);
}

sluice_status sl_pack_check_stop(const sl_pack_state *p, sluice_error *error)
{
    const bool stop = sl_stop_ask();
    if (!sl_output_is_ours(&p->output)) { /* a callback's child has returned from it */
        return sl_error_set(error, SLUICE_STATE, STAGE,
                            "the pack belongs to the process that began it, not to a fork");
    }
    return stop ? sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped: a later call continues")
                : SLUICE_OK;
}

static void seek(sl_pack_state *p, uint64_t k)
{
    sl_series_seek(&p->series, sl_ranges_number(&p->ranges, k),
                   p->ranges.before + sl_ranges_first(&p->ranges, k));
}

/* ---- existing contents ---- */

/* Finds the file of a position's sample if it is compressed; NONE. The order is kept. */
static sluice_status packed_file_of(const sl_pack_state *p, uint64_t position, uint32_t *file,
                                    sluice_error *error)
{
    sl_sample sample;
    const sluice_status status = sl_dataset_find(p->dataset, position, &sample, error);
    *file = NONE;
    if (status == SLUICE_OK &&
        sl_objects_packed(p->dataset->objects, sample.place.object).packing != SL_PACKING_NONE) {
        *file = sample.place.object;
    }
    return status;
}

/*
 * Finds the file whose shards must be made again. The result of an earlier run for a compressed
 * file is only valid if the whole file is, which its end shows. The run reached that end if it made
 * something of the next such file, so the shards with samples of the last one are made again. NONE:
 * there are none.
 */
static sluice_status find_unproven(sl_pack_state *p, uint32_t *file, sluice_error *error)
{
    sl_shard_row row;
    uint64_t k = p->end;
    sluice_status status = SLUICE_END;
    *file = NONE;
    if (p->dataset->info.front_to_back == 0) {
        return SLUICE_OK;
    }
    while (status == SLUICE_END && k > p->first) {
        seek(p, --k);
        status = sl_series_look(&p->series, p->ranges.before + sl_ranges_first(&p->ranges, k + 1),
                                &row, error);
    }
    uint64_t position = status == SLUICE_OK ? sl_ranges_first(&p->ranges, k + 1) : 0;
    while (status == SLUICE_OK && *file == NONE && position > 0) {
        status = packed_file_of(p, --position, file, error);
    }
    return status < 0 ? status : SLUICE_OK;
}

/* Determines whether some of range `k` is in the file. */
static sluice_status lies_in(const sl_pack_state *p, uint64_t k, uint32_t file, bool *lies,
                             sluice_error *error)
{
    const uint64_t next = sl_ranges_first(&p->ranges, k + 1);
    sluice_status status = SLUICE_OK;
    *lies = false;
    for (uint64_t i = sl_ranges_first(&p->ranges, k);
         file != NONE && status == SLUICE_OK && !*lies && i < next; i++) {
        uint32_t own;
        status = packed_file_of(p, i, &own, error);
        *lies = own == file;
    }
    return status;
}

/* Takes over range `k` if an earlier run completed it. */
static sluice_status adopt(sl_pack_state *p, uint64_t k, sluice_error *error)
{
    const uint64_t first = sl_ranges_first(&p->ranges, k);
    const uint64_t next = sl_ranges_first(&p->ranges, k + 1);
    const sl_left_out_file file = {&p->output, p->series.plan.pack_id, first, next,
                                   sl_ranges_number(&p->ranges, k)};
    sl_shard_row row = {0};
    uint64_t left_out = 0;
    sluice_error earliest;
    seek(p, k);
    sluice_status status = sl_series_look(&p->series, p->ranges.before + next, &row, error);
    const bool has_shard = status == SLUICE_OK;
    if (status >= 0 && row.samples < next - first) {
        status = sl_left_out_read(&file, &left_out, &earliest, NULL, error);
    }
    if (status != SLUICE_OK || row.samples + left_out != next - first) {
        return status < 0 ? status : SLUICE_OK;
    }
    if (left_out > 0 && p->options->on_bad == SLUICE_PACK_BAD_FAIL) {
        if (error != NULL) {
            *error = earliest;
        }
        return (sluice_status)earliest.status;
    }
    p->done[k - p->first] = 1;
    p->rejected += left_out;
    p->resumed_samples += row.samples;
    p->positions_done += next - first;
    return has_shard ? sl_series_add_row(&p->series, &row, error) : SLUICE_OK;
}

/* ---- the rest ---- */

/* Counts a sample that was written. */
static void pack_write_count(sl_pack_state *p, const sl_made *made)
{
    for (int outcome = 0; outcome < SL_JPEG_OUTCOMES; outcome++) {
        p->jpegs[outcome] += made->jpegs[outcome];
    }
    p->jpeg_bytes_before += made->jpeg_bytes_before;
    p->jpeg_bytes_after += made->jpeg_bytes_after;
    p->decoded += made->decoded;
    p->decoded_bytes_before += made->decoded_bytes_before;
    p->decoded_bytes_after += made->decoded_bytes_after;
    p->resized += made->resized;
    p->resized_bytes_before += made->resized_bytes_before;
    p->resized_bytes_after += made->resized_bytes_after;
    if (made->kept.status < 0 && p->options->on_kept != NULL) {
        p->options->on_kept(p->options->user, &made->kept);
    }
}

static sluice_status pack_write_one(sl_pack_state *p, const sl_prepared *prepared,
                                    sluice_error *error)
{
    const sl_made *made = prepared->made;
    if (prepared->status < 0) {
        if (prepared->fatal || p->options->on_bad == SLUICE_PACK_BAD_FAIL) {
            if (error != NULL) {
                *error = prepared->error;
            }
            return prepared->status;
        }
        p->rejected++;
        return sl_left_out_add(&p->left_out, p->series.number, prepared->position, prepared->key,
                               &prepared->error, error);
    }
    const sluice_status status = sl_series_add(&p->series, &made->record, error);
    if (status == SLUICE_OK) {
        pack_write_count(p, made);
    }
    return status;
}

/*
 * Checks that the journal still exists: a process that starts over in this folder, or finishes,
 * removes it.
 */
static sluice_status check_journal(const sl_pack_state *p, sluice_error *error)
{
    sl_journal now = {0};
    const sluice_status status = sl_journal_read(&p->output, &now, error);
    if (status < 0) {
        return status;
    }
    if (status == SLUICE_END || sl_journal_shard_id(&now) != p->series.plan.pack_id ||
        now.shard_samples != p->journal.shard_samples) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, p->output.path, -1,
                             "another process removed this pack's " SL_JOURNAL_NAME
                             ": it finished the pack, or started over");
    }
    return SLUICE_OK;
}

/* Completes a range. Its left-out samples are written before its shard becomes visible. */
static sluice_status pack_write_complete(sl_pack_state *p, uint64_t next, sluice_error *error)
{
    sluice_status status = check_journal(p, error);
    if (status == SLUICE_OK) {
        status = sl_left_out_publish(&p->left_out, error);
    }
    return status == SLUICE_OK ? sl_series_cut(&p->series, p->ranges.before + next, error) : status;
}

/* Packs ranges [k, end), all of them still to do. */
static sluice_status write_ranges(sl_pack_state *p, uint64_t k, uint64_t end, sluice_error *error)
{
    const sl_prepare_config config = sl_pack_prepare_for(p, &p->job, sl_ranges_first(&p->ranges, k),
                                                         sl_ranges_first(&p->ranges, end));
    sluice_status status = sl_prepare_open(&p->prepare, &config, error);
    for (uint64_t position = config.first; status == SLUICE_OK && position < config.end;
         position++) {
        if (position == sl_ranges_first(&p->ranges, k)) {
            seek(p, k++);
        }
        sl_prepared *prepared;
        status = sl_prepare_next(p->prepare, &prepared, error);
        if (status < 0) {
            break;
        }
        status = pack_write_one(p, prepared, error);
        sl_prepare_done(p->prepare, prepared);
        if (status == SLUICE_OK && position + 1 == sl_ranges_first(&p->ranges, k)) {
            status = pack_write_complete(p, position + 1, error);
        }
        p->positions_done++;
        sl_pack_report(p, false);
        status = status == SLUICE_OK ? sl_pack_check_stop(p, error) : status;
    }
    sl_prepare_close(p->prepare);
    p->prepare = NULL;
    return status;
}

sluice_status sl_pack_write(sl_pack_state *p, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    uint32_t unproven;
    p->left_out = (sl_left_out){.output = &p->output, .shard_id = p->series.plan.pack_id};
    status = find_unproven(p, &unproven, error);
    for (uint64_t k = p->first; status == SLUICE_OK && k < p->end; k++) {
        bool made_again = false;
        status = lies_in(p, k, unproven, &made_again, error);
        status = status == SLUICE_OK && !made_again ? adopt(p, k, error) : status;
    }
    p->job = sl_pack_job_for(p, &p->plan);
    uint64_t k = p->first;
    while (status == SLUICE_OK && k < p->end) {
        uint64_t end = k;
        while (end < p->end && !p->done[end - p->first]) {
            end++;
        }
        if (end > k) {
            status = write_ranges(p, k, end, error);
        }
        k = end + 1; /* the one at `end` is done */
    }
    return status == SLUICE_OK ? sl_objects_finish(p->dataset->objects, error) : status;
}
