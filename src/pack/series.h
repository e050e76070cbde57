/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series: the shards of one dataset, one after the other, and their manifest.
 *
 * Purpose: cuts shards by the byte budget, keeps their rows, writes the manifest.
 * Threads: one owner.
 * Positions: every sample has a place in the order in which samples are offered, which counts those
 * that were left out too. They increase from one add to the next.
 */
#ifndef SL_SERIES_H
#define SL_SERIES_H

#include "shard_writer.h"

#define SL_SHARD_BYTES_DEFAULT ((uint64_t)256 << 20)
#define SL_SHARD_BYTES_MIN     ((uint64_t)1 << 20)
#define SL_SHARD_BYTES_MAX     ((uint64_t)1 << 40)

typedef struct sl_series_config {
    const sl_output *output;
    const sl_field *fields;
    uint32_t field_count;
    const char *const *classes;
    uint32_t class_count;
    uint64_t shard_bytes;
    uint64_t pack_id;
} sl_series_config;

typedef struct sl_series {
    sl_shard_plan plan;
    sl_schema schema;
    uint8_t *metadata;
    uint64_t shard_bytes;
    sl_shard_writer writer;
    sl_shard_row *rows;
    uint32_t count, room; /* complete shards */
    uint64_t samples;     /* in complete shards */
    uint64_t data_bytes, file_bytes;
    uint64_t next; /* first position that no complete shard covers */
} sl_series;

/* Errors: INVALID (fields, class names), NOMEM. */
sluice_status sl_series_open(sl_series *series, const sl_series_config *config,
                             sluice_error *error);
/* Discards an unfinished shard and frees. A zeroed series may be closed. */
void sl_series_close(sl_series *series);
/* The schema is as it will be written; before any of what follows. */
void sl_series_settle(sl_series *series);

/*
 * Takes over the complete shards that an earlier run with the same pack id left, as far as they
 * follow one another, and removes other shards. Errors: IO, NOMEM.
 */
sluice_status sl_series_adopt(sl_series *series, sluice_error *error);

/* True when the shard in the making must be cut before this record. */
bool sl_series_is_full(const sl_series *series, const sl_record *record);
/* Completes the shard in the making, if any; it covers all positions before `next`. */
sluice_status sl_series_cut(sl_series *series, uint64_t next, sluice_error *error);
/* Errors: IO, NOMEM, INVALID (too many shards). */
sluice_status sl_series_add(sl_series *series, const sl_record *record, sluice_error *error);

/* Writes and syncs the manifest under its temporary name, whose path goes to `path`. */
sluice_status sl_series_write_manifest(const sl_series *series, char *path, sluice_error *error);

#endif
