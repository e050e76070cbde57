/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command's rows to getopt_long's tables, each argument to its row's kind and place, and the same
 * rows to --help. Main thread; what is remembered is which rows the command has, set before others
 * are started. Values are argv's own texts.
 */
#include "options.h"

#include "exit_code.h"
#include "library_rows.h"
#include "nearest.h"
#include "outcome.h"
#include "report.h"
#include "units.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_MAX = LIBRARY_ROWS_MAX, FIRST_LONG = 256, QUESTION_BYTES = 80 };

/* Of the command that runs; NULL: none was parsed yet. */
static const struct option_row *current_rows;

/* The library looks at it once more. */
static bool set_member(const struct option_row *row, const char *text)
{
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_option_set(row->of, row->value, row->member, text, &error) < 0) {
        (void)report_error(&error, NULL);
        return false;
    }
    return true;
}

/* ---- help ---- */

static size_t count_rows(const struct option_row *rows)
{
    size_t count = 0;
    while (rows[count].name != NULL) {
        count++;
    }
    assert(count < ROWS_MAX);
    return count;
}

/* What follows the option's name in --help: "BYTES", "train|eval" or nothing. */
static void describe_value(const struct option_row *row, char *text, size_t bytes)
{
    text[0] = '\0';
    if (row->kind != OPTION_CHOICE) {
        snprintf(text, bytes, "%s", row->kind == OPTION_FLAG ? "" : row->metavar);
        return;
    }
    size_t length = 0;
    for (size_t i = 0; row->choices[i] != NULL && length < bytes; i++) {
        const char *separator = i > 0 ? "|" : "";
        int written = snprintf(text + length, bytes - length, "%s%s", separator, row->choices[i]);
        length += (size_t)(written > 0 ? written : 0);
    }
}

static void print_row(const struct option_row *row)
{
    char value[96];
    describe_value(row, value, sizeof value);
    char name[128];
    int length =
        snprintf(name, sizeof name, "--%s%s%s", row->name, *value != '\0' ? " " : "", value);
    if (row->letter != 0) {
        printf("  -%c, %-24s", row->letter, name);
    } else {
        printf("      %-24s", name);
    }
    /* Two blanks at least: cmake/make-man and make-completions tell by them where the text begins.
     */
    printf(length >= 24 ? "\n%31s%s\n" : "%1s%s\n", "", row->help);
}

/* A line for each way to call it, as cmake/make-man reads them. */
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

static void print_help(const struct command_usage *usage)
{
    print_usage(usage->arguments);
    printf("\n%s\n\nOptions:\n", usage->summary);
    for (const struct option_row *row = usage->rows; row->name != NULL; row++) {
        print_row(row);
    }
    printf("  -h, %-24s show this\n\nExamples:\n%s", "--help", usage->examples);
}

static bool wrong(const struct option_row *row, const char *text, const char *expected)
{
    report("--%s %s: expected %s; `sluice %s --help` shows examples", row->name, text, expected,
           report_command());
    return false;
}

static bool set_whole(const struct option_row *row, const char *text)
{
    uint64_t value;
    char expected[160];
    bool parsed = row->kind == OPTION_BYTES ? units_parse_bytes(text, &value)
                                            : units_parse_count(text, &value);
    if (!parsed || value < row->min || value > row->max) {
        if (row->kind == OPTION_BYTES) {
            char low[32];
            char high[32];
            units_format_bytes(low, sizeof low, row->min);
            units_format_bytes(high, sizeof high, row->max);
            snprintf(expected, sizeof expected, "a size like 64MiB or 256K, from %s to %s", low,
                     high);
        } else {
            snprintf(expected, sizeof expected, "a whole number from %llu to %llu",
                     (unsigned long long)row->min, (unsigned long long)row->max);
        }
        return wrong(row, text, expected);
    }
    if (row->member != NULL) {
        snprintf(expected, sizeof expected, "%llu", (unsigned long long)value);
        return set_member(row, expected);
    }
    uint64_t *target = row->value;
    *target = value;
    return true;
}

