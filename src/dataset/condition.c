/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condition: a recursive descent parser that turns conditions into steps in postfix order, and
 * their evaluation.
 *
 * Parsed by one thread; evaluating is pure. Depth is limited.
 */
#include "condition.h"

#include "memory.h"
#include "name_list.h"
#include "number_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

/* Limits on nested parentheses and nots, and on steps. */
enum { NESTED_MAX = 64, STEPS_MAX = 1 << 20, STACK_MAX = 2 * NESTED_MAX + 8 };

typedef enum step_kind { TEST, AND, OR, NOT } step_kind;
typedef enum test_kind { EQUAL, DIFFERENT, LESS, AT_MOST, MORE, AT_LEAST } test_kind;

/* A value to compare a field with. */
typedef struct literal {
    bool whole;
    int64_t integer;
    double number;
} literal;

/* Steps in creation order: operands precede the step that joins them. */
typedef struct step {
    step_kind kind;
    test_kind test;
    uint32_t field;
    bool integer; /* true if the field is an integer */
    literal with;
} step;

struct sl_condition {
    step *steps;
    uint32_t count;
    uint64_t capacity, fields;
};

typedef struct parser {
    const sl_dataset *dataset;
    const char *text, *at;
    sl_condition *made;
    uint32_t nested;
    sluice_error *error;
} parser;

/* ---- words ---- */

static sluice_status condition_fail(const parser *p, const char *why)
{
    return sl_error_set(p->error, SLUICE_INVALID, STAGE, "\"%.80s\", character %zu: %s", p->text,
                        (size_t)(p->at - p->text) + 1, why);
}

static void condition_skip_blanks(parser *p)
{
    p->at += strspn(p->at, " \t\r\n");
}

static size_t condition_word_length(const char *at)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char others[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_./0123456789";
    return strspn(at, letters) > 0 ? strspn(at, others) : 0;
}

/* Takes a word, or a sign with the same meaning; false: the text continues differently. */
static bool condition_take(parser *p, const char *word, const char *sign)
{
    condition_skip_blanks(p);
    const size_t length = word != NULL ? strlen(word) : 0;
    if (length > 0 && condition_word_length(p->at) == length && strncmp(p->at, word, length) == 0) {
        p->at += length;
        return true;
    }
    if (sign != NULL && strncmp(p->at, sign, strlen(sign)) == 0) {
        p->at += strlen(sign);
        return true;
    }
    return false;
}

static sluice_status add_step(parser *p, const step *made)
{
    sl_condition *c = p->made;
    if (c->count == STEPS_MAX) {
        return condition_fail(p, "the condition is too long");
    }
    if (!sl_grow(&c->steps, &c->capacity, c->count + 1U, sizeof(*c->steps))) {
        return sl_no_memory(p->error, STAGE, "for a condition");
    }
    c->steps[c->count++] = *made;
    return SLUICE_OK;
}

/* ---- comparisons ---- */

static sluice_status read_class(parser *p, const step *test, literal *with)
{
    const sl_dataset *of = p->dataset;
    const char *end = strchr(p->at + 1, *p->at);
    if (end == NULL) {
        return condition_fail(p, "unterminated string");
    }
    const char *name = p->at + 1;
    const size_t length = (size_t)(end - name);
    if (of->info.classes == 0 || strcmp(of->fields[test->field].name, "label") != 0) {
        return condition_fail(
            p, "only the classes of field \"label\" have names, and this dataset has none");
    }
    for (uint32_t i = 0; i < of->info.classes; i++) {
        const char *known = sl_dataset_class_name(of, i);
        if (known != NULL && strncmp(known, name, length) == 0 && known[length] == '\0') {
            *with = (literal){.whole = true, .integer = i, .number = i};
            p->at = end + 1;
            return SLUICE_OK;
        }
    }
    return condition_fail(p, "no class has this name");
}

