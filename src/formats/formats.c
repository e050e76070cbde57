/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formats: asks the formats in table order which of them a path is, and opens it. Any thread.
 *
 * Files are recognised by their contents or names, folders by a single look at their contents.
 */
#include "formats.h"

#include "error.h"
#include "file_refuse.h"
#include "folder_find.h"
#include "folder_lists.h"
#include "folder_split.h"
#include "foreign.h"
#include "format_table.h"
#include "kept_look.h"
#include "list_scan.h"
#include "memory.h"
#include "split_labels.h"
#include "splits.h"
#include "stop.h"
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

/* The table of formats. A file that several of them accept is an error, not a guess. */
const sl_format *const sl_formats[SL_FORMATS] = {
#define SL_FORMAT_ROW(format) &(format),
#include "format_rows.inc"
#undef SL_FORMAT_ROW
};

const sl_format *sl_format_at(uint32_t index)
{
    return index < SL_FORMATS ? sl_formats[index] : NULL;
}

/* Determines a file's format. NULL, with an error: no format, or several. */
static const sl_format *find_of_file(sl_look *look, sluice_error *error)
{
    const sl_format *found = NULL;
    for (size_t i = 0; i < SL_FORMAT_FOLDER; i++) {
        if (!sl_formats[i]->probe(look)) {
            continue;
        }
        if (found != NULL) {
            (void)sl_error_file(error, SLUICE_INVALID, STAGE, 0, look->path, -1,
                                "ambiguous format: \"%s\" or \"%s\", and the files of both exist: "
                                "move the files of one of them to another folder",
                                found->name, sl_formats[i]->name);
            return NULL;
        }
        found = sl_formats[i];
    }
    if (found == NULL) {
        (void)sl_file_refuse(look, error);
    }
    return found;
}

/* ---- opening ---- */

/* Explains a failed open if the file is known to be something else. */
static sluice_status explain_foreign(sluice_status status, sluice_error *error)
{
    uint8_t head[SL_FOREIGN_HEAD_BYTES];
    char path[sizeof(((sluice_error *)0)->file)];
    if ((status != SLUICE_CORRUPT && status != SLUICE_UNSUPPORTED && status != SLUICE_INVALID) ||
        error == NULL || error->file[0] == '\0') {
        return status;
    }
    memcpy(path, error->file, sizeof(path));
    const size_t bytes = sl_store_look(path, head, sizeof(head));
    return sl_foreign_explain(status, path, head, bytes, error);
}

static sluice_status refuse_fields(const sl_format *format, const char *path, sluice_error *error)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "cannot choose fields: the format \"%s\" does not support it",
                         format->name);
}

/*
 * Opens only if no lookup went unanswered: a file that does not respond is not the same as a
 * missing one, and the dataset would silently lack its contents.
 */
static sluice_status open_surely(const sl_format *format, sl_dataset **dataset,
                                 const char *const *paths, size_t count,
                                 const sluice_dataset_options *options, sluice_error *error)
{
    sl_store_doubt doubt = {.of_has = true};
    sl_store_doubt *before = sl_store_note_doubts(&doubt);
    const sluice_status status =
        explain_foreign(format->open(dataset, paths, count, options, error), error);
    (void)sl_store_note_doubts(before);
    if (doubt.path[0] == '\0' || (status < 0 && status != SLUICE_INVALID)) {
        return status;
    }
    if (status >= 0) {
        sl_dataset_close(*dataset);
        *dataset = NULL;
    }
    return sl_error_file(error, SLUICE_IO, STAGE, doubt.sys_errno, doubt.path, -1,
                         "cannot determine the contents of the dataset%s", doubt.reason);
}

static sluice_status open_as(const sl_format *format, sl_dataset **dataset,
                             const char *const *paths, size_t count,
                             const sluice_dataset_options *options, sluice_error *error)
{
    if (options->field_count > 0 && !format->takes_fields) {
        return refuse_fields(format, paths[0], error);
    }
    if (options->split != NULL && !format->takes_split) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[0], -1,
                             SL_OPTION("split") " \"%.64s\": format \"%s\" has no splits to choose "
                                                "from; open the path of the split",
                             options->split, format->name);
    }
    return open_surely(format, dataset, paths, count, options, error);
}

