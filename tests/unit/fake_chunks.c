/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_chunks.h"

#include "memory.h"
#include "test.h"
#include "thread.h"

#include <string.h>

#define PAGE UINT64_C(4096)

enum { OBJECTS_MOST = 64 };

struct sl_chunk_cache {
    fake_chunks *chunks;
};

struct sl_cached_object {
    uint32_t number;
};

struct sl_chunk_part {
    uint64_t chunk;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sl_chunk_state states[FAKE_CHUNKS_MOST];
static uint64_t kept;
static sl_chunk_cache cache;
static sl_cached_object objects[OBJECTS_MOST];

static uint64_t chunks_each(void)
{
    return (cache.chunks->bytes_each + SL_CHUNK_BYTES - 1) / SL_CHUNK_BYTES;
}

static uint64_t bytes_of_chunk(uint64_t chunk)
{
    const uint64_t left = cache.chunks->bytes_each - chunk % chunks_each() * SL_CHUNK_BYTES;
    return left < SL_CHUNK_BYTES ? left : SL_CHUNK_BYTES;
}

static uint64_t number_of_chunk(const sl_cached_object *object, uint64_t chunk)
{
    return object->number * chunks_each() + chunk;
}

sl_chunk_cache *fake_chunks_begin(fake_chunks *chunks)
{
    memset(states, 0, sizeof(states));
    kept = 0;
    cache.chunks = chunks;
    for (uint32_t i = 0; i < OBJECTS_MOST; i++) {
        objects[i].number = i;
    }
    assert_true(chunks->objects <= OBJECTS_MOST);
    assert_true(chunks->objects * chunks_each() <= FAKE_CHUNKS_MOST);
    return &cache;
}

static uint64_t fake_bytes(void *ctx, uint32_t object)
{
    const fake_chunks *chunks = ctx;
    return object < chunks->objects ? chunks->bytes_each : 0;
}

static sl_cached_object *fake_open(void *ctx, uint32_t object, bool *failed)
{
    const fake_chunks *chunks = ctx;
    const bool unknown = atomic_load_explicit(&chunks->unknown, memory_order_relaxed);
    *failed = unknown && atomic_load_explicit(&chunks->silent, memory_order_relaxed);
    return unknown ? NULL : &objects[object];
}

static bool fake_read(void *ctx, uint32_t object, uint64_t offset, void *to, uint32_t bytes)
{
    fake_chunks *chunks = ctx;
    (void)to;
    (void)bytes;
    atomic_fetch_add_explicit(&chunks->reads_begun, 1, memory_order_relaxed);
    return chunks->reads == NULL ||
           chunks->reads(chunks->ctx, number_of_chunk(&objects[object], offset / SL_CHUNK_BYTES));
}

sl_caching_objects fake_chunks_objects(fake_chunks *chunks)
{
    return (sl_caching_objects){.ctx = chunks,
                                .count = chunks->objects,
                                .bytes = fake_bytes,
                                .open = fake_open,
                                .read = fake_read};
}

sl_cached_object *fake_chunks_object(uint32_t object)
{
    return &objects[object];
}

bool fake_chunks_has(uint64_t chunk)
{
    sl_lock(&mutex);
    const bool has = states[chunk] == SL_CHUNK_HERE;
    sl_unlock(&mutex);
    return has;
}

static void set_locked(uint64_t chunk, sl_chunk_state state)
{
    const uint64_t bytes = bytes_of_chunk(chunk) + PAGE;
    kept -= states[chunk] == SL_CHUNK_HERE ? bytes : 0;
    kept += state == SL_CHUNK_HERE ? bytes : 0;
    states[chunk] = state;
}

void fake_chunks_set(uint64_t chunk, sl_chunk_state state)
{
    sl_lock(&mutex);
    set_locked(chunk, state);
    sl_unlock(&mutex);
}

/* ---- chunk_cache.h ---- */

sl_chunk_state sl_chunk_look(sl_cached_object *object, uint64_t chunk)
{
    sl_lock(&mutex);
    const sl_chunk_state state = states[number_of_chunk(object, chunk)];
    sl_unlock(&mutex);
    return state;
}

static uint64_t coming_locked(void)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < cache.chunks->objects * chunks_each(); i++) {
        bytes += states[i] == SL_CHUNK_COMING ? bytes_of_chunk(i) + PAGE : 0;
    }
    return bytes;
}

static bool is_off(void)
{
    return atomic_load_explicit(&cache.chunks->off, memory_order_relaxed);
}

sluice_status sl_chunk_begin(sl_cached_object *object, uint64_t chunk, sl_chunk_part **part,
                             sluice_error *error)
{
    const uint64_t number = number_of_chunk(object, chunk);
    sluice_status status = SLUICE_OK;
    (void)error;
    sl_lock(&mutex);
    if (states[number] == SL_CHUNK_COMING) {
        status = SLUICE_AGAIN;
    } else if (states[number] == SL_CHUNK_HERE || is_off() ||
               kept + coming_locked() + bytes_of_chunk(number) + PAGE > cache.chunks->most) {
        status = SLUICE_END;
    } else {
        *part = sl_calloc(1, sizeof(**part));
        (*part)->chunk = number;
        states[number] = SL_CHUNK_COMING;
    }
    sl_unlock(&mutex);
    return status;
}

sluice_status sl_chunk_keep(sl_chunk_part *part, const void *bytes, size_t count,
                            sluice_error *error)
{
    (void)bytes;
    (void)error;
    sl_lock(&mutex);
    const bool fits = count == bytes_of_chunk(part->chunk);
    set_locked(part->chunk, SL_CHUNK_HERE);
    sl_unlock(&mutex);
    sl_free(part);
    return fits ? SLUICE_OK : SLUICE_INTERNAL;
}

void sl_chunk_drop(sl_chunk_part *part)
{
    atomic_fetch_add_explicit(&cache.chunks->dropped, 1, memory_order_relaxed);
    fake_chunks_set(part->chunk, SL_CHUNK_ABSENT);
    sl_free(part);
}

bool sl_chunk_remove(sl_cached_object *object, uint64_t chunk)
{
    const uint64_t number = number_of_chunk(object, chunk);
    sl_lock(&mutex);
    const bool was = states[number] == SL_CHUNK_HERE;
    if (was) {
        set_locked(number, SL_CHUNK_ABSENT);
    }
    sl_unlock(&mutex);
    return was;
}

uint64_t sl_chunk_cache_make_space(sl_chunk_cache *of, uint64_t bytes)
{
    (void)of;
    (void)bytes;
    return 0; /* no other objects exist */
}

void sl_chunk_cache_get_stats(sl_chunk_cache *of, sl_chunk_cache_stats *stats)
{
    *stats = (sl_chunk_cache_stats){.most_bytes = of->chunks->most};
    stats->off[0] = is_off() ? '!' : '\0';
}
