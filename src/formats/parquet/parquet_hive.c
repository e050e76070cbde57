/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_hive: lists folders named KEY=VALUE and makes columns of their names. Runs on the
 * opener's thread.
 */
#include "parquet_hive.h"

#include "error.h"
#include "memory.h"
#include "name_list.h"
#include "option_text.h"
#include "splits.h"
#include "store.h"

#include <stdlib.h>
#include <string.h>

#define STAGE   "dataset"
#define NOTHING "__HIVE_DEFAULT_PARTITION__"

/* Digits of an integer that always fit. */
enum { DIGITS_MAX = 18 };

void sl_hive_close(sl_hive *hive)
{
    for (uint32_t k = 0; k < hive->count; k++) {
        sl_hive_key *key = &hive->keys[k];
        for (uint32_t i = 0; key->values != NULL && i < key->value_count; i++) {
            sl_free(key->values[i]);
        }
        sl_free((void *)key->values);
        sl_free(key->of);
    }
    *hive = (sl_hive){.count = 0};
}

/* ---- names ---- */

static bool is_assignment(const char *name)
{
    const char *equals = strchr(name, '=');
    return equals != NULL && equals > name && name[0] != '.' && name[0] != '_';
}

static int hex_of(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    const int small = (unsigned char)digit | 0x20;
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/* Decodes `bytes` of a name to `to`, which has space for as many, and a NUL. */
static void decode(char *to, const char *from, size_t bytes)
{
    size_t used = 0;
    for (size_t at = 0; at < bytes; at++) {
        const int high = from[at] == '%' && bytes - at > 2 ? hex_of(from[at + 1]) : -1;
        const int low = high >= 0 ? hex_of(from[at + 2]) : -1;
        const bool is_code = low >= 0 && (high | low) != 0; /* %00 is kept as is */
        const uint8_t byte = (uint8_t)(is_code ? high * 16 + low : from[at]);
        memcpy(&to[used++], &byte, 1);
        at += is_code ? 2 : 0;
    }
    to[used] = '\0';
}

static bool is_integer(const char *text)
{
    const char *digits = text + (text[0] == '-');
    const size_t count = strspn(digits, "0123456789");
    return count > 0 && count <= DIGITS_MAX && digits[count] == '\0';
}

/* ---- recognising files ---- */

/* A look at a folder, which ends at the first match. */
typedef struct glance {
    const char *path;
    bool (*is_named)(
        const char *name); /* name test for files; NULL: only look for partition folders */
    bool (*of)(const char *name);
} glance;

static sluice_status glance_at(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const glance *g = ctx;
    (void)error;
    if (entry->name[0] == '.' || entry->name[0] == '_') {
        return SLUICE_OK;
    }
    if (g->is_named != NULL && g->is_named(entry->name)) {
        return SLUICE_END;
    }
    if (!is_assignment(entry->name) || !sl_path_join(path, g->path, entry->name)) {
        return SLUICE_OK;
    }
    const bool wanted =
        g->is_named != NULL ? sl_store_is_folder(entry, path) : sl_hive_is_part(path, g->of);
    return wanted ? SLUICE_END : SLUICE_OK;
}

static bool holds(glance g)
{
    return sl_store_list((sl_file_name){STAGE, g.path}, glance_at, &g, NULL) == SLUICE_END;
}

bool sl_hive_is_part(const char *path, bool (*is_named)(const char *name))
{
    return is_assignment(sl_path_name(path)) && sl_store_has_folder(path) &&
           holds((glance){.path = path, .is_named = is_named});
}

bool sl_hive_is(const char *path, bool (*is_named)(const char *name))
{
    return sl_store_has_folder(path) && holds((glance){.path = path, .of = is_named});
}

/* ---- listing ---- */

/* A folder that is being listed. */
typedef struct lister {
    const sl_hive_how *how;
    const char *folder;
    sl_file_list files, parts;
} lister;

static sluice_status parquet_hive_add_entry(void *ctx, const sl_store_entry *entry,
                                            sluice_error *error)
{
    char path[SL_PATH_BYTES];
    lister *l = ctx;
    if (entry->name[0] == '.' || entry->name[0] == '_') {
        return SLUICE_OK; /* _SUCCESS, _metadata, .part-0.crc */
    }
    if (!sl_path_join(path, l->folder, entry->name)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, l->folder, -1,
                             "the path of a file in it is too long");
    }
    if (sl_store_is_folder(entry, path)) {
        return is_assignment(entry->name)
                   ? sl_file_list_add(&l->parts, path, error)
                   : sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                                   "not named KEY=VALUE like other folders of the dataset: move "
                                   "it, or open it alone");
    }
    if (l->how->is_named(entry->name)) {
        return sl_file_list_add(&l->files, path, error);
    }
    sl_omit(l->how->omissions, SL_OMITTED_THINGS, "files beside those of the dataset", path);
    return SLUICE_OK;
}

