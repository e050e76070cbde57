/* SPDX-License-Identifier: Apache-2.0 */
#include "folder_lists.h"

#include "formats.h"
#include "list_match.h"
#include "list_scan.h"
#include "memory.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { NAMES_BYTES = 160, KEYS = 3, NUMBER_DIGITS = 4 };

/* The lists of a folder, by how they can be used. */
typedef struct lists {
    sl_seen_names readable, repeats, otherwise, unreadable, names_only, lines, closed, unclear;
    sl_seen_names annotations;
    sl_seen_names spread; /* lists that name images of several class folders and have labels */
    sl_list_match match;  /* the first list with other names, or spread over classes */
} lists;

/* ---- where the images are ---- */

/* Collects the folders and names of a few images; the caller owns the texts. */
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

/*
 * Returns whether the class folders are only numbers ("00000", "00001"), which means they are parts
 * of a whole.
 */
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

static bool has_classes(const sl_dataset *dataset)
{
    return dataset->info.classes > 1 && !are_numbers(dataset);
}

static sl_seen_names *lists_of_kind(lists *found, sl_mentions says)
{
    switch (says) {
    case SL_MENTIONS_LABELS:
        return &found->readable;
    case SL_MENTIONS_REPEATS:
        return &found->repeats;
    case SL_MENTIONS_OTHERWISE:
        return &found->otherwise;
    case SL_MENTIONS_UNREADABLE:
        return &found->unreadable;
    case SL_MENTIONS_NAMES:
        return &found->names_only;
    case SL_MENTIONS_LINES:
        return &found->lines;
    case SL_MENTIONS_CLOSED:
        return &found->closed;
    case SL_MENTIONS_UNCLEAR:
        return &found->unclear;
    case SL_MENTIONS_NONE:
        break;
    }
    return NULL;
}

/* Classifies a list whose names are not paths of images. */
static sl_mentions judge_match(const char *name, const sl_list_match *match)
{
    if (match->matches) {
        return match->says_more || match->sorts ? SL_MENTIONS_OTHERWISE : SL_MENTIONS_NAMES;
    }
    return match->counts               ? SL_MENTIONS_LINES
           : sl_list_says_labels(name) ? SL_MENTIONS_UNCLEAR
                                       : SL_MENTIONS_NONE;
}

static bool has_annotations_of(const char *path, const char *name)
{
    sl_look look;
    sl_look_begin(&look, path);
    for (size_t i = 0; i < SL_FORMATS; i++) {
        const sl_format *format = sl_formats[i];
        if (format->is_annotations && format->is_file(name) && format->is_sure(&look)) {
            return true;
        }
    }
    return false;
}

static void judge_list(lists *found, const sl_dataset *dataset, const char *folder,
                       const char *name, const sl_list_images *images)
{
    char path[SL_PATH_BYTES];
    sl_list_match match = {.matches = false};
    if (!sl_path_join(path, folder, name)) {
        return;
    }
    if (has_annotations_of(path, name)) {
        sl_seen_names_add(&found->annotations, name);
        return;
    }
    sl_mentions says = ask_formats(path);
    if (says == SL_MENTIONS_NONE) {
        says = sl_list_scan(path, images);
    }
    const bool unknown = says == SL_MENTIONS_NONE || says == SL_MENTIONS_LINES;
    const bool may_match = !sl_list_names_classes(name) && (unknown || has_classes(dataset));
    if (says == SL_MENTIONS_NAMES || (says != SL_MENTIONS_CLOSED && may_match)) {
        sl_list_match_find(dataset, path, &match);
    }
    says = says == SL_MENTIONS_NAMES && match.sorts ? SL_MENTIONS_UNREADABLE : says;
    says = unknown && !sl_list_names_classes(name) ? judge_match(name, &match) : says;
    if (match.matches && found->match.name[0] == '\0') {
        found->match = match;
    }
    if (has_classes(dataset) && match.agrees) {
        return; /* the list repeats what the folders say */
    }
    if (has_classes(dataset) && match.matches && match.says_more && match.is_bare) {
        sl_seen_names_add(&found->spread, name);
    } else if (lists_of_kind(found, says) != NULL) {
        sl_seen_names_add(lists_of_kind(found, says), name);
    }
}

/* ---- decisions ---- */

static sluice_status refuse_several(const char *folder, const sl_seen_names *names,
                                    sluice_error *error)
{
    char text[NAMES_BYTES];
    sl_seen_names_write(names, text, sizeof(text));
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                         "several lists describe its images (%s): open one of them (%.160s/%.64s)",
                         text, folder, names->names[0]);
}

static const char *advise_form(const char *name)
{
    if (sl_ends_with(name, ".json") || sl_ends_with(name, ".jsonl")) {
        return "write it as metadata.jsonl, one line per image: {\"file_name\": \"images/0.jpg\", "
               "\"label\": 3}";
    }
    if (sl_ends_with(name, ".csv") || sl_ends_with(name, ".tsv")) {
        return "separate its cells with commas, name the columns in the first line (path,label), "
               "and write one line per image";
    }
    return "write it as metadata.csv: a first line file_name,label, then one line per image: "
           "images/0.jpg,3";
}

