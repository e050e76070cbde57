/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_look.h"

#include "error.h"
#include "hidden.h"
#include "media.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Files that are looked at, folders of them, and how deep those may be nested for that. */
enum { LOOKED_AT = 16, FOLDERS_LOOKED_AT = 8, DEEP = 4 };

/* ---- names ---- */

static const sl_media *pair_media(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL ? sl_media_of_extension(dot + 1) : NULL;
}

bool sl_pair_is_picture(const char *name)
{
    const sl_media *kind = pair_media(name);
    return kind != NULL && (kind->traits & SL_MEDIA_IN_FOLDERS) != 0;
}

bool sl_pair_is_image(const char *name)
{
    /* Kinds that no codec here is of. */
    static const char *const others[] = {"mpo", "jfif", "jpe", "jfi", "heif", "hif", "j2k",
                                         "jpx", "tga",  "dng", "cr2", "nef",  "arw", "exr",
                                         "hdr", "pnm",  "dcm", "ico", "psd",  "svg"};
    const sl_media *kind = pair_media(name);
    const char *dot = strrchr(name, '.');
    if (kind != NULL) {
        return (kind->traits & SL_MEDIA_PICTURE) != 0;
    }
    bool found = false;
    for (size_t i = 0; dot != NULL && i < sizeof(others) / sizeof(others[0]) && !found; i++) {
        found = strcasecmp(dot + 1, others[i]) == 0;
    }
    return found;
}

size_t sl_pair_stem(const char *path)
{
    const char *dot = strrchr(sl_path_name(path), '.');
    return dot != NULL ? (size_t)(dot - path) : strlen(path);
}

bool sl_pair_ends(const char *path, size_t bytes, const char *suffix)
{
    const size_t length = strlen(suffix);
    return bytes > length && path[bytes - length - 1] != '/' &&
           memcmp(path + bytes - length, suffix, length) == 0;
}

/* ---- a look at two folders ---- */

typedef struct looker {
    const sl_pair *pair;
    char below[SL_PATH_BYTES]; /* the folder that is looked at, from that of the others */
    char folders[FOLDERS_LOOKED_AT][NAME_MAX + 1]; /* in it */
    int folder_count, looked_at;
    bool found, is_for_others;
} looker;

static bool pair_path(char path[SL_PATH_BYTES], const char *root, const char *folder,
                      const char *below)
{
    const int length = snprintf(path, SL_PATH_BYTES, "%s/%s%s%s", root, folder,
                                below[0] != '\0' ? "/" : "", below);
    return length > 0 && length < SL_PATH_BYTES;
}

/* Whether there is a picture of that stem, with any extension. */
static bool pair_has_picture(const looker *l, const char *name, size_t stem)
{
    char folder[SL_PATH_BYTES];
    char path[SL_PATH_BYTES + NAME_MAX + 64];
    const char *extension;
    if (!pair_path(folder, l->pair->root, l->pair->pictures, l->below)) {
        return false;
    }
    for (uint32_t i = 0; (extension = sl_media_extension(i, SL_MEDIA_IN_FOLDERS)) != NULL; i++) {
        const int begin = snprintf(path, sizeof(path), "%s/%.*s%s", folder, (int)stem, name,
                                   l->pair->kind->picture);
        const int length = snprintf(path + begin, sizeof(path) - (size_t)begin, ".%s", extension);
        if (begin + length < SL_PATH_BYTES && sl_store_has_file(path)) {
            return true;
        }
        for (char *letter = path + begin; *letter != '\0'; letter++) {
            *letter = (char)(*letter >= 'a' && *letter <= 'z' ? *letter - 'a' + 'A' : *letter);
        }
        if (begin + length < SL_PATH_BYTES && sl_store_has_file(path)) {
            return true;
        }
    }
    return false;
}

static bool pair_belongs(const looker *l, const char *name)
{
    const char *const *suffixes = l->pair->kind->suffixes;
    const size_t stem = sl_pair_stem(name);
    for (uint32_t i = 0; i < SL_PAIR_SUFFIXES && suffixes[i] != NULL; i++) {
        if (sl_pair_ends(name, stem, suffixes[i]) &&
            pair_has_picture(l, name, stem - strlen(suffixes[i]))) {
            return true;
        }
    }
    return false;
}

