/* SPDX-License-Identifier: Apache-2.0 */
/* setup: prepares the start of the program: the library for the driver to load, and the folder
 * it writes to. Main thread, before there are others (it sets environment variables). */
#ifndef TOOL_IDLE_SETUP_H
#define TOOL_IDLE_SETUP_H

#include <limits.h>
#include <stdbool.h>

struct idle_setup {
    char library[PATH_MAX];
    char folder[PATH_MAX];
    bool temporary; /* the folder is removed at the end */
};

/* Makes the setup. `records`: a folder to keep, created if needed; NULL: a temporary one. False:
 * reported. */
bool idle_setup_make(struct idle_setup *setup, const char *records);
/* Turns tracing on or off for programs started from now on. False: reported. */
bool idle_setup_inject(const struct idle_setup *setup, bool on);
/* Removes a temporary folder and the record files in it. */
void idle_setup_remove(const struct idle_setup *setup);

#endif
