/* SPDX-License-Identifier: Apache-2.0 */
/* Parses texts of steps, and adds them to a recipe. Main thread; texts belong to the list. */
#include "augment_text.h"

#include "nearest.h"
#include "report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS_MAX = 16, PUT_BYTES = 256, NAMES_BYTES = 1200, QUOTED = 200 };

/* ---- lists of steps ---- */

static bool list_is_full(void)
{
    report("augment: too long: at most %d steps and %d characters", AUGMENT_TEXT_STEPS,
           AUGMENT_TEXT_BYTES - 1);
    return false;
}

/* Returns how long the step's name is. */
static size_t name_length(const char *step)
{
    return strcspn(step, ":(+");
}

static uint32_t find_same(const struct augment_text *list, const char *step, uint32_t among)
{
    const size_t length = name_length(step);
    for (uint32_t i = 0; i < among && i < list->count; i++) {
        if (name_length(list->steps[i]) == length && strncmp(list->steps[i], step, length) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

static bool put(struct augment_text *list, const char *step, size_t length, uint32_t replaceable)
{
    if (list->count == AUGMENT_TEXT_STEPS || length >= sizeof list->bytes - list->used) {
        return list_is_full();
    }
    char *copy = list->bytes + list->used;
    memcpy(copy, step, length);
    copy[length] = '\0';
    list->used += length + 1;
    const uint32_t same = find_same(list, copy, replaceable);
    if (same != UINT32_MAX) {
        list->steps[same] = copy;
    } else {
        list->steps[list->count++] = copy;
    }
    return true;
}

/* Returns the length up to the "+" after the step; SIZE_MAX: parentheses do not match. */
static size_t step_length(const char *text)
{
    size_t depth = 0;
    size_t i = 0;
    for (; text[i] != '\0' && (depth > 0 || text[i] != '+'); i++) {
        if (text[i] == ')' && depth-- == 0) {
            return SIZE_MAX;
        }
        depth += text[i] == '(';
    }
    return depth == 0 ? i : SIZE_MAX;
}

static bool expected_step(const char *text)
{
    report("augment: \"%.*s%s\": expected STEP[:ARGUMENT...][(STEP+...)][+STEP...]", QUOTED, text,
           strlen(text) > QUOTED ? "..." : "");
    return false;
}

bool augment_text_cut(struct augment_text *list, const char *text, uint32_t replaceable)
{
    while (*text != '\0') {
        const size_t length = step_length(text);
        if (length == SIZE_MAX || name_length(text) == 0) {
            return expected_step(text);
        }
        if (!put(list, text, length, replaceable)) {
            return false;
        }
        text += length;
        if (*text == '+' && *++text == '\0') {
            return expected_step("+");
        }
    }
    return true;
}

bool augment_text_put(struct augment_text *list, const char *format, ...)
{
    char step[PUT_BYTES];
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(step, sizeof step, format, values);
    va_end(values);
    return length >= 0 && (size_t)length < sizeof step ? put(list, step, (size_t)length, 0)
                                                       : list_is_full();
}

/* ---- what the library knows ---- */

static void refuse_step(const char *name)
{
    sluice_augment_step step = SLUICE_AUGMENT_STEP_INIT;
    struct nearest nearest;
    char question[80];
    char names[NAMES_BYTES] = "";
    size_t used = 0;
    nearest_begin(&nearest, name);
    for (uint32_t i = 0; sluice_augment_get_step(i, &step) == SLUICE_OK; i++) {
        nearest_try(&nearest, step.name);
        if (used < sizeof names) {
            int length =
                snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", step.name);
            used += length > 0 ? (size_t)length : 0;
        }
    }
    report("augment: unknown step \"%s\"%s (steps: %s)", name,
           nearest_question(&nearest, "", question, sizeof question), names);
}

static bool find_step(const char *name, uint32_t *number, sluice_augment_step *step)
{
    for (*number = 0; sluice_augment_get_step(*number, step) == SLUICE_OK; (*number)++) {
        if (strcmp(step->name, name) == 0) {
            return true;
        }
    }
    if (strcmp(name, "native") == 0) {
        report("augment: native steps call a function of a program: only C "
               "(sluice_augment_native) and Python (transforms.Native) have them");
    } else {
        refuse_step(name);
    }
    return false;
}

bool augment_text_mixes(const char *step)
{
    sluice_augment_step known = SLUICE_AUGMENT_STEP_INIT;
    const size_t length = name_length(step);
    for (uint32_t i = 0; sluice_augment_get_step(i, &known) == SLUICE_OK; i++) {
        if (strlen(known.name) == length && strncmp(known.name, step, length) == 0) {
            return strcmp(known.stage, "batch") == 0;
        }
    }
    return false;
}

/* ---- arguments ---- */

struct arguments {
    uint32_t step;      /* the library's number */
    uint32_t count;     /* of its arguments */
    uint32_t list_most; /* of the last one, if it is a list; else 0 */
    uint32_t list;      /* numbers of that */
    uint32_t given;     /* numbers up to the last one that is */
    uint32_t next;      /* of values without a name */
    bool in_list;       /* the last value was in the list: without a name the next one is, too */
    double numbers[ARGUMENTS_MAX];
    bool said[ARGUMENTS_MAX];
};

static bool is_list(const struct arguments *a, uint32_t place)
{
    return a->list_most > 0 && place + 1 == a->count;
}

/* Returns whether the argument has the word; a step may take only the first ones. */
static bool has_word(const sluice_augment_argument *argument, uint32_t number)
{
    return argument->words != NULL && argument->words[number] != NULL && number <= argument->most;
}

/* Reads a number, or one of the argument's words. */
static bool read_value(const sluice_augment_argument *argument, const char *text, double *value)
{
    char *end = NULL;
    *value = strtod(text, &end);
    if (end != text && *end == '\0') {
        return !isnan(*value);
    }
    for (uint32_t i = 0; has_word(argument, i); i++) {
        if (strcmp(argument->words[i], text) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

static bool refuse_value(const char *step, const sluice_augment_argument *argument,
                         const char *text)
{
    char words[256] = "a number";
    size_t used = 0;
    for (uint32_t i = 0; has_word(argument, i); i++) {
        const int length = snprintf(words + used, sizeof words - used, "%s%s", i > 0 ? ", " : "",
                                    argument->words[i]);
        used += length > 0 && used + (size_t)length < sizeof words ? (size_t)length : 0;
    }
    report("augment: \"%s\" for %s of %s: expected %s", text, argument->name, step, words);
    return false;
}

/* Returns true for "weight_2" of a list "weights", the older name of its numbers. */
static bool is_numbered(const char *name, const char *list)
{
    const size_t stem = strlen(list) - 1;
    const size_t digits =
        strspn(name + (strlen(name) > stem ? stem + 1 : strlen(name)), "0123456789");
    return strlen(name) > stem + 1 && strncmp(name, list, stem) == 0 && name[stem] == '_' &&
           digits > 0 && name[stem + 1 + digits] == '\0';
}

/* Names the arguments that the step has, and suggests the most similar one. */
static void refuse_argument_name(const struct arguments *a, const char *step, const char *name)
{
    char names[NAMES_BYTES] = "none";
    char question[64];
    size_t used = 0;
    struct nearest nearest;
    sluice_augment_argument argument = SLUICE_AUGMENT_ARGUMENT_INIT;
    nearest_begin(&nearest, name);
    for (uint32_t i = 0; sluice_augment_get_argument(a->step, i, &argument) == SLUICE_OK; i++) {
        const int length =
            snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", argument.name);
        used += length > 0 && used + (size_t)length < sizeof names ? (size_t)length : 0;
        nearest_try(&nearest, argument.name);
    }
    report("augment: %s has no argument \"%s\"%s (its arguments: %s)", step, name,
           nearest_question(&nearest, "", question, sizeof question), names);
}

static bool refuse_argument(const struct arguments *a, const char *step, const char *name)
{
    sluice_augment_argument last = SLUICE_AUGMENT_ARGUMENT_INIT;
    const bool has_list =
        a->list_most > 0 && sluice_augment_get_argument(a->step, a->count - 1, &last) == SLUICE_OK;
    if (has_list && is_numbered(name, last.name)) {
        report("augment: %s has no argument \"%s\": write the list %s=VALUE:VALUE...", step, name,
               last.name);
    } else {
        refuse_argument_name(a, step, name);
    }
    return false;
}

/* Finds the argument of "NAME=...": its place, and the text after the "=". */
static bool find_argument(const struct arguments *a, const char *step, char **text, uint32_t *place)
{
    sluice_augment_argument argument = SLUICE_AUGMENT_ARGUMENT_INIT;
    char *equals = strchr(*text, '=');
    *place = a->next;
    if (equals == NULL) {
        if (*place >= a->count) {
            report("augment: too many arguments: %s takes %u", step, a->count);
        }
        return *place < a->count;
    }
    *equals = '\0';
    for (*place = 0; *place < a->count; (*place)++) {
        if (sluice_augment_get_argument(a->step, *place, &argument) == SLUICE_OK &&
            strcmp(argument.name, *text) == 0) {
            *text = equals + 1;
            return true;
        }
    }
    return refuse_argument(a, step, *text);
}

/* Finds the place of an argument's number among all of them. */
static bool find_number(const struct arguments *a, const char *step,
                        const sluice_augment_argument *argument, uint32_t place, uint32_t *at)
{
    *at = place + (is_list(a, place) ? a->list : 0);
    if (a->said[place] && !(is_list(a, place) && a->in_list)) {
        report("augment: %s of %s is given twice", argument->name, step);
        return false;
    }
    if (is_list(a, place) && (a->list == a->list_most || *at >= ARGUMENTS_MAX)) {
        report("augment: %s of %s takes at most %u numbers", argument->name, step, a->list_most);
        return false;
    }
    return true;
}

static bool take_argument(struct arguments *a, const char *step, char *text)
{
    sluice_augment_argument argument = SLUICE_AUGMENT_ARGUMENT_INIT;
    uint32_t place;
    uint32_t at;
    if (*text == '\0') {
        report("augment: an argument of %s is empty; to leave some out, give others by NAME=VALUE",
               step);
        return false;
    }
    a->in_list = a->in_list && strchr(text, '=') == NULL;
    if (!find_argument(a, step, &text, &place)) {
        return false;
    }
    (void)sluice_augment_get_argument(a->step, place, &argument);
    if (!find_number(a, step, &argument, place, &at)) {
        return false;
    }
    if (!read_value(&argument, text, &a->numbers[at])) {
        return refuse_value(step, &argument, text);
    }
    a->said[place] = true;
    a->in_list = is_list(a, place);
    a->list += a->in_list;
    a->next = a->in_list ? place : place + 1;
    a->given = at + 1 > a->given ? at + 1 : a->given;
    return true;
}

/* Reads "A:B"; NULL: no arguments. */
static bool read_arguments(struct arguments *a, const char *step, char *text)
{
    sluice_augment_argument argument = SLUICE_AUGMENT_ARGUMENT_INIT;
    for (uint32_t i = 0; i < a->count; i++) {
        (void)sluice_augment_get_argument(a->step, i, &argument);
        a->numbers[i] = argument.preset;
        a->list_most = argument.list_most;
    }
    while (text != NULL) {
        char *colon = strchr(text, ':');
        if (colon != NULL) {
            *colon = '\0';
        }
        if (!take_argument(a, step, text)) {
            return false;
        }
        text = colon != NULL ? colon + 1 : NULL;
    }
    for (uint32_t i = 0; i < a->given; i++) {
        if (isnan(a->numbers[i])) { /* skipped, and without a preset */
            (void)sluice_augment_get_argument(a->step, i, &argument);
            report("augment: %s of %s must be given", argument.name, step);
            return false;
        }
    }
    return true;
}

/* ---- steps ---- */

static bool add_step(sluice_augment *recipe, char *step);

/* Cuts the text up. */
// NOLINTNEXTLINE(misc-no-recursion): as deep as the library lets groups be
static bool add_inside(sluice_augment *recipe, char *text)
{
    while (*text != '\0') {
        const size_t length = step_length(text);
        if (length == SIZE_MAX || length == 0) {
            return expected_step(text);
        }
        char *next = text + length;
        if (*next == '+') {
            *next++ = '\0';
        }
        if (!add_step(recipe, text)) {
            return false;
        }
        text = next;
    }
    return true;
}

/* Cuts off "(...)" at the end. False: text follows it. */
static bool cut_group(char *step, char **inside)
{
    *inside = strchr(step, '(');
    if (*inside == NULL) {
        return true;
    }
    char *end = strrchr(*inside, ')');
    if (end == NULL || end[1] != '\0') {
        return false;
    }
    *end = '\0';
    *(*inside)++ = '\0';
    return true;
}

/* Cuts off the arguments after the step's name, and returns them; NULL: none. */
static char *cut_arguments(char *step)
{
    char *colon = strchr(step, ':');
    if (colon != NULL) {
        *colon++ = '\0';
    }
    return colon;
}

static bool add_timm(sluice_augment *recipe, const char *policy)
{
    double numbers[ARGUMENTS_MAX];
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_augment_timm_numbers(policy, numbers, &error) < 0) {
        report("augment: timm:%.*s: %s", QUOTED, policy, error.text);
        return false;
    }
    return sluice_augment_timm(recipe, policy) >= 0;
}

/* Cuts the text up. */
// NOLINTNEXTLINE(misc-no-recursion): as deep as the library lets groups be
static bool add_step(sluice_augment *recipe, char *step)
{
    char *inside = NULL;
    sluice_augment_step known = SLUICE_AUGMENT_STEP_INIT;
    struct arguments a = {.count = 0};
    if (strncmp(step, "timm:", 5) == 0) {
        return add_timm(recipe, step + 5);
    }
    if (!cut_group(step, &inside)) {
        return expected_step(step);
    }
    char *numbers = cut_arguments(step);
    if (!find_step(step, &a.step, &known)) {
        return false;
    }
    a.count = known.arguments;
    if (!read_arguments(&a, step, numbers)) {
        return false;
    }
    if ((inside != NULL) != (known.is_group != 0)) {
        report("augment: %s %s", step,
               inside != NULL ? "is not a group: it has no steps in parentheses"
                              : "is a group: write its steps after it, in parentheses");
        return false;
    }
    if (inside == NULL) {
        return sluice_augment_add(recipe, step, a.numbers, a.given) >= 0;
    }
    return sluice_augment_begin(recipe, step, a.numbers, a.given) >= 0 &&
           add_inside(recipe, inside) && sluice_augment_end(recipe) >= 0;
}

bool augment_text_add(sluice_augment *recipe, const char *text)
{
    char *step = strdup(text);
    if (step == NULL) {
        report("out of memory for a recipe");
        return false;
    }
    const bool fine = add_step(recipe, step);
    free(step);
    return fine;
}
