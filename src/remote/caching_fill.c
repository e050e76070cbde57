/* SPDX-License-Identifier: Apache-2.0 */
/* caching_fill: keeps all chunks of objects, by a caching whose plan has no positions. */
#include "caching_state.h"
#include "error.h"
#include "memory.h"
#include "stop.h"

#define STAGE "cache"

static sl_chunk_plan *plan_of_all(const sl_caching *caching)
{
    sl_chunk_plan *plan = sl_calloc(caching->bases[caching->objects.count] + 1, sizeof(*plan));
    for (uint32_t i = 0; plan != NULL && i < caching->objects.count; i++) {
        for (uint64_t number = caching->bases[i]; number < caching->bases[i + 1]; number++) {
            plan[number] = (sl_chunk_plan){.object = i,
                                           .chunk = (uint32_t)(number - caching->bases[i]),
                                           .first = number,
                                           .last = number,
                                           .again = number};
        }
    }
    return plan;
}

/* Waits until all chunks are settled. */
static sluice_status wait_until_filled(sl_caching *caching, const sl_caching_watch *watch,
                                       sluice_error *error)
{
    const sl_caching_objects *objects = &caching->objects;
    sluice_status status = SLUICE_OK;
    sl_caching_stats stats = {0};
    uint64_t all_bytes = 0;
    for (uint32_t i = 0; i < objects->count; i++) {
        all_bytes += objects->bytes(objects->ctx, i);
    }
    do {
        sl_lock(&caching->mutex);
        const uint64_t before = stats.here + stats.fetched + stats.left;
        stats = caching->stats;
        if (stats.here + stats.fetched + stats.left == before && before < caching->used) {
            (void)sl_stop_wait(&caching->settled, &caching->mutex);
            stats = caching->stats;
        }
        sl_unlock(&caching->mutex);
        if (watch->progress != NULL) {
            watch->progress(watch->ctx, stats.here_bytes + stats.fetched_bytes + stats.left_bytes,
                            all_bytes);
        }
        status = sl_stop_check(STAGE, error);
    } while (status == SLUICE_OK && stats.here + stats.fetched + stats.left < stats.chunks);
    return status;
}

sluice_status sl_caching_fill(sl_chunk_cache *cache, const sl_caching_objects *objects,
                              const sl_caching_watch *watch, sl_caching_stats *stats,
                              sluice_error *error)
{
    sl_caching *caching;
    *stats = (sl_caching_stats){0};
    sluice_status status = sl_caching_open(&caching, cache, objects,
                                           sl_caching_threads(sl_caching_largest(objects)), error);
    if (caching == NULL) {
        return status;
    }
    caching->fills = true;
    sl_chunk_plan *plan = plan_of_all(caching);
    status =
        plan != NULL
            ? sl_caching_begin(caching,
                               &(sl_chunk_epoch){.chunks = plan,
                                                 .count = caching->bases[caching->objects.count]},
                               error)
            : sl_no_memory(error, STAGE, "for the chunks of all objects");
    sl_free(plan);
    if (status == SLUICE_OK) {
        status = wait_until_filled(caching, watch, error);
        sl_caching_get_stats(caching, stats);
    }
    sl_caching_close(caching);
    return status;
}
