/* SPDX-License-Identifier: Apache-2.0 */
/* exit_code: what the tool's exit codes mean (docs/cli.md). */
#ifndef TOOL_EXIT_CODE_H
#define TOOL_EXIT_CODE_H

enum tool_exit {
    TOOL_FINE = 0,
    TOOL_FAILED = 1,       /* the operation failed: I/O, memory, device, internal */
    TOOL_USAGE = 2,        /* wrong arguments; nothing was done */
    TOOL_BAD_DATA = 3,     /* the data is bad: verify found something, pack refused a sample */
    TOOL_UNREADABLE = 4,   /* a sample could not be read: whether it is good, nobody knows */
    TOOL_INTERRUPTED = 130 /* ended by Ctrl-C or SIGTERM */
};

#endif
