/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report: messages to people on standard error, each one line: "sluice COMMAND: text".
 * Any thread; a line is written whole.
 */
#ifndef TOOL_REPORT_H
#define TOOL_REPORT_H

#include <sluice/common.h>
#include <sluice/loader.h>

#include <stdbool.h>

/* The command named in messages; set once before threads start. The string is borrowed. */
void report_set_command(const char *name);
const char *report_command(void);

/* Suppresses everything except errors from now on, for all but one of several processes that do
 * the same work. */
void report_quiet(void);
bool report_is_quiet(void);

/* Reports an error: in a command that fails, the last one is also the error in its JSON. */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a note. */
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports a library error, then `advice` (what to do next; NULL: none); returns the exit code. */
int report_error(const sluice_error *error, const char *advice);

/* Prints a loader's warnings (sluice_loader_get_warning), each text once in a run; on the main
 * thread, before the loader is closed. NULL: none. */
void report_warnings(sluice_loader *loader);

/* Returns the error with the option names of the command line. */
sluice_error report_own_words(const sluice_error *error);

/* Returns the exit code for a status. */
int report_exit_code(int status);

#endif