static int parquet_hive_compare_paths(const void *a, const void *b)
{
    return strcmp(((const sl_listed_file *)a)->path, ((const sl_listed_file *)b)->path);
}

static void sort_paths(sl_file_list *list)
{
    if (list->count > 1) {
        qsort(list->files, list->count, sizeof(*list->files), parquet_hive_compare_paths);
    }
}

static sluice_status list_part(sl_file_list *files, const char *folder, uint32_t depth,
                               const sl_hive_how *how, sluice_error *error)
{
    lister l = {.how = how, .folder = folder};
    sluice_status status =
        sl_store_list((sl_file_name){STAGE, folder}, parquet_hive_add_entry, &l, error);
    sort_paths(&l.files);
    sort_paths(&l.parts);
    if (status == SLUICE_OK && l.files.count > 0 && l.parts.count > 0) {
        status =
            sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                          "the folder contains the file \"%.200s\" and the folder \"%.200s\": "
                          "files must be all in such folders, or all outside",
                          sl_path_name(l.files.files[0].path), sl_path_name(l.parts.files[0].path));
    }
    if (status == SLUICE_OK && l.parts.count > 0 && depth == SL_HIVE_KEYS_MAX) {
        status =
            sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, folder, -1,
                          "folders named KEY=VALUE are nested more than %u deep", SL_HIVE_KEYS_MAX);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < l.files.count; i++) {
        status = sl_file_list_add(files, l.files.files[i].path, error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < l.parts.count; i++) {
        status = list_part(files, l.parts.files[i].path, depth + 1, how, error);
    }
    sl_file_list_close(&l.files);
    sl_file_list_close(&l.parts);
    return status;
}

/* ---- keys and values ---- */

/* Returns the length of the next component of a path below the root; 0 at the file name. */
static size_t next_part(const char **at)
{
    *at += strspn(*at, "/");
    const char *slash = strchr(*at, '/');
    return slash != NULL ? (size_t)(slash - *at) : 0;
}

static sluice_status find_hive_keys(sl_hive *hive, const sl_file_list *files, size_t root,
                                    sluice_error *error)
{
    const char *at = files->files[0].path + root;
    for (size_t bytes = next_part(&at); bytes > 0; at += bytes, bytes = next_part(&at)) {
        const size_t name = (size_t)((const char *)memchr(at, '=', bytes) - at);
        if (name >= SL_SOURCE_NAME_BYTES) {
            return sl_error_file(error, SLUICE_INVALID, STAGE, 0, files->files[0].path, -1,
                                 "a folder's key is too long");
        }
        decode(hive->keys[hive->count++].name, at, name);
    }
    for (uint32_t k = 0; k < hive->count; k++) {
        sl_hive_key *key = &hive->keys[k];
        key->values = (char **)sl_calloc((size_t)files->count + 1, sizeof(*key->values));
        key->of = sl_calloc((size_t)files->count + 1, sizeof(*key->of));
        if (key->values == NULL || key->of == NULL) {
            return sl_no_memory(error, STAGE, "for the names of folders");
        }
    }
    return SLUICE_OK;
}

static sluice_status refuse_keys(const sl_file_list *files, uint32_t file, sluice_error *error)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, files->files[file].path, -1,
                         "its folders have different keys from those of \"%.512s\"",
                         files->files[0].path);
}

/* Stores the values of a file's folders, at first one per file, so that they can be sorted. */
static sluice_status take_values_of(sl_hive *hive, const sl_file_list *files, uint32_t file,
                                    size_t root, sluice_error *error)
{
    uint32_t k = 0;
    const char *at = files->files[file].path + root;
    for (size_t bytes = next_part(&at); bytes > 0; at += bytes, bytes = next_part(&at), k++) {
        char name[SL_SOURCE_NAME_BYTES];
        const char *equals = memchr(at, '=', bytes);
        const size_t length = (size_t)(equals - at);
        if (k == hive->count || length >= sizeof(name)) {
            return refuse_keys(files, file, error);
        }
        decode(name, at, length);
        if (strcmp(name, hive->keys[k].name) != 0) {
            return refuse_keys(files, file, error);
        }
        const size_t value = bytes - length - 1;
        if (value == strlen(NOTHING) && memcmp(equals + 1, NOTHING, value) == 0) {
            continue;
        }
        char *decoded = sl_malloc(value + 1);
        if (decoded == NULL) {
            return sl_no_memory(error, STAGE, "for the names of folders");
        }
        decode(decoded, equals + 1, value);
        hive->keys[k].values[hive->keys[k].value_count++] = decoded;
        hive->keys[k].of[file] = 1; /* it has one */
    }
    return k == hive->count ? SLUICE_OK : refuse_keys(files, file, error);
}

