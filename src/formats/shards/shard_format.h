/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_format: encodes and decodes the structures of docs/format.md.
 *
 * Purpose: the only code that knows the layout of shards and manifests, for reader and writer
 * alike; shard_record.h handles samples. Reads both versions and writes version 2. Decoders take
 * untrusted bytes: they check checksum, version, every reserved byte and every relation between
 * numbers, and return NULL or the reason as a static text. The reason's `status` is CORRUPT unless
 * noted as UNSUPPORTED. Threads: pure.
 */
#ifndef SL_SHARD_FORMAT_H
#define SL_SHARD_FORMAT_H

#include "error.h"
#include "value.h"
#include "view.h"

#include <sluice/dataset.h>

#include <stdbool.h>

#define SL_PAGE_BYTES        4096u
#define SL_SHARD_VERSION     2u /* version that is written */
#define SL_SHARD_DATA_OFFSET 4096u
#define SL_SHARD_ROW_BYTES   64u
#define SL_META_BYTES_MIN    64u
#define SL_META_BYTES_MAX    ((uint64_t)1 << 28)
#define SL_CLASSES_MAX       (1u << 24)
#define SL_EMPTY_NAMES_MAX   65536u /* limit on classes without names: unused labels */
#define SL_SHARDS_MAX        (UINT32_MAX - 1u)
#define SL_SAMPLES_MAX       ((uint64_t)1 << 62)
/* Index block of version 2: number of samples, each between two adjacent fences. */
#define SL_BLOCK_SAMPLES 503u
#define SL_FENCE_BYTES   8u
/* Version 1. */
#define SL_ENTRY_FIXED_BYTES 24u
#define SL_ENTRY_BYTES_MAX   1024u
#define SL_BLOCK_ENTRY_ROOM  4032u

#define SL_MANIFEST_NAME     "manifest.sluice"
#define SL_JOURNAL_NAME      "pack.journal"
#define SL_OPTIONS_NAME      "pack.options"
#define SL_MAP_NAME          "map.json" /* both map files: from Python's pack with a function */
#define SL_MAP_REJECTED_NAME "map.rejected.tsv"
#define SL_SHARD_SUFFIX      ".sluice"
#define SL_SHARD_NAME_FORMAT "shard-%06u.sluice"
#define SL_LEFT_OUT_FORMAT   "shard-%06u.rejected"
#define SL_PART_NAME_FORMAT  "pack.%05u-of-%05u.part"
#define SL_PART_SCAN_FORMAT  "pack.%u-of-%u.part"

typedef enum sl_blob_encoding { SL_BLOB_PLAIN = 0, SL_BLOB_ZSTD = 1 } sl_blob_encoding;
typedef enum sl_page_kind { SL_PAGE_OTHER, SL_PAGE_SHARD, SL_PAGE_MANIFEST } sl_page_kind;

typedef struct sl_shard_header {
    uint64_t file_bytes, samples, data_bytes, index_offset, index_bytes, index_checksum;
    uint64_t meta_offset, meta_bytes, meta_checksum, identity;
    uint32_t version, number;
    uint32_t entry_bytes, entries_per_block; /* of the index; version 2: 0 if there is none */
    uint32_t record_bytes; /* size of each sample if all are equal; 0: they differ */
    uint64_t source_first, source_next, pack_id;
    uint64_t checksum; /* checksum of the header; set when encoding and decoding */
} sl_shard_header;

/* A shard as its manifest row describes it. */
typedef struct sl_shard_row {
    uint64_t first, samples, file_bytes, data_bytes, index_offset, header_checksum, identity;
    uint32_t number, record_bytes;
} sl_shard_row;

typedef struct sl_manifest_header {
    uint64_t file_bytes, samples, data_bytes, shards, rows_bytes, rows_checksum;
    uint64_t meta_offset, meta_bytes, meta_checksum, source_samples, pack_id;
    uint32_t version;
    bool numbered; /* true if the rows' numbers increase, but may have gaps */
    bool grown;    /* true if shards may have only the first classes of the manifest's list */
} sl_manifest_header;

/* The metadata: fields and class names, and values derived from the fields. */
typedef struct sl_schema {
    sl_field fields[SL_FIELDS_MAX];
    uint32_t field_count, version;
    uint32_t cells[SL_FIELDS_MAX]; /* offset of each field's cell: in a record; version 1: in an
                                      index entry */
    uint32_t head_bytes;           /* size of a record before its blobs; version 1: of an entry */
    uint64_t fixed_bytes[SL_FIELDS_MAX];     /* product of a tensor's element size and its fixed
                                                dimensions */
    uint32_t varying[SL_FIELDS_MAX];         /* number of a tensor's variable dimensions */
    uint32_t entry_bytes, entries_per_block; /* of the index */
    uint32_t image, label, key;              /* field numbers; SL_FIELD_NONE */
    uint32_t tail; /* field that fills a record after its head: a tensor that is never compressed,
                      with only numbers beside it; SL_FIELD_NONE */
    uint32_t class_count;
    char **classes; /* owned; class_count pointers into `names` */
    char *names;    /* owned */
} sl_schema;

