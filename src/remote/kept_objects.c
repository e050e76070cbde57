/* SPDX-License-Identifier: Apache-2.0 */
#include "kept_objects.h"

#include "error.h"
#include "kept.h"
#include "memory.h"
#include "reads.h"
#include "settings.h"
#include "thread.h"

#include <errno.h>
#include <stdio.h>

/* Objects of one stripe are requested one by one. */
enum { STRIPES = 16, OPEN_SLOTS = 64 };

/* An object that stays open for its next chunk, because it knows where it moved to. */
typedef struct open_slot {
    sl_object *opened; /* held; NULL: the slot is free */
    uint32_t object;
} open_slot;

struct sl_kept_objects {
    const sl_objects *objects;
    const sl_remote_settings *settings; /* which hold the cache */
    sl_chunk_cache *cache;
    uint32_t count;
    uint64_t *bytes; /* of each object; 0: it is not kept */
    pthread_mutex_t looking[STRIPES];
    pthread_mutex_t mutex;
    /* under mutex, of each object: */
    sl_cached_object **cached;    /* NULL: not open yet */
    sl_file_identity *identities; /* changed_ns 0: not yet known */
    open_slot open[OPEN_SLOTS];   /* by the object's number */
    char why[SL_KEPT_WHY_BYTES];  /* the first failure; "": none */
};

/* Returns the size of an object in a store; 0: it is not in a store, its size is unknown, or it
 * is a sample larger than a chunk. */
static uint64_t kept_bytes(const sl_objects *objects, uint32_t object)
{
    char path[SL_PATH_BYTES];
    const sl_file_identity *identity = sl_objects_listed(objects, object);
    if (sl_objects_identity(objects, object) != NULL) {
        identity = sl_objects_identity(objects, object);
    } else if (identity != NULL && identity->bytes > SL_CHUNK_BYTES) {
        return 0;
    }
    const uint64_t bytes = identity != NULL && identity->bytes > 0
                               ? identity->bytes
                               : sl_objects_bytes(objects, object);
    if (bytes == 0 || sl_objects_files(objects, object) > 0 ||
        sl_objects_path(objects, object, path, sizeof(path)) != SLUICE_OK || !sl_url_is(path)) {
        return 0;
    }
    return bytes;
}

static bool find_kept(sl_kept_objects *kept)
{
    bool found = false;
    for (uint32_t i = 0; i < kept->count; i++) {
        const sl_file_identity *identity = sl_objects_identity(kept->objects, i);
        identity = identity != NULL ? identity : sl_objects_listed(kept->objects, i);
        kept->bytes[i] = kept_bytes(kept->objects, i);
        if (identity != NULL && identity->inode != 0) {
            kept->identities[i] = *identity;
        }
        found = found || kept->bytes[i] > 0;
    }
    return found;
}

static sluice_status make_kept(sl_kept_objects *made, sluice_error *error)
{
    made->bytes = sl_calloc((size_t)made->count + 1, sizeof(*made->bytes));
    made->cached = sl_calloc((size_t)made->count + 1, sizeof(sl_cached_object *));
    made->identities = sl_calloc((size_t)made->count + 1, sizeof(*made->identities));
    if (made->bytes == NULL || made->cached == NULL || made->identities == NULL) {
        return sl_no_memory(error, "cache", "for %u objects", made->count);
    }
    return find_kept(made) ? SLUICE_OK : SLUICE_END;
}

sluice_status sl_kept_objects_open(sl_kept_objects **kept, const sl_objects *objects,
                                   sluice_error *error)
{
    const sl_places places = sl_objects_places(objects);
    const sl_remote_settings *settings;
    sluice_error why; /* of invalid settings: opening the dataset has failed by then */
    *kept = NULL;
    sl_error_clear(&why);
    if ((places != SL_PLACES_REMOTE && places != SL_PLACES_MIXED) ||
        sl_remote_settings_get(&settings, &why) != SLUICE_OK) {
        return SLUICE_OK;
    }
    sl_chunk_cache *cache = sl_remote_settings_cache(settings);
    sl_kept_objects *made = cache != NULL ? sl_calloc(1, sizeof(*made)) : NULL;
    if (made == NULL) {
        sl_remote_settings_release(settings);
        return cache != NULL ? sl_no_memory(error, "cache", "for the objects of a dataset")
                             : SLUICE_OK;
    }
    sl_mutex_init(&made->mutex);
    for (int i = 0; i < STRIPES; i++) {
        sl_mutex_init(&made->looking[i]);
    }
    made->objects = objects;
    made->settings = settings;
    made->cache = cache;
    made->count = sl_objects_count(objects);
    const sluice_status status = make_kept(made, error);
    if (status != SLUICE_OK) {
        sl_kept_objects_close(made);
        return status == SLUICE_END ? SLUICE_OK : status;
    }
    *kept = made;
    return SLUICE_OK;
}

