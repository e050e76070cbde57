/* SPDX-License-Identifier: Apache-2.0 */
#include "known.h"

#include "checksum.h"
#include "clock.h"
#include "error.h"
#include "fork.h"
#include "memory.h"
#include "stop.h"
#include "thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BELIEVED_NS  UINT64_C(60000000000)
#define MEMORY_MOST  ((uint64_t)512 << 20)
#define FOLDER_SLOTS 4096U
#define NOTE_SLOTS   16384U

/* A listing of expected names may have a page for each 100 of them and two more: pages have up
 * to 1,000 names, including others. Two names are looked up by two requests. */
enum {
    NOTES_MOST = 1 << 20,
    OBJECTS_MOST = 1024,
    EXPECTED_LEAST = 2,
    PAGES_SPARE = 2,
    NAMES_A_PAGE_LEAST = 100
};

typedef struct known_note {
    char *address;
    sl_known known;
    sl_object *object; /* held; NULL */
    uint64_t noted_ns;
    uint64_t alone_ns; /* when no other name began like this one; 0: not known */
    struct known_note *next;
} known_note;

/* All under the mutex. */
static pthread_mutex_t known_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t known_changed;
static bool known_made;       /* the condition */
static uint64_t known_scopes; /* open scopes, once for each row */
static sl_known_folder *known_folders[FOLDER_SLOTS];
static known_note *known_notes[NOTE_SLOTS];
static uint32_t known_note_count, known_object_count, known_folder_count;
static uint64_t known_memory, known_forks;
static uint64_t known_prefixes; /* folders with a partial listing */

static void guard_known(void)
{
    sl_fork_guard(&known_mutex);
}

/* Takes the lock. In a child of fork(), forgets the inherited facts without freeing them:
 * threads of the parent may have been using them. */
static void lock_known(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const uint64_t forks = sl_fork_count();
    if (pthread_once(&once, guard_known) != 0) {
        abort();
    }
    sl_lock(&known_mutex);
    if (known_forks != forks) {
        known_forks = forks;
        known_made = false;
        known_scopes = known_memory = 0;
        known_note_count = known_object_count = known_folder_count = 0;
        known_prefixes = 0;
        memset((void *)known_folders, 0, sizeof(known_folders));
        memset((void *)known_notes, 0, sizeof(known_notes));
    }
}

static uint64_t hash_address(const char *address)
{
    return sl_checksum(address, strlen(address));
}

static bool is_fresh(uint64_t noted_ns)
{
    return sl_now_ns() - noted_ns < BELIEVED_NS;
}

/* ---- notes ---- */

static known_note *find_note_locked(const char *address)
{
    known_note *note = known_notes[hash_address(address) % NOTE_SLOTS];
    while (note != NULL && strcmp(note->address, address) != 0) {
        note = note->next;
    }
    return note;
}

/* Returns the note of an address, created if needed; NULL: it cannot be kept. */
static known_note *make_note_locked(const char *address)
{
    known_note *note = known_scopes > 0 ? find_note_locked(address) : NULL;
    if (note != NULL || known_scopes == 0 || known_note_count >= NOTES_MOST) {
        return note;
    }
    note = sl_calloc(1, sizeof(*note));
    char *copy = sl_strdup(address);
    if (note == NULL || copy == NULL) {
        sl_free(note);
        sl_free(copy);
        return NULL;
    }
    known_note **slot = &known_notes[hash_address(address) % NOTE_SLOTS];
    note->address = copy;
    note->next = *slot;
    *slot = note;
    known_note_count++;
    return note;
}

void sl_known_note(const char *address, const sl_known *known)
{
    lock_known();
    known_note *note = make_note_locked(address);
    if (note != NULL) {
        note->known = *known;
        note->noted_ns = sl_now_ns();
    }
    sl_unlock(&known_mutex);
}

static void note_alone(const char *address)
{
    lock_known();
    known_note *note = make_note_locked(address);
    if (note != NULL) {
        note->alone_ns = sl_now_ns();
    }
    sl_unlock(&known_mutex);
}

/* Returns whether a name that this one begins with, up to a dot, is alone: "a.tar" of
 * "a.tar.index". */
