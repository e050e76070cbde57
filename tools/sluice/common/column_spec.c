/* SPDX-License-Identifier: Apache-2.0 */
/* A parser of one --column, item by item. Main thread. */
#include "column_spec.h"

#include "column_values.h"
#include "nearest.h"
#include "options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { ITEM_BYTES = COLUMN_STEPS_BYTES };

void column_spec_clear(struct column_spec *spec)
{
    *spec = (struct column_spec){.column = SLUICE_COLUMN_INIT,
                                 .crop = COLUMN_WORD_NONE,
                                 .size = COLUMN_COUNT_NONE,
                                 .padding = COLUMN_COUNT_NONE};
}

/* ---- kinds ---- */

static const char *const *kind_words(void)
{
    return options_library(SLUICE_OPTIONS_COLUMN, "kind").words;
}

const char *column_kind_name(int kind)
{
    const sluice_option option = options_library(SLUICE_OPTIONS_COLUMN, "kind");
    return kind >= option.least && kind <= (int64_t)option.most ? option.words[kind - option.least]
                                                                : "unknown";
}

static bool has_field(int kind)
{
    const uint32_t kinds = options_library(SLUICE_OPTIONS_COLUMN, "field").kinds;
    return kinds == 0 || (kinds & (UINT32_C(1) << kind)) != 0;
}

/* ---- members ---- */

bool column_spec_has(const struct column_spec *spec, const char *member)
{
    struct column_key key;
    for (uint32_t i = 0; column_key_get(i, spec->column.kind, &key); i++) {
        if (key.own == NULL && strcmp(key.option.name, member) == 0) {
            return (spec->given & (UINT64_C(1) << i)) != 0;
        }
    }
    return false;
}

const char *column_spec_text(const struct column_spec *spec, size_t offset)
{
    for (uint32_t i = 0; i < spec->text_count; i++) {
        if (spec->texts[i].offset == offset) {
            return spec->texts[i].at;
        }
    }
    return "";
}

void column_spec_set_text(struct column_spec *spec, size_t offset, const char *text)
{
    assert(spec->text_count < COLUMN_TEXTS_MAX && strlen(text) < COLUMN_NAME_BYTES);
    struct column_text *made = &spec->texts[spec->text_count++];
    made->offset = offset;
    memcpy(made->at, text, strlen(text) + 1);
}

sluice_column column_spec_column(const struct column_spec *spec)
{
    sluice_column column = spec->column;
    for (uint32_t i = 0; i < spec->text_count; i++) {
        const char *text = spec->texts[i].at;
        memcpy((char *)&column + spec->texts[i].offset, &text, sizeof(text));
    }
    column.field = spec->field[0] != '\0' ? spec->field : NULL;
    column.name = spec->name;
    column.mirror = column.mirror_count > 0 ? spec->mirror : NULL;
    return column;
}

/* ---- keys ---- */

static bool refuse_key(const char *name, const struct column_spec *spec,
                       const struct column_fault *fault)
{
    struct column_key keys[COLUMN_KEYS_MAX];
    const char *taken[COLUMN_KEYS_MAX + 1];
    size_t count = 0;
    for (uint32_t i = 0; column_key_get(i, spec->column.kind, &keys[count]); i++) {
        if (keys[count].is_taken) {
            taken[count] = keys[count].name;
            count++;
        }
    }
    taken[count] = NULL;
    char words[COLUMN_WORDS_BYTES];
    char question[COLUMN_QUESTION_BYTES];
    column_join_words(taken, words, sizeof words);
    return column_wrong(fault, "a column of kind %s takes no \"%s\"; it takes %s%s",
                        column_kind_name(spec->column.kind), name, words,
                        nearest_of(name, taken, question, sizeof question));
}

/* Finds the key. False: the kind has no key of that name. */
static bool find_key(const char *name, int kind, uint32_t *number, struct column_key *key)
{
    for (*number = 0; column_key_get(*number, kind, key); ++*number) {
        if (key->is_taken && strcmp(key->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Takes "KEY=VALUE". */
static bool take_item(char *item, struct column_spec *spec, const struct column_fault *fault)
{
    struct column_key key;
    uint32_t number;
    char *equals = strchr(item, '=');
    if (equals == NULL || equals == item || equals[1] == '\0') {
        return column_wrong(fault, "\"%s\": expected KEY=VALUE", item);
    }
    *equals = '\0';
    if (!find_key(item, spec->column.kind, &number, &key)) {
        return refuse_key(item, spec, fault);
    }
    if ((spec->given & (UINT64_C(1) << number)) != 0) {
        return column_wrong(fault, "%s is given twice", item);
    }
    spec->given |= UINT64_C(1) << number;
    return column_value_take(&key, equals + 1, spec, fault);
}

/* ---- the whole ---- */

static bool take_name(const char *from, size_t length, char *name, const struct column_fault *fault)
{
    if (!column_is_name(from, length)) {
        return column_wrong(fault, "\"%.*s\" is not a name: expected " COLUMN_NAME_LENGTHS,
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
    if (sluice_option_set(SLUICE_OPTIONS_COLUMN, &spec->column, "kind", word, NULL) == SLUICE_OK) {
        return true;
    }
    column_join_words(words, listed, sizeof listed);
    return column_wrong(fault, "\"%s\" is not a kind of column: expected one of %s%s", word, listed,
                        nearest_of(word, words, question, sizeof question));
}

/* Checks a column without a field: the text before the colon must be its name alone. */
static bool check_field(const char *text, const char *colon, struct column_spec *spec,
                        const struct column_fault *fault)
{
    if (has_field(spec->column.kind)) {
        return true;
    }
    if (memchr(text, '=', (size_t)(colon - text)) != NULL) {
        const char *kind = column_kind_name(spec->column.kind);
        return column_wrong(fault, "a %s has no field: expected %s:%s", kind, spec->name, kind);
    }
    spec->field[0] = '\0';
    return true;
}

/* Copies the text up to the next comma; `*at` moves after it, NULL at the end. */
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
        if (!next_item(&at, item, &fault) || !take_item(item, spec, &fault)) {
            return false;
        }
    }
    return true;
}
