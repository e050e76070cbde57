/* SPDX-License-Identifier: Apache-2.0 */
#include "cache_uses.h"

#include "error.h"
#include "level.h"
#include "memory.h"

#define STAGE "cache"

typedef struct cache_walk {
    const sl_cache_epoch *of;
    const sl_cache_visitor *visitor;
    const sl_dataset *dataset;
    sl_plan plan;
    uint32_t members; /* of a row, as the columns say */
    bool plain;       /* a row is one sample, which is in the epoch once */
    sl_level level;   /* with level_rows */
    uint32_t *places; /* of the step, then; else NULL */
} cache_walk;

/* ---- a sample ---- */

static uint64_t chunks_of(const cache_walk *walk, uint32_t object)
{
    const sl_caching *caching = walk->of->caching;
    return sl_caching_first_chunk(caching, object + 1) - sl_caching_first_chunk(caching, object);
}

static void visit_range(const cache_walk *walk, const sl_place *place, uint64_t position)
{
    const uint64_t base = sl_caching_first_chunk(walk->of->caching, place->object);
    const uint64_t count = chunks_of(walk, place->object);
    uint64_t at = place->offset;
    uint64_t left = place->bytes;
    for (uint64_t chunk = at / SL_CHUNK_BYTES; left > 0 && chunk < count; chunk++) {
        const uint64_t in_chunk = (chunk + 1) * SL_CHUNK_BYTES - at;
        const uint64_t bytes = left < in_chunk ? left : in_chunk;
        walk->visitor->chunk(walk->visitor->ctx, base + chunk, position, (uint32_t)bytes);
        at += bytes;
        left -= bytes;
    }
}

/* Visits a sample of an object whose index is not known. */
static void visit_about(const cache_walk *walk, uint32_t object, uint64_t index, uint64_t position)
{
    const sl_dataset *dataset = walk->dataset;
    const sl_cache_visitor *visitor = walk->visitor;
    const uint64_t base = sl_caching_first_chunk(walk->of->caching, object);
    const uint64_t count = chunks_of(walk, object);
    uint64_t first = UINT64_MAX;
    uint64_t end = dataset->info.samples;
    if (count == 0) {
        return;
    }
    if (dataset->checks != NULL && dataset->checks->first_of_object != NULL) {
        first = dataset->checks->first_of_object(dataset, object);
        end = object + 1 < sl_objects_count(dataset->objects)
                  ? dataset->checks->first_of_object(dataset, object + 1)
                  : end;
    }
    if (index < first || index >= end) { /* also for datasets over others */
        visitor->object(visitor->ctx, object, position);
        return;
    }
    const double share = (double)(index - first) / (double)(end - first);
    const uint64_t about = (uint64_t)(share * (double)count);
    const uint64_t bytes = sl_objects_bytes(dataset->objects, object) / (end - first);
    for (uint64_t chunk = about > 0 ? about - 1 : 0; chunk <= about + 1 && chunk < count; chunk++) {
        const bool likely = chunk == about && bytes <= SL_CHUNK_BYTES;
        visitor->chunk(visitor->ctx, base + chunk, position, likely ? (uint32_t)bytes : 0);
    }
}

static void visit_located(const cache_walk *walk, const sl_sample *sample, uint64_t position)
{
    const sl_dataset *dataset = walk->dataset;
    if (chunks_of(walk, sample->place.object) == 0) {
        return;
    }
    const bool packed = sl_objects_packed(dataset->objects, sample->place.object).packing !=
                        SL_PACKING_NONE; /* the place is in the unpacked content */
    if (sample->place.bytes == 0 || packed) {
        walk->visitor->object(walk->visitor->ctx, sample->place.object, position);
        return;
    }
    if (sample->pieces == 0) {
        visit_range(walk, &sample->place, position);
        return;
    }
    for (uint32_t i = 0; i < sample->pieces; i++) {
        const sl_piece piece = dataset->ops->piece(dataset, sample, i);
        visit_range(walk,
                    &(sl_place){.offset = piece.offset,
                                .bytes = piece.bytes,
                                .object = sample->place.object},
                    position);
    }
}

static void visit_sample(const cache_walk *walk, sl_visit visit, uint64_t index, uint64_t position)
{
    sl_sample sample;
    sl_place lookup;
    sl_refusal why;
    const sluice_status status =
        sl_dataset_locate_at(walk->dataset, visit, index, &sample, &lookup, &why);
    if (status == SLUICE_OK) {
        visit_located(walk, &sample, position);
    } else if (status == SLUICE_AGAIN) {
        visit_about(walk, lookup.object, index, position);
    }
}

/* ---- in the order of batches ---- */

