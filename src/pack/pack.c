/* SPDX-License-Identifier: Apache-2.0 */
#include "pack.h"

#include "checksum.h"
#include "clock.h"
#include "error.h"
#include "file.h"
#include "journal.h"
#include "memory.h"
#include "prepare.h"
#include "series.h"
#include "shards.h"
#include "verify.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define STAGE       "pack"
#define PROGRESS_NS 200000000u
/* Of samples read and not yet written, and for each worker's JPEG that is being re-tiled: the
 * coefficients of 12 Mpixel at 4:2:0 take half of that. */
#define BUDGET_BYTES        ((uint64_t)128 << 20)
#define BUDGET_WORKER_BYTES ((uint64_t)64 << 20)

typedef struct pack {
    const sl_dataset *dataset;
    const sluice_pack_options *options;
    sl_output output;
    sl_journal journal;
    sl_series series;
    sl_prepare *prepare;
    uint64_t pack_id;
    char head[SL_JOURNAL_HEAD_BYTES];
    uint64_t reported_ns;
    uint64_t resumed_samples;
    uint64_t jpegs[SL_JPEG_OUTCOMES]; /* written */
    uint64_t jpeg_bytes_before, jpeg_bytes_after;
} pack;

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
    if (!p->options->on_progress || (!always && now - p->reported_ns < PROGRESS_NS)) {
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

/* The folder that file `number` of the dataset lies in. */
static bool folder_of(const sl_dataset *dataset, uint32_t number, char *path)
{
    if (sl_objects_path(dataset->objects, number, path, SL_OUTPUT_PATH_BYTES) < 0) {
        return false;
    }
    char *slash = strrchr(path, '/');
    if (!slash) {
        memcpy(path, ".", 2);
    } else {
        slash[slash == path ? 1 : 0] = '\0';
    }
    return true;
}

/* Packing shards over themselves would lose them. */
static sluice_status refuse_own_source(const pack *p, sluice_error *error)
{
    struct stat target;
    struct stat source;
    char folder[SL_OUTPUT_PATH_BYTES];
    char previous[SL_OUTPUT_PATH_BYTES] = "";
    if (p->dataset->whole_objects || fstat(p->output.fd, &target) != 0) {
        return SLUICE_OK;
    }
    for (uint32_t i = 0; i < sl_objects_count(p->dataset->objects); i++) {
        if (!folder_of(p->dataset, i, folder) || strcmp(folder, previous) == 0) {
            continue;
        }
        memcpy(previous, folder, sizeof(previous));
        if (stat(folder, &source) == 0 && source.st_ino == target.st_ino &&
            source.st_dev == target.st_dev) {
            return sl_error_file(error, SLUICE_INVALID, STAGE, 0, p->output.path, -1,
                                 "this folder holds the dataset that is to be packed");
        }
    }
    return SLUICE_OK;
}

static sluice_status read_head_page(const char *path, sl_manifest_header *header,
                                    sluice_error *error)
{
    uint8_t page[SL_PAGE_BYTES];
    int fd;
    sl_file_name name = {STAGE, path};
    sluice_status status = sl_file_open(name, &fd, NULL, error);
    if (status < 0) {
        return status;
    }
    status = sl_file_read(fd, name, page, sizeof(page), 0, error);
    sl_file_close(fd);
    if (status < 0) {
        return status;
    }
    sl_refusal refusal = sl_manifest_header_decode(header, page);
    return refusal.text ? sl_shards_refuse(error, refusal, path, 0) : SLUICE_OK;
}

/* Each shard is there and as long as its row says; adds up their sizes. */
static sluice_status measure_shards(const sl_dataset *dataset, uint64_t *bytes, sluice_error *error)
{
    *bytes = 0;
    for (uint32_t i = 0; i < sl_objects_count(dataset->objects); i++) {
        char path[SL_PATH_BYTES];
        struct stat status;
        uint64_t expected = sl_shards_of(dataset)->shards[i].row.file_bytes;
        (void)sl_objects_path(dataset->objects, i, path, sizeof(path));
        if (stat(path, &status) != 0 || (uint64_t)status.st_size != expected) {
            return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                                 "the folder holds a complete pack of this dataset, but this shard "
                                 "is missing or has another size: overwrite to start anew");
        }
        *bytes += expected;
    }
    return SLUICE_OK;
}

/* The folder has a manifest: done already, when it is this pack's. */
static sluice_status take_finished(const pack *p, sluice_pack_result *result, sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    sl_manifest_header header = {0};
    sluice_status status = sl_output_name(&p->output, SL_MANIFEST_NAME, false, path, error);
    if (status == SLUICE_OK) {
        status = read_head_page(path, &header, error);
    }
    if (status < 0) {
        return status;
    }
    if (header.pack_id != p->pack_id) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                             "the folder holds another packed dataset, or this one with other "
                             "options: choose another folder, or overwrite to replace it");
    }
    sl_dataset *packed;
    status = sl_shards_open_manifest(&packed, path, error);
    if (status < 0) {
        return status;
    }
    *result = (sluice_pack_result){.struct_size = sizeof(*result),
                                   .shards = packed->info.shards,
                                   .samples = packed->info.samples,
                                   .rejected = header.source_samples - header.samples,
                                   .resumed_samples = packed->info.samples,
                                   .was_complete = 1};
    status = measure_shards(packed, &result->bytes, error);
    sl_dataset_close(packed);
    if (status == SLUICE_OK) {
        /* Whatever was between the manifest and the end of an earlier run. */
        status = sl_output_remove_file(&p->output, SL_JOURNAL_NAME, error);
    }
    return status;
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
        if (error) {
            *error = first;
        }
        return (sluice_status)first.status;
    }
    p->resumed_samples = p->series.samples;
    return SLUICE_OK;
}

