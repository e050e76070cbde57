/* SPDX-License-Identifier: Apache-2.0 */
/* warnings: collects warnings without duplicates. */
#include "warnings.h"

#include "memory.h"
#include "option_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sl_warnings_add(sl_warnings *warnings, const char *format, ...)
{
    if (warnings->text == NULL) {
        warnings->text = sl_calloc(SL_WARNINGS_MAX, sizeof(*warnings->text));
    }
    if (warnings->text == NULL || warnings->count == SL_WARNINGS_MAX) {
        return;
    }
    char marked[SL_WARNING_BYTES + SL_OPTION_MARKS_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(marked, sizeof(marked), format, arguments);
    va_end(arguments);
    /* in the form of an error: safe to print, and without option marks */
    sluice_error said = SLUICE_ERROR_INIT;
    sl_option_text_add(&said, marked);
    char *text = warnings->text[warnings->count];
    (void)snprintf(text, SL_WARNING_BYTES, "%s", said.text);
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

void sl_warnings_close(sl_warnings *warnings)
{
    sl_free(warnings->text);
    *warnings = (sl_warnings){.count = 0};
}