static sluice_status condition_read_value(parser *p, const step *test, literal *with)
{
    char *end;
    condition_skip_blanks(p);
    if (*p->at == '"' || *p->at == '\'') {
        return read_class(p, test, with);
    }
    const size_t decimal = strspn(p->at, "+-.0123456789eE");
    errno = 0;
    with->integer = strtoll(p->at, &end, 10);
    const bool fits = errno == 0;
    const char *end_of_whole = end;
    with->number = sl_read_double(p->at, &end);
    if (end == p->at || end > p->at + decimal || condition_word_length(end) > 0) {
        return condition_fail(p, "expected a number");
    }
    with->whole = fits && end == end_of_whole;
    p->at = end;
    return SLUICE_OK;
}

static bool take_operator(parser *p, test_kind *test)
{
    static const struct {
        const char *sign;
        test_kind test;
    } signs[] = {{"==", EQUAL}, {"!=", DIFFERENT}, {"<=", AT_MOST}, {">=", AT_LEAST},
                 {"=", EQUAL},  {"<", LESS},       {">", MORE}};
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (condition_take(p, NULL, signs[i].sign)) {
            *test = signs[i].test;
            return true;
        }
    }
    return false;
}

static sluice_status condition_read_list(parser *p, step *test, bool inside)
{
    if (!condition_take(p, NULL, "(")) {
        return condition_fail(p, "expected values in parentheses after \"in\"");
    }
    test->test = inside ? EQUAL : DIFFERENT;
    for (uint32_t i = 0;; i++) {
        sluice_status status = condition_read_value(p, test, &test->with);
        if (status == SLUICE_OK) {
            status = add_step(p, test);
        }
        if (status == SLUICE_OK && i > 0) {
            status = add_step(p, &(step){.kind = inside ? OR : AND});
        }
        if (status < 0) {
            return status;
        }
        if (condition_take(p, NULL, ")")) {
            return SLUICE_OK;
        }
        if (!condition_take(p, NULL, ",")) {
            return condition_fail(p, "expected a comma or a closing parenthesis");
        }
    }
}

static sluice_status condition_find_field(parser *p, step *test)
{
    char name[SL_FIELD_NAME_BYTES] = "";
    condition_skip_blanks(p);
    const size_t length = condition_word_length(p->at);
    if (length == 0) {
        return condition_fail(p, "expected the name of a field");
    }
    if (length < sizeof(name)) {
        memcpy(name, p->at, length);
        name[length] = '\0';
    }
    test->field = length < sizeof(name) ? sl_dataset_field(p->dataset, name) : SL_FIELD_NONE;
    if (test->field == SL_FIELD_NONE) {
        char why[320];
        sl_name_list known;
        (void)snprintf(why, sizeof(why), "no field has this name: the fields are %s",
                       sl_name_list_fields(&known, p->dataset->fields, p->dataset->info.fields));
        return condition_fail(p, why);
    }
    const sluice_field_type type = p->dataset->fields[test->field].type;
    if (type != SLUICE_FIELD_INT && type != SLUICE_FIELD_FLOAT) {
        return condition_fail(p, "this field is not a number");
    }
    test->integer = type == SLUICE_FIELD_INT;
    p->made->fields |= UINT64_C(1) << test->field;
    p->at += length;
    return SLUICE_OK;
}

static sluice_status read_comparison(parser *p)
{
    step test = {.kind = TEST};
    sluice_status status = condition_find_field(p, &test);
    if (status < 0) {
        return status;
    }
    const bool outside = condition_take(p, "not", NULL);
    if (condition_take(p, "in", NULL)) {
        return condition_read_list(p, &test, !outside);
    }
    if (outside || !take_operator(p, &test.test)) {
        return condition_fail(p, "expected ==, !=, <, <=, >, >=, or in (...)");
    }
    status = condition_read_value(p, &test, &test.with);
    return status == SLUICE_OK ? add_step(p, &test) : status;
}

/* ---- joining ---- */

static sluice_status read_condition(parser *p); // NOLINT(misc-no-recursion): NESTED_MAX

