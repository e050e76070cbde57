/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_find: decides which format a folder has, and explains why it has none. Runs on one thread.
 * Asks the formats in table order; reads only names and first bytes.
 */
#include "folder_find.h"

#include "companions.h"
#include "folder_split.h"
#include "foreign.h"
#include "media.h"
#include "memory.h"
#include "splits.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

/* Number of files to look into when names do not decide. */
enum { LOOKED_AT = 64, NAMES_BYTES = 200, OFFER_BYTES = 360, WHY_BYTES = 640 };

/* ---- formats that claim folders ---- */

static size_t folder_find_mark(const char *folder)
{
    size_t i = 0;
    while (i < SL_FORMATS &&
           (sl_formats[i]->is_marked == NULL || !sl_formats[i]->is_marked(folder))) {
        i++;
    }
    return i;
}

static bool takes_folder(const sl_folder_look *look, size_t number, const char *path)
{
    const sl_format *format = sl_formats[number];
    sl_look folder;
    sl_look_begin_folder(&folder, path);
    if (format->needs_pictures && look->folders.count == 0 &&
        look->of[SL_FORMAT_FOLDER].count == 0) {
        return false;
    }
    return format->is_named != NULL ? look->of[number].count > 0 : format->probe(&folder);
}

/* Rejects a folder with two formats and names files of both, where the formats have files. */
static sluice_status refuse_two(const sl_format *a, const sl_seen_names *of_a, const sl_format *b,
                                const sl_seen_names *of_b, const char *path, sluice_error *error)
{
    char names[2 * NAMES_BYTES] = "";
    size_t used = 0;
    for (int i = 0; i < 2; i++) {
        const sl_seen_names *of = i == 0 ? of_a : of_b;
        if (of->count > 0) {
            used +=
                (size_t)snprintf(names + used, sizeof(names) - used, "%s", used > 0 ? "; " : " (");
            sl_seen_names_write(of, names + used, NAMES_BYTES - 4);
            used += strlen(names + used);
        }
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "the folder contains a dataset of format \"%s\" and one of \"%s\"%s%s: "
                         "name the files of one of them",
                         a->name, b->name, names, used > 0 ? ")" : "");
}

static size_t folder_find_number_of(const sl_format *format)
{
    size_t i = 0;
    while (sl_formats[i] != format) {
        i++;
    }
    return i;
}

/* Finds a format that claims the folder by its contents; NULL: none. */
static sluice_status folder_find_usual(sl_found *found, const char *path, sluice_error *error)
{
    const sl_folder_look *look = found->look;
    for (size_t i = 0; i < SL_FORMAT_FOLDER; i++) {
        const sl_format *before = found->format;
        if (!takes_folder(look, i, path)) {
            continue;
        }
        if (before != NULL) {
            return refuse_two(before, &look->of[folder_find_number_of(before)], sl_formats[i],
                              &look->of[i], path, error);
        }
        found->format = sl_formats[i];
    }
    /* a format recognised by its files alone must not have another such format's files beside it */
    const sl_format *usual = found->format;
    for (size_t i = 0; usual != NULL && usual->is_named != NULL && i < SL_FORMAT_FOLDER; i++) {
        if (sl_formats[i]->is_binary && look->of[i].count > 0) {
            return refuse_two(usual, &look->of[folder_find_number_of(usual)], sl_formats[i],
                              &look->of[i], path, error);
        }
    }
    return SLUICE_OK;
}

/* ---- files that are opened by their paths ---- */

static sluice_status check_splits(const sl_found *found, const char *path, sluice_error *error)
{
    const sl_listed_file *files = found->files.files;
    const sl_split first = sl_split_of(sl_path_name(files[0].path));
    for (uint32_t i = 1; i < found->files.count; i++) {
        if (sl_split_of(sl_path_name(files[i].path)) != first) {
            return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                                 "its %s belong to different splits, such as %.128s and %.128s: "
                                 "name the files of one split (%.256s/%.128s)",
                                 found->format->files, sl_path_name(files[0].path),
                                 sl_path_name(files[i].path), path, sl_path_name(files[0].path));
        }
    }
    return SLUICE_OK;
}

