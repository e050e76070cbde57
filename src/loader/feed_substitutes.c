/* SPDX-License-Identifier: Apache-2.0 */
/* feed_substitutes: chooses the substitute of a bad sample. Pure functions of the loader's options
 * and of the want; called by the thread that has its row. */
#include "feed.h"
#include "substitutes.h"

#define ATTEMPTS_MAX 8
/* Samples of a class that are searched for one of a bucket (some 20 ms), and of an episode's. */
#define LOOK_MOST        20000
#define EPISODE_LOOK_MAX 64U

/* ---- of the row's class ---- */

/* The samples of a row that have its own sample's class, as planned: no substitute is one of them,
 * as long as the class has others. */
typedef struct row_class {
    uint32_t class;
    uint64_t own;
    uint64_t planned[SLUICE_PARTNERS_MAX + 1]; /* `own` first */
    uint32_t count;
    uint32_t rank; /* rank of the want among them */
} row_class;

static sl_partner_key key_of(const sl_feed *feed, const sl_row_want *want, uint64_t own)
{
    return (sl_partner_key){.seed = feed->config->options.seed,
                            .epoch = want->epoch,
                            .position = want->position,
                            .sample = own,
                            .partner = want->member,
                            .attempt = want->attempt};
}

static row_class class_of_row(const sl_feed *feed, const sl_row_want *want)
{
    const sl_plan plan = sl_feed_plan(feed, want->epoch, 0);
    const uint64_t own = sl_order_sample(&plan.order, want->position);
    row_class row = {.class = feed->classes->of[own], .own = own, .planned = {own}, .count = 1};
    sl_partner_key key = key_of(feed, want, own);
    key.attempt = 0;
    for (key.partner = 1; key.partner < feed->members; key.partner++) {
        if (sl_partners_rule(feed->partners, key.partner) == SL_PARTNER_SAME) {
            row.rank = key.partner == want->member ? row.count : row.rank;
            row.planned[row.count++] =
                sl_partner_drawn(SL_PARTNER_SAME, feed->classes, feed->classes->samples, &key);
        }
    }
    return row;
}

static bool is_among(const uint64_t *samples, uint32_t count, uint64_t sample)
{
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        found = found || samples[i] == sample;
    }
    return found;
}

/* Returns whether the row's own sample may be it: a batch may need images of one bucket. */
static bool fits_order(const sl_feed *feed, const sl_row_want *want, uint64_t sample)
{
    if (feed->order->kind->fits == NULL || want->member > 0) {
        return true;
    }
    const sl_plan plan = sl_feed_plan(feed, want->epoch, 0);
    return plan.order.kind->fits(&plan.order, want->position, sample);
}

/* The other samples of the class, in an order of the row's own, the same for all its members. */
typedef struct class_pool {
    row_class row;
    const uint32_t *samples;                   /* of the class, */
    sl_permutation places;                     /* in this order, */
    uint64_t planned[SLUICE_PARTNERS_MAX + 1]; /* without those at these places, ascending */
    uint32_t planned_count;
    uint64_t size; /* that leaves */
} class_pool;

static void pool_leave_out(class_pool *pool, uint64_t place)
{
    uint32_t i = pool->planned_count;
    if (is_among(pool->planned, i, place)) {
        return;
    }
    for (; i > 0 && pool->planned[i - 1] > place; i--) {
        pool->planned[i] = pool->planned[i - 1];
    }
    pool->planned[i] = place;
    pool->planned_count++;
}

static class_pool open_class_pool(const sl_feed *feed, const sl_row_want *want)
{
    const sl_classes *classes = feed->classes;
    class_pool pool = {.row = class_of_row(feed, want)};
    const uint64_t first = classes->first[pool.row.class];
    const uint64_t all = classes->first[pool.row.class + 1] - first;
    const sl_partner_key key = key_of(feed, want, pool.row.own);
    pool.samples = classes->sorted + first;
    pool.places = sl_permutation_make(all, sl_partner_place_key(&key));
    for (uint32_t i = 0; i < pool.row.count; i++) {
        const uint64_t place = classes->place[pool.row.planned[i]] - first;
        pool_leave_out(&pool, sl_permutation_invert(&pool.places, place));
    }
    pool.size = all - pool.planned_count;
    return pool;
}

static uint64_t sample_of_pool(const class_pool *pool, uint64_t number)
{
    for (uint32_t i = 0; i < pool->planned_count; i++) {
        number += pool->planned[i] <= number;
    }
    return pool->samples[sl_permutation_apply(&pool->places, number)];
}

