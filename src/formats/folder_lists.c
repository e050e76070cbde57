/* SPDX-License-Identifier: Apache-2.0 */
#include "folder_lists.h"

#include "formats.h"
#include "list_scan.h"
#include "memory.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { NAMES_BYTES = 160, KEYS = 3, NUMBER_DIGITS = 4 };

/* Lists of a folder, by what can be done with them. */
typedef struct lists {
    sl_seen_names readable, repeats, unreadable, names_only, lines, closed;
} lists;

/* ---- where the images are ---- */

/* Where a few of them are; the texts are the caller's. */
static void gather_images(const sl_dataset *dataset, const char *folder,
                          char keys[KEYS][SL_PATH_BYTES], sl_list_images *images)
{
    const uint64_t last = dataset->info.samples - 1;
    const uint64_t at[KEYS] = {0, last / 2, last};
    *images = (sl_list_images){.root = folder, .count = last + 1, .extension = ""};
    images->folders[images->folder_count++] = "";
    for (uint32_t i = 0; i < KEYS; i++) {
        if (sl_dataset_key(dataset, at[i], keys[i], SL_PATH_BYTES, NULL) != SLUICE_OK) {
            continue;
        }
        char *slash = strrchr(keys[i], '/');
        const char *dot = strrchr(slash != NULL ? slash : keys[i], '.');
        if (slash != NULL) {
            *slash = '\0';
            images->folders[images->folder_count++] = keys[i];
        }
        images->extension = dot != NULL ? dot : "";
    }
    for (uint32_t i = 0; i < dataset->info.classes && images->folder_count < SL_LIST_FOLDERS_MAX;
         i++) {
        const char *name = sl_dataset_class_name(dataset, i);
        if (name != NULL) {
            images->folders[images->folder_count++] = name;
        }
    }
}

/* ---- the lists ---- */

static sl_mentions ask_formats(const char *path)
{
    sl_mentions found = SL_MENTIONS_NONE;
    for (size_t i = 0; found == SL_MENTIONS_NONE && i < SL_FORMATS; i++) {
        if (sl_formats[i]->mentions != NULL) {
            found = sl_formats[i]->mentions(path);
        }
    }
    return found;
}

static void judge_list(lists *found, const char *folder, const char *name,
                       const sl_list_images *images)
{
    char path[SL_PATH_BYTES];
    if (!sl_path_join(path, folder, name)) {
        return;
    }
    sl_mentions says = ask_formats(path);
    if (says == SL_MENTIONS_NONE) {
        says = sl_list_scan(path, images);
    }
    switch (says) {
    case SL_MENTIONS_LABELS:
        sl_seen_names_add(&found->readable, name);
        break;
    case SL_MENTIONS_REPEATS:
        sl_seen_names_add(&found->repeats, name);
        break;
    case SL_MENTIONS_UNREADABLE:
        sl_seen_names_add(&found->unreadable, name);
        break;
    case SL_MENTIONS_NAMES:
        sl_seen_names_add(&found->names_only, name);
        break;
    case SL_MENTIONS_LINES:
        sl_seen_names_add(&found->lines, name);
        break;
    case SL_MENTIONS_CLOSED:
        sl_seen_names_add(&found->closed, name);
        break;
    case SL_MENTIONS_NONE:
        break;
    }
}

/* ---- what follows ---- */

/* "00000", "00001": parts of a whole, as no classes are called. */
static bool are_numbers(const sl_dataset *dataset)
{
    for (uint32_t i = 0; i < dataset->info.classes; i++) {
        const char *name = sl_dataset_class_name(dataset, i);
        const size_t digits = name != NULL ? strspn(name, "0123456789") : 0;
        if (digits < NUMBER_DIGITS || name[digits] != '\0') {
            return false;
        }
    }
    return true;
}

static sluice_status refuse_several(const char *folder, const sl_seen_names *names,
                                    sluice_error *error)
{
    char text[NAMES_BYTES];
    sl_seen_names_write(names, text, sizeof(text));
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                         "several lists describe its images (%s): open the one that is meant "
                         "(%.160s/%.64s)",
                         text, folder, names->names[0]);
}

static const char *advise_form(const char *name)
{
    if (sl_ends_with(name, ".json") || sl_ends_with(name, ".jsonl")) {
        return "write it as metadata.jsonl, a line for each image: {\"file_name\": "
               "\"images/0.jpg\", \"label\": 3}";
    }
    if (sl_ends_with(name, ".csv") || sl_ends_with(name, ".tsv")) {
        return "write it with commas, a first line that names the columns (path,label), and a "
               "line for each image";
    }
    return "write it as metadata.csv: a first line file_name,label, then a line for each image: "
           "images/0.jpg,3";
}

