/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"

#include "option_text.h"

#include <errno.h>
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

sluice_status sl_error_after_shortage(sluice_status status, bool shortage, sluice_error *error)
{
    if (!shortage || (status != SLUICE_CORRUPT && status != SLUICE_UNSUPPORTED)) {
        return status;
    }
    if (error != NULL) {
        const size_t length = strlen(error->text);
        error->status = SLUICE_NOMEM;
        (void)snprintf(error->text + length, sizeof(error->text) - length, " (out of memory)");
    }
    return SLUICE_NOMEM;
}

/* Returns where to cut `text`, so that no UTF-8 sequence is split. */
static const char *at_character(const char *text)
{
    while (((unsigned char)*text & 0xC0U) == 0x80U) {
        text++;
    }
    return text;
}

/* Returns the length of "SCHEME://" at the beginning of an address; 0 for other paths. */
static size_t scheme_bytes(const char *path)
{
    const size_t letters =
        strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-");
    return letters > 0 && strncmp(path + letters, "://", 3) == 0 ? letters + 3 : 0;
}

/* Returns the length of user:password@ after the scheme of an address. */
static size_t user_bytes(const char *rest)
{
    size_t bytes = 0;
    for (size_t i = 0; rest[i] != '\0' && rest[i] != '/' && rest[i] != '?'; i++) {
        bytes = rest[i] == '@' ? i + 1 : bytes;
    }
    return bytes;
}

void sl_error_set_path(sluice_error *error, const char *path)
{
    const size_t capacity = sizeof(error->file) - 1;
    size_t scheme = scheme_bytes(path);
    const bool is_http = strncmp(path, "http://", 7) == 0 || strncmp(path, "https://", 8) == 0;
    /* The query of an http address is often a signature, and its fragment may be one. */
    const char *end = path + (is_http ? strcspn(path, "?#") : strlen(path));
    const char *from = path + scheme + (scheme > 0 ? user_bytes(path + scheme) : 0);
    if (scheme + (size_t)(end - from) > capacity) {
        from = at_character(end - capacity);
        scheme = 0;
    }
    const size_t length = (size_t)(end - from);
    memmove(error->file, path, scheme);
    memmove(error->file + scheme, from, length);
    error->file[scheme + length] = '\0';
}

/* Removes a split character at the end of a text that was cut. */
static void end_at_character(char *text, size_t length)
{
    size_t end = length;
    while (end > 0 && ((unsigned char)text[end - 1] & 0xC0U) == 0x80U) {
        end--;
    }
    if (end > 0 && (unsigned char)text[end - 1] >= 0xC0U) {
        text[end - 1] = '\0';
    }
}

static void error_add(sluice_error *error, const char *format, va_list arguments)
{
    char text[sizeof(error->text) + SL_OPTION_MARKS_BYTES];
    const int length = vsnprintf(text, sizeof(text), format, arguments);
    if (length < 0) {
        text[0] = '\0';
    } else if ((size_t)length >= sizeof(text)) {
        end_at_character(text, sizeof(text) - 1);
    }
    sl_option_text_add(error, text);
}

/* Built separately and copied at the end: the arguments may point into `error` itself. */
static void error_record(sluice_error *built, sluice_status status, const char *stage,
                         const char *format, va_list arguments)
{
    sl_error_clear(built);
    built->status = status;
    snprintf(built->stage, sizeof(built->stage), "%s", stage);
    error_add(built, format, arguments);
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
        error_record(&built, status, stage, format, arguments);
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
        error_record(&built, status, stage, format, arguments);
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

sluice_status sl_no_memory(sluice_error *error, const char *stage, const char *format, ...)
{
    char what[sizeof(error->text)];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    return sl_error_set(error, SLUICE_NOMEM, stage, "out of memory %s", what);
}

sluice_status sl_no_memory_file(sluice_error *error, const char *stage, const char *file,
                                const char *what)
{
    return sl_error_file(error, SLUICE_NOMEM, stage, 0, file, -1, "out of memory %s", what);
}

void sl_error_add(sluice_error *error, size_t keep, const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        sl_option_text_keep(error, keep);
        error_add(error, format, arguments);
        va_end(arguments);
    }
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

bool sl_error_is_unreadable(const sluice_error *error)
{
    static const int of_paths[] = {ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EINVAL};
    for (size_t i = 0; i < sizeof(of_paths) / sizeof(of_paths[0]); i++) {
        if (error->sys_errno == of_paths[i]) {
            return false;
        }
    }
    return error->status == SLUICE_IO;
}
