/* SPDX-License-Identifier: Apache-2.0 */
/* writer: the sample-by-sample writer. One owner; after an error it can only be aborted. */
#include "writer.h"

#include "error.h"
#include "frames.h"
#include "maker.h"
#include "memory.h"
#include "series.h"
#include "shard_record.h"

#include <stdatomic.h>
#include <string.h>

#define STAGE "pack"

const sl_field sl_standard_fields[SL_STANDARD_FIELDS] = {
    [SL_STANDARD_IMAGE] = {.name = "image", .type = SLUICE_FIELD_IMAGE},
    [SL_STANDARD_LABEL] = {.name = "label", .type = SLUICE_FIELD_INT},
    [SL_STANDARD_KEY] = {.name = "key", .type = SLUICE_FIELD_TEXT},
};

/* A plain record that waits until the storage of fields is decided. */
typedef struct waiting {
    uint8_t *bytes; /* owned */
    size_t size;
} waiting;

struct sluice_writer {
    sl_output output;
    sl_series series;
    sl_maker maker;
    sl_record_plan plan;  /* how records are stored */
    sl_record_plan plain; /* how they are stored until that is decided */
    sl_frames frames;     /* frames.open: undecided fields; 0: none */
    waiting waiting[SL_FRAMES_SAMPLES_MAX];
    uint32_t waiting_count;
    sl_values values;
    uint64_t samples; /* number written */
    bool standard;    /* true if the fields are the standard ones */
    bool broken;      /* true after a failed write: the current shard cannot be completed */
    /*
     * True during a call. If another thread forks meanwhile, the child's copy may be in an
     * inconsistent state.
     */
    atomic_bool busy;
};

static sluice_status writer_open_folder(sluice_writer *writer, const sluice_writer_options *options,
                                        sluice_error *error)
{
    sl_output_contents contents;
    sluice_status status = SLUICE_OK;
    if (options->overwrite) {
        status = sl_output_remove(&writer->output, SL_OUTPUT_DATASET, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_survey(&writer->output, &contents, error);
    }
    if (status < 0 || options->overwrite) {
        return status;
    }
    if (contents.shards > 0 || contents.manifest || contents.journal) {
        return sl_error_file(
            error, SLUICE_STATE, STAGE, 0, writer->output.path, -1,
            "the folder contains packed shards: " SL_OPTION("overwrite") " replaces them");
    }
    if (contents.foreign[0]) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, writer->output.path, -1,
                             "the folder is not empty: it contains \"%s\"", contents.foreign);
    }
    return sl_output_remove(&writer->output, SL_OUTPUT_TEMPORARY, error);
}

/* Ends the decision about fields: records are now made in their final form. */
static void writer_settle(sluice_writer *writer)
{
    sl_frames_settle(&writer->plan, &writer->series.schema, writer->frames.open,
                     sl_frames_decide(&writer->frames));
    sl_series_settle(&writer->series, 0);
    sl_frames_close(&writer->frames);
    writer->maker.config.plan = &writer->plan;
}

static sluice_status open_maker(sluice_writer *writer, const sluice_writer_options *options,
                                sluice_error *error)
{
    const sl_maker_config config = {
        .plan = &writer->plain,
        .keep_bytes = options->keep_bytes != 0,
        .retile = {.max_pixels = SL_RECORD_PIXELS_MAX,
                   .max_bytes = SL_RECORD_IMAGE_MAX,
                   .tile_mcus = options->tile_mcus,
                   .drop_metadata = options->jpeg_metadata == SLUICE_JPEG_METADATA_DROP,
                   .fastest = options->tile_mcus == 0}};
    writer->plan.schema = &writer->series.schema;
    writer->plain.schema = &writer->series.schema;
    writer->frames.open = sl_frames_ask(&writer->plan, options->zstd_level);
    const sluice_status status = sl_maker_open(&writer->maker, &config, error);
    if (status == SLUICE_OK && writer->frames.open == 0) {
        writer_settle(writer);
    }
    return status;
}

