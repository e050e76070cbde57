/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_order: the shuffled order of an epoch that reads files from front to back. One owner
 * walks it; the same seed, epoch and rank give the same order.
 */
#include "shard_order.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "philox.h"
#include "search.h"
#include "share.h"

#include <assert.h>

/* Separate the draws from each other and from every other use of Philox. */
#define LINE_DOMAIN       0x7368617264000000U
#define WINDOW_DOMAIN     0x7368617264000001U
#define DROP_DOMAIN       0x7368617264000002U
#define SUBSTITUTE_DOMAIN 0x7368617264000003U

enum {
    BLOCK_SHARE = 8,     /* a block is at most this fraction of a window */
    SUBSTITUTES_FROM = 8 /* the first samples of a shard, used as substitutes */
};

/* ---- the set ---- */

void sl_shard_set_open(sl_shard_set *set, const sl_shard_limits *limits)
{
    assert(limits->block_samples >= 1 && limits->window_blocks >= 1 && limits->window_units >= 1);
    *set = (sl_shard_set){.limits = *limits};
}

void sl_shard_set_close(sl_shard_set *set)
{
    sl_free(set->shards);
    sl_free(set->blocks);
    *set = (sl_shard_set){0};
}

static bool shard_order_add_shard(sl_shard_set *set)
{
    if (!sl_grow(&set->shards, &set->shard_capacity, set->count + 1, sizeof(*set->shards))) {
        return false;
    }
    set->shards[set->count++] = (sl_shard_span){.first = set->samples, .block = set->block_count};
    return true;
}

static bool add_block(sl_shard_set *set)
{
    if (!sl_grow(&set->blocks, &set->block_capacity, set->block_count + 1, sizeof(*set->blocks))) {
        return false;
    }
    set->blocks[set->block_count++] = (sl_shard_block){0, 0};
    return true;
}

static bool shard_order_is_full(const sl_shard_set *set, uint32_t units)
{
    const sl_shard_block *block = &set->blocks[set->block_count - 1];
    const uint32_t share = set->limits.window_units / BLOCK_SHARE;
    return block->samples > 0 && (block->samples == set->limits.block_samples || units > share ||
                                  block->units > share - units);
}

bool sl_shard_set_add(sl_shard_set *set, uint32_t units, bool begins)
{
    begins = begins || set->count == 0;
    if (begins && !shard_order_add_shard(set)) {
        return false;
    }
    if ((begins || shard_order_is_full(set, units)) && !add_block(set)) {
        return false;
    }
    sl_shard_block *block = &set->blocks[set->block_count - 1];
    block->samples++;
    block->units += units;
    set->units += units;
    set->most_units = sl_max_u32(block->units, set->most_units);
    set->shards[set->count - 1].count++;
    set->samples++;
    return true;
}

uint64_t sl_shard_set_find(const sl_shard_set *set, uint64_t sample)
{
    assert(sample < set->samples);
    return sl_last_at_or_before(&set->shards->first, sizeof(*set->shards), set->count, sample);
}

uint32_t sl_shard_set_window_units(const sl_shard_set *set)
{
    const uint32_t window = (uint32_t)sl_min_u64(set->limits.window_units, set->units);
    return set->most_units > window ? set->most_units : window;
}

uint32_t sl_shard_set_window(const sl_shard_set *set)
{
    const uint64_t blocks = sl_min_u64(set->limits.window_blocks, set->block_count);
    const uint64_t samples = sl_min_u64(blocks * set->limits.block_samples, set->samples);
    return (uint32_t)sl_min_u64(samples, set->limits.window_units);
}

uint64_t sl_shard_set_substitute(const sl_shard_set *set, const sl_shard_bad *bad)
{
    const uint64_t key =
        sl_philox_u64(sl_philox_u64(bad->seed, bad->epoch, SUBSTITUTE_DOMAIN), bad->rank, 0);
    const uint64_t drawn = sl_philox_u64(key, bad->position, bad->attempt);
    const uint64_t number = (drawn >> 8) % set->count;
    const sl_shard_span *shard = &set->shards[number];
    const uint64_t from = sl_min_u64(shard->count, SUBSTITUTES_FROM);
    const uint64_t sample = shard->first + (drawn & 0xff) % from;
    if (sample != bad->sample) {
        return sample;
    }
    return from > 1 ? shard->first + (sample - shard->first + 1) % from
                    : set->shards[(number + 1) % set->count].first;
}

