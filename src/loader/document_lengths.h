/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_lengths: how many elements each sample's tensor of one dimension has, for packing, and
 * how much space of a row the document takes.
 *
 * Purpose: sequences are packed by their lengths, before any of them is read (field_lengths.h). A
 * sample without the field is an empty document: some formats do not tell these apart. With media
 * that take space, patches of a second field, a document takes its elements and patches /
 * per_token, rounded up.
 * An unreadable sample may be left out: it is an empty document then, and so are the others of its
 * unit, which mean nothing without it.
 * Threads: opening blocks, under the caller's stop; lengths are then asked for by any thread.
 * Memory: none where the dataset keeps them (sl_tensor_ops.kept_bytes), else 4 bytes a sample,
 * twice where media take space; 4 more of media while they are read. Ownership: the dataset must
 * stay until its lengths are closed.
 */
#ifndef SL_DOCUMENT_LENGTHS_H
#define SL_DOCUMENT_LENGTHS_H

#include "field_lengths.h"

typedef struct sl_document_fields {
    uint32_t tokens;
    uint32_t media;     /* SL_FIELD_NONE: there are none */
    uint64_t per_token; /* patches that take an element's space; 0: they take none */
    uint64_t length;    /* elements of a row, for media: their documents are never cut */
    uint32_t unit;      /* leave out unreadable samples, with all of their unit of so many
                           consecutive ones; 0: they are an error */
} sl_document_fields;

typedef struct sl_document_lengths {
    const sl_dataset *dataset;
    uint32_t field;
    uint32_t shift;     /* an element has 2^shift bytes */
    uint32_t *elements; /* of each document; NULL: the dataset keeps them */
    uint32_t *spaces;   /* of a row, that each document takes; NULL: those of its elements */
    /* Documents that are unreadable, the first of them, and how many were left out with them. */
    uint64_t unreadable, left_out;
    sl_unreadable first;
} sl_document_lengths;

/* Zeroed lengths may be closed. Errors: those of sl_field_lengths_read; that of the first
 * unreadable sample if all are left out; UNSUPPORTED: a document has more than 2^32 - 2 elements;
 * INVALID: one has patches and no elements, or takes more than a row with them. */
sluice_status sl_document_lengths_open(sl_document_lengths *lengths, const sl_dataset *dataset,
                                       const sl_document_fields *fields, sluice_error *error);
void sl_document_lengths_close(sl_document_lengths *lengths);

/* Elements of some documents, or of one; any thread. */
void sl_document_lengths_of(const sl_document_lengths *lengths, const uint64_t *documents,
                            uint32_t count, uint64_t *elements);
uint64_t sl_document_lengths_at(const sl_document_lengths *lengths, uint64_t document);
/* The bytes that are kept of each document. */
uint64_t sl_document_lengths_bytes(const sl_document_lengths *lengths);

#endif