sluice_status sl_writer_open(sluice_writer **out, const char *path,
                             const sluice_writer_options *options, const sl_field *fields,
                             sluice_error *error)
{
    *out = NULL;
    sluice_writer *writer = sl_calloc(1, sizeof(*writer));
    if (writer == NULL) {
        return sl_no_memory(error, STAGE, "for a writer");
    }
    writer->series.writer.fd = -1;
    writer->standard = fields == sl_standard_fields;
    const sl_series_config config = {.output = &writer->output,
                                     .fields = fields,
                                     .field_count = options->field_count,
                                     .classes = options->classes,
                                     .class_count = options->class_count,
                                     .shard_bytes = options->shard_bytes};
    writer->output.fd = -1;
    sluice_status status = sl_series_open(&writer->series, &config, error);
    if (status == SLUICE_OK) {
        status = sl_output_open(&writer->output, path, false, error);
    }
    if (status == SLUICE_OK) {
        status = writer_open_folder(writer, options, error);
    }
    if (status == SLUICE_OK) {
        status = open_maker(writer, options, error);
    }
    if (status < 0) {
        sl_writer_abort(writer);
        return status;
    }
    *out = writer;
    return SLUICE_OK;
}

const sl_schema *sl_writer_schema(const sluice_writer *writer)
{
    return &writer->series.schema;
}

sl_values *sl_writer_values(sluice_writer *writer)
{
    return &writer->values;
}

/* ---- adding ---- */

static sluice_status write_record(sluice_writer *writer, const sl_record *record,
                                  sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (sl_series_is_full(&writer->series, record)) {
        status = sl_series_cut(&writer->series, writer->samples, error);
    }
    if (status == SLUICE_OK) {
        status = sl_series_add(&writer->series, record, error);
    }
    writer->broken = status < 0;
    writer->samples += status == SLUICE_OK;
    return status;
}

/* Makes a waiting record again in its final form, and writes it. */
static sluice_status write_waiting(sluice_writer *writer, const waiting *kept, sluice_error *error)
{
    sl_record record;
    const sl_refusal refusal = sl_record_decode(
        &writer->series.schema, (sl_bytes){kept->bytes, kept->size}, &writer->values);
    if (refusal.text != NULL) {
        return sl_error_set(error, SLUICE_INTERNAL, STAGE, "a sample was corrupted in memory: %s",
                            refusal.text);
    }
    sluice_status status = sl_record_make(&record, &writer->plan, &writer->values, error);
    if (status == SLUICE_OK) {
        status = write_record(writer, &record, error);
    }
    sl_record_close(&record);
    return status;
}

static void forget_waiting(sluice_writer *writer)
{
    for (uint32_t i = 0; i < writer->waiting_count; i++) {
        sl_free(writer->waiting[i].bytes);
    }
    writer->waiting_count = 0;
}

/* Decides on the basis of the waiting records, and writes them. */
static sluice_status end_waiting(sluice_writer *writer, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    writer_settle(writer);
    for (uint32_t i = 0; status == SLUICE_OK && i < writer->waiting_count; i++) {
        status = write_waiting(writer, &writer->waiting[i], error);
    }
    forget_waiting(writer);
    writer->broken = status < 0;
    return status;
}

static sluice_status keep_waiting(sluice_writer *writer, const sl_record *record,
                                  sluice_error *error)
{
    waiting *next = &writer->waiting[writer->waiting_count];
    *next = (waiting){.bytes = sl_malloc(record->bytes), .size = record->bytes};
    if (next->bytes == NULL) {
        return sl_no_memory(error, STAGE, "for a sample of %zu bytes", next->size);
    }
    sluice_status status = sl_frames_add(&writer->frames, record, error);
    if (status < 0) {
        sl_free(next->bytes);
        return status;
    }
    sl_record_copy(record, next->bytes);
    writer->waiting_count++;
    return sl_frames_have_enough(&writer->frames) ? end_waiting(writer, error) : SLUICE_OK;
}

static sluice_status check_usable(const sluice_writer *writer, sluice_error *error)
{
    if (!sl_output_is_ours(&writer->output)) {
        return sl_error_set(error, SLUICE_STATE, STAGE,
                            "the writer belongs to the process that opened it, not to a fork");
    }
    return writer->broken ? sl_error_set(error, SLUICE_STATE, STAGE,
                                         "an earlier write failed: this writer can only be aborted")
                          : SLUICE_OK;
}

