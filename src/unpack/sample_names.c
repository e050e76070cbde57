/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_names: makes safe, unique file names from the keys of samples. One owner.
 *
 * Keys are untrusted: no name leads out of the folder.
 */
#include "sample_names.h"

#include "error.h"
#include "media.h"
#include "memory.h"
#include "rejected.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STAGE "unpack"

enum {
    COMPONENT_BYTES = 255, /* limit of file systems */
    COMPONENTS_MAX = 32,
    SUFFIX_ROOM = SL_SUFFIX_BYTES, /* a dot, and the longest suffix */
    PICTURE_ROOM = 6,              /* the same for images: ".jpeg" */
    ROOM_MIN = 64
};

static sluice_status sample_names_no_memory(sluice_error *error)
{
    return sl_no_memory(error, STAGE, "for the names of files");
}

/* ---- safe names ---- */

static bool is_component_safe(const char *component, size_t bytes)
{
    if (bytes == 0 || component[0] == '.') {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char letter = (unsigned char)component[i];
        if (letter < 32 || letter == 127 || letter == '\\' || letter == '/') {
            return false;
        }
    }
    return true;
}

/*
 * Returns whether a component is like __this__, below which readers of tars ignore files. One that
 * begins like it may get such an end from a suffix, and counts too.
 */
static bool sample_names_is_meta(const char *component, size_t bytes, bool last)
{
    return bytes >= 2 && memcmp(component, "__", 2) == 0 &&
           (last || memcmp(component + bytes - 2, "__", 2) == 0);
}

/* Checks the length limit of components, which archives do not have. */
static bool is_short(const sl_sample_names *names, size_t bytes)
{
    return names->form == SLUICE_UNPACK_TAR || bytes <= COMPONENT_BYTES;
}

static bool is_path_safe(const sl_sample_names *names, const char *path)
{
    uint32_t components = 0;
    if (strlen(path) + names->suffix_capacity >= names->capacity) {
        return false;
    }
    for (;;) {
        const size_t bytes = strcspn(path, "/");
        const bool last = path[bytes] == '\0';
        if (!is_component_safe(path, bytes) || !is_short(names, bytes) ||
            ++components > COMPONENTS_MAX ||
            (names->form == SLUICE_UNPACK_TAR && sample_names_is_meta(path, bytes, last))) {
            return false;
        }
        if (last) {
            return is_short(names, bytes + names->suffix_capacity);
        }
        path += bytes + 1;
    }
}

/* ---- unused names ---- */

void sl_sample_names_path(const sl_sample_name *name, const sl_members *members, uint32_t number,
                          char path[SL_NAME_BYTES])
{
    const bool own = number == members->picture && name->extension[0] != '\0';
    /* it fits: is_path_safe, and numbers are short */
    (void)snprintf(path, SL_NAME_BYTES, "%.*s.%s", SL_NAME_BYTES - SUFFIX_ROOM - 1, name->base,
                   own ? name->extension : members->of[number].suffix);
}

static bool is_file_free(const sl_sample_names *names, const char *path)
{
    const size_t bytes = strlen(path);
    return !sl_name_set_has(&names->taken, SL_NAME_FILE, path, bytes) &&
           !sl_name_set_has(&names->taken, SL_NAME_FOLDER, path, bytes);
}

