/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_files: finds splits among the files of one folder by their names. Pure, except for the
 * list.
 */
#include "error.h"
#include "memory.h"
#include "name_list.h"
#include "option_text.h"
#include "splits.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { STEMS_MAX = 64, STEM_BYTES = 256 };

/* The splits found. */
typedef struct stems {
    char of[STEMS_MAX][STEM_BYTES];
    uint32_t count;
} stems;

/* Returns whether a text is an extension: letters and digits, the first of them a letter. */
static bool is_extension(const char *text, size_t bytes)
{
    bool good = bytes > 0 && bytes <= 8 && !(text[0] >= '0' && text[0] <= '9');
    for (size_t i = 0; good && i < bytes; i++) {
        const char c = text[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    }
    return good;
}

static size_t without_extensions(const char *name)
{
    const char *dot = strrchr(name, '.');
    size_t length = dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name);
    for (;;) {
        size_t at = length;
        while (at > 1 && name[at - 1] != '.') {
            at--;
        }
        if (at <= 1 || !is_extension(name + at, length - at)) {
            return length;
        }
        length = at - 1;
    }
}

/* Returns the length without numbers at the end: "-00000-of-00002", "_17". */
static size_t without_numbers(const char *name, size_t length)
{
    for (;;) {
        size_t at = length;
        while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') {
            at--;
        }
        while (at > 0 && strchr("-_.", name[at - 1]) != NULL) {
            at--;
        }
        const bool is_of =
            at >= 3 && memcmp(name + at - 2, "of", 2) == 0 && strchr("-_", name[at - 3]) != NULL;
        at -= is_of ? 3 : 0;
        if (at == length || at == 0) {
            return length;
        }
        length = at;
    }
}

/*
 * Returns whether a text begins with "-00000-of-00002", followed by anything: an extension,
 * "-<hash>".
 */
static bool split_files_is_number(const char *text)
{
    static const char digits[] = "0123456789";
    const size_t first =
        text[0] != '\0' && strchr("-_.", text[0]) != NULL ? strspn(text + 1, digits) : 0;
    const char *of = text + 1 + first;
    if (first == 0 || (strncmp(of, "-of-", 4) != 0 && strncmp(of, "_of_", 4) != 0)) {
        return false;
    }
    const size_t second = strspn(of + 4, digits);
    return second > 0 && strchr("-_.", of[4 + second]) != NULL; /* the end too */
}

size_t sl_split_before_number(const char *name)
{
    for (size_t at = 1; name[0] != '\0' && name[at] != '\0'; at++) {
        if (split_files_is_number(name + at)) {
            return at;
        }
    }
    return 0;
}

static void stem_of_path(const char *path, char stem[STEM_BYTES])
{
    const char *name = sl_path_name(path);
    size_t length = sl_split_before_number(name);
    length = length > 0 ? length : without_numbers(name, without_extensions(name));
    length = length < STEM_BYTES ? length : STEM_BYTES - 1;
    memcpy(stem, name, length);
    stem[length] = '\0';
}

/* Finds the splits; skips a name that is neither like a split's nor the wanted one. */
static void find_stems(stems *found, const sl_file_list *files, const char *wanted)
{
    char stem[STEM_BYTES];
    found->count = 0;
    for (uint32_t i = 0; i < files->count && found->count < STEMS_MAX; i++) {
        uint32_t k = 0;
        stem_of_path(files->files[i].path, stem);
        while (k < found->count && strcmp(found->of[k], stem) != 0) {
            k++;
        }
        const bool is_one =
            sl_split_of(stem) != SL_SPLIT_NONE || (wanted != NULL && strcmp(stem, wanted) == 0);
        if (k == found->count && is_one) {
            memcpy(found->of[found->count++], stem, sizeof(stem));
        }
    }
}

static sluice_status check_stems_alike(const stems *found, const char *folder, sluice_error *error)
{
    sl_name_list names;
    bool several = false;
    sl_name_list_begin(&names);
    for (uint32_t i = 0; i < found->count; i++) {
        several = several || sl_split_of(found->of[i]) != sl_split_of(found->of[0]);
        sl_name_list_add(&names, found->of[i]);
    }
    return several ? sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                                   "its files belong to several splits: %s: choose one (" SL_OPTION(
                                       "split") " \"%.200s\"), or name its files",
                                   names.text, found->of[0])
                   : SLUICE_OK;
}

/* The name of a split, or all names that a word stands for. */
typedef struct meant {
    const char *wanted;
    const char *like; /* NULL: the name itself exists */
} meant;

static bool split_files_is_meant(const meant *m, const char *stem)
{
    return m->like == NULL ? strcmp(stem, m->wanted) == 0
                           : sl_split_means(stem, m->wanted) && sl_splits_are_parts(stem, m->like);
}

/* Finds the wanted names. False: none matches, or those of several datasets do. */
static bool find_meant(meant *m, const stems *found, const char *wanted)
{
    *m = (meant){.wanted = wanted};
    for (uint32_t i = 0; i < found->count; i++) {
        if (strcmp(found->of[i], wanted) == 0) {
            return true;
        }
    }
    for (uint32_t i = 0; i < found->count; i++) {
        if (!sl_split_means(found->of[i], wanted)) {
            continue;
        }
        if (m->like != NULL && !sl_splits_are_parts(found->of[i], m->like)) {
            return false;
        }
        m->like = m->like != NULL ? m->like : found->of[i];
    }
    return m->like != NULL;
}

static void keep_meant(sl_file_list *files, const meant *m, sl_omissions *omissions)
{
    char own[STEM_BYTES];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        stem_of_path(files->files[i].path, own);
        if (split_files_is_meant(m, own)) {
            files->files[kept++] = files->files[i];
        } else {
            sl_omit(omissions, SL_OMITTED_THINGS, "files of other splits", files->files[i].path);
            sl_free(files->files[i].path);
        }
    }
    files->count = kept;
}

/* Rejects a wanted split that matches no name, or several. */
static sluice_status refuse_wanted(const stems *found, const char *folder, const char *wanted,
                                   sluice_error *error)
{
    const char *names[STEMS_MAX];
    uint32_t number = 0;
    if (found->count == 0) {
        return sl_error_file(
            error, SLUICE_INVALID, STAGE, 0, folder, -1,
            SL_OPTION("split") " \"%.64s\": none of its files is named like a split", wanted);
    }
    for (uint32_t i = 0; i < found->count; i++) {
        names[i] = found->of[i];
    }
    const sluice_status status = sl_split_choose(names, found->count, wanted, &number, error);
    if (status < 0 && error != NULL) {
        sl_error_set_path(error, folder);
    }
    return status;
}

sluice_status sl_split_files(sl_file_list *files, const char *folder, const char *wanted,
                             sl_omissions *omissions, sluice_error *error)
{
    meant m;
    sluice_status status = SLUICE_OK;
    stems *found = sl_malloc(sizeof(*found));
    if (found == NULL) {
        return sl_no_memory(error, STAGE, "for the names of splits");
    }
    find_stems(found, files, wanted);
    if (wanted == NULL) {
        status = check_stems_alike(found, folder, error);
    } else if (find_meant(&m, found, wanted)) {
        keep_meant(files, &m, omissions);
    } else {
        status = refuse_wanted(found, folder, wanted, error);
    }
    sl_free(found);
    return status;
}
