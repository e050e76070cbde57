/* SPDX-License-Identifier: Apache-2.0 */
/* terminal: what standard error is, for who draws on it. Main thread but where said. */
#ifndef TOOL_TERMINAL_H
#define TOOL_TERMINAL_H

#include <stdbool.h>

/* Whether a line can be drawn over: a terminal that takes escapes (TERM is set and not "dumb"). */
bool terminal_can_draw(void);

/* Columns of the terminal, as they are now; 80 where they are not known. */
int terminal_columns(void);

/* A bar stands on the last line, without an end. Any thread. */
void terminal_put_bar(void);
/* Whether one stands there, of which the caller then ends the line. Any thread. */
bool terminal_take_bar(void);

#endif
