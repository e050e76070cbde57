/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of one --column, and values by the type of their member. Main thread. */
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

bool column_is_name(const char *text, size_t length)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
    return length > 0 && length < COLUMN_NAME_BYTES && strspn(text, letters) >= length;
}

static bool take_word(const char *name, const char *const *words, const char *text,
                      const struct column_fault *fault, int32_t *number)
{
    for (int32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            *number = i;
            return true;
        }
    }
    char listed[COLUMN_WORDS_BYTES];
    char question[COLUMN_QUESTION_BYTES];
    column_join_words(words, listed, sizeof listed);
    return column_wrong(fault, "%s=%s: expected one of %s%s", name, text, listed,
                        nearest_of(text, words, question, sizeof question));
}

static bool take_count(const char *name, const char *text, uint64_t least, uint64_t most,
                       const struct column_fault *fault, uint64_t *value)
{
    if (!units_parse_count(text, value) || *value < least || *value > most) {
        return column_wrong(fault, "%s=%s: expected a whole number from %llu to %llu", name, text,
                            (unsigned long long)least, (unsigned long long)most);
    }
    return true;
}

/* ---- the tool's own keys ---- */

enum { PIXELS_MAX = 16384 };

/* In the order of enum pipeline. */
static const char *const crop_words[] = {"rrc", "center", "random", "none", NULL};

typedef bool take_own(const char *text, struct column_spec *spec, const struct column_fault *fault);

static bool take_size(const char *text, struct column_spec *spec, const struct column_fault *fault)
{
    return take_count("size", text, 1, PIXELS_MAX, fault, &spec->size);
}

static bool take_padding(const char *text, struct column_spec *spec,
                         const struct column_fault *fault)
{
    return take_count("padding", text, 0, PIXELS_MAX, fault, &spec->padding);
}

static bool take_crop(const char *text, struct column_spec *spec, const struct column_fault *fault)
{
    return take_word("crop", crop_words, text, fault, &spec->crop);
}

static bool take_area(const char *name, const char *text, const struct column_fault *fault,
                      double *value)
{
    if (!units_parse_real(text, value) || !(*value >= 0.0001 && *value <= 1)) {
        return column_wrong(fault, "%s=%s: expected a part of the area, from 0.0001 to 1", name,
                            text);
    }
    return true;
}

static bool take_area_min(const char *text, struct column_spec *spec,
                          const struct column_fault *fault)
{
    return take_area("area-min", text, fault, &spec->area_min);
}

static bool take_area_max(const char *text, struct column_spec *spec,
                          const struct column_fault *fault)
{
    return take_area("area-max", text, fault, &spec->area_max);
}

/* Takes the steps; the text is shorter than its item. */
static bool take_augment(const char *text, struct column_spec *spec,
                         const struct column_fault *fault)
{
    (void)fault;
    memcpy(spec->augment, text, strlen(text) + 1);
    return true;
}

/* Takes "3x32x32". */
static bool take_shape(const char *text, struct column_spec *spec, const struct column_fault *fault)
{
    const char *at = text;
    spec->column.dims = 0;
    for (bool more = true; more;) {
        char side[24];
        uint64_t value = 0;
        const size_t length = strcspn(at, "x");
        const bool fits = length < sizeof side && spec->column.dims < SLUICE_TENSOR_DIMS_MAX;
        if (fits) {
            memcpy(side, at, length);
            side[length] = '\0';
        }
        if (!fits || !units_parse_count(side, &value) || value == 0 || value > INT64_MAX) {
            return column_wrong(fault, "shape=%s: expected up to %d sizes from 1 on, like 3x32x32",
                                text, SLUICE_TENSOR_DIMS_MAX);
        }
        spec->column.shape[spec->column.dims++] = (int64_t)value;
        more = at[length] == 'x';
        at += length + 1;
    }
    return true;
}

