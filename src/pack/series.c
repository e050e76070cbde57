/* SPDX-License-Identifier: Apache-2.0 */
#include "series.h"

#include "checksum.h"
#include "dataset.h"
#include "error.h"
#include "file.h"
#include "memory.h"
#include "shards.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STAGE "pack"

sluice_status sl_series_open(sl_series *series, const sl_series_config *config, sluice_error *error)
{
    *series = (sl_series){.shard_bytes = config->shard_bytes, .writer.fd = -1};
    sluice_status status =
        sl_schema_make(&series->schema, config->fields, config->field_count, error);
    if (status == SLUICE_OK) {
        status =
            sl_schema_add_classes(&series->schema, config->classes, config->class_count, error);
    }
    if (status < 0) {
        return status;
    }
    uint64_t bytes = sl_schema_bytes(&series->schema);
    series->metadata = sl_malloc(bytes);
    if (series->metadata == NULL) {
        sl_series_close(series);
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for the metadata");
    }
    series->plan = (sl_shard_plan){.output = config->output,
                                   .schema = &series->schema,
                                   .metadata = series->metadata,
                                   .meta_bytes = bytes,
                                   .pack_id = config->pack_id};
    status = sl_shard_writer_open(&series->writer, &series->plan, error);
    if (status < 0) {
        sl_series_close(series);
    }
    return status;
}

void sl_series_settle(sl_series *series)
{
    sl_schema_encode(&series->schema, series->metadata);
    series->plan.meta_checksum = sl_checksum(series->metadata, series->plan.meta_bytes);
}

void sl_series_close(sl_series *series)
{
    sl_shard_writer_close(&series->writer);
    sl_schema_close(&series->schema);
    sl_free(series->metadata);
    sl_free(series->rows);
    *series = (sl_series){.writer.fd = -1};
}

static sluice_status add_row(sl_series *series, const sl_shard_row *row, uint64_t next,
                             sluice_error *error)
{
    if (series->count == series->room) {
        uint32_t room = series->room < 64 ? 64 : series->room * 2;
        sl_shard_row *grown = sl_realloc_array(series->rows, room, sizeof(*grown));
        if (grown == NULL) {
            return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for %u shards", room);
        }
        series->rows = grown;
        series->room = room;
    }
    sl_shard_row *own = &series->rows[series->count++];
    *own = *row;
    own->first = series->samples;
    series->samples += row->samples;
    series->data_bytes += row->data_bytes;
    series->file_bytes += row->file_bytes;
    series->next = next;
    return SLUICE_OK;
}

static sluice_status pass_on(sluice_error *error, const sluice_error *reason)
{
    if (error != NULL) {
        *error = *reason;
    }
    return (sluice_status)reason->status;
}

/* END: shard number series->count is not there, or is not what this series would have written. */
static sluice_status adopt_next(sl_series *series, sluice_error *error)
{
    char name[32];
    char path[SL_OUTPUT_PATH_BYTES];
    (void)snprintf(name, sizeof(name), SL_SHARD_NAME_FORMAT, series->count);
    sluice_status status = sl_output_name(series->plan.output, name, false, path, error);
    if (status < 0) {
        return status;
    }
    int fd;
    uint64_t bytes;
    sluice_error reason;
    status = sl_file_open((sl_file_name){STAGE, path}, &fd, &bytes, &reason);
    if (status < 0 && reason.sys_errno != ENOENT) {
        return pass_on(error, &reason);
    }
    if (status < 0) {
        return SLUICE_END;
    }
    sl_shard_header header;
    status = sl_shard_read_header(fd, path, bytes, &header, &reason);
    sl_file_close(fd);
    if (status == SLUICE_IO) {
        return pass_on(error, &reason);
    }
    if (status < 0 || header.pack_id != series->plan.pack_id || header.number != series->count ||
        header.source_first != series->next || header.meta_checksum != series->plan.meta_checksum ||
        header.meta_bytes != series->plan.meta_bytes) {
        return SLUICE_END;
    }
    sl_shard_row row = sl_shard_row_of(&header);
    return add_row(series, &row, header.source_next, error);
}

