/* SPDX-License-Identifier: Apache-2.0 */
#include "pack.h"

#include "checksum.h"
#include "clock.h"
#include "error.h"
#include "file.h"
#include "frames.h"
#include "memory.h"
#include "own_source.h"
#include "pack_state.h"
#include "rejected.h"
#include "shards.h"
#include "verify.h"

#include <stdio.h>
#include <string.h>

#define STAGE       "pack"
#define PROGRESS_NS 200000000u
/* Of samples read and not yet written, and for each worker's JPEG that is being re-tiled: the
 * coefficients of 12 Mpixel at 4:2:0 take half of that. */
#define BUDGET_BYTES        ((uint64_t)128 << 20)
#define BUDGET_WORKER_BYTES ((uint64_t)64 << 20)

typedef sl_pack_state pack;

static uint64_t kept(const pack *p)
{
    uint64_t count = 0;
    for (int outcome = SL_JPEG_AS_ASKED; outcome < SL_JPEG_OUTCOMES; outcome++) {
        count += p->jpegs[outcome];
    }
    return count;
}

static void report_progress(pack *p, uint64_t position, bool always)
{
    uint64_t now = sl_now_ns();
    if (p->options->on_progress == NULL || (!always && now - p->reported_ns < PROGRESS_NS)) {
        return;
    }
    p->reported_ns = now;
    const sluice_pack_progress progress = {
        .struct_size = sizeof(progress),
        .shards = p->series.count,
        .samples_done = position,
        .samples_total = p->dataset->info.samples,
        .bytes_written =
            p->series.file_bytes + (p->series.writer.fd >= 0 ? p->series.writer.data_bytes : 0),
        .rejected = p->journal.rejected,
        .jpegs_retiled = p->jpegs[SL_JPEG_RETILED],
        .jpegs_kept = kept(p),
        .jpeg_bytes_before = p->jpeg_bytes_before,
        .jpeg_bytes_after = p->jpeg_bytes_after,
    };
    p->options->on_progress(p->options->user, &progress);
}

static sluice_status check_stop(const pack *p, sluice_error *error)
{
    return p->options->should_stop != NULL && p->options->should_stop(p->options->user) != 0
               ? sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped: a later call goes on")
               : SLUICE_OK;
}

static sluice_status check_journal(pack *p, sluice_error *error)
{
    sluice_error first;
    sl_error_clear(&first);
    sluice_status status = sl_journal_rewind(&p->journal, p->series.next, &first, error);
    if (status < 0) {
        return status;
    }
    if (p->series.samples + p->journal.rejected != p->series.next ||
        p->series.next > p->dataset->info.samples) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, p->journal.path, -1,
                             "the journal does not fit the shards beside it: overwrite to start "
                             "anew");
    }
    if (p->options->on_bad == SLUICE_PACK_BAD_FAIL && p->journal.rejected > 0) {
        if (error != NULL) {
            *error = first;
        }
        return (sluice_status)first.status;
    }
    p->resumed_samples = p->series.samples;
    return SLUICE_OK;
}

static double raw_share(const sluice_pack_options *options)
{
    return options->raw != 0 ? 1 : options->raw_share;
}

static sl_pack_job_config job_config(const pack *p, const sl_record_plan *plan)
{
    const sluice_pack_options *options = p->options;
    sl_pack_job_config config = {
        .maker = {.plan = plan,
                  /* with raw there are no JPEGs */
                  .keep_bytes = options->keep_bytes != 0 || options->raw != 0,
                  .raw = raw_share(options) > 0,
                  .max_side = options->max_side,
                  .quality = options->quality,
                  .retile = {.max_pixels = SL_RECORD_PIXELS_MAX,
                             .max_bytes = SL_RECORD_IMAGE_MAX,
                             .tile_mcus = options->tile_mcus,
                             .drop_metadata = options->jpeg_metadata == SLUICE_JPEG_METADATA_DROP,
                             .fastest = options->tile_mcus == 0}}};
    sl_pack_job_draw(&config, p->dataset->info.samples, raw_share(options));
    return config;
}

static bool has_frames(const sl_record_plan *plan)
{
    bool any = false;
    for (uint32_t i = 0; i < plan->schema->field_count; i++) {
        any = any || plan->levels[i] != 0;
    }
    return any;
}