/* Takes "1:0:3:2". */
static bool take_mirror(const char *text, struct column_spec *spec,
                        const struct column_fault *fault)
{
    const char *at = text;
    spec->column.mirror_count = 0;
    for (bool more = true; more;) {
        char number[8];
        uint64_t value = 0;
        const size_t length = strcspn(at, ":");
        const bool fits = length < sizeof number && spec->column.mirror_count < COLUMN_MIRROR_MAX;
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
        spec->mirror[spec->column.mirror_count++] = (uint32_t)value;
        more = at[length] == ':';
        at += length + 1;
    }
    return true;
}

struct column_own_key {
    const char *name;
    sluice_column_kind kind; /* of the key */
    take_own *take;
};

static const struct column_own_key own_keys[] = {
    {"size", SLUICE_COLUMN_IMAGE, take_size},
    {"crop", SLUICE_COLUMN_IMAGE, take_crop},
    {"padding", SLUICE_COLUMN_IMAGE, take_padding},
    {"area-min", SLUICE_COLUMN_IMAGE, take_area_min},
    {"area-max", SLUICE_COLUMN_IMAGE, take_area_max},
    {"augment", SLUICE_COLUMN_IMAGE, take_augment},
    {"shape", SLUICE_COLUMN_TENSOR, take_shape},
    {"mirror", SLUICE_COLUMN_POINTS, take_mirror},
};
enum { OWN_KEYS = sizeof own_keys / sizeof *own_keys };

/* ---- members of the library's table ---- */

static bool take_real(const struct column_key *key, const char *text, struct column_spec *spec,
                      const struct column_fault *fault)
{
    const sluice_option *option = &key->option;
    const bool negative = text[0] == '-';
    double value;
    bool fine = units_parse_real(text + negative, &value);
    value = fine && negative ? -value : value;
    fine = fine && value >= (double)option->least && value <= (double)option->most;
    if (!fine) {
        return column_wrong(fault, "%s=%s: expected a number from %lld to %llu", key->name, text,
                            (long long)option->least, (unsigned long long)option->most);
    }
    value = value == 0 && option->zero_is_meant != 0 ? DBL_MIN : value;
    memcpy((char *)&spec->column + option->offset, &value, sizeof value);
    return true;
}

static bool take_flag(const struct column_key *key, const char *text, struct column_spec *spec,
                      const struct column_fault *fault)
{
    const uint32_t value = text[0] == '1';
    if ((text[0] != '0' && text[0] != '1') || text[1] != '\0') {
        return column_wrong(fault, "%s=%s: expected 0 or 1", key->name, text);
    }
    memcpy((char *)&spec->column + key->option.offset, &value, sizeof value);
    return true;
}

static bool take_whole(const struct column_key *key, const char *text, struct column_spec *spec,
                       const struct column_fault *fault)
{
    uint64_t value;
    char digits[24];
    if (!take_count(key->name, text, (uint64_t)key->option.least, key->option.most, fault,
                    &value)) {
        return false;
    }
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    return sluice_option_set(SLUICE_OPTIONS_COLUMN, &spec->column, key->option.name, digits,
                             NULL) == SLUICE_OK;
}

static bool take_signed(const struct column_key *key, const char *text, struct column_spec *spec,
                        const struct column_fault *fault)
{
    return sluice_option_set(SLUICE_OPTIONS_COLUMN, &spec->column, key->option.name, text, NULL) ==
               SLUICE_OK ||
           column_wrong(fault, "%s=%s: expected a whole number from %lld to %llu", key->name, text,
                        (long long)key->option.least, (unsigned long long)key->option.most);
}

/* Takes the name of a field, or of another column. */
static bool take_name_of(const struct column_key *key, const char *text, struct column_spec *spec,
                         const struct column_fault *fault)
{
    if (!column_is_name(text, strlen(text))) {
        const bool field = strcmp(key->option.value, "FIELD") == 0;
        return column_wrong(fault, "%s=%.64s: expected a %s's name, " COLUMN_NAME_LENGTHS,
                            key->name, text, field ? "field" : "column");
    }
    column_spec_set_text(spec, key->option.offset, text);
    return true;
}

