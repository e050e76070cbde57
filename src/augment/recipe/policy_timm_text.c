/* SPDX-License-Identifier: Apache-2.0 */
/* timm's strings (policy_timm.h has their grammar). */
#include "error.h"
#include "number_text.h"
#include "policy_timm.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct timm_text {
    const char *start;
    size_t length;
} timm_text;

enum { OF_RAND = 1 << SL_TIMM_RAND, OF_AUTO = 1 << SL_TIMM_AUTO, OF_MIX = 1 << SL_TIMM_AUG_MIX };

typedef enum timm_key_type { TIMM_WHOLE, TIMM_REAL, TIMM_SET } timm_key_type;

typedef enum timm_key {
    KEY_MAGNITUDE,
    KEY_MAGNITUDE_MAX,
    KEY_DEVIATION,
    KEY_OPS,
    KEY_PROBABILITY,
    KEY_INCREASING,
    KEY_WEIGHTS,
    KEY_SET,
    KEY_WIDTH,
    KEY_DEPTH,
    KEY_ALPHA,
    KEY_BLENDED,
    TIMM_KEYS
} timm_key;

static const struct {
    const char *name;
    uint8_t kinds; /* kinds that have it */
    timm_key_type type;
    double least, most;
    const char *range; /* in words */
} keys[TIMM_KEYS] = {
    [KEY_MAGNITUDE] = {"m", OF_RAND | OF_MIX, TIMM_WHOLE, 0, 100, "a whole number from 0 to 100"},
    [KEY_MAGNITUDE_MAX] = {"mmax", OF_RAND, TIMM_WHOLE, 1, 100, "a whole number from 1 to 100"},
    [KEY_DEVIATION] = {"mstd", OF_RAND | OF_AUTO | OF_MIX, TIMM_REAL, 0, 1e6,
                       "a number from 0 to 1000000"},
    [KEY_OPS] = {"n", OF_RAND, TIMM_WHOLE, 1, SL_POLICY_CHOICES_MAX, "a whole number from 1 to 16"},
    [KEY_PROBABILITY] = {"p", OF_RAND, TIMM_REAL, 0, 1, "a number from 0 to 1"},
    [KEY_INCREASING] = {"inc", OF_RAND, TIMM_WHOLE, 1, 1, "1 (timm reads any number as 1)"},
    [KEY_WEIGHTS] = {"w", OF_RAND, TIMM_WHOLE, 0, 0, "0; timm now uses tweights instead"},
    [KEY_SET] = {"t", OF_RAND, TIMM_SET, 0, 0, "weights, 3a or 3aw"},
    [KEY_WIDTH] = {"w", OF_MIX, TIMM_WHOLE, 1, SL_POLICY_WIDTH_MAX, "a whole number from 1 to 8"},
    [KEY_DEPTH] = {"d", OF_MIX, TIMM_WHOLE, 0, SL_POLICY_DEPTH_MAX, "a whole number from 0 to 8"},
    [KEY_ALPHA] = {"a", OF_MIX, TIMM_REAL, SL_POLICY_ALPHA_MIN, SL_POLICY_ALPHA_MAX,
                   "a number from 0.001 to 1000"},
    [KEY_BLENDED] = {"b", OF_MIX, TIMM_WHOLE, 1, 1, "1 (timm reads any number as 1)"},
};

static const struct {
    const char *name;
    sl_timm_kind kind;
    sl_timm_set set;
} names[] = {
    {"rand", SL_TIMM_RAND, SL_TIMM_ALL},
    {"augmix", SL_TIMM_AUG_MIX, SL_TIMM_ALL},
    {"original", SL_TIMM_AUTO, SL_TIMM_ORIGINAL},
    {"originalr", SL_TIMM_AUTO, SL_TIMM_ORIGINAL_R},
    {"v0", SL_TIMM_AUTO, SL_TIMM_V0},
    {"v0r", SL_TIMM_AUTO, SL_TIMM_V0_R},
    {"3a", SL_TIMM_AUTO, SL_TIMM_3_AUGMENT},
};

