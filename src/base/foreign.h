/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign: recognises, by its first bytes, a file of another kind than a reader expected.
 *
 * Purpose: one table of the things that people find under another name: a Git LFS pointer, an HTML
 * page, an archive, text in another encoding. Readers name the thing and its remedy, instead of
 * reporting damage. The file may be anything, so text in UTF-16 or UTF-32 is named only by a mark
 * followed by a letter, or by four letters; text_file.h reads files that are known to be texts.
 * Threads: pure. Memory: none.
 */
#ifndef SL_FOREIGN_H
#define SL_FOREIGN_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes of a file that are enough for every row of the table. */
enum { SL_FOREIGN_HEAD_BYTES = 512 };

/*
 * Returns the kind of a file that begins with `head`, and its remedy: words that follow "it is", as
 * in "a Git LFS pointer, not the file itself: run `git lfs pull`". NULL: not known, or a kind that
 * sluice reads, for which the caller should report what it expected instead.
 */
const char *sl_foreign_kind(const uint8_t *head, size_t bytes);

/*
 * As sl_foreign_kind, also for the kinds that sluice reads elsewhere (JSON, tar, Parquet, Arrow,
 * .npy): for a reader of something else, such as a decoder of images.
 */
const char *sl_foreign_or_known_kind(const uint8_t *head, size_t bytes);

/* Does the same for pointers only, which stand for a file that was not downloaded: for values that
 * may be any text. */
const char *sl_foreign_pointer(const uint8_t *head, size_t bytes);

/*
 * Replaces a reader's error about damaged or unknown content by the kind of the file at `path`, if
 * its head is foreign. Returns `status`. Does nothing for other errors, if `error` is NULL, or if
 * the file is not foreign. Compressed files and ZIP archives are foreign only if their name does
 * not show that they are compressed.
 */
sluice_status sl_foreign_explain(sluice_status status, const char *path, const uint8_t *head,
                                 size_t bytes, sluice_error *error);

#endif
