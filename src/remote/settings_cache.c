/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the chunk cache of settings at its first use. Lock: one mutex for all settings, held while
 * a cache is opened, so that each is opened once. */
#include "settings.h"

#include "error.h"
#include "thread.h"

#include <stdio.h>

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

sl_chunk_cache *sl_remote_settings_cache(const sl_remote_settings *settings)
{
    sl_settings_cache *own = settings->own_cache;
    if (settings->cache[0] == '\0') {
        return NULL;
    }
    sl_lock(&opening);
    if (!own->tried) {
        sluice_error error;
        sl_error_clear(&error);
        own->tried = true;
        if (sl_chunk_cache_open(&own->chunks, settings->cache, settings->cache_bytes, &error) < 0) {
            own->chunks = NULL;
            (void)snprintf(own->off, sizeof(own->off), "%.*s", (int)sizeof(own->off) - 1,
                           error.text);
        }
    }
    sl_chunk_cache *chunks = own->chunks;
    sl_unlock(&opening);
    return chunks;
}

void sl_remote_settings_cache_stats(const sl_remote_settings *settings, sl_chunk_cache_stats *stats)
{
    *stats = (sl_chunk_cache_stats){.most_bytes = 0};
    sl_lock(&opening);
    if (settings->own_cache->chunks != NULL) {
        sl_chunk_cache_get_stats(settings->own_cache->chunks, stats);
    } else {
        (void)snprintf(stats->off, sizeof(stats->off), "%s", settings->own_cache->off);
    }
    sl_unlock(&opening);
}