void sl_kept_objects_close(sl_kept_objects *kept)
{
    if (kept == NULL) {
        return;
    }
    for (uint32_t i = 0; kept->cached != NULL && i < kept->count; i++) {
        sl_cached_object_close(kept->cached[i]);
    }
    for (uint32_t i = 0; i < OPEN_SLOTS; i++) {
        sl_object_release(kept->open[i].opened);
    }
    sl_remote_settings_release(kept->settings);
    sl_free(kept->cached);
    sl_free(kept->bytes);
    sl_free(kept->identities);
    sl_mutex_destroy(&kept->mutex);
    for (int i = 0; i < STRIPES; i++) {
        sl_mutex_destroy(&kept->looking[i]);
    }
    sl_free(kept);
}

sl_chunk_cache *sl_kept_objects_cache(const sl_kept_objects *kept)
{
    return kept->cache;
}

/* ---- what caching asks for ---- */

static uint64_t bytes_of_kept(void *ctx, uint32_t object)
{
    const sl_kept_objects *kept = ctx;
    return kept->bytes[object];
}

/* Returns the object, held, if it is open. */
static sl_object *take_open(sl_kept_objects *kept, uint32_t object)
{
    const open_slot *slot = &kept->open[object % OPEN_SLOTS];
    sl_lock(&kept->mutex);
    sl_object *opened = slot->object == object ? slot->opened : NULL;
    if (opened != NULL) {
        sl_object_hold(opened);
    }
    sl_unlock(&kept->mutex);
    return opened;
}

static void keep_open(sl_kept_objects *kept, uint32_t object, sl_object *opened)
{
    open_slot *slot = &kept->open[object % OPEN_SLOTS];
    sl_object_drop_windows(opened, 0);
    sl_object_hold(opened);
    sl_lock(&kept->mutex);
    sl_object *before = slot->opened;
    *slot = (open_slot){opened, object};
    sl_unlock(&kept->mutex);
    sl_object_release(before);
}

static sl_object *kept_open_object(const sl_kept_objects *kept, uint32_t object,
                                   const sl_file_identity *known)
{
    char path[SL_PATH_BYTES];
    sl_object *opened = NULL;
    if (sl_objects_path(kept->objects, object, path, sizeof(path)) != SLUICE_OK ||
        sl_object_open(&opened, path, known) < 0) {
        return NULL;
    }
    return opened;
}

static void kept_note_failure(sl_kept_objects *kept, const char *address, const char *reason)
{
    sl_lock(&kept->mutex);
    if (kept->why[0] == '\0') {
        (void)snprintf(kept->why, sizeof(kept->why), "%.300s: %s", address,
                       reason[0] != '\0' ? reason : "the read failed");
    }
    sl_unlock(&kept->mutex);
}

/* Finds the object's identity. False: it cannot be found. */
static bool find_identity(const sl_kept_objects *kept, sl_object *opened, uint32_t object,
                          sl_file_identity *identity)
{
    return (identity->changed_ns != 0 ||
            (sl_object_look(opened) >= 0 && sl_object_facts(opened, identity))) &&
           identity->bytes == kept->bytes[object];
}

