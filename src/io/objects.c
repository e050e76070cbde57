/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects: the table of objects and the descriptors they are read by. The mutex guards pins and
 * descriptors; a pinned object keeps its descriptor.
 */
#include "objects.h"

#include "clock.h"
#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "streams.h"
#include "thread.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define STAGE "io"
/* The rest of the process needs descriptors too: of a small limit a quarter is used, of a large one
 * less, since there may be several datasets. Servers keep state for each open file. */
#define CAPACITY_SMALL 256U
#define CAPACITY_MAX   16384U
#define SHARE_OF_SMALL 4U
#define SHARE_OF_LARGE 16U
#define NONE           UINT32_MAX
/* Handles beyond two per object: stale ones that a hanging read keeps. */
#define RETIRED_MOST 16U
/* After this many failures in a row nobody waits for a retry. */
#define FAILING_MOST 8U

/* In use: pinned, or being opened. Idle: open, in the list of idle ones. Free: without a
 * descriptor. */
typedef struct entry {
    uint32_t object;
    bool past_cache; /* as requested: half of its key */
    bool opening;    /* a thread is opening it, without the lock */
    bool direct;     /* as it was opened */
    bool reopen;     /* open it again before the next pin */
    bool retired;    /* has no key any more: free once its last pin is released */
    bool refused;    /* O_DIRECT does not work on it */
    sl_handle file;
    uint32_t pins;
    uint32_t older, newer; /* idle ones; free ones are a list by `newer` */
} entry;

struct sl_objects {
    sl_object_names names;
    uint32_t capacity;
    sl_streams *streams;      /* of the compressed objects */
    _Atomic uint32_t failing; /* sl_objects_note_read: failures in a row; relaxed: a hint */
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* signals that a pin was released or an opening has ended */
    /* under mutex */
    entry *entries;
    uint32_t made;           /* number of entries ever used: those behind are free */
    uint32_t free;           /* first of the other free ones; NONE */
    uint32_t oldest, newest; /* idle ones, by the time of their last pin; NONE */
    uint32_t in_use;
    uint32_t pins;       /* of all entries */
    uint16_t *entry_of;  /* of 2 x object + past_cache: its entry + 1; 0: none */
    uint8_t *probe;      /* a buffer for the probing read; used by the thread that set `probing` */
    bool probing;        /* a probe runs outside the lock */
    uint64_t direct_dev; /* the file system probed last */
    bool direct_known;   /* true if there is one */
    bool direct_works;   /* result of the probe */
    /* identity of each object at its first opening; zeros: not opened yet. NULL: objects have any
     * size */
    sl_file_identity *seen;
    /* likewise, from an earlier listing; NULL: none. Immutable */
    sl_file_identity *recalled;
};

/* Result of opening a file. */
typedef struct opened {
    int failed; /* 0, or -errno */
    sl_handle handle;
    sl_store_facts found;
    bool direct;
} opened;

static uint32_t choose_capacity(uint32_t objects)
{
    struct rlimit limit;
    uint64_t share = CAPACITY_SMALL;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        const uint64_t small = limit.rlim_cur / SHARE_OF_SMALL;
        const uint64_t large = limit.rlim_cur / SHARE_OF_LARGE;
        share = sl_min_u64(small, share);
        share = sl_max_u64(large, share);
    }
    share = sl_min_u64(share, CAPACITY_MAX);
    share = sl_min_u64(share, 2 * (uint64_t)objects + RETIRED_MOST);
    return share > 0 ? (uint32_t)share : 1;
}

/* Finds a listing's identity of an object. Returns like a row's recall. */
static int recall_object(const sl_objects *objects, uint32_t object, sl_file_identity *identity)
{
    char path[SL_PATH_BYTES];
    if (sl_objects_identity(objects, object) != NULL ||
        sl_objects_path(objects, object, path, sizeof(path)) != SLUICE_OK) {
        return 0;
    }
    const sl_store *store = sl_store_of(path);
    return store->recall != NULL ? store->recall(path, identity) : 0;
}

