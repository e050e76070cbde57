/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache_plan: a thread that makes the chunk plan of the requested epoch.
 *
 * Each request has a serial number. The thread drops its work when there is a newer one. The uses
 * of the next epoch are kept, since that epoch is usually requested next.
 */
#include "cache_plan.h"

#include "cache_uses.h"
#include "chunk_waits.h"
#include "error.h"
#include "kept_objects.h"
#include "memory.h"
#include "minmax.h"
#include "thread.h"

#include <sluice/ranks.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define STAGE "cache"
/* The thread's nice value: loading comes first. */
#define NICE 10
/* No epoch: nothing is planned yet. */
#define NO_EPOCH UINT64_MAX

/* Uses of the chunks in an epoch. */
typedef struct epoch_uses {
    uint64_t epoch, start; /* NO_EPOCH: it holds none */
    uint64_t *first, *last;
    uint32_t *bytes; /* that this rank reads of each chunk */
} epoch_uses;

struct sl_cache_plan {
    /* immutable after open */
    const sl_feed *feed;
    sl_kept_objects *kept;
    sl_caching *caching;
    sl_chunk_waits *waits;
    sl_budget *budget;
    uint64_t charged;
    uint32_t objects, first_rank, ranks;
    uint64_t chunks;

    /* the feed's, under its mutex */
    uint64_t asked_epoch;

    /* the thread's */
    epoch_uses uses[2]; /* of the epoch, and of the next one */

    _Atomic uint64_t serial; /* of the latest request; written under mutex */
    _Atomic uint64_t active; /* the epoch of caching's present plan */
    _Atomic uint64_t asked;  /* the latest row of the latest request; written by the feed */
    pthread_mutex_t mutex;
    pthread_cond_t wanted;
    /* under mutex */
    uint64_t epoch, start; /* of the request */
    bool stopping;
    sl_thread thread;
};

/* ---- the uses of an epoch ---- */

typedef struct object_uses {
    uint64_t *first, *last; /* of each object as a whole */
} object_uses;

typedef struct use_marks {
    epoch_uses *chunks;
    object_uses objects;
    bool own; /* rank */
} use_marks;

static void mark(uint64_t *first, uint64_t *last, uint64_t position)
{
    *first = position < *first ? position : *first;
    *last = *last == SL_CHUNK_NEVER || position > *last ? position : *last;
}

static void mark_chunk(void *ctx, uint64_t number, uint64_t position, uint32_t bytes)
{
    const use_marks *marks = ctx;
    uint32_t *sum = &marks->chunks->bytes[number];
    *sum += marks->own ? sl_min_u32(bytes, UINT32_MAX - *sum) : 0;
    mark(&marks->chunks->first[number], &marks->chunks->last[number], position);
}

static void mark_object(void *ctx, uint32_t object, uint64_t position)
{
    const use_marks *marks = ctx;
    mark(&marks->objects.first[object], &marks->objects.last[object], position);
}

static void forget_uses(uint64_t *first, uint64_t *last, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        first[i] = SL_CHUNK_NEVER;
        last[i] = SL_CHUNK_NEVER;
    }
}

/* Objects as a whole use all their chunks. */
static void spread_objects(const sl_cache_plan *plan, const use_marks *marks)
{
    for (uint32_t object = 0; object < plan->objects; object++) {
        const uint64_t end = sl_caching_first_chunk(plan->caching, object + 1);
        const bool used = marks->objects.first[object] != SL_CHUNK_NEVER;
        for (uint64_t i = sl_caching_first_chunk(plan->caching, object); used && i < end; i++) {
            mark(&marks->chunks->first[i], &marks->chunks->last[i], marks->objects.first[object]);
            mark(&marks->chunks->first[i], &marks->chunks->last[i], marks->objects.last[object]);
            marks->chunks->bytes[i] = SL_CHUNK_BYTES;
        }
    }
}

