/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "exit_code.h"
#include "interrupt.h"
#include "nearest.h"
#include "outcome.h"
#include "report.h"

#include <sluice/common.h>

#include <stdio.h>
#include <string.h>

struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"synth", "make a folder of photo-like JPEGs to try things with", synth_main},
    {"pack", "pack a dataset into shards", pack_main},
    {"unpack", "make files, or tars, of a dataset again", unpack_main},
    {"info", "say what a dataset holds, or what this machine offers", info_main},
    {"verify", "read a dataset and check all of it", verify_main},
    {"bench", "measure how fast batches come out of a dataset", bench_main},
    {"idle", "measure how much of the time a program's GPU has nothing to do", idle_main},
    {"view", "draw samples as the training loop sees them into a PNG", view_main},
    {"devices", "say where batches can live: host memory, CUDA devices", devices_main},
};

static void print_help(FILE *stream)
{
    fputs("Usage: sluice COMMAND [OPTION ...] [ARGUMENT ...]\n\n"
          "Makes, packs, checks, measures and shows datasets for training.\n\nCommands:\n",
          stream);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        fprintf(stream, "  %-8s %s\n", commands[i].name, commands[i].summary);
    }
    fputs("\n`sluice COMMAND --help` shows options and examples; `sluice --version` the version.\n"
          "\nA first try:\n"
          "  sluice synth photos --count 500\n"
          "  sluice pack photos packed\n"
          "  sluice bench packed\n",
          stream);
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static void refuse_command(const char *name)
{
    static const char *const others[] = {"help", "--help", "--version"};
    char question[80];
    struct nearest nearest;
    nearest_begin(&nearest, name);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        nearest_try(&nearest, commands[i].name);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        nearest_try(&nearest, others[i]);
    }
    nearest_question(&nearest, "", question, sizeof question);
    report("there is no command `%s`%s%s `sluice --help` lists them", name, question,
           *question != '\0' ? "" : ";");
}

static int run_command(const char *name, int argc, char **argv)
{
    const struct command *command = find_command(name);
    if (command == NULL) {
        refuse_command(name);
        return TOOL_USAGE;
    }
    report_set_command(command->name);
    return command->run(argc, argv);
}

/* `sluice help`, `sluice help COMMAND`. */
static int help(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stdout);
        return TOOL_FINE;
    }
    char option[] = "--help";
    char *arguments[] = {argv[1], option, NULL};
    return run_command(argv[1], 2, arguments);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return TOOL_USAGE;
    }
    int code = TOOL_FINE;
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("sluice %s\n", sluice_version());
    } else if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
    } else if (strcmp(argv[1], "help") == 0) {
        code = help(argc - 1, argv + 1);
    } else {
        code = run_command(argv[1], argc - 1, argv + 1);
        interrupt_settle();
        outcome_end(code);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        report("cannot write the output: the disk may be full");
        return code == TOOL_FINE ? TOOL_FAILED : code;
    }
    return code;
}
