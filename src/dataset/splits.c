/* SPDX-License-Identifier: Apache-2.0 */
#include "splits.h"

#include "error.h"
#include "name_list.h"
#include "store.h"
#include "view.h"

#include <string.h>
#include <strings.h>

#define STAGE "dataset"

static const struct {
    const char *word;
    sl_split split;
} words[] = {
    {"train", SL_SPLIT_TRAIN},       {"training", SL_SPLIT_TRAIN},
    {"trainval", SL_SPLIT_TRAIN},    {"val", SL_SPLIT_VALIDATION},
    {"valid", SL_SPLIT_VALIDATION},  {"validation", SL_SPLIT_VALIDATION},
    {"dev", SL_SPLIT_VALIDATION},    {"eval", SL_SPLIT_VALIDATION},
    {"test", SL_SPLIT_TEST},         {"testing", SL_SPLIT_TEST},
    {"trainset", SL_SPLIT_TRAIN},    {"traindata", SL_SPLIT_TRAIN},
    {"valset", SL_SPLIT_VALIDATION}, {"valdata", SL_SPLIT_VALIDATION},
    {"testset", SL_SPLIT_TEST},      {"testdata", SL_SPLIT_TEST},
    {"unlabeled", SL_SPLIT_OTHER},   {"unlabelled", SL_SPLIT_OTHER},
};

static bool is_upper(char letter)
{
    return letter >= 'A' && letter <= 'Z';
}

static bool splits_is_letter(char letter)
{
    return is_upper(letter) || (letter >= 'a' && letter <= 'z');
}

/* Returns the length of a word of letters at `from`: "train" in "train2017" and in "trainSet". */
static size_t splits_word_length(const char *from)
{
    size_t length = 0;
    while (splits_is_letter(from[length]) &&
           (length == 0 || !is_upper(from[length]) || is_upper(from[length - 1]))) {
        length++;
    }
    return length;
}

/* First letters of words, one bit each: every folder name is checked, and few have one of these. */
#define INITIAL(letter) (1U << ((letter) - 'a'))

static bool splits_may_begin(const char *from, uint32_t initials)
{
    const unsigned letter = ((unsigned char)from[0] | 0x20U) - 'a';
    return letter < 26 && (initials >> letter & 1) != 0;
}

static bool splits_is_word(const char *word, const char *from, size_t length)
{
    return (from[0] | 0x20) == word[0] && strncasecmp(word, from, length) == 0 &&
           word[length] == '\0';
}

static sl_split split_of_word(const char *from, size_t length)
{
    const uint32_t initials =
        INITIAL('t') | INITIAL('v') | INITIAL('d') | INITIAL('e') | INITIAL('u');
    if (!splits_may_begin(from, initials)) {
        return SL_SPLIT_NONE;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (splits_is_word(words[i].word, from, length)) {
            return words[i].split;
        }
    }
    return SL_SPLIT_NONE;
}

sl_split sl_split_of(const char *name)
{
    sl_split found = SL_SPLIT_NONE;
    for (const char *at = name; *at != '\0' && found == SL_SPLIT_NONE;) {
        const size_t length = splits_word_length(at);
        found = split_of_word(at, length);
        at += length > 0 ? length : 1;
    }
    return found;
}

bool sl_split_is(const char *name)
{
    const size_t length = splits_word_length(name);
    return split_of_word(name, length) != SL_SPLIT_NONE &&
           name[length + strspn(name + length, "0123456789_-")] == '\0';
}

/* Returns whether a word is that of a fold, which a number follows. */
static bool splits_is_fold(const char *from, size_t length)
{
    static const char *const folds[] = {"fold", "kfold", "split", "subset", "partition"};
    const uint32_t initials = INITIAL('f') | INITIAL('k') | INITIAL('s') | INITIAL('p');
    if (!splits_may_begin(from, initials)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(folds) / sizeof(folds[0]); i++) {
        if (splits_is_word(folds[i], from, length)) {
            return true;
        }
    }
    return false;
}

bool sl_split_is_part(const char *name)
{
    const size_t length = splits_word_length(name);
    const bool is_fold = splits_is_fold(name, length);
    if (!is_fold && split_of_word(name, length) == SL_SPLIT_NONE) {
        return false;
    }
    const char *end = name + length + strspn(name + length, "0123456789_- ");
    if (is_fold) {
        return *end == '\0' && strpbrk(name + length, "0123456789") != NULL;
    }
    return *end == '\0' || (splits_is_letter(end[0]) && end[1] == '\0');
}

