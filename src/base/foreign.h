/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign: recognises, by its first bytes, a file that is not what a reader took it for.
 *
 * Purpose: one table of the things that people find under another name: a Git LFS pointer, an HTML
 * page, an archive, text in another encoding. Readers name the thing and say what to do, instead of
 * reporting damage. The file may be anything, so text in UTF-16 or UTF-32 is named only by a mark
 * with a letter behind it, or by four letters; text_file.h reads files that are known to be texts.
 * Threads: pure. Memory: none.
 */
#ifndef SL_FOREIGN_H
#define SL_FOREIGN_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

/* First bytes of a file that are enough for every row of the table. */
enum { SL_FOREIGN_HEAD_BYTES = 512 };

/*
 * Returns what a file is that begins with `head`, and what to do: words that follow "it is", as in
 * "a Git LFS pointer, not the file itself: run `git lfs pull`". NULL: not known, or a file of a
 * kind that sluice reads, of which the caller should say what it expected instead.
 */
const char *sl_foreign_kind(const uint8_t *head, size_t bytes);

/*
 * As sl_foreign_kind, also for the kinds that sluice reads elsewhere (JSON, tar, Parquet, Arrow,
 * .npy): for a reader of something else, such as a decoder of images.
 */
const char *sl_foreign_or_known_kind(const uint8_t *head, size_t bytes);

/* The same, of pointers only, which stand for a file that was not downloaded: for values that may
 * be any text. */
const char *sl_foreign_pointer(const uint8_t *head, size_t bytes);

/*
 * Replaces a reader's complaint in `error` about damaged or unknown content by what the file at
 * `path` is, if its head is foreign. `status` is returned. Does nothing where the complaint is of
 * another kind, `error` is NULL, or the file is not foreign. Compressed files and ZIP archives
 * are foreign only where the name does not say that they are compressed.
 */
sluice_status sl_foreign_explain(sluice_status status, const char *path, const uint8_t *head,
                                 size_t bytes, sluice_error *error);

#endif
