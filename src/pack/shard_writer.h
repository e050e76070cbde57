/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_writer: writes one shard file (docs/format.md, sections 4 to 7).
 *
 * Purpose: appends samples through a buffer and keeps their sizes; finish writes index, metadata
 * and header, syncs, and renames the file. Data is written to disk continuously, so that finishing
 * waits little. Samples of equal size need no index. Threads: one owner. Memory: 4 bytes per sample
 * of a shard, and 1 MiB.
 */
#ifndef SL_SHARD_WRITER_H
#define SL_SHARD_WRITER_H

#include "output.h"
#include "record.h"
#include "shard_format.h"

/* Common data of all shards of a dataset; must outlive the writers. */
typedef struct sl_shard_plan {
    const sl_output *output;
    const sl_schema *schema;
    const uint8_t *metadata; /* encoded schema */
    uint64_t meta_bytes, meta_checksum;
    uint64_t pack_id;
} sl_shard_plan;

typedef struct sl_shard_writer {
    const sl_shard_plan *plan;
    int fd; /* -1: no shard is open */
    uint32_t number;
    uint64_t data_bytes, samples, capacity;
    uint64_t identity;     /* of the samples so far */
    uint32_t *sizes;       /* of the samples; may have free capacity */
    uint32_t record_bytes; /* size of each sample while all are equal; 0: they differ */
    uint8_t *buffer;       /* bytes not written yet: the last `buffered` of the data */
    size_t buffered;
    uint64_t behind; /* offset up to which writing to disk was started */
    char name[32];
    char path[SL_OUTPUT_PATH_BYTES]; /* path of the temporary file, for errors */
} sl_shard_writer;

/* Allocates; creates no file. Errors: NOMEM. */
sluice_status sl_shard_writer_open(sl_shard_writer *writer, const sl_shard_plan *plan,
                                   sluice_error *error);
/* Discards an unfinished shard and frees. A zeroed writer with fd -1 may be closed. */
void sl_shard_writer_close(sl_shard_writer *writer);
/* Begins shard `number`. Errors: IO. */
sluice_status sl_shard_writer_begin(sl_shard_writer *writer, uint32_t number, sluice_error *error);
/* Returns the size of the whole file if a record were added and the shard finished. */
uint64_t sl_shard_writer_bytes_with(const sl_shard_writer *writer, const sl_record *record);
/* Errors: IO, NOMEM. */
sluice_status sl_shard_writer_add(sl_shard_writer *writer, const sl_record *record,
                                  sluice_error *error);
/*
 * Publishes the shard, which must have a sample; `*row` describes it. Errors: IO; only close may
 * follow.
 */
sluice_status sl_shard_writer_finish(sl_shard_writer *writer, uint64_t source_first,
                                     uint64_t source_next, sl_shard_row *row, sluice_error *error);

#endif