/* Writes "a.json (boxes and classes), b.json": paths relative to the folder. */
static void write_offers(const sl_found *found, const char *path, char *text, size_t bytes)
{
    size_t used = 0;
    for (uint32_t i = 0; i < found->files.count; i++) {
        const char *name = found->files.files[i].path + strlen(path);
        name += strspn(name, "/");
        const char *words =
            found->format->words != NULL ? found->format->words(sl_path_name(name - 1)) : NULL;
        const size_t wanted = strlen(name) + (words != NULL ? strlen(words) : 0) + 8;
        if (i > 0 && used + wanted + sizeof(" and 4294967295 more") > bytes) {
            (void)snprintf(text + used, bytes - used, " and %u more", found->files.count - i);
            return;
        }
        const int length = snprintf(text + used, bytes - used, "%s%.200s%s%s%s", i > 0 ? ", " : "",
                                    name, words != NULL ? " (" : "", words != NULL ? words : "",
                                    words != NULL ? ")" : "");
        used += length > 0 ? (size_t)length : 0;
    }
}

static sluice_status number_of_split(sl_found *found, const char *wanted, uint32_t *number,
                                     sluice_error *error)
{
    const char **paths = (const char **)sl_calloc(found->files.count, sizeof(*paths));
    if (paths == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    for (uint32_t i = 0; i < found->files.count; i++) {
        paths[i] = found->files.files[i].path;
    }
    const sluice_status status = found->format->choose_split(paths, found->files.count, wanted,
                                                             number, &found->passed, error);
    sl_free((void *)paths);
    return status;
}

/* Keeps only the file of the requested split. */
static sluice_status folder_choose_split(sl_found *found, sluice_error *error)
{
    uint32_t chosen = 0;
    sl_file_list one = {.count = 0};
    sluice_status status = number_of_split(found, found->split, &chosen, error);
    status = status == SLUICE_OK ? sl_file_list_add(&one, found->files.files[chosen].path, error)
                                 : status;
    if (status == SLUICE_OK) {
        sl_file_list_close(&found->files);
        found->files = one;
    } else {
        sl_file_list_close(&one);
    }
    return status;
}

/* Writes a split that could be chosen: ", or its split (split "train")". */
static void offer_split(sl_found *found, char *text, size_t bytes)
{
    static const char *const usual[] = {"train", "val", "test"};
    uint32_t number;
    text[0] = '\0';
    for (uint32_t i = 0; found->format->choose_split != NULL && i < 3 && text[0] == '\0'; i++) {
        if (number_of_split(found, usual[i], &number, NULL) == SLUICE_OK) {
            (void)snprintf(text, bytes, ", or a split (" SL_OPTION("split") " \"%s\")", usual[i]);
        }
    }
}

static sluice_status check_single(sl_found *found, const char *path, sluice_error *error)
{
    char offers[OFFER_BYTES] = "";
    char split[64];
    if (found->files.count > 0 && found->split != NULL && found->format != NULL &&
        found->format->choose_split != NULL) {
        return folder_choose_split(found, error);
    }
    if (found->files.count < 2 || found->format == NULL || !found->format->is_single) {
        return SLUICE_OK;
    }
    write_offers(found, path, offers, sizeof(offers));
    offer_split(found, split, sizeof(split));
    return sl_error_file(
        error, SLUICE_INVALID, STAGE, 0, path, -1,
        "the folder contains several %s, and only one can be opened: name one: %s%s",
        found->format->files, offers, split);
}

static sluice_status try_files(sl_found *found, size_t number, const sl_format *format,
                               const char *path, sluice_error *error)
{
    const sl_folder_look *look = found->look;
    sl_file_list files = {.count = 0};
    if (format->is_file == NULL || look->of[number].count == 0) {
        return SLUICE_OK;
    }
    sluice_status status = sl_folder_list_files(&files, path, format, LOOKED_AT, error);
    if (status == SLUICE_OK && files.count > 0 && found->format != NULL) {
        status = refuse_two(found->format, &look->of[folder_find_number_of(found->format)], format,
                            &look->of[number], path, error);
    } else if (status == SLUICE_OK && files.count > 0) {
        found->format = sl_formats[number];
        found->files = files;
        return SLUICE_OK;
    }
    sl_file_list_close(&files);
    return status;
}

/* Tries a table with unusual column names; the user has to say which column names the images. */
static sluice_status try_alone(sl_found *found, const char *path, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && found->format == NULL && i < SL_FORMAT_FOLDER; i++) {
        sl_format named = *sl_formats[i];
        named.is_sure = NULL;
        if (named.is_alone_sure && found->look->of[i].count == 1) {
            status = try_files(found, i, &named, path, error);
        }
    }
    return status;
}

