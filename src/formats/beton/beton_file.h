/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beton_file: one .beton file's rows, in memory.
 *
 * Purpose: where the bytes of a sample are, told without reading the file again. Rows are kept as
 * they are in the file, with the sizes of pictures, which only the allocation table has. Memory:
 * row_bytes (24 with a picture and a label) and 4 for each picture a sample. Threads: one opens;
 * then it is immutable. Ownership: sl_beton_file_close.
 */
#ifndef SL_BETON_FILE_H
#define SL_BETON_FILE_H

#include "beton_header.h"
#include "file.h"

typedef struct sl_beton_file {
    sl_beton_head head;
    sl_beton_column *columns;
    uint8_t *rows;
    uint32_t *sizes;   /* samples x pictures */
    uint32_t pictures; /* columns of them */
    sl_file_identity file;
} sl_beton_file;

/*
 * Reads header, rows and table. Errors, naming file and offset: IO, CORRUPT (damaged, cut short),
 * UNSUPPORTED (another version, a kind of field of the writer's own, too large), NOMEM. Whatever
 * comes of it, sl_beton_file_close is fine.
 */
sluice_status sl_beton_file_open(sl_beton_file *file, const char *path, sluice_error *error);
/* May be zero-initialised. */
void sl_beton_file_close(sl_beton_file *file);

/* Whether the fields of two files are the same. */
bool sl_beton_file_alike(const sl_beton_file *a, const sl_beton_file *b);
const uint8_t *sl_beton_file_row(const sl_beton_file *file, uint64_t sample);
/* As sl_beton_piece_of. */
bool sl_beton_file_piece(const sl_beton_file *file, uint64_t sample, uint32_t column,
                         sl_extent *piece);

#endif
