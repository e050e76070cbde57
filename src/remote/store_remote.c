/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of object stores. The kind of an address comes from a listing, from the caller, or from
 * the first request: a GET of 64 KiB, or a page of a listing if the name looks like a folder's.
 * HEAD is never used. A handle's own is its sl_object; NULL for a folder.
 */
#include "curl_library.h"
#include "known.h"
#include "object.h"
#include "opening_store.h"
#include "settings.h"
#include "store.h"

#include "checksum.h"
#include "error.h"
#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- addresses ---- */

static bool ends_with_slash(const char *path)
{
    const size_t bytes = strlen(path);
    return bytes > 0 && path[bytes - 1] == '/';
}

/* Writes the address of a folder, with one slash at its end. False: too long. */
static bool folder_address(char address[SL_PATH_BYTES], const char *path)
{
    const int length =
        snprintf(address, SL_PATH_BYTES, "%s%s", path, ends_with_slash(path) ? "" : "/");
    return length > 0 && length < SL_PATH_BYTES;
}

/* Returns whether a name has no dot, and so is probably a folder's. */
static bool looks_like_folder(const char *key)
{
    const char *name = sl_path_name(key);
    return name[0] == '\0' || strchr(name + 1, '.') == NULL;
}

/* ---- facts ---- */

static void take_folder_facts(sl_store_facts *facts, const char *path)
{
    size_t bytes = strlen(path);
    const char *slashes = strstr(path, "://");
    const size_t bucket = slashes != NULL ? strcspn(slashes + 3, "/") : 0;
    while (bytes > 0 && path[bytes - 1] == '/') {
        bytes--;
    }
    *facts = (sl_store_facts){
        .kind = SL_ENTRY_FOLDER,
        .identity = {.inode = sl_checksum(path, bytes)},
        .device = slashes != NULL ? sl_checksum(path, (size_t)(slashes - path) + bucket + 3) : 0};
}

static void take_object_facts(sl_store_facts *facts, const sl_file_identity *identity)
{
    *facts = (sl_store_facts){.kind = SL_ENTRY_FILE, .identity = *identity};
}

/* Takes known facts; -ENOENT if the name is known to be missing. */
static int take_known_facts(sl_store_facts *facts, const sl_known *known, const char *path)
{
    if (known->kind == SL_ENTRY_OTHER) {
        return -ENOENT;
    }
    if (known->kind == SL_ENTRY_FOLDER) {
        take_folder_facts(facts, path);
    } else {
        const sl_file_identity identity =
            sl_object_identity(known->bytes, known->etag, known->modified_s);
        take_object_facts(facts, &identity);
    }
    return 0;
}

/* Why a name in the current web folder of this thread was rejected; "": none was. Such a folder
 * is opened by a file of a known name, and without this the rejection would pass for absence. */
static _Thread_local char web_refused[SL_REASON_BYTES];

static int note_refusal(const char *path, int failed)
{
    if (failed == -EACCES && sl_store_of(path)->lists_nothing) {
        (void)snprintf(web_refused, sizeof(web_refused), "%s", sl_store_reason());
    }
    return failed;
}

/* ---- questions ---- */

/* Notes the kind of an address with a slash at its end: callers continue without the slash. */
static void note_folder(const char *path)
{
    char address[SL_PATH_BYTES];
    if (!ends_with_slash(path)) {
        return;
    }
    size_t bytes = (size_t)snprintf(address, sizeof(address), "%s", path);
    const sl_known known = {.kind = SL_ENTRY_FOLDER};
    while (bytes > 0 && bytes < sizeof(address) && address[bytes - 1] == '/') {
        address[--bytes] = '\0';
    }
    sl_known_note(address, &known);
}

static int ask_as_folder(const char *path, sl_store_facts *facts)
{
    char address[SL_PATH_BYTES];
    sl_known_folder *folder = NULL;
    if (!folder_address(address, path)) {
        return -ENAMETOOLONG;
    }
    const int failed = sl_known_list(address, false, &folder);
    if (failed == 0) {
        sl_known_release(folder);
        note_folder(path);
        take_folder_facts(facts, path);
    }
    return failed;
}

static int ask_as_object(const char *path, sl_object *object, sl_store_facts *facts)
{
    sl_file_identity identity;
    const int failed = sl_object_look(object);
    if (failed < 0) {
        return failed;
    }
    (void)sl_object_facts(object, &identity);
    take_object_facts(facts, &identity);
    sl_known_note_object(path, object);
    return 0;
}

