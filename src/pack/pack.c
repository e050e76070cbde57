/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack: runs a pack from start to end, on the calling thread; resuming, appending and joining are
 * in separate files.
 */
#include "pack.h"

#include "error.h"
#include "frames.h"
#include "meaning.h"
#include "memory.h"
#include "own_source.h"
#include "pack_state.h"

#define STAGE "pack"

typedef sl_pack_state pack;

/* Rejects positions in pixels, which do not shrink with their images. */
static sluice_status check_places(const pack *p, sluice_error *error)
{
    for (uint32_t i = 0; p->options->max_side > 0 && i < p->dataset->info.fields; i++) {
        const sl_field *field = &p->dataset->fields[i];
        const sluice_role role = field->meaning.role;
        const bool places = role == SLUICE_ROLE_BOXES || role == SLUICE_ROLE_POINTS;
        if ((places && field->meaning.coordinates != SLUICE_COORDINATES_RELATIVE) ||
            role == SLUICE_ROLE_SHAPES || role == SLUICE_ROLE_MASK) {
            return sl_error_set(
                error, SLUICE_INVALID, STAGE,
                "\"%s\" has positions in pixels, which would not fit smaller images: leave "
                "out " SL_OPTION("max_side") ", or choose fields "
                                             "without it (" SL_OPTION("the option fields") ")",
                field->name);
        }
    }
    return SLUICE_OK;
}

static sluice_status pack_open_series(pack *p, sluice_error *error)
{
    /* how the source stores them does not matter */
    sl_field fields[SL_FIELDS_MAX];
    for (uint32_t i = 0; i < p->dataset->info.fields && i < SL_FIELDS_MAX; i++) {
        fields[i] = p->dataset->fields[i];
        fields[i].compression = SLUICE_COMPRESSION_AUTO;
    }
    const sluice_status status =
        sl_series_open_like(&p->series, &p->output, p->dataset, fields, error);
    p->plan.schema = &p->series.schema;
    p->open = status == SLUICE_OK ? sl_frames_ask(&p->plan, p->options->zstd_level) : 0;
    return status;
}

static void pack_identify(pack *p)
{
    const sl_pack_parameters parameters = {
        .fingerprint = p->dataset->info.fingerprint,
        .samples = p->dataset->info.samples,
        .shard_bytes = sl_pack_shard_bytes(p),
        .seed = p->options->seed,
        .zstd_level = p->options->zstd_level,
        .keep_order = p->options->keep_order != 0,
        .keep_bytes = p->options->keep_bytes != 0,
        .raw = p->options->raw != 0,
        .drop_metadata = p->options->jpeg_metadata == SLUICE_JPEG_METADATA_DROP,
        .tile_mcus = p->options->tile_mcus,
        .max_side = p->options->max_side,
        .quality = p->options->quality,
        .raw_share = p->options->raw_share,
        .append = p->options->append != 0,
        .joins_labels = p->labels != NULL,
        .labels = p->labels != NULL ? sl_class_request_sum(p->labels) : 0,
        .meaning = sl_meanings_sum(p->dataset->fields, p->dataset->info.fields)};
    sl_journal_head(&parameters, p->journal.head);
    p->pack_id = sl_journal_pack_id(&p->journal);
}

/* Checks a folder with neither manifest nor journal, which must contain nothing else. */
static sluice_status check_folder(const pack *p, const sl_output_contents *contents,
                                  sluice_error *error)
{
    if (contents->shards > 0 || contents->left_out > 0 || contents->sets[0].count > 0) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, p->output.path, -1,
                             "the folder contains shards without manifest or journal: " SL_OPTION(
                                 "overwrite") " to replace them");
    }
    if (contents->foreign[0] && !p->options->overwrite) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, p->output.path, -1,
                             "the folder is not empty: it contains \"%s\"", contents->foreign);
    }
    return SLUICE_OK;
}

static sluice_status pack_check_base(const pack *p, sluice_error *error)
{
    sl_dataset *base;
    uint64_t left_out;
    const sluice_status status =
        sl_pack_open_base(&p->output, &p->journal, &base, &left_out, error);
    if (status == SLUICE_OK) {
        sl_dataset_close(base);
    }
    return status;
}

/* Replaces the source's labels by those of the dataset that it is added to. */
static sluice_status pack_join_labels(pack *p, sluice_error *error)
{
    const sluice_status status = sl_pack_join_labels(p, error);
    if (status < 0 || p->relabelled == NULL) {
        return status;
    }
    p->dataset = p->relabelled;
    sl_series_close(&p->series);
    return pack_open_series(p, error);
}

