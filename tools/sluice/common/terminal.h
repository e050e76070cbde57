/* SPDX-License-Identifier: Apache-2.0 */
/* terminal: properties of standard error, for drawing on it. Main thread unless noted. */
#ifndef TOOL_TERMINAL_H
#define TOOL_TERMINAL_H

#include <stdbool.h>

/* Returns whether a line can be redrawn: a terminal that accepts escapes (TERM is set and not
 * "dumb"). */
bool terminal_can_draw(void);

/* Returns the current number of columns of the terminal; 80 if unknown. */
int terminal_columns(void);

/* Records that the last line is a bar, without a line end. Any thread. */
void terminal_put_bar(void);
/* Returns whether the last line is a bar; the caller then ends that line. Any thread. */
bool terminal_take_bar(void);

#endif
