/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: the options of public structs, found, checked and set from text, by their table
 * (options_table.h).
 *
 * Threads: pure. Errors name an option as C does, marked for front ends that name it otherwise
 * (option_text.h).
 */
#ifndef SL_OPTIONS_H
#define SL_OPTIONS_H

#include <sluice/describe.h>

#include <stdbool.h>

/* Returns option `index` of `of`, or NULL. */
const sluice_option *sl_option_at(sluice_options of, uint32_t index);
/* Returns the option of this name, or NULL. */
const sluice_option *sl_option_find(sluice_options of, const char *name);

/* Returns whether the member is 0, which is the default. `options` is the library's own, complete
 * struct. */
bool sl_option_is_zero(const sluice_option *option, const void *options);

/* Checks all described members of the library's own, complete struct. INVALID, in `error` by
 * `stage`: the first one that is not 0 and out of its range. */
sluice_status sl_options_check(sluice_options of, const void *options, const char *stage,
                               sluice_error *error);

/* Copies the described members of a complete struct, except texts, and zeroes the others: the copy
 * may outlive the memory that pointers in `from` refer to. */
void sl_options_copy_numbers(sluice_options of, void *to, const void *from, size_t bytes);

/* Works as sluice_option_set; `bytes` is the size of the caller's struct. */
sluice_status sl_option_set(sluice_options of, void *options, size_t bytes, const char *name,
                            const char *text, sluice_error *error);

/* Works as sluice_option_spell: returns the name of an option on the command line or in Python, for
 * sentences that name it. */
const char *sl_option_spell(sluice_spelling spelling, const char *option);

#endif
