/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_text: indexes that other tools wrote beside files: lines of words and numbers.
 *
 * Purpose: what those of DALI's wds2idx (tar_wds2idx.h) and tfrecord2idx (tfrecord_index.h) and of
 * MXNet (recordio_index.h) have in common. One that is older than its file, or cannot be read, is
 * as if it were not there. Threads: pure, except for the files.
 */
#ifndef SL_INDEX_TEXT_H
#define SL_INDEX_TEXT_H

#include "file_index.h"
#include "store.h"

/* What is left of the text. */
typedef struct sl_index_text {
    const char *at, *end;
} sl_index_text;

/* The next word of the line; 0 at its end. */
size_t sl_index_text_word(sl_index_text *text, const char **word);
bool sl_index_text_number(sl_index_text *text, uint64_t *number);
bool sl_index_text_end_line(sl_index_text *text);

/* An index that another tool writes. */
typedef struct sl_index_text_kind {
    /* Fills in an index of a file of `file_bytes`; false: the text is none. */
    bool (*parse)(sl_file_index *index, const char *text, size_t bytes, uint64_t file_bytes);
    /* Whether the file has samples where the index says, as far as a few tell. */
    bool (*matches)(const sl_file_index *index, const sl_open_file *file);
} sl_index_text_kind;

/* The index of a file that `name` is the text of, not older than that. */
bool sl_index_text_load(sl_file_index *index, const sl_open_file *file, const char *name,
                        const sl_index_text_kind *kind);

#endif
