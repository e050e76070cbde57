/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_json: finds and reads index.json and the files that it names. One thread.
 *
 * Its names are untrusted: they must stay below the folder unless the caller allows otherwise.
 */
#include "index_json.h"

#include "error.h"
#include "store.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"
#define NAME  "index.json"

/* Bytes to search: both writers put their list first, or after a version. */
enum { HEAD_BYTES = 1024, ENTRIES_LOOKED_AT = 1024, FOLDERS_LOOKED_AT = 16 };

/* ---- which ---- */

static const char *index_json_skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') {
        at++;
    }
    return at;
}

/* Finds the beginning of the list `name` in a text; NULL: none. */
static const char *index_json_find_list(const char *text, const char *name)
{
    char key[16];
    (void)snprintf(key, sizeof(key), "\"%s\"", name);
    for (const char *at = text; (at = strstr(at, key)) != NULL; at++) {
        const char *behind = index_json_skip_blanks(at + strlen(key));
        if (*behind == ':' && *index_json_skip_blanks(behind + 1) == '[') {
            return at;
        }
    }
    return NULL;
}

static bool lists(sl_look *look, const char *list)
{
    char text[HEAD_BYTES + 1];
    const sl_bytes head = sl_look_head(look, HEAD_BYTES);
    memcpy(text, head.data, head.size);
    text[head.size] = '\0';
    const char *shards = index_json_find_list(text, "shards");
    const char *chunks = index_json_find_list(text, "chunks");
    const bool first = shards != NULL && (chunks == NULL || shards < chunks);
    return strcmp(list, "shards") == 0 ? first : chunks != NULL && !first;
}

static bool file_lists(const char *path, const char *list)
{
    sl_look look;
    sl_look_begin(&look, path);
    return lists(&look, list);
}

/* A folder whose sub-folders are searched for an index. */
typedef struct finder {
    const char *folder, *list;
    char name[NAME_MAX + 1]; /* name of the last one */
    int entries, folders;
} finder;

static sluice_status look_at_folder(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    char path[SL_PATH_BYTES];
    finder *f = ctx;
    if (f->entries++ == ENTRIES_LOOKED_AT || f->folders == FOLDERS_LOOKED_AT) {
        return SLUICE_CANCELED;
    }
    if (entry->name[0] == '.' || entry->kind == SL_ENTRY_FILE || entry->kind == SL_ENTRY_OTHER) {
        return SLUICE_OK;
    }
    f->folders++;
    (void)snprintf(f->name, sizeof(f->name), "%s", entry->name);
    return snprintf(path, sizeof(path), "%s/%s/" NAME, f->folder, entry->name) < SL_PATH_BYTES &&
                   file_lists(path, f->list)
               ? SLUICE_END
               : SLUICE_OK;
}

/*
 * Finds a sub-folder with an index; only looks at the first few, since an image folder may have
 * thousands.
 */
static bool index_json_find_folder(const char *folder, const char *list, char name[NAME_MAX + 1])
{
    finder f = {.folder = folder, .list = list};
    const sl_file_name place = {STAGE, folder};
    const bool found = sl_store_list(place, look_at_folder, &f, NULL) == SLUICE_END;
    memcpy(name, f.name, sizeof(f.name));
    return found;
}

bool sl_index_json_probe(sl_look *look, const char *list)
{
    const char *path = look->path;
    char file[SL_PATH_BYTES];
    char name[NAME_MAX + 1];
    sl_store_facts facts;
    if (!sl_look_is_folder(look)) {
        return sl_ends_with(path, ".json") && lists(look, list);
    }
    if (!sl_path_join(file, path, NAME)) {
        return false;
    }
    return sl_store_stat(file, &facts) == 0 ? file_lists(file, list)
                                            : index_json_find_folder(path, list, name);
}

/* ---- opening ---- */

static sluice_status index_json_refuse_folder(const char *path, const char *list,
                                              sluice_error *error)
{
    char name[NAME_MAX + 1];
    if (index_json_find_folder(path, list, name)) {
        return sl_error_file(
            error, SLUICE_INVALID, STAGE, 0, path, -1,
            "has no " NAME
            ", but its folder \"%.256s\" has one: name the folders to open (%.256s/%.256s)",
            name, path, name);
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "has no " NAME);
}