static sl_prepare_config prepare_config(const pack *p, const sl_pack_job_config *job,
                                        uint64_t first, uint64_t end)
{
    const sluice_pack_options *options = p->options;
    const bool retiles = options->keep_bytes == 0 && options->raw == 0;
    return (sl_prepare_config){
        .dataset = p->dataset,
        .job = &sl_pack_job,
        .config = job,
        .copies = has_frames(job->maker.plan),
        .keep_order = options->keep_order != 0,
        .workers = options->workers,
        .first = first,
        .end = end,
        .seed = options->seed,
        .budget_bytes = BUDGET_BYTES + (retiles ? options->workers * BUDGET_WORKER_BYTES : 0)};
}

/* Measures the first samples in the order in which they will be written; bad ones are left out. */
static sluice_status measure_frames(pack *p, sl_frames *frames, sluice_error *error)
{
    const uint64_t samples = p->dataset->info.samples;
    const sl_record_plan plain = {.schema = p->plan.schema};
    sl_pack_job_config job = job_config(p, &plain);
    job.maker.keep_bytes = true;
    const sl_prepare_config config = prepare_config(
        p, &job, 0, samples < SL_FRAMES_SAMPLES_MAX ? samples : SL_FRAMES_SAMPLES_MAX);
    sluice_status status = sl_prepare_open(&p->prepare, &config, error);
    for (uint64_t i = 0; status == SLUICE_OK && i < config.end && !sl_frames_have_enough(frames);
         i++) {
        sl_prepared *prepared = sl_prepare_next(p->prepare);
        const sl_made *made = prepared->made;
        if (prepared->status == SLUICE_OK) {
            status = sl_frames_add(frames, &made->record, error);
        } else if (prepared->fatal) {
            status = prepared->status;
            if (error != NULL) {
                *error = prepared->error;
            }
        }
        sl_prepare_done(p->prepare, prepared);
        status = status == SLUICE_OK ? check_stop(p, error) : status;
    }
    sl_prepare_close(p->prepare);
    p->prepare = NULL;
    return status;
}

/* Finds out which of the fields that are open are to be frames. */
static sluice_status choose_frames(pack *p, sluice_error *error)
{
    sl_frames frames = {.open = p->open};
    sluice_status status = p->open != 0 ? measure_frames(p, &frames, error) : SLUICE_OK;
    p->begin.framed = sl_frames_decide(&frames);
    sl_frames_close(&frames);
    return status;
}

static void settle(pack *p)
{
    sl_frames_settle(&p->plan, &p->series.schema, p->open, p->begin.framed);
    sl_series_settle(&p->series);
}

static sluice_status begin(pack *p, const sl_output_contents *contents, sluice_error *error)
{
    if (contents->journal) {
        sluice_status status = sl_journal_resume(&p->journal, &p->output, &p->begin, error);
        if (status == SLUICE_OK) {
            settle(p);
            status = sl_series_adopt(&p->series, error);
        }
        return status == SLUICE_OK ? check_journal(p, error) : status;
    }
    if (contents->shards > 0) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, p->output.path, -1,
                             "the folder holds shards without manifest or journal: overwrite to "
                             "replace them");
    }
    if (contents->foreign[0] && !p->options->overwrite) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, p->output.path, -1,
                             "the folder is not empty: it holds \"%s\"", contents->foreign);
    }
    sluice_status status = choose_frames(p, error);
    if (status == SLUICE_OK) {
        settle(p);
        status = sl_journal_create(&p->journal, &p->output, &p->begin, error);
    }
    return status;
}

static sluice_status cut(pack *p, uint64_t position, sluice_error *error)
{
    sluice_status status = sl_journal_sync(&p->journal, error);
    return status == SLUICE_OK ? sl_series_cut(&p->series, position, error) : status;
}

/* Counts a sample that was written. */
static void count(pack *p, const sl_made *made)
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

static sluice_status write_one(pack *p, const sl_prepared *prepared, sluice_error *error)
{
    const sl_made *made = prepared->made;
    if (prepared->status < 0) {
        if (prepared->fatal || p->options->on_bad == SLUICE_PACK_BAD_FAIL) {
            if (error != NULL) {
                *error = prepared->error;
            }
            return prepared->status;
        }
        return sl_journal_reject(&p->journal, prepared->position, prepared->key, &prepared->error,
                                 error);
    }
    if (sl_series_is_full(&p->series, &made->record)) {
        sluice_status status = cut(p, prepared->position, error);
        if (status < 0) {
            return status;
        }
    }
    sluice_status status = sl_series_add(&p->series, &made->record, error);
    if (status == SLUICE_OK) {
        count(p, made);
    }
    return status;
}

