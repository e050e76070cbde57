/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lmdb_index: locates the samples of an LMDB file.
 *
 * Purpose: holds the result of one walk. Each entry is a sample, in key order, except those that
 * common writers add: keys like "__len__", and "num-samples", "num_samples", "length" and "len"
 * with an ASCII number as value. If the first key is "image-DIGITS" and a "label-DIGITS" exists,
 * the file is one of text recognition. Then an image is a sample; the label with the same digits is
 * its text, which is kept in memory; other entries are left out. Keys are not kept: their leaf is
 * read again for them. Threads: built by one; then it is immutable. Ownership: sl_lmdb_index_close.
 * Memory: 12 bytes per sample, 16 per leaf of the tree (about 4 KiB each), and the labels.
 */
#ifndef SL_LMDB_INDEX_H
#define SL_LMDB_INDEX_H

#include "file_index.h"
#include "lmdb_walk.h"
#include "side_columns.h"

typedef struct sl_lmdb_leaf {
    uint64_t page;
    uint64_t first; /* first sample whose key is in it */
} sl_lmdb_leaf;

typedef struct sl_lmdb_index {
    bool recognition; /* true if the samples are images with labels */
    bool text;        /* true if all labels are UTF-8 */
    uint32_t page_bytes;
    uint64_t transaction;
    uint64_t
        left_out; /* number of entries that are neither part of a sample nor such an addition */
    sl_file_index places; /* locations of samples; see sl_lmdb_value */
    sl_lmdb_leaf *leaves;
    uint64_t leaf_count, leaf_capacity;
} sl_lmdb_index;

/*
 * Walks the file at `path`. For text recognition, adds a label per sample to column 0 of `labels`.
 * Blocks. Errors: those of walking; NOMEM.
 */
sluice_status sl_lmdb_index_make(sl_lmdb_index *index, const char *path, sl_side_columns *labels,
                                 sluice_error *error);
/* Releases `index`, which may be zero-initialised. */
void sl_lmdb_index_close(sl_lmdb_index *index);

/* Returns the leaf that contains a sample's key. */
const sl_lmdb_leaf *sl_lmdb_index_leaf(const sl_lmdb_index *index, uint64_t sample);
/*
 * Finds the key of sample `sample`, given the page `bytes` of its leaf. Fails if the key is
 * missing, since the file was modified.
 */
sl_refusal sl_lmdb_index_key(const sl_lmdb_index *index, const sl_lmdb_leaf *leaf, sl_bytes bytes,
                             uint64_t sample, sl_bytes *key);

#endif
