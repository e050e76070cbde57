/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safe_text: makes text from data (names of files, classes and fields, keys) safe to print.
 *
 * Purpose: bytes that a terminal could take for a command (control characters, DEL, the C1
 * controls) and invalid UTF-8 become \xNN, byte by byte; other UTF-8 stays, so a safe text does not
 * change. Threads: pure.
 */
#ifndef SL_SAFE_TEXT_H
#define SL_SAFE_TEXT_H

#include <stddef.h>

/*
 * Copies `text`, up to its NUL or `length` bytes of it, to `out`, which gets a NUL: as many whole
 * characters as fit into `bytes` (0: `out` is not touched). Returns the length of the whole result.
 * They must not overlap.
 */
size_t sl_safe_text(char *out, size_t bytes, const char *text, size_t length);

#endif
