/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_rows: fills in the rows of a command's table that are options of the library
 * (LIBRARY_ROW) from the library's own table, and the group of every row. Main thread only.
 */
#ifndef TOOL_LIBRARY_ROWS_H
#define TOOL_LIBRARY_ROWS_H

#include "options.h"

enum { LIBRARY_ROWS_MAX = 128 };

/* Returns all options of a command: library rows filled in, LIBRARY_ROWS expanded, headings
 * removed. Valid until the next call. */
const struct option_row *library_rows(const struct option_row *rows);

#endif
