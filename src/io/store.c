/* SPDX-License-Identifier: Apache-2.0 */
/* The code that all stores share, over the few functions of a row. No state: all memory is the
 * caller's. */
#include "store.h"

#include "checksum.h"
#include "error.h"
#include "kept_listing.h"
#include "kept_look.h"
#include "memory.h"
#include "stop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* Bytes of a checksum's samples. */
enum { SAMPLE_BYTES = 4096, SAMPLE_PLACES = 3 };
enum { STAYING_MAX = 256 };

const sl_store *sl_store_of(const char *path)
{
    size_t i = 0;
    while (sl_stores[i]->scheme[0] != '\0' &&
           strncmp(path, sl_stores[i]->scheme, strlen(sl_stores[i]->scheme)) != 0) {
        i++;
    }
    return sl_stores[i];
}

static _Thread_local bool own_bypass;

bool sl_store_bypass_caches(bool bypass)
{
    const bool before = own_bypass;
    own_bypass = bypass;
    return before;
}

bool sl_store_bypasses_caches(void)
{
    return own_bypass;
}

/* ---- reasons ---- */

static _Thread_local char own_reason[SL_REASON_BYTES];

void sl_store_set_reason(const char *reason)
{
    (void)snprintf(own_reason, sizeof(own_reason), "%s", reason);
}

const char *sl_store_reason(void)
{
    return own_reason;
}

/* ---- doubts ---- */

static _Thread_local sl_store_doubt *own_doubt;

sl_store_doubt *sl_store_note_doubts(sl_store_doubt *doubt)
{
    sl_store_doubt *before = own_doubt;
    own_doubt = doubt;
    return before;
}

bool sl_store_is_missing(int failed)
{
    return failed == -ENOENT || failed == -ENOTDIR || failed == -ELOOP || failed == -ENAMETOOLONG;
}

/* Notes a doubt. Returns `failed`. */
static int note_doubt(const char *path, int failed)
{
    if (own_doubt->path[0] == '\0' && failed < 0 && !sl_store_is_missing(failed) &&
        failed != -EACCES && failed != -EPERM && failed != -ENOTSUP) {
        own_doubt->sys_errno = -failed;
        (void)snprintf(own_doubt->path, sizeof(own_doubt->path), "%s", path);
        if (sl_store_of(path)->remote && own_reason[0] != '\0') {
            (void)snprintf(own_doubt->reason, sizeof(own_doubt->reason), ": %s", own_reason);
        }
    }
    return failed;
}

static int store_note(const char *path, int failed)
{
    return own_doubt != NULL && !own_doubt->of_has ? note_doubt(path, failed) : failed;
}

/* ---- errors ---- */

/* Sets the caller's error from `failed`; with the store's reason, if it gave one. */
static sluice_status store_error(sluice_error *error, sl_file_name name, int failed,
                                 const char *what)
{
    const char *reason = sl_store_of(name.path)->remote ? own_reason : "";
    return sl_error_file(error, failed == -ECANCELED ? SLUICE_CANCELED : SLUICE_IO, name.stage,
                         -failed, name.path, -1, "%s%s%s", what, reason[0] != '\0' ? ": " : "",
                         reason);
}

/* ---- scopes ---- */

static void tell_scope(bool open)
{
    for (size_t i = 0; sl_stores[i]->scheme[0] != '\0'; i++) {
        if (sl_stores[i]->scope != NULL) {
            sl_stores[i]->scope(open);
        }
    }
}

void sl_store_scope_begin(void)
{
    tell_scope(true);
}

void sl_store_scope_end(void)
{
    tell_scope(false);
}

void sl_store_expect(const char *prefix, uint64_t names)
{
    const sl_store *store = sl_store_of(prefix);
    if (store->expect != NULL) {
        store->expect(prefix, names);
    }
}

/* ---- looking up addresses ---- */

int sl_store_stat(const char *path, sl_store_facts *facts)
{
    return store_note(path, sl_store_of(path)->stat(path, facts));
}

sluice_status sl_store_find(sl_file_name name, sl_store_facts *facts, sluice_error *error)
{
    const int failed = sl_store_stat(name.path, facts);
    return failed == 0 ? SLUICE_OK : store_error(error, name, failed, "cannot open");
}

static bool has_facts(const char *path, sl_store_facts *facts)
{
    const int failed = sl_store_stat(path, facts);
    if (own_doubt != NULL && own_doubt->of_has) {
        (void)note_doubt(path, failed);
    }
    return failed == 0;
}

