/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_lengths: the number of elements of each sample's one-dimensional tensor, for packing,
 * and the space that the document takes in a row.
 *
 * Purpose: sequences are packed by their lengths, before any of them is read (field_lengths.h). A
 * sample without the field is an empty document: some formats do not distinguish these. With media
 * that take space, patches of a second field, a document takes its elements and patches /
 * per_token, rounded up. An unreadable sample may be left out: it is then an empty document, and so
 * are the others of its unit, which are useless without it.
 *
 * Threads: opening blocks, under the caller's stop; any thread then queries lengths. Memory: none
 * if the dataset keeps them (sl_tensor_ops.kept_bytes), else 4 bytes a sample, twice if media take
 * space; 4 more of media while they are read. Ownership: the dataset must stay until its lengths
 * are closed.
 */
#ifndef SL_DOCUMENT_LENGTHS_H
#define SL_DOCUMENT_LENGTHS_H

#include "field_lengths.h"

typedef struct sl_document_fields {
    uint32_t tokens;
    uint32_t media;     /* SL_FIELD_NONE: there are none */
    uint64_t per_token; /* patches that take an element's space; 0: they take none */
    uint64_t length;    /* elements of a row, for media: their documents are never cut */
    /* leave out unreadable samples, with their whole unit of so many consecutive ones; 0: they
     * are an error */
    uint32_t unit;
} sl_document_fields;

typedef struct sl_document_lengths {
    const sl_dataset *dataset;
    uint32_t field;
    uint32_t shift;     /* an element has 2^shift bytes */
    uint32_t *elements; /* of each document; NULL: the dataset keeps them */
    uint32_t *spaces;   /* space of each document in a row; NULL: that of its elements */
    /* Unreadable documents, the first of them, and the number left out with them. */
    uint64_t unreadable, left_out;
    sl_unreadable first;
} sl_document_lengths;

/* Zeroed lengths may be closed. Errors: those of sl_field_lengths_read; that of the first
 * unreadable sample if all are left out; UNSUPPORTED: a document has more than 2^32 - 2 elements;
 * INVALID: one has patches and no elements, or takes more than a row with them. */
sluice_status sl_document_lengths_open(sl_document_lengths *lengths, const sl_dataset *dataset,
                                       const sl_document_fields *fields, sluice_error *error);
void sl_document_lengths_close(sl_document_lengths *lengths);

/* Return the elements of some documents, or of one; any thread. */
void sl_document_lengths_of(const sl_document_lengths *lengths, const uint64_t *documents,
                            uint32_t count, uint64_t *elements);
uint64_t sl_document_lengths_at(const sl_document_lengths *lengths, uint64_t document);
/* Returns the bytes that are kept for each document. */
uint64_t sl_document_lengths_bytes(const sl_document_lengths *lengths);

#endif
