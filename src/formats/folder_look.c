/* SPDX-License-Identifier: Apache-2.0 */
#include "folder_look.h"

#include "hidden.h"
#include "list_scan.h"
#include "memory.h"
#include "splits.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STAGE "dataset"

/* Joins a path. False: it is too long. */
static bool folder_look_join(char path[SL_PATH_BYTES], const char *folder, const char *name)
{
    size_t bytes = strlen(folder);
    while (bytes > 1 && folder[bytes - 1] == '/') {
        bytes--;
    }
    if (bytes >= SL_PATH_BYTES) {
        return false;
    }
    memcpy(path, folder, bytes);
    path[bytes] = '\0';
    return sl_path_append(path, &bytes, SL_PATH_BYTES, name);
}

/* Builds the path only if the listing lacks the type: there may be a million entries. */
static bool folder_look_is_folder(const char *folder, const sl_store_entry *entry)
{
    char path[SL_PATH_BYTES];
    if (entry->kind == SL_ENTRY_FOLDER || entry->kind == SL_ENTRY_FILE) {
        return entry->kind == SL_ENTRY_FOLDER;
    }
    return folder_look_join(path, folder, entry->name) && sl_store_is_folder(entry, path);
}

/* Returns whether a name is usual for a folder of images beside annotations. */
static bool folder_look_is_usual(const char *name)
{
    static const char *const names[] = {"images", "JPEGImages", "annotations", "labels"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(name, names[i]) == 0) {
            return true;
        }
    }
    return sl_split_is(name);
}

/* Returns whether a name is "00017", or "00017" followed by an `end` such as ".parquet". */
static bool folder_look_is_numbered(const char *name, const char *end)
{
    const size_t digits = strspn(name, "0123456789");
    return digits > 0 && strcmp(name + digits, end) == 0;
}

static void folder_look_add_folder(sl_folder_look *look, const char *name)
{
    static const char begin[] = "annotation";
    sl_seen_names_add(&look->folders, name);
    look->usual_folders += folder_look_is_usual(name);
    look->numbered_folders += folder_look_is_numbered(name, "");
    if (strncasecmp(name, begin, strlen(begin)) == 0) {
        sl_seen_names_add(&look->annotations, name);
    }
}

static bool folder_look_is_of(const sl_format *format, const char *name)
{
    return (format->is_named != NULL && format->is_named(name)) ||
           (format->is_file != NULL && format->is_file(name));
}

/*
 * Keeps only tables. There are too many other texts: they belong to single images, which tables
 * never do.
 */
static void look_keep_tables(sl_folder_look *look)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < look->list_count; i++) {
        if (sl_list_is_table(look->lists[i])) {
            memmove(look->lists[kept++], look->lists[i], sizeof(look->lists[i]));
        }
    }
    look->list_count = kept;
    look->only_tables = true;
}

static void look_add_list(sl_folder_look *look, const char *name)
{
    if (look->list_count > SL_FOLDER_LISTS_MAX || strlen(name) > NAME_MAX ||
        !(look->only_tables ? sl_list_is_table(name) : sl_list_is_named(name))) {
        return;
    }
    if (look->list_count == SL_FOLDER_LISTS_MAX && !look->only_tables) {
        look_keep_tables(look);
        if (!sl_list_is_table(name)) {
            return;
        }
    }
    if (look->list_count < SL_FOLDER_LISTS_MAX) {
        memcpy(look->lists[look->list_count], name, strlen(name) + 1);
    }
    look->list_count++;
}

/* Counts the sub-folders that identify a format. */
static void add_part_folders(sl_folder_look *look, const char *folder, const char *name)
{
    char path[SL_PATH_BYTES];
    if (!folder_look_join(path, folder, name)) {
        return;
    }
    for (size_t i = 0; i < SL_FORMAT_FOLDER; i++) {
        if (sl_formats[i]->is_part != NULL && sl_formats[i]->is_part(path)) {
            sl_seen_names_add(&look->of[i], name);
        }
    }
}

static void folder_look_add_file(sl_folder_look *look, const char *name)
{
    sl_seen_names_add(&look->files, name);
    /* images first: there may be a million, and they need no other check */
    if (folder_look_is_of(sl_formats[SL_FORMAT_FOLDER], name)) {
        sl_seen_names_add(&look->of[SL_FORMAT_FOLDER], name);
        return;
    }
    look_add_list(look, name);
    look->class_numbers += sl_ends_with(name, ".cls");
    for (size_t i = 0; i < SL_FORMAT_FOLDER; i++) {
        const sl_format *format = sl_formats[i];
        if (folder_look_is_of(format, name)) {
            sl_seen_names_add(&look->of[i], name);
        }
        look->numbered_files +=
            format->noted_suffix != NULL && folder_look_is_numbered(name, format->noted_suffix);
        look->numbered_notes +=
            format->note_suffix != NULL && folder_look_is_numbered(name, format->note_suffix);
    }
}

/* State of the listing of a folder. */
typedef struct looker {
    sl_folder_look *look;
    const char *folder;
} looker;