/* A blob as described by its column in version 1. */
typedef struct sl_blob {
    uint32_t bytes; /* stored size */
    uint8_t encoding, codec;
    uint32_t width, height;   /* for images */
    uint32_t unpacked, check; /* for bytes and text */
} sl_blob;

/* The parts of a version 1 index entry that sluice reads. */
typedef struct sl_entry {
    uint64_t offset, checksum;
    uint32_t bytes;
    uint32_t image_offset, key_offset; /* offsets in the record */
    sl_blob image, key;
    int64_t label;
} sl_entry;

/* Rounds x up to a multiple of the page size; x < 2^63. */
uint64_t sl_page_round_up(uint64_t x);

/* Returns the kind of a page by its first 8 bytes. */
sl_page_kind sl_page_kind_of(const uint8_t magic[8]);

/* Encodes version 2. */
void sl_shard_header_encode(sl_shard_header *header, uint8_t page[SL_PAGE_BYTES]);
sl_refusal sl_shard_header_decode(sl_shard_header *header, const uint8_t page[SL_PAGE_BYTES]);

/* Encodes version 2. */
void sl_manifest_header_encode(const sl_manifest_header *header, uint8_t page[SL_PAGE_BYTES]);
sl_refusal sl_manifest_header_decode(sl_manifest_header *header, const uint8_t page[SL_PAGE_BYTES]);
void sl_shard_row_encode(const sl_shard_row *row, uint8_t bytes[SL_SHARD_ROW_BYTES]);
/*
 * Decodes a row. The file size in the row must match `schema` and `header`; with `grown` it may be
 * smaller.
 */
sl_refusal sl_shard_row_decode(sl_shard_row *row, const uint8_t bytes[SL_SHARD_ROW_BYTES],
                               const sl_schema *schema, const sl_manifest_header *header);
/* Returns the row of a header (first = 0). */
sl_shard_row sl_shard_row_of(const sl_shard_header *header);
/* Returns whether a row describes the header. */
bool sl_shard_row_matches(const sl_shard_row *row, const sl_shard_header *header);
/* Returns the number of index blocks of a shard with `samples`. */
uint64_t sl_index_blocks(uint64_t samples, uint32_t record_bytes, uint32_t per_block);

/* Makes a schema of version 2. INVALID for duplicate names, unknown types and the like. */
sluice_status sl_schema_make(sl_schema *schema, const sl_field *fields, uint32_t count,
                             sluice_error *error);
/* Adds class names, which are copied. Errors: INVALID, NOMEM. */
sluice_status sl_schema_add_classes(sl_schema *schema, const char *const *classes, uint32_t count,
                                    sluice_error *error);
/*
 * Returns whether `label` is a class, or none (-1). If classes have no names, any label is valid.
 */
static inline bool sl_schema_has_label(const sl_schema *schema, int64_t label)
{
    return schema->class_count == 0 || (label >= -1 && label < (int64_t)schema->class_count);
}
/* Returns whether the fields are equal, and the classes begin with those of `before`. */
bool sl_schema_extends(const sl_schema *schema, const sl_schema *before);
uint64_t sl_schema_bytes(const sl_schema *schema);
void sl_schema_encode(const sl_schema *schema, uint8_t *bytes);
/*
 * Survey of class names piece by piece, before memory is allocated for their claimed size: a file's
 * size proves little, since unwritten ranges take no disk space.
 */
typedef struct sl_names_survey {
    uint64_t names_at, at; /* metadata offset of the names; offset of the next piece */
    uint32_t classes, found, empty;
    bool in_name; /* true if the last piece ended within a name */
} sl_names_survey;

/* Begins with the first SL_META_BYTES_MIN of `bytes` of metadata. */
sl_refusal sl_names_survey_begin(sl_names_survey *survey, uint32_t version, uint64_t bytes,
                                 const uint8_t *head);
/* Adds the next piece; pieces are contiguous from byte 0. */
sl_refusal sl_names_survey_add(sl_names_survey *survey, sl_bytes piece);
sl_refusal sl_names_survey_end(const sl_names_survey *survey);

/* Decodes a schema; it is empty after an error, which may be NOMEM. */
sl_refusal sl_schema_decode(sl_schema *schema, uint32_t version, sl_bytes bytes);
void sl_schema_close(sl_schema *schema);

/* Decodes an entry of version 1; it must be within the shard's `data_bytes`. */
sl_refusal sl_entry_decode(const sl_schema *schema, sl_entry *entry, const uint8_t *bytes,
                           uint64_t data_bytes);
/*
 * Decodes the fences of a sample and the next one, which must be within the shard's `data_bytes`.
 */
sl_refusal sl_fences_decode(const uint8_t fences[2 * SL_FENCE_BYTES], uint64_t data_bytes,
                            uint64_t *offset, uint32_t *bytes);

/* Expected contents of a block's tail. */
typedef struct sl_block_tail {
    uint64_t first, identity;
    uint32_t count;
} sl_block_tail;

/* Completes a block whose fences are set and whose other bytes are zero. */
void sl_block_seal(uint8_t block[SL_PAGE_BYTES], const sl_block_tail *tail);
sl_refusal sl_block_check(const uint8_t block[SL_PAGE_BYTES], const sl_block_tail *tail,
                          const sl_schema *schema);

#endif