bool sl_store_has(const char *path)
{
    sl_store_facts facts;
    return has_facts(path, &facts);
}

static bool store_has(const char *path, sl_entry_kind kind)
{
    sl_store_facts facts;
    return has_facts(path, &facts) && facts.kind == kind;
}

bool sl_store_has_file(const char *path)
{
    return store_has(path, SL_ENTRY_FILE);
}

bool sl_store_has_folder(const char *path)
{
    return store_has(path, SL_ENTRY_FOLDER);
}

bool sl_store_is_folder(const sl_store_entry *entry, const char *path)
{
    return entry->kind == SL_ENTRY_LINK || entry->kind == SL_ENTRY_UNKNOWN
               ? sl_store_has_folder(path)
               : entry->kind == SL_ENTRY_FOLDER;
}

bool sl_listing_show(sl_listing *listing, const char *name, sl_entry_kind kind)
{
    const sl_store_entry entry = {name, kind};
    listing->status = sl_stop_check("dataset", listing->error);
    if (listing->status == SLUICE_OK) {
        listing->status = listing->visit(listing->ctx, &entry, listing->error);
    }
    return listing->status == SLUICE_OK;
}

static sluice_status list_folder(sl_file_name folder, sl_store_visit visit, void *ctx,
                                 sluice_error *error)
{
    sl_listing listing = {.visit = visit, .ctx = ctx, .error = error};
    const int failed =
        store_note(folder.path, sl_store_of(folder.path)->list(folder.path, &listing));
    if (error == NULL && own_doubt != NULL && own_doubt->of_has) {
        (void)note_doubt(folder.path, failed);
    }
    return failed == 0 ? listing.status
                       : store_error(error, folder, failed, "cannot list the folder");
}

static _Thread_local sl_kept_listing *own_listing;

sl_kept_listing *sl_store_keep_listing(sl_kept_listing *listing)
{
    sl_kept_listing *before = own_listing;
    own_listing = listing;
    return before;
}

sluice_status sl_store_list(sl_file_name folder, sl_store_visit visit, void *ctx,
                            sluice_error *error)
{
    sl_kept_listing *kept = own_listing;
    sluice_status status = SLUICE_OK;
    if (kept == NULL || strcmp(kept->folder, folder.path) != 0) {
        return list_folder(folder, visit, ctx, error);
    }
    if (!kept->is_whole && !kept->is_too_large) {
        status = list_folder(folder, sl_kept_listing_add, kept, error);
        kept->is_whole = status == SLUICE_OK;
    }
    if (status < 0) {
        sl_kept_listing_close(kept);
        return status;
    }
    return kept->is_whole ? sl_kept_listing_show(kept, visit, ctx, error)
                          : list_folder(folder, visit, ctx, error);
}

int sl_store_real_path(const char *path, char real[SL_PATH_BYTES])
{
    return sl_store_of(path)->real_path(path, real);
}

/* Returns the length of the part of a remote address that ".." cannot leave: its bucket or host. */
static size_t remote_root_bytes(const char *address)
{
    const char *slashes = strstr(address, "://");
    return slashes != NULL ? (size_t)(slashes - address) + 3 + strcspn(slashes + 3, "/")
                           : strlen(address);
}

/* Appends a component to an address of `*length`. In an object store, "." and ".." are ordinary
 * bytes of keys, so their meaning in a name is resolved here. False: it is too long. */
static bool join_component(char *path, size_t *length, const char *name, size_t bytes)
{
    const size_t root = remote_root_bytes(path);
    if (bytes == 1 && name[0] == '.') {
        return true;
    }
    if (bytes == 2 && name[0] == '.' && name[1] == '.') {
        while (*length > root && path[*length - 1] != '/') {
            (*length)--;
        }
        *length -= *length > root;
        path[*length] = '\0';
        return true;
    }
    const bool parted = path[*length - 1] != '/';
    if (*length + parted + bytes >= SL_PATH_BYTES) {
        return false;
    }
    path[*length] = '/';
    memcpy(path + *length + parted, name, bytes);
    *length += parted + bytes;
    path[*length] = '\0';
    return true;
}

static bool join_names(char *path, size_t *length, const char *names)
{
    bool fits = true;
    while (fits && *names != '\0') {
        const size_t bytes = strcspn(names, "/");
        fits = bytes == 0 || join_component(path, length, names, bytes);
        names += bytes;
        names += *names == '/';
    }
    return fits;
}

