/* SPDX-License-Identifier: Apache-2.0 */
/* Collects warnings, each once. */
#include "warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sl_warnings_add(sl_warnings *warnings, const char *format, ...)
{
    if (warnings->count == SL_WARNINGS_MAX) {
        return;
    }
    char *text = warnings->text[warnings->count];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, SL_WARNING_BYTES, format, arguments);
    va_end(arguments);
    for (uint32_t i = 0; i < warnings->count; i++) {
        if (strcmp(warnings->text[i], text) == 0) {
            return;
        }
    }
    warnings->count++;
}

void sl_warnings_join(sl_warnings *warnings, const sl_warnings *other)
{
    for (uint32_t i = 0; i < other->count; i++) {
        sl_warnings_add(warnings, "%s", other->text[i]);
    }
}
