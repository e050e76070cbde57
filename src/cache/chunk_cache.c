/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_cache: opens caches and objects, and finds chunks to read. */
#include "chunk_cache.h"

#include "chunk_state.h"
#include "clock.h"
#include "error.h"
#include "file.h"
#include "fork.h"
#include "memory.h"
#include "stop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STAGE         "cache"
#define OFF_NS        UINT64_C(60000000000)
#define FIRST_BUCKETS UINT64_C(64)

enum { USED_S = 60 };

static pthread_mutex_t caches_mutex = PTHREAD_MUTEX_INITIALIZER;
static sl_chunk_cache *caches; /* caches of this process, and of those that it was forked from */

/* ---- caches ---- */

static void chunk_cache_free(sl_chunk_cache *cache)
{
    for (uint64_t i = 0; i < cache->object_buckets; i++) {
        for (sl_cached_object *object = cache->objects[i]; object != NULL;) {
            sl_cached_object *next = object->next;
            sl_free(object->address);
            sl_free(object->etag);
            sl_free(object);
            object = next;
        }
    }
    sl_chunk_table_close(&cache->table);
    sl_chunk_ledger_close(&cache->ledger);
    sl_chunk_folder_close(&cache->folder);
    sl_free(cache->objects);
    sl_free(cache->known.slots);
    sl_free(cache->candidates);
    sl_cond_destroy(&cache->checked);
    sl_mutex_destroy(&cache->space_mutex);
    sl_mutex_destroy(&cache->mutex);
    sl_free(cache);
}

static sluice_status chunk_cache_new(sl_chunk_cache **opened, const char *path, uint64_t most_bytes,
                                     sluice_error *error)
{
    sl_chunk_folder folder;
    sluice_status status = sl_chunk_folder_open(&folder, path, true, error);
    *opened = NULL;
    if (status != SLUICE_OK) {
        return status;
    }
    sl_chunk_cache *cache = sl_calloc(1, sizeof(*cache));
    if (cache == NULL) {
        sl_chunk_folder_close(&folder);
        return sl_no_memory(error, STAGE, "opening the cache");
    }
    cache->folder = folder;
    cache->holders = 1;
    cache->forks = sl_fork_count();
    sl_mutex_init(&cache->mutex);
    sl_mutex_init(&cache->space_mutex);
    sl_cond_init(&cache->checked);
    const int failed = sl_chunk_ledger_open(&cache->ledger, &cache->folder, most_bytes);
    cache->objects = sl_calloc(FIRST_BUCKETS, sizeof(sl_cached_object *));
    cache->object_buckets = cache->objects != NULL ? FIRST_BUCKETS : 0;
    if (!sl_chunk_table_open(&cache->table) || cache->objects == NULL) {
        status = sl_no_memory(error, STAGE, "opening the cache");
    } else if (failed == -ECANCELED) {
        status = sl_stop_check(STAGE, error);
    }
    if (status < 0) {
        chunk_cache_free(cache);
        return status;
    }
    if (failed < 0) {
        sl_chunk_cache_turn_off(cache, failed);
    }
    *opened = cache;
    return SLUICE_OK;
}

static void guard_caches(void)
{
    sl_fork_guard(&caches_mutex);
}

/* Locks the list of caches, only briefly: a fork waits for the lock and takes it. */
static void lock_caches(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, guard_caches);
    sl_lock(&caches_mutex);
}

/* Holds the cache of a folder that this process has open; NULL: none. */
static sl_chunk_cache *hold_cache_of(const char *path)
{
    sl_chunk_cache *at = caches;
    while (at != NULL && (at->forks != sl_fork_count() || strcmp(at->folder.path, path) != 0)) {
        at = at->next;
    }
    if (at != NULL) {
        at->holders++;
    }
    return at;
}

sluice_status sl_chunk_cache_open(sl_chunk_cache **cache, const char *folder, uint64_t most_bytes,
                                  sluice_error *error)
{
    lock_caches();
    *cache = folder != NULL ? hold_cache_of(folder) : NULL;
    sl_unlock(&caches_mutex);
    sl_chunk_cache *made = NULL;
    if (*cache == NULL) {
        const sluice_status status = chunk_cache_new(&made, folder, most_bytes, error);
        if (made == NULL || folder == NULL) { /* the call fails */
            return status;
        }
        lock_caches();
        *cache = hold_cache_of(folder); /* another thread may have opened it meanwhile */
        if (*cache == NULL) {
            made->next = caches;
            caches = made;
            *cache = made;
            made = NULL;
        }
        sl_unlock(&caches_mutex);
        if (made == NULL) {
            return SLUICE_OK;
        }
        chunk_cache_free(made);
    }
    (void)sl_chunk_ledger_set_quota(&(*cache)->ledger, most_bytes);
    return SLUICE_OK;
}