/* ---- lanes ---- */

/* Sets the lane's next block to the block that has `at`. */
static void enter_block(const sl_shard_set *set, sl_shard_lane *lane)
{
    lane->block = set->shards[lane->shard].block;
    lane->block_end = set->blocks[lane->block].samples;
    while (lane->block_end <= lane->at) {
        lane->block_end += set->blocks[++lane->block].samples;
    }
}

/* Takes the next shard of the line that the rank reads. False: none is left. */
static bool take_shard(sl_shard_walk *walk, sl_shard_lane *lane)
{
    const sl_shard_set *set = walk->set;
    while (walk->taken < set->count && walk->line_at < walk->end) {
        const uint64_t number = sl_permutation_apply(&walk->line, walk->taken++);
        const uint64_t first = walk->line_at;
        const uint64_t behind = first + set->shards[number].count;
        walk->line_at = behind;
        if (behind <= walk->begin) {
            continue;
        }
        *lane = (sl_shard_lane){.shard = number,
                                .at = walk->begin > first ? walk->begin - first : 0,
                                .stop = sl_min_u64(behind, walk->end) - first,
                                .end = behind <= walk->whole_end ? SL_SHARD_ENDS : SL_SHARD_PASSED,
                                .busy = true};
        enter_block(set, lane);
        return true;
    }
    return false;
}

/* Returns the next lane in turn, with a block; NULL: none is left. */
static sl_shard_lane *next_lane(sl_shard_walk *walk)
{
    for (uint32_t i = 0; i < SL_SHARD_LANES; i++) {
        sl_shard_lane *lane = &walk->lanes[walk->turn];
        if (lane->busy || take_shard(walk, lane)) {
            return lane;
        }
        walk->turn = (walk->turn + 1) % SL_SHARD_LANES;
    }
    return NULL;
}

/* Takes the part of the lane's next block that is read. */
static sl_shard_run take_block(sl_shard_walk *walk, sl_shard_lane *lane)
{
    const sl_shard_set *set = walk->set;
    const uint64_t end = sl_min_u64(lane->block_end, lane->stop);
    sl_shard_run run = {.sample = set->shards[lane->shard].first + lane->at,
                        .shard = lane->shard,
                        .count = (uint32_t)(end - lane->at),
                        .lane = walk->turn};
    lane->at = end;
    if (end == lane->stop) {
        lane->busy = false;
        run.end = lane->end;
        run.last = run.count - 1;
    } else {
        lane->block_end += set->blocks[++lane->block].samples;
    }
    walk->turn = (walk->turn + 1) % SL_SHARD_LANES;
    return run;
}

/* ---- windows ---- */

static uint64_t position_of(const sl_shard_walk *walk, uint32_t in_window)
{
    return walk->window + sl_permutation_apply(&walk->mixed, in_window);
}

/* For a window entered in the middle: ends each shard with the last sample that is read. */
static void end_earlier(sl_shard_walk *walk)
{
    sl_shard_end owed[SL_SHARD_LANES] = {SL_SHARD_GOES_ON};
    uint32_t behind = (uint32_t)walk->window_count;
    for (uint32_t i = walk->run_count; i-- > 0;) {
        sl_shard_run *run = &walk->runs[i];
        sl_shard_end *end = &owed[run->lane];
        *end = run->end != SL_SHARD_GOES_ON ? run->end : *end;
        run->end = SL_SHARD_GOES_ON;
        behind -= run->count;
        for (uint32_t k = run->count; *end != SL_SHARD_GOES_ON && k-- > 0;) {
            if (position_of(walk, behind + k) >= walk->epoch.start) {
                run->end = *end;
                run->last = k;
                *end = SL_SHARD_GOES_ON;
            }
        }
    }
}