#define QUOTED(part) (int)(part).length, (part).start

static bool text_is(timm_text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.start, word, text.length) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes the part before the next dash, and the dash. */
static timm_text take_part(const char **rest)
{
    const timm_text part = {*rest, strcspn(*rest, "-")};
    *rest += part.length;
    *rest += **rest == '-';
    return part;
}

static sluice_status timm_named(sl_timm_policy *policy, timm_text name, sluice_error *error)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (text_is(name, names[i].name)) {
            *policy = (sl_timm_policy){.kind = names[i].kind,
                                       .set = names[i].set,
                                       .num_ops = 2,
                                       .magnitude = 10,
                                       .magnitude_max = 10,
                                       .probability = 0.5,
                                       .width = 3,
                                       .alpha = 1,
                                       .translation = 0.45,
                                       .interpolation = SL_POLICY_RANDOM,
                                       .fill = {124, 116, 104}};
            if (policy->kind == SL_TIMM_AUG_MIX) {
                policy->magnitude = 3;
                policy->deviation = INFINITY;
                policy->translation = 0.3;
            }
            return SLUICE_OK;
        }
    }
    return sl_error_set(
        error, SLUICE_INVALID, "augment",
        "unknown timm policy \"%.*s\": expected rand, augmix, original, originalr, v0, v0r or 3a",
        QUOTED(name));
}

/* Finds a key; TIMM_KEYS: none of this kind. "t" matches any part that begins so; the others end at
 * a digit. */
static timm_key find_timm_key(sl_timm_kind kind, timm_text part, size_t *length)
{
    *length = 0;
    while (*length < part.length && !is_digit(part.start[*length])) {
        ++*length;
    }
    if (kind == SL_TIMM_RAND && part.start[0] == 't') {
        *length = 1;
        return KEY_SET;
    }
    timm_key key = 0;
    while (key < TIMM_KEYS && !((keys[key].kinds >> kind & 1) != 0 &&
                                text_is((timm_text){part.start, *length}, keys[key].name))) {
        key++;
    }
    return key;
}

/* Parses digits, and with `point` a point and digits after it. NaN: not a number. */
static double number_of(timm_text text, bool point)
{
    char copy[SL_TIMM_TEXT_MAX + 1];
    size_t digits = 0;
    size_t points = 0;
    for (size_t i = 0; i < text.length; i++) {
        digits += is_digit(text.start[i]);
        points += text.start[i] == '.';
    }
    if (digits == 0 || digits + points != text.length || points > (point ? 1U : 0U) ||
        !is_digit(text.start[0])) {
        return (double)NAN;
    }
    memcpy(copy, text.start, text.length);
    copy[text.length] = '\0';
    char *end = NULL;
    return sl_read_double(copy, &end);
}

/* Parses "weights", "3a", "3aw"; -1: none of them. */
static int set_number(timm_text text)
{
    return text_is(text, "weights") ? SL_TIMM_WEIGHTS
           : text_is(text, "3a")    ? SL_TIMM_3A
           : text_is(text, "3aw")   ? SL_TIMM_3A_WEIGHTS
                                    : -1;
}

static void set_timm_key(sl_timm_policy *policy, timm_key key, double value)
{
    uint32_t *const wholes[TIMM_KEYS] = {
        [KEY_MAGNITUDE] = &policy->magnitude, [KEY_MAGNITUDE_MAX] = &policy->magnitude_max,
        [KEY_OPS] = &policy->num_ops,         [KEY_WIDTH] = &policy->width,
        [KEY_DEPTH] = &policy->depth,
    };
    if (wholes[key] != NULL) {
        *wholes[key] = (uint32_t)value;
    } else if (key == KEY_DEVIATION) {
        const bool uniform = policy->kind == SL_TIMM_RAND && value > 100;
        policy->deviation = uniform ? (double)INFINITY : value;
    } else if (key == KEY_PROBABILITY) {
        policy->probability = value;
    } else if (key == KEY_ALPHA) {
        policy->alpha = value;
    } else if (key == KEY_BLENDED) {
        policy->blended = true;
    } else if (key == KEY_SET) {
        policy->set = (sl_timm_set)value;
    }
}