void sl_chunk_cache_hold(sl_chunk_cache *cache)
{
    lock_caches();
    cache->holders++;
    sl_unlock(&caches_mutex);
}

/*
 * Returns whether the cache is the parent's: a thread of the parent may hold its mutex, and the
 * ledger's locks are the parent's.
 */
static bool is_of_parent(const sl_chunk_cache *cache)
{
    return cache->forks != sl_fork_count();
}

void sl_chunk_cache_close(sl_chunk_cache *cache)
{
    if (cache == NULL || is_of_parent(cache)) {
        return;
    }
    lock_caches();
    const bool last = --cache->holders == 0;
    if (last) {
        sl_chunk_cache **link = &caches;
        while (*link != cache) {
            link = &(*link)->next;
        }
        *link = cache->next;
    }
    sl_unlock(&caches_mutex);
    if (last) {
        chunk_cache_free(cache);
    }
}

/* ---- whether chunks are kept ---- */

/*
 * Returns whether a later attempt may succeed: the disk was full, descriptors or memory were short,
 * or the folder was being removed.
 */
static bool may_pass(int failed)
{
    static const int passing[] = {ENOSPC, EDQUOT, EAGAIN, EMFILE, ENFILE,
                                  ENOMEM, ENOENT, ESTALE, EIO};
    for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++) {
        if (failed == -passing[i]) {
            return true;
        }
    }
    return false;
}

void sl_chunk_cache_turn_off(sl_chunk_cache *cache, int failed)
{
    char reason[96];
    const bool passes = may_pass(failed);
    sl_lock(&cache->mutex);
    cache->off_until_ns = passes ? sl_now_ns() + OFF_NS : UINT64_MAX;
    (void)snprintf(cache->off, sizeof(cache->off), "cannot write to the cache folder: %s",
                   strerror_r(-failed, reason, sizeof(reason)));
    sl_unlock(&cache->mutex);
}

bool sl_chunk_cache_is_on(sl_chunk_cache *cache)
{
    sl_lock(&cache->mutex);
    if (cache->off_until_ns != 0 && cache->off_until_ns != UINT64_MAX &&
        sl_now_ns() >= cache->off_until_ns) {
        cache->off_until_ns = 0;
        cache->off[0] = '\0';
    }
    const bool on = cache->off_until_ns == 0;
    sl_unlock(&cache->mutex);
    return on;
}

/* ---- objects ---- */

sl_cached_object *sl_chunk_cache_object(const sl_chunk_cache *cache, uint64_t hash)
{
    sl_cached_object *object = cache->objects[hash & (cache->object_buckets - 1)];
    while (object != NULL && object->hash != hash) {
        object = object->next;
    }
    return object;
}

/* Grows the table to keep chains short; without memory, they just become longer. */
static void objects_grow(sl_chunk_cache *cache)
{
    const uint64_t more = cache->object_buckets * 2;
    sl_cached_object **buckets = sl_calloc(more, sizeof(sl_cached_object *));
    if (buckets == NULL) {
        return;
    }
    for (uint64_t i = 0; i < cache->object_buckets; i++) {
        for (sl_cached_object *object = cache->objects[i]; object != NULL;) {
            sl_cached_object *next = object->next;
            sl_cached_object **bucket = &buckets[object->hash & (more - 1)];
            object->next = *bucket;
            *bucket = object;
            object = next;
        }
    }
    sl_free(cache->objects);
    cache->objects = buckets;
    cache->object_buckets = more;
}

static sl_cached_object *object_new(sl_chunk_cache *cache, const char *address, const char *etag,
                                    uint64_t bytes)
{
    sl_cached_object *object = sl_calloc(1, sizeof(*object));
    if (object == NULL) {
        return NULL;
    }
    *object = (sl_cached_object){.cache = cache,
                                 .address = sl_strdup(address),
                                 .etag = sl_strdup(etag),
                                 .hash = sl_chunk_object_hash(address, etag, bytes),
                                 .bytes = bytes};
    if (object->address == NULL || object->etag == NULL) {
        sl_free(object->address);
        sl_free(object->etag);
        sl_free(object);
        return NULL;
    }
    if (cache->object_count >= cache->object_buckets) {
        objects_grow(cache);
    }
    sl_cached_object **bucket = &cache->objects[object->hash & (cache->object_buckets - 1)];
    object->next = *bucket;
    *bucket = object;
    cache->object_count++;
    return object;
}

