/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_text: sentences that name options of this library.
 *
 * Purpose: the sentence calls an option as C does, and the error says where it stands, so that a
 * command line or another language can call it by its own name (sluice_error_respell). A name is
 * marked where the sentence is written: "more than that (" SL_OPTION("max_sample_bytes") ")". The
 * mark goes as the sentence becomes an error's. A name may be more than a member's: what C says
 * where the member alone would not tell which option is meant.
 * Each marked name is in the table of options, or among the phrases of options/spelling.c; a test
 * looks for that. Threads: pure.
 */
#ifndef SL_OPTION_TEXT_H
#define SL_OPTION_TEXT_H

#include <sluice/common.h>

#include <stddef.h>

#define SL_OPTION(name) "\016" name "\017"
/* A sentence with so many marks as an error takes, before they go. */
#define SL_OPTION_MARKS_BYTES ((size_t)2 * SLUICE_ERROR_OPTIONS_MAX)

/* Adds a sentence, or a part of one, to error->text: made safe to print (safe_text.h), cut where
 * there is no more space, and without its marks. What looks like a mark in data is shown as it is.
 */
void sl_option_text_add(sluice_error *error, const char *marked);
/* Keeps the first `bytes` of the text, or less, so that no character is cut. */
void sl_option_text_keep(sluice_error *error, size_t bytes);

#endif
