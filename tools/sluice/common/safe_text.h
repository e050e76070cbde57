/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safe_text: makes names, keys and messages from data safe for a terminal: possible terminal
 * commands (control bytes, DEL, the C1 controls) and invalid UTF-8 become \xNN; other UTF-8 stays.
 * A line of text stays one line. Pure.
 */
#ifndef TOOL_SAFE_TEXT_H
#define TOOL_SAFE_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { SAFE_TEXT_BYTES = 4 * 4096 };

/* Returns the length of the UTF-8 sequence at `text` and its code point; 0 if it is invalid
 * (overlong, a surrogate, cut by the NUL). */
size_t utf8_decode(const char *text, uint32_t *point);

/* True if a code point is one of the C0 and C1 controls, or DEL. */
#define SAFE_TEXT_IS_CONTROL(point) ((point) < 0x20 || ((point) >= 0x7f && (point) < 0xa0))

/* Writes `text`, or as much of it as fits, to `safe`, which is returned. They must not overlap. */
const char *safe_text(char *safe, size_t bytes, const char *text);

/* The same in memory of the enclosing block, for arguments of printf. */
#define SAFE(text) safe_text((char[SAFE_TEXT_BYTES]){""}, SAFE_TEXT_BYTES, text)

#endif