/* A dataset that names its objects has only their sizes. If a listing has their identities, an
 * object replaced since then is noticed, and the chunk cache is found without a request. */
static void recall_objects(sl_objects *objects)
{
    sl_file_identity identity;
    sl_file_identity *recalled = NULL;
    int found = 0;
    for (uint32_t i = 0; found >= 0 && i < objects->names.count; i++) {
        found = recall_object(objects, i, &identity);
        if (found > 0 && recalled == NULL) {
            recalled = sl_calloc(objects->names.count, sizeof(*recalled));
            found = recalled != NULL ? found : -ENOMEM;
        }
        if (found > 0) {
            recalled[i] = identity;
        }
    }
    objects->recalled = recalled;
}

/* Returns whether a cache keeps samples that are files of their own. */
static bool are_kept(const sl_objects *objects)
{
    char path[SL_PATH_BYTES];
    if (objects->names.count == 0 || objects->names.count > SL_OBJECTS_LISTED_MOST ||
        sl_objects_path(objects, 0, path, sizeof(path)) != SLUICE_OK) {
        return false;
    }
    const sl_store *store = sl_store_of(path);
    return store->keeps != NULL && store->keeps();
}

sluice_status sl_objects_open(sl_objects **objects, const sl_object_names *names,
                              sluice_error *error)
{
    *objects = NULL;
    sl_objects *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_no_memory(error, STAGE, "for a table of files");
    }
    made->names = *names;
    made->capacity = choose_capacity(names->count);
    made->free = NONE;
    made->oldest = NONE;
    made->newest = NONE;
    sl_mutex_init(&made->mutex);
    sl_cond_init(&made->changed);
    made->entries = sl_calloc(made->capacity, sizeof(*made->entries));
    made->entry_of = sl_calloc(2 * (size_t)names->count + 1, sizeof(*made->entry_of));
    made->probe = sl_malloc((size_t)2 * SL_DIRECT_ALIGN);
    /* An object of any size is a sample of its own, which is not kept open and opened again. */
    made->seen = names->bytes != NULL ? sl_calloc(names->count, sizeof(*made->seen)) : NULL;
    if (made->entries == NULL || made->entry_of == NULL || made->probe == NULL ||
        (names->bytes != NULL && made->seen == NULL)) {
        sl_objects_close(made);
        return sl_no_memory(error, STAGE, "for a table of %u files", names->count);
    }
    const sluice_status status =
        names->packed != NULL ? sl_streams_open(&made->streams, names->count, error) : SLUICE_OK;
    if (status < 0) {
        sl_objects_close(made);
        return status;
    }
    if (names->bytes != NULL || are_kept(made)) {
        recall_objects(made);
    }
    *objects = made;
    return SLUICE_OK;
}

void sl_objects_close(sl_objects *objects)
{
    if (objects == NULL) {
        return;
    }
    for (uint32_t i = 0; objects->entries != NULL && i < objects->made; i++) {
        if (objects->entries[i].pins == 0) {
            sl_handle_close(&objects->entries[i].file);
        }
    }
    sl_streams_close(objects->streams);
    sl_free(objects->entries);
    sl_free(objects->entry_of);
    sl_free(objects->probe);
    sl_free(objects->seen);
    sl_free(objects->recalled);
    sl_cond_destroy(&objects->changed);
    sl_mutex_destroy(&objects->mutex);
    sl_free(objects);
}

uint32_t sl_objects_count(const sl_objects *objects)
{
    return objects->names.count;
}

uint64_t sl_objects_bytes(const sl_objects *objects, uint32_t object)
{
    return objects->names.bytes != NULL ? objects->names.bytes(objects->names.ctx, object) : 0;
}

const sl_file_identity *sl_objects_identity(const sl_objects *objects, uint32_t object)
{
    const sl_file_identity *named = objects->names.identity != NULL
                                        ? objects->names.identity(objects->names.ctx, object)
                                        : NULL;
    return named == NULL && objects->names.bytes != NULL ? sl_objects_listed(objects, object)
                                                         : named;
}

