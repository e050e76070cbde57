/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcome: what a command comes to, as JSON: with --json, standard output holds one object whatever
 * happens. A command that ends without having written its own leaves that to outcome_end. Any
 * thread.
 */
#ifndef TOOL_OUTCOME_H
#define TOOL_OUTCOME_H

#include "json.h"

#include <sluice/common.h>

/* --json was given; false: another process answers it. */
void outcome_want_json(bool want);

/* What was reported: the last one is the error of a command that fails. */
void outcome_keep_text(const char *text);
void outcome_keep_error(const sluice_error *error);

/* Members of the object that is open, for an exit code that is not 0: "exit_code", and "error" or
 * "interrupted". */
void outcome_write(struct json *json, int code);

/* Writes an object of these members where JSON is wanted and nobody began to write any. */
void outcome_end(int code);

#endif