static sluice_status look_at_entry(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    const looker *l = ctx;
    if (sl_name_is_hidden(entry->name)) {
        return SLUICE_OK;
    }
    if (folder_look_is_folder(l->folder, entry)) {
        folder_look_add_folder(l->look, entry->name);
        add_part_folders(l->look, l->folder, entry->name);
    } else {
        folder_look_add_file(l->look, entry->name);
    }
    return SLUICE_OK;
}

/* Drops notes: img2dataset writes its statistics of a folder 00017 to 00017.parquet beside it. */
static void leave_out_notes(sl_folder_look *look)
{
    for (size_t i = 0; i < SL_FORMAT_FOLDER; i++) {
        if (sl_formats[i]->note_suffix != NULL && look->folders.count == look->numbered_folders &&
            look->numbered_notes <= look->numbered_folders &&
            look->of[i].count == look->numbered_notes) {
            look->of[i] = (sl_seen_names){.count = 0};
        }
    }
}

/* State of the check of notes. */
typedef struct note_look {
    const char *folder, *suffix, *noted;
    bool all; /* true if each note has its file */
} note_look;

static sluice_status look_at_note(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    char name[NAME_MAX + 1];
    char path[SL_PATH_BYTES];
    note_look *l = ctx;
    (void)error;
    if (!folder_look_is_numbered(entry->name, l->suffix)) {
        return SLUICE_OK;
    }
    const size_t digits = strspn(entry->name, "0123456789");
    (void)snprintf(name, sizeof(name), "%.*s%s", (int)digits, entry->name, l->noted);
    l->all = folder_look_join(path, l->folder, name) && sl_store_has_file(path);
    return l->all ? SLUICE_OK : SLUICE_END;
}

/* Drops the notes that img2dataset writes beside archives such as 00017.tar. */
static sluice_status leave_out_file_notes(sl_folder_look *look, const char *path, size_t notes,
                                          sluice_error *error)
{
    note_look l = {.folder = path, .suffix = sl_formats[notes]->note_suffix, .all = true};
    for (size_t i = 0; i < SL_FORMAT_FOLDER; i++) {
        if (sl_formats[i]->noted_suffix != NULL && look->of[i].count == look->numbered_files) {
            l.noted = sl_formats[i]->noted_suffix;
        }
    }
    if (l.suffix == NULL || l.noted == NULL || look->of[notes].count == 0 ||
        look->of[notes].count != look->numbered_notes ||
        look->numbered_notes > look->numbered_files) {
        return SLUICE_OK;
    }
    const sluice_status status =
        sl_store_list((sl_file_name){STAGE, path}, look_at_note, &l, error);
    if (l.all && status >= 0) {
        look->of[notes] = (sl_seen_names){.count = 0};
    }
    return status < 0 ? status : SLUICE_OK;
}

sluice_status sl_folder_look_at(sl_folder_look *look, const char *path, sluice_error *error)
{
    looker l = {look, path};
    sluice_status status = sl_store_list((sl_file_name){STAGE, path}, look_at_entry, &l, error);
    leave_out_notes(look);
    for (size_t i = 0; status == SLUICE_OK && i < SL_FORMAT_FOLDER; i++) {
        status = leave_out_file_notes(look, path, i, error);
    }
    return status;
}

/* ---- files of one format ---- */

typedef struct lister {
    sl_file_list *list;
    const sl_format *format;
    const char *folder;
} lister;

static sluice_status list_entry(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const lister *l = ctx;
    if (sl_name_is_hidden(entry->name) || !folder_look_is_of(l->format, entry->name) ||
        folder_look_is_folder(l->folder, entry)) {
        return SLUICE_OK;
    }
    if (!folder_look_join(path, l->folder, entry->name)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, l->folder, -1,
                             "the path of a file in it is too long");
    }
    return sl_file_list_add(l->list, path, error);
}

static int folder_look_compare_paths(const void *a, const void *b)
{
    return strcmp(((const sl_listed_file *)a)->path, ((const sl_listed_file *)b)->path);
}

/*
 * Drops files after `first` whose contents have another format. If all differ, looks into at most
 * `most`.
 */
static void keep_sure(sl_file_list *files, uint32_t first, const sl_format *format, uint32_t most)
{
    sl_look look;
    uint32_t kept = first;
    for (uint32_t i = first; i < files->count; i++) {
        sl_listed_file *file = &files->files[i];
        sl_look_begin(&look, file->path);
        if ((i - first < most || kept > first) && format->is_sure(&look)) {
            files->files[kept++] = *file;
        } else {
            sl_free(file->path);
        }
    }
    files->count = kept;
}

sluice_status sl_folder_list_files(sl_file_list *files, const char *folder, const sl_format *format,
                                   uint32_t most, sluice_error *error)
{
    lister l = {files, format, folder};
    const uint32_t first = files->count;
    const sluice_status status =
        sl_store_list((sl_file_name){STAGE, folder}, list_entry, &l, error);
    if (status == SLUICE_OK && files->count > first) {
        qsort(files->files + first, files->count - first, sizeof(*files->files),
              folder_look_compare_paths);
    }
    if (status == SLUICE_OK && format->is_sure != NULL) {
        keep_sure(files, first, format, most);
    }
    return status;
}
