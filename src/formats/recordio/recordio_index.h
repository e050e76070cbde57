/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordio_index: locates the records of a RecordIO file.
 *
 * Purpose: the only code that knows the framing: u32 magic number, u32 with the length in the lower
 * 29 bits and the kind of part in the others, the bytes, and zeros up to a multiple of 4. A record
 * is one part (kind 0), or one of kind 1, any number of kind 2, and one of kind 3: split_bytes.h. A
 * file has no index: its heads are walked once, unless MXNet left an index (NAME.idx). A sample is
 * a whole record, with its heads and padding. Threads: as for an index (file_index.h); the rest is
 * pure.
 */
#ifndef SL_RECORDIO_INDEX_H
#define SL_RECORDIO_INDEX_H

#include "error.h"
#include "file_index.h"
#include "split_bytes.h"
#include "store.h"

#define SL_RECORDIO_BYTES_MAX ((1U << 29) - 1U) /* limit of a joined record */

/* Returns whether a record can begin like this. */
bool sl_recordio_begins(const uint8_t head[SL_RECORDIO_HEAD]);

typedef struct sl_recordio {
    sl_bytes stored; /* bytes between the first head and the end of the last part */
    bool split;      /* true if the contents are stored in parts (split_bytes.h) */
    uint64_t size;   /* size of the joined contents */
} sl_recordio;

/* Opens a whole record and checks all of its heads. Rejects anything else, and bytes after it. */
sl_refusal sl_recordio_open(sl_recordio *record, sl_bytes bytes);
/*
 * Copies the first `bytes` of the joined contents, or fewer if there are fewer; returns how many.
 */
size_t sl_recordio_peek(const sl_recordio *record, uint8_t *to, size_t bytes);

/*
 * Walks a file. Blocks while it reads the heads. Errors, with file and offset: IO, CORRUPT (not
 * RecordIO, damaged or cut short), UNSUPPORTED (a record of 2^29 bytes), NOMEM.
 */
sluice_status sl_recordio_walk(sl_file_index *index, const sl_open_file *file, sluice_error *error);

/*
 * Loads the index that MXNet left for a file: NAME.idx for NAME.rec, or NAME.rec.idx. False:
 * neither is usable.
 */
bool sl_recordio_idx_load(sl_file_index *index, const sl_open_file *file);
/*
 * Parses the text of an index ("KEY\tOFFSET" per record, in file order) for a file of `file_bytes`.
 */
bool sl_recordio_idx_parse(sl_file_index *index, const char *text, size_t bytes,
                           uint64_t file_bytes);

#endif