/* Returns whether no file has the name of a needed folder. */
static bool are_folders_free(const sl_sample_names *names, const char *base)
{
    for (const char *slash = strchr(base, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        if (sl_name_set_has(&names->taken, SL_NAME_FILE, base, (size_t)(slash - base))) {
            return false;
        }
    }
    return true;
}

static bool is_free(const sl_sample_names *names, const sl_members *members,
                    const sl_sample_name *name)
{
    char path[SL_NAME_BYTES];
    /* files of two samples with the same stem would be ambiguous, unless they are only images */
    if ((names->others || names->form == SLUICE_UNPACK_TAR) &&
        sl_name_set_has(&names->taken, SL_NAME_STEM, name->base, strlen(name->base))) {
        return false;
    }
    if (names->form == SLUICE_UNPACK_TAR) {
        return true;
    }
    for (uint32_t i = 0; i < members->count; i++) {
        sl_sample_names_path(name, members, i, path);
        if (!is_file_free(names, path)) {
            return false;
        }
    }
    return are_folders_free(names, name->base);
}

/* ---- names of samples ---- */

/* Returns the length of an image extension that a key of an image folder may have. */
static size_t picture_extension(const char *name)
{
    const char *dot = strrchr(name, '.');
    if (dot == NULL || dot == name || dot[-1] == '/' || strchr(dot, '/') != NULL) {
        return 0;
    }
    const sl_media *kind = sl_media_of_extension(dot + 1);
    return kind != NULL && (kind->traits & SL_MEDIA_IN_FOLDERS) != 0 ? strlen(dot + 1) : 0;
}

/* Returns the folder of the sample's class with a slash; "". */
static const char *sample_names_folder_of(const sl_sample_names *names, const sl_members *members)
{
    const int64_t label = members->label;
    return label >= 0 && label < (int64_t)names->folder_count ? names->folders[label] : "";
}

/* Returns the key without the class at its beginning, which its folder already has. */
static const char *below_class(const sl_sample_names *names, const sl_named *named)
{
    const char *class = names->folders != NULL
                            ? sl_dataset_class_name(names->dataset, named->members->label)
                            : NULL;
    const size_t bytes = class != NULL ? strlen(class) : 0;
    return bytes > 0 && strncmp(named->key, class, bytes) == 0 && named->key[bytes] == '/'
               ? named->key + bytes + 1
               : named->key;
}

/* Replaces dots: in an archive, a base name ends at the first dot of its last component. */
static void without_dots(char *base)
{
    char *last = strrchr(base, '/');
    for (char *letter = last != NULL ? last + 1 : base; *letter != '\0'; letter++) {
        *letter = (char)(*letter == '.' ? '_' : *letter);
    }
}

static bool choose_key(const sl_sample_names *names, const sl_named *named, sl_sample_name *name)
{
    const char *folder = sample_names_folder_of(names, named->members);
    const char *key = below_class(names, named);
    const sl_members *members = named->members;
    const size_t bytes = strlen(key);
    size_t extension = members->picture != SL_FIELD_NONE ? picture_extension(key) : 0;
    const int length =
        snprintf(name->base, SL_NAME_BYTES, "%s%s%.*s", folder, *folder != '\0' ? "/" : "",
                 (int)(bytes - (extension > 0 ? extension + 1 : 0)), key);
    if (length < 0 || length >= SL_NAME_BYTES) {
        return false;
    }
    name->extension[0] = '\0';
    if (names->form == SLUICE_UNPACK_TAR) {
        without_dots(name->base);
    } else if (extension > 0 && members->is_file) {
        (void)snprintf(name->extension, sizeof(name->extension), "%s", key + bytes - extension);
    }
    return *key != '\0' && is_path_safe(names, name->base) && is_free(names, members, name);
}

void sl_sample_names_choose(const sl_sample_names *names, const sl_named *named,
                            sl_sample_name *name)
{
    if (choose_key(names, named, name)) {
        const size_t bytes = strlen(name->base);
        const char *key = named->key;
        const size_t length = strlen(key);
        const bool as_key = names->form == SLUICE_UNPACK_FOLDER ||
                            (length >= bytes && strncmp(key, name->base, bytes) == 0);
        name->renamed = !as_key;
        return;
    }
    const char *folder = sample_names_folder_of(names, named->members);
    name->extension[0] = '\0';
    name->renamed = named->key[0] != '\0';
    for (uint32_t attempt = 1;; attempt++) {
        int length = snprintf(name->base, SL_NAME_BYTES, "%.*s%s%08" PRIu64, COMPONENT_BYTES,
                              folder, *folder != '\0' ? "/" : "", named->number);
        if (attempt > 1) {
            (void)snprintf(name->base + length, SL_NAME_BYTES - (size_t)length, "-%" PRIu32,
                           attempt);
        }
        if (is_free(names, named->members, name)) {
            return;
        }
    }
}

static bool take_folders(sl_sample_names *names, const char *base)
{
    bool good = true;
    for (const char *slash = strchr(base, '/'); good && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        good = sl_name_set_add(&names->taken, SL_NAME_FOLDER, base, (size_t)(slash - base));
    }
    return good;
}

sluice_status sl_sample_names_take(sl_sample_names *names, const sl_named *named,
                                   const sl_sample_name *name, sluice_error *error)
{
    char path[SL_NAME_BYTES];
    bool good = true;
    if (names->others || names->form == SLUICE_UNPACK_TAR) {
        good = sl_name_set_add(&names->taken, SL_NAME_STEM, name->base, strlen(name->base));
    }
    if (names->form == SLUICE_UNPACK_FOLDER) {
        good = good && take_folders(names, name->base);
        for (uint32_t i = 0; good && i < named->members->count; i++) {
            sl_sample_names_path(name, named->members, i, path);
            good = sl_name_set_add(&names->taken, SL_NAME_FILE, path, strlen(path));
        }
    }
    if (names->form == SLUICE_UNPACK_TAR) {
        (void)snprintf(names->last, sizeof(names->last), "%s", name->base);
    }
    return good ? SLUICE_OK : sample_names_no_memory(error);
}

sluice_status sl_sample_names_next_archive(sl_sample_names *names, sluice_error *error)
{
    sl_name_set_clear(&names->taken);
    return sl_name_set_add(&names->taken, SL_NAME_STEM, names->last, strlen(names->last))
               ? SLUICE_OK
               : sample_names_no_memory(error);
}

/* ---- folders of classes ---- */

/* Makes a name for the folder of a class whose own name cannot be used. */
static const char *make_up(sl_sample_names *names, uint32_t label)
{
    char name[48];
    for (uint32_t attempt = 1;; attempt++) {
        int length = snprintf(name, sizeof(name), "class-%08" PRIu32, label);
        if (attempt > 1) {
            (void)snprintf(name + length, sizeof(name) - (size_t)length, "-%" PRIu32, attempt);
        }
        if (is_file_free(names, name)) {
            break;
        }
    }
    names->renamed_classes++;
    names->made_up[label] = sl_strdup(name);
    return names->made_up[label];
}

/*
 * Returns "" for the folder itself: for a lone class ".", and for unused labels. NULL: the name
 * cannot be a folder's.
 */
static const char *own_folder(const sl_sample_names *names, uint32_t label)
{
    const char *class = sl_dataset_class_name(names->dataset, label);
    if (class == NULL || *class == '\0' || (strcmp(class, ".") == 0 && names->folder_count == 1)) {
        return "";
    }
    return is_component_safe(class, strlen(class)) && strlen(class) <= COMPONENT_BYTES &&
                   is_file_free(names, class)
               ? class
               : NULL;
}

static bool set_folder(sl_sample_names *names, uint32_t label, const char *folder)
{
    names->folders[label] = folder;
    return folder == NULL || *folder == '\0' ||
           sl_name_set_add(&names->taken, SL_NAME_FOLDER, folder, strlen(folder));
}

/* Returns whether labels differ from an ImageFolder's, which numbers classes in folder order. */
static bool labels_differ(const sl_sample_names *names)
{
    const char *before = NULL;
    bool gap = false;
    for (uint32_t i = 0; i < names->folder_count; i++) {
        const char *folder = names->folders[i];
        if (*folder == '\0') {
            gap = true;
            continue;
        }
        if (gap || (before != NULL && strcmp(before, folder) >= 0)) {
            return true;
        }
        before = folder;
    }
    return false;
}

static sluice_status open_folders(sl_sample_names *names, sluice_error *error)
{
    bool good = true;
    names->folder_count = names->dataset->info.classes;
    names->folders = (const char **)sl_calloc(names->folder_count, sizeof(*names->folders));
    names->made_up = (char **)sl_calloc(names->folder_count, sizeof(*names->made_up));
    if (names->folders == NULL || names->made_up == NULL) {
        return sample_names_no_memory(error);
    }
    for (uint32_t i = 0; good && i < names->folder_count; i++) {
        good = set_folder(names, i, own_folder(names, i));
    }
    for (uint32_t i = 0; good && i < names->folder_count; i++) {
        if (names->folders[i] == NULL) {
            good = set_folder(names, i, make_up(names, i)) && names->folders[i] != NULL;
        }
    }
    if (!good) {
        return sample_names_no_memory(error);
    }
    names->labels_differ = labels_differ(names);
    return SLUICE_OK;
}

sluice_status sl_sample_names_open(sl_sample_names *names, const sl_naming *naming,
                                   sluice_error *error)
{
    *names = (sl_sample_names){
        .form = naming->form, .dataset = naming->dataset, .others = naming->others};
    if (naming->folder_bytes + COMPONENT_BYTES + ROOM_MIN > SL_NAME_BYTES) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "the path is too long");
    }
    names->capacity = SL_NAME_BYTES - naming->folder_bytes - 1;
    names->suffix_capacity = names->others ? SUFFIX_ROOM : PICTURE_ROOM;
    if (naming->form == SLUICE_UNPACK_FOLDER &&
        !sl_name_set_add(&names->taken, SL_NAME_FILE, SL_REJECTED_NAME, strlen(SL_REJECTED_NAME))) {
        return sample_names_no_memory(error);
    }
    return naming->class_folders ? open_folders(names, error) : SLUICE_OK;
}

void sl_sample_names_close(sl_sample_names *names)
{
    for (uint32_t i = 0; names->made_up != NULL && i < names->folder_count; i++) {
        sl_free(names->made_up[i]);
    }
    sl_free((void *)names->folders);
    sl_free((void *)names->made_up);
    sl_name_set_close(&names->taken);
    *names = (sl_sample_names){0};
}