/*
 * Compares the whole identity: two objects with one hash must not share chunks. The first one has
 * them.
 */
static bool object_is(const sl_cached_object *object, const char *address, const char *etag,
                      uint64_t bytes)
{
    return object->bytes == bytes && strcmp(object->address, address) == 0 &&
           strcmp(object->etag, etag) == 0;
}

sl_cached_object *sl_cached_object_open(sl_chunk_cache *cache, const char *address,
                                        const char *etag, uint64_t bytes)
{
    if (strlen(address) > SL_CHUNK_ADDRESS_MAX || strlen(etag) > SL_CHUNK_ETAG_MAX) {
        return NULL;
    }
    const uint64_t hash = sl_chunk_object_hash(address, etag, bytes);
    sl_lock(&cache->mutex);
    sl_cached_object *object = sl_chunk_cache_object(cache, hash);
    if (object == NULL) {
        object = object_new(cache, address, etag, bytes);
    } else if (!object_is(object, address, etag, bytes)) {
        object = NULL;
    }
    if (object != NULL) {
        object->holders++;
    }
    sl_unlock(&cache->mutex);
    if (object != NULL) {
        sl_chunk_cache_hold(cache);
    }
    return object;
}

/* The mutex must be held. */
static void object_free_unused(sl_cached_object *object)
{
    sl_chunk_cache *cache = object->cache;
    if (object->holders > 0 || object->uses > 0) {
        return;
    }
    sl_cached_object **link = &cache->objects[object->hash & (cache->object_buckets - 1)];
    while (*link != object) {
        link = &(*link)->next;
    }
    *link = object->next;
    cache->object_count--;
    sl_free(object->address);
    sl_free(object->etag);
    sl_free(object);
}

bool sl_cached_object_is_own(const sl_cached_object *object)
{
    return !is_of_parent(object->cache);
}

void sl_cached_object_close(sl_cached_object *object)
{
    if (object == NULL || is_of_parent(object->cache)) {
        return;
    }
    sl_chunk_cache *cache = object->cache;
    sl_lock(&cache->mutex);
    object->holders--;
    object_free_unused(object);
    sl_unlock(&cache->mutex);
    sl_chunk_cache_close(cache);
}

int sl_chunk_cache_settle(const sl_chunk_left *left)
{
    if (left->object != NULL) {
        left->object->uses--;
        object_free_unused(left->object);
    }
    return left->fd;
}

uint64_t sl_cached_object_chunks(const sl_cached_object *object)
{
    return object->bytes / SL_CHUNK_BYTES + (object->bytes % SL_CHUNK_BYTES > 0);
}

const char *sl_cached_object_address(const sl_cached_object *object)
{
    return object->address;
}

/* ---- reading ---- */

/*
 * Adds a use to the entry of an open chunk, and waits until it is checked; SL_CHUNK_NO_ENTRY: not
 * open. The mutex must be held. `*stopped`: the thread is to stop.
 */
static uint32_t use_open(sl_cached_object *object, uint64_t chunk, bool *stopped)
{
    sl_chunk_cache *cache = object->cache;
    uint32_t entry = sl_chunk_table_find(&cache->table, object, chunk);
    while (entry != SL_CHUNK_NO_ENTRY && !cache->table.entries[entry].ready) {
        if (sl_stop_wait(&cache->checked, &cache->mutex)) {
            *stopped = true;
            return SL_CHUNK_NO_ENTRY;
        }
        entry = sl_chunk_table_find(&cache->table, object, chunk);
    }
    if (entry != SL_CHUNK_NO_ENTRY) {
        sl_chunk_table_use(&cache->table, entry);
    }
    return entry;
}

/* Records, for other processes and for later, that the chunk was used. */
static void note_use(int fd, const struct stat *facts)
{
    struct timespec now;
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    const int64_t age = (int64_t)now.tv_sec - (int64_t)facts->st_atim.tv_sec;
    if (age > USED_S || age < -USED_S) { /* the clock may have been set back */
        (void)futimens(fd, times);
    }
}

static bool tail_is_of(const sl_chunk_tail *tail, const sl_cached_object *object, uint64_t chunk)
{
    return tail->chunk == chunk && tail->bytes == sl_chunk_bytes_of(object->bytes, chunk) &&
           object_is(object, tail->address, tail->etag, tail->object_bytes);
}

