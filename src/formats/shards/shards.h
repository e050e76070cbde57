/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards: a dataset of packed shards (docs/format.md), private parts.
 *
 * Purpose: shards_open.c opens manifests and single shards. shards_version1.c and shards_version2.c
 * locate and unpack samples, shards.c has the code common to both versions, and shards_check.c
 * verifies. Nothing is mapped; index blocks are read on demand. Threads: rows, sources and schema
 * are immutable after open; the rest locks itself.
 */
#ifndef SL_SHARDS_H
#define SL_SHARDS_H

#include "dataset.h"
#include "index_cache.h"
#include "pack_note.h"
#include "shard_format.h"
#include "store.h"

/* The location of some of the shards. */
typedef struct sl_shard_source {
    char *path;      /* the folder, or the file of a single shard; owned */
    uint8_t lone;    /* 1: path is the shard itself */
    uint64_t shards; /* number of rows in this source */
} sl_shard_source;

typedef struct sl_shard {
    sl_shard_row row; /* row.first counts over the whole dataset */
    uint32_t source;
    uint64_t first_block; /* number of its first index block over the whole dataset */
    _Atomic bool trusted; /* true if the header was read and matches the row, or need not be read */
} sl_shard;

typedef struct sl_shards {
    sl_dataset base;
    sl_shard *shards;
    uint32_t count; /* number of shards: the dataset's objects */
    uint32_t capacity;
    sl_shard_source *sources;
    uint32_t source_count;
    sl_schema schema;
    uint64_t meta_bytes, meta_checksum;
    bool grown;                    /* true if shards may have fewer classes */
    char note[SL_PACK_NOTE_BYTES]; /* note of the first manifest */
    sl_index_cache *cache;         /* owned; locks itself */
} sl_shards;

static inline const sl_shards *sl_shards_of(const sl_dataset *dataset)
{
    return (const sl_shards *)(const void *)dataset;
}

/* Operations by format version, which is the same for all shards of a dataset. */
extern const sl_dataset_ops sl_shards_ops_1, sl_shards_ops_2;
extern const sl_check_ops sl_shards_checks_1, sl_shards_checks_2;
extern const sl_tensor_ops sl_shards_tensors_2; /* records of version 1 have images only */

/*
 * Opens the dataset of the manifest at `manifest`, under any name, with the shards beside it. A
 * pack uses this to read back its output before it renames the manifest.
 */
sluice_status sl_shards_open_manifest(sl_dataset **dataset, const char *manifest,
                                      sluice_error *error);

/* Reads a shard's header page and checks it against the file's size. */
sluice_status sl_shard_read_header(const sl_handle *from, uint64_t file_bytes,
                                   sl_shard_header *header, sluice_error *error);

/* Reports an error in bytes that begin at `offset` of `path`; returns its status. */
sluice_status sl_shards_refuse(sluice_error *error, sl_refusal refusal, const char *path,
                               uint64_t offset);

/* Implements sl_object_names; `ctx` is the sl_shards. */
sluice_status sl_shards_path(void *ctx, uint32_t shard, char *path, size_t bytes);
uint64_t sl_shards_bytes(void *ctx, uint32_t shard);

/* Checks that the header's index describes samples with the schema's fields. NULL text: it does. */
sl_refusal sl_shard_header_fits(const sl_shard_header *header, const sl_schema *schema);
/* Checks that the page is the header of the shard that the row describes. NULL text: it is. */
sl_refusal sl_shard_header_trust(const sl_shards *shards, const sl_shard *shard,
                                 const uint8_t page[SL_PAGE_BYTES], sl_shard_header *header);

/* ---- what the versions share ---- */

/* Returns the number of the shard that contains the sample. */
uint32_t sl_shards_find(const sl_shards *shards, uint64_t index);
/* Returns the block's number over the whole dataset, for the cache. */
static inline uint64_t sl_shards_tag(const sl_shard *shard, uint64_t block)
{
    return shard->first_block + block;
}
/* Returns the expected tail of an index block. */
sl_block_tail sl_shards_tail(const sl_shards *shards, const sl_shard_row *row, uint64_t block);

/* Operations of sl_dataset_ops that do not depend on the version. */
sl_refusal sl_shards_learn(const sl_dataset *dataset, const sl_place *lookup, sl_bytes bytes);
uint64_t sl_shards_first_of_object(const sl_dataset *dataset, uint32_t object);
const char *sl_shards_class_name(const sl_dataset *dataset, int64_t label);
void sl_shards_close(sl_dataset *dataset);
sluice_status sl_shards_check(const sl_dataset *dataset, uint32_t shard, sl_findings *findings);

#endif
