/* SPDX-License-Identifier: Apache-2.0 */
/* A parser of one --column, item by item. Main thread; texts point into the argument. */
#include "column_spec.h"

#include "column_values.h"
#include "nearest.h"
#include "options.h"

#include <stdio.h>
#include <string.h>

enum { ITEM_BYTES = COLUMN_STEPS_BYTES };

/* In the order of enum pipeline; all other words are the library's. */
static const char *const crop_words[] = {"rrc", "center", "random", "none", NULL};

#define BIT(kind) (1U << SLUICE_COLUMN_##kind)
#define ELEMENTS \
    (BIT(NUMBER) | BIT(TENSOR) | BIT(WINDOW) | BIT(RAGGED) | BIT(PADDED) | BIT(ONE_HOT))
#define LENGTHS        (BIT(RAGGED) | BIT(PADDED) | BIT(BOXES) | BIT(POINTS) | BIT(INSTANCES))
#define MEMBER(member) offsetof(struct column_spec, member)
#define FOLLOWER(name)                                \
    {                                                 \
        name, 0, COLUMN_VALUE_FOLLOWER, 0, 0, 0, NULL \
    }

static const struct column_key keys[] = {
    {"size", BIT(IMAGE), COLUMN_VALUE_COUNT, MEMBER(size), 1, 16384, NULL},
    {"crop", BIT(IMAGE), COLUMN_VALUE_WORD, MEMBER(crop), 0, 0, crop_words},
    {"padding", BIT(IMAGE), COLUMN_VALUE_COUNT, MEMBER(padding), 0, 16384, NULL},
    {"area-min", BIT(IMAGE), COLUMN_VALUE_AREA, MEMBER(area_min), 0, 0, NULL},
    {"area-max", BIT(IMAGE), COLUMN_VALUE_AREA, MEMBER(area_max), 0, 0, NULL},
    FOLLOWER("partner"),
    FOLLOWER("sizes"),
    FOLLOWER("max-width"),
    FOLLOWER("max-height"),
    {"augment", BIT(IMAGE), COLUMN_VALUE_TEXT, MEMBER(augment), 0, 0, NULL},
    {"shape", BIT(TENSOR), COLUMN_VALUE_SHAPE, MEMBER(shape), 0, 0, NULL},
    {"part", BIT(TENSOR), COLUMN_VALUE_WORD, MEMBER(part), 0, 0, NULL},
    {"length", BIT(WINDOW) | BIT(ONE_HOT) | LENGTHS, COLUMN_VALUE_COUNT, MEMBER(length), 1,
     UINT64_C(1) << 40, NULL},
    {"stride", BIT(WINDOW), COLUMN_VALUE_COUNT, MEMBER(stride), 1, UINT64_C(1) << 40, NULL},
    {"offset", BIT(WINDOW), COLUMN_VALUE_COUNT, MEMBER(offset), 0, UINT64_C(1) << 40, NULL},
    {"too-long", LENGTHS, COLUMN_VALUE_WORD, MEMBER(too_long), 0, 0, NULL},
    {"mixes", BIT(ONE_HOT), COLUMN_VALUE_NAME, MEMBER(mixes), 0, 0, NULL},
    {"smoothing", BIT(ONE_HOT), COLUMN_VALUE_PART, MEMBER(smoothing), 0, 0, NULL},
    {"follows", 0, COLUMN_VALUE_NAME, MEMBER(follows), 0, 0, NULL},
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
    {"shapes", BIT(BOXES), COLUMN_VALUE_FIELD, MEMBER(shapes), 0, 0, NULL},
    FOLLOWER("point-values"),
    {"mirror", BIT(POINTS), COLUMN_VALUE_MIRROR, 0, 0, 0, NULL},
    FOLLOWER("fill"),
    FOLLOWER("interpolation"),
    FOLLOWER("channels"),
    {"labels", BIT(MASK), COLUMN_VALUE_FIELD, MEMBER(labels), 0, 0, NULL},
    {"crowds", BIT(MASK) | BIT(BOXES), COLUMN_VALUE_FIELD, MEMBER(crowds), 0, 0, NULL},
    FOLLOWER("background"),
    FOLLOWER("ignore"),
    FOLLOWER("overlap"),
    FOLLOWER("orientation"),
    {"dtype", BIT(IMAGE) | BIT(MASK) | ELEMENTS, COLUMN_VALUE_WORD, MEMBER(dtype), 0, 0, NULL},
    {"layout", BIT(IMAGE), COLUMN_VALUE_WORD, MEMBER(layout), 0, 0, NULL},
    {"missing", BIT(IMAGE) | BIT(MASK) | BIT(BOXES) | BIT(POINTS) | BIT(INSTANCES) | ELEMENTS,
     COLUMN_VALUE_WORD, MEMBER(missing), 0, 0, NULL},
};
enum { KEYS = sizeof keys / sizeof *keys };
_Static_assert(KEYS <= 64, "those that were given are the bits of a number");

