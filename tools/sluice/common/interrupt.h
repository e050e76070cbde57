/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt: what Ctrl-C and SIGTERM do. Either a flag that the command's loops look at, so that it
 * ends with what it has, or a last message and the end at once. A second signal always ends at
 * once.
 */
#ifndef TOOL_INTERRUPT_H
#define TOOL_INTERRUPT_H

#include <stdbool.h>

/* From now on a signal raises the flag. */
void interrupt_catch(void);
/* From now on a signal writes `message` (borrowed, a whole line) and exits with 130. */
void interrupt_say(const char *message);

/* Whether a signal came. Any thread. */
bool interrupt_pending(void);

#endif
