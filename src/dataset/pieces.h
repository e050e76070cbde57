/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pieces: parts of documents, as a dataset of its own.
 *
 * Purpose: a document is a sample of the base, whose tensor `field` of one dimension has its
 * elements. The sample of this dataset is a piece: elements [first, first + count) of a document.
 * The opener's finder says which piece has which number; order, rows and cursor are others'
 * business. Numbers may have gaps: a finder that numbers pieces by row and place in the row knows
 * none for the places that a row leaves empty.
 * Where the base's format knows where the field is (locate_field), nothing but the piece is read,
 * and the element behind it, if the document has one: without its sample's checksum, so that
 * sluice_dataset_verify is for that. Else, and with `whole`, the whole document is read, checked,
 * and unpacked with any other field that is wanted.
 * The value of the field: `shape[0]` is the piece's count; it begins at element `first` of the
 * value's content, in which the elements behind the piece follow: one at least, unless the document
 * ends with the piece.
 * A document that does not have the length that the finder says is CORRUPT: it would lose elements.
 * Threads: as any dataset; the finder is called from any thread, and neither blocks for long nor
 * reads. Memory: none besides the struct. Ownership: holds a reference to the base, and owns the
 * finder's context if it can close it. Units: elements.
 */
#ifndef SL_PIECES_H
#define SL_PIECES_H

#include "dataset.h"

typedef struct sl_document_piece {
    uint64_t document;     /* sample of the base */
    uint64_t first, count; /* count >= 1 */
    uint64_t length;       /* of the whole document */
} sl_document_piece;

typedef struct sl_pieces_shape {
    uint32_t field;
    bool whole;        /* other fields of the documents are wanted, too */
    uint64_t samples;  /* numbers of pieces, gaps included; 1 or more */
    const sl_mix *mix; /* of a mix: its order of rows, the opener's to keep with `ctx`; counts rows,
                          not pieces; NULL: the base is not a mix */
    uint64_t piece_bytes; /* of an average piece as it is stored; 0: that of the base's samples */
    /* The piece of that number, below `samples`; false: there is none. */
    bool (*find)(const void *ctx, uint64_t number, sl_document_piece *piece);
    void *ctx;
    void (*close)(void *ctx); /* called when the dataset is closed; NULL: the opener keeps `ctx`,
                                 which must outlive the dataset */
} sl_pieces_shape;

/*
 * Reads nothing. After an error `ctx` is the caller's. Errors: INVALID (the field is not a tensor
 * of one dimension), UNSUPPORTED (the base is a mix, and `mix` is NULL), NOMEM.
 */
sluice_status sl_pieces_open(sl_dataset **dataset, sl_dataset *base, const sl_pieces_shape *shape,
                             sluice_error *error);

#endif