static sl_chunk_check check_file(sl_cached_object *object, uint64_t chunk, int fd,
                                 const struct stat *facts)
{
    sl_chunk_tail tail;
    sl_chunk_cache *cache = object->cache;
    const uint64_t hash = sl_chunk_file_hash(sl_chunk_key_of(object, chunk), facts);
    sl_chunk_check check = sl_chunk_tail_read(fd, (uint64_t)facts->st_size, &tail);
    if (check != SL_CHUNK_GOOD) {
        return check;
    }
    if (!tail_is_of(&tail, object, chunk)) {
        return SL_CHUNK_FOREIGN;
    }
    sl_lock(&cache->mutex);
    const bool known = sl_chunk_is_known(&cache->known, hash);
    sl_unlock(&cache->mutex);
    check = known ? SL_CHUNK_GOOD : sl_chunk_verify(fd, &tail);
    if (!known && check == SL_CHUNK_GOOD) {
        sl_lock(&cache->mutex);
        sl_chunk_know(&cache->known, hash);
        sl_unlock(&cache->mutex);
    }
    return check;
}

static void remove_damaged(sl_cached_object *object, uint64_t chunk, const struct stat *facts)
{
    char name[SL_CHUNK_NAME_BYTES];
    sl_chunk_cache *cache = object->cache;
    sl_chunk_name(sl_chunk_key_of(object, chunk), "", name);
    sl_chunk_count_in(&cache->damaged, 1);
    if (sl_chunk_folder_has(&cache->folder, name, facts)) { /* otherwise it is a new file */
        (void)sl_chunk_ledger_remove(&cache->ledger, name);
        sl_chunk_cache_suspect(cache); /* it may have had another size when it was counted */
    }
}

/* Checks a file that was just opened, and makes it an entry with one use. */
static uint32_t add_checked_entry(sl_cached_object *object, uint64_t chunk, int fd,
                                  const struct stat *facts)
{
    bool stopped = false;
    sl_chunk_left left = {.fd = -1};
    sl_chunk_cache *cache = object->cache;
    sl_lock(&cache->mutex);
    uint32_t entry = use_open(object, chunk, &stopped); /* another thread may have been faster */
    if (entry != SL_CHUNK_NO_ENTRY || stopped) {
        sl_unlock(&cache->mutex);
        (void)close(fd);
        return entry;
    }
    entry = sl_chunk_table_add(&cache->table, object, chunk, fd, &left);
    const int old = sl_chunk_cache_settle(&left);
    sl_unlock(&cache->mutex);
    sl_file_close(old);
    if (entry == SL_CHUNK_NO_ENTRY) {
        (void)close(fd);
        return entry;
    }
    const sl_chunk_check check = check_file(object, chunk, fd, facts);
    if (check == SL_CHUNK_DAMAGED) {
        remove_damaged(object, chunk, facts);
    }
    left = (sl_chunk_left){.fd = -1};
    sl_lock(&cache->mutex);
    sl_chunk_entry *e = &cache->table.entries[entry];
    e->ready = true;
    if (check != SL_CHUNK_GOOD) {
        sl_chunk_table_forget(&cache->table, entry, &left);
        sl_chunk_table_unuse(&cache->table, entry, &left);
        entry = SL_CHUNK_NO_ENTRY;
    }
    sl_cond_broadcast(&cache->checked);
    const int bad = sl_chunk_cache_settle(&left);
    sl_unlock(&cache->mutex);
    sl_file_close(bad);
    return entry;
}

static sl_chunk_state absent_or_coming(sl_cached_object *object, uint64_t chunk)
{
    sl_chunk_cache *cache = object->cache;
    if (!sl_chunk_folder_is_coming(&cache->folder, sl_chunk_key_of(object, chunk))) {
        return SL_CHUNK_ABSENT;
    }
    sl_chunk_count_in(&cache->waits, 1);
    return SL_CHUNK_COMING;
}