/*
 * Marks the beginning or end of a call. In this order, for a forked child that reads its copy: it
 * is set before anything else changes.
 */
static void set_busy(sluice_writer *writer, bool busy)
{
    (void)atomic_exchange_explicit(&writer->busy, busy, memory_order_seq_cst);
}

static sluice_status writer_add_sample(sluice_writer *writer, sluice_error *error)
{
    sl_made made = {0};
    sluice_status status =
        sl_maker_make(&writer->maker, &writer->values, false, NULL, &made, error);
    if (status == SLUICE_OK) {
        status = writer->frames.open != 0 ? keep_waiting(writer, &made.record, error)
                                          : write_record(writer, &made.record, error);
    }
    sl_made_close(&made);
    return status;
}

sluice_status sl_writer_add(sluice_writer *writer, sluice_error *error)
{
    sluice_status status = check_usable(writer, error);
    if (status == SLUICE_OK) {
        set_busy(writer, true);
        status = writer_add_sample(writer, error);
        set_busy(writer, false);
    }
    return status;
}

sluice_status sl_writer_add_picture(sluice_writer *writer, const sl_picture_input *input,
                                    sluice_error *error)
{
    if (!writer->standard) {
        return sl_error_set(error, SLUICE_STATE, STAGE,
                            "this writer has custom fields: add values to it");
    }
    if (input->label < -1) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "label %lld is negative",
                            (long long)input->label);
    }
    const sl_bytes key = {(const uint8_t *)input->key, strlen(input->key)};
    sl_value *of = writer->values.of;
    of[SL_STANDARD_IMAGE] = (sl_value){.present = true,
                                       .codec = input->raw ? SL_CODEC_RAW : SL_CODEC_BY_BYTES,
                                       .width = input->width,
                                       .height = input->height,
                                       .bytes = input->image};
    of[SL_STANDARD_LABEL] = (sl_value){.present = true, .integer = input->label};
    of[SL_STANDARD_KEY] = (sl_value){.present = true, .bytes = key};
    return sl_writer_add(writer, error);
}

/* ---- the end ---- */

static sluice_status writer_finish(sluice_writer *writer, sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    if (writer->samples + writer->waiting_count == 0) {
        return sl_error_set(error, SLUICE_STATE, STAGE, "no samples were added");
    }
    sluice_status status = writer->frames.open != 0 ? end_waiting(writer, error) : SLUICE_OK;
    if (status == SLUICE_OK) {
        status = sl_series_cut(&writer->series, writer->samples, error);
    }
    if (status == SLUICE_OK) {
        sl_series_put_in_order(&writer->series);
        status = sl_series_write_manifest(&writer->series,
                                          &(sl_manifest_plan){SL_MANIFEST_NAME, writer->samples, 0},
                                          path, error);
    }
    if (status < 0) {
        return status;
    }
    status = sl_output_publish(&writer->output, SL_MANIFEST_NAME, error);
    if (status < 0) {
        sl_output_discard(&writer->output, SL_MANIFEST_NAME);
    }
    return status;
}

sluice_status sl_writer_finish(sluice_writer *writer, sluice_error *error)
{
    sluice_status status = check_usable(writer, error);
    if (status == SLUICE_OK) {
        set_busy(writer, true);
        status = writer_finish(writer, error);
        set_busy(writer, false);
    }
    sl_writer_abort(writer);
    return status;
}

void sl_writer_abort(sluice_writer *writer)
{
    /* seq_cst: pairs with set_busy */
    if (writer == NULL || (!sl_output_is_ours(&writer->output) &&
                           atomic_load_explicit(&writer->busy, memory_order_seq_cst))) {
        return; /* inconsistent in a child: its memory and descriptors stay until it ends */
    }
    forget_waiting(writer);
    sl_frames_close(&writer->frames);
    sl_maker_close(&writer->maker);
    sl_series_close(&writer->series);
    sl_output_close(&writer->output);
    sl_free(writer);
}