static sluice_status write_all(pack *p, sluice_error *error)
{
    const uint64_t samples = p->dataset->info.samples;
    p->job = job_config(p, &p->plan);
    const sl_prepare_config config = prepare_config(p, &p->job, p->series.next, samples);
    sluice_status status = sl_prepare_open(&p->prepare, &config, error);
    for (uint64_t position = config.first; status == SLUICE_OK && position < samples; position++) {
        sl_prepared *prepared = sl_prepare_next(p->prepare);
        status = write_one(p, prepared, error);
        sl_prepare_done(p->prepare, prepared);
        report_progress(p, position + 1, false);
        status = status == SLUICE_OK ? check_stop(p, error) : status;
    }
    return status == SLUICE_OK ? cut(p, samples, error) : status;
}

/* What was written, while it is read back. */
typedef struct back {
    pack *pack;
    sluice_error first; /* finding; becomes the pack's error */
} back;

static void keep_first(void *user, const sluice_error *finding)
{
    back *b = user;
    if (b->first.status == 0) {
        b->first = *finding;
    }
}

/* All is written: the caller only hears that the pack is alive. */
static void keep_reporting(void *user, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    back *b = user;
    report_progress(b->pack, b->pack->dataset->info.samples, false);
}

static int32_t stop_reading(void *user)
{
    const back *b = user;
    const sluice_pack_options *options = b->pack->options;
    return options->should_stop != NULL ? options->should_stop(options->user) : 0;
}

static sluice_status read_back(pack *p, const char *manifest, sluice_error *error)
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
                                           .on_finding = keep_first,
                                           .on_progress = keep_reporting,
                                           .user = &b,
                                           .should_stop = stop_reading};
    sluice_verify_result result;
    status = sl_verify(packed, &options, &result, error);
    sl_dataset_close(packed);
    if (status == SLUICE_OK && result.bad > 0) {
        if (error != NULL) {
            *error = b.first;
        }
        return (sluice_status)b.first.status;
    }
    return status;
}

/* Where pixels were changed: what was asked for, which the pack id vouches for. */
static sluice_status write_options(const pack *p, sluice_error *error)
{
    if (p->options->max_side == 0 && p->options->raw_share <= 0) {
        return sl_output_remove_file(&p->output, SL_OPTIONS_NAME, error);
    }
    char line[SL_JOURNAL_HEAD_BYTES + 2];
    char path[SL_OUTPUT_PATH_BYTES];
    int fd = -1;
    const int length = snprintf(line, sizeof(line), "%s\n", p->begin.head);
    sluice_status status = sl_output_name(&p->output, SL_OPTIONS_NAME, true, path, error);
    if (status == SLUICE_OK) {
        status = sl_output_create(&p->output, SL_OPTIONS_NAME, &fd, error);
    }
    if (status == SLUICE_OK) {
        status = sl_file_write(fd, (sl_file_name){STAGE, path}, line, (size_t)length, 0, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_sync(&p->output, SL_OPTIONS_NAME, fd, error);
    }
    sl_file_close(fd);
    if (status == SLUICE_OK) {
        status = sl_output_publish(&p->output, SL_OPTIONS_NAME, error);
    }
    return status;
}

static sluice_status finish(pack *p, sluice_pack_result *result, sluice_error *error)
{
    char manifest[SL_OUTPUT_PATH_BYTES];
    sluice_status status = sl_journal_write_rejected(&p->journal, error);
    if (status == SLUICE_OK && p->series.count == 0) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, p->output.path, -1,
                             "every sample was left out: see " SL_REJECTED_NAME);
    }
    if (status == SLUICE_OK) {
        status = sl_series_write_manifest(&p->series, manifest, error);
    }
    if (status == SLUICE_OK) {
        status = write_options(p, error);
    }
    if (status < 0) {
        return status;
    }
    if (!p->options->skip_verify) {
        status = read_back(p, manifest, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_publish(&p->output, SL_MANIFEST_NAME, error);
    }
    if (status < 0) {
        sl_output_discard(&p->output, SL_MANIFEST_NAME);
        return status;
    }
    *result = (sluice_pack_result){.struct_size = sizeof(*result),
                                   .shards = p->series.count,
                                   .samples = p->series.samples,
                                   .rejected = p->journal.rejected,
                                   .bytes = p->series.file_bytes,
                                   .resumed_samples = p->resumed_samples,
                                   .jpegs_retiled = p->jpegs[SL_JPEG_RETILED],
                                   .jpegs_kept = kept(p),
                                   .kept_large_mcu = p->jpegs[SL_JPEG_LARGE_MCU],
                                   .kept_incomplete = p->jpegs[SL_JPEG_INCOMPLETE],
                                   .kept_unusual = p->jpegs[SL_JPEG_UNUSUAL],
                                   .kept_different = p->jpegs[SL_JPEG_DIFFERENT],
                                   .jpeg_bytes_before = p->jpeg_bytes_before,
                                   .jpeg_bytes_after = p->jpeg_bytes_after,
                                   .decoded = p->decoded,
                                   .decoded_bytes_before = p->decoded_bytes_before,
                                   .decoded_bytes_after = p->decoded_bytes_after,
                                   .resized = p->resized,
                                   .resized_bytes_before = p->resized_bytes_before,
                                   .resized_bytes_after = p->resized_bytes_after};
    return sl_output_remove_file(&p->output, SL_JOURNAL_NAME, error);
}

