/* SPDX-License-Identifier: Apache-2.0 */
/* cache_use: the bytes that the cache of remote data served in a run, compared with the possible
 * ones. Main thread. */
#ifndef TOOL_BENCH_CACHE_USE_H
#define TOOL_BENCH_CACHE_USE_H

#include "json.h"
#include "remote_use.h"

#include <sluice/loader.h>

struct cache_use {
    sluice_loader_cache cache; /* of the run's last epoch; chunks 0: no cache was in use */
    double hit_rate;           /* fraction of the run's bytes that came from the cache */
    uint64_t kept_bytes, most_bytes;
    char off[sizeof(((sluice_remote_stats *)0)->cache_off)]; /* why nothing more is kept; "" */
};

/* Examines the run of a loader that is still open. Simulates an epoch of `samples` if that takes
 * at most seconds. */
void cache_use_look(struct cache_use *use, sluice_loader *loader, uint64_t samples,
                    const struct remote_use *remote);

/* Prints the line "cache", if there is a cache. */
void cache_use_print(const struct cache_use *use);
/* Writes the member "cache": an object, or null without a cache. */
void cache_use_write(const struct cache_use *use, struct json *json);

#endif