static sluice_status begin(pack *p, const sl_output_contents *contents, sluice_error *error)
{
    if (contents->journal) {
        sluice_status status = sl_journal_resume(&p->journal, &p->output, p->head, error);
        if (status == SLUICE_OK) {
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
    return sl_journal_create(&p->journal, &p->output, p->head, error);
}

static sluice_status cut(pack *p, uint64_t position, sluice_error *error)
{
    sluice_status status = sl_journal_sync(&p->journal, error);
    return status == SLUICE_OK ? sl_series_cut(&p->series, position, error) : status;
}

/* Counts a sample that was written. */
static void count(pack *p, const sl_prepared *prepared)
{
    p->jpegs[prepared->outcome]++;
    if (prepared->outcome != SL_JPEG_NONE) {
        p->jpeg_bytes_before += prepared->image_bytes;
        p->jpeg_bytes_after += prepared->record.image.size;
    }
    if (prepared->outcome > SL_JPEG_FAST && p->options->on_kept) {
        p->options->on_kept(p->options->user, &prepared->error);
    }
}

static sluice_status write_one(pack *p, const sl_prepared *prepared, sluice_error *error)
{
    if (prepared->status < 0) {
        if (prepared->fatal || p->options->on_bad == SLUICE_PACK_BAD_FAIL) {
            if (error) {
                *error = prepared->error;
            }
            return prepared->status;
        }
        return sl_journal_reject(&p->journal, prepared->position, prepared->key, &prepared->error,
                                 error);
    }
    if (sl_series_is_full(&p->series, &prepared->record)) {
        sluice_status status = cut(p, prepared->position, error);
        if (status < 0) {
            return status;
        }
    }
    sluice_status status = sl_series_add(&p->series, &prepared->record, error);
    if (status == SLUICE_OK) {
        count(p, prepared);
    }
    return status;
}

static sluice_status write_all(pack *p, sluice_error *error)
{
    const uint64_t samples = p->dataset->info.samples;
    const sluice_pack_options *options = p->options;
    const sl_prepare_config config = {
        .dataset = p->dataset,
        .workers = options->workers,
        .first = p->series.next,
        .seed = options->seed,
        .keep_order = options->keep_order != 0,
        .zstd_level = options->zstd_level,
        .keep_bytes = options->keep_bytes != 0,
        .retile = {.max_pixels = SL_RECORD_PIXELS_MAX,
                   .max_bytes = SL_RECORD_IMAGE_MAX,
                   .tile_mcus = options->tile_mcus,
                   .drop_metadata = options->jpeg_metadata == SLUICE_JPEG_METADATA_DROP,
                   .fastest = options->tile_mcus == 0},
        .budget_bytes =
            BUDGET_BYTES + (options->keep_bytes ? 0 : options->workers * BUDGET_WORKER_BYTES)};
    sluice_status status = sl_prepare_open(&p->prepare, &config, error);
    for (uint64_t position = config.first; status == SLUICE_OK && position < samples; position++) {
        sl_prepared *prepared = sl_prepare_next(p->prepare);
        status = write_one(p, prepared, error);
        sl_prepare_done(p->prepare, prepared);
        report_progress(p, position + 1, false);
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
                                           .on_finding = keep_first,
                                           .on_progress = keep_reporting,
                                           .user = &b};
    sluice_verify_result result;
    status = sl_verify(packed, &options, &result, error);
    sl_dataset_close(packed);
    if (status == SLUICE_OK && result.bad > 0) {
        if (error) {
            *error = b.first;
        }
        return (sluice_status)b.first.status;
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
                                   .jpeg_bytes_after = p->jpeg_bytes_after};
    return sl_output_remove_file(&p->output, SL_JOURNAL_NAME, error);
}

static sluice_status open_series(pack *p, sluice_error *error)
{
    uint32_t count = p->dataset->info.classes;
    const char **classes = sl_calloc(count > 0 ? count : 1, sizeof(*classes));
    if (!classes) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for the class names");
    }
    for (uint32_t i = 0; i < count; i++) {
        classes[i] = p->dataset->ops->class_name(p->dataset, i);
    }
    const sl_series_config config = {.output = &p->output,
                                     .classes = classes,
                                     .class_count = count,
                                     .shard_bytes = p->options->shard_bytes,
                                     .pack_id = p->pack_id};
    sluice_status status = sl_series_open(&p->series, &config, error);
    sl_free(classes);
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
                                           .drop_metadata = p->options->jpeg_metadata ==
                                                            SLUICE_JPEG_METADATA_DROP,
                                           .tile_mcus = p->options->tile_mcus};
    sl_journal_head(&parameters, p->head);
    p->pack_id = sl_checksum(p->head, strlen(p->head));
}

static sluice_status run(pack *p, sluice_pack_result *result, sluice_error *error)
{
    sl_output_contents contents = {0};
    sluice_status status = refuse_own_source(p, error);
    if (status == SLUICE_OK) {
        status = sl_output_remove(
            &p->output, p->options->overwrite ? SL_OUTPUT_DATASET : SL_OUTPUT_TEMPORARY, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_survey(&p->output, &contents, error);
    }
    if (status < 0) {
        return status;
    }
    if (contents.manifest) {
        return take_finished(p, result, error);
    }
    status = open_series(p, error);
    if (status == SLUICE_OK) {
        status = begin(p, &contents, error);
    }
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
    if (!p) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a pack");
    }
    p->dataset = dataset;
    p->options = options;
    p->output.fd = -1;
    p->series.writer.fd = -1;
    identify(p);
    sluice_status status = sl_output_open(&p->output, path, error);
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