static bool pair_holds(const looker *l, const char *name)
{
    char folder[SL_PATH_BYTES];
    char path[SL_PATH_BYTES];
    return l->pair->kind->holds == NULL ||
           (pair_path(folder, l->pair->root, l->pair->others, l->below) &&
            sl_path_join(path, folder, name) && l->pair->kind->holds(path));
}

static sluice_status pair_look_at(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    looker *l = ctx;
    const char *name = entry->name;
    if (sl_name_is_hidden(name) || entry->kind == SL_ENTRY_OTHER) {
        return SLUICE_OK;
    }
    if (l->pair->kind->takes(name) && entry->kind != SL_ENTRY_FOLDER) {
        l->looked_at++;
        l->found = pair_belongs(l, name) && pair_holds(l, name);
    } else if (entry->kind != SL_ENTRY_FILE && l->folder_count < FOLDERS_LOOKED_AT) {
        (void)snprintf(l->folders[l->folder_count++], sizeof(l->folders[0]), "%s", name);
    }
    /* COCO's annotations are looked for later, and may have such folders beside them. */
    l->is_for_others = l->is_for_others || (l->below[0] == '\0' && sl_ends_with(name, ".json"));
    return l->found || l->looked_at == LOOKED_AT ? SLUICE_END : SLUICE_OK;
}

static bool pair_look_in(looker *l, int depth)
{
    char path[SL_PATH_BYTES];
    const size_t length = strlen(l->below);
    char folders[FOLDERS_LOOKED_AT][NAME_MAX + 1];
    l->folder_count = 0;
    if (pair_path(path, l->pair->root, l->pair->others, l->below) && sl_store_has_folder(path)) {
        (void)sl_store_list((sl_file_name){"dataset", path}, pair_look_at, l, NULL);
    }
    const int count = l->folder_count;
    memcpy(folders, l->folders, sizeof(folders));
    for (int i = 0;
         i < count && !l->found && l->looked_at < LOOKED_AT && depth < DEEP && l->pair->deep; i++) {
        const int more = snprintf(l->below + length, sizeof(l->below) - length, "%s%s",
                                  length > 0 ? "/" : "", folders[i]);
        if (more > 0 && (size_t)more < sizeof(l->below) - length) {
            (void)pair_look_in(l, depth + 1);
        }
        l->below[length] = '\0';
    }
    return l->found;
}

bool sl_pair_is(const sl_pair *pair)
{
    looker l = {.pair = pair};
    return pair_look_in(&l, 0) && (pair->beside_json || !l.is_for_others);
}

/* ---- a folder of pictures ---- */

bool sl_pair_swap(const char *path, const char *at, size_t bytes, const char *other,
                  char root[SL_PATH_BYTES], char others[SL_PATH_BYTES])
{
    const size_t before = (size_t)(at - path);
    const int length = before == 0 ? snprintf(root, SL_PATH_BYTES, ".")
                                   : snprintf(root, SL_PATH_BYTES, "%.*s",
                                              (int)(before > 1 ? before - 1 : before), path);
    const int more = snprintf(others, SL_PATH_BYTES, "%s%s", other, at + bytes);
    return length < SL_PATH_BYTES && more < SL_PATH_BYTES;
}

static sluice_status pair_find_folder(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    char path[SL_PATH_BYTES];
    const char *const *folder = ctx;
    return !sl_name_is_hidden(entry->name) && strncmp(entry->name, "__", 2) != 0 &&
                   entry->kind != SL_ENTRY_FILE && sl_path_join(path, *folder, entry->name) &&
                   sl_store_is_folder(entry, path)
               ? SLUICE_END
               : SLUICE_OK;
}

bool sl_pair_has_folders(const char *path)
{
    return sl_store_list((sl_file_name){"dataset", path}, pair_find_folder, &path, NULL) ==
           SLUICE_END;
}

/* ---- doubts ---- */

void sl_pair_search_begin(sl_pair_search *search)
{
    search->doubt = (sl_store_doubt){.sys_errno = 0};
    search->before = sl_store_note_doubts(&search->doubt);
}

sluice_status sl_pair_search_end(sl_pair_search *search, sluice_status status, sluice_error *error)
{
    (void)sl_store_note_doubts(search->before);
    return search->doubt.path[0] != '\0' && status != SLUICE_IO && status != SLUICE_NOMEM
               ? sl_error_file(error, SLUICE_IO, "dataset", search->doubt.sys_errno,
                               search->doubt.path, -1, "cannot find what the dataset is")
               : status;
}
