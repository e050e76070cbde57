/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include "philox.h"

#include <assert.h>

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

uint64_t sl_plan_steps(const sl_plan *plan)
{
    const uint64_t batch = global_batch(plan);
    const uint64_t left = remaining(plan);
    const bool last_is_partial = left % batch != 0 && plan->last != SLUICE_LAST_DROP;
    return left / batch + last_is_partial;
}

/* rank * rest / world, without the overflow of the product. */
static uint64_t share_begin(uint64_t rest, uint64_t rank, uint64_t world)
{
    return rest / world * rank + rest % world * rank / world;
}

sl_step sl_plan_step(const sl_plan *plan, uint64_t step)
{
    assert(step < sl_plan_steps(plan));
    const uint64_t batch = global_batch(plan);
    const uint64_t base = plan->start + step * batch;
    if (step < remaining(plan) / batch) {
        return (sl_step){
            .first = base + (uint64_t)plan->rank * plan->batch,
            .rows = plan->batch,
            .filled = plan->batch,
            .own = plan->batch,
        };
    }
    const uint64_t rest = remaining(plan) % batch;
    const uint64_t begin = share_begin(rest, plan->rank, plan->world);
    const uint64_t end = share_begin(rest, (uint64_t)plan->rank + 1, plan->world);
    const uint32_t own = (uint32_t)(end - begin);
    const bool repeats = plan->last == SLUICE_LAST_REPEAT;
    return (sl_step){
        .first = base + begin,
        .rows = repeats || plan->last == SLUICE_LAST_PAD ? plan->batch : own,
        .filled = repeats ? plan->batch : own,
        .own = own,
        .again = (uint64_t)plan->rank * plan->batch - begin,
    };
}

uint64_t sl_step_position(const sl_step *step, const sl_order *order, uint32_t row)
{
    assert(row < step->filled);
    return row < step->own ? step->first + row : (step->again + (row - step->own)) % order->count;
}

void sl_step_samples(const sl_step *step, const sl_order *order, uint32_t row, uint32_t count,
                     uint64_t *samples)
{
    while (count > 0) {
        const uint64_t position = sl_step_position(step, order, row);
        const uint64_t run = row < step->own ? step->own - row : order->count - position;
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
    const uint64_t batch = global_batch(plan);
    return steps > remaining(plan) / batch ? plan->order.count : plan->start + steps * batch;
}

uint64_t sl_plan_substitute(const sl_plan *plan, uint64_t seed, uint64_t epoch, uint64_t position,
                            uint32_t attempt)
{
    const uint64_t count = plan->order.count;
    assert(position < count);
    if (count == 1) {
        return sl_order_sample(&plan->order, position);
    }
    /* A distance of 1 .. count - 1 round the epoch: never back to the position itself. */
    const uint64_t key = sl_philox_u64(seed, epoch, SUBSTITUTE_DOMAIN);
    const uint64_t distance = 1 + sl_philox_u64(key, position, attempt) % (count - 1);
    const uint64_t to_end = count - position;
    const uint64_t other = distance < to_end ? position + distance : distance - to_end;
    return sl_order_sample(&plan->order, other);
}
