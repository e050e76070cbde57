/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_file: texts that are read whole, and how a text says its encoding.
 *
 * Purpose: readers of labels and lists parse UTF-8. A byte order mark of UTF-8 is skipped; a text
 * in UTF-16 or UTF-32 is refused by the name of its encoding, never taken for something else.
 * foreign.h names encodings, too, but of files that may be anything, and asks for more evidence,
 * because numbers also begin with such bytes. Here the file is known to be a text: a mark alone, or
 * one or two wide letters, are enough. Everything else that is not a text is left to foreign.h.
 * Threads: pure. Ownership: sl_text_file_close.
 */
#ifndef SL_TEXT_FILE_H
#define SL_TEXT_FILE_H

#include "look.h"
#include "store.h"
#include "view.h"

typedef struct sl_text_file {
    char *data;  /* the whole file, with a NUL behind it */
    char *text;  /* in `data`, behind a byte order mark */
    size_t size; /* of `text`, which has no NUL in it */
} sl_text_file;

/* Reads a file of at most `most` bytes. `file` is all zero. Errors: those of sl_store_read_whole;
 * CORRUPT (not a text: a NUL, or what
 * foreign.h knows, such as a Git LFS pointer); UNSUPPORTED (another encoding). */
sluice_status sl_text_file_read(sl_text_file *file, const char *path, uint64_t most,
                                sluice_error *error);
void sl_text_file_close(sl_text_file *file); /* all zero is fine */
/* The offset in the file of a place in the text. */
static inline int64_t sl_text_file_offset(const sl_text_file *file, const char *at)
{
    return (int64_t)(at - file->data);
}

/* The length of the mark of UTF-8 at the beginning: 3, or 0. */
size_t sl_text_mark(const void *head, size_t bytes);
/* "UTF-16" or "UTF-32" of a text that begins so, with a mark or not; NULL: neither. */
const char *sl_text_encoding(const void *head, size_t bytes);
/* Refuses a text in an encoding that sl_text_encoding named: UNSUPPORTED. */
sluice_status sl_text_refuse_encoding(const char *stage, const char *path, const char *encoding,
                                      sluice_error *error);
/* A text that is a value: without its mark. NULL, or a literal: why it is none, as a pointer to a
 * file or one in UTF-16. */
const char *sl_text_take(sl_bytes *text);
/* The first bytes of a file, `most` at most, with a NUL behind them, to find out what it is:
 * without a mark, and those of UTF-16 and UTF-32 as if they were ASCII. Returns how many there are.
 */
size_t sl_text_look(const char *path, char *head, size_t most);
/* The same of a look that was taken: at most its SL_LOOK_BYTES. */
size_t sl_text_of_look(sl_look *look, char *head, size_t most);

#endif
