/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the chunk cache of settings at its first use. Lock: one mutex for all settings, not held
 * while a cache is opened: other threads retry then. */
#include "settings.h"

#include "clock.h"
#include "error.h"
#include "fork.h"
#include "stop.h"
#include "thread.h"

#include <stdio.h>

#define LOOK_AGAIN_NS UINT64_C(1000000)

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static void guard_opening(void)
{
    sl_fork_guard(&opening);
}

static void lock_opening(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, guard_opening);
    sl_lock(&opening);
}

/* Opens the cache. A thread that should stop leaves the folder to the next one. */
static void open_own_cache(const sl_remote_settings *settings)
{
    sl_settings_cache *own = settings->own_cache;
    sl_chunk_cache *chunks = NULL;
    sluice_error error;
    sl_error_clear(&error);
    const sluice_status status =
        sl_chunk_cache_open(&chunks, settings->cache, settings->cache_bytes, &error);
    lock_opening();
    own->tried = status != SLUICE_CANCELED;
    own->forks = sl_fork_count();
    own->opener = 0;
    own->off[0] = '\0';
    own->chunks = status < 0 ? NULL : chunks;
    if (status < 0) {
        (void)snprintf(own->off, sizeof(own->off), "%.*s", (int)sizeof(own->off) - 1, error.text);
    }
    sl_unlock(&opening);
}

sl_chunk_cache *sl_remote_settings_cache(const sl_remote_settings *settings)
{
    sl_settings_cache *own = settings->own_cache;
    const uint64_t process = sl_fork_count() + 1;
    if (settings->cache[0] == '\0') {
        return NULL;
    }
    for (bool stops = false;; stops = sl_stop_requested()) {
        lock_opening();
        const bool tried = own->tried && own->forks == sl_fork_count();
        sl_chunk_cache *chunks = tried ? own->chunks : NULL;
        const bool opens =
            !tried && !stops && own->opener != process; /* else another thread opens it */
        own->opener = opens ? process : own->opener;
        sl_unlock(&opening);
        if (tried || stops) {
            return chunks;
        }
        if (opens) {
            open_own_cache(settings);
        } else {
            sl_sleep_until_ns(sl_now_ns() + LOOK_AGAIN_NS);
        }
    }
}

void sl_remote_settings_cache_stats(const sl_remote_settings *settings, sl_chunk_cache_stats *stats)
{
    *stats = (sl_chunk_cache_stats){.most_bytes = 0};
    lock_opening();
    const sl_settings_cache *own = settings->own_cache;
    if (own->chunks != NULL && own->forks == sl_fork_count()) {
        sl_chunk_cache_get_stats(own->chunks, stats);
    } else {
        (void)snprintf(stats->off, sizeof(stats->off), "%s", own->off);
    }
    sl_unlock(&opening);
}
