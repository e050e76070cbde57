/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warnings: sentences that a caller should read once, and that end nothing.
 *
 * Purpose: a place to collect them without allocating. What does not fit is left out, and so is a
 * sentence that is already there. Threads: one owner at a time. Zeroed: empty.
 */
#ifndef SL_WARNINGS_H
#define SL_WARNINGS_H

#include <stdint.h>

#define SL_WARNINGS_MAX  24U
#define SL_WARNING_BYTES 512U

typedef struct sl_warnings {
    uint32_t count;
    char text[SL_WARNINGS_MAX][SL_WARNING_BYTES];
} sl_warnings;

/* Adds a sentence, lower case, without a full stop: what is wrong, then what to write. It is made
 * safe to print, and loses the marks of options (option_text.h), which it calls as C does. */
void sl_warnings_add(sl_warnings *warnings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds all of another. */
void sl_warnings_join(sl_warnings *warnings, const sl_warnings *other);

#endif
