/* SPDX-License-Identifier: Apache-2.0 */
/* A parser of one --column, item by item. Main thread; texts point into the argument. */
#include "column_spec.h"

#include "nearest.h"
#include "options.h"
#include "units.h"

#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ITEM_BYTES = COLUMN_STEPS_BYTES, WORDS_BYTES = 256, QUESTION_BYTES = 80 };

/* In the order of enum pipeline; all other words are the library's. */
static const char *const crop_words[] = {"rrc", "center", "random", NULL};

enum value {
    VALUE_COUNT,
    VALUE_AREA,
    VALUE_PART,
    VALUE_WORD,
    VALUE_SHAPE,
    VALUE_NAME,  /* of another column */
    VALUE_FIELD, /* the name of one */
    VALUE_TEXT,
    VALUE_MIRROR,
    VALUE_FOLLOWER /* a member of `follower` */
};

struct key {
    const char *name;
    uint32_t kinds; /* that take it, as bits; 0: as the library says */
    enum value value;
    size_t offset;            /* of its member; of a follower's the library knows it */
    uint64_t min, max;        /* COUNT */
    const char *const *words; /* WORD; NULL: the library's of this name */
};

#define BIT(kind) (1U << SLUICE_COLUMN_##kind)
#define ELEMENTS \
    (BIT(NUMBER) | BIT(TENSOR) | BIT(WINDOW) | BIT(RAGGED) | BIT(PADDED) | BIT(ONE_HOT))
#define LENGTHS        (BIT(RAGGED) | BIT(PADDED) | BIT(BOXES) | BIT(POINTS) | BIT(INSTANCES))
#define MEMBER(member) offsetof(struct column_spec, member)
#define FOLLOWER(name)                         \
    {                                          \
        name, 0, VALUE_FOLLOWER, 0, 0, 0, NULL \
    }

static const struct key keys[] = {
    {"size", BIT(IMAGE), VALUE_COUNT, MEMBER(size), 1, 16384, NULL},
    {"crop", BIT(IMAGE), VALUE_WORD, MEMBER(crop), 0, 0, crop_words},
    {"padding", BIT(IMAGE), VALUE_COUNT, MEMBER(padding), 0, 16384, NULL},
    {"area-min", BIT(IMAGE), VALUE_AREA, MEMBER(area_min), 0, 0, NULL},
    {"area-max", BIT(IMAGE), VALUE_AREA, MEMBER(area_max), 0, 0, NULL},
    {"augment", BIT(IMAGE), VALUE_TEXT, MEMBER(augment), 0, 0, NULL},
    {"shape", BIT(TENSOR), VALUE_SHAPE, MEMBER(shape), 0, 0, NULL},
    {"part", BIT(TENSOR), VALUE_WORD, MEMBER(part), 0, 0, NULL},
    {"length", BIT(WINDOW) | BIT(ONE_HOT) | LENGTHS, VALUE_COUNT, MEMBER(length), 1,
     UINT64_C(1) << 40, NULL},
    {"stride", BIT(WINDOW), VALUE_COUNT, MEMBER(stride), 1, UINT64_C(1) << 40, NULL},
    {"offset", BIT(WINDOW), VALUE_COUNT, MEMBER(offset), 0, UINT64_C(1) << 40, NULL},
    {"too-long", LENGTHS, VALUE_WORD, MEMBER(too_long), 0, 0, NULL},
    {"mixes", BIT(ONE_HOT), VALUE_NAME, MEMBER(mixes), 0, 0, NULL},
    {"smoothing", BIT(ONE_HOT), VALUE_PART, MEMBER(smoothing), 0, 0, NULL},
    {"follows", 0, VALUE_NAME, MEMBER(follows), 0, 0, NULL},
    FOLLOWER("format"),
    FOLLOWER("out-format"),
    FOLLOWER("relative"),
    FOLLOWER("out-relative"),
    FOLLOWER("padded"),
    FOLLOWER("at-least-one"),
    FOLLOWER("min-size"),
    FOLLOWER("min-area"),
    FOLLOWER("min-visibility"),
    FOLLOWER("max-aspect"),
    {"shapes", BIT(BOXES), VALUE_FIELD, MEMBER(shapes), 0, 0, NULL},
    FOLLOWER("point-values"),
    {"mirror", BIT(POINTS), VALUE_MIRROR, 0, 0, 0, NULL},
    FOLLOWER("fill"),
    FOLLOWER("interpolation"),
    FOLLOWER("channels"),
    {"labels", BIT(MASK), VALUE_FIELD, MEMBER(labels), 0, 0, NULL},
    {"crowds", BIT(MASK), VALUE_FIELD, MEMBER(crowds), 0, 0, NULL},
    FOLLOWER("background"),
    FOLLOWER("ignore"),
    FOLLOWER("overlap"),
    {"dtype", BIT(IMAGE) | BIT(MASK) | ELEMENTS, VALUE_WORD, MEMBER(dtype), 0, 0, NULL},
    {"layout", BIT(IMAGE), VALUE_WORD, MEMBER(layout), 0, 0, NULL},
    {"missing", BIT(IMAGE) | BIT(MASK) | BIT(BOXES) | BIT(POINTS) | BIT(INSTANCES) | ELEMENTS,
     VALUE_WORD, MEMBER(missing), 0, 0, NULL},
};
enum { KEYS = sizeof keys / sizeof *keys };
_Static_assert(KEYS <= 64, "those that were given are the bits of a number");