static sluice_status timm_section(sl_timm_policy *policy, timm_text part, uint32_t *seen,
                                  sluice_error *error)
{
    size_t length = 0;
    const timm_key key = find_timm_key(policy->kind, part, &length);
    if (key == TIMM_KEYS) {
        static const char *const has[SL_TIMM_KINDS] = {
            [SL_TIMM_RAND] = "rand has m, n, p, mstd, mmax, inc, t and w",
            [SL_TIMM_AUTO] = "this policy has mstd",
            [SL_TIMM_AUG_MIX] = "augmix has m, w, d, a, b and mstd",
        };
        return sl_error_set(error, SLUICE_INVALID, "augment", "unknown part \"%.*s\": %s",
                            QUOTED(part), has[policy->kind]);
    }
    if ((*seen >> key & 1) != 0) {
        return sl_error_set(error, SLUICE_INVALID, "augment", "\"%.*s\" sets %s a second time",
                            QUOTED(part), keys[key].name);
    }
    *seen |= 1U << key;
    const timm_text text = {part.start + length, part.length - length};
    const double value = keys[key].type == TIMM_SET ? set_number(text)
                                                    : number_of(text, keys[key].type == TIMM_REAL);
    const bool right = keys[key].type == TIMM_SET
                           ? value >= 0
                           : value >= keys[key].least && value <= keys[key].most;
    if (!right) {
        return sl_error_set(error, SLUICE_INVALID, "augment", "\"%.*s\": %s takes %s", QUOTED(part),
                            keys[key].name, keys[key].range);
    }
    set_timm_key(policy, key, value);
    return SLUICE_OK;
}

/* Sets the set from inc and w, which it depends on. */
static sluice_status choose_set(sl_timm_policy *policy, uint32_t seen, sluice_error *error)
{
    const bool increasing = (seen >> KEY_INCREASING & 1) != 0;
    const bool old_weights = (seen >> KEY_WEIGHTS & 1) != 0;
    if ((seen >> KEY_SET & 1) != 0) {
        /* inc has no effect there, as in timm: each set grows with the level */
        return old_weights ? sl_error_set(error, SLUICE_INVALID, "augment",
                                          "w and t both choose the weights: give one of them")
                           : SLUICE_OK;
    }
    if (old_weights) {
        policy->set = increasing ? SL_TIMM_OLD_WEIGHTS_INCREASING : SL_TIMM_OLD_WEIGHTS;
    } else if (increasing) {
        policy->set = SL_TIMM_INCREASING;
    }
    return SLUICE_OK;
}

sluice_status sl_timm_parse(sl_timm_policy *policy, const char *text, sluice_error *error)
{
    if (strnlen(text, SL_TIMM_TEXT_MAX + 1) > SL_TIMM_TEXT_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "augment",
                            "the timm policy is too long: it has more than %d characters",
                            SL_TIMM_TEXT_MAX);
    }
    if (text[0] == '\0') {
        return sl_error_set(error, SLUICE_INVALID, "augment", "the policy is an empty string");
    }
    const char *rest = text;
    sluice_status status = timm_named(policy, take_part(&rest), error);
    uint32_t seen = 0;
    while (status == SLUICE_OK && rest[-1] == '-') {
        const timm_text part = take_part(&rest);
        if (part.length == 0) {
            return sl_error_set(error, SLUICE_INVALID, "augment",
                                "\"%s\" has a dash that nothing follows", text);
        }
        status = timm_section(policy, part, &seen, error);
    }
    if (status == SLUICE_OK) {
        status = choose_set(policy, seen, error);
    }
    const char *refusal = status == SLUICE_OK ? sl_timm_refusal(policy) : NULL;
    return refusal == NULL
               ? status
               : sl_error_set(error, SLUICE_INVALID, "augment", "\"%s\": %s", text, refusal);
}
