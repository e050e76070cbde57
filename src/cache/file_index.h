/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_index: where the samples of one file are that has no index of its own.
 *
 * Purpose: the result of walking a tar, a TFRecord or a RecordIO file, kept by index_store.h.
 * Samples are behind one another; of a file that is compressed as a whole, in its unpacked bytes.
 * A sample may have more bytes elsewhere in the file (links). The index also counts what walking
 * left out, so that opening a kept index reports the same.
 * Threads: one builds an index; then it is immutable. Ownership: sl_file_index_close. Memory: 12
 * bytes a sample.
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
#define SL_INDEX_LINKS_MAX     SL_INDEX_NAMES_MAX /* of a sample */

typedef enum sl_index_kind {
    SL_INDEX_TAR = 0,
    SL_INDEX_TFRECORD = 1,
    SL_INDEX_RECORDIO = 2,
    SL_INDEX_KINDS
} sl_index_kind;

/* What walking left out, for one reason. */
typedef struct sl_index_omission {
    uint32_t reason; /* the format's own number */
    uint64_t count;
    char example[SL_INDEX_EXAMPLE_BYTES]; /* the first: its name, or the end of it */
} sl_index_omission;

/* Bytes elsewhere in the file that belong to a sample, behind its own. */
typedef struct sl_index_link {
    uint64_t sample;
    uint64_t offset;
    uint32_t bytes;
    uint32_t part; /* the format's own number, which grows within a sample */
} sl_index_link;

typedef struct sl_file_index {
    sl_index_kind kind;
    sl_packing packing;
    uint32_t facts;        /* the format's own */
    sl_file_identity file; /* that was walked */
    uint64_t samples, capacity;
    uint64_t *offsets;   /* of its first byte */
    uint32_t *bytes;     /* of it; UINT32_MAX: that, or more */
    uint32_t name_count; /* of what its samples have, where walking tells */
    char names[SL_INDEX_NAMES_MAX][SL_FIELD_NAME_BYTES]; /* as they were met */
    uint32_t omission_count;
    sl_index_omission *omissions; /* SL_INDEX_OMISSIONS_MAX; NULL: none */
    sl_index_link *links;         /* in the order of samples; only of files that are not packed */
    uint64_t link_count, link_capacity;
} sl_file_index;

/* A zero-initialised index may be closed. */
void sl_file_index_close(sl_file_index *index);

/* False: no memory. */
bool sl_file_index_add(sl_file_index *index, uint64_t offset, uint64_t bytes);
/* Number of the name, which is short enough, a new one if need be; SL_FIELD_NONE: there are too
 * many. */
uint32_t sl_file_index_name(sl_file_index *index, const char *name);

/* Counts something that was left out. False: no memory. */
bool sl_file_index_omit(sl_file_index *index, uint32_t reason, const char *example);
/* Adds bytes to the sample that was added last, or is added next. False: no memory. */
bool sl_file_index_link(sl_file_index *index, const sl_index_link *link);
/* The links of a sample: the first of `*count`. */
const sl_index_link *sl_file_index_links(const sl_file_index *index, uint64_t sample,
                                         uint32_t *count);

/* Of an index as bytes: what tells how many there are. */
#define SL_FILE_INDEX_HEAD 88U
/* How many bytes there are of an index that begins with `head`; 0: it is none, or has more samples
 * than a file that is not compressed, of so many bytes as it says, has space for. */
uint64_t sl_file_index_bytes(const uint8_t head[SL_FILE_INDEX_HEAD]);
/* An index as bytes (malloc'd by sl_malloc), and back; false: no memory, or not sound. */
bool sl_file_index_encode(const sl_file_index *index, uint8_t **bytes, size_t *size);
bool sl_file_index_decode(sl_file_index *index, const uint8_t *bytes, size_t size);

#endif