/* Tries both kinds, the likelier one first; the other only if the first finds nothing. */
static int ask_both(const char *path, sl_object *object, sl_store_facts *facts)
{
    const bool lists = object->provider->lists;
    const bool folder_alone = object->url.key[0] == '\0' || ends_with_slash(path);
    const bool folder_first = lists && (folder_alone || looks_like_folder(object->url.key));
    if (!lists && folder_alone) {
        web_refused[0] = '\0';
        note_folder(path);
        take_folder_facts(facts, path); /* the kind cannot be known */
        return 0;
    }
    int failed = folder_first ? ask_as_folder(path, facts) : ask_as_object(path, object, facts);
    const bool other = folder_first ? !folder_alone : lists;
    if (other && (failed == -ENOENT || (folder_first && failed == -EACCES))) {
        const int second =
            folder_first ? ask_as_object(path, object, facts) : ask_as_folder(path, facts);
        failed = failed == -EACCES && second == -ENOENT ? failed : second;
    }
    return failed;
}

static void note_facts(const char *path, int failed, const sl_store_facts *facts,
                       const sl_object *object)
{
    sl_known known = {.kind = SL_ENTRY_UNKNOWN};
    if (failed == -ENOENT) {
        known.kind = SL_ENTRY_OTHER;
    } else if (failed == 0 && facts->kind == SL_ENTRY_FILE) {
        known.kind = SL_ENTRY_FILE;
        known.bytes = facts->identity.bytes;
        known.modified_s = facts->identity.modified_ns / 1000000000;
        (void)snprintf(known.etag, sizeof(known.etag), "%s", object->etag);
    }
    if (known.kind != SL_ENTRY_UNKNOWN && !ends_with_slash(path)) {
        sl_known_note(path, &known);
    }
}

/* Returns true for "hf://datasets/OWNER/NAME/" or a folder in it. */
static bool is_in_repository(const char *folder)
{
    uint32_t slashes = 0;
    for (const char *at = strchr(folder, '/'); at != NULL; at = strchr(at + 1, '/')) {
        slashes++;
    }
    return slashes >= 5;
}

/* Lists the folder of an address as far as needed to know the address. */
static int list_parent(const char *parent, const char *path, sl_known *known)
{
    int failed = 0;
    for (int whole = 0; whole < 2 && failed == 0 && !sl_known_find(path, known); whole++) {
        sl_known_folder *folder = NULL;
        failed = sl_known_list(parent, whole != 0, &folder);
        if (failed == 0) {
            sl_known_release(folder);
        }
    }
    return failed;
}

/* Returns whether an address is known, after listing its folder if that helps: it is known to be
 * a folder, or the store is a hub, which limits requests. Returns 1, 0, or -errno. */
static int find_known(const char *path, sl_known *known)
{
    char parent[SL_PATH_BYTES];
    if (sl_known_find(path, known)) {
        return 1;
    }
    const bool in_folder = sl_known_parent(path, parent);
    const bool is_hub = sl_store_of(path) == &sl_store_hf && is_in_repository(parent);
    if (!in_folder || (!is_hub && !sl_known_has_folder(parent)) ||
        sl_store_of(path)->lists_nothing) {
        return 0;
    }
    const int failed = list_parent(parent, path, known);
    if (failed < 0 && failed != -ENOENT) {
        return failed;
    }
    return sl_known_find(path, known);
}

/* Returns whether one page of names is enough for a stat: in a bucket, except for the bucket
 * itself and for addresses that only a folder can have. */
static bool asks_by_name(const char *path)
{
    char parent[SL_PATH_BYTES];
    const sl_store *store = sl_store_of(path);
    return (store == &sl_store_s3 || store == &sl_store_gs) && !ends_with_slash(path) &&
           sl_known_parent(path, parent);
}

/* ---- the row ---- */

static int remote_stat_at(const char *path, sl_store_facts *facts)
{
    sl_known known;
    sl_object *object = NULL;
    sl_store_set_reason("");
    int failed = find_known(path, &known);
    if (failed == 0 && asks_by_name(path)) {
        failed = sl_known_ask(path, &known);
        failed = failed == 0 && known.kind != SL_ENTRY_UNKNOWN ? 1 : failed;
    }
    if (failed != 0 && failed != -EACCES) {
        return failed < 0 ? failed : take_known_facts(facts, &known, path);
    }
    failed = sl_object_open(&object, path, NULL);
    if (failed == 0) {
        failed = ask_both(path, object, facts);
        note_facts(path, failed, facts, object);
    }
    sl_object_release(object);
    return failed;
}