static sluice_status read_not(parser *p) // NOLINT(misc-no-recursion)
{
    if (p->nested == NESTED_MAX) {
        return condition_fail(p, "parentheses are nested too deeply");
    }
    p->nested++;
    sluice_status status;
    condition_skip_blanks(p);
    if (condition_take(p, "not", p->at[0] == '!' && p->at[1] != '=' ? "!" : NULL)) {
        status = read_not(p);
        if (status == SLUICE_OK) {
            status = add_step(p, &(step){.kind = NOT});
        }
    } else if (condition_take(p, NULL, "(")) {
        status = read_condition(p);
        if (status == SLUICE_OK && !condition_take(p, NULL, ")")) {
            status = condition_fail(p, "expected a closing parenthesis");
        }
    } else {
        status = read_comparison(p);
    }
    p->nested--;
    return status;
}

static sluice_status read_and(parser *p) // NOLINT(misc-no-recursion)
{
    sluice_status status = read_not(p);
    while (status == SLUICE_OK && condition_take(p, "and", "&&")) {
        status = read_not(p);
        if (status == SLUICE_OK) {
            status = add_step(p, &(step){.kind = AND});
        }
    }
    return status;
}

static sluice_status read_condition(parser *p) // NOLINT(misc-no-recursion)
{
    sluice_status status = read_and(p);
    while (status == SLUICE_OK && condition_take(p, "or", "||")) {
        status = read_and(p);
        if (status == SLUICE_OK) {
            status = add_step(p, &(step){.kind = OR});
        }
    }
    return status;
}

sluice_status sl_condition_make(sl_condition **condition, const char *text,
                                const sl_dataset *dataset, sluice_error *error)
{
    *condition = NULL;
    sl_condition *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_no_memory(error, STAGE, "for a condition");
    }
    parser p = {.dataset = dataset, .text = text, .at = text, .made = made, .error = error};
    sluice_status status = read_condition(&p);
    condition_skip_blanks(&p);
    if (status == SLUICE_OK && *p.at != '\0') {
        status = condition_fail(&p, "expected \"and\", \"or\" or the end");
    }
    if (status < 0) {
        sl_condition_close(made);
        return status;
    }
    *condition = made;
    return SLUICE_OK;
}

void sl_condition_close(sl_condition *condition)
{
    if (condition != NULL) {
        sl_free(condition->steps);
        sl_free(condition);
    }
}

uint64_t sl_condition_fields(const sl_condition *condition)
{
    return condition->fields;
}

/* ---- asking ---- */

/* Returns -1, 0 or 1; 2: unordered, because of a NaN. */
static int order_of(const step *test, const sl_value *value)
{
    if (test->integer && test->with.whole) {
        const int64_t with = test->with.integer;
        return (value->integer > with) - (value->integer < with);
    }
    /* exact for integers too if its mantissa has at least 64 bits */
    const long double left =
        test->integer ? (long double)value->integer : (long double)value->number;
    const long double right = test->with.number;
    return left == right ? 0 : left < right ? -1 : left > right ? 1 : 2;
}

static bool meets(const step *test, const sl_value *value)
{
    if (!value->present) {
        return false;
    }
    const int order = order_of(test, value);
    switch (test->test) {
    case EQUAL:
        return order == 0;
    case DIFFERENT:
        return order != 0;
    case LESS:
        return order == -1;
    case AT_MOST:
        return order == -1 || order == 0;
    case MORE:
        return order == 1;
    case AT_LEAST:
        break;
    }
    return order == 1 || order == 0;
}

bool sl_condition_holds(const sl_condition *condition, const sl_values *values)
{
    bool stack[STACK_MAX] = {false};
    uint32_t top = 0;
    for (uint32_t i = 0; i < condition->count; i++) {
        const step *s = &condition->steps[i];
        if (s->kind == TEST) {
            stack[top++] = meets(s, &values->of[s->field]);
        } else if (s->kind == NOT) {
            stack[top - 1] = !stack[top - 1];
        } else {
            top--;
            stack[top - 1] =
                s->kind == AND ? stack[top - 1] && stack[top] : stack[top - 1] || stack[top];
        }
    }
    return stack[0];
}