bool sl_path_settle(char *path)
{
    char below[SL_PATH_BYTES];
    const bool has_dots = strstr(path, "/..") != NULL || strstr(path, "/./") != NULL;
    if (!has_dots || !sl_store_of(path)->remote) {
        return false;
    }
    size_t length = remote_root_bytes(path);
    (void)snprintf(below, sizeof(below), "%s", path + length);
    path[length] = '\0';
    return join_names(path, &length, below); /* never longer than before */
}

static bool join_remote(char path[SL_PATH_BYTES], const char *folder, const char *name)
{
    size_t length = strlen(folder);
    bool fits = length + 1 < SL_PATH_BYTES && length > 0;
    if (fits) {
        memcpy(path, folder, length + 1);
    }
    if (fits && sl_path_settle(path)) {
        length = strlen(path);
    }
    fits = fits && join_names(path, &length, name);
    if (!fits) {
        path[0] = '\0';
    }
    return fits;
}

bool sl_path_join(char path[SL_PATH_BYTES], const char *folder, const char *name)
{
    const size_t before = strlen(folder);
    const size_t behind = strlen(name);
    path[0] = '\0';
    if (sl_store_of(folder)->remote) {
        return join_remote(path, folder, name);
    }
    if (before + behind + 2 > SL_PATH_BYTES) {
        return false;
    }
    memcpy(path, folder, before);
    path[before] = '/';
    memcpy(path + before + 1, name, behind + 1);
    return true;
}

bool sl_path_append(char *path, size_t *length, size_t bytes, const char *name)
{
    const size_t more = strlen(name);
    const bool parted = *length > 0 && more > 0;
    if (*length + parted + more >= bytes) {
        return false;
    }
    path[*length] = '/';
    *length += parted;
    memcpy(path + *length, name, more + 1);
    *length += more;
    return true;
}

const char *sl_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* ---- objects that are open ---- */

static int open_any(sl_handle *handle, const char *path, const sl_open_how *how,
                    sl_store_facts *facts)
{
    const sl_store *store = sl_store_of(path);
    *handle = (sl_handle){.store = store, .name = {.path = path}, .fd = -1};
    const int failed = store_note(path, store->open(path, how, handle, facts));
    if (failed < 0) {
        *handle = (sl_handle){.fd = -1};
    }
    return failed;
}

int sl_handle_open_how(sl_handle *handle, const char *path, const sl_open_how *how,
                       sl_store_facts *facts)
{
    const int failed = open_any(handle, path, how, facts);
    if (failed < 0 || facts->kind == SL_ENTRY_FILE) {
        return failed;
    }
    sl_handle_close(handle);
    return facts->kind == SL_ENTRY_FOLDER ? -EISDIR : -EINVAL;
}

static _Thread_local sl_open_file *offered_file;

sl_open_file *sl_store_offer_file(sl_open_file *file)
{
    sl_open_file *before = offered_file;
    offered_file = file;
    return before;
}

bool sl_store_offers_file(const char *path)
{
    const sl_open_file *offered = offered_file;
    return offered != NULL && offered->handle.store != NULL &&
           strcmp(offered->handle.name.path, path) == 0;
}

bool sl_store_take_file(const char *path, sl_open_file *file)
{
    if (!sl_store_offers_file(path)) {
        return false;
    }
    *file = *offered_file;
    file->handle.name = (sl_file_name){NULL, NULL};
    offered_file->handle = (sl_handle){.fd = -1};
    return true;
}

static bool take_offered(sl_handle *handle, sl_file_name name, sl_file_identity *identity)
{
    sl_open_file file;
    if (!sl_store_take_file(name.path, &file)) {
        return false;
    }
    *handle = file.handle;
    handle->name = name;
    if (identity != NULL) {
        *identity = file.identity;
    }
    return true;
}

static bool take_kept(sl_handle *handle, sl_file_name name, sl_file_identity *identity)
{
    sl_open_file file;
    if (!sl_kept_look_take(sl_store_kept_look(), name.path, &file)) {
        return false;
    }
    *handle = file.handle;
    handle->name = name;
    if (identity != NULL) {
        *identity = file.identity;
    }
    return true;
}

