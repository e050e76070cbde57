/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series: the shards of a dataset being written, their rows and the manifest. One owner. Positions
 * increase.
 */
#include "series.h"

#include "checksum.h"
#include "error.h"
#include "file.h"
#include "memory.h"
#include "shards.h"
#include "store.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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
        return sl_no_memory(error, STAGE, "for the metadata");
    }
    series->plan = (sl_shard_plan){.output = config->output,
                                   .schema = &series->schema,
                                   .metadata = series->metadata,
                                   .meta_bytes = bytes};
    status = sl_shard_writer_open(&series->writer, &series->plan, error);
    if (status < 0) {
        sl_series_close(series);
    }
    return status;
}

sluice_status sl_series_open_like(sl_series *series, const sl_output *output,
                                  const sl_dataset *dataset, const sl_field *fields,
                                  sluice_error *error)
{
    const uint32_t count = dataset->info.classes;
    const char **classes = sl_calloc(count > 0 ? count : 1, sizeof(*classes));
    if (classes == NULL) {
        return sl_no_memory(error, STAGE, "for the class names");
    }
    for (uint32_t i = 0; i < count; i++) {
        classes[i] = sl_dataset_class_name(dataset, i);
    }
    const sl_series_config config = {.output = output,
                                     .fields = fields,
                                     .field_count = dataset->info.fields,
                                     .classes = classes,
                                     .class_count = count};
    const sluice_status status = sl_series_open(series, &config, error);
    sl_free(classes);
    return status;
}