const sl_file_identity *sl_objects_listed(const sl_objects *objects, uint32_t object)
{
    const bool recalled = objects->recalled != NULL && objects->recalled[object].changed_ns != 0;
    return recalled ? &objects->recalled[object] : NULL;
}

sl_packed sl_objects_packed(const sl_objects *objects, uint32_t object)
{
    return objects->names.packed != NULL ? objects->names.packed(objects->names.ctx, object)
                                         : (sl_packed){.packing = SL_PACKING_NONE};
}

const sl_boundary *sl_objects_boundary(const sl_objects *objects, uint32_t object)
{
    return objects->names.boundary != NULL ? objects->names.boundary(objects->names.ctx, object)
                                           : NULL;
}

sluice_status sl_objects_path(const sl_objects *objects, uint32_t object, char *path, size_t bytes)
{
    if (object >= objects->names.count) {
        return SLUICE_INVALID;
    }
    return objects->names.path(objects->names.ctx, object, path, bytes);
}

uint32_t sl_objects_files(const sl_objects *objects, uint32_t object)
{
    return objects->names.files != NULL ? objects->names.files(objects->names.ctx, object) : 0;
}

sluice_status sl_objects_file_path(const sl_objects *objects, uint32_t object, uint32_t file,
                                   char *path, size_t bytes)
{
    if (file == 0 || file >= sl_objects_files(objects, object)) {
        return sl_objects_path(objects, object, path, bytes);
    }
    return objects->names.file_path(objects->names.ctx, object, file, path, bytes);
}

/* ---- opening ---- */

static bool is_known_locked(const sl_objects *objects, const opened *file)
{
    return objects->direct_known && objects->direct_dev == file->found.device;
}

/* Returns whether O_DIRECT reads work on this file: open may accept the flag and read then
 * refuse. */
static bool direct_works(sl_objects *objects, const opened *file)
{
    sl_lock(&objects->mutex);
    bool known = is_known_locked(objects, file);
    while (!known && objects->probing) {
        sl_cond_wait(&objects->changed, &objects->mutex);
        known = is_known_locked(objects, file);
    }
    const bool works = objects->direct_works;
    objects->probing = objects->probing || !known;
    sl_unlock(&objects->mutex);
    if (known) {
        return works;
    }
    uintptr_t address = (uintptr_t)objects->probe;
    uint8_t *aligned = objects->probe + (SL_DIRECT_ALIGN - address % SL_DIRECT_ALIGN);
    ssize_t got = pread(file->handle.fd, aligned, SL_DIRECT_ALIGN, 0);
    /* Another error says nothing about O_DIRECT; the reads will show. */
    const bool unclear = got < 0 && errno != EINVAL;
    sl_lock(&objects->mutex);
    if (!unclear) {
        objects->direct_known = true;
        objects->direct_dev = file->found.device;
        objects->direct_works = got >= 0;
    }
    objects->probing = false;
    sl_cond_broadcast(&objects->changed);
    sl_unlock(&objects->mutex);
    return unclear || got >= 0;
}

/* Opens a file. Called without the lock. */
static opened objects_open_file(sl_objects *objects, const char *path, const sl_boundary *boundary,
                                const sl_file_identity *known, bool direct)
{
    opened file = {.direct = direct};
    sl_open_how how = {.boundary = boundary, .direct = direct, .known = known};
    sl_open_file offered;
    if (boundary == NULL && !direct && sl_store_take_file(path, &offered)) {
        file.handle = offered.handle;
        file.found.identity = offered.identity;
    } else {
        file.failed = sl_handle_open_how(&file.handle, path, &how, &file.found);
    }
    if (direct && file.failed == 0 && (file.handle.fd < 0 || !direct_works(objects, &file))) {
        sl_handle_close(&file.handle);
        file.failed = -EINVAL;
    }
    if (direct && file.failed == -EINVAL) {
        file.direct = how.direct = false;
        file.failed = sl_handle_open_how(&file.handle, path, &how, &file.found);
    }
    /* On some file systems io_uring takes O_NONBLOCK for "fail instead of waiting". */
    if (file.failed == 0 && file.handle.fd >= 0 &&
        fcntl(file.handle.fd, F_SETFL, file.direct ? O_DIRECT : 0) != 0) {
        file.failed = -errno;
        sl_handle_close(&file.handle);
    }
    return file;
}