/* Where the sentence goes. */
struct fault {
    char *text;
    size_t bytes;
};

static bool wrong(const struct fault *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool wrong(const struct fault *fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->text, fault->bytes, format, arguments); // NOLINT: va_start stands above
    va_end(arguments);
    return false;
}

static const char *const *kind_words(void)
{
    return options_library(SLUICE_OPTIONS_COLUMN, "kind").words;
}

/* The library's member that a key is for. */
static sluice_option member_of(sluice_options of, const char *key)
{
    char name[32];
    snprintf(name, sizeof name, "%s", strcmp(key, "format") == 0 ? "box_format" : key);
    for (char *at = name; (at = strchr(at, '-')) != NULL;) {
        *at = '_';
    }
    return options_library(of, name);
}

/* Pictures have fewer dtypes than other columns. */
static const char *const *words_of(const struct key *key, int kind)
{
    if (key->words != NULL) {
        return key->words;
    }
    const bool pictures = kind == SLUICE_COLUMN_IMAGE && strcmp(key->name, "dtype") == 0;
    return member_of(pictures ? SLUICE_OPTIONS_LOADER : SLUICE_OPTIONS_COLUMN, key->name).words;
}

static bool is_taken(const struct key *key, int kind)
{
    const uint32_t kinds =
        key->kinds != 0 ? key->kinds : member_of(SLUICE_OPTIONS_COLUMN, key->name).kinds;
    return (kinds & (1U << kind)) != 0;
}

const char *column_kind_name(int kind)
{
    return kind >= SLUICE_COLUMN_IMAGE && kind <= SLUICE_COLUMN_INSTANCES
               ? kind_words()[kind - SLUICE_COLUMN_IMAGE]
               : "unknown";
}

void column_spec_clear(struct column_spec *spec)
{
    *spec = (struct column_spec){.crop = COLUMN_WORD_NONE,
                                 .dtype = COLUMN_WORD_NONE,
                                 .layout = COLUMN_WORD_NONE,
                                 .part = COLUMN_WORD_NONE,
                                 .too_long = COLUMN_WORD_NONE,
                                 .missing = COLUMN_WORD_NONE,
                                 .size = COLUMN_COUNT_NONE,
                                 .padding = COLUMN_COUNT_NONE,
                                 .length = COLUMN_COUNT_NONE,
                                 .stride = COLUMN_COUNT_NONE,
                                 .offset = COLUMN_COUNT_NONE,
                                 .follower = SLUICE_COLUMN_INIT};
}

