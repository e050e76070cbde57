/* SPDX-License-Identifier: Apache-2.0 */
/* launch: runs a program like `env` and `time` do. It has the terminal and gets Ctrl-C directly;
 * a signal sent to the tool alone (INT, TERM, HUP) is forwarded. Main thread only. */
#ifndef TOOL_IDLE_LAUNCH_H
#define TOOL_IDLE_LAUNCH_H

#include <stdbool.h>

struct launch_result {
    int code;           /* its exit code; 128 + the signal that ended it; 126, 127: not run */
    int signal;         /* that ended it, or 0 */
    int error;          /* errno if it could not be run, or 0 */
    double start, end;  /* on clock_seconds' scale */
    double cpu_seconds; /* of the program and the children it waited for */
};

/* Runs `arguments`, which end with NULL. With `output_to_error`, the program's standard output
 * goes to standard error. */
struct launch_result idle_launch(char *const *arguments, bool output_to_error);

#endif
