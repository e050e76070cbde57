/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: command lines as tables. A command describes itself and its options once; parsing, range
 * checks, messages and help (help.h) come from that table, and from there the man pages and the
 * completions (cmake/make-man, cmake/make-completions). Main thread only.
 *
 * Rows of the library's own options (LIBRARY_ROW) have kind, range, words and help of its table.
 * Rows below a heading (OPTION_GROUP) belong to its group; --help-all lists the options by group.
 *
 * Values: bytes take units (64MiB and 256K are powers of 1024, 10MB and 5kB powers of 1000);
 * durations take ns, us, ms, s, m, h; both accept a plain number.
 */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <sluice/describe.h>

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
    OPTION_LIST,     /* struct option_list *: a text each time, not empty */
    OPTION_LIBRARY,  /* an options struct of the library's, with its struct_size */
    OPTION_HEADING   /* not an option: the name of the group that begins here */
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
    const char *metavar;        /* the value's name in help; CHOICE without one shows its words */
    const char *help;           /* a phrase, the default in brackets (help.h: lengths) */
    bool common;                /* listed by --help, too; --help-all lists every option */
    sluice_options of;  /* of LIBRARY: which struct it is; kind, range and words are not given */
    const char *member; /* likewise, filled in: its name in C */
    const char *group;  /* filled in: the heading above the row */
};

#define OPTION_GROUP(heading)                     \
    {                                             \
        .name = (heading), .kind = OPTION_HEADING \
    }

/* The option of a struct that the tool calls --`flag`. `.help`, `.common` and a letter may be
 * added. */
#define LIBRARY_ROW(struct_of, options, flag) \
    flag, .kind = OPTION_LIBRARY, .value = &(options), .of = SLUICE_OPTIONS_##struct_of
/* All other options of the struct that the tool has a name for, and the command has no row for. */
#define LIBRARY_ROWS(struct_of, options)    \
    {                                       \
        LIBRARY_ROW(struct_of, options, "") \
    }

struct command_usage {
    const char *arguments; /* "FOLDER OUT"; " | " between ways to call it */
    const char *summary;   /* one short paragraph, lines broken by hand */
    const char *details;   /* further paragraphs, of --help-all and the man page; NULL: none */
    const char *examples;  /* up to three lines; the first is what an error suggests */
    const struct option_row *rows;
    int operands_min, operands_max;
    char **operands; /* out: argv's own strings */
    int operand_count;
};

enum { OPTIONS_GO_ON = -1 };

/* Returns whether the parsed command has an option, "--name", possibly followed by text; before
 * parsing, whether any command may. */
bool options_take(const char *flag);

/* Returns the library's option by its name in C, which must exist. */
sluice_option options_library(sluice_options of, const char *name);

/* Fills the values and operands. Returns OPTIONS_GO_ON, or the exit code: help was shown, or an
 * error. */
int options_parse(struct command_usage *usage, int argc, char **argv);

#endif