sluice_status sl_index_json_load(sl_index_json *index, const sl_index_json_wanted *wanted,
                                 sluice_error *error)
{
    const char *path = wanted->path;
    const char *list = wanted->list;
    const bool folder = sl_store_has_folder(path);
    if (!(folder ? sl_path_join(index->path, path, NAME)
                 : snprintf(index->path, SL_PATH_BYTES, "%s", path) < SL_PATH_BYTES)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "the path is too long");
    }
    if (folder && !sl_store_has(index->path)) {
        return index_json_refuse_folder(path, list, error);
    }
    sluice_status status = wanted->anywhere
                               ? SLUICE_OK
                               : sl_boundary_open_beside(&index->boundary, index->path, error);
    status = status == SLUICE_OK ? sl_json_load(&index->tree, index->path, error) : status;
    if (status == SLUICE_OK && !json_is_array(sl_json_member(index->tree.root, list))) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, index->path, -1, "has no list \"%s\"",
                             list);
    }
    return status;
}

void sl_index_json_close(sl_index_json *index)
{
    sl_json_drop(&index->tree);
    sl_boundary_close(index->boundary);
    index->boundary = NULL;
}

void sl_index_json_move(sl_index_json *to, sl_index_json *from)
{
    *to = *from;
    from->tree = (sl_json_tree){NULL, 0};
    from->boundary = NULL;
}

/* ---- the files ---- */

static sluice_status index_json_refuse_name(const sl_index_json *index, sl_bytes name,
                                            sluice_error *error)
{
    char why[512];
    sl_boundary_explain(index->boundary, name, why, sizeof(why));
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, index->path, -1, "names a file: %s", why);
}

sluice_status sl_index_json_file(const sl_index_json *index, const char *name,
                                 char path[SL_PATH_BYTES], sluice_error *error)
{
    if (name == NULL || name[0] == '\0') {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, index->path, -1,
                             "it contains an empty file name");
    }
    const sl_bytes text = {(const uint8_t *)name, strlen(name)};
    if (!sl_boundary_has_name(index->boundary, text, 0)) {
        return index_json_refuse_name(index, text, error);
    }
    const char *slash = name[0] != '/' ? strrchr(index->path, '/') : NULL;
    const int folder = slash != NULL ? (int)(slash - index->path) + 1 : 0;
    const int length = snprintf(path, SL_PATH_BYTES, "%.*s%s", folder, index->path, name);
    return length >= 0 && length < SL_PATH_BYTES
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_INVALID, STAGE, 0, index->path, -1,
                               "it names a file whose path is too long");
}

sl_packing sl_index_json_packing(const char *compression)
{
    static const struct {
        const char *name;
        sl_packing packing;
    } known[] = {{"zstd", SL_PACKING_ZSTD},
                 {"gz", SL_PACKING_GZIP},
                 {"br", SL_PACKING_BROTLI},
                 {"snappy", SL_PACKING_SNAPPY}};
    const char *name = compression != NULL ? compression : "";
    const size_t length = strcspn(name, ":");
    const size_t digits = name[length] == ':' ? strspn(name + length + 1, "0123456789") : 0;
    if (name[length] == ':' && (digits == 0 || name[length + 1 + digits] != '\0')) {
        return SL_PACKING_NONE;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strlen(known[i].name) == length && strncmp(known[i].name, name, length) == 0) {
            return known[i].packing;
        }
    }
    return SL_PACKING_NONE;
}

sluice_status sl_index_json_refuse(const sl_index_json *index, sluice_status status, int64_t number,
                                   const char *why, sluice_error *error)
{
    if (number < 0) {
        return sl_error_file(error, status, STAGE, 0, index->path, -1, "%s", why);
    }
    return sl_error_file(error, status, STAGE, 0, index->path, -1, "entry %lld of its list: %s",
                         (long long)number, why);
}
