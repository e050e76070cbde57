/* SPDX-License-Identifier: Apache-2.0 */
/* beside: finds images by names that annotations give or share with them. */
#include "beside.h"

#include "hidden.h"
#include "media.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { FOLDERS_MAX = 8, LEVELS_MAX = 4 };

/* ---- names ---- */

static const sl_media *beside_media(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL ? sl_media_of_extension(dot + 1) : NULL;
}

bool sl_beside_is_picture(const char *name)
{
    const sl_media *kind = beside_media(name);
    return kind != NULL && (kind->traits & SL_MEDIA_IN_FOLDERS) != 0;
}

bool sl_beside_is_image(const char *name)
{
    /* Image kinds that media.c lacks. */
    static const char *const others[] = {"mpo", "jfif", "jpe", "jfi", "heif", "hif", "j2k",
                                         "jpx", "tga",  "dng", "cr2", "nef",  "arw", "exr",
                                         "hdr", "pnm",  "dcm", "ico", "psd",  "svg"};
    const sl_media *kind = beside_media(name);
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

size_t sl_beside_stem(const char *path)
{
    const char *dot = strrchr(sl_path_name(path), '.');
    return dot != NULL ? (size_t)(dot - path) : strlen(path);
}

bool sl_beside_ends(const char *path, size_t bytes, const char *suffix)
{
    const size_t length = strlen(suffix);
    return bytes > length && path[bytes - length - 1] != '/' &&
           memcmp(path + bytes - length, suffix, length) == 0;
}

/* ---- paths ---- */

bool sl_beside_path(char path[SL_PATH_BYTES], const char *folder, const char *place, sl_bytes name,
                    const char *ending)
{
    const bool alone = name.size > 0 && name.data[0] == '/';
    const size_t before = strlen(folder);
    const bool parted =
        alone || (before > 0 && folder[before - 1] == '/'); /* a bucket ends in a slash */
    const int length =
        snprintf(path, SL_PATH_BYTES, "%s%s%s%s%.*s%s", alone ? "" : folder, parted ? "" : "/",
                 alone ? "" : place, alone || place[0] == '\0' ? "" : "/", (int)name.size,
                 (const char *)name.data, ending);
    if (length <= 0 || length >= SL_PATH_BYTES) {
        return false;
    }
    (void)sl_path_settle(path);
    return true;
}

bool sl_beside_clean(const char *path, char clean[SL_PATH_BYTES])
{
    int length = snprintf(clean, SL_PATH_BYTES, "%s", path);
    if (length <= 0 || length >= SL_PATH_BYTES) {
        return false;
    }
    while (length > 1 && clean[length - 1] == '/') {
        clean[--length] = '\0';
    }
    return true;
}

size_t sl_beside_component(const char *path, size_t *end, const char **at)
{
    const size_t behind = *end;
    size_t begin = behind;
    while (begin > 0 && path[begin - 1] != '/') {
        begin--;
    }
    *at = path + begin;
    *end = begin > 0 ? begin - 1 : 0;
    return behind - begin;
}

bool sl_beside_swap(const char *path, const char *at, size_t bytes, const char *other,
                    char root[SL_PATH_BYTES], char others[SL_PATH_BYTES])
{
    const size_t before = (size_t)(at - path);
    const int length = before == 0 ? snprintf(root, SL_PATH_BYTES, ".")
                                   : snprintf(root, SL_PATH_BYTES, "%.*s",
                                              (int)(before > 1 ? before - 1 : before), path);
    const int more = snprintf(others, SL_PATH_BYTES, "%s%s", other, at + bytes);
    return length < SL_PATH_BYTES && more < SL_PATH_BYTES;
}

/* ---- files ---- */

static bool beside_write_name(sl_bytes stem, const char *extension, bool capitals,
                              char name[SL_PATH_BYTES])
{
    const int length = snprintf(name, SL_PATH_BYTES, "%.*s.%s", (int)stem.size,
                                (const char *)stem.data, extension);
    for (int i = (int)stem.size; capitals && i < length && i < SL_PATH_BYTES; i++) {
        const char letter = name[i];
        name[i] = (char)(letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter);
    }
    return length < SL_PATH_BYTES;
}

bool sl_beside_find_image(const char *folder, const char *place, sl_bytes stem,
                          sl_beside_letters letters, char name[SL_PATH_BYTES])
{
    char path[SL_PATH_BYTES];
    const char *extension;
    for (int capitals = 0; capitals <= (letters == SL_BESIDE_ANY_CASE); capitals++) {
        for (uint32_t i = 0; (extension = sl_media_extension(i, SL_MEDIA_IN_FOLDERS)) != NULL;
             i++) {
            if (beside_write_name(stem, extension, capitals == 1, name) &&
                sl_beside_path(path, folder, place, (sl_bytes){(uint8_t *)name, strlen(name)},
                               "") &&
                sl_store_has_file(path)) {
                return true;
            }
        }
    }
    return false;
}

static sluice_status beside_find_folder(void *ctx, const sl_store_entry *entry, sluice_error *error)
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

bool sl_beside_has_folders(const char *path)
{
    return sl_store_list((sl_file_name){"dataset", path}, beside_find_folder, &path, NULL) ==
           SLUICE_END;
}

/* ---- a walk ---- */

/* The files of all folders so far, and the folders of the current one. */
typedef struct beside_walked {
    const sl_beside_walk *walk;
    char below[SL_PATH_BYTES];
    char folders[FOLDERS_MAX][NAME_MAX + 1];
    int folder_count, files;
    bool stopped;
} beside_walked;

static sluice_status beside_see(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    beside_walked *w = ctx;
    if (sl_name_is_hidden(entry->name) || entry->kind == SL_ENTRY_OTHER) {
        return SLUICE_OK;
    }
    const sl_beside_step step = w->walk->see(w->walk->ctx, w->below, entry);
    if (step == SL_BESIDE_FOLLOW && entry->kind != SL_ENTRY_FILE && w->folder_count < FOLDERS_MAX) {
        (void)snprintf(w->folders[w->folder_count++], sizeof(w->folders[0]), "%s", entry->name);
    }
    w->files += step == SL_BESIDE_COUNT;
    w->stopped = step == SL_BESIDE_STOP || w->files == w->walk->files_max;
    return w->stopped ? SLUICE_END : SLUICE_OK;
}

static void beside_list(beside_walked *w, int level)
{
    char path[SL_PATH_BYTES];
    char folders[FOLDERS_MAX][NAME_MAX + 1];
    size_t length = strlen(w->walk->folder);
    const size_t before = strlen(w->below);
    w->folder_count = 0;
    (void)snprintf(path, sizeof(path), "%s", w->walk->folder);
    if (sl_path_append(path, &length, sizeof(path), w->below) && sl_store_has_folder(path)) {
        (void)sl_store_list((sl_file_name){"dataset", path}, beside_see, w, NULL);
    }
    const int count = w->folder_count;
    memcpy(folders, w->folders, sizeof(folders));
    for (int i = 0; i < count && !w->stopped && level < LEVELS_MAX && w->walk->deep; i++) {
        size_t bytes = before;
        if (sl_path_append(w->below, &bytes, sizeof(w->below), folders[i])) {
            beside_list(w, level + 1);
        }
        w->below[before] = '\0';
    }
}

void sl_beside_look(const sl_beside_walk *walk)
{
    beside_walked w = {.walk = walk};
    if (strlen(walk->folder) < SL_PATH_BYTES) {
        beside_list(&w, 0);
    }
}