/* Returns whether this is the file that the object was until now. */
static bool objects_is_same(sl_objects *objects, uint32_t object, const sl_file_identity *is)
{
    static const sl_file_identity unseen = {0};
    const sl_file_identity *wanted = sl_objects_identity(objects, object);
    if (wanted != NULL) {
        return sl_file_is_same(wanted, is);
    }
    sl_lock(&objects->mutex);
    sl_file_identity *seen = objects->seen != NULL ? &objects->seen[object] : NULL;
    if (seen != NULL && memcmp(seen, &unseen, sizeof(unseen)) == 0) {
        *seen = *is;
    }
    const bool same = seen == NULL || sl_file_is_same(seen, is);
    sl_unlock(&objects->mutex);
    return same;
}

/* Copies the earlier identity of an object. False: it has none. */
static bool objects_was(sl_objects *objects, uint32_t object, sl_file_identity *was)
{
    static const sl_file_identity unseen = {0};
    const sl_file_identity *wanted = sl_objects_identity(objects, object);
    if (wanted != NULL) {
        *was = *wanted;
        return true;
    }
    sl_lock(&objects->mutex);
    *was = objects->seen != NULL ? objects->seen[object] : unseen;
    sl_unlock(&objects->mutex);
    return memcmp(was, &unseen, sizeof(unseen)) != 0;
}

/* Opens an object's file and checks it. OK: `*file` is open. AGAIN: no descriptor is free. */
static sluice_status open_checked(sl_objects *objects, uint32_t object, bool direct, opened *file,
                                  sluice_error *error)
{
    char path[SL_PATH_BYTES];
    if (sl_objects_path(objects, object, path, sizeof(path)) != SLUICE_OK) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "the path of file %u is too long",
                            object);
    }
    sl_file_identity was;
    const sl_boundary *boundary = sl_objects_boundary(objects, object);
    const bool remote = sl_store_of(path)->remote;
    bool known = objects_was(objects, object, &was);
    if (!known && remote && sl_objects_bytes(objects, object) > 0) {
        /* The first answer has the rest: a request to open it would cost as much as a read. */
        was = (sl_file_identity){.bytes = sl_objects_bytes(objects, object)};
        known = true;
    }
    *file = objects_open_file(objects, path, boundary, known ? &was : NULL, direct);
    if (file->failed == -EXDEV && boundary != NULL) {
        return sl_boundary_refuse(boundary, path, error);
    }
    if (file->failed < 0) {
        const char *reason = remote ? sl_store_reason() : "";
        (void)sl_error_file(error, SLUICE_IO, STAGE, -file->failed, path, -1,
                            "cannot open the file%s%s", reason[0] != '\0' ? ": " : "", reason);
        const bool busy =
            file->failed == -EMFILE || file->failed == -ENFILE || file->failed == -EINTR;
        return busy ? SLUICE_AGAIN : SLUICE_IO;
    }
    file->handle.name = (sl_file_name){STAGE, NULL}; /* the path belongs to this call */
    const uint64_t wanted = sl_objects_bytes(objects, object);
    const sl_file_identity *is = &file->found.identity;
    if (wanted != 0 && wanted != is->bytes) {
        sl_handle_close(&file->handle);
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, (int64_t)is->bytes,
                             "the file has %llu bytes instead of %llu",
                             (unsigned long long)is->bytes, (unsigned long long)wanted);
    }
    if (!objects_is_same(objects, object, is)) {
        sl_handle_close(&file->handle);
        return sl_error_file(error, SLUICE_IO, STAGE, 0, path, -1, SL_FILE_REPLACED);
    }
    return SLUICE_OK;
}

