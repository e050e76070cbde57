/* SPDX-License-Identifier: Apache-2.0 */
#include "library_rows.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

sluice_option options_library(sluice_options of, const char *name)
{
    sluice_option option = SLUICE_OPTION_INIT;
    for (uint32_t i = 0; sluice_option_get(of, i, &option) == SLUICE_OK; i++) {
        if (strcmp(option.name, name) == 0) {
            return option;
        }
    }
    assert(false);
    return option;
}

static enum option_kind kind_of(const sluice_option *option)
{
    switch ((sluice_option_type)option->type) {
    case SLUICE_OPTION_FLAG:
        return OPTION_FLAG;
    case SLUICE_OPTION_WORD:
        return OPTION_CHOICE;
    case SLUICE_OPTION_TEXT:
        return OPTION_TEXT;
    case SLUICE_OPTION_REAL:
        return OPTION_REAL;
    default:
        break;
    }
    return option->unit == SLUICE_UNIT_BYTES         ? OPTION_BYTES
           : option->unit == SLUICE_UNIT_NANOSECONDS ? OPTION_DURATION
                                                     : OPTION_COUNT;
}

/* Returns the row completed from the library's description of the option. */
static struct option_row describe(const struct option_row *row, const sluice_option *option)
{
    const double unit = option->unit == SLUICE_UNIT_NANOSECONDS ? 1e-9 : 1;
    struct option_row made = *row;
    made.name = option->flag + strlen("--");
    made.kind = kind_of(option);
    made.member = option->name;
    made.min = (uint64_t)option->least;
    made.max = option->most;
    made.low = (double)option->least * unit;
    made.high = (double)option->most * unit;
    made.choices = option->words;
    made.metavar = row->metavar != NULL ? row->metavar : option->value;
    made.help = row->help != NULL ? row->help : option->help;
    return made;
}

static bool has_row(const struct option_row *rows, const char *name)
{
    while (rows->name != NULL && strcmp(rows->name, name) != 0) {
        rows++;
    }
    return rows->name != NULL;
}

/* Appends rows after `*count` rows: the option of `row`, or, if it has no name, all options
 * missing in `rows`. */
static void add_library_rows(struct option_row *to, size_t *count, const struct option_row *rows,
                             const struct option_row *row)
{
    sluice_option option = SLUICE_OPTION_INIT;
    for (uint32_t i = 0; sluice_option_get(row->of, i, &option) == SLUICE_OK; i++) {
        const char *name = option.flag != NULL ? option.flag + strlen("--") : NULL;
        if (name != NULL &&
            (*row->name != '\0' ? strcmp(name, row->name) == 0 : !has_row(rows, name))) {
            assert(*count < LIBRARY_ROWS_MAX);
            to[(*count)++] = describe(row, &option);
        }
    }
}

const struct option_row *library_rows(const struct option_row *rows)
{
    static struct option_row all[LIBRARY_ROWS_MAX + 1];
    size_t count = 0;
    const char *group = "Options";
    for (const struct option_row *row = rows; row->name != NULL; row++) {
        const size_t before = count;
        if (row->kind == OPTION_HEADING) {
            group = row->name;
        } else if (row->kind == OPTION_LIBRARY) {
            add_library_rows(all, &count, rows, row);
        } else {
            assert(count < LIBRARY_ROWS_MAX);
            all[count++] = *row;
        }
        for (size_t i = before; i < count; i++) {
            all[i].group = group;
        }
    }
    all[count] = (struct option_row){.name = NULL};
    return all;
}