/* Determines how samples are stored and shards are cut, or reads an earlier decision. */
static sluice_status pack_begin(pack *p, const sl_output_contents *contents, sluice_error *error)
{
    sluice_status status = p->labels != NULL ? pack_join_labels(p, error) : SLUICE_OK;
    if (status == SLUICE_OK) {
        status = sl_journal_read(&p->output, &p->journal, error);
    }
    if (status == SLUICE_END) {
        status = p->options->append != 0 ? sl_pack_begin_append(p, error)
                                         : check_folder(p, contents, error);
        if (status == SLUICE_OK) {
            sl_stop_set_everywhere(&p->stop, true);
            status = sl_pack_measure(p, error);
            sl_stop_set_everywhere(&p->stop, false);
        }
        if (status == SLUICE_OK) {
            status = sl_journal_create(&p->output, &p->journal, sl_pack_cuts_for_parts(p), error);
        }
    } else if (status == SLUICE_OK && p->journal.before > 0) {
        status = pack_check_base(p, error);
    }
    if (status < 0) {
        return status;
    }
    sl_frames_settle(&p->plan, &p->series.schema, p->open, p->journal.framed);
    sl_series_settle(&p->series, sl_journal_shard_id(&p->journal));
    p->ranges = (sl_ranges){.positions = p->dataset->info.samples,
                            .length = p->journal.shard_samples,
                            .shards = p->journal.shards,
                            .before = p->journal.before};
    if (sl_ranges_count(&p->ranges) > SL_SHARDS_MAX - p->ranges.shards) {
        return sl_error_file(
            error, SLUICE_STATE, STAGE, 0, p->output.path, -1,
            "the journal has too many shards: " SL_OPTION("overwrite") " to start over");
    }
    p->first = sl_ranges_of_part(&p->ranges, p->options->part, p->options->parts);
    p->end = sl_ranges_of_part(&p->ranges, p->options->part + 1, p->options->parts);
    p->done = sl_calloc(p->end - p->first + 1, 1);
    return p->done != NULL ? SLUICE_OK : sl_no_memory(error, STAGE, "packing");
}

/*
 * Checks a folder that has or will have a dataset: `*done` if it is the one of this pack; otherwise
 * it is added to.
 */
static sluice_status look_at_dataset(const pack *p, const sl_output_contents *contents, bool *done,
                                     sluice_pack_result *result, sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    sl_manifest_header header = {0};
    if (!contents->manifest) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, p->output.path, -1,
                             "no packed dataset here to add to");
    }
    if (p->options->append == 0) {
        return sl_pack_take_finished(&p->output, p->pack_id, result, error);
    }
    const sluice_status status =
        sl_pack_read_page(&p->output, SL_MANIFEST_NAME, path, &header, error);
    if (status < 0) {
        return status;
    }
    *done = header.pack_id == p->pack_id;
    if (*done) {
        return sl_pack_take_finished(&p->output, p->pack_id, result, error);
    }
    /* leftovers of the previous pack */
    sl_journal journal = {0};
    const bool is_left_over = sl_journal_read(&p->output, &journal, NULL) == SLUICE_OK &&
                              sl_journal_pack_id(&journal) == header.pack_id;
    return is_left_over ? sl_pack_clear_up(&p->output, header.pack_id, error) : SLUICE_OK;
}

static sluice_status pack_run(pack *p, sluice_pack_result *result, sluice_error *error)
{
    sl_output_contents contents = {0};
    sluice_status status = SLUICE_OK;
    if (p->options->parts == 1) {
        status = sl_output_remove(
            &p->output, p->options->overwrite ? SL_OUTPUT_DATASET : SL_OUTPUT_TEMPORARY, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_survey(&p->output, &contents, error);
    }
    if (status < 0) {
        return status;
    }
    if (contents.manifest || p->options->append != 0) {
        bool done = true;
        status = look_at_dataset(p, &contents, &done, result, error);
        if (status < 0 || done) {
            return status;
        }
    }
    status = pack_begin(p, &contents, error);
    if (status == SLUICE_OK) {
        sl_stop_set_everywhere(&p->stop, true);
        status = sl_pack_write(p, error);
        sl_stop_set_everywhere(&p->stop, false);
    }
    if (status == SLUICE_OK) {
        sl_pack_report(p, true);
        status = sl_pack_finish(p, result, error);
    }
    return status;
}

sluice_status sl_pack(const sl_dataset *dataset, const char *path,
                      const sluice_pack_options *options, const sl_class_request *labels,
                      sluice_pack_result *result, sluice_error *error)
{
    pack *p = sl_calloc(1, sizeof(*p));
    if (p == NULL) {
        return sl_no_memory(error, STAGE, "packing");
    }
    p->dataset = dataset;
    p->options = options;
    p->labels = labels;
    p->output.fd = -1;
    p->series.writer.fd = -1;
    sl_stop_begin(&p->stop, options->should_stop, options->user);
    sl_stop_set_everywhere(&p->stop, false);
    pack_identify(p);
    sluice_status status = check_places(p, error);
    if (status == SLUICE_OK) {
        status = pack_open_series(p, error);
    }
    if (status == SLUICE_OK) {
        status = sl_refuse_own_source(dataset, path, STAGE, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_open(&p->output, path, options->parts > 1, error);
    }
    if (status == SLUICE_OK) {
        status = pack_run(p, result, error);
    }
    if (status == SLUICE_CANCELED && sl_stop_requested()) { /* wherever it was noticed */
        status = sl_pack_check_stop(p, error);
    }
    sl_stop_end(&p->stop);
    /* a failure because another process of the same pack was faster is not one */
    if (status < 0 && status != SLUICE_CANCELED && p->output.fd >= 0 &&
        sl_pack_is_joined(&p->output, p->pack_id, result)) {
        status = SLUICE_OK;
    }
    sl_prepare_close(p->prepare);
    sl_left_out_close(&p->left_out);
    sl_series_close(&p->series);
    sl_output_close(&p->output);
    sl_dataset_close(p->relabelled);
    sl_free(p->done);
    sl_free(p);
    return status;
}