static sluice_status find_files(sl_found *found, const char *path, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && i < SL_FORMAT_FOLDER; i++) {
        status = try_files(found, i, sl_formats[i], path, error);
    }
    if (status == SLUICE_OK) {
        status = try_alone(found, path, error);
    }
    if (status == SLUICE_OK && found->files.count > 1) {
        status = check_single(found, path, error);
    }
    return status == SLUICE_OK && found->files.count > 1 ? check_splits(found, path, error)
                                                         : status;
}

/* ---- annotations beside images ---- */

static sluice_status list_annotations(sl_found *found, const sl_format *format, size_t number,
                                      const char *path, sluice_error *error)
{
    const sl_folder_look *look = found->look;
    const bool beside = look->of[SL_FORMAT_FOLDER].count > 0 && look->folders.count == 0;
    const bool above = look->usual_folders > 0;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < sl_seen_names_kept(&look->annotations); i++) {
        char folder[SL_PATH_BYTES];
        if (sl_path_join(folder, path, look->annotations.names[i])) {
            status = sl_folder_list_files(&found->files, folder, format, LOOKED_AT, error);
        }
    }
    if (status == SLUICE_OK && (beside || above) && look->of[number].count > 0 &&
        look->of[number].count <= LOOKED_AT) {
        status = sl_folder_list_files(&found->files, path, format, LOOKED_AT, error);
    }
    return status;
}

/* Looks for annotations in a folder of images, or in a folder beside image folders. */
static sluice_status find_annotations(sl_found *found, const char *path, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && found->files.count == 0 && i < SL_FORMATS; i++) {
        if (sl_formats[i]->is_annotations) {
            found->format = sl_formats[i];
            status = list_annotations(found, found->format, i, path, error);
        }
    }
    if (found->files.count == 0) {
        found->format = NULL;
    }
    return status == SLUICE_OK && found->files.count > 0 ? check_single(found, path, error)
                                                         : status;
}

/* Rejects annotations beside a dataset of another format; sluice does not guess which is meant. */
static sluice_status refuse_annotations(const sl_found *usual, const char *path,
                                        sluice_error *error)
{
    sl_found other = {.look = usual->look};
    sluice_status status = SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && other.files.count == 0 && i < SL_FORMATS; i++) {
        if (sl_formats[i]->is_annotations && sl_formats[i] != usual->format) {
            sl_format whole = *sl_formats[i];
            whole.is_sure = whole.is_whole != NULL ? whole.is_whole : whole.is_sure;
            other.format = sl_formats[i];
            status = list_annotations(&other, &whole, i, path, error);
        }
    }
    if (status == SLUICE_OK && other.files.count > 0) {
        const char *name = other.files.files[0].path;
        status = sl_error_file(
            error, SLUICE_INVALID, STAGE, 0, path, -1,
            "the folder contains a dataset of format \"%s\" and one of \"%s\": open the second by "
            "its file (%.256s), or move that file elsewhere to open the first",
            usual->format->name, other.format->name, name);
    }
    sl_file_list_close(&other.files);
    return status;
}

/* ---- all steps ---- */

static sluice_status folder_find_format(sl_found *found, const char *path, sluice_error *error)
{
    const sl_folder_look *look = found->look;
    sluice_status status = folder_find_usual(found, path, error);
    if (status == SLUICE_OK && found->format != NULL && found->format->has_annotations) {
        return refuse_annotations(found, path, error);
    }
    if (status < 0 || found->format != NULL) {
        return status;
    }
    const bool only_files = look->folders.count == 0 && look->class_numbers == 0 &&
                            look->of[SL_FORMAT_FOLDER].count == 0;
    status = only_files ? find_files(found, path, error) : find_annotations(found, path, error);
    if (status == SLUICE_OK && found->format == NULL) {
        found->format = sl_formats[SL_FORMAT_FOLDER];
    }
    return status;
}

/* Finds the format of a folder that cannot be listed, by a file with a fixed name. */
static size_t find_unlisted(const char *path)
{
    size_t i = 0;
    sl_look folder;
    for (; i < SL_FORMAT_FOLDER; i++) {
        const sl_format *format = sl_formats[i];
        sl_look_begin_folder(&folder, path);
        if (format->is_named == NULL && format->is_file == NULL && !format->has_annotations &&
            !format->is_annotations && format->probe(&folder)) {
            return i;
        }
    }
    return SL_FORMATS;
}

