/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards: a dataset of packed shards (docs/format.md), private parts.
 *
 * Purpose: shards_open.c makes one from manifests and lone shards, shards.c locates and reads
 * samples, shards_check.c verifies. Nothing is mapped; index blocks are read when asked for.
 * Threads: rows, sources and schema are immutable after open; the rest locks itself.
 */
#ifndef SL_SHARDS_H
#define SL_SHARDS_H

#include "dataset.h"
#include "descriptors.h"
#include "index_cache.h"
#include "shard_format.h"

#define SL_PATH_BYTES 4096

/* Where some of the shards lie. */
typedef struct sl_shard_source {
    char *path;      /* the folder, or the file of a lone shard; owned */
    uint8_t lone;    /* path is the shard itself */
    uint64_t shards; /* rows of this source */
} sl_shard_source;

typedef struct sl_shard {
    sl_shard_row row; /* row.first counts in the whole dataset */
    uint32_t source;
    _Atomic uint8_t trusted; /* the file's header was read and is the row's */
} sl_shard;

/* What locks itself, and so may be used through a const dataset. */
typedef struct sl_shard_access {
    sl_descriptors descriptors;
    sl_index_cache cache;
} sl_shard_access;

typedef struct sl_shards {
    sl_dataset base;
    sl_shard *shards; /* base.files of them */
    sl_shard_source *sources;
    uint32_t source_count;
    sl_schema schema;
    uint64_t meta_bytes, meta_checksum;
    sl_shard_access *access; /* owned */
} sl_shards;

static inline const sl_shards *sl_shards_of(const sl_dataset *dataset)
{
    return (const sl_shards *)(const void *)dataset;
}

extern const sl_dataset_ops sl_shards_ops;

/*
 * Opens the dataset that the manifest at `manifest` describes, whatever its name, with the shards
 * beside it: a pack reads back what it wrote before it gives the manifest its name.
 */
sluice_status sl_shards_open_manifest(sl_dataset **dataset, const char *manifest,
                                      sluice_error *error);

/* Reads and checks a shard's header page against the file's size. */
sluice_status sl_shard_read_header(int fd, const char *path, uint64_t file_bytes,
                                   sl_shard_header *header, sluice_error *error);

/* Records a refusal of bytes that begin at `offset` of `path`; returns its status. */
sluice_status sl_shards_refuse(sluice_error *error, sl_refusal refusal, const char *path,
                               uint64_t offset);

/* Writes the path of shard `file`: INVALID when it does not fit. */
sluice_status sl_shards_path(const sl_dataset *dataset, uint32_t file, char *path, size_t bytes);

/*
 * Pins the descriptor of a shard and makes sure, once, that its header is the one that the manifest
 * describes. `path` (SL_PATH_BYTES) is filled first. Unpin with sl_shards_unpin.
 */
sluice_status sl_shards_pin(const sl_shards *shards, uint32_t file, char *path, int *fd,
                            sluice_error *error);
void sl_shards_unpin(const sl_shards *shards, uint32_t file);

sluice_status sl_shards_check_file(const sl_dataset *dataset, uint32_t file, sl_findings *findings);

#endif