static bool is_ruled_out_locked(const char *address, size_t bytes)
{
    char shorter[SL_PATH_BYTES];
    for (size_t at = bytes; at-- > 1 && address[at] != '/';) {
        if (address[at] != '.' || address[at - 1] == '/') {
            continue;
        }
        memcpy(shorter, address, at);
        shorter[at] = '\0';
        const known_note *note = find_note_locked(shorter);
        if (note != NULL && note->alone_ns != 0 && is_fresh(note->alone_ns)) {
            return true;
        }
    }
    return false;
}

sl_object *sl_known_object(const char *address)
{
    lock_known();
    const known_note *note = known_scopes > 0 ? find_note_locked(address) : NULL;
    sl_object *object = note != NULL && is_fresh(note->noted_ns) ? note->object : NULL;
    if (object != NULL) {
        sl_object_hold(object);
    }
    sl_unlock(&known_mutex);
    return object;
}

void sl_known_note_object(const char *address, sl_object *object)
{
    lock_known();
    known_note *note = known_object_count < OBJECTS_MOST ? make_note_locked(address) : NULL;
    sl_object *before = NULL;
    if (note != NULL) {
        before = note->object;
        known_object_count += before == NULL;
        sl_object_hold(object);
        note->object = object;
        note->noted_ns = sl_now_ns();
    }
    sl_unlock(&known_mutex);
    sl_object_release(before);
}

/* ---- folders ---- */

static sl_known_folder *find_folder_locked(const char *address)
{
    sl_known_folder *folder = known_folders[hash_address(address) % FOLDER_SLOTS];
    while (folder != NULL && strcmp(folder->address, address) != 0) {
        folder = folder->next;
    }
    return folder;
}

static bool is_prefix(const char *address)
{
    return address[strlen(address) - 1] != '/';
}

static void free_folder(sl_known_folder *folder)
{
    sl_folder_listing_close(&folder->listing);
    sl_free(folder->address);
    sl_free(folder);
}

static void unlink_folder_locked(sl_known_folder *folder)
{
    sl_known_folder **at = &known_folders[hash_address(folder->address) % FOLDER_SLOTS];
    while (*at != folder) {
        at = &(*at)->next;
    }
    *at = folder->next;
    folder->kept = false;
    known_folder_count--;
    known_prefixes -= is_prefix(folder->address);
    known_memory -= folder->memory; /* another thread may use its entries now */
    folder->memory = 0;
}

/* Returns a new folder, held, and kept for others if a scope is open. NULL: no memory. */
static sl_known_folder *make_folder_locked(const char *address)
{
    sl_known_folder *folder = sl_calloc(1, sizeof(*folder));
    char *copy = sl_strdup(address);
    if (folder == NULL || copy == NULL) {
        sl_free(folder);
        sl_free(copy);
        return NULL;
    }
    folder->address = copy;
    folder->kept = known_scopes > 0;
    if (folder->kept) {
        sl_known_folder **slot = &known_folders[hash_address(address) % FOLDER_SLOTS];
        folder->next = *slot;
        *slot = folder;
        known_folder_count++;
        known_prefixes += is_prefix(address);
    }
    return folder;
}

/* Returns the folder of an address, held, and not busy; NULL: no memory, or the thread should
 * stop. */
static sl_known_folder *hold_folder_locked(const char *address, bool *stopped)
{
    sl_known_folder *folder = find_folder_locked(address);
    if (!known_made) {
        sl_cond_init(&known_changed);
        known_made = true;
    }
    while (folder != NULL && folder->busy && !*stopped) {
        *stopped = sl_stop_wait(&known_changed, &known_mutex);
        folder = find_folder_locked(address);
    }
    if (folder != NULL && !*stopped && folder->noted_ns != 0 && !is_fresh(folder->noted_ns)) {
        unlink_folder_locked(folder);
        if (folder->holders == 0) {
            free_folder(folder);
        }
        folder = NULL;
    }
    if (folder == NULL && !*stopped) {
        folder = make_folder_locked(address);
    }
    if (folder != NULL && !*stopped) {
        folder->holders++;
    }
    return *stopped ? NULL : folder;
}

static void release_locked(sl_known_folder *folder)
{
    folder->holders--;
    if (folder->holders > 0) {
        return;
    }
    if (folder->kept && (folder->noted_ns == 0 || known_memory > MEMORY_MOST)) {
        unlink_folder_locked(folder);
    }
    if (!folder->kept) {
        free_folder(folder);
    }
}

