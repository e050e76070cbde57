/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warnings: collects sentences that a caller should read once; they are not errors.
 *
 * Purpose: a duplicate is not added, and neither is a sentence beyond the last slot, or without
 * memory. Threads: one owner at a time. Memory: heap, from the first sentence to sl_warnings_close.
 * Zeroed: empty.
 */
#ifndef SL_WARNINGS_H
#define SL_WARNINGS_H

#include <stdint.h>

#define SL_WARNINGS_MAX  24U
#define SL_WARNING_BYTES 512U

typedef struct sl_warnings {
    uint32_t count;
    char (*text)[SL_WARNING_BYTES]; /* SL_WARNINGS_MAX entries; NULL while empty */
} sl_warnings;

/*
 * Adds a sentence in lower case, without a full stop: the problem, then its remedy. It is made safe
 * to print, and option marks (option_text.h) become the C names.
 */
void sl_warnings_add(sl_warnings *warnings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds all sentences of another. */
void sl_warnings_join(sl_warnings *warnings, const sl_warnings *other);
/* Releases the memory; empty again afterwards. */
void sl_warnings_close(sl_warnings *warnings);

#endif