static sluice_status walk_ranks(sl_cache_plan *plan, use_marks *marks, uint64_t serial,
                                sluice_error *error)
{
    const sl_cache_visitor visitor = {.ctx = marks, .chunk = mark_chunk, .object = mark_object};
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < plan->ranks && status == SLUICE_OK; i++) {
        const sl_cache_epoch of = {.feed = plan->feed,
                                   .caching = plan->caching,
                                   .epoch = marks->chunks->epoch,
                                   .start = marks->chunks->start,
                                   .rank = plan->first_rank + i,
                                   .current = &plan->serial,
                                   .serial = serial};
        marks->own = of.rank == plan->feed->config->options.rank;
        status = sl_cache_walk(&of, &visitor, error);
    }
    return status;
}

/* Fills `uses` for an epoch, unless it has them already. */
static sluice_status find_uses(sl_cache_plan *plan, epoch_uses *uses, uint64_t serial,
                               const epoch_uses *wanted, sluice_error *error)
{
    if (uses->epoch == wanted->epoch && uses->start == wanted->start) {
        return SLUICE_OK;
    }
    use_marks marks = {.chunks = uses,
                       .objects = {sl_calloc((size_t)plan->objects + 1, sizeof(uint64_t)),
                                   sl_calloc((size_t)plan->objects + 1, sizeof(uint64_t))}};
    sluice_status status = SLUICE_OK;
    if (marks.objects.first == NULL || marks.objects.last == NULL) {
        status = sl_no_memory(error, STAGE, "for the uses of %u objects", plan->objects);
    } else {
        uses->epoch = wanted->epoch;
        uses->start = wanted->start;
        forget_uses(uses->first, uses->last, plan->chunks);
        memset(uses->bytes, 0, plan->chunks * sizeof(*uses->bytes));
        forget_uses(marks.objects.first, marks.objects.last, plan->objects);
        status = walk_ranks(plan, &marks, serial, error);
        spread_objects(plan, &marks);
    }
    if (status != SLUICE_OK) {
        uses->epoch = NO_EPOCH;
    }
    sl_free(marks.objects.first);
    sl_free(marks.objects.last);
    return status;
}

/* ---- the plan of an epoch ---- */

static int compare_chunks(const void *a, const void *b)
{
    const sl_chunk_plan *one = a;
    const sl_chunk_plan *two = b;
    if (one->first != two->first) {
        return one->first < two->first ? -1 : 1;
    }
    if (one->object != two->object) {
        return one->object < two->object ? -1 : 1;
    }
    return one->chunk < two->chunk ? -1 : one->chunk > two->chunk;
}

/* Activates the plan. Rows were requested meanwhile, and their reads may be waiting for chunks, so
 * that no more rows are requested. */
static void activate(sl_cache_plan *plan, uint64_t epoch, uint64_t serial)
{
    /* Releases the plan to sl_cache_plan_advance; acquires what that has released. */
    atomic_store_explicit(&plan->active, epoch, memory_order_release);
    const uint64_t row = atomic_load_explicit(&plan->asked, memory_order_acquire);
    /* Acquires, pairs with request: a row of a later request was stored after its serial number. */
    if (atomic_load_explicit(&plan->serial, memory_order_acquire) == serial) {
        sl_caching_advance(plan->caching, row);
    }
}

/* Begins the epoch, or continues with it. `next` NULL: it is not known, and all chunks are assumed
 * to be used in it. */
static sluice_status begin_epoch(const sl_cache_plan *plan, const epoch_uses *now,
                                 const epoch_uses *next, bool goes_on, sluice_error *error)
{
    sl_chunk_plan *chunks = sl_calloc(plan->chunks + 1, sizeof(*chunks));
    if (chunks == NULL) {
        return sl_no_memory(error, STAGE, "for the plan of %llu chunks",
                            (unsigned long long)plan->chunks);
    }
    for (uint32_t object = 0; object < plan->objects; object++) {
        const uint64_t base = sl_caching_first_chunk(plan->caching, object);
        const uint64_t end = sl_caching_first_chunk(plan->caching, object + 1);
        for (uint64_t i = base; i < end; i++) {
            chunks[i] = (sl_chunk_plan){.object = object,
                                        .chunk = (uint32_t)(i - base),
                                        .first = now->first[i],
                                        .last = now->last[i],
                                        .bytes = now->bytes[i],
                                        .again = next != NULL ? next->first[i] : 0};
        }
    }
    qsort(chunks, plan->chunks, sizeof(*chunks), compare_chunks);
    const sluice_status status = sl_caching_begin(
        plan->caching,
        &(sl_chunk_epoch){.chunks = chunks, .count = plan->chunks, .goes_on = goes_on}, error);
    sl_free(chunks);
    return status;
}