/* Returns the word; the option was a flag before, so 1 and 0 stay valid. */
static const char *word_of(const sluice_option *option, const char *text)
{
    if (option->offset != offsetof(sluice_column, relative)) {
        return text;
    }
    return strcmp(text, "1") == 0 ? "relative" : strcmp(text, "0") == 0 ? "pixels" : text;
}

/* Returns the words; images have fewer dtypes than other columns: those of a loader. */
static const char *const *words_of(const sluice_option *option, int kind)
{
    const bool image =
        kind == SLUICE_COLUMN_IMAGE && option->offset == offsetof(sluice_column, dtype);
    return image ? options_library(SLUICE_OPTIONS_LOADER, "dtype").words : option->words;
}

static bool take_word_of(const struct column_key *key, const char *text, struct column_spec *spec,
                         const struct column_fault *fault)
{
    const sluice_option *option = &key->option;
    int32_t number = 0;
    if (!take_word(key->name, words_of(option, spec->column.kind), word_of(option, text), fault,
                   &number)) {
        return false;
    }
    number += (int32_t)option->least;
    memcpy((char *)&spec->column + option->offset, &number, sizeof number);
    return true;
}

static bool take_option(const struct column_key *key, const char *text, struct column_spec *spec,
                        const struct column_fault *fault)
{
    switch ((sluice_option_type)key->option.type) {
    case SLUICE_OPTION_REAL:
        return take_real(key, text, spec, fault);
    case SLUICE_OPTION_FLAG:
        return take_flag(key, text, spec, fault);
    case SLUICE_OPTION_WORD:
        return take_word_of(key, text, spec, fault);
    case SLUICE_OPTION_TEXT:
        return take_name_of(key, text, spec, fault);
    case SLUICE_OPTION_I32:
    case SLUICE_OPTION_I64:
        return take_signed(key, text, spec, fault);
    case SLUICE_OPTION_U32:
    case SLUICE_OPTION_U64:
        break;
    }
    return take_whole(key, text, spec, fault);
}

/* ---- all of them ---- */

/* Returns whether the option is a key; kind and field come before the keys. */
static bool is_key(const sluice_option *option)
{
    return option->offset != offsetof(sluice_column, kind) &&
           option->offset != offsetof(sluice_column, field);
}

/* Returns whether the dtype is fixed: boxes, points and instances have one, regardless of the
 * library's default u8. */
static bool is_fixed(const sluice_option *option, int kind)
{
    return option->offset == offsetof(sluice_column, dtype) &&
           (kind == SLUICE_COLUMN_BOXES || kind == SLUICE_COLUMN_POINTS ||
            kind == SLUICE_COLUMN_INSTANCES);
}

bool column_key_get(uint32_t number, int kind, struct column_key *key)
{
    *key = (struct column_key){.option = SLUICE_OPTION_INIT};
    if (number < OWN_KEYS) {
        key->own = &own_keys[number];
        key->is_taken = (int)key->own->kind == kind;
        snprintf(key->name, sizeof key->name, "%s", key->own->name);
        return true;
    }
    sluice_option *option = &key->option;
    if (number >= COLUMN_KEYS_MAX ||
        sluice_option_get(SLUICE_OPTIONS_COLUMN, number - OWN_KEYS, option) != SLUICE_OK) {
        return false;
    }
    key->is_taken = is_key(option) && !is_fixed(option, kind) &&
                    (option->kinds == 0 || (option->kinds & (UINT32_C(1) << kind)) != 0);
    snprintf(key->name, sizeof key->name, "%s",
             option->keyword != NULL ? option->keyword : option->name);
    for (char *at = key->name; (at = strchr(at, '_')) != NULL;) {
        *at = '-';
    }
    return true;
}

bool column_value_take(const struct column_key *key, const char *value, struct column_spec *spec,
                       const struct column_fault *fault)
{
    return key->own != NULL ? key->own->take(value, spec, fault)
                            : take_option(key, value, spec, fault);
}