static sluice_status folder_lists_refuse(const char *folder, const sl_seen_names *names,
                                         sluice_error *error)
{
    char text[NAMES_BYTES];
    const bool one = names->count == 1;
    sl_seen_names_write(names, text, sizeof(text));
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                         "%s describe%s the images in an unsupported form, and their labels would "
                         "be lost: %s; or move %s elsewhere to open the images alone",
                         text, one ? "s" : "", advise_form(names->names[0]), one ? "it" : "them");
}

static sluice_status refuse_repeats(const char *folder, const sl_seen_names *names,
                                    sluice_error *error)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                         "%.64s has several rows for an image: write one row per image, or open "
                         "%.160s/%.64s, where each row is a sample",
                         names->names[0], folder, names->names[0]);
}

static sluice_status refuse_otherwise(const char *folder, const lists *found, sluice_error *error)
{
    return sl_error_file(
        error, SLUICE_INVALID, STAGE, 0, folder, -1,
        "%.64s lists the images under names that differ from their file names (%s instead of %s), "
        "and their labels would be lost: separate its cells with commas, begin it with the line "
        "path,label, and write paths such as %s; or move it elsewhere to open the images alone",
        found->otherwise.names[0], found->match.name, found->match.key, found->match.key);
}

static sluice_status refuse_spread(const char *folder, const lists *found, sluice_error *error)
{
    const char *name = found->spread.names[0];
    return sl_error_file(
        error, SLUICE_INVALID, STAGE, 0, folder, -1,
        "labels are ambiguous: the folder names, or the entries for their images in %.64s (\"%s\", "
        "which is %s): to use the list, write paths such as %s in it, and open %.160s/%.64s; to "
        "use the folder names, move the list elsewhere",
        name, found->match.name, found->match.key, found->match.key, folder, name);
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
    (void)sl_path_join(path, folder, name); /* the same path was joined before */
    sluice_status status = sl_dataset_open(&list, paths, 1, options, error);
    if (status == SLUICE_OK) {
        status = sl_folder_lists_count_unlisted(list, folder, name, error);
    }
    if (status < 0) {
        sl_dataset_close(list);
        return status;
    }
    folder_lists_warn(list, &found->unreadable, "it also describes the images and was not read");
    sl_dataset_close(*dataset);
    *dataset = list;
    return SLUICE_OK;
}

static sluice_status decide_beside_classes(sl_dataset *dataset, const lists *found,
                                           const char *folder, sluice_error *error)
{
    static const char what[] = "it lists images of the class folders and was not read: labels are "
                               "the folder names; open the list to use its labels";
    if (found->spread.count > 0) {
        return refuse_spread(folder, found, error);
    }
    folder_lists_warn(dataset, &found->readable, what);
    folder_lists_warn(dataset, &found->repeats, what);
    folder_lists_warn(
        dataset, &found->unreadable,
        "it describes the images in an unsupported form: labels are the class folder names");
    folder_lists_warn(dataset, &found->otherwise,
                      "it lists the images under names that differ from their file names and was "
                      "not read: labels are the class folder names");
    folder_lists_warn(
        dataset, &found->closed,
        "it is beside the class folders and cannot be read: labels are the folder names");
    return SLUICE_OK;
}