void sl_known_release(sl_known_folder *folder)
{
    lock_known();
    release_locked(folder);
    sl_unlock(&known_mutex);
}

/* Parses the folder that an address names, or that contains the names with this prefix. */
static int parse_folder(const char *address, sl_url *url)
{
    char parent[SL_PATH_BYTES];
    sluice_error error;
    if (is_prefix(address) && !sl_known_parent(address, parent)) {
        return -EINVAL;
    }
    if (sl_url_parse(url, is_prefix(address) ? parent : address, &error) < 0) {
        sl_store_set_reason(error.text);
        return -EINVAL;
    }
    return 0;
}

/* Without the lock; no other thread reads the folder meanwhile. */
static int fill_folder(sl_known_folder *folder, bool whole)
{
    sl_url *url = sl_malloc(sizeof(*url));
    int failed = url != NULL ? parse_folder(folder->address, url) : -ENOMEM;
    if (failed == 0) {
        folder->is_ordered = sl_provider_of(url->scheme)->lists_ranges;
    }
    if (failed == 0 && folder->noted_ns == 0) {
        failed = is_prefix(folder->address)
                     ? sl_folder_listing_find(url, sl_path_name(folder->address), &folder->listing)
                     : sl_folder_listing_begin(url, &folder->listing);
    }
    if (failed == 0 && whole) {
        failed = sl_folder_listing_finish(url, &folder->listing);
        /* pages of several ranges were read: names between them may be missing */
        folder->is_ordered = folder->is_ordered && !folder->listing.next.more;
    }
    sl_free(url);
    return failed;
}

static int known_list(const char *address, bool whole, uint64_t pages_most, sl_known_folder **out)
{
    bool stopped = false;
    int failed = 0;
    *out = NULL;
    lock_known();
    sl_known_folder *folder = hold_folder_locked(address, &stopped);
    if (folder == NULL) {
        sl_unlock(&known_mutex);
        return stopped ? -ECANCELED : -ENOMEM;
    }
    if (folder->noted_ns == 0 || (whole && !folder->whole)) {
        folder->busy = true;
        folder->listing.pages_most = pages_most;
        sl_unlock(&known_mutex);
        failed = fill_folder(folder, whole);
        lock_known();
        folder->busy = false;
        if (failed == 0) {
            folder->noted_ns = sl_now_ns();
            folder->whole = !folder->listing.next.more;
        } else {
            folder->noted_ns = 0;
            sl_folder_listing_close(&folder->listing);
        }
        if (folder->kept) {
            known_memory -= folder->memory;
            folder->memory = sl_entries_memory(&folder->listing.entries);
            known_memory += folder->memory;
        }
        sl_cond_broadcast(&known_changed);
    }
    if (failed < 0) {
        release_locked(folder);
    } else {
        *out = folder;
    }
    sl_unlock(&known_mutex);
    return failed;
}

int sl_known_list(const char *address, bool whole, sl_known_folder **out)
{
    return known_list(address, whole, 0, out);
}

int sl_known_expect(const char *prefix, uint64_t names)
{
    sl_known_folder *folder = NULL;
    if (names <= EXPECTED_LEAST) {
        return 0;
    }
    const int failed = known_list(prefix, true, PAGES_SPARE + names / NAMES_A_PAGE_LEAST, &folder);
    if (failed < 0) {
        return failed;
    }
    lock_known();
    if (folder->kept && !folder->whole && !is_prefix(prefix)) {
        unlink_folder_locked(folder); /* else the next lookup would list all of it */
    }
    release_locked(folder);
    sl_unlock(&known_mutex);
    return 0;
}

/* ---- questions ---- */

static void know_entry(const sl_entries *entries, const sl_named_entry *entry, sl_known *known)
{
    *known = (sl_known){
        .kind = (sl_entry_kind)entry->kind, .bytes = entry->bytes, .modified_s = entry->modified_s};
    (void)snprintf(known->etag, sizeof(known->etag), "%s", sl_entries_etag(entries, entry));
}

/* Returns whether a first page would include the name, as a file or as a folder. If pages can
 * start after any key, keys are in order; the pages of a hub have folders before files. */
