/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unicode: validates texts, and folds names for comparison without case. Threads: pure.
 *
 * Purpose of folding: finds class folders that a case-insensitive file system (macOS, Windows, some
 * object stores) would merge. Applies simple folding to ASCII, Latin, Greek, Cyrillic, Armenian and
 * full-width letters; other characters, and bytes that are not UTF-8, stay unchanged.
 */
#ifndef SL_UNICODE_H
#define SL_UNICODE_H

#include "view.h"

#include <stdbool.h>

/* Writes the folded form of `name` with its NUL; it is never longer. */
void sl_case_fold(const char *name, char *folded);
/* Returns whether bytes are valid UTF-8; false for NUL, overlong characters and surrogates too. */
bool sl_is_utf8(sl_bytes text);

#endif
