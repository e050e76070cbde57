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
    const char *summary; /* NULL: the name of a group that begins here */
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"Make data", NULL, NULL},
    {"synth", "make a folder of photo-like JPEGs to try things with", synth_main},
    {"pack", "pack a dataset into shards, which load faster", pack_main},
    {"unpack", "turn a dataset back into files or tars", unpack_main},
    {"Look at it", NULL, NULL},
    {"info", "show what a dataset holds, or what this machine offers", info_main},
    {"view", "draw samples as the training loop sees them, as PNG or HTML", view_main},
    {"verify", "read a whole dataset and check it", verify_main},
    {"Measure and manage", NULL, NULL},
    {"bench", "measure how fast batches come, and whether training would wait", bench_main},
    {"idle", "measure how long a training program's GPU has nothing to do", idle_main},
    {"devices", "list where batches can be: host memory, CUDA devices", devices_main},
    {"cache", "list, verify, fill or empty the cache of remote data", cache_main},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* At most 23 lines of 80 columns, a terminal with its prompt. */
static void print_help(FILE *stream)
{
    fputs("Usage: sluice COMMAND [OPTION ...] [ARGUMENT ...]\n\n"
          "Makes, packs, checks, shows and measures datasets for training.\n"
          "`sluice COMMAND --help` shows how to use a command, --help-all all its options.\n\n"
          "First steps:\n"
          "  sluice synth photos --count 500      # or take your own folder of images\n"
          "  sluice info photos                   # what the dataset holds\n"
          "  sluice bench photos --seconds 5s     # how fast batches come, and what limits\n\n",
          stream);
    for (int i = 0; i < COMMANDS; i++) {
        if (commands[i].run == NULL) {
            fprintf(stream, "%s:\n", commands[i].name);
        } else {
            fprintf(stream, "  %-8s %s\n", commands[i].name, commands[i].summary);
        }
    }
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++) {
        if (commands[i].run != NULL && strcmp(commands[i].name, name) == 0) {
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
    for (int i = 0; i < COMMANDS; i++) {
        if (commands[i].run != NULL) {
            nearest_try(&nearest, commands[i].name);
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        nearest_try(&nearest, others[i]);
    }
    nearest_question(&nearest, "", question, sizeof question);
    report("unknown %s `%s`%s%s `sluice --help` lists the commands",
           name[0] == '-' ? "option" : "command", name, question, *question != '\0' ? "" : ";");
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

/* Runs `sluice help`, `sluice help COMMAND`. */
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
        report("COMMAND is missing: begin with `sluice synth photos` or `sluice info DATASET`");
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