/* Returns whether an epoch of that number exists: positions of a mix are counted over all
 * epochs. */
static bool has_epoch(const sl_cache_plan *plan, uint64_t epoch)
{
    const sl_mix *mix = plan->feed->dataset->mix;
    return epoch != NO_EPOCH && (mix == NULL || epoch < sl_mix_epochs(mix));
}

static void swap_uses(sl_cache_plan *plan)
{
    const epoch_uses first = plan->uses[0];
    plan->uses[0] = plan->uses[1];
    plan->uses[1] = first;
}

/* Ends planning, unless another plan was requested meanwhile. */
static void end_planning(sl_cache_plan *plan, uint64_t serial)
{
    sl_lock(&plan->mutex);
    /* Relaxed: written under the mutex. */
    if (atomic_load_explicit(&plan->serial, memory_order_relaxed) == serial) {
        sl_chunk_waits_plan(plan->waits, false);
    }
    sl_unlock(&plan->mutex);
}

static sluice_status make_plan(sl_cache_plan *plan, const epoch_uses *wanted, uint64_t serial,
                               sluice_error *error)
{
    const epoch_uses next = {.epoch = wanted->epoch + 1};
    if (plan->uses[1].epoch == wanted->epoch && plan->uses[1].start == wanted->start) {
        swap_uses(plan);
    }
    sluice_status status = find_uses(plan, &plan->uses[0], serial, wanted, error);
    const bool known = plan->uses[1].epoch == next.epoch;
    if (status == SLUICE_OK && !known) { /* so that fetching begins before the next one is known */
        status = begin_epoch(plan, &plan->uses[0], NULL, false, error);
        activate(plan, wanted->epoch, serial);
        end_planning(plan, serial);
    }
    if (status == SLUICE_OK && has_epoch(plan, next.epoch)) {
        status = find_uses(plan, &plan->uses[1], serial, &next, error);
        if (status == SLUICE_OK) {
            status = begin_epoch(plan, &plan->uses[0], &plan->uses[1], !known, error);
            activate(plan, wanted->epoch, serial);
        }
    }
    return status;
}

/* ---- the thread ---- */

static void run_plan(void *argument)
{
    sl_cache_plan *plan = argument;
    uint64_t done = 0;
    (void)setpriority(PRIO_PROCESS, 0, NICE); /* of this thread alone */
    for (;;) {
        sluice_error error;
        sl_error_clear(&error);
        sl_lock(&plan->mutex);
        /* relaxed: written under the mutex */
        while (!plan->stopping &&
               atomic_load_explicit(&plan->serial, memory_order_relaxed) == done) {
            sl_cond_wait(&plan->wanted, &plan->mutex);
        }
        const bool stopping = plan->stopping;
        const epoch_uses wanted = {.epoch = plan->epoch, .start = plan->start};
        done = atomic_load_explicit(&plan->serial, memory_order_relaxed);
        sl_unlock(&plan->mutex);
        if (stopping) {
            return;
        }
        /* Without memory for a plan, reading continues without one. */
        (void)make_plan(plan, &wanted, done, &error);
        end_planning(plan, done);
    }
}

static void request(sl_cache_plan *plan, uint64_t epoch, uint64_t start)
{
    sl_lock(&plan->mutex);
    plan->epoch = epoch;
    plan->start = start;
    /* Released before `asked`: activate reads them in the other order. */
    atomic_fetch_add_explicit(&plan->serial, 1, memory_order_release);
    atomic_store_explicit(&plan->asked, 0, memory_order_release);
    sl_chunk_waits_plan(plan->waits, true);
    sl_cond_signal(&plan->wanted);
    sl_unlock(&plan->mutex);
}