static const char *const *kind_words(void)
{
    return options_library(SLUICE_OPTIONS_COLUMN, "kind").words;
}

static bool is_taken(const struct column_key *key, int kind)
{
    const uint32_t kinds =
        key->kinds != 0 ? key->kinds : column_member(SLUICE_OPTIONS_COLUMN, key->name).kinds;
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

/* ---- keys ---- */

static bool refuse_key(const char *name, const struct column_spec *spec,
                       const struct column_fault *fault)
{
    const char *taken[KEYS + 1];
    size_t count = 0;
    for (size_t i = 0; i < KEYS; i++) {
        if (is_taken(&keys[i], spec->kind)) {
            taken[count++] = keys[i].name;
        }
    }
    taken[count] = NULL;
    char words[COLUMN_WORDS_BYTES];
    char question[COLUMN_QUESTION_BYTES];
    column_join_words(taken, words, sizeof words);
    return column_wrong(fault, "a column of kind %s takes no \"%s\"; it takes %s%s",
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
                      const struct column_fault *fault)
{
    char *equals = strchr(item, '=');
    if (equals == NULL || equals == item || equals[1] == '\0') {
        return column_wrong(fault, "\"%s\": expected KEY=VALUE", item);
    }
    *equals = '\0';
    const char *value = equals + 1;
    const size_t number = find_key(item, spec->kind);
    if (number == KEYS) {
        return refuse_key(item, spec, fault);
    }
    if ((*given & (UINT64_C(1) << number)) != 0) {
        return column_wrong(fault, "%s is given twice", item);
    }
    *given |= UINT64_C(1) << number;
    return column_value_take(&keys[number], value, spec, fault);
}

/* ---- the whole ---- */

static bool take_name(const char *from, size_t length, char *name, const struct column_fault *fault)
{
    if (!column_is_name(from, length)) {
        return column_wrong(fault, "\"%.*s\" is no name: expected " COLUMN_NAME_LENGTHS,
                            (int)(length < ITEM_BYTES ? length : ITEM_BYTES), from);
    }
    memcpy(name, from, length);
    name[length] = '\0';
    return true;
}

static bool take_names(const char *text, size_t length, struct column_spec *spec,
                       const struct column_fault *fault)
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

static bool take_kind(const char *word, struct column_spec *spec, const struct column_fault *fault)
{
    char question[COLUMN_QUESTION_BYTES];
    const char *const *words = kind_words();
    char listed[COLUMN_WORDS_BYTES];
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            spec->kind = SLUICE_COLUMN_IMAGE + i;
            return true;
        }
    }
    column_join_words(words, listed, sizeof listed);
    return column_wrong(fault, "\"%s\" is no kind of column: expected one of %s%s", word, listed,
                        nearest_of(word, words, question, sizeof question));
}

/* Of no field: what stands before the colon is its name alone. */
static bool check_field(const char *text, const char *colon, struct column_spec *spec,
                        const struct column_fault *fault)
{
    if (spec->kind != SLUICE_COLUMN_GEOMETRY) {
        return true;
    }
    if (memchr(text, '=', (size_t)(colon - text)) != NULL) {
        return column_wrong(fault, "a geometry is of no field: expected %s:geometry", spec->name);
    }
    spec->field[0] = '\0';
    return true;
}

/* Copies what stands before the next comma; `*at` goes behind it, NULL at the end. */
static bool next_item(const char **at, char item[ITEM_BYTES], const struct column_fault *fault)
{
    const size_t length = strcspn(*at, ",");
    if (length >= ITEM_BYTES) {
        return column_wrong(fault, "\"%.20s...\" is too long: more than %d characters", *at,
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
    const struct column_fault fault = {text_of_fault, bytes};
    const char *colon = strchr(text, ':');
    char item[ITEM_BYTES];
    uint64_t given = 0;
    text_of_fault[0] = '\0';
    column_spec_clear(spec);
    if (colon == NULL) {
        return column_wrong(&fault, "no kind: expected NAME:KIND or NAME=FIELD:KIND");
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
