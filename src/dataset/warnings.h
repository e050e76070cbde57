/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warnings: sentences that a caller should read once, and that end nothing.
 *
 * Purpose: a place to collect them. A sentence that is already there is not added, and neither is
 * one behind the last slot, or without memory. Threads: one owner at a time. Memory: of the heap,
 * from the first sentence to sl_warnings_close. Zeroed: empty.
 */
#ifndef SL_WARNINGS_H
#define SL_WARNINGS_H

#include <stdint.h>

#define SL_WARNINGS_MAX  24U
#define SL_WARNING_BYTES 512U

typedef struct sl_warnings {
    uint32_t count;
    char (*text)[SL_WARNING_BYTES]; /* SL_WARNINGS_MAX of them; NULL while there is none */
} sl_warnings;

/* Adds a sentence, lower case, without a full stop: what is wrong, then what to write. It is made
 * safe to print, and loses the marks of options (option_text.h), which it calls as C does. */
void sl_warnings_add(sl_warnings *warnings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds all of another. */
void sl_warnings_join(sl_warnings *warnings, const sl_warnings *other);
/* Empty again. */
void sl_warnings_close(sl_warnings *warnings);

#endif