/* Opens the object in the cache. An unknown ETag costs a request, once, unless that has failed. */
static sl_cached_object *look_and_open(sl_kept_objects *kept, uint32_t object, bool *failed)
{
    sl_lock(&kept->mutex);
    sl_file_identity identity = kept->identities[object];
    sl_cached_object *cached = kept->cached[object];
    sl_unlock(&kept->mutex);
    if (cached != NULL || (identity.changed_ns != 0 && identity.inode == 0)) {
        return cached;
    }
    const bool known = identity.changed_ns != 0;
    sl_store_set_reason("");
    sl_object *opened = kept_open_object(kept, object, known ? &identity : NULL);
    if (opened != NULL && find_identity(kept, opened, object, &identity)) {
        cached = sl_kept_object(kept->cache, opened->printed, &identity);
        sl_lock(&kept->mutex);
        kept->identities[object] = identity;
        kept->cached[object] = cached;
        sl_unlock(&kept->mutex);
        if (!known) { /* it was requested, and knows where it moved to */
            keep_open(kept, object, opened);
        }
    }
    *failed = cached == NULL && opened != NULL && sl_store_reason()[0] != '\0';
    if (*failed) {
        kept_note_failure(kept, opened->printed, sl_store_reason());
    }
    sl_object_release(opened);
    return cached;
}

static sl_cached_object *open_kept(void *ctx, uint32_t object, bool *failed)
{
    sl_kept_objects *kept = ctx;
    *failed = false;
    sl_lock(&kept->looking[object % STRIPES]);
    sl_cached_object *cached = look_and_open(kept, object, failed);
    sl_unlock(&kept->looking[object % STRIPES]);
    return cached;
}

/* Opens an object of known identity, for all its chunks. A hub, which limits requests, is asked
 * once for the redirect, before several threads read the object. */
static sl_object *open_to_read(sl_kept_objects *kept, uint32_t object)
{
    sl_object *opened = take_open(kept, object);
    if (opened != NULL) {
        return opened;
    }
    sl_lock(&kept->mutex);
    const sl_file_identity identity = kept->identities[object];
    sl_unlock(&kept->mutex);
    opened = kept_open_object(kept, object, &identity);
    if (opened != NULL && opened->provider->scheme == SL_SCHEME_HF && sl_object_look(opened) < 0) {
        sl_object_release(opened);
        return NULL;
    }
    if (opened != NULL) {
        keep_open(kept, object, opened);
    }
    return opened;
}

/* Reads from an object that open_kept has opened. */
static bool read_kept(void *ctx, uint32_t object, uint64_t offset, void *to, uint32_t bytes)
{
    sl_kept_objects *kept = ctx;
    sl_object *opened = take_open(kept, object);
    if (opened == NULL) {
        sl_lock(&kept->looking[object % STRIPES]);
        opened = open_to_read(kept, object);
        sl_unlock(&kept->looking[object % STRIPES]);
    }
    if (opened == NULL) {
        return false;
    }
    sl_remote_read read = {.object = opened, .offset = offset, .bytes = bytes, .buffer = to};
    const int64_t result = sl_remote_read_run(&read);
    if (result != (int64_t)bytes && result != -ECANCELED) {
        kept_note_failure(kept, opened->printed, read.reason);
    }
    sl_object_release(opened);
    return result == (int64_t)bytes;
}

sl_caching_objects sl_kept_objects_of(sl_kept_objects *kept)
{
    return (sl_caching_objects){.ctx = kept,
                                .count = kept->count,
                                .bytes = bytes_of_kept,
                                .open = open_kept,
                                .read = read_kept,
                                .wait_ns = kept->settings->stall_ns};
}

sluice_status sl_kept_objects_fill(const sl_objects *objects, const sl_caching_watch *watch,
                                   sl_caching_stats *stats, char why[SL_KEPT_WHY_BYTES],
                                   sluice_error *error)
{
    sl_kept_objects *kept;
    sluice_status status = sl_kept_objects_open(&kept, objects, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (kept == NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, "cache",
                            "the dataset cannot be kept: no cache is set, or its files are local "
                            "or have no known size");
    }
    const sl_caching_objects of = sl_kept_objects_of(kept);
    status = sl_caching_fill(sl_kept_objects_cache(kept), &of, watch, stats, error);
    (void)snprintf(why, SL_KEPT_WHY_BYTES, "%s", kept->why);
    sl_kept_objects_close(kept);
    return status;
}
