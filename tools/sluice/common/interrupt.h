/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt: handles Ctrl-C and SIGTERM. Either sets a flag that the command's loops check, so that
 * it ends with partial results, or prints a last message and ends. A second signal always ends at
 * once.
 */
#ifndef TOOL_INTERRUPT_H
#define TOOL_INTERRUPT_H

#include <stdbool.h>

/* Makes signals set the flag from now on. */
void interrupt_catch(void);

/*
 * Makes a signal end the command with 130 from now on, after `message` (borrowed, whole lines) and
 * the output of --json: `work(user)`, called on a separate thread, completes an object that the
 * command has begun; NULL: it begins none before interrupt_settle. Main thread, before others are
 * started.
 */
void interrupt_end(const char *message, void (*work)(void *user), void *user);

/* Reports that only printing the result remains: a first signal that comes now is too late. Does
 * not return if one came before. Main thread. */
void interrupt_settle(void);

/* Returns whether a signal came. Any thread. */
bool interrupt_pending(void);

#endif