static int open_known(const char *path, const sl_known *known, sl_object **object,
                      sl_store_facts *facts)
{
    int failed = take_known_facts(facts, known, path);
    if (failed < 0 || known->kind == SL_ENTRY_FOLDER) {
        return failed;
    }
    failed = sl_object_open(object, path, &facts->identity);
    if (failed == 0) {
        memcpy((*object)->etag, known->etag, sizeof(known->etag));
        sl_known_note_object(path, *object);
    }
    return failed;
}

static int open_unknown(const char *path, const sl_file_identity *was, sl_object **object,
                        sl_store_facts *facts)
{
    int failed = sl_object_open(object, path, was);
    if (failed < 0) {
        return failed;
    }
    if (was != NULL) {
        take_object_facts(facts, was);
        return 0;
    }
    failed = ask_both(path, *object, facts);
    note_facts(path, failed, facts, *object);
    if (failed < 0 || facts->kind == SL_ENTRY_FOLDER) {
        sl_object_release(*object);
        *object = NULL;
    }
    return failed;
}

static int open_by_facts(const char *path, const sl_open_how *how, sl_object **object,
                         sl_store_facts *facts)
{
    sl_known known;
    const int found = find_known(path, &known);
    if (found < 0) {
        return found;
    }
    return found > 0 ? open_known(path, &known, object, facts)
                     : open_unknown(path, how->known, object, facts);
}

static int remote_open_at(const char *path, const sl_open_how *how, sl_handle *handle,
                          sl_store_facts *facts)
{
    sl_file_identity identity;
    int failed = 0;
    sl_store_set_reason("");
    if (how->direct) {
        return -EINVAL;
    }
    sl_object *object = sl_known_object(path);
    if (object != NULL && sl_object_facts(object, &identity)) {
        take_object_facts(facts, &identity);
    } else {
        sl_object_release(object);
        object = NULL;
        failed = open_by_facts(path, how, &object, facts);
    }
    handle->fd = -1;
    handle->own = object;
    return failed;
}

static int store_remote_facts(const sl_handle *handle, sl_store_facts *facts)
{
    sl_file_identity identity;
    if (handle->own == NULL) {
        return -EISDIR;
    }
    if (!sl_object_facts(handle->own, &identity)) {
        return -ENODATA;
    }
    take_object_facts(facts, &identity);
    return 0;
}

/* Returns whether objects are kept in a chunk cache, which needs their identity. */
static bool store_remote_keeps(void)
{
    const sl_remote_settings *settings;
    sluice_error error;
    sl_error_clear(&error);
    if (sl_remote_settings_get(&settings, &error) != SLUICE_OK) {
        return false;
    }
    const bool keeps = settings->cache[0] != '\0';
    sl_remote_settings_release(settings);
    return keeps;
}

/* Takes the known identity. For a cache, a partly listed folder is listed to its end: a page
 * covers 1,000 objects that would otherwise take a request each. */
static int store_remote_recall(const char *path, sl_file_identity *identity)
{
    char parent[SL_PATH_BYTES];
    sl_known known;
    int found = sl_known_find(path, &known) ? 1 : 0;
    if (found == 0 && sl_known_parent(path, parent) && sl_known_has_folder(parent) &&
        store_remote_keeps()) {
        found = find_known(path, &known);
    }
    if (found <= 0 || known.kind != SL_ENTRY_FILE || known.etag[0] == '\0') {
        return found < 0 ? found : 0;
    }
    *identity = sl_object_identity(known.bytes, known.etag, known.modified_s);
    return 1;
}

/* If the listing fails, each name is looked up, and reports its own error. */
static void store_bucket_expect(const char *prefix, uint64_t names)
{
    (void)sl_known_expect(prefix, names);
}

static ssize_t store_remote_read_at(const sl_handle *handle, void *to, size_t bytes,
                                    uint64_t offset)
{
    sl_store_set_reason("");
    return handle->own != NULL ? sl_object_read_at(handle->own, to, bytes, offset) : -EISDIR;
}

static void store_remote_close(sl_handle *handle)
{
    if (handle->own != NULL) {
        sl_opening_store_keep(handle->own);
        sl_object_trim(handle->own);
        sl_object_release(handle->own);
    }
}

static void store_remote_advise(const sl_handle *handle, sl_advice advice)
{
    if (advice == SL_ADVICE_REMEMBER && handle->own != NULL) {
        sl_opening_store_load(handle->own);
    }
}