static sl_chunk_state find_closed(sl_cached_object *object, uint64_t chunk, sl_chunk_use *use)
{
    struct stat facts;
    sl_chunk_left left;
    char name[SL_CHUNK_NAME_BYTES];
    sl_chunk_cache *cache = object->cache;
    sl_chunk_name(sl_chunk_key_of(object, chunk), "", name);
    const int fd = sl_chunk_folder_read(&cache->folder, name, &facts);
    if (fd < 0) {
        return fd == -ENOENT ? absent_or_coming(object, chunk) : SL_CHUNK_ABSENT;
    }
    note_use(fd, &facts);
    use->entry = add_checked_entry(object, chunk, fd, &facts);
    if (use->entry == SL_CHUNK_NO_ENTRY) {
        return SL_CHUNK_ABSENT;
    }
    sl_lock(&cache->mutex);
    use->fd = cache->table.entries[use->entry].fd;
    sl_chunk_table_sweep(&cache->table, &left);
    const int old = sl_chunk_cache_settle(&left);
    sl_unlock(&cache->mutex);
    sl_file_close(old);
    return SL_CHUNK_HERE;
}

sl_chunk_state sl_chunk_find(sl_cached_object *object, uint64_t chunk, sl_chunk_use *use)
{
    bool stopped = false;
    sl_chunk_cache *cache = object->cache;
    if (chunk >= sl_cached_object_chunks(object) || cache->folder.fd < 0) {
        return SL_CHUNK_ABSENT;
    }
    sl_lock(&cache->mutex);
    const uint32_t entry = use_open(object, chunk, &stopped);
    use->bytes = (uint32_t)sl_chunk_bytes_of(object->bytes, chunk);
    if (entry != SL_CHUNK_NO_ENTRY) {
        use->fd = cache->table.entries[entry].fd;
        use->entry = entry;
    }
    sl_unlock(&cache->mutex);
    if (entry != SL_CHUNK_NO_ENTRY) {
        return SL_CHUNK_HERE;
    }
    return stopped ? SL_CHUNK_ABSENT : find_closed(object, chunk, use);
}

void sl_chunk_done(sl_cached_object *object, const sl_chunk_use *use)
{
    sl_chunk_left left;
    sl_chunk_cache *cache = object->cache;
    sl_lock(&cache->mutex);
    sl_chunk_table_unuse(&cache->table, use->entry, &left);
    const int old = sl_chunk_cache_settle(&left);
    sl_unlock(&cache->mutex);
    sl_file_close(old);
}

sl_chunk_state sl_chunk_look(sl_cached_object *object, uint64_t chunk)
{
    struct stat facts;
    char name[SL_CHUNK_NAME_BYTES];
    const sl_chunk_cache *cache = object->cache;
    const sl_chunk_key key = sl_chunk_key_of(object, chunk);
    if (chunk >= sl_cached_object_chunks(object) || cache->folder.fd < 0) {
        return SL_CHUNK_ABSENT;
    }
    sl_chunk_name(key, "", name);
    if (fstatat(cache->folder.fd, name, &facts, AT_SYMLINK_NOFOLLOW) == 0) {
        return S_ISREG(facts.st_mode) ? SL_CHUNK_HERE : SL_CHUNK_ABSENT;
    }
    return sl_chunk_folder_is_coming(&cache->folder, key) ? SL_CHUNK_COMING : SL_CHUNK_ABSENT;
}

/* ---- figures ---- */

void sl_chunk_note(sl_cached_object *object, uint64_t bytes, bool hit)
{
    sl_chunk_cache *cache = object->cache;
    sl_chunk_count_in(hit ? &cache->hits : &cache->misses, 1);
    sl_chunk_count_in(hit ? &cache->hit_bytes : &cache->miss_bytes, bytes);
}

void sl_chunk_cache_get_stats(sl_chunk_cache *cache, sl_chunk_cache_stats *stats)
{
    sl_chunk_count count;
    (void)sl_chunk_ledger_read(&cache->ledger, &count);
    *stats = (sl_chunk_cache_stats){.hits = sl_chunk_counted(&cache->hits),
                                    .hit_bytes = sl_chunk_counted(&cache->hit_bytes),
                                    .misses = sl_chunk_counted(&cache->misses),
                                    .miss_bytes = sl_chunk_counted(&cache->miss_bytes),
                                    .waits = sl_chunk_counted(&cache->waits),
                                    .written_bytes = sl_chunk_counted(&cache->written_bytes),
                                    .removed = sl_chunk_counted(&cache->removed),
                                    .damaged = sl_chunk_counted(&cache->damaged),
                                    .kept_bytes = count.kept,
                                    .most_bytes = sl_chunk_counted(&cache->ledger.quota)};
    (void)sl_chunk_cache_is_on(cache);
    sl_lock(&cache->mutex);
    memcpy(stats->off, cache->off, sizeof(stats->off));
    sl_unlock(&cache->mutex);
}