static bool splits_is_beside_word(const char *from, size_t length)
{
    static const char *const beside[] = {
        "holdout",      "hold",    "held",    "out",     "extra",    "unsup",
        "unsupervised", "public",  "private", "labeled", "labelled", "query",
        "gallery",      "minival", "blind",   "ood",     "calib",    "calibration"};
    const uint32_t initials = INITIAL('h') | INITIAL('o') | INITIAL('e') | INITIAL('u') |
                              INITIAL('p') | INITIAL('l') | INITIAL('q') | INITIAL('g') |
                              INITIAL('m') | INITIAL('b') | INITIAL('c');
    const bool may_be = splits_may_begin(from, initials);
    for (size_t i = 0; may_be && i < sizeof(beside) / sizeof(beside[0]); i++) {
        if (splits_is_word(beside[i], from, length)) {
            return true;
        }
    }
    return split_of_word(from, length) != SL_SPLIT_NONE;
}

bool sl_split_is_beside(const char *name)
{
    uint32_t known = 0;
    for (const char *at = name; *at != '\0';) {
        const size_t length = splits_word_length(at);
        if (length > 0 ? !splits_is_beside_word(at, length)
                       : strchr("0123456789_- .", *at) == NULL) {
            return false;
        }
        known += length > 0;
        at += length > 0 ? length : 1;
    }
    return known > 0;
}

/* Finds the first word of a name that is a split's; NONE: no such word. */
static sl_split splits_find_word(const char *name, size_t *at, size_t *length)
{
    sl_split found = SL_SPLIT_NONE;
    *length = 0;
    for (*at = 0; name[*at] != '\0';) {
        *length = splits_word_length(name + *at);
        found = split_of_word(name + *at, *length);
        if (found != SL_SPLIT_NONE) {
            break;
        }
        *at += *length > 0 ? *length : 1;
    }
    return found;
}

bool sl_splits_are_siblings(const char *a, const char *b)
{
    size_t at_a;
    size_t at_b;
    size_t length_a;
    size_t length_b;
    const sl_split of_a = splits_find_word(a, &at_a, &length_a);
    const sl_split of_b = splits_find_word(b, &at_b, &length_b);
    if (of_a == SL_SPLIT_NONE || of_b == SL_SPLIT_NONE || of_a == of_b ||
        (of_a != SL_SPLIT_TRAIN && of_b != SL_SPLIT_TRAIN)) {
        return false;
    }
    return at_a == at_b && strncasecmp(a, b, at_a) == 0 &&
           strcasecmp(a + at_a + length_a, b + at_b + length_b) == 0;
}

/* The kinds of split of a name's words, one bit each. */
enum { TRAINVAL = SL_SPLIT_OTHER + 1 };
static uint32_t splits_kinds_of(const char *name)
{
    static const char both[] = "trainval";
    uint32_t kinds = 0;
    for (const char *at = name; *at != '\0';) {
        const size_t length = splits_word_length(at);
        const bool is_both = length == sizeof(both) - 1 && strncasecmp(both, at, length) == 0;
        kinds |= 1U << (is_both ? (uint32_t)TRAINVAL : (uint32_t)split_of_word(at, length));
        at += length > 0 ? length : 1;
    }
    return kinds & ~(1U << SL_SPLIT_NONE);
}

bool sl_split_means(const char *name, const char *wanted)
{
    const uint32_t kinds = wanted[splits_word_length(wanted)] == '\0' ? splits_kinds_of(wanted) : 0;
    return kinds != 0 && splits_kinds_of(name) == kinds;
}

bool sl_splits_are_parts(const char *a, const char *b)
{
    size_t at_a;
    size_t at_b;
    size_t length;
    const sl_split of = splits_find_word(a, &at_a, &length);
    return of != SL_SPLIT_NONE && splits_find_word(b, &at_b, &length) == of && at_a == at_b &&
           strncasecmp(a, b, at_a) == 0;
}

/* Counts and lists the names of these kinds; stores the number of the last one. */
static uint32_t splits_alike(const char *const *names, uint32_t count, uint32_t kinds,
                             uint32_t *number, sl_name_list *alike)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count && kinds != 0; i++) {
        if (splits_kinds_of(names[i]) == kinds) {
            sl_name_list_add(alike, names[i]);
            *number = i;
            found++;
        }
    }
    return found;
}

sluice_status sl_split_choose(const char *const *names, uint32_t count, const char *wanted,
                              uint32_t *number, sluice_error *error)
{
    sl_name_list all;
    sl_name_list alike;
    sl_name_list_begin(&all);
    sl_name_list_begin(&alike);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], wanted) == 0) {
            *number = i;
            return SLUICE_OK;
        }
        sl_name_list_add(&all, names[i]);
    }
    const bool is_word = wanted[splits_word_length(wanted)] == '\0';
    const uint32_t kinds = is_word ? splits_kinds_of(wanted) : 0;
    const uint32_t found = splits_alike(names, count, kinds, number, &alike);
    if (found == 1) {
        return SLUICE_OK;
    }
    if (found > 1) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            SL_OPTION("split") " \"%.128s\" may mean %s: write one of these names",
                            wanted, alike.text);
    }
    return sl_error_set(error, SLUICE_INVALID, STAGE,
                        SL_OPTION("split") " \"%.128s\": no such split: the splits are %s", wanted,
                        all.text);
}
