/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrecord_index: locates the records of a TFRecord file.
 *
 * Purpose: the only code that knows the framing: u64 length, u32 masked CRC-32C of it, the bytes,
 * u32 masked CRC-32C of them. A file has no index: its headers are walked once, unless DALI's
 * tfrecord2idx already did. A sample is a whole record, with its frame. Threads: as for an index
 * (file_index.h); the rest is pure.
 */
#ifndef SL_TFRECORD_INDEX_H
#define SL_TFRECORD_INDEX_H

#include "error.h"
#include "file_index.h"
#include "store.h"

#define SL_TFRECORD_HEAD  12U
#define SL_TFRECORD_FRAME 16U /* head, and the checksum after the bytes */

/*
 * Returns whether bytes are a record's head, by its checksum; `*length`: length of the record's
 * bytes.
 */
bool sl_tfrecord_head(const uint8_t head[SL_TFRECORD_HEAD], uint64_t *length);
/* Returns the bytes of a whole record, after verifying both checksums. */
sl_refusal sl_tfrecord_open(sl_bytes record, sl_bytes *bytes);

/*
 * Walks a file. Blocks while it reads the headers. Errors, with file and offset: IO, CORRUPT (not
 * TFRecord, damaged or cut short), UNSUPPORTED (compressed), NOMEM.
 */
sluice_status sl_tfrecord_walk(sl_file_index *index, const sl_open_file *file, sluice_error *error);

/*
 * Loads the index that tfrecord2idx left for a file: NAME.idx beside it (after its whole name or in
 * place of its suffix), or in a folder idx or idx_files there. False: there is no usable one.
 */
bool sl_tfrecord_idx_load(sl_file_index *index, const sl_open_file *file);
/* Parses the text of an index ("OFFSET SIZE" per record) for a file of `file_bytes`. */
bool sl_tfrecord_idx_parse(sl_file_index *index, const char *text, size_t bytes,
                           uint64_t file_bytes);

#endif
