/* SPDX-License-Identifier: Apache-2.0 */
#include "cache_use.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Simulating takes about 0.3 us a sample. */
static const uint64_t simulated_most = 20000000;

void cache_use_look(struct cache_use *use, sluice_loader *loader, uint64_t samples,
                    const struct remote_use *remote)
{
    const sluice_remote_stats *from = &remote->before;
    const sluice_remote_stats *to = &remote->stats;
    const uint64_t hit = to->cache_hit_bytes - from->cache_hit_bytes;
    const uint64_t missed = to->cache_miss_bytes - from->cache_miss_bytes;
    use->cache = (sluice_loader_cache)SLUICE_LOADER_CACHE_INIT;
    if (sluice_loader_get_cache(loader, samples <= simulated_most, &use->cache) < 0) {
        use->cache = (sluice_loader_cache)SLUICE_LOADER_CACHE_INIT;
    }
    use->hit_rate = hit + missed > 0 ? (double)hit / (double)(hit + missed) : NAN;
    use->kept_bytes = to->cache_kept_bytes;
    use->most_bytes = to->cache_most_bytes;
    memcpy(use->off, to->cache_off, sizeof use->off);
}

static bool is_simulated(const struct cache_use *use)
{
    return use->cache.optimum > 0;
}

void cache_use_print(const struct cache_use *use)
{
    if (use->cache.chunks == 0) {
        return;
    }
    printf("cache         hit rate %.1f %% of bytes", 100 * use->hit_rate);
    if (is_simulated(use)) {
        printf(" (optimum %.1f %%, LRU %.1f %%)", 100 * use->cache.optimum, 100 * use->cache.lru);
    }
    printf(", %.1f of %.1f MiB in use\n", (double)use->kept_bytes / 1048576,
           (double)use->most_bytes / 1048576);
    if (use->off[0] != '\0') {
        printf("cache         nothing more is kept: %s\n", use->off);
    }
}

void cache_use_write(const struct cache_use *use, struct json *json)
{
    if (use->cache.chunks == 0) {
        json_null(json, "cache");
        return;
    }
    json_open_object(json, "cache");
    json_real(json, "hit_rate", use->hit_rate);
    json_real(json, "optimum", is_simulated(use) ? use->cache.optimum : NAN);
    json_real(json, "lru", is_simulated(use) ? use->cache.lru : NAN);
    json_unsigned(json, "chunks", use->cache.chunks);
    json_unsigned(json, "here_bytes", use->cache.here_bytes);
    json_unsigned(json, "fetched_bytes", use->cache.fetched_bytes);
    json_unsigned(json, "left_bytes", use->cache.left_bytes);
    json_unsigned(json, "removed", use->cache.removed);
    json_unsigned(json, "kept_bytes", use->kept_bytes);
    json_unsigned(json, "most_bytes", use->most_bytes);
    json_text(json, "off", use->off);
    json_close_object(json);
}
