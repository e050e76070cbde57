/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pieces: parts of documents, as a dataset of its own.
 *
 * Purpose: a document is a sample of the base, whose tensor `field` of one dimension has its stored
 * elements. The sample of this dataset is a piece: elements [first, first + count) of a document as
 * rows have it, which may have elements that are not stored (sl_document_piece). The opener's
 * finder says which piece has which number; order, rows and cursor are others' business. Numbers
 * may have gaps: a finder that numbers pieces by row and place in the row knows none for the places
 * that a row leaves empty.
 * Where the base's format knows where the field is (locate_field), only the piece's stored elements
 * are read, and the one behind them, if there is one: without the sample's checksum, so that
 * sluice_dataset_verify is for that. A piece without stored elements comes with the last one, or
 * the first one, which it follows or precedes; one of a mixed document with all. Else, and with
 * `whole`, the whole document is read, checked, and unpacked with any other field that is wanted.
 * Unpacked values have the piece: the field's content are stored elements of the document from
 * `piece.from` on, these at least.
 * A document that does not have the elements that the finder says is CORRUPT: it would lose some.
 * Threads: as any dataset; the finder is called from any thread, and neither blocks for long nor
 * reads. Memory: none besides the struct. Ownership: holds a reference to the base, and owns the
 * finder's context if it can close it. Units: elements.
 */
#ifndef SL_PIECES_H
#define SL_PIECES_H

#include "dataset.h"

typedef struct sl_pieces_shape {
    uint32_t field;
    bool whole;        /* other fields of the documents are wanted, too */
    uint64_t samples;  /* numbers of pieces, gaps included; 1 or more */
    const sl_mix *mix; /* of a mix: its order of rows, the opener's to keep with `ctx`; counts rows,
                          not pieces; NULL: the base is not a mix */
    uint64_t piece_bytes; /* of an average piece as it is stored; 0: that of the base's samples */
    /* The piece of that number, below `samples`, but for `from`; false: there is none. */
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
