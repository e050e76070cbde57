/* SPDX-License-Identifier: Apache-2.0 */
/* exit_code: the tool's exit codes (docs/cli.md). */
#ifndef TOOL_EXIT_CODE_H
#define TOOL_EXIT_CODE_H

enum tool_exit {
    TOOL_FINE = 0,
    TOOL_FAILED = 1,       /* the operation failed: I/O, memory, device, internal */
    TOOL_USAGE = 2,        /* wrong arguments; nothing was done */
    TOOL_BAD_DATA = 3,     /* the data is bad: verify found an error, pack rejected a sample */
    TOOL_UNREADABLE = 4,   /* a sample could not be read: it may be good or bad */
    TOOL_INTERRUPTED = 130 /* ended by Ctrl-C or SIGTERM */
};

#endif
