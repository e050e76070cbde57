/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: bytes that blocking readers of an object will probably request next. */
#include "object.h"

#include "kept.h"
#include "memory.h"
#include "minmax.h"
#include "reads.h"
#include "thread.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES  ((uint64_t)64 << 10)
#define SKIPPED_MOST ((uint64_t)256 << 10) /* gap between reads that still count as in order */
#define AHEAD_MOST   ((uint64_t)8 << 20)
#define SMALL_MOST   ((uint64_t)256 << 10)
#define DIRECT_BYTES ((uint64_t)1 << 20)
#define ALL_MOST     ((uint64_t)256 << 20)

static _Atomic uint64_t all_bytes; /* of all windows; relaxed: a limit, not a fact */

/* A fetch in the making. */
typedef struct fetch {
    uint64_t offset, bytes;
    bool in_order, keeps;
} fetch;

static void drop_window_locked(sl_object_window *window)
{
    if (window->data != NULL) {
        /* Relaxed, everywhere: a limit for all objects, exceeded a little at times. */
        atomic_fetch_sub_explicit(&all_bytes, window->bytes, memory_order_relaxed);
        sl_free(window->data);
        *window = (sl_object_window){.data = NULL};
    }
}

void sl_object_drop_windows(sl_object *object, uint64_t larger_than)
{
    sl_lock(&object->mutex);
    for (uint32_t i = 0; i < SL_OBJECT_WINDOWS; i++) {
        if (object->windows[i].bytes > larger_than) {
            drop_window_locked(&object->windows[i]);
        }
    }
    sl_unlock(&object->mutex);
}

void sl_object_trim(sl_object *object)
{
    sl_object_drop_windows(object, BLOCK_BYTES);
}

static void touch_window_locked(sl_object_window *window, uint64_t at, uint64_t bytes)
{
    const bool first = window->high == window->low;
    const uint64_t low = first ? at : sl_min_u64(window->low, at);
    const uint64_t high = first ? at + bytes : sl_max_u64(window->high, at + bytes);
    window->kept = window->kept && low == window->low && high == window->high;
    window->low = low;
    window->high = high;
}

static size_t copy_locked(sl_object *object, void *to, size_t bytes, uint64_t offset)
{
    for (uint32_t i = 0; i < SL_OBJECT_WINDOWS; i++) {
        sl_object_window *window = &object->windows[i];
        if (window->data != NULL && offset >= window->offset &&
            offset - window->offset < window->bytes) {
            const uint64_t at = offset - window->offset;
            const size_t some = sl_min_size(bytes, (size_t)(window->bytes - at));
            memcpy(to, window->data + at, some);
            window->used = ++object->uses;
            touch_window_locked(window, at, some);
            return some;
        }
    }
    return 0;
}

/* Replaces the least recently used window; one that is read in order is used up. */
// NOLINTNEXTLINE(readability-non-const-parameter): it becomes the window's
static sl_object_window *put_locked(sl_object *object, uint8_t *data, const fetch *of, uint64_t got)
{
    sl_object_window *at = &object->windows[0];
    for (uint32_t i = 1; i < SL_OBJECT_WINDOWS; i++) {
        if (object->windows[i].used < at->used) {
            at = &object->windows[i];
        }
    }
    drop_window_locked(at);
    /* Relaxed: see drop_window_locked. */
    atomic_fetch_add_explicit(&all_bytes, got, memory_order_relaxed);
    *at = (sl_object_window){
        .data = data, .offset = of->offset, .bytes = got, .used = ++object->uses};
    return at;
}

void sl_object_put_window_locked(sl_object *object, const void *bytes, uint64_t offset,
                                 size_t count)
{
    const fetch of = {.offset = offset};
    /* Relaxed: see drop_window_locked. */
    const bool fits = atomic_load_explicit(&all_bytes, memory_order_relaxed) + count <= ALL_MOST;
    uint8_t *data = fits ? sl_malloc(count) : NULL;
    if (data != NULL) {
        memcpy(data, bytes, count);
        sl_object_window *window = put_locked(object, data, &of, count);
        window->high = count;
        window->kept = true;
    }
}

static fetch plan_locked(sl_object *object, size_t bytes, uint64_t offset, uint64_t size)
{
    const bool in_order = object->read_end > 0 && offset >= object->read_end &&
                          offset - object->read_end <= sl_max_u64(object->ahead, SKIPPED_MOST);
    fetch of = {.offset = in_order ? offset : offset - offset % BLOCK_BYTES, .in_order = in_order};
    if (in_order && offset - object->read_end <= BLOCK_BYTES) {
        of.offset = object->read_end; /* skipped bytes may be read next */
    }
    uint64_t least = BLOCK_BYTES;
    if (in_order) {
        object->ahead = sl_min_u64(sl_max_u64(object->ahead, BLOCK_BYTES) * 2, AHEAD_MOST);
        least = object->ahead;
    }
    if (!in_order && size <= SMALL_MOST) {
        of.offset = 0; /* the whole object costs no more than a part */
        least = size;
    }
    const uint64_t end = offset + bytes;
    of.bytes = sl_max_u64(end - of.offset, least);
    if (!in_order && of.offset + of.bytes > size && size > BLOCK_BYTES) {
        of.offset = sl_min_u64(of.offset, size - BLOCK_BYTES); /* reads the object's end */
    }
    of.bytes = sl_min_u64(of.bytes, size - of.offset);
    /* Relaxed: see drop_window_locked. */
    of.keeps = bytes < DIRECT_BYTES && (of.bytes > bytes || bytes <= SMALL_MOST) &&
               atomic_load_explicit(&all_bytes, memory_order_relaxed) + of.bytes <= ALL_MOST;
    if (!of.keeps) {
        of.offset = offset;
        of.bytes = bytes;
    }
    object->read_end = of.offset + of.bytes;
    if (!in_order) {
        object->ahead = 0;
    }
    return of;
}