sluice_status sl_folder_find(sl_found *found, const char *path, sluice_error *error)
{
    size_t marked = folder_find_mark(path);
    if (marked == SL_FORMATS && sl_store_of(path)->lists_nothing) {
        marked = find_unlisted(path);
    }
    if (marked < SL_FORMATS) {
        found->format = sl_formats[marked];
        return SLUICE_OK;
    }
    found->look = sl_calloc(1, sizeof(*found->look));
    if (found->look == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    const sluice_status status = sl_folder_look_at(found->look, path, error);
    return status == SLUICE_OK ? folder_find_format(found, path, error) : status;
}

void sl_found_close(sl_found *found)
{
    sl_file_list_close(&found->files);
    sl_omissions_close(&found->passed);
    sl_free(found->look);
    *found = (sl_found){.format = NULL};
}

/* ---- contents of rejected folders ---- */

/* Writes the sub-folders that are datasets, with their formats: " "a" (lmdb), "b" (npy)". */
static uint32_t write_inner(const sl_folder_look *look, const char *path, char *text, size_t bytes)
{
    uint32_t count = 0;
    size_t used = 0;
    for (uint32_t i = 0; i < sl_seen_names_kept(&look->folders); i++) {
        char inner[SL_PATH_BYTES];
        sl_found found = {.format = NULL};
        const char *name = look->folders.names[i];
        if (!sl_path_join(inner, path, name) || used >= bytes) {
            continue;
        }
        if (sl_folder_find(&found, inner, NULL) == SLUICE_OK && found.format != NULL &&
            found.format != sl_formats[SL_FORMAT_FOLDER]) {
            const int more = snprintf(text + used, bytes - used, "%s\"%.80s\" (%s)",
                                      count > 0 ? ", " : "", name, found.format->name);
            used += more > 0 ? (size_t)more : 0;
            count++;
        }
        sl_found_close(&found);
    }
    return count;
}

static void write_there(const sl_folder_look *look, char *text, size_t bytes)
{
    char files[NAMES_BYTES / 2 + 40] = "";
    char folders[NAMES_BYTES / 2] = "";
    sl_seen_names_write(&look->files, files, sizeof(files));
    sl_seen_names_write(&look->folders, folders, sizeof(folders));
    const int length = look->files.count > 0 ? snprintf(text, bytes, "%llu file%s (%s)",
                                                        (unsigned long long)look->files.count,
                                                        look->files.count > 1 ? "s" : "", files)
                                             : 0;
    const size_t used = length > 0 ? (size_t)length : 0;
    if (look->folders.count > 0 && used < bytes) {
        (void)snprintf(text + used, bytes - used, "%s%llu folder%s (%s)", used > 0 ? ", " : "",
                       (unsigned long long)look->folders.count, look->folders.count > 1 ? "s" : "",
                       folders);
    }
}

/*
 * Finds a format whose files could be opened by their paths if there were no folders beside them.
 */
static const sl_format *find_beside(const sl_folder_look *look)
{
    for (size_t i = 0; i < SL_FORMAT_FOLDER; i++) {
        if (sl_formats[i]->is_binary && look->of[i].count > 0) {
            return sl_formats[i];
        }
    }
    return NULL;
}

/* Writes ".jpg .jpeg .png": the extensions of images in folders. */
static void write_extensions(char *text, size_t bytes)
{
    const char *extension;
    size_t used = 0;
    for (uint32_t i = 0; used < bytes; i++, used = strlen(text)) {
        extension = sl_media_extension(i, SL_MEDIA_IN_FOLDERS);
        if (extension == NULL) {
            return;
        }
        (void)snprintf(text + used, bytes - used, "%s.%s", i > 0 ? " " : "", extension);
    }
}

/*
 * Looks for a file among the first ones whose contents do not match its name; returns what it
 * really is, or NULL.
 */
static const char *find_foreign(const sl_folder_look *look, const char *path, const char **name)
{
    const char *kind = NULL;
    for (uint32_t i = 0; kind == NULL && i < sl_seen_names_kept(&look->files); i++) {
        char file[SL_PATH_BYTES];
        uint8_t head[SL_FOREIGN_HEAD_BYTES];
        *name = look->files.names[i];
        if (sl_path_join(file, path, *name)) {
            kind = sl_foreign_kind(head, sl_store_look(file, head, sizeof(head)));
        }
    }
    return kind;
}

sluice_status sl_folder_refuse(const sl_found *found, const char *path, sluice_error *error)
{
    char there[2 * NAMES_BYTES] = "";
    char inner[NAMES_BYTES] = "";
    const sl_folder_look *look = found->look;
    const sl_format *beside = find_beside(look);
    if (look->files.count + look->folders.count == 0) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "no dataset in it: the folder is empty");
    }
    write_there(look, there, sizeof(there));
    for (uint32_t i = 0; i < sl_seen_names_kept(&look->files); i++) {
        char why[WHY_BYTES];
        if (sl_companion_is_missing(path, look->files.names[i], why, sizeof(why))) {
            return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "no dataset in it: %s",
                                 why);
        }
    }
    if (beside != NULL) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "the folder contains %s beside other files: %s: name the files of the "
                             "dataset (%.128s/%.128s)",
                             beside->files, there, path,
                             look->of[folder_find_number_of(beside)].names[0]);
    }
    const uint32_t datasets = write_inner(look, path, inner, sizeof(inner));
    if (datasets > 0) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "no dataset in it: %s; its folder%s %s: open %s", there,
                             datasets > 1 ? "s have some:" : " has one:", inner,
                             datasets > 1 ? "one of them" : "that");
    }
    const char *name = NULL;
    const char *foreign = find_foreign(look, path, &name);
    if (foreign != NULL) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "no dataset in it: %s; %.100s is %s", there, name, foreign);
    }
    write_extensions(inner, sizeof(inner));
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "no dataset in it: %s; looked for images (*%s), also in its folders, and "
                         "for all known formats",
                         there, inner);
}