static sluice_status folder_lists_refuse(const char *folder, const sl_seen_names *names,
                                         sluice_error *error)
{
    char text[NAMES_BYTES];
    const bool one = names->count == 1;
    sl_seen_names_write(names, text, sizeof(text));
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                         "%s describe%s the images in a form that cannot be read, and their labels "
                         "would be lost: %s; or move %s elsewhere to open the images alone",
                         text, one ? "s" : "", advise_form(names->names[0]), one ? "it" : "them");
}

static sluice_status refuse_repeats(const char *folder, const sl_seen_names *names,
                                    sluice_error *error)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                         "%.64s has several rows for an image: write a row for each image, or open "
                         "%.160s/%.64s, in which each row is a sample of its own",
                         names->names[0], folder, names->names[0]);
}

static void folder_lists_warn(sl_dataset *dataset, const sl_seen_names *names, const char *what)
{
    char text[NAMES_BYTES];
    if (names->count > 0) {
        sl_seen_names_write(names, text, sizeof(text));
        sl_warnings_add(&dataset->warnings, "%s: %s", text, what);
    }
}

static sluice_status open_label_list(sl_dataset **dataset, const lists *found, const char *folder,
                                     const sluice_dataset_options *options, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const char *const paths[] = {path};
    sl_dataset *list = NULL;
    const char *name = found->readable.names[0];
    (void)sl_path_join(path, folder, name); /* it was joined before */
    sluice_status status = sl_dataset_open(&list, paths, 1, options, error);
    if (status == SLUICE_OK) {
        status = sl_folder_lists_count_unlisted(list, folder, name, error);
    }
    if (status < 0) {
        sl_dataset_close(list);
        return status;
    }
    folder_lists_warn(list, &found->unreadable, "it describes the images, too, and was not read");
    sl_dataset_close(*dataset);
    *dataset = list;
    return SLUICE_OK;
}

static sluice_status folder_lists_decide(sl_dataset **dataset, const lists *found,
                                         const char *folder, const sluice_dataset_options *options,
                                         sluice_error *error)
{
    if ((*dataset)->info.classes > 1 && !are_numbers(*dataset)) {
        static const char what[] = "it lists images of the class folders and was not read: labels "
                                   "are the names of the folders; open the list to have its labels";
        folder_lists_warn(*dataset, &found->readable, what);
        folder_lists_warn(*dataset, &found->repeats, what);
        folder_lists_warn(*dataset, &found->unreadable,
                          "it describes the images in a form that cannot be read: labels are the "
                          "names of the class folders");
        return SLUICE_OK;
    }
    if (found->readable.count > 1) {
        return refuse_several(folder, &found->readable, error);
    }
    if (found->readable.count == 1) {
        return open_label_list(dataset, found, folder, options, error);
    }
    if (found->repeats.count > 0) {
        return refuse_repeats(folder, &found->repeats, error);
    }
    if (found->unreadable.count > 0) {
        return folder_lists_refuse(folder, &found->unreadable, error);
    }
    folder_lists_warn(*dataset, &found->lines,
                      "it has as many lines as there are images, and was not read: if these are "
                      "labels, write them as metadata.csv (file_name,label)");
    folder_lists_warn(*dataset, &found->closed,
                      "it is beside the images and cannot be read: if it has labels, write them as "
                      "metadata.csv (file_name,label)");
    folder_lists_warn(*dataset, &found->names_only,
                      "it names images of the folder, and was not read: all images are samples");
    return SLUICE_OK;
}

void sl_folder_lists_offer(const sl_folder_look *look, const char *folder, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    sl_seen_names *readable = sl_calloc(1, sizeof(*readable));
    for (uint32_t i = 0; readable != NULL && look != NULL && i < look->list_count &&
                         look->list_count <= SL_FOLDER_LISTS_MAX;
         i++) {
        if (sl_path_join(path, folder, look->lists[i]) && ask_formats(path) == SL_MENTIONS_LABELS) {
            sl_seen_names_add(readable, look->lists[i]);
        }
    }
    if (readable != NULL && readable->count > 0) {
        char text[NAMES_BYTES];
        sl_seen_names_write(readable, text, sizeof(text));
        sl_error_add(error, SIZE_MAX, "; or open a table that lists images in them (%s)", text);
    }
    sl_free(readable);
}

sluice_status sl_folder_lists_apply(sl_dataset **dataset, const sl_folder_look *look,
                                    const char *folder, const sluice_dataset_options *options,
                                    sluice_error *error)
{
    sl_list_images images;
    char keys[KEYS][SL_PATH_BYTES];
    if (look == NULL || look->list_count == 0 || look->list_count > SL_FOLDER_LISTS_MAX) {
        return SLUICE_OK;
    }
    lists *found = sl_calloc(1, sizeof(*found));
    if (found == NULL) {
        return sl_no_memory(error, STAGE, "for the lists of a folder");
    }
    gather_images(*dataset, folder, keys, &images);
    for (uint32_t i = 0; i < look->list_count; i++) {
        judge_list(found, folder, look->lists[i], &images);
    }
    const sluice_status status = folder_lists_decide(dataset, found, folder, options, error);
    sl_free(found);
    return status;
}