/* Fills the window after the present one; a window without samples: the end. */
static void fill_window(sl_shard_walk *walk)
{
    const sl_shard_limits *limits = &walk->set->limits;
    uint64_t units = 0;
    walk->window += walk->window_count;
    walk->window_count = 0;
    walk->run_count = 0;
    walk->windows++;
    for (;;) {
        sl_shard_lane *lane = next_lane(walk);
        if (lane == NULL) {
            break;
        }
        const uint32_t own = walk->set->blocks[lane->block].units;
        if (walk->run_count > 0 &&
            (walk->run_count == limits->window_blocks || units + own > limits->window_units)) {
            break;
        }
        assert(walk->run_count < walk->run_capacity);
        walk->runs[walk->run_count] = take_block(walk, lane);
        walk->window_count += walk->runs[walk->run_count++].count;
        units += own;
    }
    walk->run = walk->in_run = walk->in_window = 0;
}

static void enter_window(sl_shard_walk *walk)
{
    fill_window(walk);
    while (walk->window_count > 0 && walk->window + walk->window_count <= walk->epoch.start) {
        fill_window(walk); /* all of the window was consumed */
    }
    walk->mixed =
        sl_permutation_make(walk->window_count, sl_philox_u64(walk->key, walk->windows, 0));
    if (walk->window < walk->epoch.start) {
        end_earlier(walk);
    }
}

/* ---- the walk ---- */

sluice_status sl_shard_walk_open(sl_shard_walk *walk, const sl_shard_set *set, sluice_error *error)
{
    const uint64_t blocks = sl_min_u64(set->limits.window_blocks, set->block_count);
    *walk = (sl_shard_walk){.set = set};
    walk->run_capacity = (uint32_t)sl_min_u64(blocks, set->limits.window_units);
    walk->runs = sl_calloc(walk->run_capacity, sizeof(*walk->runs));
    if (walk->runs == NULL) {
        return sl_no_memory(error, "plan", "for a window of %u blocks", walk->run_capacity);
    }
    return SLUICE_OK;
}

void sl_shard_walk_close(sl_shard_walk *walk)
{
    sl_free(walk->runs);
    *walk = (sl_shard_walk){0};
}

/* Removes the rank's share of the dropped samples from its range. */
static void shard_order_leave_out(sl_shard_walk *walk)
{
    const sl_shard_epoch *epoch = &walk->epoch;
    const uint64_t own = sl_share_first(epoch->dropped, (uint64_t)epoch->rank + 1, epoch->world) -
                         sl_share_first(epoch->dropped, epoch->rank, epoch->world);
    const bool first = (sl_philox_u64(walk->key, epoch->rank, DROP_DOMAIN) & 1) != 0;
    walk->begin += first ? own : 0;
    walk->end -= first ? 0 : own;
}

void sl_shard_walk_begin(sl_shard_walk *walk, const sl_shard_epoch *epoch)
{
    const sl_shard_set *set = walk->set;
    const uint64_t key = sl_philox_u64(epoch->seed, epoch->epoch, LINE_DOMAIN);
    *walk = (sl_shard_walk){.set = set, .runs = walk->runs, .run_capacity = walk->run_capacity};
    walk->epoch = *epoch;
    walk->line = sl_permutation_make(set->count, key);
    walk->key = sl_philox_u64(key, epoch->rank, WINDOW_DOMAIN);
    walk->begin = sl_share_first(set->samples, epoch->rank, epoch->world);
    walk->end = sl_share_first(set->samples, (uint64_t)epoch->rank + 1, epoch->world);
    walk->whole_end = walk->end;
    shard_order_leave_out(walk);
    enter_window(walk);
}

static bool has_sample(sl_shard_walk *walk)
{
    if (walk->in_window == walk->window_count && walk->window_count > 0) {
        enter_window(walk);
    }
    return walk->window_count > 0;
}

bool sl_shard_walk_next(sl_shard_walk *walk, sl_shard_next *next)
{
    while (has_sample(walk)) {
        const sl_shard_run *run = &walk->runs[walk->run];
        const bool last = run->end != SL_SHARD_GOES_ON && walk->in_run == run->last;
        *next = (sl_shard_next){.sample = run->sample + walk->in_run,
                                .position = position_of(walk, walk->in_window),
                                .shard = run->shard,
                                .end = last ? run->end : SL_SHARD_GOES_ON};
        walk->in_window++;
        if (++walk->in_run == run->count) {
            walk->in_run = 0;
            walk->run++;
        }
        if (next->position >= walk->epoch.start) {
            return true;
        }
    }
    return false;
}

uint64_t sl_shard_walk_given(const sl_shard_walk *walk)
{
    return walk->window + (walk->in_window == walk->window_count ? walk->window_count : 0);
}
