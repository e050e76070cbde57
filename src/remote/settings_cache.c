/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the chunk cache of settings at its first use. Lock: one mutex for all settings, held while
 * a cache is opened, so that each is opened once. */
#include "settings.h"

#include "error.h"
#include "fork.h"
#include "thread.h"

#include <stdio.h>

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* A thread that is to stop leaves the folder to the next one. */
static void open_own_cache(const sl_remote_settings *settings)
{
    sl_settings_cache *own = settings->own_cache;
    sluice_error error;
    sl_error_clear(&error);
    const sluice_status status =
        sl_chunk_cache_open(&own->chunks, settings->cache, settings->cache_bytes, &error);
    own->tried = status != SLUICE_CANCELED;
    own->forks = sl_fork_count();
    own->off[0] = '\0';
    if (status < 0) {
        own->chunks = NULL;
        (void)snprintf(own->off, sizeof(own->off), "%.*s", (int)sizeof(own->off) - 1, error.text);
    }
}

sl_chunk_cache *sl_remote_settings_cache(const sl_remote_settings *settings)
{
    sl_settings_cache *own = settings->own_cache;
    if (settings->cache[0] == '\0') {
        return NULL;
    }
    sl_lock(&opening);
    if (!own->tried || own->forks != sl_fork_count()) {
        open_own_cache(settings);
    }
    sl_chunk_cache *chunks = own->chunks;
    sl_unlock(&opening);
    return chunks;
}

void sl_remote_settings_cache_stats(const sl_remote_settings *settings, sl_chunk_cache_stats *stats)
{
    *stats = (sl_chunk_cache_stats){.most_bytes = 0};
    sl_lock(&opening);
    const sl_settings_cache *own = settings->own_cache;
    if (own->chunks != NULL && own->forks == sl_fork_count()) {
        sl_chunk_cache_get_stats(own->chunks, stats);
    } else {
        (void)snprintf(stats->off, sizeof(stats->off), "%s", own->off);
    }
    sl_unlock(&opening);
}
