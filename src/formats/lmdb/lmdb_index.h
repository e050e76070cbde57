/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lmdb_index: which entries of an LMDB file are samples, and where they are.
 *
 * Purpose: what one walk comes to. Each entry is a sample, in the order of keys, but for what
 * common writers add: keys like "__len__", and "num-samples", "num_samples", "length" and "len"
 * where their value is a number in ASCII. Where the first key is "image-DIGITS" and there is a
 * "label-DIGITS", they are what text recognition has: an image is a sample, the label of the same
 * digits is its text, which is kept in memory; other entries are left out.
 * Keys are not kept: a leaf is read again for them.
 * Threads: one makes it; then it is immutable. Ownership: sl_lmdb_index_close.
 * Memory: 12 bytes a sample, 16 a leaf of the tree (of some 4 KiB), and the labels.
 */
#ifndef SL_LMDB_INDEX_H
#define SL_LMDB_INDEX_H

#include "file_index.h"
#include "lmdb_walk.h"
#include "side_columns.h"

typedef struct sl_lmdb_leaf {
    uint64_t page;
    uint64_t first; /* sample whose key is in it */
} sl_lmdb_leaf;

typedef struct sl_lmdb_index {
    bool recognition; /* images and labels */
    bool text;        /* all labels are UTF-8 */
    uint32_t page_bytes;
    uint64_t transaction;
    uint64_t left_out;    /* entries that are no part of a sample, nor such an addition */
    sl_file_index places; /* of samples; see sl_lmdb_value */
    sl_lmdb_leaf *leaves;
    uint64_t leaf_count, leaf_capacity;
} sl_lmdb_index;

/*
 * Walks the file at `path`. Its labels, one for each of its samples, are added to column 0 of
 * `labels`; there are none unless it is one of text recognition. Blocks. Errors: those of walking;
 * NOMEM.
 */
sluice_status sl_lmdb_index_make(sl_lmdb_index *index, const char *path, sl_side_columns *labels,
                                 sluice_error *error);
/* A zero-initialised index may be closed. */
void sl_lmdb_index_close(sl_lmdb_index *index);

/* The leaf that has a sample's key. */
const sl_lmdb_leaf *sl_lmdb_index_leaf(const sl_lmdb_index *index, uint64_t sample);
/* The key of the sample that is number `sample` of those in a leaf, whose page `bytes` are.
 * Refused: it is not there, since the file was changed. */
sl_refusal sl_lmdb_index_key(const sl_lmdb_index *index, const sl_lmdb_leaf *leaf, sl_bytes bytes,
                             uint64_t sample, sl_bytes *key);

#endif