static sluice_status open_series(pack *p, sluice_error *error)
{
    uint32_t count = p->dataset->info.classes;
    const char **classes = sl_calloc(count > 0 ? count : 1, sizeof(*classes));
    if (classes == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for the class names");
    }
    for (uint32_t i = 0; i < count; i++) {
        classes[i] = sl_dataset_class_name(p->dataset, i);
    }
    /* How the source stores them does not matter. */
    sl_field fields[SL_FIELDS_MAX];
    const uint32_t field_count = p->dataset->info.fields;
    for (uint32_t i = 0; i < field_count && i < SL_FIELDS_MAX; i++) {
        fields[i] = p->dataset->fields[i];
        fields[i].compression = SLUICE_COMPRESSION_AUTO;
    }
    const sl_series_config config = {.output = &p->output,
                                     .fields = fields,
                                     .field_count = field_count,
                                     .classes = classes,
                                     .class_count = count,
                                     .shard_bytes = p->options->shard_bytes,
                                     .pack_id = p->pack_id};
    sluice_status status = sl_series_open(&p->series, &config, error);
    sl_free(classes);
    p->plan.schema = &p->series.schema;
    p->open = status == SLUICE_OK ? sl_frames_ask(&p->plan, p->options->zstd_level) : 0;
    return status;
}

static void identify(pack *p)
{
    const sl_pack_parameters parameters = {.fingerprint = p->dataset->info.fingerprint,
                                           .samples = p->dataset->info.samples,
                                           .shard_bytes = p->options->shard_bytes,
                                           .seed = p->options->seed,
                                           .zstd_level = p->options->zstd_level,
                                           .keep_order = p->options->keep_order != 0,
                                           .keep_bytes = p->options->keep_bytes != 0,
                                           .raw = p->options->raw != 0,
                                           .drop_metadata = p->options->jpeg_metadata ==
                                                            SLUICE_JPEG_METADATA_DROP,
                                           .tile_mcus = p->options->tile_mcus,
                                           .max_side = p->options->max_side,
                                           .quality = p->options->quality,
                                           .raw_share = p->options->raw_share};
    sl_journal_head(&parameters, p->begin.head);
    p->pack_id = sl_checksum(p->begin.head, strlen(p->begin.head));
}

static sluice_status run(pack *p, sluice_pack_result *result, sluice_error *error)
{
    sl_output_contents contents = {0};
    sluice_status status = sl_output_remove(
        &p->output, p->options->overwrite ? SL_OUTPUT_DATASET : SL_OUTPUT_TEMPORARY, error);
    if (status == SLUICE_OK) {
        status = sl_output_survey(&p->output, &contents, error);
    }
    if (status < 0) {
        return status;
    }
    if (contents.manifest) {
        return sl_pack_take_finished(p, result, error);
    }
    status = begin(p, &contents, error);
    if (status == SLUICE_OK) {
        status = write_all(p, error);
    }
    if (status == SLUICE_OK) {
        report_progress(p, p->dataset->info.samples, true);
        status = finish(p, result, error);
    }
    return status;
}

sluice_status sl_pack(const sl_dataset *dataset, const char *path,
                      const sluice_pack_options *options, sluice_pack_result *result,
                      sluice_error *error)
{
    pack *p = sl_calloc(1, sizeof(*p));
    if (p == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a pack");
    }
    p->dataset = dataset;
    p->options = options;
    p->output.fd = -1;
    p->series.writer.fd = -1;
    identify(p);
    sluice_status status = open_series(p, error);
    if (status == SLUICE_OK) {
        status = sl_refuse_own_source(dataset, path, STAGE, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_open(&p->output, path, error);
    }
    if (status == SLUICE_OK) {
        status = run(p, result, error);
    }
    sl_prepare_close(p->prepare);
    sl_series_close(&p->series);
    sl_journal_close(&p->journal);
    sl_output_close(&p->output);
    sl_free(p);
    return status;
}
