/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_lengths: how many elements each sample's tensor of one dimension has, for packing.
 *
 * Purpose: sequences are packed by their lengths, before any of them is read (field_lengths.h). A
 * sample without the field is an empty document: some formats do not tell these apart. Threads:
 * opening only; blocks, under the caller's stop. Memory: 4 bytes a sample, the caller's to free; 12
 * while they are read.
 */
#ifndef SL_DOCUMENT_LENGTHS_H
#define SL_DOCUMENT_LENGTHS_H

#include "dataset.h"

/* Lengths by sample, for sl_free. Errors: those of sl_field_lengths_read; UNSUPPORTED: a document
 * has more than 2^32 - 1 elements. */
sluice_status sl_document_lengths_read(const sl_dataset *dataset, uint32_t field,
                                       uint32_t **lengths, sluice_error *error);

#endif