static bool set_real(const struct option_row *row, const char *text)
{
    double value;
    char expected[160];
    double factor = row->plain_factor > 0 ? row->plain_factor : 1;
    bool parsed = row->kind == OPTION_DURATION ? units_parse_duration(text, factor, &value)
                                               : units_parse_real(text, &value);
    /* Written so that a NaN is refused too. */
    if (!parsed || !(value >= row->low && value <= row->high)) {
        if (row->kind == OPTION_DURATION) {
            snprintf(expected, sizeof expected, "a duration like 10s or 5ms, from %gs to %gs",
                     row->low, row->high);
        } else {
            snprintf(expected, sizeof expected, "a number from %g to %g", row->low, row->high);
        }
        return wrong(row, text, expected);
    }
    if (row->member != NULL) {
        if (row->kind == OPTION_DURATION) {
            snprintf(expected, sizeof expected, "%.0f", value < 1e-9 ? 1 : value * 1e9);
        } else {
            snprintf(expected, sizeof expected, "%.17g", value);
        }
        return set_member(row, expected);
    }
    double *target = row->value;
    *target = value;
    return true;
}

/* Where a question was asked, what follows is a sentence of its own. */
static const char *after(const char *question)
{
    return *question != '\0' ? "" : ";";
}

static bool set_choice(const struct option_row *row, const char *text)
{
    for (int i = 0; row->choices[i] != NULL; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            if (row->member != NULL) {
                return set_member(row, text);
            }
            int *target = row->value;
            *target = i;
            return true;
        }
    }
    char words[96];
    char question[QUESTION_BYTES];
    describe_value(row, words, sizeof words);
    nearest_of(text, row->choices, question, sizeof question);
    report("--%s %s: expected one of %s%s%s `sluice %s --help` shows examples", row->name, text,
           words, question, after(question), report_command());
    return false;
}

static bool set_text(const struct option_row *row, const char *text)
{
    if (*text == '\0') {
        return wrong(row, "\"\"", "a text that is not empty");
    }
    if (row->member != NULL) {
        return set_member(row, text);
    }
    const char **target = row->value;
    *target = text;
    return true;
}

static bool add_text(const struct option_row *row, const char *text)
{
    struct option_list *list = row->value;
    if (list->count == OPTION_LIST_MAX) {
        report("--%s can be given %d times at most", row->name, OPTION_LIST_MAX);
        return false;
    }
    return set_text(&(struct option_row){.name = row->name, .value = &list->at[list->count++]},
                    text);
}

static bool set_value(const struct option_row *row, const char *text)
{
    switch (row->kind) {
    case OPTION_FLAG: {
        if (row->member != NULL) {
            return set_member(row, "1");
        }
        bool *target = row->value;
        *target = true;
        if (strcmp(row->name, "json") == 0) {
            outcome_want_json(true); /* also where it was shortened */
        }
        return true;
    }
    case OPTION_COUNT:
    case OPTION_BYTES:
        return set_whole(row, text);
    case OPTION_DURATION:
    case OPTION_REAL:
        return set_real(row, text);
    case OPTION_CHOICE:
        return set_choice(row, text);
    case OPTION_TEXT:
        return set_text(row, text);
    case OPTION_LIST:
        return add_text(row, text);
    case OPTION_LIBRARY: /* expanded */
        break;
    }
    assert(false);
    return false;
}

struct getopt_tables {
    struct option longs[ROWS_MAX + 2];
    char shorts[2 * ROWS_MAX + 4];
};

static void build_tables(const struct command_usage *usage, struct getopt_tables *tables)
{
    size_t count = count_rows(usage->rows);
    size_t length = 0;
    tables->shorts[length++] = ':'; /* makes getopt tell a missing value from an unknown option */
    tables->shorts[length++] = 'h';
    for (size_t i = 0; i < count; i++) {
        const struct option_row *row = &usage->rows[i];
        int needs = row->kind == OPTION_FLAG ? no_argument : required_argument;
        tables->longs[i] = (struct option){row->name, needs, NULL, FIRST_LONG + (int)i};
        if (row->letter != 0) {
            tables->shorts[length++] = row->letter;
        }
        if (row->letter != 0 && needs == required_argument) {
            tables->shorts[length++] = ':';
        }
    }
    tables->longs[count] = (struct option){"help", no_argument, NULL, 'h'};
    tables->longs[count + 1] = (struct option){NULL, 0, NULL, 0};
    tables->shorts[length] = '\0';
}

static const struct option_row *find_row(const struct command_usage *usage, int found)
{
    if (found >= FIRST_LONG) {
        return &usage->rows[found - FIRST_LONG];
    }
    for (const struct option_row *row = usage->rows; row->name != NULL; row++) {
        if (row->letter != 0 && row->letter == found) {
            return row;
        }
    }
    return NULL;
}

