/* SPDX-License-Identifier: Apache-2.0 */
/* Values of one --column, each by its kind. Main thread; texts point into the argument. */
#include "column_values.h"

#include "nearest.h"
#include "options.h"
#include "units.h"

#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool column_wrong(const struct column_fault *fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->text, fault->bytes, format, arguments); // NOLINT: va_start stands above
    va_end(arguments);
    return false;
}

sluice_option column_member(sluice_options of, const char *key)
{
    char name[32];
    snprintf(name, sizeof name, "%s", strcmp(key, "format") == 0 ? "box_format" : key);
    for (char *at = name; (at = strchr(at, '-')) != NULL;) {
        *at = '_';
    }
    return options_library(of, name);
}

/* Pictures have fewer dtypes than other columns. */
static const char *const *words_of(const struct column_key *key, int kind)
{
    if (key->words != NULL) {
        return key->words;
    }
    const bool pictures = kind == SLUICE_COLUMN_IMAGE && strcmp(key->name, "dtype") == 0;
    return column_member(pictures ? SLUICE_OPTIONS_LOADER : SLUICE_OPTIONS_COLUMN, key->name).words;
}

void column_join_words(const char *const *words, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; words[i] != NULL && length < bytes; i++) {
        const int more =
            snprintf(text + length, bytes - length, "%s%s", i > 0 ? ", " : "", words[i]);
        length += more > 0 ? (size_t)more : 0;
    }
}

static bool take_count(const struct column_key *key, const char *text, struct column_spec *spec,
                       const struct column_fault *fault)
{
    uint64_t value;
    if (!units_parse_count(text, &value) || value < key->min || value > key->max) {
        return column_wrong(fault, "%s=%s: expected a whole number from %llu to %llu", key->name,
                            text, (unsigned long long)key->min, (unsigned long long)key->max);
    }
    memcpy((char *)spec + key->offset, &value, sizeof value);
    return true;
}

static bool take_area(const struct column_key *key, const char *text, struct column_spec *spec,
                      const struct column_fault *fault)
{
    double value;
    if (!units_parse_real(text, &value) || !(value >= 0.0001 && value <= 1)) {
        return column_wrong(fault, "%s=%s: expected a part of the area, from 0.0001 to 1",
                            key->name, text);
    }
    memcpy((char *)spec + key->offset, &value, sizeof value);
    return true;
}

static bool take_part(const struct column_key *key, const char *text, struct column_spec *spec,
                      const struct column_fault *fault)
{
    double value;
    if (!units_parse_real(text, &value) || !(value >= 0 && value <= 1)) {
        return column_wrong(fault, "%s=%s: expected a number from 0 to 1", key->name, text);
    }
    memcpy((char *)spec + key->offset, &value, sizeof value);
    return true;
}

bool column_is_name(const char *text, size_t length)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
    return length > 0 && length < COLUMN_NAME_BYTES && strspn(text, letters) >= length;
}

/* Of another column, or a field. */
static bool take_other(const struct column_key *key, const char *text, struct column_spec *spec,
                       const struct column_fault *fault)
{
    const size_t length = strlen(text);
    if (!column_is_name(text, length)) {
        return column_wrong(fault, "%s=%.64s: expected a %s's name, " COLUMN_NAME_LENGTHS,
                            key->name, text, key->value == COLUMN_VALUE_FIELD ? "field" : "column");
    }
    memcpy((char *)spec + key->offset, text, length + 1);
    return true;
}

static bool take_word(const struct column_key *key, const char *const *words, const char *text,
                      void *member, const struct column_fault *fault)
{
    for (int32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            memcpy(member, &i, sizeof i);
            return true;
        }
    }
    char listed[COLUMN_WORDS_BYTES];
    char question[COLUMN_QUESTION_BYTES];
    column_join_words(words, listed, sizeof listed);
    return column_wrong(fault, "%s=%s: expected one of %s%s", key->name, text, listed,
                        nearest_of(text, words, question, sizeof question));
}

/* "3x32x32" */
static bool take_shape(const char *text, struct column_spec *spec, const struct column_fault *fault)
{
    const char *at = text;
    spec->dims = 0;
    for (bool more = true; more;) {
        char side[24];
        uint64_t value = 0;
        const size_t length = strcspn(at, "x");
        const bool fits = length < sizeof side && spec->dims < SLUICE_TENSOR_DIMS_MAX;
        if (fits) {
            memcpy(side, at, length);
            side[length] = '\0';
        }
        if (!fits || !units_parse_count(side, &value) || value == 0 || value > INT64_MAX) {
            return column_wrong(fault, "shape=%s: expected up to %d sizes from 1 on, like 3x32x32",
                                text, SLUICE_TENSOR_DIMS_MAX);
        }
        spec->shape[spec->dims++] = (int64_t)value;
        more = at[length] == 'x';
        at += length + 1;
    }
    return true;
}