static bool is_before_last(const sl_known_folder *of, sl_bytes name)
{
    const sl_entries *entries = &of->listing.entries;
    if (entries->count == 0 || !of->is_ordered) {
        return false;
    }
    const char *last = sl_entries_name(entries, &entries->entries[entries->count - 1]);
    const int order = strncmp((const char *)name.data, last, name.size);
    return order < 0 || (order == 0 && (uint8_t)last[name.size] > (uint8_t)'/');
}

/* Looks up a name in a folder with at least the first page known. */
static void know_name_locked(const sl_known_folder *folder, sl_bytes name, bool as_folder,
                             sl_known *known)
{
    const sl_entries *entries = &folder->listing.entries;
    const sl_named_entry *entry = sl_entries_find(entries, name);
    const sl_named_entry *end = entries->entries + entries->count;
    if (entry != NULL && as_folder && entry->kind == SL_ENTRY_FILE) {
        const bool both = entry + 1 < end && strcmp(sl_entries_name(entries, entry),
                                                    sl_entries_name(entries, entry + 1)) == 0;
        entry = both ? entry + 1 : NULL;
    }
    if (entry != NULL) {
        know_entry(entries, entry, known);
    } else if (folder->whole || is_before_last(folder, name)) {
        known->kind = SL_ENTRY_OTHER;
    }
}

static bool is_usable(const sl_known_folder *folder)
{
    return folder != NULL && !folder->busy && folder->noted_ns != 0 && is_fresh(folder->noted_ns);
}

/* Looks up a name in the listings of names with the same prefix. */
static void find_by_prefix_locked(const char *address, sl_bytes name, bool as_folder,
                                  sl_known *known)
{
    char prefix[SL_PATH_BYTES + 1];
    const size_t before = (size_t)((const char *)name.data - address);
    memcpy(prefix, address, before + name.size);
    for (size_t bytes = name.size; bytes > 0 && known->kind == SL_ENTRY_UNKNOWN; bytes--) {
        prefix[before + bytes] = '\0';
        const sl_known_folder *listed = find_folder_locked(prefix);
        if (is_usable(listed)) {
            know_name_locked(listed, name, as_folder, known);
        }
    }
}

static void known_find_locked(const char *address, size_t bytes, bool as_folder, sl_known *known)
{
    char parent[SL_PATH_BYTES + 1];
    memcpy(parent, address, bytes);
    parent[bytes] = '\0';
    const known_note *note = find_note_locked(parent);
    const bool says = note != NULL && is_fresh(note->noted_ns) &&
                      note->known.kind != SL_ENTRY_UNKNOWN &&
                      (!as_folder || note->known.kind == SL_ENTRY_FOLDER);
    if (says) {
        *known = note->known;
        return;
    }
    const char *slash = memrchr(address, '/', bytes);
    if (slash != NULL) {
        const size_t length = (size_t)(slash - address) + 1;
        const sl_bytes name = {(const uint8_t *)address + length, bytes - length};
        parent[length] = '\0';
        const sl_known_folder *folder = find_folder_locked(parent);
        if (name.size > 0 && is_usable(folder)) {
            know_name_locked(folder, name, as_folder, known);
        } else if (known_prefixes > 0) {
            find_by_prefix_locked(address, name, as_folder, known);
        }
    }
}

static void find_as_folder_locked(const char *address, size_t bytes, sl_known *known)
{
    char folder[SL_PATH_BYTES + 2];
    memcpy(folder, address, bytes);
    folder[bytes] = '/';
    folder[bytes + 1] = '\0';
    if (is_usable(find_folder_locked(folder))) {
        *known = (sl_known){.kind = SL_ENTRY_FOLDER};
    }
}

bool sl_known_find(const char *address, sl_known *known)
{
    size_t bytes = strlen(address);
    const bool as_folder = bytes > 0 && address[bytes - 1] == '/';
    *known = (sl_known){.kind = SL_ENTRY_UNKNOWN};
    if (bytes == 0 || bytes >= SL_PATH_BYTES) {
        return false;
    }
    bytes -= as_folder;
    lock_known();
    if (known_scopes > 0) {
        known_find_locked(address, bytes, as_folder, known);
        if (known->kind == SL_ENTRY_UNKNOWN || (known->kind == SL_ENTRY_OTHER && as_folder)) {
            find_as_folder_locked(address, bytes, known);
        }
        if (known->kind == SL_ENTRY_UNKNOWN && is_ruled_out_locked(address, bytes)) {
            known->kind = SL_ENTRY_OTHER;
        }
    }
    sl_unlock(&known_mutex);
    return known->kind != SL_ENTRY_UNKNOWN;
}