void sl_cache_plan_enter(sl_cache_plan *plan, uint64_t epoch, uint64_t start)
{
    /* Relaxed: the feed's own thread reads it next. */
    atomic_store_explicit(&plan->active, NO_EPOCH, memory_order_relaxed);
    plan->asked_epoch = epoch;
    request(plan, epoch, start);
}

void sl_cache_plan_advance(sl_cache_plan *plan, uint64_t epoch, uint64_t row)
{
    if (epoch != plan->asked_epoch) {
        sl_cache_plan_enter(plan, epoch, 0);
    }
    /* Releases the row to activate, behind the serial number of its request. */
    atomic_store_explicit(&plan->asked, row, memory_order_release);
    /* Acquires, pairs with activate: the position belongs to the plan that caching has. */
    if (atomic_load_explicit(&plan->active, memory_order_acquire) == epoch) {
        sl_caching_advance(plan->caching, row);
    }
}

sl_chunk_waits *sl_cache_plan_waits(const sl_cache_plan *plan)
{
    return plan != NULL ? plan->waits : NULL;
}

void sl_cache_plan_get_stats(sl_cache_plan *plan, sl_caching_stats *stats)
{
    sl_caching_get_stats(plan->caching, stats);
}

/* ---- opening ---- */

static void cache_find_ranks(sl_cache_plan *plan)
{
    const sluice_loader_options *o = &plan->feed->config->options;
    sluice_ranks ranks = SLUICE_RANKS_INIT;
    sluice_error error = {.struct_size = sizeof(error)};
    plan->first_rank = o->rank;
    plan->ranks = 1;
    if (sluice_ranks_find(&ranks, &error) != SLUICE_OK || ranks.local_rank < 0 ||
        ranks.rank != o->rank || ranks.world_size != o->world_size) {
        return;
    }
    const uint32_t local = (uint32_t)ranks.local_rank;
    if (local < ranks.local_size && local <= o->rank &&
        o->world_size - (o->rank - local) >= ranks.local_size) {
        plan->first_rank = o->rank - local;
        plan->ranks = ranks.local_size;
    }
}

/* Takes the memory of the tables and of as many threads as fit. Returns their number; 0: not even
 * one fits. */
static uint32_t charge(sl_cache_plan *plan, const sl_caching_objects *objects)
{
    uint64_t chunks = 0;
    for (uint32_t i = 0; i < objects->count; i++) {
        chunks += objects->bytes(objects->ctx, i) / SL_CHUNK_BYTES + 1;
    }
    const uint64_t tables = chunks * (7 * sizeof(uint64_t) + 3 * sizeof(sl_chunk_plan)) +
                            (uint64_t)objects->count * 6 * sizeof(uint64_t);
    const uint64_t largest = sl_caching_largest(objects);
    for (uint32_t threads = sl_caching_threads(largest); threads > 0; threads /= 2) {
        plan->charged = tables + threads * largest;
        if (sl_budget_take(plan->budget, plan->charged)) {
            return threads;
        }
    }
    plan->charged = 0;
    return 0;
}

static sluice_status cache_open_tables(sl_cache_plan *plan, sluice_error *error)
{
    plan->chunks = sl_caching_first_chunk(plan->caching, plan->objects);
    for (int i = 0; i < 2; i++) {
        epoch_uses *uses = &plan->uses[i];
        uses->epoch = NO_EPOCH;
        uses->first = sl_calloc(plan->chunks + 1, sizeof(uint64_t));
        uses->last = sl_calloc(plan->chunks + 1, sizeof(uint64_t));
        uses->bytes = sl_calloc(plan->chunks + 1, sizeof(*uses->bytes));
        if (uses->first == NULL || uses->last == NULL || uses->bytes == NULL) {
            return sl_no_memory(error, STAGE, "for the uses of %llu chunks",
                                (unsigned long long)plan->chunks);
        }
    }
    return SLUICE_OK;
}

