/* SPDX-License-Identifier: Apache-2.0 */
#include "help.h"

#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Texts begin in this column, or earlier if no name is as long. */
enum { TEXT_COLUMN = 32 };

static const struct option_row help_rows[] = {
    {.name = "help", .letter = 'h', .kind = OPTION_FLAG, .help = "show the common options"},
    {.name = "help-all", .kind = OPTION_FLAG, .help = "show all options, with details"},
    {.name = NULL},
};

void help_words(const struct option_row *row, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; row->choices[i] != NULL && length < bytes; i++) {
        const int written =
            snprintf(text + length, bytes - length, "%s%s", i > 0 ? "|" : "", row->choices[i]);
        length += (size_t)(written > 0 ? written : 0);
    }
}

void help_value(const struct option_row *row, char *text, size_t bytes)
{
    if (row->kind == OPTION_CHOICE && row->metavar == NULL) {
        help_words(row, text, bytes);
    } else {
        snprintf(text, bytes, "%s", row->kind == OPTION_FLAG ? "" : row->metavar);
    }
}

/* Writes "  -b, --batch ROWS"; returns its length. */
static int name_option(const struct option_row *row, char *text, size_t bytes)
{
    char value[96];
    char letter[8] = "    ";
    help_value(row, value, sizeof value);
    if (row->letter != 0) {
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    }
    return snprintf(text, bytes, "  %s--%s%s%s", letter, row->name, *value != '\0' ? " " : "",
                    value);
}

static void print_row(const struct option_row *row, int column)
{
    char name[128];
    const int length = name_option(row, name, sizeof name);
    printf("%-*s%s%s\n", column, name, length > column - 2 ? "  " : "", row->help);
}

static bool is_shown(const struct option_row *row, enum help_kind kind)
{
    return kind == HELP_ALL || row->common;
}

/* Returns the column of the texts: two blanks after the longest name. */
static int find_column(const struct option_row *rows, enum help_kind kind)
{
    char name[128];
    int column = name_option(&help_rows[1], name, sizeof name) + 2;
    for (const struct option_row *row = rows; row->name != NULL; row++) {
        const int needed = is_shown(row, kind) ? name_option(row, name, sizeof name) + 2 : 0;
        column = needed > column ? needed : column;
    }
    return column < TEXT_COLUMN ? column : TEXT_COLUMN;
}

/* Prints a line for each way to call the command, as parsed by cmake/make-man. */
static void print_usage(const char *arguments)
{
    const char *lead = "Usage:";
    while (arguments != NULL) {
        const char *end = strstr(arguments, " | ");
        size_t length = end != NULL ? (size_t)(end - arguments) : strlen(arguments);
        printf("%s sluice %s [OPTION ...]%s%.*s\n", lead, report_command(), length > 0 ? " " : "",
               (int)length, arguments);
        lead = "  or: ";
        arguments = end != NULL ? end + strlen(" | ") : NULL;
    }
}

/* Prints the rows group by group; --help, without groups, has one heading. */
static void print_options(const struct option_row *rows, enum help_kind kind)
{
    const int column = find_column(rows, kind);
    const char *group = NULL;
    if (kind == HELP_COMMON) {
        printf("\nOptions:\n");
    }
    for (const struct option_row *row = rows; row->name != NULL; row++) {
        if (kind == HELP_ALL && (group == NULL || strcmp(group, row->group) != 0)) {
            printf("\n%s:\n", row->group);
            group = row->group;
        }
        if (is_shown(row, kind)) {
            print_row(row, column);
        }
    }
    for (const struct option_row *row = help_rows; row->name != NULL; row++) {
        print_row(row, column);
    }
}

/* Writes the current value of the number or word; "-": none, or unknown here. */
static void describe_present(const struct option_row *row, char *text, size_t bytes)
{
    snprintf(text, bytes, "-");
    if (row->member != NULL) {
        return;
    }
    if (row->kind == OPTION_COUNT || row->kind == OPTION_BYTES) {
        snprintf(text, bytes, "%" PRIu64, *(const uint64_t *)row->value);
    } else if (row->kind == OPTION_REAL || row->kind == OPTION_DURATION) {
        snprintf(text, bytes, "%g", *(const double *)row->value);
    } else if (row->kind == OPTION_CHOICE && *(const int *)row->value >= 0) {
        snprintf(text, bytes, "%s", row->choices[*(const int *)row->value]);
    }
}

static void print_fields(const struct option_row *row)
{
    char value[96];
    char words[128] = "";
    char present[32];
    help_value(row, value, sizeof value);
    if (row->kind == OPTION_CHOICE) {
        help_words(row, words, sizeof words);
    }
    describe_present(row, present, sizeof present);
    printf("%c\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row->letter != 0 ? row->letter : '-', row->name,
           *value != '\0' ? value : "-", *words != '\0' ? words : "-",
           row->kind == OPTION_LIST ? "often" : "once", row->common ? "common" : "rare", present,
           row->group != NULL ? row->group : "Help", row->help);
}

static void print_table(const struct option_row *rows)
{
    for (const struct option_row *row = rows; row->name != NULL; row++) {
        print_fields(row);
    }
    for (const struct option_row *row = help_rows; row->name != NULL; row++) {
        print_fields(row);
    }
}

void help_print(const struct command_usage *usage, enum help_kind kind)
{
    if (kind == HELP_TABLE) {
        print_table(usage->rows);
        return;
    }
    print_usage(usage->arguments);
    printf("\n%s\n", usage->summary);
    if (kind == HELP_ALL && usage->details != NULL) {
        printf("\n%s\n", usage->details);
    }
    print_options(usage->rows, kind);
    printf("\nExamples:\n%s", usage->examples);
}