/* ---- values ---- */

/* "a, b, c" of words that end with NULL. */
static void join(const char *const *words, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; words[i] != NULL && length < bytes; i++) {
        const int more =
            snprintf(text + length, bytes - length, "%s%s", i > 0 ? ", " : "", words[i]);
        length += more > 0 ? (size_t)more : 0;
    }
}

static bool take_count(const struct key *key, const char *text, struct column_spec *spec,
                       const struct fault *fault)
{
    uint64_t value;
    if (!units_parse_count(text, &value) || value < key->min || value > key->max) {
        return wrong(fault, "%s=%s: expected a whole number from %llu to %llu", key->name, text,
                     (unsigned long long)key->min, (unsigned long long)key->max);
    }
    memcpy((char *)spec + key->offset, &value, sizeof value);
    return true;
}

static bool take_area(const struct key *key, const char *text, struct column_spec *spec,
                      const struct fault *fault)
{
    double value;
    if (!units_parse_real(text, &value) || !(value >= 0.0001 && value <= 1)) {
        return wrong(fault, "%s=%s: expected a part of the area, from 0.0001 to 1", key->name,
                     text);
    }
    memcpy((char *)spec + key->offset, &value, sizeof value);
    return true;
}

static bool take_part(const struct key *key, const char *text, struct column_spec *spec,
                      const struct fault *fault)
{
    double value;
    if (!units_parse_real(text, &value) || !(value >= 0 && value <= 1)) {
        return wrong(fault, "%s=%s: expected a number from 0 to 1", key->name, text);
    }
    memcpy((char *)spec + key->offset, &value, sizeof value);
    return true;
}

#define NAME_LENGTHS "1 to 31 letters, digits, _, -, . or /"

static bool is_name(const char *text, size_t length)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
    return length > 0 && length < COLUMN_NAME_BYTES && strspn(text, letters) >= length;
}

/* Of another column, or a field. */
static bool take_other(const struct key *key, const char *text, struct column_spec *spec,
                       const struct fault *fault)
{
    const size_t length = strlen(text);
    if (!is_name(text, length)) {
        return wrong(fault, "%s=%.64s: expected a %s's name, " NAME_LENGTHS, key->name, text,
                     key->value == VALUE_FIELD ? "field" : "column");
    }
    memcpy((char *)spec + key->offset, text, length + 1);
    return true;
}

static bool take_word(const struct key *key, const char *const *words, const char *text,
                      void *member, const struct fault *fault)
{
    for (int32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            memcpy(member, &i, sizeof i);
            return true;
        }
    }
    char listed[WORDS_BYTES];
    char question[QUESTION_BYTES];
    join(words, listed, sizeof listed);
    return wrong(fault, "%s=%s: expected one of %s%s", key->name, text, listed,
                 nearest_of(text, words, question, sizeof question));
}

/* "3x32x32" */
static bool take_shape(const char *text, struct column_spec *spec, const struct fault *fault)
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
            return wrong(fault, "shape=%s: expected up to %d sizes from 1 on, like 3x32x32", text,
                         SLUICE_TENSOR_DIMS_MAX);
        }
        spec->shape[spec->dims++] = (int64_t)value;
        more = at[length] == 'x';
        at += length + 1;
    }
    return true;
}