/* ---- entries ---- */

static uint16_t *objects_key_of(sl_objects *objects, uint32_t object, bool past_cache)
{
    return &objects->entry_of[2 * (size_t)object + past_cache];
}

/* Handles without a key, to be closed outside the lock: closing, too, may take as long as a server
 * does. */
typedef struct leavers {
    sl_handle old, oldest;
} leavers;

static void close_leavers(leavers *leaving)
{
    sl_handle_close(&leaving->old);
    sl_handle_close(&leaving->oldest);
}

static uint32_t objects_number_of(const sl_objects *objects, const entry *e)
{
    return (uint32_t)(e - objects->entries);
}

/* In use -> idle. */
static void rest_locked(sl_objects *objects, entry *e)
{
    e->older = objects->newest;
    e->newer = NONE;
    *(e->older != NONE ? &objects->entries[e->older].newer : &objects->oldest) =
        objects_number_of(objects, e);
    objects->newest = objects_number_of(objects, e);
    objects->in_use--;
}

/* Idle -> in use. */
static void take_idle_locked(sl_objects *objects, const entry *e)
{
    *(e->older != NONE ? &objects->entries[e->older].newer : &objects->oldest) = e->newer;
    *(e->newer != NONE ? &objects->entries[e->newer].older : &objects->newest) = e->older;
    objects->in_use++;
}

/* Remembers the identity of a remote object that was opened by its size alone. */
static void note_identity_locked(sl_objects *objects, const entry *e)
{
    sl_store_facts facts;
    if (e->file.store != NULL && e->file.store->remote && objects->seen != NULL &&
        objects->seen[e->object].modified_ns == 0 && sl_handle_facts(&e->file, &facts) == 0) {
        objects->seen[e->object] = facts.identity;
    }
}

/* Removes its key; its current readers continue with it. */
static void retire_locked(sl_objects *objects, entry *e)
{
    *objects_key_of(objects, e->object, e->past_cache) = 0;
    e->retired = true;
}

/* In use -> free. Returns the handle for the caller to close; a closed one: there was none. */
static sl_handle free_entry_locked(sl_objects *objects, entry *e)
{
    const sl_handle file = e->file;
    assert(e->pins == 0);
    note_identity_locked(objects, e);
    if (!e->retired) {
        retire_locked(objects, e);
    }
    *e = (entry){.newer = objects->free};
    objects->free = objects_number_of(objects, e);
    objects->in_use--;
    return file;
}

/* Frees the least recently used idle entry. Returns its handle; a closed one: none is idle. */
static sl_handle free_oldest_locked(sl_objects *objects)
{
    if (objects->oldest == NONE) {
        return (sl_handle){.store = NULL};
    }
    entry *oldest = &objects->entries[objects->oldest];
    take_idle_locked(objects, oldest);
    return free_entry_locked(objects, oldest);
}

/* Returns an entry in use for the object, a free or a freed one; NULL: all are in use. */
static entry *space_locked(sl_objects *objects, leavers *leaving)
{
    if (objects->free == NONE && objects->made == objects->capacity) {
        leaving->oldest = free_oldest_locked(objects);
    }
    uint32_t number = objects->free;
    if (number != NONE) {
        objects->free = objects->entries[number].newer;
    } else if (objects->made < objects->capacity) {
        number = objects->made++;
    } else {
        return NULL;
    }
    objects->in_use++;
    return &objects->entries[number];
}

/* Opens the object of `e`, which is free except for its key, once a descriptor was closed. Releases
 * the lock meanwhile. */
