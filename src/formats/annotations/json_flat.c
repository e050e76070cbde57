/* SPDX-License-Identifier: Apache-2.0 */
/* json_flat: parses objects of plain numbers, texts without escapes, and lists of numbers. */
#include "json_flat.h"

#include <string.h>

/*
 * A whole number of 15 digits and a power of ten up to 10^22 are exact in binary64, so their
 * quotient is rounded once, like strtod's result (W. D. Clinger, PLDI 1990).
 */
enum { INTEGER_DIGITS = 18, REAL_DIGITS = 15, KEY_BYTES = 64 };

static const double powers[REAL_DIGITS] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                           1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};

typedef struct flat_text {
    const uint8_t *at, *end;
} flat_text;

static bool flat_skip(flat_text *t, char sign)
{
    const bool found = t->at < t->end && *t->at == (uint8_t)sign;
    t->at += found;
    return found;
}

static void flat_blanks(flat_text *t)
{
    while (t->at < t->end &&
           (*t->at == ' ' || *t->at == '\n' || *t->at == '\r' || *t->at == '\t')) {
        t->at++;
    }
}

/* Appends digits to a number, exact up to 19 digits; returns the number of digits. */
static size_t flat_digits(flat_text *t, uint64_t *number)
{
    const uint8_t *from = t->at;
    while (t->at < t->end && *t->at >= '0' && *t->at <= '9') {
        *number = *number * 10 + (uint64_t)(*t->at++ - '0');
    }
    return (size_t)(t->at - from);
}

/* Parses a number without an exponent. */
static json_t *flat_number(flat_text *t)
{
    uint64_t number = 0;
    const bool is_negative = flat_skip(t, '-');
    const uint8_t *first = t->at;
    const size_t digits = flat_digits(t, &number);
    if (digits == 0 || digits > INTEGER_DIGITS || (digits > 1 && *first == '0')) {
        return NULL;
    }
    if (t->at < t->end && (*t->at == 'e' || *t->at == 'E')) {
        return NULL;
    }
    if (!flat_skip(t, '.')) {
        return json_integer(is_negative ? -(json_int_t)number : (json_int_t)number);
    }
    const size_t places = flat_digits(t, &number);
    if (places == 0 || digits + places > REAL_DIGITS ||
        (t->at < t->end && (*t->at == 'e' || *t->at == 'E'))) {
        return NULL;
    }
    const double real = (double)number / powers[places];
    return json_real(is_negative ? -real : real);
}

/* Reads a text of plain ASCII without escapes, from its quote on. False: another kind of text. */
static bool flat_plain(flat_text *t, sl_bytes *text)
{
    if (!flat_skip(t, '"')) {
        return false;
    }
    const uint8_t *from = t->at;
    while (t->at < t->end && *t->at >= ' ' && *t->at < 0x7f && *t->at != '"' && *t->at != '\\') {
        t->at++;
    }
    *text = (sl_bytes){from, (size_t)(t->at - from)};
    return flat_skip(t, '"');
}

static json_t *flat_string(flat_text *t)
{
    sl_bytes text;
    return flat_plain(t, &text) ? json_stringn_nocheck((const char *)text.data, text.size) : NULL;
}

/* Appends numbers up to the bracket that closes the list. */
static bool flat_numbers(flat_text *t, json_t *list)
{
    flat_blanks(t);
    if (flat_skip(t, ']')) {
        return true;
    }
    do {
        flat_blanks(t);
        if (json_array_append_new(list, flat_number(t)) != 0) { /* it rejects NULL */
            return false;
        }
        flat_blanks(t);
    } while (flat_skip(t, ','));
    return flat_skip(t, ']');
}

static json_t *flat_list(flat_text *t)
{
    json_t *list = flat_skip(t, '[') ? json_array() : NULL;
    if (list != NULL && !flat_numbers(t, list)) {
        json_decref(list);
        return NULL;
    }
    return list;
}

static json_t *flat_word(flat_text *t)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const size_t length = strlen(words[i]);
        if ((size_t)(t->end - t->at) > length && memcmp(t->at, words[i], length) == 0) {
            t->at += length;
            return i == 0 ? json_true() : i == 1 ? json_false() : json_null();
        }
    }
    return NULL;
}

static json_t *flat_value(flat_text *t)
{
    switch (t->at < t->end ? *t->at : 0) {
    case '"':
        return flat_string(t);
    case '[':
        return flat_list(t);
    case 't':
    case 'f':
    case 'n':
        return flat_word(t);
    default:
        return flat_number(t);
    }
}

/* Reads a member. False if its name is a duplicate or the value is not simple. */
static bool flat_member(flat_text *t, json_t *object)
{
    char key[KEY_BYTES];
    sl_bytes name;
    flat_blanks(t);
    if (!flat_plain(t, &name) || name.size >= sizeof(key)) {
        return false;
    }
    memcpy(key, name.data, name.size);
    key[name.size] = '\0';
    flat_blanks(t);
    if (!flat_skip(t, ':') || json_object_get(object, key) != NULL) {
        return false;
    }
    flat_blanks(t);
    const bool fine = json_object_set_new_nocheck(object, key, flat_value(t)) == 0;
    flat_blanks(t);
    return fine;
}

static bool flat_members(flat_text *t, json_t *object)
{
    if (flat_skip(t, '}')) {
        return t->at == t->end;
    }
    do {
        if (!flat_member(t, object)) {
            return false;
        }
    } while (flat_skip(t, ','));
    return flat_skip(t, '}') && t->at == t->end;
}

json_t *sl_json_flat_parse(sl_bytes text)
{
    flat_text t = {text.data, text.data + text.size};
    json_t *object =
        text.size <= SL_JSON_FLAT_BYTES_MAX && flat_skip(&t, '{') ? json_object() : NULL;
    if (object != NULL && !flat_members(&t, object)) {
        json_decref(object);
        return NULL;
    }
    return object;
}
