/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_file: locates the batches of an Arrow file.
 *
 * Purpose: walks a stream's messages from one prefix to the next (including those before Arrow
 * 0.15, without 0xffffffff). In the file format, which begins and ends with "ARROW1", a footer has
 * the locations. Bodies are not read. Threads: one opens it; then it is immutable. Ownership:
 * sl_arrow_file_close. Memory: 40 bytes per batch, and the schema.
 */
#ifndef SL_ARROW_FILE_H
#define SL_ARROW_FILE_H

#include "arrow_array.h"

typedef struct sl_arrow_file {
    sl_file_identity file;
    sl_handle kept; /* kept open between the steps of opening; closed: it is opened again */
    uint64_t rows;
    sl_arrow_schema schema;
    sl_arrow_place *places; /* locations of dictionaries and batches, in reading order */
    uint64_t count, capacity;
    uint64_t *value_bytes; /* total size of each node's values in all batches */
    bool lz4, zstd;        /* true if batches are compressed by it */
} sl_arrow_file;

/*
 * Returns whether the first `size` bytes of a file are those of an Arrow stream with a schema, or
 * of an Arrow file.
 */
bool sl_arrow_begins(const uint8_t *bytes, size_t size);
/*
 * Opens a file; `kept` stays open. Errors, with file and offset: IO, CORRUPT, UNSUPPORTED, NOMEM.
 * Closed on failure.
 */
sluice_status sl_arrow_file_open(sl_arrow_file *file, const char *path, sluice_error *error);
/*
 * Reads the batch at a place with body->reader, and checks it again; the body points into
 * `message`. Errors: those of reading; CORRUPT.
 */
sluice_status sl_arrow_file_batch(const sl_arrow_file *file, const sl_arrow_place *place,
                                  sl_arrow_body *body, sl_arrow_message *message,
                                  sluice_error *error);
/* Releases `file`, which may be zeroed. */
void sl_arrow_file_close(sl_arrow_file *file);

#endif
