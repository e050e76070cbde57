/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include "philox.h"

#include <assert.h>
#include <stddef.h>

/* Separates the draws of substitutes from every other use of Philox. */
#define SUBSTITUTE_DOMAIN 0x7375627374000000U

static uint64_t global_batch(const sl_plan *plan)
{
    assert(plan->batch >= 1 && plan->rank < plan->world);
    return (uint64_t)plan->batch * plan->world;
}

static uint64_t remaining(const sl_plan *plan)
{
    return plan->start < plan->order.count ? plan->order.count - plan->start : 0;
}

/* Returns the order's groups; NULL: it has none, and global batches are cut from `start` on. */
static const sl_order_groups *groups_of(const sl_plan *plan)
{
    return plan->order.kind->groups;
}

uint64_t sl_plan_entered(const sl_plan *plan)
{
    const uint64_t batch = global_batch(plan);
    uint64_t step = 0;
    if (groups_of(plan) == NULL) {
        return plan->start / batch + (plan->start % batch > 0);
    }
    const bool begins = groups_of(plan)->step_at(&plan->order, plan->start, &step);
    assert(begins);
    (void)begins;
    return step;
}

/* ---- steps ---- */

/* Returns the number of steps from `all` of an epoch that are not before its `start`. */
static uint64_t not_before(const sl_plan *plan, uint64_t all)
{
    const uint64_t entered = sl_plan_entered(plan);
    return all > entered ? all - entered : 0;
}

uint64_t sl_plan_steps(const sl_plan *plan)
{
    const sl_order_groups *groups = groups_of(plan);
    const bool drops = plan->last == SLUICE_LAST_DROP;
    if (groups != NULL) {
        return not_before(plan,
                          groups->whole(&plan->order) + (drops ? 0 : groups->rests(&plan->order)));
    }
    const uint64_t batch = global_batch(plan);
    const uint64_t left = remaining(plan);
    const bool last_is_partial = left % batch != 0 && !drops;
    return left / batch + last_is_partial;
}

/* Returns the number of whole steps; the others come after them. */
static uint64_t whole_steps(const sl_plan *plan)
{
    return groups_of(plan) == NULL ? remaining(plan) / global_batch(plan)
                                   : not_before(plan, groups_of(plan)->whole(&plan->order));
}

/* rank * rest / world, without the overflow of the product. */
static uint64_t share_begin(uint64_t rest, uint64_t rank, uint64_t world)
{
    return rest / world * rank + rest % world * rank / world;
}

/* Returns where the part of `rank` begins among the `rest` last positions. */
static uint64_t rest_begin(const sl_plan *plan, uint64_t rest, uint64_t rank)
{
    const sl_order_kind *kind = plan->order.kind;
    const uint64_t unit = kind->unit != NULL ? kind->unit(&plan->order) : 1; /* never divided */
    if (plan->last == SLUICE_LAST_WRAP) {
        return rank * plan->batch < rest ? rank * plan->batch : rest;
    }
    return share_begin(rest / unit, rank, plan->world) * unit;
}

/* Returns the rank's part of a global batch at `base`. */
static sl_step whole_step(const sl_plan *plan, uint64_t base)
{
    return (sl_step){
        .base = base,
        .first = base + (uint64_t)plan->rank * plan->batch,
        .rows = plan->batch,
        .filled = plan->batch,
        .own = plan->batch,
    };
}

/* Returns the step of the `rest` positions at `base` that do not fill a global batch. */
static sl_step last_step(const sl_plan *plan, uint64_t base, uint64_t rest)
{
    const uint64_t begin = rest_begin(plan, rest, plan->rank);
    const uint32_t own = (uint32_t)(rest_begin(plan, rest, (uint64_t)plan->rank + 1) - begin);
    const bool repeats = plan->last == SLUICE_LAST_REPEAT || plan->last == SLUICE_LAST_WRAP;
    return (sl_step){
        .base = base,
        .first = base + begin,
        .rows = repeats || plan->last == SLUICE_LAST_PAD ? plan->batch : own,
        .filled = repeats ? plan->batch : own,
        .own = own,
        .again = (uint64_t)plan->rank * plan->batch - begin,
    };
}

static sl_step group_step(const sl_plan *plan, uint64_t step)
{
    const sl_order_step at = groups_of(plan)->step(&plan->order, sl_plan_entered(plan) + step);
    sl_step made = at.samples == global_batch(plan) ? whole_step(plan, at.base)
                                                    : last_step(plan, at.base, at.samples);
    made.bucket = at.group;
    return made;
}

