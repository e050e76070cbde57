/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_index: locates the samples of one file that has no index of its own.
 *
 * Purpose: the result of walking a tar, TFRecord or RecordIO file, kept by index_store.h. Samples
 * are in order; for a file that is compressed as a whole, offsets refer to its unpacked bytes. A
 * sample may have more bytes elsewhere in the file (links). The index also counts what walking left
 * out, so that opening a kept index reports the same. Threads: one builds an index; then it is
 * immutable. Ownership: sl_file_index_close. Memory: 12 bytes per sample.
 */
#ifndef SL_FILE_INDEX_H
#define SL_FILE_INDEX_H

#include "file.h"
#include "unpack_stream.h"
#include "value.h"

#include <stdbool.h>
#include <stdint.h>

#define SL_INDEX_NAMES_MAX     (SL_FIELDS_MAX - 1U)
#define SL_INDEX_OMISSIONS_MAX 16U
#define SL_INDEX_EXAMPLE_BYTES 200U
#define SL_INDEX_LINKS_MAX     SL_INDEX_NAMES_MAX /* limit per sample */

typedef enum sl_index_kind {
    SL_INDEX_TAR = 0,
    SL_INDEX_TFRECORD = 1,
    SL_INDEX_RECORDIO = 2,
    SL_INDEX_KINDS
} sl_index_kind;

/* Things that walking left out, for one reason. */
typedef struct sl_index_omission {
    uint32_t reason; /* the format's own number */
    uint64_t count;
    char example[SL_INDEX_EXAMPLE_BYTES]; /* the first one: its name, or the end of it */
} sl_index_omission;

/* Bytes elsewhere in the file that belong to a sample, after its own. */
typedef struct sl_index_link {
    uint64_t sample;
    uint64_t offset;
    uint32_t bytes;
    uint32_t part; /* the format's own number, which increases within a sample */
} sl_index_link;

typedef struct sl_file_index {
    sl_index_kind kind;
    sl_packing packing;
    uint32_t facts;        /* the format's own */
    sl_file_identity file; /* the walked file */
    uint64_t samples, capacity;
    uint64_t *offsets;   /* offset of each sample's first byte */
    uint32_t *bytes;     /* size of each sample; UINT32_MAX: that, or more */
    uint32_t name_count; /* number of names in samples, if walking finds names */
    char names[SL_INDEX_NAMES_MAX][SL_FIELD_NAME_BYTES]; /* in order of appearance */
    uint32_t omission_count;
    sl_index_omission *omissions; /* SL_INDEX_OMISSIONS_MAX entries; NULL: none */
    sl_index_link *links;         /* in sample order; only for files that are not packed */
    uint64_t link_count, link_capacity;
} sl_file_index;

/* Releases `index`, which may be zero-initialised. */
void sl_file_index_close(sl_file_index *index);

/* Adds a sample. False: no memory. */
bool sl_file_index_add(sl_file_index *index, uint64_t offset, uint64_t bytes);
/*
 * Returns the number of a name, which must be short enough, adding it if necessary; SL_FIELD_NONE:
 * too many.
 */
uint32_t sl_file_index_name(sl_file_index *index, const char *name);

/* Counts something that was left out. False: no memory. */
bool sl_file_index_omit(sl_file_index *index, uint32_t reason, const char *example);
/* Adds bytes to the last or next sample. False: no memory. */
bool sl_file_index_link(sl_file_index *index, const sl_index_link *link);
/* Returns the first of a sample's `*count` links. */
const sl_index_link *sl_file_index_links(const sl_file_index *index, uint64_t sample,
                                         uint32_t *count);

/* Size of an encoded index's head, which determines its total size. */
#define SL_FILE_INDEX_HEAD 88U
/*
 * Returns the total size of an encoded index that begins with `head`; 0: not an index, or it has
 * more samples than an uncompressed file of its stated size can contain.
 */
uint64_t sl_file_index_bytes(const uint8_t head[SL_FILE_INDEX_HEAD]);
/* Encodes an index (in memory of sl_malloc), or decodes one; false: no memory, or invalid. */
bool sl_file_index_encode(const sl_file_index *index, uint8_t **bytes, size_t *size);
bool sl_file_index_decode(sl_file_index *index, const uint8_t *bytes, size_t size);

#endif
