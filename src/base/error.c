/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sl_error_clear(sluice_error *error)
{
    memset(error, 0, sizeof(*error));
    error->struct_size = (uint32_t)sizeof(*error);
    error->sample = -1;
    error->offset = -1;
}

/* The place to cut `text` from, so that no UTF-8 sequence is begun in its middle. */
static const char *at_character(const char *text)
{
    while (((unsigned char)*text & 0xC0U) == 0x80U) {
        text++;
    }
    return text;
}

void sl_error_set_path(sluice_error *error, const char *path)
{
    const size_t length = strlen(path);
    const size_t room = sizeof(error->file) - 1;
    const char *from = length > room ? at_character(path + (length - room)) : path;
    memmove(error->file, from, strlen(from) + 1);
}

/* Built aside and copied at the end: the arguments may point into `error` itself. */
static void record(sluice_error *built, sluice_status status, const char *stage, const char *format,
                   va_list arguments)
{
    sl_error_clear(built);
    built->status = status;
    snprintf(built->stage, sizeof(built->stage), "%s", stage);
    vsnprintf(built->text, sizeof(built->text), format, arguments);
    if (built->text[0] == '\0') {
        snprintf(built->text, sizeof(built->text), "no details are known");
    }
}

sluice_status sl_error_set(sluice_error *error, sluice_status status, const char *stage,
                           const char *format, ...)
{
    if (error != NULL) {
        sluice_error built;
        va_list arguments;
        va_start(arguments, format);
        record(&built, status, stage, format, arguments);
        va_end(arguments);
        *error = built;
    }
    return status;
}

/* NOLINTNEXTLINE(readability-function-size): one parameter for each thing to report. */
sluice_status sl_error_file(sluice_error *error, sluice_status status, const char *stage,
                            int sys_errno, const char *file, int64_t offset, const char *format,
                            ...)
{
    if (error != NULL) {
        sluice_error built;
        va_list arguments;
        va_start(arguments, format);
        record(&built, status, stage, format, arguments);
        va_end(arguments);
        built.sys_errno = sys_errno;
        built.offset = offset;
        if (file != NULL) {
            sl_error_set_path(&built, file);
        }
        *error = built;
    }
    return status;
}

void sl_error_copy_out(sluice_error *to, const sluice_error *from)
{
    if (to == NULL || to->struct_size <= sizeof(to->struct_size)) {
        return;
    }
    const size_t size = to->struct_size < sizeof(*from) ? to->struct_size : sizeof(*from);
    const size_t skip = sizeof(to->struct_size); /* stays the caller's */
    memcpy((char *)to + skip, (const char *)from + skip, size - skip);
}
