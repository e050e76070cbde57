/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_file: reads whole texts, and recognises their encoding.
 *
 * Purpose: readers of labels and lists parse UTF-8. A UTF-8 byte order mark is skipped; a text in
 * UTF-16 or UTF-32 causes an error that names its encoding, and is never misread. foreign.h
 * recognises encodings too, but in files of any kind, and requires more evidence, since numbers may
 * begin with such bytes. Here the file is known to be text: a mark alone, or one or two wide
 * letters, are enough. Other files that are not text are left to foreign.h. Threads: pure.
 * Ownership: sl_text_file_close.
 */
#ifndef SL_TEXT_FILE_H
#define SL_TEXT_FILE_H

#include "look.h"
#include "store.h"
#include "view.h"

typedef struct sl_text_file {
    char *data;  /* the whole file, NUL-terminated */
    char *text;  /* position in `data` after a byte order mark */
    size_t size; /* length of `text`, which contains no NUL */
} sl_text_file;

/*
 * Reads a file of at most `most` bytes. `file` is zeroed. Errors: those of sl_store_read_whole;
 * CORRUPT (not a text: a NUL, or a kind known to foreign.h, such as a Git LFS pointer); UNSUPPORTED
 * (another encoding).
 */
sluice_status sl_text_file_read(sl_text_file *file, const char *path, uint64_t most,
                                sluice_error *error);
void sl_text_file_close(sl_text_file *file); /* `file` may be zeroed */
/* Returns the file offset of a position in the text. */
static inline int64_t sl_text_file_offset(const sl_text_file *file, const char *at)
{
    return (int64_t)(at - file->data);
}

/* Returns the length of a UTF-8 mark at the beginning: 3, or 0. */
size_t sl_text_mark(const void *head, size_t bytes);
/*
 * Returns "UTF-16" or "UTF-32" for a text that begins like it, with or without a mark; NULL:
 * neither.
 */
const char *sl_text_encoding(const void *head, size_t bytes);
/* Rejects a text in an encoding that sl_text_encoding returned: UNSUPPORTED. */
sluice_status sl_text_refuse_encoding(const char *stage, const char *path, const char *encoding,
                                      sluice_error *error);
/*
 * Removes the mark of a text value. Returns NULL, or a literal: why it is not a text, such as a
 * pointer to a file, or UTF-16.
 */
const char *sl_text_take(sl_bytes *text);
/*
 * Reads at most the first `most` bytes of a file, NUL-terminated, to recognise it: without a mark,
 * and UTF-16 and UTF-32 converted as if they were ASCII. Returns their number.
 */
size_t sl_text_look(const char *path, char *head, size_t most);
/* Does the same for an existing look: at most its SL_LOOK_BYTES. */
size_t sl_text_of_look(sl_look *look, char *head, size_t most);

#endif
