/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options by their rows: a member of any width is loaded as one 64-bit value, checked against its
 * row, and stored. The same check serves a struct and a value given as text, so that both accept
 * the same values. No state; any thread.
 */
#include "options.h"

#include "error.h"
#include "number_text.h"
#include "options_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As text; a message has space for them in full. */
enum { NUMBER_BYTES = 32, RANGE_BYTES = 192 };

static const sl_options_table *const tables[] = {
    [SLUICE_OPTIONS_LOADER] = &sl_loader_table,   [SLUICE_OPTIONS_COLUMN] = &sl_column_table,
    [SLUICE_OPTIONS_DATASET] = &sl_dataset_table, [SLUICE_OPTIONS_WRITER] = &sl_writer_table,
    [SLUICE_OPTIONS_PACK] = &sl_pack_table,       [SLUICE_OPTIONS_UNPACK] = &sl_unpack_table,
    [SLUICE_OPTIONS_VERIFY] = &sl_verify_table,   [SLUICE_OPTIONS_REMOTE] = &sl_remote_table,
};

const sluice_option *sl_option_at(sluice_options of, uint32_t index)
{
    if ((uint32_t)of > SLUICE_OPTIONS_REMOTE || index >= tables[of]->count) {
        return NULL;
    }
    return &tables[of]->rows[index];
}

const sluice_option *sl_option_find(sluice_options of, const char *name)
{
    const sluice_option *option;
    for (uint32_t i = 0; (option = sl_option_at(of, i)) != NULL; i++) {
        if (strcmp(option->name, name) == 0) {
            return option;
        }
    }
    return NULL;
}

static size_t options_width_of(const sluice_option *option)
{
    switch ((sluice_option_type)option->type) {
    case SLUICE_OPTION_U64:
    case SLUICE_OPTION_I64:
    case SLUICE_OPTION_REAL:
        return sizeof(uint64_t);
    case SLUICE_OPTION_TEXT:
        return sizeof(const char *);
    case SLUICE_OPTION_U32:
    case SLUICE_OPTION_I32:
    case SLUICE_OPTION_FLAG:
    case SLUICE_OPTION_WORD:
        break;
    }
    return sizeof(uint32_t);
}

static bool is_signed(const sluice_option *option)
{
    return option->type == SLUICE_OPTION_I32 || option->type == SLUICE_OPTION_I64 ||
           option->type == SLUICE_OPTION_WORD;
}

bool sl_option_is_zero(const sluice_option *option, const void *options)
{
    static const char zero[sizeof(uint64_t)];
    return memcmp((const char *)options + option->offset, zero, options_width_of(option)) == 0;
}

void sl_options_copy_numbers(sluice_options of, void *to, const void *from, size_t bytes)
{
    const sluice_option *option;
    memset(to, 0, bytes);
    for (uint32_t i = 0; (option = sl_option_at(of, i)) != NULL; i++) {
        if (option->type != SLUICE_OPTION_TEXT) {
            memcpy((char *)to + option->offset, (const char *)from + option->offset,
                   options_width_of(option));
        }
    }
}

/* ---- a value, whatever its width: in `whole`, two's complement, or in `real` ---- */

typedef struct option_value {
    uint64_t whole;
    double real;
} option_value;

static option_value load_value(const sluice_option *option, const void *options)
{
    const char *at = (const char *)options + option->offset;
    option_value value = {0, 0};
    if (option->type == SLUICE_OPTION_REAL) {
        memcpy(&value.real, at, sizeof(value.real));
    } else if (options_width_of(option) == sizeof(uint64_t)) {
        memcpy(&value.whole, at, sizeof(value.whole));
    } else {
        uint32_t narrow;
        memcpy(&narrow, at, sizeof(narrow));
        value.whole = is_signed(option) ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
    }
    return value;
}

static void store_value(const sluice_option *option, void *options, option_value value)
{
    char *at = (char *)options + option->offset;
    const uint32_t narrow = (uint32_t)value.whole;
    if (option->type == SLUICE_OPTION_REAL) {
        memcpy(at, &value.real, sizeof(value.real));
    } else if (options_width_of(option) == sizeof(uint64_t)) {
        memcpy(at, &value.whole, sizeof(value.whole));
    } else {
        memcpy(at, &narrow, sizeof(narrow));
    }
}

static bool options_in_range(const sluice_option *option, option_value value)
{
    if (option->type == SLUICE_OPTION_REAL) { /* which a NaN is not */
        return value.real == 0 ||
               (value.real >= (double)option->least && value.real <= (double)option->most);
    }
    if (value.whole == 0) {
        return true;
    }
    if (is_signed(option)) {
        return (int64_t)value.whole >= option->least &&
               (int64_t)value.whole <= (int64_t)option->most;
    }
    return value.whole >= (uint64_t)option->least && value.whole <= option->most;
}

