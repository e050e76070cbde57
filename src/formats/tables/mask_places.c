/* SPDX-License-Identifier: Apache-2.0 */
#include "mask_places.h"

#include "media.h"
#include "voc_files.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Masks that are looked at, folders of them, and how deep those may be nested for that. */
enum { LOOKED_AT = 16, FOLDERS_LOOKED_AT = 8, DEEP = 4 };

static const sl_mask_names usual_names = {
    .picture = "",
    .suffixes = {[SL_MASK] = {"", "_mask", "_masks", "_segmentation", "_seg", "_gt", "_label",
                              "_labels", "_L"}}};

static const sl_mask_names fine_names = {
    .picture = "_leftImg8bit",
    .suffixes = {[SL_MASK] = {"_gtFine_labelIds"},
                 [SL_MASK_INSTANCES] = {"_gtFine_instanceIds"},
                 [SL_MASK_TRAIN_IDS] = {"_gtFine_labelTrainIds"}}};

static const sl_mask_names coarse_names = {
    .picture = "_leftImg8bit",
    .suffixes = {[SL_MASK] = {"_gtCoarse_labelIds"},
                 [SL_MASK_INSTANCES] = {"_gtCoarse_instanceIds"},
                 [SL_MASK_TRAIN_IDS] = {"_gtCoarse_labelTrainIds"}}};

static const sl_mask_names voc_names = {.picture = "",
                                        .suffixes = {[SL_MASK] = {""}, [SL_MASK_INSTANCES] = {""}}};

static const char *const picture_folders[] = {"images", "Images",  "image",     "imgs",
                                              "img",    "img_dir", "JPEGImages"};
static const char *const mask_folders[] = {
    "masks",         "Masks",  "mask",   "annotations",  "Annotations",
    "ann_dir",       "labels", "Labels", "label",        "segmentation",
    "segmentations", "gt",     "GT",     "ground_truth", "annotations/trimaps"};
/* Of a folder of pictures whose masks are in one that is called like it, and so at its end. */
static const char *const mask_ends[] = {"_masks", "_mask", "annot", "_labels"};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* ---- names ---- */

static const sl_media *media_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL ? sl_media_of_extension(dot + 1) : NULL;
}

bool sl_mask_is_picture(const char *name)
{
    const sl_media *kind = media_of(name);
    return kind != NULL && (kind->traits & SL_MEDIA_IN_FOLDERS) != 0;
}

bool sl_mask_is_named(const char *name)
{
    return sl_mask_is_picture(name) ||
           (strrchr(name, '.') != NULL && strcasecmp(strrchr(name, '.'), ".gif") == 0);
}

size_t sl_mask_stem(const char *path)
{
    const char *dot = strrchr(sl_path_name(path), '.');
    return dot != NULL ? (size_t)(dot - path) : strlen(path);
}

bool sl_mask_ends(const char *path, size_t bytes, const char *suffix)
{
    const size_t length = strlen(suffix);
    return bytes > length && path[bytes - length - 1] != '/' &&
           memcmp(path + bytes - length, suffix, length) == 0;
}

/* ---- a look at two folders ---- */

typedef struct looker {
    const sl_mask_places *places;
    char below[SL_PATH_BYTES]; /* the folder that is looked at, from that of masks */
    char folders[FOLDERS_LOOKED_AT][NAME_MAX + 1]; /* in it */
    int folder_count, looked_at;
    bool found, is_for_others;
} looker;

static bool make_path(char path[SL_PATH_BYTES], const char *root, const char *folder,
                      const char *below)
{
    const int length = snprintf(path, SL_PATH_BYTES, "%s/%s%s%s", root, folder,
                                below[0] != '\0' ? "/" : "", below);
    return length > 0 && length < SL_PATH_BYTES;
}

