/* SPDX-License-Identifier: Apache-2.0 */
/* outcome: a command's result as JSON: with --json, standard output always has exactly one
 * object. If a command ends without having written its own, outcome_end writes it. Any thread. */
#ifndef TOOL_OUTCOME_H
#define TOOL_OUTCOME_H

#include "json.h"

#include <sluice/common.h>

/* Notes that --json was given; false: another process answers. */
void outcome_want_json(bool want);

/* Keeps a reported text: the last one is the error of a command that fails. */
void outcome_keep_text(const char *text);
void outcome_keep_error(const sluice_error *error);

/* Writes members of the open object, for an exit code other than 0: "exit_code", and "error" or
 * "interrupted". */
void outcome_write(struct json *json, int code);

/* Writes an object with these members if JSON is wanted and none was begun. */
void outcome_end(int code);

#endif
