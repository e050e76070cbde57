/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include "exit_code.h"
#include "options.h"
#include "outcome.h"
#include "safe_text.h"
#include "terminal.h"

#include <sluice/describe.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WARNINGS_MAX = 64 };

static const char *command_name = "";
static bool quiet; /* set once, before threads start */

void report_set_command(const char *name)
{
    command_name = name;
}

const char *report_command(void)
{
    return command_name;
}

void report_quiet(void)
{
    quiet = true;
}

bool report_is_quiet(void)
{
    return quiet;
}

enum { TEXT_BYTES = 2048 };

static void write_line(const char *text)
{
    char line[2 * TEXT_BYTES];
    const char *space = *command_name == '\0' ? "" : " ";
    int prefix = snprintf(line, sizeof line, "sluice%s%s: ", space, command_name);
    safe_text(line + prefix, sizeof line - (size_t)prefix - 1, text);
    const size_t length = strlen(line);
    line[length] = '\n';
    if (terminal_take_bar()) {
        (void)!write(STDERR_FILENO, "\n", 1);
    }
    (void)!write(STDERR_FILENO, line, length + 1);
}

void report(const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments); // NOLINT: va_start stands above
    va_end(arguments);
    outcome_keep_text(text);
    write_line(text);
}

void report_note(const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments); // NOLINT: va_start stands above
    va_end(arguments);
    if (!quiet) {
        write_line(text);
    }
}

int report_exit_code(int status)
{
    switch (status) {
    case SLUICE_OK:
        return TOOL_FINE;
    case SLUICE_INVALID:
        return TOOL_USAGE;
    case SLUICE_CORRUPT:
    case SLUICE_UNSUPPORTED:
        return TOOL_BAD_DATA;
    default:
        return TOOL_FAILED;
    }
}

/* Spells an option; never as a flag that the command lacks. */
static const char *spell(void *user, const char *option)
{
    const char *flag = sluice_option_spell(SLUICE_SPELLING_TOOL, option);
    (void)user;
    return flag != NULL && options_take(flag) ? flag : NULL;
}

sluice_error report_own_words(const sluice_error *error)
{
    sluice_error own = *error;
    sluice_error_respell(&own, spell, NULL);
    return own;
}

/* Returns whether a text differs from all earlier ones, by a hash. */
static bool is_new(const char *text)
{
    static uint64_t known[WARNINGS_MAX];
    static size_t count;
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (const char *at = text; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001B3);
    }
    for (size_t i = 0; i < count; i++) {
        if (known[i] == hash) {
            return false;
        }
    }
    if (count < WARNINGS_MAX) {
        known[count++] = hash;
    }
    return true;
}

void report_warnings(sluice_loader *loader)
{
    sluice_error warning = SLUICE_ERROR_INIT;
    for (uint32_t i = 0;
         loader != NULL && sluice_loader_get_warning(loader, i, &warning) == SLUICE_OK; i++) {
        const sluice_error own = report_own_words(&warning);
        if (is_new(own.text)) {
            report_note("warning: %s", own.text);
        }
    }
}

int report_error(const sluice_error *error, const char *advice)
{
    char text[1400];
    char line[TEXT_BYTES];
    const sluice_error own = report_own_words(error);
    sluice_error_format(&own, text, sizeof text);
    snprintf(line, sizeof line, "%s%s%s", text, advice == NULL ? "" : "; ",
             advice == NULL ? "" : advice);
    write_line(line);
    outcome_keep_error(&own);
    return error->status == SLUICE_IO && error->sample >= 0 ? TOOL_UNREADABLE
                                                            : report_exit_code(error->status);
}