static int compare_values(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Numbers a key's values in the files' order; of[file] is 0 if a file has none. */
static bool number_values(sl_hive_key *key, uint32_t files)
{
    uint32_t next = 0;
    const uint32_t all = key->value_count;
    char **sorted = (char **)sl_calloc((size_t)all + 1, sizeof(*sorted));
    if (sorted == NULL) {
        return false;
    }
    memcpy((void *)sorted, (const void *)key->values, all * sizeof(*sorted));
    if (all > 1) {
        qsort((void *)sorted, all, sizeof(*sorted), compare_values);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < all; i++) {
        if (count == 0 || strcmp(sorted[count - 1], sorted[i]) != 0) {
            sorted[count++] = sorted[i];
        }
    }
    key->is_integer = all > 0;
    for (uint32_t i = 0; i < count; i++) {
        key->is_integer = key->is_integer && is_integer(sorted[i]);
    }
    for (uint32_t i = 0; i < files; i++) {
        if (key->of[i] == 0) {
            key->of[i] = SL_HIVE_NULL;
            continue;
        }
        char *const *found = bsearch((const void *)&key->values[next++], (const void *)sorted,
                                     count, sizeof(*sorted), compare_values);
        key->of[i] = (uint32_t)(found - sorted);
    }
    for (uint32_t i = 0; i < all; i++) {
        char *const *found = bsearch((const void *)&key->values[i], (const void *)sorted, count,
                                     sizeof(*sorted), compare_values);
        if (*found != key->values[i]) {
            sl_free(key->values[i]); /* another file's copy is kept */
        }
    }
    sl_free((void *)key->values);
    key->values = sorted;
    key->value_count = count;
    key->is_class = !key->is_integer && strcmp(key->name, "label") == 0;
    return true;
}

static sluice_status find_values(sl_hive *hive, const sl_file_list *files, size_t root,
                                 sluice_error *error)
{
    sluice_status status = find_hive_keys(hive, files, root, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < files->count; i++) {
        status = take_values_of(hive, files, i, root, error);
    }
    for (uint32_t k = 0; status == SLUICE_OK && k < hive->count; k++) {
        status = number_values(&hive->keys[k], files->count)
                     ? SLUICE_OK
                     : sl_no_memory(error, STAGE, "for the names of folders");
    }
    return status;
}

/* ---- splits ---- */

static void keep_value(sl_hive *hive, sl_file_list *files, const sl_hive_key *of, uint32_t value,
                       sl_omissions *omissions)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        if (of->of[i] != value) {
            sl_omit(omissions, SL_OMITTED_THINGS, "files of other splits", files->files[i].path);
            sl_free(files->files[i].path);
            continue;
        }
        for (uint32_t k = 0; k < hive->count; k++) {
            if (&hive->keys[k] != of) {
                hive->keys[k].of[kept] = hive->keys[k].of[i];
            }
        }
        files->files[kept++] = files->files[i];
    }
    for (uint32_t i = 0; i < kept; i++) {
        of->of[i] = value;
    }
    files->count = kept;
}

static sluice_status refuse_values(const sl_hive_key *key, const char *path, sluice_error *error)
{
    sl_name_list names;
    sl_name_list_begin(&names);
    for (uint32_t i = 0; i < key->value_count; i++) {
        sl_name_list_add(&names, key->values[i]);
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "its files belong to several splits: %s: choose one (" SL_OPTION(
                             "split") " \"%.64s\"), or open its folder",
                         names.text, key->values[0]);
}

static sl_hive_key *split_key(sl_hive *hive)
{
    for (uint32_t k = 0; k < hive->count; k++) {
        if (strcmp(hive->keys[k].name, "split") == 0) {
            return &hive->keys[k];
        }
    }
    return NULL;
}

static sluice_status choose_part(sl_hive *hive, sl_file_list *files, const char *path,
                                 const sl_hive_how *how, sluice_error *error)
{
    uint32_t number = 0;
    const sl_hive_key *key = split_key(hive);
    if (key == NULL || (how->split == NULL && key->value_count < 2)) {
        return SLUICE_OK;
    }
    if (how->split == NULL) {
        return refuse_values(key, path, error);
    }
    const sluice_status status = sl_split_choose((const char *const *)key->values, key->value_count,
                                                 how->split, &number, error);
    if (status == SLUICE_OK) {
        keep_value(hive, files, key, number, how->omissions);
    } else if (error != NULL) {
        sl_error_set_path(error, path);
    }
    return status;
}

sluice_status sl_hive_list(sl_hive *hive, sl_file_list *files, const char *path,
                           const sl_hive_how *how, sluice_error *error)
{
    sluice_status status = list_part(files, path, 0, how, error);
    if (status == SLUICE_OK && files->count == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                               "the folder contains no Parquet files");
    }
    if (status == SLUICE_OK && strstr(files->files[0].path + strlen(path), "/split=") == NULL) {
        status = sl_split_files(files, path, how->split, how->omissions, error);
    }
    if (status == SLUICE_OK) {
        status = find_values(hive, files, strlen(path), error);
    }
    return status == SLUICE_OK ? choose_part(hive, files, path, how, error) : status;
}