/* Reads from the chunk cache. 0: not in it. */
static ssize_t windows_read_cached(sl_object *object, void *to, size_t bytes, uint64_t offset)
{
    sl_cached_object *cached = sl_object_cached(object);
    sl_chunk_use use;
    if (cached == NULL || sl_chunk_find(cached, offset / SL_CHUNK_BYTES, &use) != SL_CHUNK_HERE) {
        return 0;
    }
    const uint64_t at = offset % SL_CHUNK_BYTES;
    const size_t most = at < use.bytes ? sl_min_size(bytes, (size_t)(use.bytes - at)) : 0;
    const ssize_t got = pread(use.fd, to, most, (off_t)at);
    sl_chunk_done(cached, &use);
    if (got > 0) {
        sl_chunk_note(cached, (uint64_t)got, true);
    }
    return got > 0 ? got : 0;
}

/* Reads a range with one request, or a part of it from the chunk cache. */
static ssize_t fetch_range(sl_object *object, void *to, const fetch *of)
{
    sl_remote_read read = {
        .object = object, .offset = of->offset, .bytes = (uint32_t)of->bytes, .buffer = to};
    const ssize_t kept = windows_read_cached(object, to, (size_t)of->bytes, of->offset);
    if (kept > 0) {
        return kept;
    }
    const int64_t got = sl_remote_read_run(&read);
    if (got < 0) {
        sl_store_set_reason(read.reason);
    }
    return (ssize_t)got;
}

static ssize_t fetch_window(sl_object *object, const fetch *of, void *to, size_t bytes,
                            uint64_t offset)
{
    uint8_t *data = sl_malloc((size_t)of->bytes);
    if (data == NULL) {
        return -ENOMEM;
    }
    fetch from = *of;
    ssize_t got = fetch_range(object, data, &from);
    if (got > 0 && (uint64_t)got <= offset - from.offset) {
        /* the cached chunk ends before the wanted bytes */
        from.bytes -= offset - from.offset;
        from.offset = offset;
        got = fetch_range(object, data, &from);
    }
    const uint64_t skipped = offset - from.offset;
    if (got <= (ssize_t)skipped) {
        sl_free(data);
        return got < 0 ? got : 0;
    }
    const size_t some = sl_min_size(bytes, (size_t)got - (size_t)skipped);
    memcpy(to, data + skipped, some);
    sl_lock(&object->mutex);
    touch_window_locked(put_locked(object, data, &from, (uint64_t)got), skipped, some);
    sl_unlock(&object->mutex);
    return (ssize_t)some;
}

int sl_object_look(sl_object *object)
{
    sl_file_identity identity;
    uint8_t byte;
    const fetch first = {.bytes = BLOCK_BYTES};
    const ssize_t got = fetch_window(object, &first, &byte, 1, 0);
    if (got < 0) {
        return (int)got;
    }
    if (!sl_object_facts(object, &identity)) {
        sl_store_set_reason("the server does not say how long the object is");
        return -EBADMSG;
    }
    sl_lock(&object->mutex);
    object->read_end = sl_min_u64(BLOCK_BYTES, identity.bytes);
    sl_unlock(&object->mutex);
    return 0;
}

static ssize_t read_past_caches(sl_object *object, void *to, size_t bytes, uint64_t offset)
{
    sl_cached_object *cached = sl_object_cached(object);
    sl_remote_read read = {.object = object,
                           .offset = offset,
                           .bytes = (uint32_t)bytes,
                           .buffer = to,
                           .from_store = true};
    const uint64_t last = (offset + bytes - 1) / SL_CHUNK_BYTES;
    for (uint64_t i = offset / SL_CHUNK_BYTES; cached != NULL && i <= last; i++) {
        (void)sl_chunk_remove(cached, i);
    }
    const int64_t got = sl_remote_read_run(&read);
    if (got < 0) {
        sl_store_set_reason(read.reason);
    }
    return (ssize_t)got;
}

ssize_t sl_object_read_at(sl_object *object, void *to, size_t bytes, uint64_t offset)
{
    sl_file_identity identity;
    int failed = 0;
    if (!sl_object_facts(object, &identity)) {
        failed = sl_object_look(object);
        (void)sl_object_facts(object, &identity);
    }
    if (failed < 0 || bytes == 0 || offset >= identity.bytes) {
        return failed;
    }
    bytes = sl_min_size(bytes, (size_t)sl_min_u64(identity.bytes - offset, AHEAD_MOST));
    if (sl_store_bypasses_caches()) {
        return read_past_caches(object, to, bytes, offset);
    }
    sl_lock(&object->mutex);
    const size_t copied = copy_locked(object, to, bytes, offset);
    const fetch of =
        copied == 0 ? plan_locked(object, bytes, offset, identity.bytes) : (fetch){.bytes = 0};
    sl_unlock(&object->mutex);
    if (copied > 0) {
        return (ssize_t)copied;
    }
    return of.keeps ? fetch_window(object, &of, to, bytes, offset) : fetch_range(object, to, &of);
}
