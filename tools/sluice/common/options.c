/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a command line by the command's rows. Main thread; the rows are remembered for
 * options_take, before other threads are started. Values are argv's own texts.
 */
#include "options.h"

#include "exit_code.h"
#include "help.h"
#include "library_rows.h"
#include "nearest.h"
#include "outcome.h"
#include "report.h"
#include "units.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_MAX = LIBRARY_ROWS_MAX, QUESTION_BYTES = 80 };
/* Results of getopt_long: a letter, or one of these. */
enum { LONG_HELP_ALL = 1, LONG_HELP_TABLE = 2, FIRST_LONG = 256 };
static const char list_all[] = "lists all options";

/* Rows of the running command; NULL: none was parsed yet. */
static const struct option_row *current_rows;

/* Sets the member, which the library checks again. */
static bool set_member(const struct option_row *row, const char *text)
{
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_option_set(row->of, row->value, row->member, text, &error) < 0) {
        (void)report_error(&error, NULL);
        return false;
    }
    return true;
}

static size_t count_rows(const struct option_row *rows)
{
    size_t count = 0;
    while (rows[count].name != NULL) {
        count++;
    }
    assert(count < ROWS_MAX);
    return count;
}

static bool wrong(const struct option_row *row, const char *text, const char *expected)
{
    report("--%s %s: expected %s", row->name, text, expected);
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
    /* Written so that NaN is rejected, too. */
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

/* Returns the separator after a text; after a question, a new sentence begins. */
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
    char words[128];
    char question[QUESTION_BYTES];
    help_words(row, words, sizeof words);
    nearest_of(text, row->choices, question, sizeof question);
    report("--%s %s: expected one of %s%s", row->name, text, words, question);
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
        report("too many --%s: it can be given at most %d times", row->name, OPTION_LIST_MAX);
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
            outcome_want_json(true); /* also if it was abbreviated */
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
    case OPTION_HEADING: /* removed */
        break;
    }
    assert(false);
    return false;
}

struct getopt_tables {
    struct option longs[ROWS_MAX + 4];
    char shorts[2 * ROWS_MAX + 4];
};

static void build_tables(const struct command_usage *usage, struct getopt_tables *tables)
{
    size_t count = count_rows(usage->rows);
    size_t length = 0;
    tables->shorts[length++] = ':'; /* getopt then reports missing values separately */
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
    tables->longs[count + 1] = (struct option){"help-all", no_argument, NULL, LONG_HELP_ALL};
    tables->longs[count + 2] = (struct option){"help-table", no_argument, NULL, LONG_HELP_TABLE};
    tables->longs[count + 3] = (struct option){NULL, 0, NULL, 0};
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

/* Reports the missing operands, with an example. */
static void report_missing(const struct command_usage *usage)
{
    char names[128] = "";
    size_t length = 0;
    int number = 0;
    const char *end = strstr(usage->arguments, " | ");
    const char *word = usage->arguments;
    end = end != NULL ? end : word + strlen(word);
    while (word < end && *word != '[') {
        const int letters = (int)strcspn(word, " ");
        if (strncmp(word, "--", 2) != 0 && number++ >= usage->operand_count) {
            const int more = snprintf(names + length, sizeof names - length, "%s%.*s",
                                      length > 0 ? " and " : "", letters, word);
            length += (size_t)more;
        }
        word += letters + (word[letters] == ' ');
    }
    const char *example = usage->examples + strspn(usage->examples, " ");
    report("%s %s missing: write for example `%.*s`; `sluice %s --help` shows more", names,
           strstr(names, " and ") != NULL ? "are" : "is", (int)strcspn(example, "\n"), example,
           report_command());
}

static int check_operands(struct command_usage *usage, int argc, char **argv)
{
    usage->operands = argv + optind;
    usage->operand_count = argc - optind;
    if (usage->operand_count < usage->operands_min) {
        report_missing(usage);
        return TOOL_USAGE;
    }
    if (usage->operand_count > usage->operands_max) {
        report("too many arguments: `%s` is not expected; usage: sluice %s%s%s",
               usage->operands[usage->operands_max], report_command(),
               usage->arguments[0] != '\0' ? " [OPTION ...] " : " [OPTION ...]", usage->arguments);
        return TOOL_USAGE;
    }
    return OPTIONS_GO_ON;
}

/* Finds --json before the rest is parsed, so that a wrong argument is also answered in JSON. */
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

/* Lists "--seed, --subset": the options with this prefix; returns how many. */
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
        report("--%s is ambiguous: write one of %s", name, beginning);
        return;
    }
    nearest_begin(&nearest, name);
    for (const struct option_row *row = usage->rows; row->name != NULL; row++) {
        nearest_try(&nearest, row->name);
    }
    nearest_try(&nearest, "help");
    nearest_try(&nearest, "help-all");
    nearest_question(&nearest, "--", question, sizeof question);
    report("unknown option --%s%s%s `sluice %s --help-all` %s", name, question, after(question),
           report_command(), list_all);
}

/* Reports what getopt_long does not accept. `optopt` is a letter, or the number of a name that
 * takes no value; 0: an unknown name. */
static void refuse_option(const struct command_usage *usage, const char *given)
{
    if (optopt == 0) {
        refuse_name(usage, given);
    } else if (optopt >= FIRST_LONG || strncmp(given, "--", 2) == 0) {
        const int length = (int)strcspn(given, "=");
        report("%.*s takes no value: write %.*s alone", length, given, length, given);
    } else {
        report("unknown option -%c; `sluice %s --help-all` %s", optopt, report_command(), list_all);
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
    /* The tool has only one thread so far. */
    while ((found = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) { // NOLINT
        if (found == 'h' || found == LONG_HELP_ALL || found == LONG_HELP_TABLE) {
            help_print(usage, found == 'h'             ? HELP_COMMON
                              : found == LONG_HELP_ALL ? HELP_ALL
                                                       : HELP_TABLE);
            return TOOL_FINE;
        }
        if (found == ':') {
            char value[128];
            help_value(find_row(usage, optopt), value, sizeof value);
            report("%s needs a value: %s %s", argv[optind - 1], argv[optind - 1], value);
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
