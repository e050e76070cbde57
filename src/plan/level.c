/* SPDX-License-Identifier: Apache-2.0 */
#include "level.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"

#include <assert.h>
#include <stddef.h>

/* Sets owners and sums. Returns the largest sum. */
typedef uint64_t deal_rows(sl_level *level, uint32_t rows);

uint64_t sl_level_bytes(uint64_t rows, uint32_t world)
{
    return rows * (sizeof(uint64_t) + 3 * sizeof(uint32_t)) +
           world * (sizeof(sl_level_rank) + sizeof(uint32_t));
}

sluice_status sl_level_open(sl_level *level, uint64_t rows, uint32_t world, sluice_error *error)
{
    assert(rows >= 1 && rows <= SL_LEVEL_ROWS_MAX);
    *level = (sl_level){.world = world,
                        .costs = sl_calloc(rows, sizeof(*level->costs)),
                        .owners = sl_calloc(rows, sizeof(*level->owners)),
                        .sorted = sl_calloc(rows, sizeof(*level->sorted)),
                        .swapped = sl_calloc(rows, sizeof(*level->swapped)),
                        .ranks = sl_calloc(world, sizeof(*level->ranks)),
                        .heap = sl_calloc(world, sizeof(*level->heap))};
    const bool good = level->costs != NULL && level->owners != NULL && level->sorted != NULL &&
                      level->swapped != NULL && level->ranks != NULL && level->heap != NULL;
    return good ? SLUICE_OK
                : sl_no_memory(error, "plan", "for levelling %llu rows", (unsigned long long)rows);
}

void sl_level_close(sl_level *level)
{
    sl_free(level->costs);
    sl_free(level->owners);
    sl_free(level->sorted);
    sl_free(level->swapped);
    sl_free(level->ranks);
    sl_free(level->heap);
    *level = (sl_level){.costs = NULL};
}

/* ---- rows by cost ---- */

/* Merges the sorted runs [begin, middle) and [middle, end). */
static void merge_runs(const uint64_t *costs, const uint32_t *from, uint32_t *to, uint32_t begin,
                       uint32_t middle, uint32_t end)
{
    uint32_t low = begin;
    uint32_t high = middle;
    for (uint32_t i = begin; i < end; i++) {
        const bool takes_low =
            low < middle && (high == end || costs[from[low]] >= costs[from[high]]);
        to[i] = takes_low ? from[low++] : from[high++];
    }
}

/* A merge sort: it is stable, so equal rows stay in the order of places. */
static void sort_rows(sl_level *level, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++) {
        level->sorted[i] = i;
    }
    for (uint32_t run = 1; run < rows; run *= 2) {
        for (uint32_t begin = 0; begin < rows; begin += 2 * run) {
            merge_runs(level->costs, level->sorted, level->swapped, begin,
                       sl_min_u32(begin + run, rows), sl_min_u32(begin + 2 * run, rows));
        }
        uint32_t *sorted = level->swapped;
        level->swapped = level->sorted;
        level->sorted = sorted;
    }
}

/* ---- dealing ---- */

static void begin_deal(sl_level *level)
{
    for (uint32_t r = 0; r < level->world; r++) {
        level->ranks[r].sum = level->ranks[r].again;
        level->ranks[r].left = level->ranks[r].rows;
    }
}

static uint64_t add_costs(uint64_t sum, uint64_t cost)
{
    return sum > UINT64_MAX - cost ? UINT64_MAX : sum + cost;
}

static void give_row(sl_level *level, uint32_t place, uint32_t number)
{
    sl_level_rank *rank = &level->ranks[number];
    level->owners[place] = number;
    rank->sum = add_costs(rank->sum, level->costs[place]);
    rank->left--;
}

static uint64_t largest_sum(const sl_level *level)
{
    uint64_t largest = 0;
    for (uint32_t r = 0; r < level->world; r++) {
        largest = sl_max_u64(largest, level->ranks[r].sum);
    }
    return largest;
}

static uint64_t deal_plain(sl_level *level, uint32_t rows)
{
    uint32_t rank = 0;
    begin_deal(level);
    for (uint32_t place = 0; place < rows; place++) {
        while (level->ranks[rank].left == 0) {
            rank++;
        }
        give_row(level, place, rank);
    }
    return largest_sum(level);
}

