/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_lengths: how many elements each sample's tensor of one dimension has.
 *
 * Purpose: sequences are packed by their lengths, before any of them is read. Where the index says
 * where a tensor is, only index entries are looked at; else each sample is read and its values are
 * taken apart, which for a large dataset takes as long as an epoch of reading. Threads: opening
 * only; blocks; runs of samples are read by several threads, under the caller's stop. Memory: 4
 * bytes a sample, the caller's to free.
 */
#ifndef SL_DOCUMENT_LENGTHS_H
#define SL_DOCUMENT_LENGTHS_H

#include "dataset.h"

/* Lengths by sample, for sl_free. Errors: those of reading: a sample that cannot be read, or lacks
 * the field, fails; UNSUPPORTED: a document of more than 2^32 - 1 elements; NOMEM, CANCELED. */
sluice_status sl_document_lengths_read(const sl_dataset *dataset, uint32_t field,
                                       uint32_t **lengths, sluice_error *error);

#endif