/* "1:0:3:2" */
static bool take_mirror(const char *text, struct column_spec *spec,
                        const struct column_fault *fault)
{
    const char *at = text;
    spec->mirror_count = 0;
    for (bool more = true; more;) {
        char number[8];
        uint64_t value = 0;
        const size_t length = strcspn(at, ":");
        const bool fits = length < sizeof number && spec->mirror_count < COLUMN_MIRROR_MAX;
        if (fits) {
            memcpy(number, at, length);
            number[length] = '\0';
        }
        if (!fits || !units_parse_count(number, &value) || value >= COLUMN_MIRROR_MAX) {
            return column_wrong(fault,
                                "mirror=%.64s: expected for each point of a row the number of the "
                                "one that takes its place, from 0 to %d, like 0:2:1",
                                text, COLUMN_MIRROR_MAX - 1);
        }
        spec->mirror[spec->mirror_count++] = (uint32_t)value;
        more = at[length] == ':';
        at += length + 1;
    }
    return true;
}

/* ---- values of what follows a picture, by the library's table ---- */

static bool take_real(const struct column_key *key, const sluice_option *option, const char *text,
                      void *member, const struct column_fault *fault)
{
    const bool negative = text[0] == '-';
    double value;
    bool fine = units_parse_real(text + negative, &value);
    value = fine && negative ? -value : value;
    fine = fine && value >= (double)option->least && value <= (double)option->most;
    if (!fine) {
        return column_wrong(fault, "%s=%s: expected a number from %lld to %llu", key->name, text,
                            (long long)option->least, (unsigned long long)option->most);
    }
    /* 0 is meant here, and not the library's default. */
    const bool bound = strncmp(key->name, "min-", 4) == 0 || strcmp(key->name, "ignore") == 0;
    value = value == 0 && bound ? DBL_MIN : value;
    memcpy(member, &value, sizeof value);
    return true;
}

static bool take_whole(const struct column_key *key, const sluice_option *option, const char *text,
                       void *member, const struct column_fault *fault)
{
    const bool flag = option->type == SLUICE_OPTION_FLAG;
    const int64_t least = flag ? 0 : option->least;
    const uint64_t most = flag ? 1 : option->most;
    uint64_t value;
    if (!units_parse_count(text, &value) || value < (uint64_t)least || value > most) {
        return column_wrong(fault,
                            flag ? "%s=%s: expected %lld or %llu"
                                 : "%s=%s: expected a whole number from %lld to %llu",
                            key->name, text, (long long)least, (unsigned long long)most);
    }
    const uint32_t whole = (uint32_t)value;
    memcpy(member, &whole, sizeof whole);
    return true;
}

/* What was a flag before it was a word: 1 and 0 stay. */
static const char *coordinates_of(const struct column_key *key, const char *text)
{
    if (strcmp(key->name, "relative") != 0) {
        return text;
    }
    return strcmp(text, "1") == 0 ? "relative" : strcmp(text, "0") == 0 ? "pixels" : text;
}

static bool take_follower(const struct column_key *key, const char *text, struct column_spec *spec,
                          const struct column_fault *fault)
{
    const sluice_option option = column_member(SLUICE_OPTIONS_COLUMN, key->name);
    void *member = (char *)&spec->follower + option.offset;
    switch ((sluice_option_type)option.type) {
    case SLUICE_OPTION_REAL:
        return take_real(key, &option, text, member, fault);
    case SLUICE_OPTION_WORD:
        return take_word(key, option.words, coordinates_of(key, text), member, fault);
    default:
        return take_whole(key, &option, text, member, fault);
    }
}

/* ---- all of them ---- */

bool column_value_take(const struct column_key *key, const char *value, struct column_spec *spec,
                       const struct column_fault *fault)
{
    switch (key->value) {
    case COLUMN_VALUE_COUNT:
        return take_count(key, value, spec, fault);
    case COLUMN_VALUE_AREA:
        return take_area(key, value, spec, fault);
    case COLUMN_VALUE_PART:
        return take_part(key, value, spec, fault);
    case COLUMN_VALUE_NAME:
    case COLUMN_VALUE_FIELD:
        return take_other(key, value, spec, fault);
    case COLUMN_VALUE_WORD:
        return take_word(key, words_of(key, spec->kind), value, (char *)spec + key->offset, fault);
    case COLUMN_VALUE_SHAPE:
        return take_shape(value, spec, fault);
    case COLUMN_VALUE_MIRROR:
        return take_mirror(value, spec, fault);
    case COLUMN_VALUE_FOLLOWER:
        return take_follower(key, value, spec, fault);
    case COLUMN_VALUE_TEXT: /* shorter than its item */
        memcpy((char *)spec + key->offset, value, strlen(value) + 1);
        return true;
    }
    return false;
}