static void visit_row(const cache_walk *walk, const sl_step *step, uint32_t row, uint64_t own,
                      uint64_t position)
{
    const sl_feed *feed = walk->of->feed;
    const sl_order *order = &walk->plan.order;
    if (walk->plain) {
        visit_sample(walk, (sl_visit){walk->of->epoch, 0}, own, position);
        return;
    }
    sl_row_want want = {.epoch = walk->of->epoch,
                        .position = sl_step_position(step, order, row),
                        .row = row,
                        .members = sl_feed_members(step, order, row, walk->members)};
    want.repetition = sl_feed_repetition(feed, order, want.position);
    for (want.member = 0; want.member < want.members; want.member++) {
        visit_sample(walk, sl_feed_visit(&want), sl_feed_member(feed, &want, own), position);
    }
}

static bool is_unwanted(const cache_walk *walk)
{
    const sl_cache_epoch *of = walk->of;
    /* relaxed: a walk that sees it late works a little longer */
    return of->current != NULL &&
           atomic_load_explicit(of->current, memory_order_relaxed) != of->serial;
}

static sluice_status walk_in_order(cache_walk *walk, sluice_error *error)
{
    enum { TOGETHER = 64 };
    uint64_t samples[TOGETHER];
    const uint64_t steps = sl_plan_steps(&walk->plan);
    const uint64_t entered = sl_plan_entered(&walk->plan);
    for (uint64_t number = 0; number < steps; number++) {
        sl_step step = sl_plan_step(&walk->plan, number);
        if (walk->places != NULL) {
            sl_level_step(&walk->level, &walk->plan, number, walk->places);
            step.places = walk->places;
        }
        if (is_unwanted(walk)) {
            return sl_error_set(error, SLUICE_CANCELED, STAGE, "another epoch is wanted");
        }
        for (uint32_t row = 0; row < step.filled; row++) {
            const uint32_t rest = step.filled - row;
            if (row % TOGETHER == 0) {
                sl_step_samples(&step, &walk->plan.order, row, rest < TOGETHER ? rest : TOGETHER,
                                samples);
            }
            visit_row(walk, &step, row, samples[row % TOGETHER],
                      (entered + number) * walk->plan.batch + row);
        }
    }
    return SLUICE_OK;
}

/* ---- in the order of reading ---- */

static sluice_status walk_by_shards(const cache_walk *walk, sluice_error *error)
{
    const sl_feed *feed = walk->of->feed;
    const sl_plan *plan = &walk->plan;
    sl_shard_walk shards = {0};
    sl_shard_next next;
    uint32_t count = 0;
    sluice_status status = sl_shard_walk_open(&shards, feed->shards, error);
    if (status != SLUICE_OK) {
        return status;
    }
    const sl_shard_epoch epoch = {
        .seed = feed->config->options.seed,
        .epoch = walk->of->epoch,
        .start = plan->start / plan->world,
        .dropped = sl_feed_dropped(&feed->config->options, feed->dataset->info.samples),
        .rank = plan->rank,
        .world = plan->world};
    sl_shard_walk_begin(&shards, &epoch);
    while (status == SLUICE_OK && sl_shard_walk_next(&shards, &next)) {
        visit_sample(walk, (sl_visit){walk->of->epoch, 0}, next.sample, next.position);
        if (++count % 1024 == 0 && is_unwanted(walk)) {
            status = sl_error_set(error, SLUICE_CANCELED, STAGE, "another epoch is wanted");
        }
    }
    sl_shard_walk_close(&shards);
    return status;
}

/* ---- both ---- */

static sluice_status cache_open_level(cache_walk *walk, sluice_error *error)
{
    const sl_plan *plan = &walk->plan;
    if (walk->of->feed->leveling.kept == 0) {
        return SLUICE_OK;
    }
    walk->places = sl_calloc(plan->batch, sizeof(*walk->places));
    if (walk->places == NULL) {
        return sl_no_memory(error, STAGE, "for the places of rows");
    }
    return sl_level_open(&walk->level, (uint64_t)plan->batch * plan->world, plan->world, error);
}

sluice_status sl_cache_walk(const sl_cache_epoch *of, const sl_cache_visitor *visitor,
                            sluice_error *error)
{
    const sl_feed *feed = of->feed;
    const sl_order_kind *kind = feed->order->kind;
    cache_walk walk = {.of = of, .visitor = visitor, .dataset = feed->dataset};
    walk.plan = sl_feed_plan(feed, of->epoch, of->start);
    walk.plan.rank = of->rank;
    walk.members = sl_columns_members(feed->columns, of->epoch);
    walk.plain = walk.members == 1 && kind->members == NULL && kind->repetition == NULL;
    if (feed->by_shards) {
        return walk_by_shards(&walk, error);
    }
    sluice_status status = cache_open_level(&walk, error);
    if (status == SLUICE_OK) {
        status = walk_in_order(&walk, error);
    }
    sl_level_close(&walk.level);
    sl_free(walk.places);
    return status;
}
