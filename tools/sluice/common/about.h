/* SPDX-License-Identifier: Apache-2.0 */
/* about: prints a dataset's fields, and the entries that opening left out, as text and as JSON. */
#ifndef TOOL_ABOUT_H
#define TOOL_ABOUT_H

#include "json.h"

#include <sluice/dataset.h>

/* Reports the warnings of opening the dataset at `path`, one line each. */
void about_warn(const sluice_dataset *dataset, const char *path);
/* Prints a line for each reason to leave something out, if any. */
void about_print_left_out(const sluice_dataset *dataset);
/* Writes the same as an array "left_out". */
void about_write_left_out(struct json *json, const sluice_dataset *dataset);
/* Writes the warnings as an array "warnings". */
void about_write_warnings(struct json *json, const sluice_dataset *dataset);
/* Writes the meaning of the field as an object "meaning", without unknown members; nothing if
 * all are unknown. */
void about_write_meaning(struct json *json, const sluice_field *field);

#endif
