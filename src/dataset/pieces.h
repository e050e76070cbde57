/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pieces: parts of documents, as a dataset of its own.
 *
 * Purpose: a document is a sample of the base, whose one-dimensional tensor `field` contains its
 * stored elements. A sample of this dataset is a piece: elements [first, first + count) of a
 * document in the form it has in rows, which may have elements that are not stored
 * (sl_document_piece). The opener's finder maps numbers to pieces; order, rows and cursor are
 * handled elsewhere. Numbers may have gaps: a finder that numbers pieces by row and position in the
 * row has none for positions that a row leaves empty. If the base's format can locate the field
 * (locate_field), only the piece's stored elements and the next one, if any, are read. That skips
 * the sample's checksum; use sluice_dataset_verify to check it. A piece without stored elements is
 * read with the last one before it, or the first one after it; a piece of a mixed document is read
 * with all. Otherwise, and with `whole`, the whole document is read, checked, and unpacked with any
 * other wanted fields. Unpacked values have the piece: the field contains at least the stored
 * elements of the document from `piece.from` on. A document that lacks elements according to the
 * finder is CORRUPT, since some would be lost. Threads: as for any dataset; the finder is called
 * from any thread, and must neither block for long nor do I/O. Memory: only the struct. Ownership:
 * holds a reference to the base, and owns the finder's context if it can close it. Units: elements.
 */
#ifndef SL_PIECES_H
#define SL_PIECES_H

#include "dataset.h"

typedef struct sl_pieces_shape {
    uint32_t field;
    bool whole;        /* true if other fields of the documents are wanted too */
    uint64_t samples;  /* count of piece numbers, including gaps; at least 1 */
    const sl_mix *mix; /* for a mix: its order of rows, kept by the opener with `ctx`; counts rows,
                          not pieces; NULL: the base is not a mix */
    uint64_t piece_bytes; /* average stored size of a piece; 0: that of the base's samples */
    /* Finds the piece with a number below `samples`; does not set `from`. False: none. */
    bool (*find)(const void *ctx, uint64_t number, sl_document_piece *piece);
    void *ctx;
    void (*close)(void *ctx); /* called when the dataset is closed; NULL: the opener keeps `ctx`,
                                 which must outlive the dataset */
} sl_pieces_shape;

/*
 * Opens the dataset without any I/O. After an error, the caller keeps `ctx`. Errors: INVALID (the
 * field is not a one-dimensional tensor), UNSUPPORTED (the base is a mix, and `mix` is NULL),
 * NOMEM.
 */
sluice_status sl_pieces_open(sl_dataset **dataset, sl_dataset *base, const sl_pieces_shape *shape,
                             sluice_error *error);

#endif