/* Adds a path's files to those given to a format that is opened by files. */
static sluice_status formats_add_path(sl_file_list *files, const sl_format *format,
                                      const char *path, sluice_error *error)
{
    sl_look folder;
    sl_look_begin_folder(&folder, path);
    if (!sl_store_has_folder(path) || format->probe(&folder)) {
        return sl_file_list_add(files, path, error);
    }
    const uint32_t first = files->count;
    const sluice_status status = sl_folder_list_files(files, path, format, UINT32_MAX, error);
    return status == SLUICE_OK && files->count == first
               ? sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "contains no %s",
                               format->files)
               : status;
}

static sluice_status formats_open_files(const sl_format *format, sl_dataset **dataset,
                                        const sl_file_list *files,
                                        const sluice_dataset_options *options, sluice_error *error)
{
    const char **paths = (const char **)sl_calloc(files->count, sizeof(*paths));
    if (paths == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    for (uint32_t i = 0; i < files->count; i++) {
        paths[i] = files->files[i].path;
    }
    const sluice_status status = open_as(format, dataset, paths, files->count, options, error);
    sl_free((void *)paths);
    return status;
}

static sluice_status add_paths(sl_file_list *files, const sl_format *format,
                               const char *const *paths, size_t count, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = formats_add_path(files, format, paths[i], error);
    }
    return status;
}

static sluice_status open_found(sl_dataset **dataset, sl_found *found, const char *const *paths,
                                size_t count, const sluice_dataset_options *options,
                                sluice_error *error)
{
    const sluice_status status =
        found->files.count == 0
            ? open_as(found->format, dataset, paths, count, options, error)
            : formats_open_files(found->format, dataset, &found->files, options, error);
    if (status == SLUICE_OK && *dataset != NULL) {
        sl_omissions_join(&(*dataset)->omissions, &found->passed);
    }
    return status;
}

/* Ends a search, successful or not, with an error if some lookup went unanswered. */
static sluice_status end_search(const sl_store_doubt *doubt, sl_store_doubt *before,
                                sluice_status status, sluice_error *error)
{
    (void)sl_store_note_doubts(before);
    return doubt->path[0] != '\0' && status != SLUICE_IO && status != SLUICE_NOMEM
               ? sl_error_file(error, SLUICE_IO, STAGE, doubt->sys_errno, doubt->path, -1,
                               "cannot determine the format of the dataset%s", doubt->reason)
               : status;
}

/* Finds the format of the first path, which determines how the others are read. */
static sluice_status formats_find_in_folder(sl_found *found, const char *const *paths, size_t count,
                                            sluice_error *error)
{
    sl_store_doubt doubt = {.sys_errno = 0};
    sl_store_doubt *before = sl_store_note_doubts(&doubt);
    sluice_status status = sl_folder_find(found, paths[0], error);
    if (status == SLUICE_OK && found->files.count > 0) {
        status = add_paths(&found->files, found->format, paths + 1, count - 1, error);
    }
    return end_search(&doubt, before, status, error);
}

/* Returns whether a dataset is a folder of images alone, with or without class folders. */
static bool formats_is_plain(const sl_dataset *dataset)
{
    return strcmp(dataset->info.format, sl_formats[SL_FORMAT_FOLDER]->name) == 0 &&
           dataset->info.fields == (dataset->info.classes > 0 ? 3 : 2);
}

/* Returns the name of the table that a folder is opened by. */
static const char *name_of_list(const sl_folder_look *look)
{
    for (uint32_t i = 0; look != NULL && i < look->list_count && i < SL_FOLDER_LISTS_MAX; i++) {
        if (strncmp(look->lists[i], "metadata.", 9) == 0 ||
            strcmp(look->lists[i], "dataset.json") == 0) {
            return look->lists[i];
        }
    }
    return "the table";
}