static sluice_status fill_locked(sl_objects *objects, entry *e, leavers *leaving,
                                 sluice_error *error)
{
    opened file = {.failed = 0};
    sluice_status status;
    const bool direct = e->past_cache && !e->refused;
    do {
        e->opening = true;
        sl_unlock(&objects->mutex);
        close_leavers(leaving);
        status = open_checked(objects, e->object, direct, &file, error);
        sl_lock(&objects->mutex);
        e->opening = false;
        if (status == SLUICE_AGAIN) {
            leaving->oldest = free_oldest_locked(objects);
        }
    } while (leaving->oldest.store != NULL);
    sl_cond_broadcast(&objects->changed);
    if (status != SLUICE_OK) {
        (void)free_entry_locked(objects, e); /* it has none */
        return status;
    }
    e->file = file.handle;
    e->direct = file.direct;
    return SLUICE_OK;
}

/* Releases an entry that is to be opened again. A read that never comes back keeps its pin: nobody
 * waits for it. */
static void let_go_locked(sl_objects *objects, entry *e, leavers *leaving)
{
    if (e->pins > 0) {
        retire_locked(objects, e);
    } else {
        take_idle_locked(objects, e);
        leaving->old = free_entry_locked(objects, e);
    }
}

/* Returns the open object in `*out`, in use. AGAIN: nothing is free just now. */
static sluice_status find_or_open_locked(sl_objects *objects, uint32_t object, sl_pin_how how,
                                         entry **out, sluice_error *error)
{
    const bool past_cache = how.direct;
    uint16_t *key = objects_key_of(objects, object, past_cache);
    entry *e = *key != 0 ? &objects->entries[*key - 1] : NULL;
    bool refused = false;
    leavers leaving = {.old = {.store = NULL}};
    if (e != NULL && !e->reopen && !e->opening) {
        if (e->pins == 0) {
            take_idle_locked(objects, e);
        }
        *out = e;
        return SLUICE_OK;
    }
    if (how.only_open) {
        return SLUICE_END;
    }
    if (e != NULL) {
        if (e->opening) {
            return SLUICE_AGAIN;
        }
        refused = e->refused;
        let_go_locked(objects, e, &leaving);
    }
    e = space_locked(objects, &leaving); /* there is space after that */
    if (e == NULL) {
        return SLUICE_AGAIN;
    }
    *e = (entry){.object = object, .past_cache = past_cache, .refused = refused};
    *key = (uint16_t)(objects_number_of(objects, e) + 1);
    *out = e;
    return fill_locked(objects, e, &leaving, error);
}

static sluice_status objects_refuse_packed(const sl_objects *objects, uint32_t object,
                                           sluice_error *error)
{
    char path[SL_PATH_BYTES] = "";
    (void)sl_objects_path(objects, object, path, sizeof(path));
    return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
                         "the file is compressed and can only be read from front to back");
}

/* ETIME is not a device error, which would be retried. */
static sluice_status refuse_wait(const sl_objects *objects, uint32_t object, uint64_t waited_ns,
                                 sluice_error *error)
{
    char path[SL_PATH_BYTES] = "";
    (void)sl_objects_path(objects, object, path, sizeof(path));
    return sl_error_file(
        error, SLUICE_IO, STAGE, ETIME, path, -1,
        "cannot open the file: readers of it or of other open files did not finish within %llu ms",
        (unsigned long long)(waited_ns / 1000000));
}

sluice_status sl_objects_pin(sl_objects *objects, uint32_t object, sl_pin_how how, sl_pin *pin,
                             sluice_error *error)
{
    assert(object < objects->names.count);
    entry *e = NULL;
    if (sl_objects_packed(objects, object).packing != SL_PACKING_NONE) {
        return objects_refuse_packed(objects, object, error);
    }
    if (error != NULL) {
        sl_error_clear(error);
    }
    sl_lock(&objects->mutex);
    const uint64_t until = sl_now_ns() + how.wait_ns;
    bool in_time = true;
    sluice_status status = find_or_open_locked(objects, object, how, &e, error);
    /* An unpin, or the end of an opening, can still happen. */
    while (status == SLUICE_AGAIN && how.wait_ns > 0 && objects->in_use > 0 && in_time) {
        in_time = sl_cond_wait_until(&objects->changed, &objects->mutex, until);
        status = find_or_open_locked(objects, object, how, &e, error);
    }
    if (status == SLUICE_OK) {
        e->pins++;
        objects->pins++;
        *pin = (sl_pin){.fd = e->file.fd,
                        .handle = &e->file,
                        .direct = e->direct,
                        .entry = objects_number_of(objects, e)};
    }
    sl_unlock(&objects->mutex);
    if (status != SLUICE_AGAIN || how.wait_ns == 0) {
        return status;
    }
    /* With nothing to wait for, nobody here holds a descriptor. */
    return in_time ? SLUICE_IO : refuse_wait(objects, object, how.wait_ns, error);
}

