/* SPDX-License-Identifier: Apache-2.0 */
/* Splits of files that lie in one folder, by the files' names. Pure, except for the list. */
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

/* The splits that are there. */
typedef struct stems {
    char of[STEMS_MAX][STEM_BYTES];
    uint32_t count;
} stems;

/* Whether it is an extension: letters and digits that begin with a letter. */
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

/* Without the numbers at the end: "-00000-of-00002", "_17". */
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

static void stem_of_path(const char *path, char stem[STEM_BYTES])
{
    const char *name = sl_path_name(path);
    size_t length = without_numbers(name, without_extensions(name));
    length = length < STEM_BYTES ? length : STEM_BYTES - 1;
    memcpy(stem, name, length);
    stem[length] = '\0';
}

/* What is called neither after a split nor as wanted is not one. */
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
                                   "its files are of several splits: %s: choose one "
                                   "(" SL_OPTION("split") " \"%.64s\"), or name its files",
                                   names.text, found->of[0])
                   : SLUICE_OK;
}

static void keep_stem(sl_file_list *files, const char *stem, sl_omissions *omissions)
{
    char own[STEM_BYTES];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        stem_of_path(files->files[i].path, own);
        if (strcmp(own, stem) == 0) {
            files->files[kept++] = files->files[i];
        } else {
            sl_omit(omissions, SL_OMITTED_THINGS, "files of other splits", files->files[i].path);
            sl_free(files->files[i].path);
        }
    }
    files->count = kept;
}

sluice_status sl_split_files(sl_file_list *files, const char *folder, const char *wanted,
                             sl_omissions *omissions, sluice_error *error)
{
    const char *names[STEMS_MAX];
    uint32_t number = 0;
    stems *found = sl_malloc(sizeof(*found));
    if (found == NULL) {
        return sl_no_memory(error, STAGE, "for the names of splits");
    }
    find_stems(found, files, wanted);
    for (uint32_t i = 0; i < found->count; i++) {
        names[i] = found->of[i];
    }
    sluice_status status = SLUICE_OK;
    if (wanted == NULL) {
        status = check_stems_alike(found, folder, error);
    } else if (found->count == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                               SL_OPTION("split") " \"%.64s\": none of its files is called after a "
                                                  "split",
                               wanted);
    } else {
        status = sl_split_choose(names, found->count, wanted, &number, error);
        if (status < 0 && error != NULL) {
            sl_error_set_path(error, folder);
        }
    }
    if (status == SLUICE_OK && wanted != NULL) {
        keep_stem(files, found->of[number], omissions);
    }
    sl_free(found);
    return status;
}