bool sl_known_parent(const char *address, char parent[SL_PATH_BYTES])
{
    size_t bytes = strlen(address);
    bytes -= bytes > 0 && address[bytes - 1] == '/';
    const char *slash = bytes < SL_PATH_BYTES ? memrchr(address, '/', bytes) : NULL;
    if (slash == NULL) {
        return false;
    }
    const size_t length = (size_t)(slash - address) + 1;
    memcpy(parent, address, length);
    parent[length] = '\0';
    return address[length] != '\0' && strncmp(slash - 1, "//", 2) != 0;
}

bool sl_known_has_folder(const char *folder)
{
    sl_known known;
    return sl_known_find(folder, &known) && known.kind == SL_ENTRY_FOLDER;
}

static void know_of_page(const sl_folder_listing *listing, const char *name, sl_known *known)
{
    const sl_bytes wanted = {(const uint8_t *)name, strlen(name)};
    const sl_named_entry *entry = sl_entries_find(&listing->entries, wanted);
    if (entry != NULL) {
        know_entry(&listing->entries, entry, known);
    } else if (!listing->next.more) {
        known->kind = SL_ENTRY_OTHER;
    }
}

int sl_known_ask(const char *address, sl_known *known)
{
    char parent[SL_PATH_BYTES];
    sl_folder_listing listing = {.next = {.more = false}};
    sluice_error error;
    sl_url *url = sl_malloc(sizeof(*url));
    *known = (sl_known){.kind = SL_ENTRY_UNKNOWN};
    if (url == NULL) {
        return -ENOMEM;
    }
    int failed = 0;
    if (!sl_known_parent(address, parent)) {
        failed = -EINVAL;
    } else if (sl_url_parse(url, parent, &error) < 0) {
        sl_store_set_reason(error.text);
        failed = -EINVAL;
    }
    const char *name = address + (failed == 0 ? strlen(parent) : 0);
    if (failed == 0) {
        failed = sl_folder_listing_find(url, name, &listing);
    }
    if (failed == 0) {
        know_of_page(&listing, name, known);
        sl_known_note(address, known);
        const bool found = known->kind == SL_ENTRY_FILE || known->kind == SL_ENTRY_FOLDER;
        if (!listing.next.more && listing.entries.count == found) {
            note_alone(address);
        }
    }
    sl_folder_listing_close(&listing);
    sl_free(url);
    return failed;
}

/* ---- scopes ---- */

/* Takes all notes. The tables are large, but empty if a dataset is on a disk. */
static known_note *take_notes_locked(void)
{
    known_note *all = NULL;
    for (uint32_t i = 0; i < NOTE_SLOTS && known_note_count > 0; i++) {
        while (known_notes[i] != NULL) {
            known_note *note = known_notes[i];
            known_notes[i] = note->next;
            note->next = all;
            all = note;
            known_note_count--;
        }
    }
    known_object_count = 0;
    return all;
}

static void forget_folders_locked(void)
{
    for (uint32_t i = 0; i < FOLDER_SLOTS && known_folder_count > 0; i++) {
        while (known_folders[i] != NULL) {
            sl_known_folder *folder = known_folders[i];
            unlink_folder_locked(folder);
            if (folder->holders == 0) {
                free_folder(folder);
            }
        }
    }
}

void sl_known_scope(bool open)
{
    known_note *notes = NULL;
    lock_known();
    if (open) {
        known_scopes++;
    } else if (known_scopes > 0) {
        known_scopes--;
    }
    if (known_scopes == 0) {
        notes = take_notes_locked();
        forget_folders_locked();
    }
    sl_unlock(&known_mutex);
    while (notes != NULL) {
        known_note *next = notes->next;
        sl_object_release(notes->object);
        sl_free(notes->address);
        sl_free(notes);
        notes = next;
    }
}