uint32_t sl_objects_pins(sl_objects *objects)
{
    sl_lock(&objects->mutex);
    const uint32_t pins = objects->pins;
    sl_unlock(&objects->mutex);
    return pins;
}

void sl_objects_unpin(sl_objects *objects, const sl_pin *pin)
{
    sl_lock(&objects->mutex);
    entry *e = &objects->entries[pin->entry];
    assert(e->pins > 0 && &e->file == pin->handle);
    sl_handle old = {.store = NULL};
    objects->pins--;
    if (--e->pins == 0) {
        if (e->retired) {
            old = free_entry_locked(objects, e);
        } else {
            rest_locked(objects, e);
        }
        sl_cond_broadcast(&objects->changed);
    }
    sl_unlock(&objects->mutex);
    sl_handle_close(&old);
}

void sl_objects_reopen(sl_objects *objects, const sl_pin *pin, bool buffered)
{
    sl_lock(&objects->mutex);
    entry *e = &objects->entries[pin->entry];
    assert(e->pins > 0 && &e->file == pin->handle);
    e->reopen = true;
    e->refused = e->refused || buffered;
    sl_unlock(&objects->mutex);
}

sl_places sl_objects_place(const sl_objects *objects, uint32_t object)
{
    char path[SL_PATH_BYTES];
    if (sl_stores[0] == &sl_store_local ||
        sl_objects_path(objects, object, path, sizeof(path)) != SLUICE_OK) {
        return SL_PLACES_LOCAL;
    }
    const sl_store *store = sl_store_of(path);
    if (store == &sl_store_local) {
        return SL_PLACES_LOCAL;
    }
    return store->remote ? SL_PLACES_REMOTE : SL_PLACES_OTHER;
}

sl_places sl_objects_places(const sl_objects *objects)
{
    const uint32_t count = sl_stores[0] == &sl_store_local ? 0 : objects->names.count;
    sl_places all = count > 0 ? sl_objects_place(objects, 0) : SL_PLACES_LOCAL;
    for (uint32_t i = 1; i < count && all != SL_PLACES_MIXED; i++) {
        /* Objects of one folder are in one store. */
        const sl_boundary *folder = sl_objects_boundary(objects, i);
        if ((folder == NULL || folder != sl_objects_boundary(objects, i - 1)) &&
            sl_objects_place(objects, i) != all) {
            all = SL_PLACES_MIXED;
        }
    }
    return all;
}

bool sl_objects_is_open(sl_objects *objects, uint32_t object)
{
    sl_lock(&objects->mutex);
    const bool open = *objects_key_of(objects, object, false) != 0;
    sl_unlock(&objects->mutex);
    return open;
}

bool sl_objects_is_failing(const sl_objects *objects)
{
    /* Relaxed, here and below: a hint. */
    return atomic_load_explicit(&objects->failing, memory_order_relaxed) >= FAILING_MOST;
}

void sl_objects_note_read(sl_objects *objects, bool good)
{
    /* Relaxed: see sl_objects_is_failing. */
    if (!good) {
        atomic_fetch_add_explicit(&objects->failing, 1, memory_order_relaxed);
    } else if (atomic_load_explicit(&objects->failing, memory_order_relaxed) > 0) {
        atomic_store_explicit(&objects->failing, 0, memory_order_relaxed);
    }
}

sl_streams *sl_objects_streams(sl_objects *objects)
{
    return objects->streams;
}
