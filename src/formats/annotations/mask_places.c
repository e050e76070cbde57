/* SPDX-License-Identifier: Apache-2.0 */
#include "mask_places.h"

#include "beside.h"
#include "mask_names.h"
#include "voc_files.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SHARE .picture = "", .takes = sl_mask_is_named
#define TOWNS .picture = "_leftImg8bit", .takes = sl_mask_is_named

/* Names of the files of an image; all masks of one row may share a folder. */
static const sl_pair_kind usual_names[SL_MASK_KINDS] = {
    [SL_MASK] = {SHARE, .suffixes = {SL_MASK_FILE_ENDS}}};
static const sl_pair_kind fine_names[SL_MASK_KINDS] = {
    [SL_MASK] = {TOWNS, .suffixes = {"_gtFine_labelIds"}},
    [SL_MASK_INSTANCES] = {TOWNS, .suffixes = {"_gtFine_instanceIds"}},
    [SL_MASK_TRAIN_IDS] = {TOWNS, .suffixes = {"_gtFine_labelTrainIds"}}};
static const sl_pair_kind coarse_names[SL_MASK_KINDS] = {
    [SL_MASK] = {TOWNS, .suffixes = {"_gtCoarse_labelIds"}},
    [SL_MASK_INSTANCES] = {TOWNS, .suffixes = {"_gtCoarse_instanceIds"}},
    [SL_MASK_TRAIN_IDS] = {TOWNS, .suffixes = {"_gtCoarse_labelTrainIds"}}};
static const sl_pair_kind voc_names[SL_MASK_KINDS] =
    {[SL_MASK] = {SHARE, .suffixes = {""}}, [SL_MASK_INSTANCES] = {SHARE, .suffixes = {""}}};

static const char *const picture_folders[] = {"images", "Images",  "image",      "imgs",
                                              "img",    "img_dir", "JPEGImages", "PNGImages"};
static const char *const mask_folders[] = {
    "masks",         "Masks",  "mask",   "annotations",  "Annotations",
    "ann_dir",       "labels", "Labels", "label",        "segmentation",
    "segmentations", "gt",     "GT",     "ground_truth", "annotations/trimaps",
    "PedMasks"};
/* Endings of mask folders that are named like their image folder. */
static const char *const mask_ends[] = {SL_MASK_FOLDER_ENDS};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

bool sl_mask_is_named(const char *name)
{
    return sl_beside_is_picture(name) ||
           (strrchr(name, '.') != NULL && strcasecmp(strrchr(name, '.'), ".gif") == 0);
}

/* ---- a folder that both are in ---- */

static void set_names(sl_mask_places *places, const sl_pair_kind *names)
{
    places->names = names;
    for (int i = 1; i < SL_MASK_KINDS; i++) {
        places->masks[i][0] = '\0';
        if (names[i].suffixes[0] != NULL) {
            memcpy(places->masks[i], places->masks[SL_MASK], SL_PATH_BYTES);
        }
    }
}

static bool try_names(sl_mask_places *places, const char *pictures, const char *masks,
                      const sl_pair_kind *names, bool beside_json)
{
    const int a = snprintf(places->pictures, SL_PATH_BYTES, "%s", pictures);
    const int b = snprintf(places->masks[SL_MASK], SL_PATH_BYTES, "%s", masks);
    set_names(places, names);
    const sl_pair pair = {.root = places->root,
                          .pictures = places->pictures,
                          .others = places->masks[SL_MASK],
                          .kind = &names[SL_MASK],
                          .deep = places->deep,
                          .beside_json = beside_json};
    return a < SL_PATH_BYTES && b < SL_PATH_BYTES && sl_pair_is(&pair);
}

static bool find_below(sl_mask_places *places)
{
    char path[SL_PATH_BYTES];
    places->deep = true;
    if (sl_path_join(path, places->root, "leftImg8bit") && sl_store_has_folder(path)) {
        return try_names(places, "leftImg8bit", "gtFine", fine_names, true) ||
               try_names(places, "leftImg8bit", "gtCoarse", coarse_names, true);
    }
    for (size_t i = 0; i < COUNT(picture_folders); i++) {
        if (!sl_path_join(path, places->root, picture_folders[i]) || !sl_store_has_folder(path)) {
            continue;
        }
        for (size_t k = 0; k < COUNT(mask_folders); k++) {
            const bool may_have_json =
                strncasecmp(mask_folders[k], "annotation", strlen("annotation")) != 0;
            if (try_names(places, picture_folders[i], mask_folders[k], usual_names,
                          may_have_json)) {
                return true;
            }
        }
    }
    return false;
}

