/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_text: messages that name options of this library.
 *
 * Purpose: the message names an option as C does, and the error records its position, so that a
 * command line or another language can use its own name (sluice_error_respell). A name is marked
 * where the message is written: "more than that (" SL_OPTION("max_sample_bytes") ")". The mark is
 * removed when the message becomes an error's. A name may be more than a member's: C's phrase if
 * the member alone would be ambiguous. Each marked name is in the table of options, or among the
 * phrases of options/spelling.c; a test checks that. Threads: pure.
 */
#ifndef SL_OPTION_TEXT_H
#define SL_OPTION_TEXT_H

#include <sluice/common.h>

#include <stddef.h>

#define SL_OPTION(name) "\016" name "\017"
/* Marks of a message with the most options an error takes. */
#define SL_OPTION_MARKS_BYTES ((size_t)2 * SLUICE_ERROR_OPTIONS_MAX)

/* Adds a message, or a part of one, to error->text: made safe to print (safe_text.h), cut if it is
 * too long, and without its marks. Bytes in data that look like a mark are shown unchanged. */
void sl_option_text_add(sluice_error *error, const char *marked);
/* Keeps the first `bytes` of the text, or fewer, so that no character is cut. */
void sl_option_text_keep(sluice_error *error, size_t bytes);

#endif
