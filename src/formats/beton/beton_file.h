/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beton_file: the rows of one .beton file, in memory.
 *
 * Purpose: locates the bytes of a sample without reading the file again. Rows are kept as stored,
 * together with the sizes of images, which only the allocation table has. Memory per sample:
 * row_bytes (24 with an image and a label), and 4 for each image. Threads: one opens; then it is
 * immutable. Ownership: sl_beton_file_close.
 */
#ifndef SL_BETON_FILE_H
#define SL_BETON_FILE_H

#include "beton_header.h"
#include "file.h"

typedef struct sl_beton_file {
    sl_beton_head head;
    sl_beton_column *columns;
    uint8_t *rows;
    uint32_t *sizes;   /* sizes of the images: samples x pictures */
    uint32_t pictures; /* number of image columns */
    sl_file_identity file;
} sl_beton_file;

/*
 * Reads header, rows and table. Errors, with file and offset: IO, CORRUPT (damaged, cut short),
 * UNSUPPORTED (another version, a custom field type, too large), NOMEM. Call sl_beton_file_close in
 * any case.
 */
sluice_status sl_beton_file_open(sl_beton_file *file, const char *path, sluice_error *error);
/* Releases `file`, which may be zero-initialised. */
void sl_beton_file_close(sl_beton_file *file);

/* Returns whether two files have the same fields. */
bool sl_beton_file_alike(const sl_beton_file *a, const sl_beton_file *b);
const uint8_t *sl_beton_file_row(const sl_beton_file *file, uint64_t sample);
/* Like sl_beton_piece_of, for a sample of the file. */
bool sl_beton_file_piece(const sl_beton_file *file, uint64_t sample, uint32_t column,
                         sl_extent *piece);

#endif
