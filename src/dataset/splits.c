/* SPDX-License-Identifier: Apache-2.0 */
#include "splits.h"

#include "error.h"
#include "store.h"
#include "view.h"

#include <string.h>
#include <strings.h>

#define STAGE "dataset"

static const struct {
    const char *word;
    sl_split split;
} words[] = {
    {"train", SL_SPLIT_TRAIN},      {"training", SL_SPLIT_TRAIN},
    {"trainval", SL_SPLIT_TRAIN},   {"val", SL_SPLIT_VALIDATION},
    {"valid", SL_SPLIT_VALIDATION}, {"validation", SL_SPLIT_VALIDATION},
    {"dev", SL_SPLIT_VALIDATION},   {"eval", SL_SPLIT_VALIDATION},
    {"test", SL_SPLIT_TEST},        {"testing", SL_SPLIT_TEST},
    {"unlabeled", SL_SPLIT_OTHER},  {"unlabelled", SL_SPLIT_OTHER},
};

static bool is_upper(char letter)
{
    return letter >= 'A' && letter <= 'Z';
}

static bool splits_is_letter(char letter)
{
    return is_upper(letter) || (letter >= 'a' && letter <= 'z');
}

/* Letters from `from` on that are a word: "train" of "train2017" and of "trainSet". */
static size_t splits_word_length(const char *from)
{
    size_t length = 0;
    while (splits_is_letter(from[length]) &&
           (length == 0 || !is_upper(from[length]) || is_upper(from[length - 1]))) {
        length++;
    }
    return length;
}

static sl_split split_of_word(const char *from, size_t length)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i].word) == length && strncasecmp(words[i].word, from, length) == 0) {
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

/* "train" of train-00000-of-00002.parquet; false: its name begins with no split's. */
static bool split_of(const char *path, sl_bytes *split)
{
    static const char *const first[] = {"train", "test", "validation", "valid", "val", "dev"};
    const char *name = sl_path_name(path);
    *split = (sl_bytes){(const uint8_t *)name, strcspn(name, "-._")};
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
        if (strlen(first[i]) == split->size && memcmp(first[i], name, split->size) == 0) {
            return true;
        }
    }
    return false;
}

/* A folder often has the files of all splits: nobody means to train on all of them. */
sluice_status sl_splits_check(const sl_listed_file *files, uint32_t count, const char *suffix,
                              sluice_error *error)
{
    sl_bytes first;
    sl_bytes split;
    if (!split_of(files[0].path, &first)) {
        return SLUICE_OK;
    }
    for (uint32_t i = 1; i < count; i++) {
        if (split_of(files[i].path, &split) &&
            (split.size != first.size || memcmp(split.data, first.data, first.size) != 0)) {
            return sl_error_file(error, SLUICE_INVALID, STAGE, 0, files[i].path, -1,
                                 "the files are of different splits, %.*s and %.*s: name those of "
                                 "one (FOLDER/%.*s-*%s)",
                                 (int)first.size, (const char *)first.data, (int)split.size,
                                 (const char *)split.data, (int)first.size,
                                 (const char *)first.data, suffix);
        }
    }
    return SLUICE_OK;
}
