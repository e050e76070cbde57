/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing: opens packings, and keeps recent plans.
 *
 * `mutex` guards the window of each slot, and the plans of slots with a window. The one thread that
 * makes a plan takes `planning` before `mutex`. It plans into a slot that has no window meanwhile,
 * and without `mutex`. So a row of a kept window never waits for planning.
 */
#include "packing.h"

#include "error.h"
#include "fnv.h"
#include "memory.h"
#include "minmax.h"
#include "packing_check.h"
#include "packing_count.h"
#include "packing_parts.h"
#include "packing_plan.h"
#include "philox.h"
#include "search.h"
#include "thread.h"

#include <assert.h>

#define STAGE "plan"
/* Separates the permutation of documents from every other use of Philox. */
#define DOCUMENTS_DOMAIN 0x7061636B65640000U
#define NO_WINDOW        UINT64_MAX

struct sl_packing_cache {
    pthread_mutex_t planning, mutex;
    sl_packing_planner planner; /* guarded by `planning` */
    uint64_t clock;             /* guarded by `mutex`, as are the slots */
    uint32_t count;
    /* Of each slot; stored separately, because all of them are searched for a row: */
    uint64_t windows[SL_PACKING_PLANS]; /* NO_WINDOW: none */
    uint64_t used[SL_PACKING_PLANS];    /* the clock when a row was last taken */
    sl_packing_plan plans[SL_PACKING_PLANS];
};

static void array_lengths(const void *ctx, const uint64_t *documents, uint32_t count,
                          uint64_t *lengths)
{
    const uint32_t *array = ctx;
    for (uint32_t i = 0; i < count; i++) {
        lengths[i] = array[documents[i]];
    }
}

sl_packing_lengths sl_packing_lengths_of_array(const uint32_t *array, uint64_t documents)
{
    return (sl_packing_lengths){.documents = documents, .of = array_lengths, .ctx = array};
}

/* ---- opening ---- */

static void set_windows(sl_packed_rows *own, const sl_packing_shape *shape,
                        const sl_packing_source *source)
{
    const uint64_t entries = source->lengths.documents / shape->unit;
    const uint32_t each = shape->window / shape->unit;
    own->windows = (sl_packing_windows){.shape = *shape,
                                        .lengths = source->lengths,
                                        .shuffled = source->shuffled,
                                        .entries = entries,
                                        .each = each,
                                        .windows = (entries - 1) / each + 1};
    if (source->shuffled) {
        own->windows.order =
            sl_permutation_make(entries, sl_philox_u64(source->seed, 0, DOCUMENTS_DOMAIN));
    }
}

/* Returns the shape that plans need capacity for: with few documents, no more than these. */
static sl_packing_shape cached_shape(const sl_packing_windows *windows)
{
    sl_packing_shape shape = windows->shape;
    shape.window = (uint32_t)sl_min_u64(shape.window, windows->lengths.documents);
    return shape;
}

static sluice_status open_cache(sl_packed_rows *own, sluice_error *error)
{
    const sl_packing_shape shape = cached_shape(&own->windows);
    sl_packing_cache *cache = sl_calloc(1, sizeof(*cache));
    if (cache == NULL) {
        return sl_no_memory(error, STAGE, "for packing");
    }
    own->cache = cache;
    sl_mutex_init(&cache->planning);
    sl_mutex_init(&cache->mutex);
    sluice_status status = sl_packing_planner_open(&cache->planner, &shape, error);
    const uint32_t count = (uint32_t)sl_min_u64(SL_PACKING_PLANS, own->windows.windows);
    while (status == SLUICE_OK && cache->count < count) {
        cache->windows[cache->count] = NO_WINDOW;
        status = sl_packing_plan_open(&cache->plans[cache->count++], &shape, error);
    }
    return status;
}

/* Hashes everything besides the dataset that rows depend on. */
static uint64_t hash_shape(const sl_packing_shape *shape, const sl_packing_source *source)
{
    const uint64_t parts[] = {shape->length,
                              shape->max_documents,
                              shape->align,
                              shape->unit,
                              shape->window,
                              (uint64_t)shape->cut,
                              source->shuffled,
                              source->shuffled ? source->seed : 0,
                              source->lengths.documents};
    uint64_t hash = sl_fnv1a(SL_FNV1A_BEGIN, DOCUMENTS_DOMAIN);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        hash = sl_fnv1a(hash, parts[i]);
    }
    return hash;
}

static void packing_set_facts(sl_packed_rows *own, const sl_packing_count *count,
                              const sl_packing_source *source)
{
    sl_packing_facts *facts = &own->facts;
    *facts = count->facts;
    facts->documents = source->lengths.documents;
    facts->windows = own->windows.windows;
    facts->align_padding = count->aligned - facts->tokens;
    facts->end_padding = facts->rows * own->windows.shape.length - count->aligned;
    facts->hash = sl_fnv1a(hash_shape(&own->windows.shape, source), facts->hash) | 1;
}

