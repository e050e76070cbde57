/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command: the commands of the tool and what their exit codes mean (docs/cli.md).
 * Each command is one file with one function; `argv[0]` is the command's name. They run on the main
 * thread and return an exit code.
 */
#ifndef TOOL_COMMAND_H
#define TOOL_COMMAND_H

enum tool_exit {
    TOOL_FINE = 0,
    TOOL_FAILED = 1,       /* the operation failed: I/O, memory, device, internal */
    TOOL_USAGE = 2,        /* wrong arguments; nothing was done */
    TOOL_BAD_DATA = 3,     /* the data is bad: verify found something, pack refused a sample */
    TOOL_INTERRUPTED = 130 /* ended by Ctrl-C or SIGTERM */
};

int synth_main(int argc, char **argv);
int pack_main(int argc, char **argv);
int info_main(int argc, char **argv);
int verify_main(int argc, char **argv);
int bench_main(int argc, char **argv);
int idle_main(int argc, char **argv);
int view_main(int argc, char **argv);
int devices_main(int argc, char **argv);

#endif