static bool comes_first(const sl_level *level, uint32_t a, uint32_t b)
{
    const uint64_t of_a = level->ranks[a].sum;
    const uint64_t of_b = level->ranks[b].sum;
    return of_a != of_b ? of_a < of_b : a < b;
}

/* Moves the rank at `at` down the heap of `count` to its place. */
static void sink_rank(sl_level *level, uint32_t at, uint32_t count)
{
    const uint32_t rank = level->heap[at];
    for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && comes_first(level, level->heap[child + 1], level->heap[child])) {
            child++;
        }
        if (!comes_first(level, level->heap[child], rank)) {
            break;
        }
        level->heap[at] = level->heap[child];
        at = child;
    }
    level->heap[at] = rank;
}

/* Builds a heap of ranks with space, the one with the smallest sum on top. Returns how many. */
static uint32_t heap_ranks(sl_level *level)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < level->world; r++) {
        if (level->ranks[r].left > 0) {
            level->heap[count++] = r;
        }
    }
    for (uint32_t at = count / 2; at-- > 0;) {
        sink_rank(level, at, count);
    }
    return count;
}

static uint64_t deal_longest(sl_level *level, uint32_t rows)
{
    begin_deal(level);
    uint32_t count = heap_ranks(level);
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t rank = level->heap[0];
        give_row(level, level->sorted[i], rank);
        if (level->ranks[rank].left == 0) {
            level->heap[0] = level->heap[--count];
        }
        if (count > 0) {
            sink_rank(level, 0, count);
        }
    }
    return largest_sum(level);
}

static uint64_t deal_snake(sl_level *level, uint32_t rows)
{
    begin_deal(level);
    for (uint32_t i = 0, turn = 0; i < rows; turn++) {
        for (uint32_t k = 0; k < level->world; k++) {
            const uint32_t rank = turn % 2 == 0 ? k : level->world - 1 - k;
            if (level->ranks[rank].left > 0) {
                give_row(level, level->sorted[i++], rank);
            }
        }
    }
    return largest_sum(level);
}

uint64_t sl_level_deal(sl_level *level, uint32_t rows)
{
    static deal_rows *const ways[] = {deal_plain, deal_longest, deal_snake};
    enum { WAYS = sizeof(ways) / sizeof(ways[0]) };
    uint64_t least = UINT64_MAX;
    uint32_t best = 0;
    sort_rows(level, rows);
    for (uint32_t i = 0; i < WAYS; i++) {
        const uint64_t largest = ways[i](level, rows);
        best = largest < least ? i : best;
        least = sl_min_u64(largest, least);
    }
    return best == WAYS - 1 ? least : ways[best](level, rows);
}

/* ---- steps ---- */

/* Sets each rank's part of the step's rows. Returns how many rows are to be dealt. */
static uint32_t set_ranks(sl_level *level, const sl_plan *plan, uint64_t step)
{
    sl_plan other = *plan;
    uint32_t rows = 0;
    for (uint32_t r = 0; r < level->world; r++) {
        other.rank = r;
        const sl_step at = sl_plan_step(&other, step);
        uint64_t again = 0;
        for (uint32_t row = at.own; row < at.filled; row++) {
            uint64_t cost;
            plan->order.kind->costs(&plan->order, sl_step_position(&at, &plan->order, row), 1,
                                    &cost);
            again = add_costs(again, cost);
        }
        level->ranks[r].again = again;
        level->ranks[r].rows = at.own;
        rows += at.own;
    }
    return rows;
}

void sl_level_step(sl_level *level, const sl_plan *plan, uint64_t step, uint32_t *places)
{
    const uint64_t base = sl_plan_step(plan, step).base;
    assert(plan->world == level->world);
    const uint32_t rows = set_ranks(level, plan, step);
    plan->order.kind->costs(&plan->order, base, rows, level->costs);
    (void)sl_level_deal(level, rows);
    for (uint32_t place = 0; place < rows; place++) {
        if (level->owners[place] == plan->rank) {
            *places++ = place;
        }
    }
}