/* Whether there is a picture of that stem, with any extension. */
static bool has_picture(const looker *l, const char *name, size_t stem)
{
    char folder[SL_PATH_BYTES];
    char path[SL_PATH_BYTES + NAME_MAX + 64];
    const char *extension;
    if (!make_path(folder, l->places->root, l->places->pictures, l->below)) {
        return false;
    }
    for (uint32_t i = 0; (extension = sl_media_extension(i, SL_MEDIA_IN_FOLDERS)) != NULL; i++) {
        const int begin = snprintf(path, sizeof(path), "%s/%.*s%s", folder, (int)stem, name,
                                   l->places->names->picture);
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

static bool mask_belongs(const looker *l, const char *name)
{
    const char *const *suffixes = l->places->names->suffixes[SL_MASK];
    const size_t stem = sl_mask_stem(name);
    for (uint32_t i = 0; i < SL_MASK_SUFFIXES && suffixes[i] != NULL; i++) {
        if (sl_mask_ends(name, stem, suffixes[i]) &&
            has_picture(l, name, stem - strlen(suffixes[i]))) {
            return true;
        }
    }
    return false;
}

static sluice_status mask_look_at(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    looker *l = ctx;
    const char *name = entry->name;
    if (name[0] == '.' || entry->kind == SL_ENTRY_OTHER) {
        return SLUICE_OK;
    }
    if (sl_mask_is_named(name) && entry->kind != SL_ENTRY_FOLDER) {
        l->looked_at++;
        l->found = mask_belongs(l, name);
    } else if (entry->kind != SL_ENTRY_FILE && l->folder_count < FOLDERS_LOOKED_AT) {
        (void)snprintf(l->folders[l->folder_count++], sizeof(l->folders[0]), "%s", name);
    }
    /* COCO's annotations are looked for later, and may have such folders beside them. */
    l->is_for_others = l->is_for_others || (l->below[0] == '\0' && sl_ends_with(name, ".json"));
    return l->found || l->looked_at == LOOKED_AT ? SLUICE_END : SLUICE_OK;
}

static bool mask_look_in(looker *l, int depth)
{
    char path[SL_PATH_BYTES];
    const size_t length = strlen(l->below);
    char folders[FOLDERS_LOOKED_AT][NAME_MAX + 1];
    l->folder_count = 0;
    if (make_path(path, l->places->root, l->places->masks[SL_MASK], l->below) &&
        sl_store_has_folder(path)) {
        (void)sl_store_list((sl_file_name){"dataset", path}, mask_look_at, l, NULL);
    }
    const int count = l->folder_count;
    memcpy(folders, l->folders, sizeof(folders));
    for (int i = 0;
         i < count && !l->found && l->looked_at < LOOKED_AT && depth < DEEP && l->places->deep;
         i++) {
        const int more = snprintf(l->below + length, sizeof(l->below) - length, "%s%s",
                                  length > 0 ? "/" : "", folders[i]);
        if (more > 0 && (size_t)more < sizeof(l->below) - length) {
            (void)mask_look_in(l, depth + 1);
        }
        l->below[length] = '\0';
    }
    return l->found;
}

static bool is_pair(const sl_mask_places *places, bool beside_json)
{
    looker l = {.places = places};
    return mask_look_in(&l, 0) && (beside_json || !l.is_for_others);
}

/* ---- a folder that both are in ---- */

static void set_names(sl_mask_places *places, const sl_mask_names *names)
{
    places->names = names;
    for (int i = 1; i < SL_MASK_KINDS; i++) {
        places->masks[i][0] = '\0';
        if (names->suffixes[i][0] != NULL) {
            memcpy(places->masks[i], places->masks[SL_MASK], SL_PATH_BYTES);
        }
    }
}

static bool try_names(sl_mask_places *places, const char *pictures, const char *masks,
                      const sl_mask_names *names, bool beside_json)
{
    const int a = snprintf(places->pictures, SL_PATH_BYTES, "%s", pictures);
    const int b = snprintf(places->masks[SL_MASK], SL_PATH_BYTES, "%s", masks);
    set_names(places, names);
    return a < SL_PATH_BYTES && b < SL_PATH_BYTES && is_pair(places, beside_json);
}

static bool find_below(sl_mask_places *places)
{
    char path[SL_PATH_BYTES];
    places->deep = true;
    if (sl_path_join(path, places->root, "leftImg8bit") && sl_store_has_folder(path)) {
        return try_names(places, "leftImg8bit", "gtFine", &fine_names, true) ||
               try_names(places, "leftImg8bit", "gtCoarse", &coarse_names, true);
    }
    for (size_t i = 0; i < COUNT(picture_folders); i++) {
        if (!sl_path_join(path, places->root, picture_folders[i]) || !sl_store_has_folder(path)) {
            continue;
        }
        for (size_t k = 0; k < COUNT(mask_folders); k++) {
            const bool may_have_json =
                strncasecmp(mask_folders[k], "annotation", strlen("annotation")) != 0;
            if (try_names(places, picture_folders[i], mask_folders[k], &usual_names,
                          may_have_json)) {
                return true;
            }
        }
    }
    return false;
}

/* ---- a folder of pictures ---- */

/* The pair of `path`, in which the component of `bytes` at `at` is called otherwise. */
static bool try_instead(sl_mask_places *places, const char *path, const char *at, size_t bytes,
                        const char *other, const sl_mask_names *names)
{
    char masks[SL_PATH_BYTES];
    const size_t before = (size_t)(at - path);
    const int length = snprintf(places->root, SL_PATH_BYTES, "%.*s",
                                (int)(before > 1 ? before - 1 : before), before > 0 ? path : ".");
    if (before == 0) {
        (void)snprintf(places->root, SL_PATH_BYTES, ".");
    }
    const int more = snprintf(masks, sizeof(masks), "%s%s", other, at + bytes);
    return length < SL_PATH_BYTES && more < SL_PATH_BYTES &&
           try_names(places, at, masks, names, true);
}

static bool is_one_of(const char *const *list, size_t count, const char *at, size_t bytes)
{
    size_t i = 0;
    while (i < count && (strlen(list[i]) != bytes || memcmp(list[i], at, bytes) != 0)) {
        i++;
    }
    return i < count;
}

static bool is_cityscapes(const char *at, size_t bytes)
{
    static const char *const name[] = {"leftImg8bit"};
    return is_one_of(name, 1, at, bytes);
}

static bool try_component(sl_mask_places *places, const char *path, const char *at, size_t bytes)
{
    places->deep = is_cityscapes(at, bytes);
    if (places->deep) {
        return try_instead(places, path, at, bytes, "gtFine", &fine_names) ||
               try_instead(places, path, at, bytes, "gtCoarse", &coarse_names);
    }
    if (is_one_of(picture_folders, COUNT(picture_folders), at, bytes)) {
        for (size_t i = 0; i < COUNT(mask_folders); i++) {
            if (try_instead(places, path, at, bytes, mask_folders[i], &usual_names)) {
                return true;
            }
        }
    }
    return false;
}

static bool try_ends(sl_mask_places *places, const char *path)
{
    char other[NAME_MAX + 16];
    const char *name = sl_path_name(path);
    places->deep = false;
    for (size_t i = 0; i < COUNT(mask_ends) && strlen(name) < NAME_MAX; i++) {
        (void)snprintf(other, sizeof(other), "%s%s", name, mask_ends[i]);
        if (name[0] != '\0' && name[0] != '.' &&
            try_instead(places, path, name, strlen(name), other, &usual_names)) {
            return true;
        }
    }
    return false;
}

static sluice_status mask_find_folder(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    char path[SL_PATH_BYTES];
    const char *const *folder = ctx;
    return entry->name[0] != '.' && strncmp(entry->name, "__", 2) != 0 &&
                   entry->kind != SL_ENTRY_FILE && sl_path_join(path, *folder, entry->name) &&
                   sl_store_is_folder(entry, path)
               ? SLUICE_END
               : SLUICE_OK;
}

/* Pictures that are in folders below are classes of theirs. */
static bool has_folders(const char *path)
{
    return sl_store_list((sl_file_name){"dataset", path}, mask_find_folder, &path, NULL) ==
           SLUICE_END;
}

static bool find_beside(sl_mask_places *places, const char *path)
{
    size_t end = strlen(path);
    bool found = false;
    while (!found && end > 0) {
        size_t begin = end;
        while (begin > 0 && path[begin - 1] != '/') {
            begin--;
        }
        found = end > begin && try_component(places, path, path + begin, end - begin);
        end = begin > 0 ? begin - 1 : 0;
    }
    found = found || try_ends(places, path);
    return found && (places->deep || !has_folders(path));
}

/* ---- a list ---- */

/* ROOT/ImageSets/Segmentation/train.txt. */
static bool find_of_list(sl_mask_places *places, const char *path)
{
    char folder[SL_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    const int bytes = slash != NULL ? (int)(slash - path + 1) : 0;
    const int length = snprintf(places->root, SL_PATH_BYTES, "%.*s../..", bytes, path);
    if (!sl_ends_with(path, ".txt") || length >= SL_PATH_BYTES ||
        !sl_path_join(folder, places->root, "SegmentationClass") || !sl_store_has_folder(folder) ||
        !sl_path_join(folder, places->root, "JPEGImages") || !sl_store_has_folder(folder) ||
        sl_voc_files_probe(path)) {
        return false;
    }
    places->names = &voc_names;
    places->is_list = true;
    (void)snprintf(places->pictures, SL_PATH_BYTES, "JPEGImages");
    (void)snprintf(places->masks[SL_MASK], SL_PATH_BYTES, "SegmentationClass");
    if (sl_path_join(folder, places->root, "SegmentationObject") && sl_store_has_folder(folder)) {
        (void)snprintf(places->masks[SL_MASK_INSTANCES], SL_PATH_BYTES, "SegmentationObject");
    }
    return true;
}

bool sl_mask_places_find(const char *path, sl_mask_places *places)
{
    char clean[SL_PATH_BYTES];
    char real[SL_PATH_BYTES];
    *places = (sl_mask_places){.deep = false};
    int length = snprintf(clean, sizeof(clean), "%s", path);
    if (length <= 0 || (size_t)length >= sizeof(clean)) {
        return false;
    }
    while (length > 1 && clean[length - 1] == '/') {
        clean[--length] = '\0';
    }
    if (!sl_store_has_folder(clean)) {
        return find_of_list(places, clean);
    }
    memcpy(places->root, clean, sizeof(clean));
    if (find_below(places) || find_beside(places, clean)) {
        return true;
    }
    return clean[0] != '/' && sl_store_real_path(clean, real) == 0 && find_beside(places, real);
}
