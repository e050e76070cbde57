/* SPDX-License-Identifier: Apache-2.0 */
#include "folder_pairs.h"

#include "error.h"
#include "look.h"
#include "mask_names.h"
#include "store.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

static const char *const folder_ends[] = {SL_MASK_FOLDER_ENDS};
static const char *const file_ends[] = {SL_MASK_FILE_ENDS};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

enum { PNG_BYTES = 26, PNG_COLOR_AT = 25 };

/* Files [first, end) of the list, in the order of their names. */
typedef struct file_range {
    uint64_t first, end;
} file_range;

/* Returns the class named `name` with `end` appended, or UINT32_MAX. Classes are sorted. */
static uint32_t find_class(const sl_folder_list *list, const char *name, const char *end)
{
    char wanted[SL_PATH_BYTES];
    uint32_t low = 0;
    uint32_t high = list->class_count;
    if (snprintf(wanted, sizeof(wanted), "%s%s", name, end) >= (int)sizeof(wanted)) {
        return UINT32_MAX;
    }
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (strcmp(sl_folder_text(list, list->classes[middle]), wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < list->class_count && strcmp(sl_folder_text(list, list->classes[low]), wanted) == 0
               ? low
               : UINT32_MAX;
}

static uint32_t label_of(const sl_folder_list *list, uint64_t file)
{
    return list->dirs[list->files[file].dir].label;
}

/* Returns the first file of a class of at least this label; file_count: there is none. */
static uint64_t first_of(const sl_folder_list *list, uint32_t label)
{
    uint64_t low = 0;
    uint64_t high = list->file_count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (label_of(list, middle) < label) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Returns the files of a class, or none if its folder has folders with images of their own. Files
 * are sorted by class, then by folder, the class's own first. */
static file_range files_of(const sl_folder_list *list, uint32_t label)
{
    const file_range range = {first_of(list, label), first_of(list, label + 1)};
    const bool is_flat =
        range.end > range.first && list->dirs[list->files[range.end - 1].dir].parent == UINT32_MAX;
    return is_flat ? range : (file_range){0, 0};
}

static const char *file_name_of(const sl_folder_list *list, uint64_t file)
{
    return sl_folder_text(list, list->files[file].name);
}

/* Compares a name with `stem` and a dot, as far as these go. */
static int compare_stem(const char *name, const char *stem, size_t bytes)
{
    const int order = strncmp(name, stem, bytes);
    return order != 0 ? order : (int)(unsigned char)name[bytes] - '.';
}

/* Whether a file of the range has this base name. */
static bool has_stem(const sl_folder_list *list, file_range range, const char *stem, size_t bytes)
{
    uint64_t low = range.first;
    uint64_t high = range.end;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (compare_stem(file_name_of(list, middle), stem, bytes) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < range.end && compare_stem(file_name_of(list, low), stem, bytes) == 0; low++) {
        if (strchr(file_name_of(list, low) + bytes + 1, '.') == NULL) {
            return true;
        }
    }
    return false;
}

static bool has_mask(const sl_folder_list *list, file_range masks, const char *image)
{
    char stem[NAME_MAX + 32];
    const char *dot = strrchr(image, '.');
    const int bytes = dot != NULL ? (int)(dot - image) : (int)strlen(image);
    bool found = false;
    for (size_t i = 0; i < COUNT(file_ends) && bytes <= NAME_MAX && !found; i++) {
        const int length = snprintf(stem, sizeof(stem), "%.*s%s", bytes, image, file_ends[i]);
        found = has_stem(list, masks, stem, (size_t)length);
    }
    return found;
}

static bool all_have_masks(const sl_folder_list *list, file_range images, file_range masks)
{
    uint64_t i = images.first;
    while (i < images.end && has_mask(list, masks, file_name_of(list, i))) {
        i++;
    }
    return images.end > images.first && i == images.end;
}

/* Whether a file begins as a gray or palette PNG does, or a GIF: photos are neither. */
static bool holds_numbers(const sl_folder_list *list, const char *root, uint64_t file)
{
    char key[SL_PATH_BYTES];
    char path[SL_PATH_BYTES];
    sl_look look;
    if (sl_folder_key(list, file, key, sizeof(key)) != SLUICE_OK ||
        !sl_path_join(path, root, key)) {
        return false;
    }
    sl_look_begin(&look, path);
    const sl_bytes head = sl_look_head(&look, PNG_BYTES);
    if (head.size >= 3 && memcmp(head.data, "GIF", 3) == 0) {
        return true;
    }
    return head.size == PNG_BYTES && memcmp(head.data, "\x89PNG", 4) == 0 &&
           (head.data[PNG_COLOR_AT] == 0 || head.data[PNG_COLOR_AT] == 3);
}

static bool are_images_and_masks(const sl_folder_list *list, const char *root, uint32_t label,
                                 uint32_t other)
{
    const file_range images = files_of(list, label);
    const file_range masks = files_of(list, other);
    return all_have_masks(list, images, masks) && holds_numbers(list, root, masks.first);
}

sluice_status sl_folder_pairs_check(const sl_folder_list *list, const char *root,
                                    sluice_error *error)
{
    for (uint32_t i = 0; i < list->class_count; i++) {
        const char *name = sl_folder_text(list, list->classes[i]);
        for (size_t k = 0; k < COUNT(folder_ends); k++) {
            const uint32_t other = find_class(list, name, folder_ends[k]);
            if (other != UINT32_MAX && are_images_and_masks(list, root, i, other)) {
                return sl_error_file(
                    error, SLUICE_INVALID, STAGE, 0, root, -1,
                    "the folders \"%.64s\" and \"%.64s\" are images and their masks, not classes: "
                    "open \"%.160s/%.64s\" to read them as pairs",
                    name, sl_folder_text(list, list->classes[other]), root, name);
            }
        }
    }
    return SLUICE_OK;
}