/* Finds the sample of the pool for an attempt; false: there are fewer, which it counts. */
static bool try_pool(const sl_feed *feed, const sl_row_want *want, const class_pool *pool,
                     uint64_t *passed, uint64_t *sample)
{
    const row_class *row = &pool->row;
    *passed = 0;
    for (uint64_t i = 0; i < pool->size && i < LOOK_MOST; i++) {
        *sample = sample_of_pool(pool, sl_substitute_place(pool->size, row->rank, row->count, i));
        *passed += fits_order(feed, want, *sample);
        if (*passed == want->attempt) {
            return true;
        }
    }
    return false;
}

/* Finds the number-th of the row's own partners of its class, each once, that is not `bad`. */
static bool try_row(const sl_feed *feed, const sl_row_want *want, const row_class *row,
                    uint64_t number, uint64_t *sample)
{
    const uint64_t bad = row->planned[row->rank];
    for (uint32_t i = 1; i < row->count; i++) {
        *sample = row->planned[i];
        if (*sample != bad && !is_among(row->planned, i, *sample) &&
            fits_order(feed, want, *sample) && number-- == 0) {
            return true;
        }
    }
    /* As if a class has no other. */
    *sample = row->own;
    return want->member > 0 && bad != row->own && number == 0;
}

/* Finds another sample of the class of the row's own: preferably one that is not in the row and
 * that no other member tries; then one of another member's; for a partner, finally, the row's
 * own. */
static bool of_class(const sl_feed *feed, const sl_row_want *want, uint64_t *sample)
{
    const class_pool pool = open_class_pool(feed, want);
    uint64_t passed;
    return try_pool(feed, want, &pool, &passed, sample) ||
           try_row(feed, want, &pool.row, want->attempt - 1 - passed, sample);
}

/* ---- of an episode ---- */

/* Chooses like the order of episodes, skipping partners of the row. */
static uint64_t of_episode(const sl_feed *feed, const sl_row_want *want, const sl_plan *plan)
{
    const uint64_t seed = feed->config->options.seed;
    uint64_t sample = sl_plan_substitute(plan, seed, want->epoch, want->position, want->attempt);
    if (!sl_partners_need_classes(feed->partners)) {
        return sample;
    }
    const row_class row = class_of_row(feed, want);
    for (uint32_t attempt = 1, passed = 0; attempt <= EPISODE_LOOK_MAX; attempt++) {
        const uint64_t other = sl_plan_substitute(plan, seed, want->epoch, want->position, attempt);
        passed += !is_among(row.planned, row.count, other);
        if (passed == want->attempt) {
            return other;
        }
    }
    return sample;
}

/* ---- of a row's own sample, or a partner ---- */

/* A file that is read from front to back must be read from its front for it. */
static uint64_t from_shards(const sl_feed *feed, const sl_row_want *want)
{
    const sluice_loader_options *o = &feed->config->options;
    return sl_shard_set_substitute(feed->shards, &(sl_shard_bad){.seed = o->seed,
                                                                 .epoch = want->epoch,
                                                                 .position = want->position,
                                                                 .sample = want->sample.index,
                                                                 .rank = o->rank,
                                                                 .attempt = want->attempt});
}

static bool of_own(const sl_feed *feed, const sl_row_want *want, uint64_t *sample)
{
    const sl_plan plan = sl_feed_plan(feed, want->epoch, 0);
    if (feed->shards != NULL) {
        *sample = from_shards(feed, want);
        return true;
    }
    /* No other one is in its bucket, or of its class. */
    if (sl_plan_choices(&plan, want->position) < 2) {
        return false;
    }
    if (plan.order.kind->by_class) {
        *sample = of_episode(feed, want, &plan);
        return true;
    }
    if (sl_partners_need_classes(feed->partners)) {
        return of_class(feed, want, sample);
    }
    *sample = sl_plan_substitute(&plan, feed->config->options.seed, want->epoch, want->position,
                                 want->attempt);
    return true;
}

/* Draws again by the partner's rule. The rule of another class uses the planned class, which a
 * substitute of the row's own has, too. */
static bool of_partner(const sl_feed *feed, const sl_row_want *want, uint64_t *sample)
{
    if (sl_partners_rule(feed->partners, want->member) == SL_PARTNER_SAME) {
        return of_class(feed, want, sample);
    }
    const sl_plan plan = sl_feed_plan(feed, want->epoch, 0);
    *sample = sl_feed_partner(feed, want, sl_order_sample(&plan.order, want->position));
    return true;
}

bool sl_feed_other(const sl_feed *feed, const sl_row_want *want, uint64_t *sample)
{
    if (want->attempt > ATTEMPTS_MAX || feed->dataset->info.samples < 2 ||
        feed->order->kind->members != NULL) {
        return false;
    }
    return want->member > 0 ? of_partner(feed, want, sample) : of_own(feed, want, sample);
}
