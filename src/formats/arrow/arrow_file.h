/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_file: where the batches of an Arrow file are.
 *
 * Purpose: a stream's messages are walked, from one prefix to the next (also those before Arrow
 * 0.15, without 0xffffffff); the file format, which begins and ends with "ARROW1", has a footer
 * that says where they are. Bodies are not read. Threads: one opens it; then it is immutable.
 * Ownership: sl_arrow_file_close. Memory: 40 bytes a batch, besides the schema.
 */
#ifndef SL_ARROW_FILE_H
#define SL_ARROW_FILE_H

#include "arrow_array.h"

typedef struct sl_arrow_file {
    sl_file_identity file;
    sl_handle kept; /* open from one step of opening to the next; closed: it is opened again */
    uint64_t rows;
    sl_arrow_schema schema;
    sl_arrow_place *places; /* of dictionaries and batches, as they are to be read */
    uint64_t count, capacity;
    uint64_t *value_bytes; /* of each node: what its values take in all batches */
    bool lz4, zstd;        /* batches are compressed so */
} sl_arrow_file;

/* Whether the first `size` bytes of a file are those of an Arrow stream with a schema, or of an
 * Arrow file. */
bool sl_arrow_begins(const uint8_t *bytes, size_t size);
/* `kept` stays open. Errors, naming file and offset: IO, CORRUPT, UNSUPPORTED, NOMEM. On failure it
 * is closed. */
sluice_status sl_arrow_file_open(sl_arrow_file *file, const char *path, sluice_error *error);
/* Reads the batch at a place by body->reader, and checks it again; `message` has what the body
 * points to. Errors: those of reading; CORRUPT. */
sluice_status sl_arrow_file_batch(const sl_arrow_file *file, const sl_arrow_place *place,
                                  sl_arrow_body *body, sl_arrow_message *message,
                                  sluice_error *error);
/* Of all zero is fine. */
void sl_arrow_file_close(sl_arrow_file *file);

#endif
