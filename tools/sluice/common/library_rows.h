/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_rows: rows of a command's table that stand for options of the library (LIBRARY_ROW), with
 * what the library's own table says of them. Main thread only.
 */
#ifndef TOOL_LIBRARY_ROWS_H
#define TOOL_LIBRARY_ROWS_H

#include "options.h"

enum { LIBRARY_ROWS_MAX = 128 };

/* All rows of a command, these filled in, those of LIBRARY_ROWS put in their place: valid until the
 * next call. */
const struct option_row *library_rows(const struct option_row *rows);

#endif
