/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_fold: names compared without case.
 *
 * Purpose: find class folders that a file system without case (macOS, Windows, some object stores)
 * would merge. Simple folding of ASCII, Latin, Greek, Cyrillic, Armenian and full-width letters;
 * other characters and bytes that are not UTF-8 count as they are. Threads: pure.
 */
#ifndef SL_CASE_FOLD_H
#define SL_CASE_FOLD_H

#include <stddef.h>

/* Writes the folded form of `name`, which is never longer than it, with its NUL. */
void sl_case_fold(const char *name, char *folded);

#endif