static int show_entries(const sl_known_folder *folder, sl_listing *listing)
{
    const sl_entries *entries = &folder->listing.entries;
    bool more = true;
    if (entries->has_dots) {
        sl_store_set_reason("it holds keys with an empty name, \".\" or \"..\" between slashes, "
                            "which no path can name: give such objects by their whole address");
        return -EINVAL;
    }
    for (uint64_t i = 0; i < entries->count && more; i++) {
        more = sl_listing_show(listing, sl_entries_name(entries, &entries->entries[i]),
                               (sl_entry_kind)entries->entries[i].kind);
    }
    return 0;
}

static int remote_list_at(const char *path, sl_listing *listing)
{
    char address[SL_PATH_BYTES];
    sl_known_folder *folder = NULL;
    sl_store_set_reason("");
    if (!folder_address(address, path)) {
        return -ENAMETOOLONG;
    }
    int failed = sl_known_list(address, true, &folder);
    if (failed == 0) {
        failed = show_entries(folder, listing);
        sl_known_release(folder);
    }
    return failed;
}

/* Resolves ".." only if the address as given is missing: keys may contain "..", but formats
 * write it in paths with its usual meaning. */
static bool settle_missing(int failed, const char *path, char settled[SL_PATH_BYTES])
{
    const int length = failed == -ENOENT ? snprintf(settled, SL_PATH_BYTES, "%s", path) : -1;
    return length > 0 && length < SL_PATH_BYTES && sl_path_settle(settled);
}

static int store_remote_stat(const char *path, sl_store_facts *facts)
{
    char settled[SL_PATH_BYTES];
    const int failed = note_refusal(path, remote_stat_at(path, facts));
    return settle_missing(failed, path, settled) ? remote_stat_at(settled, facts) : failed;
}

static int store_remote_open(const char *path, const sl_open_how *how, sl_handle *handle,
                             sl_store_facts *facts)
{
    char settled[SL_PATH_BYTES];
    const int failed = note_refusal(path, remote_open_at(path, how, handle, facts));
    return settle_missing(failed, path, settled) ? remote_open_at(settled, how, handle, facts)
                                                 : failed;
}

static int store_remote_list(const char *path, sl_listing *listing)
{
    char settled[SL_PATH_BYTES];
    const int failed = remote_list_at(path, listing);
    return settle_missing(failed, path, settled) ? remote_list_at(settled, listing) : failed;
}

static int store_http_list(const char *path, sl_listing *listing)
{
    char reason[SL_REASON_BYTES];
    const sl_curl_calls *calls;
    sluice_error error;
    (void)path;
    (void)listing;
    if (sl_curl_library(&calls, &error) < 0) {
        sl_store_set_reason(error.text);
        return -ENOTSUP;
    }
    (void)snprintf(reason, sizeof(reason),
                   web_refused[0] != '\0'
                       ? "https has no listing, and a file that would name the others is refused: "
                         "%s"
                       : "https has no listing: name the files, as in .../train-{000..099}.tar, or "
                         "pack the dataset first",
                   web_refused);
    sl_store_set_reason(reason);
    return -ENOTSUP;
}

static int store_remote_real_path(const char *path, char *real)
{
    const int length = snprintf(real, SL_PATH_BYTES, "%s", path);
    return length < SL_PATH_BYTES ? 0 : -ENAMETOOLONG;
}

/* A row of the table; `lister` names its folders. */
#define SL_REMOTE_ROW(prefix, lister, none, expects)                                            \
    {                                                                                           \
        .scheme = (prefix), .remote = true, .lists_nothing = (none), .stat = store_remote_stat, \
        .list = (lister), .open = store_remote_open, .facts = store_remote_facts,               \
        .read_at = store_remote_read_at, .close = store_remote_close,                           \
        .advise = store_remote_advise, .real_path = store_remote_real_path,                     \
        .scope = sl_known_scope, .recall = store_remote_recall, .expect = (expects),            \
        .keeps = store_remote_keeps                                                             \
    }

const sl_store sl_store_http = SL_REMOTE_ROW("http://", store_http_list, true, NULL);
const sl_store sl_store_https = SL_REMOTE_ROW("https://", store_http_list, true, NULL);
const sl_store sl_store_s3 = SL_REMOTE_ROW("s3://", store_remote_list, false, store_bucket_expect);
const sl_store sl_store_gs = SL_REMOTE_ROW("gs://", store_remote_list, false, store_bucket_expect);
const sl_store sl_store_hf = SL_REMOTE_ROW("hf://", store_remote_list, false, NULL);