static sluice_status open_packing(sl_packed_rows *own, const sl_packing_source *source,
                                  sluice_error *error)
{
    sl_packing_count count;
    own->before = sl_calloc(own->windows.windows + 1, sizeof(*own->before));
    if (own->before == NULL) {
        return sl_no_memory(error, STAGE, "for packing %llu documents",
                            (unsigned long long)source->lengths.documents);
    }
    sluice_status status = sl_packing_count_rows(&own->windows, own->before, &count, error);
    if (status == SLUICE_OK) {
        status = sl_packing_check_lengths(&own->windows.shape, &count, error);
    }
    if (status == SLUICE_OK) {
        packing_set_facts(own, &count, source);
        status = open_cache(own, error);
    }
    return status == SLUICE_OK ? sl_packed_epochs_open(own, error) : status;
}

sluice_status sl_packing_open(sl_packed_rows **packing, const sl_packing_shape *shape,
                              const sl_packing_source *source, sluice_error *error)
{
    *packing = NULL;
    sluice_status status = sl_packing_check_shape(shape, source->lengths.documents, error);
    if (status != SLUICE_OK) {
        return status;
    }
    sl_packed_rows *own = sl_calloc(1, sizeof(*own));
    if (own == NULL) {
        return sl_no_memory(error, STAGE, "for packing");
    }
    set_windows(own, shape, source);
    status = open_packing(own, source, error);
    if (status != SLUICE_OK) {
        sl_packing_close(own);
        return status;
    }
    *packing = own;
    return SLUICE_OK;
}

static void close_cache(sl_packing_cache *cache)
{
    for (uint32_t i = 0; i < cache->count; i++) {
        sl_packing_plan_close(&cache->plans[i]);
    }
    sl_packing_planner_close(&cache->planner);
    sl_mutex_destroy(&cache->mutex);
    sl_mutex_destroy(&cache->planning);
    sl_free(cache);
}

void sl_packing_close(sl_packed_rows *packing)
{
    if (packing == NULL) {
        return;
    }
    if (packing->cache != NULL) {
        close_cache(packing->cache);
    }
    sl_packed_epochs_close(packing);
    sl_free(packing->before);
    sl_free(packing);
}

const sl_packing_shape *sl_packing_shape_of(const sl_packed_rows *packing)
{
    return &packing->windows.shape;
}

const sl_packing_facts *sl_packing_facts_of(const sl_packed_rows *packing)
{
    return &packing->facts;
}

uint64_t sl_packing_bytes(const sl_packed_rows *packing)
{
    const sl_packing_shape shape = cached_shape(&packing->windows);
    return (packing->windows.windows + 1) * sizeof(*packing->before) +
           packing->cache->count * sl_packing_plan_bytes(&shape) +
           sl_packing_planner_bytes(&shape) + sl_packed_epochs_bytes(packing);
}

/* ---- rows ---- */

/* Under `mutex`. Finds a window's plan, which counts as a use. NULL: the window is not kept. */
static const sl_packing_plan *kept_plan(sl_packing_cache *cache, uint64_t window)
{
    for (uint32_t i = 0; i < cache->count; i++) {
        if (cache->windows[i] == window) {
            cache->used[i] = ++cache->clock;
            return &cache->plans[i];
        }
    }
    return NULL;
}

/* Under `mutex`. Returns the least recently used slot; unused slots come first. */
static uint32_t oldest_slot(const sl_packing_cache *cache)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < cache->count; i++) {
        oldest = cache->used[i] < cache->used[oldest] ? i : oldest;
    }
    return oldest;
}

/* Under `planning` and `mutex`, which it releases while it plans. */
static const sl_packing_plan *plan_window(const sl_packed_rows *packing, uint64_t window)
{
    sl_packing_cache *cache = packing->cache;
    const uint32_t slot = oldest_slot(cache);
    cache->windows[slot] = NO_WINDOW;
    sl_unlock(&cache->mutex);
    sl_packing_plan_make(&cache->plans[slot], &cache->planner, &packing->windows, window, NULL);
    sl_lock(&cache->mutex);
    cache->windows[slot] = window;
    cache->used[slot] = ++cache->clock;
    return &cache->plans[slot];
}

/* Returns with `mutex` locked, which keeps the plan. */
static const sl_packing_plan *lock_plan(const sl_packed_rows *packing, uint64_t window)
{
    sl_packing_cache *cache = packing->cache;
    sl_lock(&cache->mutex);
    const sl_packing_plan *plan = kept_plan(cache, window);
    if (plan != NULL) {
        return plan;
    }
    sl_unlock(&cache->mutex);
    sl_lock(&cache->planning);
    sl_lock(&cache->mutex);
    plan = kept_plan(cache, window); /* another thread planned it meanwhile */
    plan = plan != NULL ? plan : plan_window(packing, window);
    sl_unlock(&cache->planning);
    return plan;
}

uint32_t sl_packing_pieces(const sl_packed_rows *packing, uint64_t row, uint32_t first,
                           uint32_t count, sl_packed_piece *pieces)
{
    assert(row < packing->facts.rows);
    const uint64_t window = sl_last_at_or_before(packing->before, sizeof(*packing->before),
                                                 packing->windows.windows, row);
    const sl_packing_plan *plan = lock_plan(packing, window);
    const uint32_t found = sl_packing_plan_pieces(
        plan, &packing->windows.shape, row - packing->before[window], first, count, pieces);
    sl_unlock(&packing->cache->mutex);
    return found;
}
