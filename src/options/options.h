/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: the options of public structs, found, checked, and set from text, by their table
 * (options_table.h).
 *
 * Threads: pure. Errors call an option as C does, marked for callers that call it otherwise
 * (option_text.h).
 */
#ifndef SL_OPTIONS_H
#define SL_OPTIONS_H

#include <sluice/describe.h>

#include <stdbool.h>

/* Option `index` of `of`; NULL: there is no such. */
const sluice_option *sl_option_at(sluice_options of, uint32_t index);
/* The option of this name; NULL: there is none. */
const sluice_option *sl_option_find(sluice_options of, const char *name);

/* Whether the member is 0, which is the default. `options` is the library's own, whole struct. */
bool sl_option_is_zero(const sluice_option *option, const void *options);

/* Checks all members of the library's own, whole struct that are described. INVALID, in `error` by
 * `stage`: the first that is not 0 and out of its range. */
sluice_status sl_options_check(sluice_options of, const void *options, const char *stage,
                               sluice_error *error);

/* Copies the members of a whole struct that are described and not texts, and zeroes the others:
 * what outlives the memory that the pointers of `from` are to. */
void sl_options_copy_numbers(sluice_options of, void *to, const void *from, size_t bytes);

/* As sluice_option_set; `bytes` is the size of the caller's struct. */
sluice_status sl_option_set(sluice_options of, void *options, size_t bytes, const char *name,
                            const char *text, sluice_error *error);

/* As sluice_option_spell: what options are called on the command line and in Python, for sentences
 * that name them. */
const char *sl_option_spell(sluice_spelling spelling, const char *option);

#endif