/* "1:0:3:2" */
static bool take_mirror(const char *text, struct column_spec *spec, const struct fault *fault)
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
            return wrong(fault,
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

static bool take_real(const struct key *key, const sluice_option *option, const char *text,
                      void *member, const struct fault *fault)
{
    const bool negative = text[0] == '-';
    double value;
    bool fine = units_parse_real(text + negative, &value);
    value = fine && negative ? -value : value;
    fine = fine && value >= (double)option->least && value <= (double)option->most;
    if (!fine) {
        return wrong(fault, "%s=%s: expected a number from %lld to %llu", key->name, text,
                     (long long)option->least, (unsigned long long)option->most);
    }
    /* 0 is meant here, and not the library's default. */
    const bool bound = strncmp(key->name, "min-", 4) == 0 || strcmp(key->name, "ignore") == 0;
    value = value == 0 && bound ? DBL_MIN : value;
    memcpy(member, &value, sizeof value);
    return true;
}

static bool take_whole(const struct key *key, const sluice_option *option, const char *text,
                       void *member, const struct fault *fault)
{
    const bool flag = option->type == SLUICE_OPTION_FLAG;
    const int64_t least = flag ? 0 : option->least;
    const uint64_t most = flag ? 1 : option->most;
    uint64_t value;
    if (!units_parse_count(text, &value) || value < (uint64_t)least || value > most) {
        return wrong(fault,
                     flag ? "%s=%s: expected %lld or %llu"
                          : "%s=%s: expected a whole number from %lld to %llu",
                     key->name, text, (long long)least, (unsigned long long)most);
    }
    const uint32_t whole = (uint32_t)value;
    memcpy(member, &whole, sizeof whole);
    return true;
}

static bool take_follower(const struct key *key, const char *text, struct column_spec *spec,
                          const struct fault *fault)
{
    const sluice_option option = member_of(SLUICE_OPTIONS_COLUMN, key->name);
    void *member = (char *)&spec->follower + option.offset;
    switch ((sluice_option_type)option.type) {
    case SLUICE_OPTION_REAL:
        return take_real(key, &option, text, member, fault);
    case SLUICE_OPTION_WORD:
        return take_word(key, option.words, text, member, fault);
    default:
        return take_whole(key, &option, text, member, fault);
    }
}

/* ---- keys ---- */

static bool refuse_key(const char *name, const struct column_spec *spec, const struct fault *fault)
{
    const char *taken[KEYS + 1];
    size_t count = 0;
    for (size_t i = 0; i < KEYS; i++) {
        if (is_taken(&keys[i], spec->kind)) {
            taken[count++] = keys[i].name;
        }
    }
    taken[count] = NULL;
    char words[WORDS_BYTES];
    char question[QUESTION_BYTES];
    join(taken, words, sizeof words);
    return wrong(fault, "a column of kind %s takes no \"%s\"; it takes %s%s",
                 column_kind_name(spec->kind), name, words,
                 nearest_of(name, taken, question, sizeof question));
}

/* KEYS: there is none of that name for the kind. */
static size_t find_key(const char *name, int kind)
{
    for (size_t i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].name, name) == 0 && is_taken(&keys[i], kind)) {
            return i;
        }
    }
    return KEYS;
}

/* Takes "KEY=VALUE"; `*given` has a bit for each key so far. */
static bool take_item(char *item, struct column_spec *spec, uint64_t *given,
                      const struct fault *fault)
{
    char *equals = strchr(item, '=');
    if (equals == NULL || equals == item || equals[1] == '\0') {
        return wrong(fault, "\"%s\": expected KEY=VALUE", item);
    }
    *equals = '\0';
    const char *value = equals + 1;
    const size_t number = find_key(item, spec->kind);
    if (number == KEYS) {
        return refuse_key(item, spec, fault);
    }
    if ((*given & (UINT64_C(1) << number)) != 0) {
        return wrong(fault, "%s is given twice", item);
    }
    *given |= UINT64_C(1) << number;
    const struct key *key = &keys[number];
    switch (key->value) {
    case VALUE_COUNT:
        return take_count(key, value, spec, fault);
    case VALUE_AREA:
        return take_area(key, value, spec, fault);
    case VALUE_PART:
        return take_part(key, value, spec, fault);
    case VALUE_NAME:
    case VALUE_FIELD:
        return take_other(key, value, spec, fault);
    case VALUE_WORD:
        return take_word(key, words_of(key, spec->kind), value, (char *)spec + key->offset, fault);
    case VALUE_SHAPE:
        return take_shape(value, spec, fault);
    case VALUE_MIRROR:
        return take_mirror(value, spec, fault);
    case VALUE_FOLLOWER:
        return take_follower(key, value, spec, fault);
    case VALUE_TEXT: /* shorter than its item */
        memcpy((char *)spec + key->offset, value, strlen(value) + 1);
        return true;
    }
    return false;
}