/* `known`: as in sl_open_how. */
static sluice_status handle_open(sl_handle *handle, sl_file_name name,
                                 const sl_file_identity *known, sl_file_identity *identity,
                                 sluice_error *error)
{
    const sl_open_how how = {.known = known};
    sl_store_facts facts = {.kind = SL_ENTRY_OTHER};
    if (take_offered(handle, name, identity) || take_kept(handle, name, identity)) {
        return SLUICE_OK;
    }
    const int failed = open_any(handle, name.path, &how, &facts);
    handle->name = name;
    if (failed < 0) {
        return store_error(error, name, failed, "cannot open");
    }
    if (facts.kind != SL_ENTRY_FILE) {
        sl_handle_close(handle);
        return sl_error_file(error, SLUICE_IO, name.stage, 0, name.path, -1, "not a regular file");
    }
    if (identity != NULL) {
        *identity = facts.identity;
    }
    return SLUICE_OK;
}

sluice_status sl_handle_open(sl_handle *handle, sl_file_name name, sl_file_identity *identity,
                             sluice_error *error)
{
    return handle_open(handle, name, NULL, identity, error);
}

sluice_status sl_handle_open_again(sl_handle *handle, sl_file_name name,
                                   const sl_file_identity *was, sluice_error *error)
{
    sl_file_identity is = {0};
    const sluice_status status = handle_open(handle, name, was, &is, error);
    if (status < 0 || sl_file_is_same(was, &is)) {
        return status;
    }
    sl_handle_close(handle);
    return sl_error_file(error, SLUICE_IO, name.stage, 0, name.path, -1, SL_FILE_REPLACED);
}

sluice_status sl_open_file_open(sl_open_file *file, sl_file_name name, sluice_error *error)
{
    *file = (sl_open_file){.identity = {0}};
    return sl_handle_open(&file->handle, name, &file->identity, error);
}

bool sl_handle_may_stay(const sl_handle *handle, uint32_t number)
{
    struct rlimit limit;
    if (handle->fd < 0) {
        return true;
    }
    /* A new descriptor is the lowest free one: so all that stay, of any opening, are in the lower
     * quarter. */
    return number < STAYING_MAX && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           (rlim_t)handle->fd < limit.rlim_cur / 4;
}

sluice_status sl_open_file_check(const sl_open_file *file, sluice_error *error)
{
    const sl_file_name name = file->handle.name;
    return sl_handle_is_unchanged(&file->handle, &file->identity)
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_IO, name.stage, 0, name.path, -1, SL_FILE_REPLACED);
}

void sl_handle_close(sl_handle *handle)
{
    if (handle->store != NULL) {
        handle->store->close(handle);
    }
    *handle = (sl_handle){.fd = -1};
}

int sl_handle_facts(const sl_handle *handle, sl_store_facts *facts)
{
    return handle->store->facts(handle, facts);
}

bool sl_handle_is_unchanged(const sl_handle *handle, const sl_file_identity *was)
{
    sl_store_facts facts;
    /* without facts, reading will show it */
    return sl_handle_facts(handle, &facts) != 0 || sl_file_is_same(was, &facts.identity);
}

static ssize_t store_read_some(const void *from, void *to, size_t bytes, uint64_t offset)
{
    const sl_handle *handle = from;
    return handle->store->read_at(handle, to, bytes, offset);
}

static bool store_is_remote(const sl_handle *handle)
{
    return handle->store != NULL && handle->store->remote;
}

/* A remote store has retried already, and gave its reason. */
static sluice_status end_read(const sl_handle *handle, sluice_status status, sluice_error *error)
{
    if (status != SLUICE_IO || error == NULL || !store_is_remote(handle)) {
        return status;
    }
    if (error->sys_errno == ECANCELED && sl_stop_requested()) {
        return sl_stop_check(handle->name.stage, error);
    }
    if (own_reason[0] != '\0') {
        sl_error_add(error, sizeof(error->text), ": %s", own_reason);
    }
    return status;
}

sluice_status sl_handle_read(const sl_handle *handle, void *buffer, size_t bytes, uint64_t offset,
                             sluice_error *error)
{
    const sl_file_source source = {handle->name, store_read_some, handle, !store_is_remote(handle)};
    sluice_error own;
    sluice_error *reason = error != NULL ? error : &own;
    sluice_status status = sl_file_read_from(&source, buffer, bytes, offset, reason);
    status = end_read(handle, status, reason);
    if (status < 0 && status != SLUICE_CANCELED) {
        (void)store_note(handle->name.path, reason->sys_errno != 0 ? -reason->sys_errno : -EIO);
    }
    return status;
}

sluice_status sl_handle_read_once(const sl_handle *handle, void *buffer, size_t bytes,
                                  uint64_t offset, sluice_error *error)
{
    const sl_file_source source = {handle->name, store_read_some, handle, false};
    return end_read(handle, sl_file_read_from(&source, buffer, bytes, offset, error), error);
}