/* Describes why a folder may have the split: its format, or its split folders. */
static const char *kind_of_splits(const char *path, const char *wanted)
{
    char inner[SL_PATH_BYTES];
    const char *kind = NULL;
    sl_found found = {.format = NULL};
    sl_file_list splits = {.count = 0};
    if (sl_folder_find(&found, path, NULL) != SLUICE_OK || found.format == NULL) {
        kind = NULL;
    } else if (found.format != sl_formats[SL_FORMAT_FOLDER]) {
        kind = found.format->name;
    } else if (sl_folder_split_find(path, wanted, inner, &splits, NULL) == SLUICE_OK) {
        kind = "one folder per split";
    }
    sl_file_list_close(&splits);
    sl_found_close(&found);
    return kind;
}

sluice_status sl_folder_find_inner_split(const sl_found *found, const char *path,
                                         char inner[SL_PATH_BYTES], sluice_error *error)
{
    char text[OFFER_BYTES] = "";
    size_t used = 0;
    uint32_t count = 0;
    const sl_seen_names *folders = &found->look->folders;
    for (uint32_t i = 0; i < sl_seen_names_kept(folders) && used < sizeof(text); i++) {
        const char *name = folders->names[i];
        const char *kind =
            sl_path_join(inner, path, name) ? kind_of_splits(inner, found->split) : NULL;
        if (kind == NULL) {
            continue;
        }
        if (folders->count == 1 && found->look->of[SL_FORMAT_FOLDER].count == 0) {
            return SLUICE_OK;
        }
        const int more = snprintf(text + used, sizeof(text) - used, "%s\"%.80s\" (%s)",
                                  count > 0 ? ", " : "", name, kind);
        used += more > 0 ? (size_t)more : 0;
        count++;
    }
    return count == 0 ? SLUICE_END
                      : sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                                      SL_OPTION("split") " \"%.64s\": it has no splits itself, but "
                                                         "its folder%s some: %s: open %s",
                                      found->split, count > 1 ? "s have" : " has", text,
                                      count > 1 ? "one of them" : "that");
}

sluice_status sl_folder_check_plain(const sl_found *found, const char *path, sluice_error *error)
{
    const sl_folder_look *look = found->look;
    const sl_format *beside = find_beside(look);
    return beside != NULL
               ? refuse_two(sl_formats[SL_FORMAT_FOLDER], &look->of[SL_FORMAT_FOLDER], beside,
                            &look->of[folder_find_number_of(beside)], path, error)
               : SLUICE_OK;
}