/* ---- a folder of images ---- */

/* Tries the pair of `path` in which the component of `bytes` at `at` is replaced by `other`. */
static bool try_instead(sl_mask_places *places, const char *path, const char *at, size_t bytes,
                        const char *other, const sl_pair_kind *names)
{
    char masks[SL_PATH_BYTES];
    return sl_beside_swap(path, at, bytes, other, places->root, masks) &&
           try_names(places, at, masks, names, true);
}

static bool mask_is_one_of(const char *const *list, size_t count, const char *at, size_t bytes)
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
    return mask_is_one_of(name, 1, at, bytes);
}

static bool try_component(sl_mask_places *places, const char *path, const char *at, size_t bytes)
{
    places->deep = is_cityscapes(at, bytes);
    if (places->deep) {
        return try_instead(places, path, at, bytes, "gtFine", fine_names) ||
               try_instead(places, path, at, bytes, "gtCoarse", coarse_names);
    }
    if (mask_is_one_of(picture_folders, COUNT(picture_folders), at, bytes)) {
        for (size_t i = 0; i < COUNT(mask_folders); i++) {
            if (try_instead(places, path, at, bytes, mask_folders[i], usual_names)) {
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
            try_instead(places, path, name, strlen(name), other, usual_names)) {
            return true;
        }
    }
    return false;
}

static bool mask_find_beside(sl_mask_places *places, const char *path)
{
    const char *at;
    size_t end = strlen(path);
    bool found = false;
    while (!found && end > 0) {
        const size_t bytes = sl_beside_component(path, &end, &at);
        found = bytes > 0 && try_component(places, path, at, bytes);
    }
    found = found || try_ends(places, path);
    return found && (places->deep || !sl_beside_has_folders(path));
}

/* ---- a list ---- */

/* Finds the folders of a list ROOT/ImageSets/Segmentation/train.txt. */
static bool mask_find_of_list(sl_mask_places *places, sl_look *look)
{
    const char *path = look->path;
    char folder[SL_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    const int bytes = slash != NULL ? (int)(slash - path + 1) : 0;
    const int length = snprintf(places->root, SL_PATH_BYTES, "%.*s../..", bytes, path);
    if (length < SL_PATH_BYTES) {
        (void)sl_path_settle(places->root);
    }
    if (!sl_ends_with(path, ".txt") || length >= SL_PATH_BYTES ||
        !sl_path_join(folder, places->root, "SegmentationClass") || !sl_store_has_folder(folder) ||
        !sl_path_join(folder, places->root, "JPEGImages") || !sl_store_has_folder(folder) ||
        sl_voc_files_probe(look)) {
        return false;
    }
    places->names = voc_names;
    places->is_list = true;
    (void)snprintf(places->pictures, SL_PATH_BYTES, "JPEGImages");
    (void)snprintf(places->masks[SL_MASK], SL_PATH_BYTES, "SegmentationClass");
    if (sl_path_join(folder, places->root, "SegmentationObject") && sl_store_has_folder(folder)) {
        (void)snprintf(places->masks[SL_MASK_INSTANCES], SL_PATH_BYTES, "SegmentationObject");
    }
    return true;
}

bool sl_mask_places_find(sl_look *look, sl_mask_places *places)
{
    const char *path = look->path;
    char clean[SL_PATH_BYTES];
    char real[SL_PATH_BYTES];
    *places = (sl_mask_places){.deep = false};
    if (!sl_beside_clean(path, clean)) {
        return false;
    }
    if (!sl_look_is_folder(look)) {
        return mask_find_of_list(places, look);
    }
    memcpy(places->root, clean, sizeof(clean));
    if (find_below(places) || mask_find_beside(places, clean)) {
        return true;
    }
    return clean[0] != '/' && sl_store_real_path(clean, real) == 0 &&
           mask_find_beside(places, real);
}