sluice_status sl_handle_sample(const sl_handle *handle, sl_file_identity *identity,
                               sluice_error *error)
{
    uint8_t bytes[SAMPLE_BYTES * SAMPLE_PLACES];
    const uint64_t size = identity->bytes;
    if (store_is_remote(handle) && identity->sample != 0) {
        return SLUICE_OK; /* of its ETag, which identifies it */
    }
    const uint64_t last = size > SAMPLE_BYTES ? size - SAMPLE_BYTES : 0;
    size_t filled = 0;
    for (uint32_t i = 0; i < SAMPLE_PLACES && (i == 0 || last > 0); i++) {
        const uint64_t at = i + 1 < SAMPLE_PLACES ? last / (SAMPLE_PLACES - 1) * i : last;
        const size_t some = size - at < SAMPLE_BYTES ? (size_t)(size - at) : SAMPLE_BYTES;
        const sluice_status status = sl_handle_read(handle, bytes + filled, some, at, error);
        if (status < 0) {
            return status;
        }
        filled += some;
    }
    const uint64_t sum = sl_checksum(bytes, filled);
    identity->sample = sum != 0 ? sum : 1;
    return SLUICE_OK;
}

void sl_handle_advise(const sl_handle *handle, sl_advice advice, uint64_t offset, uint64_t bytes)
{
    static const int kernels[] = {[SL_ADVICE_RANDOM] = POSIX_FADV_RANDOM,
                                  [SL_ADVICE_SEQUENTIAL] = POSIX_FADV_SEQUENTIAL,
                                  [SL_ADVICE_SOON] = POSIX_FADV_WILLNEED,
                                  [SL_ADVICE_NEVER] = POSIX_FADV_DONTNEED};
    if (handle->fd < 0 && handle->store->advise != NULL) {
        handle->store->advise(handle, advice);
    }
    if (handle->fd >= 0 && advice != SL_ADVICE_REMEMBER) {
        (void)posix_fadvise(handle->fd, (off_t)offset, (off_t)bytes, kernels[advice]);
    }
}

/* ---- objects as a whole ---- */

size_t sl_store_look(const char *path, void *head, size_t most)
{
    sl_open_file file;
    sl_kept_look *kept = sl_store_kept_look();
    size_t bytes = 0;
    if (sl_kept_look_copy(kept, path, head, most, &bytes)) {
        return bytes;
    }
    if (sl_open_file_open(&file, (sl_file_name){"file", path}, NULL) < 0) {
        return 0;
    }
    bytes = file.identity.bytes < most ? (size_t)file.identity.bytes : most;
    const bool read = sl_handle_read(&file.handle, head, bytes, 0, NULL) == SLUICE_OK;
    if (!read || !sl_kept_look_put(kept, path, &file, head, bytes)) {
        sl_handle_close(&file.handle);
    }
    return read ? bytes : 0;
}

/* A file that shrinks meanwhile makes the read fail; bytes that it grows by are left out. */
static sluice_status store_read_all(const sl_handle *handle, uint64_t size, uint8_t **data,
                                    sluice_error *error)
{
    uint8_t *read = size < SIZE_MAX ? sl_malloc(size + 1) : NULL; /* never of 0 bytes */
    if (read == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, handle->name.stage, 0, handle->name.path, -1,
                             "out of memory for the file's %llu bytes", (unsigned long long)size);
    }
    const sluice_status status = sl_handle_read(handle, read, size, 0, error);
    if (status < 0) {
        sl_free(read);
        return status;
    }
    *data = read;
    return SLUICE_OK;
}

sluice_status sl_store_read_whole(sl_file_name name, uint64_t most, uint8_t **data, size_t *bytes,
                                  sluice_error *error)
{
    sl_handle handle;
    sl_file_identity file = {0};
    *data = NULL;
    sluice_status status = sl_handle_open(&handle, name, &file, error);
    if (status < 0) {
        return status;
    }
    status = file.bytes > most
                 ? sl_error_file(error, SLUICE_UNSUPPORTED, name.stage, 0, name.path, -1,
                                 "the file has %llu bytes, more than the limit of %llu",
                                 (unsigned long long)file.bytes, (unsigned long long)most)
                 : store_read_all(&handle, file.bytes, data, error);
    sl_handle_close(&handle);
    *bytes = file.bytes;
    return status;
}
