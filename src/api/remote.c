/* SPDX-License-Identifier: Apache-2.0 */
/* remote: settings and statistics of reading from object stores (sluice/remote.h). */
#include "api.h"
#include "error.h"
#include "hosts.h"
#include "memory.h"
#include "minmax.h"
#include "options.h"
#include "settings.h"

#include <stdio.h>
#include <string.h>

static sluice_status remote_configure(const sluice_remote_config *config, sluice_error *error)
{
    sluice_remote_config given;
    sluice_status status =
        sl_api_read_struct(&given, sizeof(given), config, "sluice_remote_config", error);
    if (status == SLUICE_OK) {
        status = sl_options_check(SLUICE_OPTIONS_REMOTE, &given, "api", error);
    }
    if (status < 0) {
        return status;
    }
    if (given.reserved != 0) {
        return sl_error_set(error, SLUICE_INVALID, "api", "reserved must be 0");
    }
    const sl_remote_choice choice = {.endpoint = given.endpoint,
                                     .region = given.region,
                                     .profile = given.profile,
                                     .ca_file = given.ca_file,
                                     .cache = given.cache,
                                     .cache_nodes = given.cache_nodes,
                                     .anonymous = given.anonymous != 0,
                                     .connections = given.connections,
                                     .stall_ns = given.stall_ns,
                                     .cache_bytes = given.cache_bytes};
    return sl_remote_settings_choose(&choice, error);
}

sluice_status sluice_remote_configure(const sluice_remote_config *config, sluice_error *error)
{
    if (!sl_api_can_tell(error)) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    sl_error_clear(&reason);
    const sluice_status status = remote_configure(config, &reason);
    return status < 0 ? sl_api_fail(error, &reason) : SLUICE_OK;
}

/* ---- statistics ---- */

static void add_host(sluice_remote_stats *sum, const sl_host_stats *host, uint64_t *most_bytes)
{
    sum->requests += host->requests;
    sum->lists += host->lists;
    sum->bytes += host->bytes;
    sum->retried += host->retried;
    sum->hedged += host->hedged;
    sum->hedges_won += host->hedges_won;
    sum->busy += host->busy;
    sum->failed += host->failed;
    sum->stalled += host->stalled;
    if (sum->host[0] == '\0' || host->bytes > *most_bytes) {
        *most_bytes = host->bytes;
        snprintf(sum->host, sizeof(sum->host), "%s", host->host);
        sum->p50_ns = host->p50_ns;
        sum->p99_ns = host->p99_ns;
        sum->window = host->window;
    }
}

static sluice_status add_hosts(sluice_remote_stats *sum)
{
    const uint32_t count = sl_hosts_get_stats(NULL, 0);
    sl_host_stats *hosts = sl_malloc((count + 1) * sizeof(*hosts));
    if (hosts == NULL) {
        return SLUICE_NOMEM;
    }
    uint64_t most_bytes = 0;
    sum->hosts = sl_min_u32(sl_hosts_get_stats(hosts, count), count);
    for (uint32_t i = 0; i < sum->hosts; i++) {
        add_host(sum, &hosts[i], &most_bytes);
    }
    sl_free(hosts);
    return SLUICE_OK;
}

static void add_cache(sluice_remote_stats *sum)
{
    const sl_remote_settings *settings = NULL;
    sl_chunk_cache_stats cache;
    if (sl_remote_settings_get(&settings, NULL) != SLUICE_OK) {
        return; /* reading also fails then, and reports the reason */
    }
    sl_remote_settings_cache_stats(settings, &cache);
    sl_remote_settings_release(settings);
    sum->cache_hits = cache.hits;
    sum->cache_misses = cache.misses;
    sum->cache_hit_bytes = cache.hit_bytes;
    sum->cache_miss_bytes = cache.miss_bytes;
    sum->cache_kept_bytes = cache.kept_bytes;
    sum->cache_most_bytes = cache.most_bytes;
    sum->cache_damaged = cache.damaged;
    snprintf(sum->cache_off, sizeof(sum->cache_off), "%s", cache.off);
}

sluice_status sluice_remote_get_stats(sluice_remote_stats *stats)
{
    if (stats == NULL || !sl_api_is_tagged(stats)) {
        return SLUICE_INVALID;
    }
    sluice_remote_stats full;
    memset(&full, 0, sizeof(full));
    if (add_hosts(&full) != SLUICE_OK) {
        return SLUICE_NOMEM;
    }
    add_cache(&full);
    return sl_api_write_struct(stats, &full, sizeof(full));
}
