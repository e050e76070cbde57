/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: command lines as tables. A command describes itself and its options once; parsing, range
 * checks, messages and --help come from that table, and the man pages from --help (cmake/make-man).
 * Main thread only.
 *
 * Values: bytes take units (64MiB and 256K are powers of 1024, 10MB and 5kB powers of 1000);
 * durations take ns, us, ms, s, m, h; both accept a plain number.
 */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,     /* bool *, set to true */
    OPTION_COUNT,    /* uint64_t *, min..max */
    OPTION_BYTES,    /* uint64_t *, min..max */
    OPTION_DURATION, /* double *, seconds, low..high */
    OPTION_REAL,     /* double *, low..high */
    OPTION_CHOICE,   /* int *, the place of the word in `choices` */
    OPTION_TEXT,     /* const char **, not empty */
    OPTION_LIST      /* struct option_list *: a text each time, not empty */
};

enum { OPTION_LIST_MAX = 64 };

/* The values of an option that may be given several times, in that order: argv's own strings. */
struct option_list {
    const char *at[OPTION_LIST_MAX];
    size_t count;
};

/* A row of the table; the table ends with a row whose name is NULL. */
struct option_row {
    const char *name;
    char letter; /* a short form, or 0 */
    enum option_kind kind;
    void *value;
    uint64_t min, max;          /* of COUNT and BYTES, inclusive */
    double low, high;           /* of DURATION and REAL, inclusive */
    double plain_factor;        /* of DURATION: seconds that a plain number counts; 0: 1 */
    const char *const *choices; /* of CHOICE, NULL-terminated */
    const char *metavar;        /* the value's name in --help; CHOICE shows its words */
    const char *help;
};

struct command_usage {
    const char *arguments; /* "FOLDER OUT"; " | " between ways to call it */
    const char *summary;   /* one paragraph, lines broken by hand */
    const char *examples;  /* lines that begin with "  sluice " */
    struct option_row *rows;
    int operands_min, operands_max;
    char **operands; /* out: argv's own strings */
    int operand_count;
};

enum { OPTIONS_GO_ON = -1 };

/* Whether the command that was parsed has an option, "--name" with or without words behind it;
 * before one is, whether any may. */
bool options_take(const char *flag);

/* Fills the values and operands. OPTIONS_GO_ON, or the exit code: --help was shown, or an error. */
int options_parse(struct command_usage *usage, int argc, char **argv);

#endif