/* "1..64", "0..2 (fail, skip, skip-all)" */
static const char *range_text(const sluice_option *option, char text[RANGE_BYTES])
{
    int length = snprintf(text, RANGE_BYTES, "%" PRId64 "..%" PRIu64, option->least, option->most);
    for (size_t i = 0; option->words != NULL && option->words[i] != NULL; i++) {
        const size_t at = (size_t)length < RANGE_BYTES ? (size_t)length : RANGE_BYTES;
        length += snprintf(text + at, RANGE_BYTES - at, "%s%s%s", i > 0 ? ", " : " (",
                           option->words[i], option->words[i + 1] == NULL ? ")" : "");
    }
    return text;
}

static const char *value_text(const sluice_option *option, option_value value,
                              char text[NUMBER_BYTES])
{
    if (option->type == SLUICE_OPTION_REAL) {
        snprintf(text, NUMBER_BYTES, "%g", value.real);
    } else if (is_signed(option)) {
        snprintf(text, NUMBER_BYTES, "%" PRId64, (int64_t)value.whole);
    } else {
        snprintf(text, NUMBER_BYTES, "%" PRIu64, value.whole);
    }
    return text;
}

static sluice_status options_refuse_value(const sluice_option *option, option_value value,
                                          const char *stage, sluice_error *error)
{
    char number[NUMBER_BYTES];
    char range[RANGE_BYTES];
    return sl_error_set(error, SLUICE_INVALID, stage,
                        "option " SL_OPTION("%s") " is out of range: %s, expected %s", option->name,
                        value_text(option, value, number), range_text(option, range));
}

sluice_status sl_options_check(sluice_options of, const void *options, const char *stage,
                               sluice_error *error)
{
    const sluice_option *option;
    for (uint32_t i = 0; (option = sl_option_at(of, i)) != NULL; i++) {
        if (option->type == SLUICE_OPTION_TEXT) {
            continue;
        }
        const option_value value = load_value(option, options);
        if (!options_in_range(option, value)) {
            return options_refuse_value(option, value, stage, error);
        }
    }
    return SLUICE_OK;
}

/* ---- from text ---- */

/* Returns whether all of `text` is a value. `value` is zero before. */
static bool options_read_value(const sluice_option *option, const char *text, option_value *value)
{
    char *end = NULL;
    errno = 0;
    if (option->type == SLUICE_OPTION_FLAG && strcmp(text, "true") == 0) {
        value->whole = 1;
        return true;
    }
    if (option->type == SLUICE_OPTION_FLAG && strcmp(text, "false") == 0) {
        return true;
    }
    if (option->type == SLUICE_OPTION_REAL) {
        value->real = sl_read_double(text, &end);
        return end != text && *end == '\0';
    }
    const bool below = is_signed(option) && *text == '-';
    if (text[below] < '0' || text[below] > '9') { /* neither blanks nor a plus sign */
        return false;
    }
    value->whole = below ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
    const bool passes = is_signed(option) && !below && value->whole > INT64_MAX;
    return *end == '\0' && errno == 0 && !passes;
}

static bool read_word(const sluice_option *option, const char *text, option_value *value)
{
    for (size_t i = 0; option->words[i] != NULL; i++) {
        if (strcmp(option->words[i], text) == 0) {
            *value = (option_value){(uint64_t)option->least + i, 0};
            return true;
        }
    }
    return false;
}

static void mark_given(const sluice_option *option, void *options)
{
    char *at = (char *)options + option->given_offset;
    uint32_t given;
    if (option->given_bit != 0) {
        memcpy(&given, at, sizeof(given));
        given |= option->given_bit;
        memcpy(at, &given, sizeof(given));
    }
}

sluice_status sl_option_set(sluice_options of, void *options, size_t bytes, const char *name,
                            const char *text, sluice_error *error)
{
    char range[RANGE_BYTES];
    option_value value = {0, 0};
    const sluice_option *option = sl_option_find(of, name);
    if (option == NULL) {
        return sl_error_set(error, SLUICE_INVALID, "api", "unknown option \"%s\"", name);
    }
    if (option->offset + options_width_of(option) > bytes ||
        (option->given_bit != 0 && option->given_offset + sizeof(uint32_t) > bytes)) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "api",
                            "option " SL_OPTION("%s") " is newer than the program", option->name);
    }
    if (option->type == SLUICE_OPTION_TEXT) {
        memcpy((char *)options + option->offset, &text, sizeof(text));
        return SLUICE_OK;
    }
    if (!(option->words != NULL
              ? read_word(option, text, &value)
              : options_read_value(option, text, &value) && options_in_range(option, value))) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "option " SL_OPTION("%s") " is out of range: %s, expected %s",
                            option->name, text, range_text(option, range));
    }
    store_value(option, options, value);
    mark_given(option, options);
    return SLUICE_OK;
}
