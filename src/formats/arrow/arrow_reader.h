/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_reader: an Arrow file that is open for reading.
 *
 * Purpose: reads byte ranges through a window, since metadata and small buffers are close together
 * between large buffers that are not read; and reads messages. All reading blocks. Threads: one
 * owner. Ownership: sl_arrow_reader_close. Memory: 32 KiB, and the largest metadata.
 */
#ifndef SL_ARROW_READER_H
#define SL_ARROW_READER_H

#include "arrow_message.h"
#include "store.h"

/* The location of a message in a file, within the file's bounds. */
typedef struct sl_arrow_place {
    uint64_t metadata, body; /* offsets of its parts */
    uint64_t body_bytes;
    uint32_t metadata_bytes;
    bool batch; /* false: a dictionary */
} sl_arrow_place;

typedef struct sl_arrow_reader {
    sl_handle from;
    bool is_borrowed; /* true if the caller closes the file */
    const char *path; /* the opener's */
    sl_file_identity file;
    uint8_t *window;
    uint64_t window_at;
    size_t window_bytes, window_capacity;
    sl_flatbuffer flat; /* metadata of the last message */
    uint8_t *metadata;  /* bytes of `flat` */
    size_t metadata_capacity;
} sl_arrow_reader;

/*
 * Opens a file. `was`: the file must still be this one, which may be open; NULL: any. Errors: IO,
 * CORRUPT (another file), NOMEM. Closed on failure.
 */
sluice_status sl_arrow_reader_open(sl_arrow_reader *reader, const char *path,
                                   const sl_open_file *was, sluice_error *error);
/* Releases `reader`, which may be zeroed. */
void sl_arrow_reader_close(sl_arrow_reader *reader);

/* Copies bytes within the file. Errors: IO, CORRUPT (the file was shortened). */
sluice_status sl_arrow_read(sl_arrow_reader *reader, uint64_t at, void *to, uint64_t bytes,
                            sluice_error *error);
/*
 * Reads metadata as a flatbuffer, reader->flat. Errors: those of reading; UNSUPPORTED (above 64
 * MiB); NOMEM.
 */
sluice_status sl_arrow_read_flat(sl_arrow_reader *reader, uint64_t at, uint64_t bytes,
                                 sluice_error *error);
/*
 * Reads a message, valid until the next one is read. Errors: those of reading; CORRUPT,
 * UNSUPPORTED.
 */
sluice_status sl_arrow_read_message(sl_arrow_reader *reader, const sl_arrow_place *place,
                                    sl_arrow_message *message, sluice_error *error);

/* Reports an error with the file's name: CORRUPT, or that of a refusal of bytes at `at`. */
sluice_status sl_arrow_corrupt(const sl_arrow_reader *reader, uint64_t at, const char *text,
                               sluice_error *error);
sluice_status sl_arrow_refuse(const sl_arrow_reader *reader, uint64_t at, sl_refusal refusal,
                              sluice_error *error);

#endif