/* ---- the whole ---- */

static bool take_name(const char *from, size_t length, char *name, const struct fault *fault)
{
    if (!is_name(from, length)) {
        return wrong(fault, "\"%.*s\" is no name: expected " NAME_LENGTHS,
                     (int)(length < ITEM_BYTES ? length : ITEM_BYTES), from);
    }
    memcpy(name, from, length);
    name[length] = '\0';
    return true;
}

static bool take_names(const char *text, size_t length, struct column_spec *spec,
                       const struct fault *fault)
{
    const char *equals = memchr(text, '=', length);
    if (equals == NULL) {
        return take_name(text, length, spec->name, fault) &&
               take_name(text, length, spec->field, fault);
    }
    const size_t name = (size_t)(equals - text);
    return take_name(text, name, spec->name, fault) &&
           take_name(equals + 1, length - name - 1, spec->field, fault);
}

static bool take_kind(const char *word, struct column_spec *spec, const struct fault *fault)
{
    char question[QUESTION_BYTES];
    const char *const *words = kind_words();
    char listed[WORDS_BYTES];
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            spec->kind = SLUICE_COLUMN_IMAGE + i;
            return true;
        }
    }
    join(words, listed, sizeof listed);
    return wrong(fault, "\"%s\" is no kind of column: expected one of %s%s", word, listed,
                 nearest_of(word, words, question, sizeof question));
}

/* Of no field: what stands before the colon is its name alone. */
static bool check_field(const char *text, const char *colon, struct column_spec *spec,
                        const struct fault *fault)
{
    if (spec->kind != SLUICE_COLUMN_GEOMETRY) {
        return true;
    }
    if (memchr(text, '=', (size_t)(colon - text)) != NULL) {
        return wrong(fault, "a geometry is of no field: expected %s:geometry", spec->name);
    }
    spec->field[0] = '\0';
    return true;
}

/* Copies what stands before the next comma; `*at` goes behind it, NULL at the end. */
static bool next_item(const char **at, char item[ITEM_BYTES], const struct fault *fault)
{
    const size_t length = strcspn(*at, ",");
    if (length >= ITEM_BYTES) {
        return wrong(fault, "\"%.20s...\" is too long: more than %d characters", *at,
                     ITEM_BYTES - 1);
    }
    memcpy(item, *at, length);
    item[length] = '\0';
    *at = (*at)[length] == ',' ? *at + length + 1 : NULL;
    return true;
}

bool column_spec_parse(const char *text, struct column_spec *spec, char *text_of_fault,
                       size_t bytes)
{
    const struct fault fault = {text_of_fault, bytes};
    const char *colon = strchr(text, ':');
    char item[ITEM_BYTES];
    uint64_t given = 0;
    text_of_fault[0] = '\0';
    column_spec_clear(spec);
    if (colon == NULL) {
        return wrong(&fault, "no kind: expected NAME:KIND or NAME=FIELD:KIND");
    }
    const char *at = colon + 1;
    if (!take_names(text, (size_t)(colon - text), spec, &fault) || !next_item(&at, item, &fault) ||
        !take_kind(item, spec, &fault) || !check_field(text, colon, spec, &fault)) {
        return false;
    }
    while (at != NULL) {
        if (!next_item(&at, item, &fault) || !take_item(item, spec, &given, &fault)) {
            return false;
        }
    }
    return true;
}
