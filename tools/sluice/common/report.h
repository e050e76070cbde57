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

/* From now on only what is wrong is written, and no progress: of several processes that do the
 * same, one speaks. */
void report_quiet(void);
bool report_is_quiet(void);

/* What is wrong: of a command that fails, the last one is also the error in its JSON. */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What is good to know. */
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports a library error, then `advice` (what to do next; NULL: none); returns the exit code. */
int report_error(const sluice_error *error, const char *advice);

/* What a loader warns of (sluice_loader_get_warning), each sentence once in a run; the main thread,
 * before the loader is closed. NULL: nothing. */
void report_warnings(sluice_loader *loader);

/* The error, with the options that it names called as users of the command know them. */
sluice_error report_own_words(const sluice_error *error);

/* The exit code that stands for a status. */
int report_exit_code(int status);

#endif