static sluice_status cache_open_parts(sl_cache_plan *plan, sluice_error *error)
{
    const sl_caching_objects objects = sl_kept_objects_of(plan->kept);
    const uint32_t threads = charge(plan, &objects);
    plan->objects = objects.count;
    if (threads == 0) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE,
                            "the cache of remote data needs %llu bytes for each chunk in transfer: "
                            "raise " SL_OPTION("memory_bytes") ", or use no cache",
                            (unsigned long long)SL_CHUNK_BYTES);
    }
    sluice_status status = sl_caching_open(&plan->caching, sl_kept_objects_cache(plan->kept),
                                           &objects, threads, error);
    if (status == SLUICE_OK) {
        plan->waits = sl_chunk_waits_open(plan->caching);
        status = plan->waits != NULL ? cache_open_tables(plan, error)
                                     : sl_no_memory(error, STAGE, "for the plan of the cache");
    }
    if (status == SLUICE_OK) {
        status = sl_thread_start(&plan->thread, "sl-cache-plan", run_plan, plan, error);
    }
    return status;
}

sluice_status sl_cache_plan_open(sl_cache_plan **plan, const sl_feed *feed, sl_budget *budget,
                                 sluice_error *error)
{
    sl_kept_objects *kept;
    *plan = NULL;
    sluice_status status = sl_kept_objects_open(&kept, feed->dataset->objects, error);
    if (status != SLUICE_OK || kept == NULL) {
        return status;
    }
    sl_cache_plan *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        sl_kept_objects_close(kept);
        return sl_no_memory(error, STAGE, "for the plan of the cache");
    }
    made->feed = feed;
    made->kept = kept;
    made->budget = budget;
    atomic_init(&made->active, NO_EPOCH);
    sl_mutex_init(&made->mutex);
    sl_cond_init(&made->wanted);
    cache_find_ranks(made);
    status = cache_open_parts(made, error);
    if (status != SLUICE_OK) {
        sl_cache_plan_close(made);
        return status;
    }
    *plan = made;
    return SLUICE_OK;
}

void sl_cache_plan_close(sl_cache_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    sl_lock(&plan->mutex);
    plan->stopping = true;
    /* Relaxed: under the mutex. */
    atomic_fetch_add_explicit(&plan->serial, 1, memory_order_relaxed);
    sl_cond_signal(&plan->wanted);
    sl_unlock(&plan->mutex);
    sl_thread_join(&plan->thread);
    sl_chunk_waits_close(plan->waits);
    sl_caching_close(plan->caching);
    for (int i = 0; i < 2; i++) {
        sl_free(plan->uses[i].first);
        sl_free(plan->uses[i].last);
        sl_free(plan->uses[i].bytes);
    }
    sl_kept_objects_close(plan->kept);
    sl_budget_give(plan->budget, plan->charged);
    sl_cond_destroy(&plan->wanted);
    sl_mutex_destroy(&plan->mutex);
    sl_free(plan);
}

/* ---- simulation ---- */

/* The chunks of an epoch in the order of reading; equal neighbours are one use. */
typedef struct use_list {
    uint32_t *chunks, *bytes;
    uint64_t count, chunk_capacity, byte_capacity;
    const sl_cache_plan *plan;
    bool is_short; /* memory is short */
} use_list;

static void add_use(void *ctx, uint64_t number, uint64_t position, uint32_t bytes)
{
    use_list *list = ctx;
    (void)position;
    if (bytes == 0 || list->is_short) {
        return;
    }
    if (list->count > 0 && list->chunks[list->count - 1] == number &&
        list->bytes[list->count - 1] <= UINT32_MAX - bytes) {
        list->bytes[list->count - 1] += bytes;
        return;
    }
    list->is_short = !sl_grow((void **)&list->chunks, &list->chunk_capacity, list->count + 1,
                              sizeof(*list->chunks)) ||
                     !sl_grow((void **)&list->bytes, &list->byte_capacity, list->count + 1,
                              sizeof(*list->bytes));
    if (!list->is_short) {
        list->chunks[list->count] = (uint32_t)number;
        list->bytes[list->count++] = bytes;
    }
}

