/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrecord_index: the records of a TFRecord file, and where they are.
 *
 * Purpose: the one place that knows how records are framed: u64 length, u32 masked CRC-32C of it,
 * the bytes, u32 masked CRC-32C of them. A file has no index: headers are walked once, or DALI's
 * tfrecord2idx did that. A sample is a whole record, with its frame. Threads: as those of an index
 * (file_index.h); the rest is pure.
 */
#ifndef SL_TFRECORD_INDEX_H
#define SL_TFRECORD_INDEX_H

#include "error.h"
#include "file_index.h"
#include "store.h"

#define SL_TFRECORD_HEAD  12U
#define SL_TFRECORD_FRAME 16U /* head, and the checksum behind the bytes */

/* Whether bytes are a record's head, by its checksum; then `*length` is that of the bytes. */
bool sl_tfrecord_head(const uint8_t head[SL_TFRECORD_HEAD], uint64_t *length);
/* The bytes of a whole record, both checksums checked. */
sl_refusal sl_tfrecord_open(sl_bytes record, sl_bytes *bytes);

/*
 * Walks a file. Blocks, for as long as reading its headers takes. Errors, naming file
 * and offset: IO, CORRUPT (no TFRecord, damaged or cut short), UNSUPPORTED (compressed), NOMEM.
 */
sluice_status sl_tfrecord_walk(sl_file_index *index, const sl_open_file *file, sluice_error *error);

/* The index that tfrecord2idx left for a file: NAME.idx beside it (behind its whole
 * name or in place of its suffix), or in a folder idx or idx_files there. False: there is none
 * that can be used. */
bool sl_tfrecord_idx_load(sl_file_index *index, const sl_open_file *file);
/* Of such a text ("OFFSET SIZE" for each record), for a file of `file_bytes`. */
bool sl_tfrecord_idx_parse(sl_file_index *index, const char *text, size_t bytes,
                           uint64_t file_bytes);

#endif