sluice_status sl_series_adopt(sl_series *series, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    while (status == SLUICE_OK) {
        status = adopt_next(series, error);
    }
    return status < 0 ? status : sl_output_remove_shards(series->plan.output, series->count, error);
}

bool sl_series_is_full(const sl_series *series, const sl_record *record)
{
    const sl_shard_writer *writer = &series->writer;
    return writer->fd >= 0 && writer->samples > 0 &&
           sl_shard_writer_bytes_with(writer, record) > series->shard_bytes;
}

sluice_status sl_series_cut(sl_series *series, uint64_t next, sluice_error *error)
{
    if (series->writer.fd < 0) {
        return SLUICE_OK;
    }
    sl_shard_row row;
    sluice_status status = sl_shard_writer_finish(&series->writer, series->next, next, &row, error);
    return status == SLUICE_OK ? add_row(series, &row, next, error) : status;
}

sluice_status sl_series_add(sl_series *series, const sl_record *record, sluice_error *error)
{
    if (series->writer.fd < 0) {
        if (series->count >= SL_SHARDS_MAX) {
            return sl_error_set(error, SLUICE_INVALID, STAGE, "too many shards");
        }
        sluice_status status = sl_shard_writer_begin(&series->writer, series->count, error);
        if (status < 0) {
            return status;
        }
    }
    return sl_shard_writer_add(&series->writer, record, error);
}

static void describe(const sl_series *series, const uint8_t *rows, sl_manifest_header *header)
{
    *header = (sl_manifest_header){
        .samples = series->samples,
        .data_bytes = series->data_bytes,
        .shards = series->count,
        .rows_bytes = (uint64_t)series->count * SL_SHARD_ROW_BYTES,
        .meta_bytes = series->plan.meta_bytes,
        .meta_checksum = series->plan.meta_checksum,
        .source_samples = series->next,
        .pack_id = series->plan.pack_id,
    };
    header->rows_checksum = sl_checksum(rows, header->rows_bytes);
    header->meta_offset = SL_PAGE_BYTES + header->rows_bytes;
    header->file_bytes = header->meta_offset + header->meta_bytes;
}

static sluice_status write_parts(const sl_series *series, int fd, const uint8_t *rows,
                                 const char *path, sluice_error *error)
{
    uint8_t page[SL_PAGE_BYTES];
    sl_manifest_header header;
    sl_file_name name = {STAGE, path};
    describe(series, rows, &header);
    sl_manifest_header_encode(&header, page);
    sluice_status status = sl_file_write(fd, name, page, sizeof(page), 0, error);
    if (status == SLUICE_OK) {
        status = sl_file_write(fd, name, rows, header.rows_bytes, SL_PAGE_BYTES, error);
    }
    if (status == SLUICE_OK) {
        status =
            sl_file_write(fd, name, series->metadata, header.meta_bytes, header.meta_offset, error);
    }
    return status == SLUICE_OK ? sl_output_sync(series->plan.output, SL_MANIFEST_NAME, fd, error)
                               : status;
}

sluice_status sl_series_write_manifest(const sl_series *series, char *path, sluice_error *error)
{
    sluice_status status = sl_output_name(series->plan.output, SL_MANIFEST_NAME, true, path, error);
    uint8_t *rows = sl_malloc((size_t)series->count * SL_SHARD_ROW_BYTES);
    if (rows == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for the manifest");
    }
    for (uint32_t i = 0; i < series->count; i++) {
        sl_shard_row_encode(&series->rows[i], rows + (size_t)i * SL_SHARD_ROW_BYTES);
    }
    int fd = -1;
    if (status == SLUICE_OK) {
        status = sl_output_create(series->plan.output, SL_MANIFEST_NAME, &fd, error);
    }
    if (status == SLUICE_OK) {
        status = write_parts(series, fd, rows, path, error);
        if (status < 0) {
            sl_output_discard(series->plan.output, SL_MANIFEST_NAME);
        }
    }
    sl_file_close(fd);
    sl_free(rows);
    return status;
}
