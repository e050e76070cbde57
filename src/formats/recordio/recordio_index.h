/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordio_index: the records of a RecordIO file, and where they are.
 *
 * Purpose: the one place that knows how records are framed: u32 magic number, u32 of which the
 * lower 29 bits are the length and the others the kind of part, the bytes, zeros up to a multiple
 * of 4. A record is one part (kind 0), or begins with one of kind 1, goes on with those of kind 2
 * and ends with one of kind 3: split_bytes.h. A file has no index: heads are walked once, or MXNet
 * left one (NAME.idx). A sample is a whole record, with its heads and padding. Threads: as those of
 * an index (file_index.h); the rest is pure.
 */
#ifndef SL_RECORDIO_INDEX_H
#define SL_RECORDIO_INDEX_H

#include "error.h"
#include "file_index.h"
#include "split_bytes.h"
#include "store.h"

#define SL_RECORDIO_BYTES_MAX ((1U << 29) - 1U) /* of a record, joined */

/* Whether a record can begin so. */
bool sl_recordio_begins(const uint8_t head[SL_RECORDIO_HEAD]);

typedef struct sl_recordio {
    sl_bytes stored; /* from behind the first head to the end of the last part */
    bool split;      /* what is meant has parts (split_bytes.h) */
    uint64_t size;   /* of what is meant */
} sl_recordio;

/* A whole record, of which all heads are checked. Refuses what is not one, or has bytes behind it.
 */
sl_refusal sl_recordio_open(sl_recordio *record, sl_bytes bytes);
/* Copies the first `bytes` of what is meant, or as many as there are: how many. */
size_t sl_recordio_peek(const sl_recordio *record, uint8_t *to, size_t bytes);

/*
 * Walks a file. Blocks, for as long as reading its heads takes. Errors, naming file and
 * offset: IO, CORRUPT (no RecordIO, damaged or cut short), UNSUPPORTED (a record of 2^29 bytes),
 * NOMEM.
 */
sluice_status sl_recordio_walk(sl_file_index *index, const sl_open_file *file, sluice_error *error);

/* The index that MXNet left for a file: NAME.idx of NAME.rec, or NAME.rec.idx. False:
 * there is none that can be used. */
bool sl_recordio_idx_load(sl_file_index *index, const sl_open_file *file);
/* Of such a text ("KEY\tOFFSET" for each record, in the order of the file), for a file of
 * `file_bytes`. */
bool sl_recordio_idx_parse(sl_file_index *index, const char *text, size_t bytes,
                           uint64_t file_bytes);

#endif
