/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series: the shards of one dataset, one after another, and their manifest.
 *
 * Purpose: the current shard, cut by the owner; the rows of complete shards; the manifest. Threads:
 * one owner. Positions: every sample has a position in the order in which samples are offered,
 * which includes left-out ones. Positions increase from one add to the next, unless the owner
 * seeks.
 */
#ifndef SL_SERIES_H
#define SL_SERIES_H

#include "dataset.h"
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
} sl_series_config;

typedef struct sl_series {
    sl_shard_plan plan;
    sl_schema schema;
    uint8_t *metadata;
    uint64_t shard_bytes;
    sl_shard_writer writer;
    sl_shard_row *rows;
    uint32_t count; /* number of complete shards */
    uint64_t capacity;
    uint64_t samples; /* in complete shards */
    uint64_t data_bytes, file_bytes;
    bool grown;      /* true if some rows are of shards with fewer classes */
    uint32_t number; /* of the current or next shard */
    uint64_t next;   /* its first position */
} sl_series;

/* Errors: INVALID (fields, class names), NOMEM. */
sluice_status sl_series_open(sl_series *series, const sl_series_config *config,
                             sluice_error *error);
/* Opens with `fields`, as many as the dataset has, and its classes. Errors: as above. */
sluice_status sl_series_open_like(sl_series *series, const sl_output *output,
                                  const sl_dataset *dataset, const sl_field *fields,
                                  sluice_error *error);
/* Discards an unfinished shard and frees. A zeroed series may be closed. */
void sl_series_close(sl_series *series);
/* Fixes the schema, for shards with this pack id; must precede the calls below. */
void sl_series_settle(sl_series *series, uint64_t pack_id);

/* Sets the next shard to `number`, which begins at position `first`; no shard may be unfinished. */
void sl_series_seek(sl_series *series, uint32_t number, uint64_t first);
/*
 * Looks for the next shard, up to position `next`, from an earlier run with the same pack id;
 * `*row` describes it. END: it does not exist, or differs from what this series would write.
 * Errors: IO.
 */
sluice_status sl_series_look(const sl_series *series, uint64_t next, sl_shard_row *row,
                             sluice_error *error);
/* Adds a row of a complete shard. Errors: NOMEM. */
sluice_status sl_series_add_row(sl_series *series, const sl_shard_row *row, sluice_error *error);

/* Returns true if the current shard must be cut before this record. */
bool sl_series_is_full(const sl_series *series, const sl_record *record);
/* Completes the current shard, if any, which covers all positions before `next`. */
sluice_status sl_series_cut(sl_series *series, uint64_t next, sluice_error *error);
/* Errors: IO, NOMEM, INVALID (too many shards). */
sluice_status sl_series_add(sl_series *series, const sl_record *record, sluice_error *error);

typedef struct sl_manifest_plan {
    const char *name;
    uint64_t positions; /* samples, including left-out ones */
    uint64_t pack_id;
} sl_manifest_plan;

/* Sorts the rows by number and sets where each begins; must precede writing the manifest. */
void sl_series_put_in_order(sl_series *series);
/*
 * Writes and syncs a manifest of the rows as the temporary file of `name`, whose path goes to
 * `path`.
 */
sluice_status sl_series_write_manifest(const sl_series *series, const sl_manifest_plan *plan,
                                       char *path, sluice_error *error);

#endif
