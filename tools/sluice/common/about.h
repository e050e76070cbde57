/* SPDX-License-Identifier: Apache-2.0 */
/* about: prints a dataset's fields, and the things that opening it left out, as text and as JSON.
 */
#ifndef TOOL_ABOUT_H
#define TOOL_ABOUT_H

#include "json.h"

#include <sluice/dataset.h>

/* Reports the warnings of opening the dataset at `path`, one line each. */
void about_warn(const sluice_dataset *dataset, const char *path);
/* Prints a line for each reason by which something was left out; nothing if nothing was. */
void about_print_left_out(const sluice_dataset *dataset);
/* Writes the same as an array "left_out". */
void about_write_left_out(struct json *json, const sluice_dataset *dataset);
/* Writes the warnings as an array "warnings". */
void about_write_warnings(struct json *json, const sluice_dataset *dataset);
/* Writes what the field means as an object "meaning", without members that are not known; nothing
 * if none is. */
void about_write_meaning(struct json *json, const sluice_field *field);

#endif
