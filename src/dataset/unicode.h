/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unicode: whether bytes are a text, and names compared without case. Threads: pure.
 *
 * Purpose of folding: find class folders that a file system without case (macOS, Windows, some
 * object stores) would merge. Simple folding of ASCII, Latin, Greek, Cyrillic, Armenian and
 * full-width letters; other characters and bytes that are not UTF-8 count as they are.
 */
#ifndef SL_UNICODE_H
#define SL_UNICODE_H

#include "view.h"

#include <stdbool.h>

/* Writes the folded form of `name`, which is never longer than it, with its NUL. */
void sl_case_fold(const char *name, char *folded);
/* False of NUL, overlong characters and surrogates, too. */
bool sl_is_utf8(sl_bytes text);

#endif
