/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safe_text: what came from data (names of files, classes and fields, keys), made safe to print.
 *
 * Purpose: what a terminal could take for a command (control characters, DEL, the C1 controls) and
 * what is no UTF-8 becomes \xNN, byte by byte; other UTF-8 stays, and so does a text that is safe.
 * Threads: pure.
 */
#ifndef SL_SAFE_TEXT_H
#define SL_SAFE_TEXT_H

#include <stddef.h>

/*
 * Copies `text`, up to its NUL or `length` bytes of it, to `out`, which gets a NUL: as many whole
 * characters as fit into `bytes` (0: `out` is not touched). Returns the length of all of it. They
 * must not overlap.
 */
size_t sl_safe_text(char *out, size_t bytes, const char *text, size_t length);

#endif
