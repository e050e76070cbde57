/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help: prints the contents of a command's table. Main thread only.
 *
 * An option is one line: of at most 80 columns if it is `common`, else of at most 100. The text
 * begins after two blanks or more, by which cmake/make-man separates the parts.
 */
#ifndef TOOL_HELP_H
#define TOOL_HELP_H

#include "options.h"

enum help_kind {
    HELP_COMMON, /* the options that most people use */
    HELP_ALL,    /* all of them, by group, and the details */
    HELP_TABLE   /* all of them for programs: a line each, fields between tabs */
};

/*
 * Fields of HELP_TABLE: letter (or -), name, the value as help shows it (or -), the words of a
 * choice (or -), once or often, common or rare, the present value of a number or a word (or -),
 * group, help.
 */
void help_print(const struct command_usage *usage, enum help_kind kind);

/* Writes the text after the option's name: "BYTES", "train|eval" or nothing. */
void help_value(const struct option_row *row, char *text, size_t bytes);
/* Writes the words of a CHOICE, with | between them. */
void help_words(const struct option_row *row, char *text, size_t bytes);

#endif