static int check_operands(struct command_usage *usage, int argc, char **argv)
{
    usage->operands = argv + optind;
    usage->operand_count = argc - optind;
    if (usage->operand_count < usage->operands_min) {
        report("%s missing; usage: sluice %s [OPTION ...] %s",
               usage->operand_count == 0 ? "arguments are" : "an argument is", report_command(),
               usage->arguments);
        return TOOL_USAGE;
    }
    if (usage->operand_count > usage->operands_max) {
        report("`%s` is one argument too many; usage: sluice %s [OPTION ...] %s",
               usage->operands[usage->operands_max], report_command(), usage->arguments);
        return TOOL_USAGE;
    }
    return OPTIONS_GO_ON;
}

/* Known before the rest is looked at: an argument that is wrong is answered in JSON, too. */
static void look_for_json(const struct command_usage *usage, int argc, char **argv)
{
    for (const struct option_row *row = usage->rows; row->name != NULL; row++) {
        for (int i = 1; i < argc && strcmp(row->name, "json") == 0; i++) {
            if (strcmp(argv[i], "--") == 0) {
                return;
            }
            if (strcmp(argv[i], "--json") == 0) {
                outcome_want_json(true);
            }
        }
    }
}

/* "--seed, --subset": the options that begin like this; how many there are. */
static size_t list_beginning(const struct command_usage *usage, const char *name, char *text,
                             size_t bytes)
{
    size_t count = 0;
    size_t length = 0;
    text[0] = '\0';
    for (const struct option_row *row = usage->rows; row->name != NULL; row++) {
        if (strncmp(row->name, name, strlen(name)) == 0 && length < bytes) {
            const int more =
                snprintf(text + length, bytes - length, "%s--%s", count > 0 ? ", " : "", row->name);
            length += more > 0 ? (size_t)more : 0;
            count++;
        }
    }
    return count;
}

/* `given` is "--NAME" or "--NAME=VALUE". */
static void refuse_name(const struct command_usage *usage, const char *given)
{
    char name[64];
    char beginning[256];
    char question[QUESTION_BYTES];
    struct nearest nearest;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(given + 2, "="), given + 2);
    if (list_beginning(usage, name, beginning, sizeof beginning) > 1) {
        report("--%s: which of %s?", name, beginning);
        return;
    }
    nearest_begin(&nearest, name);
    for (const struct option_row *row = usage->rows; row->name != NULL; row++) {
        nearest_try(&nearest, row->name);
    }
    nearest_try(&nearest, "help");
    nearest_question(&nearest, "--", question, sizeof question);
    report("--%s: no such option%s%s `sluice %s --help` lists them", name, question,
           after(question), report_command());
}

/* What getopt_long found to be none: `optopt` is its letter, or what stands for a name that takes
 * no value; 0: a name that is not known. */
static void refuse_option(const struct command_usage *usage, const char *given)
{
    if (optopt == 0) {
        refuse_name(usage, given);
    } else if (optopt >= FIRST_LONG || strncmp(given, "--", 2) == 0) {
        report("%.*s takes no value; `sluice %s --help` shows examples", (int)strcspn(given, "="),
               given, report_command());
    } else {
        report("-%c: no such option; `sluice %s --help` lists them", optopt, report_command());
    }
}

bool options_take(const char *flag)
{
    const size_t length = strcspn(flag + 2, " ");
    for (const struct option_row *row = current_rows; row != NULL && row->name != NULL; row++) {
        if (strncmp(row->name, flag + 2, length) == 0 && row->name[length] == '\0') {
            return true;
        }
    }
    return current_rows == NULL;
}

int options_parse(struct command_usage *usage, int argc, char **argv)
{
    struct getopt_tables tables;
    usage->rows = current_rows = library_rows(usage->rows);
    look_for_json(usage, argc, argv);
    build_tables(usage, &tables);
    opterr = 0; /* the messages are ours */
    optind = 1;
    int found;
    /* The tool has one thread yet. */
    while ((found = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) { // NOLINT
        if (found == 'h') {
            print_help(usage);
            return TOOL_FINE;
        }
        if (found == ':') {
            report("%s needs a value; `sluice %s --help` shows examples", argv[optind - 1],
                   report_command());
            return TOOL_USAGE;
        }
        if (found == '?') {
            refuse_option(usage, argv[optind - 1]);
            return TOOL_USAGE;
        }
        if (!set_value(find_row(usage, found), optarg)) {
            return TOOL_USAGE;
        }
    }
    return check_operands(usage, argc, argv);
}