/* Returns whether non-images were left out: one of them may be a list. */
static bool has_others(const sl_dataset *dataset)
{
    for (uint32_t i = 0; i < dataset->omissions.reasons; i++) {
        if (!dataset->omissions.of[i].images) {
            return true;
        }
    }
    return false;
}

/*
 * Opens the only class folder of a dataset by a list of its own beside its images. A folder that
 * only contains another folder is not entered: such chains may be long.
 */
static sluice_status open_inner(sl_dataset **dataset, const char *path,
                                const sluice_dataset_options *options, sluice_error *error)
{
    char inner[SL_PATH_BYTES];
    const char *const paths[] = {inner};
    const char *name = sl_dataset_class_name(*dataset, 0);
    sl_dataset *own = NULL;
    sl_folder_look *look = sl_calloc(1, sizeof(*look));
    if (look == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    sluice_status status = SLUICE_OK;
    const bool fits = name != NULL && sl_path_join(inner, path, name);
    if (fits) {
        status = sl_folder_look_at(look, inner, error);
    }
    const bool has_lists = look->list_count > 0 && look->list_count <= SL_FOLDER_LISTS_MAX &&
                           look->of[SL_FORMAT_FOLDER].count > 0;
    sl_free(look);
    if (status < 0 || !fits || !has_lists) {
        return status;
    }
    status = sl_dataset_open(&own, paths, 1, options, error);
    if (status == SLUICE_OK && own != NULL &&
        strcmp(own->info.format, (*dataset)->info.format) != 0) {
        sl_dataset *before = *dataset;
        *dataset = own;
        own = before;
    }
    sl_dataset_close(own);
    return status;
}

/* Rejects a single class folder that is named like a split, if no list provides labels. */
static sluice_status refuse_lone_split(const sl_dataset *dataset, const char *path,
                                       sluice_error *error)
{
    const char *name = sl_dataset_class_name(dataset, 0);
    if (!formats_is_plain(dataset) || dataset->info.classes != 1 || name == NULL ||
        !sl_split_is_part(name)) {
        return SLUICE_OK;
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "all its images are in \"%.64s\", a split, which would be their only "
                         "class: open %.160s/%.64s, or name it (" SL_OPTION("split") " \"%.64s\")",
                         name, path, name, name);
}

/*
 * Checks an opened folder for other data beside its images, and for images that its list leaves
 * out.
 */
static sluice_status check_opened(sl_dataset **dataset, const sl_found *found, const char *path,
                                  const sluice_dataset_options *options, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    const char *own = found->files.count > 0 ? sl_path_name(found->files.files[0].path) : "";
    if (found->format->mentions != NULL && found->files.count == 0) {
        own = name_of_list(found->look);
        status = sl_folder_lists_count_unlisted(*dataset, path, own, error);
    }
    if (status == SLUICE_OK && found->format->has_annotations) {
        return sl_folder_lists_beside(*dataset, found->look, path, own, error);
    }
    if (status == SLUICE_OK && found->format == sl_formats[SL_FORMAT_FOLDER] &&
        !formats_is_plain(*dataset)) {
        /* the captions may have come from such a file */
        return sl_folder_lists_beside(*dataset, found->look, path, "metadata.json", error);
    }
    if (status < 0 || !formats_is_plain(*dataset)) {
        return status;
    }
    if ((*dataset)->info.classes < 2) {
        status = sl_folder_check_plain(found, path, error);
    }
    if (status == SLUICE_OK && (*dataset)->info.classes == 1 && has_others(*dataset)) {
        status = open_inner(dataset, path, options, error);
    }
    if (status < 0 || !formats_is_plain(*dataset)) {
        return status;
    }
    status = sl_folder_lists_apply(dataset, found->look, path, options, error);
    return status == SLUICE_OK ? refuse_lone_split(*dataset, path, error) : status;
}

/* Warns that a split without labels does not use the tables beside its folder. */
static sluice_status warn_of_tables(sl_dataset *dataset, const char *folder, sluice_error *error)
{
    if (!formats_is_plain(dataset) || dataset->info.classes > 0) {
        return SLUICE_OK;
    }
    sl_folder_look *look = sl_calloc(1, sizeof(*look));
    if (look == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    const sluice_status status = sl_folder_look_at(look, folder, error);
    for (uint32_t i = 0; i < look->list_count && i < SL_FOLDER_LISTS_MAX; i++) {
        if (sl_list_is_table(look->lists[i]) || sl_list_says_labels(look->lists[i])) {
            sl_warnings_add(&dataset->warnings,
                            "the images of the split have no labels, and %.255s beside its folder "
                            "was not read: open that file to use its labels",
                            look->lists[i]);
        }
    }
    sl_free(look);
    return status;
}

/* Opens the sub-folder that `split` names. END: no sub-folder is a split. */
static sluice_status open_split(sl_dataset **dataset, const char *const *paths, size_t count,
                                const sluice_dataset_options *options, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const char *const inner[] = {path};
    sluice_dataset_options own = *options;
    own.split = NULL;
    if (count != 1) {
        return SLUICE_END;
    }
    sl_file_list splits = {.count = 0};
    sluice_status status = sl_folder_split_find(paths[0], options->split, path, &splits, error);
    /* Hugging Face repositories store the files of all splits in one folder */
    if (status == SLUICE_END && sl_path_join(path, paths[0], "data") && sl_store_has_folder(path)) {
        return sl_dataset_open(dataset, inner, 1, options, error);
    }
    if (status == SLUICE_OK) {
        status = sl_dataset_open(dataset, inner, 1, &own, error);
    }
    if (status == SLUICE_OK && *dataset != NULL) {
        status = sl_formats[SL_FORMAT_FOLDER]->join_splits(*dataset, &splits, options, error);
    }
    if (status == SLUICE_OK && *dataset != NULL) {
        status = sl_split_labels_number(*dataset, path, &splits, options, error);
    }
    if (status == SLUICE_OK && *dataset != NULL) {
        status = warn_of_tables(*dataset, paths[0], error);
    }
    if (status < 0) {
        sl_dataset_close(*dataset);
        *dataset = NULL;
    }
    sl_file_list_close(&splits);
    return status;
}

/* Opens a folder. The images of a folder have no fields to choose from, but a list in it may. */
static sluice_status open_with_lists(sl_dataset **dataset, sl_found *found,
                                     const char *const *paths, size_t count,
                                     const sluice_dataset_options *options, sluice_error *error)
{
    const bool is_folder = found->format == sl_formats[SL_FORMAT_FOLDER];
    sluice_dataset_options own = *options;
    own.field_count = is_folder ? 0 : own.field_count;
    sluice_status status = open_found(dataset, found, paths, count, &own, error);
    if (status == SLUICE_INVALID && is_folder) {
        sl_folder_lists_offer(found->look, paths[0], error);
    }
    if (status != SLUICE_OK || *dataset == NULL) {
        return status;
    }
    status = check_opened(dataset, found, paths[0], options, error);
    return status == SLUICE_OK && is_folder && options->field_count > 0 &&
                   strcmp((*dataset)->info.format, found->format->name) == 0
               ? refuse_fields(found->format, paths[0], error)
               : status;
}

/* Opens a split one level further down. END: there is none. */
static sluice_status open_split_below(sl_dataset **dataset, const sl_found *found, const char *path,
                                      const sluice_dataset_options *options, sluice_error *error)
{
    char inner[SL_PATH_BYTES];
    const char *const paths[] = {inner};
    sluice_status status = SLUICE_END;
    if (found->format->find_split != NULL) {
        status = found->format->find_split(path, options->split, inner) ? SLUICE_OK : SLUICE_END;
    } else if (found->format == sl_formats[SL_FORMAT_FOLDER] && found->look != NULL) {
        status = sl_folder_find_inner_split(found, path, inner, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    return sl_store_has_folder(inner)
               ? sl_dataset_open(dataset, paths, 1, options, error)
               : sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                               SL_OPTION("split") " \"%.64s\": its splits are lists: open %.300s",
                               options->split, inner);
}

static bool takes_split(const sl_found *found)
{
    return found->format != NULL && found->format->takes_split;
}

static sluice_status formats_open_folder(sl_dataset **dataset, const char *const *paths,
                                         size_t count, const sluice_dataset_options *options,
                                         sluice_error *error)
{
    sl_found found = {.split = options->split};
    sluice_status status = formats_find_in_folder(&found, paths, count, error);
    if (status == SLUICE_OK && options->split != NULL && !takes_split(&found)) {
        status = open_split(dataset, paths, count, options, error);
        if (status == SLUICE_END && count == 1) {
            status = open_split_below(dataset, &found, paths[0], options, error);
        }
        if (status != SLUICE_END) {
            sl_found_close(&found);
            return status;
        }
        status = SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = open_with_lists(dataset, &found, paths, count, options, error);
    }
    if (status == SLUICE_END) {
        status = sl_folder_refuse(&found, paths[0], error);
    }
    if (status < 0) {
        sl_dataset_close(*dataset);
        *dataset = NULL;
    }
    sl_found_close(&found);
    return status;
}

/* Opens a folder within one listing, which all lookups share. */
static sluice_status open_listed_folder(sl_dataset **dataset, const char *const *paths,
                                        size_t count, const sluice_dataset_options *options,
                                        sluice_error *error)
{
    sl_kept_listing listing = {.folder = paths[0]};
    sl_kept_listing *before = sl_store_keep_listing(&listing);
    const sluice_status status = formats_open_folder(dataset, paths, count, options, error);
    (void)sl_store_keep_listing(before);
    sl_kept_listing_close(&listing);
    return status;
}

/* The paths given to open; the first one was looked at. */
typedef struct given {
    const char *const *paths;
    size_t count;
    sl_look look;
    sl_open_file file;    /* file opened by the look, for the format's reader */
    sl_store_doubt doubt; /* lookups unanswered since the look began */
    sl_store_doubt *before;
} given;

/* Finds a file's format and, if that is opened by its files, the files to open. */
static sluice_status find_files_of(given *of, const sl_format **format, sl_file_list *files,
                                   sluice_error *error)
{
    *format = find_of_file(&of->look, error);
    if (*format == NULL) {
        return SLUICE_INVALID;
    }
    if ((*format)->is_file == NULL) {
        return SLUICE_OK;
    }
    const sluice_status status = sl_file_list_add(files, of->paths[0], error);
    return status == SLUICE_OK ? add_paths(files, *format, of->paths + 1, of->count - 1, error)
                               : status;
}

/* Opens a file together with the other paths. */
static sluice_status formats_open_file(sl_dataset **dataset, given *of,
                                       const sluice_dataset_options *options, sluice_error *error)
{
    sl_file_list files = {.count = 0};
    const sl_format *format = NULL;
    sluice_status status = find_files_of(of, &format, &files, error);
    status = end_search(&of->doubt, of->before, status, error);
    if (status == SLUICE_OK && format != NULL) {
        sl_open_file *before = sl_store_offer_file(&of->file);
        status = format->is_file == NULL
                     ? open_as(format, dataset, of->paths, of->count, options, error)
                     : formats_open_files(format, dataset, &files, options, error);
        (void)sl_store_offer_file(before);
    }
    sl_handle_close(&of->file.handle);
    sl_file_list_close(&files);
    return status;
}

/*
 * Returns whether a remote address ends in a slash, which marks a folder. Once the store knows
 * that, the slash must go before names are appended.
 */
static bool is_remote_folder(const char *path)
{
    const size_t bytes = strlen(path);
    return bytes > 0 && path[bytes - 1] == '/' && sl_store_of(path)->remote;
}

static bool names_remote_folders(const char *const *paths, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count && !any; i++) {
        any = is_remote_folder(paths[i]);
    }
    return any;
}

static sluice_status open_without_slashes(sl_dataset **dataset, const char *const *paths,
                                          size_t count, const sluice_dataset_options *options,
                                          sluice_error *error)
{
    sl_file_list plain = {.count = 0};
    sluice_status status = SLUICE_OK;
    sl_store_scope_begin();
    for (size_t i = 0; i < count && status == SLUICE_OK; i++) {
        sl_store_facts facts;
        const bool is_folder = is_remote_folder(paths[i]);
        if (is_folder) {
            status = sl_store_find((sl_file_name){STAGE, paths[i]}, &facts, error);
        }
        if (status == SLUICE_OK) {
            status = sl_file_list_add(&plain, paths[i], error);
        }
        for (size_t end = strlen(paths[i]); status == SLUICE_OK && is_folder && end > 0; end--) {
            if (paths[i][end - 1] != '/') {
                break;
            }
            plain.files[i].path[end - 1] = '\0';
        }
    }
    if (status == SLUICE_OK) {
        const char **names = (const char **)sl_calloc(count, sizeof(*names));
        status = names != NULL ? SLUICE_OK : sl_no_memory(error, STAGE, "opening a dataset");
        for (size_t i = 0; names != NULL && i < count; i++) {
            names[i] = plain.files[i].path;
        }
        status = names != NULL ? sl_dataset_open(dataset, names, count, options, error) : status;
        sl_free((void *)names);
    }
    sl_store_scope_end();
    sl_file_list_close(&plain);
    return status;
}

/*
 * Opens a path that does not exist or whose store does not respond. The address of a folder on a
 * web server may lack its slash: without a listing, it was first requested as a file.
 */
static sluice_status open_missing(sl_dataset **dataset, given *of,
                                  const sluice_dataset_options *options, sluice_error *error)
{
    char folder[SL_PATH_BYTES];
    const char *const paths[] = {folder};
    sluice_error own;
    const char *path = of->paths[0];
    const sluice_status missing = sl_missing_refuse(&of->look, error);
    const size_t bytes = strlen(path);
    if (of->count != 1 || bytes + 2 > sizeof(folder) ||
        !sl_missing_lacks_slash(path, sl_look_errno(&of->look))) {
        return missing;
    }
    (void)snprintf(folder, sizeof(folder), "%s/", path);
    sl_error_clear(&own);
    const sluice_status status = open_without_slashes(dataset, paths, 1, options, &own);
    if (status < 0 && own.sys_errno == ENOTSUP) {
        return missing; /* the folder has no index */
    }
    if (status < 0 && error != NULL) {
        *error = own;
    }
    return status;
}

static sluice_status formats_open_paths(sl_dataset **dataset, const char *const *paths,
                                        size_t count, const sluice_dataset_options *options,
                                        sluice_error *error)
{
    given of = {.paths = paths, .count = count};
    of.before = sl_store_note_doubts(&of.doubt);
    sl_look_begin(&of.look, paths[0]);
    sl_look_keep_open(&of.look, &of.file);
    switch (sl_look_kind(&of.look)) {
    case SL_ENTRY_UNKNOWN:
        (void)sl_store_note_doubts(of.before);
        return open_missing(dataset, &of, options, error);
    case SL_ENTRY_FOLDER:
        (void)sl_store_note_doubts(of.before);
        return open_listed_folder(dataset, paths, count, options, error);
    default:
        return formats_open_file(dataset, &of, options, error);
    }
}

/* Fails with NOMEM: a lookup that ran out of memory may have mistaken the format. */
static sluice_status refuse_after_shortage(sl_dataset **dataset, sluice_error *error)
{
    sl_dataset_close(*dataset);
    *dataset = NULL;
    return sl_no_memory(error, STAGE, "opening a dataset");
}

sluice_status sl_dataset_open(sl_dataset **dataset, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error)
{
    sl_kept_look look;
    *dataset = NULL;
    if (count == 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "no path given");
    }
    if (names_remote_folders(paths, count)) {
        return open_without_slashes(dataset, paths, count, options, error);
    }
    const uint64_t shortages = sl_memory_shortages();
    sl_store_scope_begin();
    sl_kept_look_begin(&look);
    sl_kept_look *before = sl_store_keep_look(&look);
    const sluice_status status = formats_open_paths(dataset, paths, count, options, error);
    (void)sl_store_keep_look(before);
    sl_kept_look_end(&look);
    sl_store_scope_end();
    return status == SLUICE_OK && *dataset != NULL && sl_memory_shortages() > shortages
               ? refuse_after_shortage(dataset, error)
               : status;
}
