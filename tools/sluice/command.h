/* SPDX-License-Identifier: Apache-2.0 */
/* command: the commands of the tool. Each is one function in the file of its name; `argv[0]` is
 * that name. They run on the main thread and return an exit code (exit_code.h). */
#ifndef TOOL_COMMAND_H
#define TOOL_COMMAND_H

int synth_main(int argc, char **argv);
int pack_main(int argc, char **argv);
int unpack_main(int argc, char **argv);
int info_main(int argc, char **argv);
int verify_main(int argc, char **argv);
int bench_main(int argc, char **argv);
int idle_main(int argc, char **argv);
int view_main(int argc, char **argv);
int cache_main(int argc, char **argv);
int devices_main(int argc, char **argv);

#endif