void sl_series_settle(sl_series *series, uint64_t pack_id)
{
    series->plan.pack_id = pack_id;
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

sluice_status sl_series_add_row(sl_series *series, const sl_shard_row *row, sluice_error *error)
{
    const uint64_t needed = series->count + (uint64_t)1;
    if (!sl_grow(&series->rows, &series->capacity, needed, sizeof(*series->rows))) {
        return sl_no_memory(error, STAGE, "for %llu shards", (unsigned long long)needed);
    }
    series->rows[series->count++] = *row;
    series->samples += row->samples;
    series->data_bytes += row->data_bytes;
    series->file_bytes += row->file_bytes;
    return SLUICE_OK;
}

void sl_series_seek(sl_series *series, uint32_t number, uint64_t first)
{
    assert(series->writer.fd < 0);
    series->number = number;
    series->next = first;
}

/* Adds the row of a complete shard. */
static sluice_status series_step(sl_series *series, const sl_shard_row *row, uint64_t next,
                                 sluice_error *error)
{
    const sluice_status status = sl_series_add_row(series, row, error);
    if (status == SLUICE_OK) {
        series->number++;
        series->next = next;
    }
    return status;
}

static sluice_status pass_on(sluice_error *error, const sluice_error *reason)
{
    if (error != NULL) {
        *error = *reason;
    }
    return (sluice_status)reason->status;
}

sluice_status sl_series_look(const sl_series *series, uint64_t next, sl_shard_row *row,
                             sluice_error *error)
{
    char name[32];
    char path[SL_OUTPUT_PATH_BYTES];
    (void)snprintf(name, sizeof(name), SL_SHARD_NAME_FORMAT, series->number);
    sluice_status status = sl_output_name(series->plan.output, name, false, path, error);
    if (status < 0) {
        return status;
    }
    sl_handle from;
    sl_file_identity file = {0};
    sluice_error reason;
    status = sl_handle_open(&from, (sl_file_name){STAGE, path}, &file, &reason);
    if (status < 0 && reason.sys_errno != ENOENT) {
        return pass_on(error, &reason);
    }
    if (status < 0) {
        return SLUICE_END;
    }
    sl_shard_header header;
    status = sl_shard_read_header(&from, file.bytes, &header, &reason);
    sl_handle_close(&from);
    if (status == SLUICE_IO) {
        return pass_on(error, &reason);
    }
    if (status < 0 || header.pack_id != series->plan.pack_id || header.number != series->number ||
        header.source_first != series->next || header.source_next != next ||
        header.meta_checksum != series->plan.meta_checksum ||
        header.meta_bytes != series->plan.meta_bytes) {
        return SLUICE_END;
    }
    *row = sl_shard_row_of(&header);
    return SLUICE_OK;
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
    return status == SLUICE_OK ? series_step(series, &row, next, error) : status;
}

sluice_status sl_series_add(sl_series *series, const sl_record *record, sluice_error *error)
{
    if (series->writer.fd < 0) {
        if (series->number >= SL_SHARDS_MAX) {
            return sl_error_set(error, SLUICE_INVALID, STAGE, "too many shards");
        }
        sluice_status status = sl_shard_writer_begin(&series->writer, series->number, error);
        if (status < 0) {
            return status;
        }
    }
    return sl_shard_writer_add(&series->writer, record, error);
}

static int by_number(const void *a, const void *b)
{
    const uint32_t left = ((const sl_shard_row *)a)->number;
    const uint32_t right = ((const sl_shard_row *)b)->number;
    return (left > right) - (left < right);
}

void sl_series_put_in_order(sl_series *series)
{
    uint64_t first = 0;
    if (series->count > 0) {
        qsort(series->rows, series->count, sizeof(*series->rows), by_number);
    }
    for (uint32_t i = 0; i < series->count; i++) {
        series->rows[i].first = first;
        first += series->rows[i].samples;
    }
}

/* Returns whether the shard numbers have gaps. */
static bool series_is_numbered(const sl_series *series)
{
    return series->count == 0 || series->rows[series->count - 1].number != series->count - 1;
}

/* Contents of the manifest. */
typedef struct manifest {
    const sl_manifest_plan *plan;
    const char *path;
    uint8_t *rows; /* owned */
    sl_manifest_header header;
    uint8_t page[SL_PAGE_BYTES];
} manifest;

static sluice_status series_encode(const sl_series *series, manifest *m, sluice_error *error)
{
    const uint64_t bytes = (uint64_t)series->count * SL_SHARD_ROW_BYTES;
    m->rows = sl_malloc(bytes > 0 ? bytes : 1);
    if (m->rows == NULL) {
        return sl_no_memory(error, STAGE, "for the manifest");
    }
    m->header = (sl_manifest_header){.numbered = series_is_numbered(series),
                                     .grown = series->grown,
                                     .samples = series->samples,
                                     .data_bytes = series->data_bytes,
                                     .shards = series->count,
                                     .rows_bytes = bytes,
                                     .meta_offset = SL_PAGE_BYTES + bytes,
                                     .meta_bytes = series->plan.meta_bytes,
                                     .meta_checksum = series->plan.meta_checksum,
                                     .source_samples = m->plan->positions,
                                     .pack_id = m->plan->pack_id};
    for (uint32_t i = 0; i < series->count; i++) {
        sl_shard_row_encode(&series->rows[i], m->rows + (size_t)i * SL_SHARD_ROW_BYTES);
    }
    m->header.rows_checksum = sl_checksum(m->rows, bytes);
    m->header.file_bytes = m->header.meta_offset + m->header.meta_bytes;
    sl_manifest_header_encode(&m->header, m->page);
    return SLUICE_OK;
}

static sluice_status write_sections(const sl_series *series, int fd, const manifest *m,
                                    sluice_error *error)
{
    const sl_file_name name = {STAGE, m->path};
    sluice_status status = sl_file_write(fd, name, m->page, sizeof(m->page), 0, error);
    if (status == SLUICE_OK) {
        status = sl_file_write(fd, name, m->rows, m->header.rows_bytes, SL_PAGE_BYTES, error);
    }
    if (status == SLUICE_OK) {
        status = sl_file_write(fd, name, series->metadata, m->header.meta_bytes,
                               m->header.meta_offset, error);
    }
    return status == SLUICE_OK ? sl_output_sync(series->plan.output, m->plan->name, fd, error)
                               : status;
}

sluice_status sl_series_write_manifest(const sl_series *series, const sl_manifest_plan *plan,
                                       char *path, sluice_error *error)
{
    int fd = -1;
    manifest m = {.plan = plan, .path = path};
    sluice_status status = sl_output_name(series->plan.output, plan->name, true, path, error);
    if (status == SLUICE_OK) {
        status = series_encode(series, &m, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_create(series->plan.output, plan->name, &fd, error);
    }
    if (status == SLUICE_OK) {
        status = write_sections(series, fd, &m, error);
        if (status < 0) {
            sl_output_discard(series->plan.output, plan->name);
        }
    }
    sl_file_close(fd);
    sl_free(m.rows);
    return status;
}
