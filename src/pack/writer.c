/* SPDX-License-Identifier: Apache-2.0 */
#include "writer.h"

#include "error.h"
#include "jpeg_retile.h"
#include "memory.h"
#include "series.h"

#define STAGE "pack"

struct sluice_writer {
    sl_output output;
    sl_series series;
    sl_jpeg_retiler *retiler; /* NULL: JPEGs stay as they are */
    int zstd_level;
    uint64_t samples;
    bool broken; /* a write failed: the shard in the making cannot be completed */
};

static sluice_status open_folder(sluice_writer *writer, const sluice_writer_options *options,
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
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, writer->output.path, -1,
                             "the folder holds packed shards: overwrite replaces them");
    }
    if (contents.foreign[0]) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, writer->output.path, -1,
                             "the folder is not empty: it holds \"%s\"", contents.foreign);
    }
    return sl_output_remove(&writer->output, SL_OUTPUT_TEMPORARY, error);
}

static sluice_status open_retiler(sluice_writer *writer, const sluice_writer_options *options,
                                  sluice_error *error)
{
    const sl_jpeg_retile_options how = {.max_pixels = SL_RECORD_PIXELS_MAX,
                                        .max_bytes = SL_RECORD_IMAGE_MAX,
                                        .tile_mcus = options->tile_mcus,
                                        .drop_metadata =
                                            options->jpeg_metadata == SLUICE_JPEG_METADATA_DROP,
                                        .fastest = options->tile_mcus == 0};
    return options->keep_bytes ? SLUICE_OK : sl_jpeg_retiler_open(&writer->retiler, &how, error);
}

sluice_status sl_writer_open(sluice_writer **out, const char *path,
                             const sluice_writer_options *options, sluice_error *error)
{
    *out = NULL;
    sluice_writer *writer = sl_calloc(1, sizeof(*writer));
    if (!writer) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a writer");
    }
    writer->series.writer.fd = -1;
    writer->zstd_level = options->zstd_level;
    sluice_status status = sl_output_open(&writer->output, path, error);
    if (status == SLUICE_OK) {
        status = open_folder(writer, options, error);
    }
    if (status == SLUICE_OK) {
        status = open_retiler(writer, options, error);
    }
    if (status == SLUICE_OK) {
        const sl_series_config config = {.output = &writer->output,
                                         .classes = options->classes,
                                         .class_count = options->class_count,
                                         .shard_bytes = options->shard_bytes};
        status = sl_series_open(&writer->series, &config, error);
    }
    if (status < 0) {
        sl_writer_abort(writer);
        return status;
    }
    *out = writer;
    return SLUICE_OK;
}

static sluice_status add_record(sluice_writer *writer, const sl_record *record, sluice_error *error)
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

static sluice_status refuse_broken(sluice_error *error)
{
    return sl_error_set(error, SLUICE_STATE, STAGE,
                        "an earlier write failed: only abort is left for this writer");
}

/* Replaces *image, unless it is to be kept. */
static sluice_status retile(sl_jpeg_retiler *retiler, sl_bytes *image, sluice_error *error)
{
    uint64_t memory;
    sl_bytes retiled;
    sl_jpeg_outcome outcome = SL_JPEG_NONE;
    sluice_error reason;
    sl_error_clear(&reason);
    sluice_status status = sl_jpeg_retiler_begin(retiler, *image, &memory, &reason);
    if (status == SLUICE_OK) {
        status = sl_jpeg_retiler_run(retiler, &outcome, &retiled, &reason);
    }
    if (status < 0 && error) {
        *error = reason;
    }
    if (status == SLUICE_OK && outcome == SL_JPEG_RETILED) {
        *image = retiled;
    }
    return status;
}

sluice_status sl_writer_add(sluice_writer *writer, const sl_record_input *input,
                            sluice_error *error)
{
    if (writer->broken) {
        return refuse_broken(error);
    }
    sl_record_input own = *input;
    own.zstd_level = writer->zstd_level;
    sl_record record;
    sluice_status status = SLUICE_OK;
    if (writer->retiler && !own.raw && sl_jpeg_begins(own.image)) {
        status = retile(writer->retiler, &own.image, error);
    }
    if (status == SLUICE_OK) {
        status = sl_record_make(&record, &own, error);
    }
    if (status < 0) {
        return status;
    }
    status = add_record(writer, &record, error);
    sl_record_close(&record);
    return status;
}

static sluice_status finish(sluice_writer *writer, sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    if (writer->broken) {
        return refuse_broken(error);
    }
    if (writer->samples == 0) {
        return sl_error_set(error, SLUICE_STATE, STAGE, "no sample was added");
    }
    sluice_status status = sl_series_cut(&writer->series, writer->samples, error);
    if (status == SLUICE_OK) {
        status = sl_series_write_manifest(&writer->series, path, error);
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
    sluice_status status = finish(writer, error);
    sl_writer_abort(writer);
    return status;
}

void sl_writer_abort(sluice_writer *writer)
{
    if (!writer) {
        return;
    }
    sl_jpeg_retiler_close(writer->retiler);
    sl_series_close(&writer->series);
    sl_output_close(&writer->output);
    sl_free(writer);
}
