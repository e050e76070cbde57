/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt: what Ctrl-C and SIGTERM do. Either a flag that the command's loops look at, so that it
 * ends with what it has, or a last message and the end. A second signal always ends at once.
 */
#ifndef TOOL_INTERRUPT_H
#define TOOL_INTERRUPT_H

#include <stdbool.h>

/* From now on a signal raises the flag. */
void interrupt_catch(void);

/*
 * From now on a signal ends the command with 130, after `message` (borrowed, whole lines) and what
 * --json asks for: `work(user)`, called on a thread of its own, completes an object that the
 * command has begun; NULL: it begins none before interrupt_settle. Main thread, before others are
 * started.
 */
void interrupt_end(const char *message, void (*work)(void *user), void *user);

/* The command is over but for printing its result: a first signal that comes now is too late.
 * Does not return when one came before. Main thread. */
void interrupt_settle(void);

/* Whether a signal came. Any thread. */
bool interrupt_pending(void);

#endif