static void add_object_use(void *ctx, uint32_t object, uint64_t position)
{
    use_list *list = ctx;
    const sl_caching *caching = list->plan->caching;
    const sl_caching_objects objects = sl_kept_objects_of(list->plan->kept);
    const uint64_t bytes = objects.bytes(objects.ctx, object);
    const uint64_t base = sl_caching_first_chunk(caching, object);
    for (uint64_t at = 0; at < bytes; at += SL_CHUNK_BYTES) {
        const uint64_t left = bytes - at;
        add_use(list, base + at / SL_CHUNK_BYTES, position,
                (uint32_t)(left < SL_CHUNK_BYTES ? left : SL_CHUNK_BYTES));
    }
}

static sluice_status list_uses(use_list *list, uint64_t epoch, sluice_error *error)
{
    const sl_cache_plan *plan = list->plan;
    const sl_cache_visitor visitor = {.ctx = list, .chunk = add_use, .object = add_object_use};
    const sl_cache_epoch of = {.feed = plan->feed,
                               .caching = plan->caching,
                               .epoch = epoch,
                               .rank = plan->feed->config->options.rank};
    const sluice_status status = sl_cache_walk(&of, &visitor, error);
    return status == SLUICE_OK && list->is_short
               ? sl_no_memory(error, STAGE, "for the uses of chunks")
               : status;
}

/* Lists the sizes of all chunks; NULL: no memory. */
static uint32_t *list_chunk_bytes(const sl_cache_plan *plan)
{
    const sl_caching_objects objects = sl_kept_objects_of(plan->kept);
    uint32_t *bytes = sl_calloc(plan->chunks + 1, sizeof(*bytes));
    for (uint32_t object = 0; bytes != NULL && object < plan->objects; object++) {
        uint64_t left = objects.bytes(objects.ctx, object);
        for (uint64_t i = sl_caching_first_chunk(plan->caching, object); left > 0; i++) {
            bytes[i] = (uint32_t)(left < SL_CHUNK_BYTES ? left : SL_CHUNK_BYTES);
            left -= bytes[i];
        }
    }
    return bytes;
}

sluice_status sl_cache_plan_simulate(sl_cache_plan *plan, uint64_t epoch, sl_chunk_hits *hits,
                                     sluice_error *error)
{
    use_list lists[2] = {{.plan = plan}, {.plan = plan}};
    sl_chunk_cache_stats stats;
    *hits = (sl_chunk_hits){0};
    if (epoch == 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "no epoch comes before epoch 0");
    }
    sl_chunk_cache_get_stats(sl_kept_objects_cache(plan->kept), &stats);
    sluice_status status = list_uses(&lists[0], epoch - 1, error);
    if (status == SLUICE_OK) {
        status = list_uses(&lists[1], epoch, error);
    }
    uint32_t *chunk_bytes = list_chunk_bytes(plan);
    if (status == SLUICE_OK && chunk_bytes == NULL) {
        status = sl_no_memory(error, STAGE, "for the sizes of chunks");
    }
    if (status == SLUICE_OK) {
        const sl_chunk_uses uses = {.chunk_bytes = chunk_bytes,
                                    .first_epoch = lists[0].chunks,
                                    .second_epoch = lists[1].chunks,
                                    .bytes_second = lists[1].bytes,
                                    .first_count = lists[0].count,
                                    .second_count = lists[1].count,
                                    .chunks = (uint32_t)plan->chunks,
                                    .space = stats.most_bytes};
        status = sl_chunk_hits_find(&uses, hits, error);
    }
    sl_free(chunk_bytes);
    for (int i = 0; i < 2; i++) {
        sl_free(lists[i].chunks);
        sl_free(lists[i].bytes);
    }
    return status;
}