sl_step sl_plan_step(const sl_plan *plan, uint64_t step)
{
    assert(step < sl_plan_steps(plan));
    if (groups_of(plan) != NULL) {
        return group_step(plan, step);
    }
    const uint64_t batch = global_batch(plan);
    const uint64_t base = plan->start + step * batch;
    return step < whole_steps(plan) ? whole_step(plan, base)
                                    : last_step(plan, base, remaining(plan) % batch);
}

uint64_t sl_plan_rows(const sl_plan *plan)
{
    const uint64_t steps = sl_plan_steps(plan);
    const uint64_t whole = whole_steps(plan);
    uint64_t rows = whole * plan->batch;
    for (uint64_t step = whole; step < steps; step++) {
        rows += sl_plan_step(plan, step).own;
    }
    return rows;
}

uint64_t sl_step_position(const sl_step *step, const sl_order *order, uint32_t row)
{
    assert(row < step->filled);
    if (row < step->own) {
        return step->places == NULL ? step->first + row : step->base + step->places[row];
    }
    const uint64_t again = step->again + (row - step->own);
    const sl_order_groups *groups = order->kind->groups;
    if (groups == NULL) {
        return again % order->count;
    }
    const uint64_t samples = groups->samples(order, step->bucket);
    return groups->position(order, (sl_order_place){step->bucket, again % samples});
}

/* Returns how many rows from `row` on, which is at `position`, have consecutive positions. */
static uint64_t run_of_rows(const sl_step *step, const sl_order *order, uint32_t row,
                            uint64_t position)
{
    if (row < step->own) {
        return step->places == NULL ? step->own - row : 1;
    }
    return order->kind->groups != NULL ? 1 : order->count - position;
}

void sl_step_samples(const sl_step *step, const sl_order *order, uint32_t row, uint32_t count,
                     uint64_t *samples)
{
    while (count > 0) {
        const uint64_t position = sl_step_position(step, order, row);
        const uint64_t run = run_of_rows(step, order, row, position);
        const uint32_t now = run < count ? (uint32_t)run : count;
        sl_order_samples(order, position, now, samples);
        row += now;
        samples += now;
        count -= now;
    }
}

uint64_t sl_plan_position(const sl_plan *plan, uint64_t steps)
{
    assert(steps <= sl_plan_steps(plan));
    if (groups_of(plan) != NULL) {
        return groups_of(plan)->step(&plan->order, sl_plan_entered(plan) + steps).base;
    }
    const uint64_t batch = global_batch(plan);
    return steps > remaining(plan) / batch ? plan->order.count : plan->start + steps * batch;
}

uint64_t sl_plan_choices(const sl_plan *plan, uint64_t position)
{
    const sl_order *order = &plan->order;
    const sl_order_groups *groups = groups_of(plan);
    if (order->kind->choices != NULL) {
        return order->kind->choices(order, position);
    }
    return groups != NULL ? groups->samples(order, groups->find(order, position).group)
                          : order->count;
}

/* Returns the position `distance` further, wrapping around in the epoch or group. */
static uint64_t further(const sl_plan *plan, uint64_t position, uint64_t count, uint64_t distance)
{
    const sl_order_groups *groups = groups_of(plan);
    if (groups == NULL) {
        const uint64_t to_end = count - position;
        return distance < to_end ? position + distance : distance - to_end;
    }
    sl_order_place at = groups->find(&plan->order, position);
    at.place = (at.place + distance) % count;
    return groups->position(&plan->order, at);
}

uint64_t sl_plan_substitute(const sl_plan *plan, uint64_t seed, uint64_t epoch, uint64_t position,
                            uint32_t attempt)
{
    assert(position < plan->order.count);
    const uint64_t count = sl_plan_choices(plan, position);
    if (count == 1) {
        return sl_order_sample(&plan->order, position);
    }
    if (plan->order.kind->substitute != NULL) {
        return plan->order.kind->substitute(&plan->order, position, attempt);
    }
    /* A distance of 1 .. count - 1: never back to the position itself. */
    const uint64_t key = sl_philox_u64(seed, epoch, SUBSTITUTE_DOMAIN);
    const uint64_t distance = 1 + sl_philox_u64(key, position, attempt) % (count - 1);
    return sl_order_sample(&plan->order, further(plan, position, count, distance));
}
