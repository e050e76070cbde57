/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_text: reads indexes that other tools wrote beside files: lines of words and numbers.
 *
 * Purpose: common code for the indexes of DALI's wds2idx (tar_wds2idx.h) and tfrecord2idx
 * (tfrecord_index.h) and of MXNet (recordio_index.h). An index that is older than its file, or
 * unreadable, is ignored. Threads: pure, except for the files.
 */
#ifndef SL_INDEX_TEXT_H
#define SL_INDEX_TEXT_H

#include "file_index.h"
#include "store.h"

/* The unread rest of the text. */
typedef struct sl_index_text {
    const char *at, *end;
} sl_index_text;

/* Returns the length of the next word of the line; 0: end of the line. */
size_t sl_index_text_word(sl_index_text *text, const char **word);
bool sl_index_text_number(sl_index_text *text, uint64_t *number);
bool sl_index_text_end_line(sl_index_text *text);

/* A kind of index that another tool writes. */
typedef struct sl_index_text_kind {
    /* Fills in an index of a file of `file_bytes`; false: the text is not such an index. */
    bool (*parse)(sl_file_index *index, const char *text, size_t bytes, uint64_t file_bytes);
    /* Checks for a few samples that the file has them where the index says. */
    bool (*matches)(const sl_file_index *index, const sl_open_file *file);
} sl_index_text_kind;

/* Loads the index of a file from the text `name`, which must not be older than the file. */
bool sl_index_text_load(sl_file_index *index, const sl_open_file *file, const char *name,
                        const sl_index_text_kind *kind);

#endif