static sluice_status folder_lists_decide(sl_dataset **dataset, const lists *found,
                                         const char *folder, const sluice_dataset_options *options,
                                         sluice_error *error)
{
    folder_lists_warn(
        *dataset, &found->annotations,
        "it contains annotations of images and was not read: open it by its path to use them");
    if (has_classes(*dataset)) {
        return decide_beside_classes(*dataset, found, folder, error);
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
    if (found->otherwise.count > 0) {
        return refuse_otherwise(folder, found, error);
    }
    folder_lists_warn(
        *dataset, &found->unclear,
        "it is named like a list of labels, but nothing in it matches the images, so it was not "
        "read: if it contains their labels, write them as metadata.csv (file_name,label)");
    folder_lists_warn(*dataset, &found->lines,
                      "it has as many lines as there are images and was not read: if these are "
                      "labels, write them as metadata.csv (file_name,label)");
    folder_lists_warn(*dataset, &found->closed,
                      "it is beside the images and cannot be read: if it contains labels, write "
                      "them as metadata.csv (file_name,label)");
    folder_lists_warn(*dataset, &found->names_only,
                      "it names images of the folder and was not read: all images are samples");
    return SLUICE_OK;
}

static sluice_status lists_find_label_text(void *ctx, const sl_store_entry *entry,
                                           sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const char *folder = ctx;
    if (sl_ends_with(entry->name, ".txt")) {
        return SLUICE_END;
    }
    /* splits are one folder deep */
    return entry->kind == SL_ENTRY_FOLDER && sl_ends_with(folder, "labels") &&
                   sl_path_join(path, folder, entry->name)
               ? sl_store_list((sl_file_name){STAGE, path}, lists_find_label_text, path, error)
               : SLUICE_OK;
}

/* Warns of text files in a folder "labels" beside annotations of another kind. */
static void warn_label_folder(sl_dataset *dataset, const char *folder)
{
    char path[SL_PATH_BYTES];
    const bool is_other = strcmp(dataset->info.format, sl_format_coco.name) == 0 ||
                          strcmp(dataset->info.format, sl_format_voc.name) == 0;
    if (is_other && sl_path_join(path, folder, "labels") && sl_store_has_folder(path) &&
        sl_store_list((sl_file_name){STAGE, path}, lists_find_label_text, path, NULL) ==
            SLUICE_END) {
        sl_omit(&dataset->omissions, SL_OMITTED_THINGS, "label folders", "labels");
        sl_warnings_add(&dataset->warnings,
                        "labels: the folder has .txt files, like YOLO's labels, and was not read: "
                        "move the other annotations elsewhere to open it");
    }
}

static bool is_beside(const sl_dataset *dataset, const char *path)
{
    sl_list_match match = {.matches = false};
    const sl_mentions says = ask_formats(path);
    if (says == SL_MENTIONS_NONE && !sl_list_names_classes(sl_path_name(path))) {
        sl_list_match_find(dataset, path, &match);
    }
    return (match.matches && match.says_more) || says == SL_MENTIONS_LABELS ||
           says == SL_MENTIONS_REPEATS || says == SL_MENTIONS_UNREADABLE;
}

/*
 * Returns whether the format, as far as it was opened, reads files with this extension beside
 * images.
 */
static bool reads_extension(const sl_dataset *dataset, const sl_folder_look *look,
                            const char *extension)
{
    if (strcmp(dataset->info.format, sl_format_voc.name) == 0) {
        return strcmp(extension, "xml") == 0 && look->annotations.count == 0;
    }
    if (strcmp(dataset->info.format, sl_format_yolo.name) == 0) {
        return strcmp(extension, "txt") == 0;
    }
    /* texts of samples are named by their files' extensions; a label belongs to a folder */
    return strcmp(dataset->info.format, sl_formats[SL_FORMAT_FOLDER]->name) == 0 &&
           strcmp(extension, "label") != 0 && sl_dataset_field(dataset, extension) != SL_FIELD_NONE;
}

/* Returns whether the file was read for the image with the same base name beside it. */
static bool is_of_picture(const sl_dataset *dataset, const sl_folder_look *look, const char *folder,
                          const char *name)
{
    char key[SL_PATH_BYTES];
    char path[SL_PATH_BYTES];
    const char *dot = strrchr(name, '.');
    if (dot == NULL || !reads_extension(dataset, look, dot + 1)) {
        return false;
    }
    const size_t stem = (size_t)(dot - name);
    for (uint64_t i = 0; i < dataset->info.samples; i++) {
        if (sl_dataset_key(dataset, i, key, sizeof(key), NULL) != SLUICE_OK ||
            strncmp(key, name, stem) != 0) {
            continue;
        }
        const char *end = strrchr(key, '.');
        if (key[stem] == '\0' ||
            (end == key + stem && sl_path_join(path, folder, key) && sl_store_has_file(path))) {
            return true;
        }
    }
    return false;
}

sluice_status sl_folder_lists_beside(sl_dataset *dataset, const sl_folder_look *look,
                                     const char *folder, const char *own, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    if (look != NULL) {
        warn_label_folder(dataset, folder);
    }
    if (look == NULL || look->list_count == 0 || look->list_count > SL_FOLDER_LISTS_MAX) {
        return SLUICE_OK;
    }
    sl_seen_names *found = sl_calloc(1, sizeof(*found));
    if (found == NULL) {
        return sl_no_memory(error, STAGE, "for the lists of a folder");
    }
    for (uint32_t i = 0; i < look->list_count; i++) {
        const char *name = look->lists[i];
        const bool is_own =
            strcmp(name, own) == 0 || (sl_ends_with(own, ".json") && sl_ends_with(name, ".json"));
        if (!is_own && sl_path_join(path, folder, name) && is_beside(dataset, path) &&
            !is_of_picture(dataset, look, folder, name)) {
            sl_omit(&dataset->omissions, SL_OMITTED_THINGS, "lists of the images", name);
            sl_seen_names_add(found, name);
        }
    }
    folder_lists_warn(
        dataset, found,
        "it also describes the images and was not read: open it by its path to use it");
    sl_free(found);
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
        judge_list(found, *dataset, folder, look->lists[i], &images);
    }
    const sluice_status status = folder_lists_decide(dataset, found, folder, options, error);
    sl_free(found);
    return status;
}
