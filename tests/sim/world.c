/* SPDX-License-Identifier: Apache-2.0 */
/* Time, the choice of fibers, and their waiting. */
#include "world_state.h"

#include <stdio.h>

#define BEGIN_NS UINT64_C(1000000000)
/* A wait long enough for a note. */
#define LONG_NS      UINT64_C(50000000)
#define VAIN_MOST_NS UINT64_C(10000000000)
/* A run with more steps is considered endless. */
#define STEPS_MAX UINT64_C(100000000)

sim_world world = {.now = BEGIN_NS,
                   .first_deadline = UINT64_MAX,
                   .switch_permille = 100,
                   .step_ns = 100};

sim_fiber *sim_self(void)
{
    if (world.current == NULL) {
        sim_open_fibers();
    }
    return world.current;
}

/* ---- time and choice ---- */

/* Removes a fiber from its queue. */
static void take_out(sim_fiber *fiber)
{
    sim_fiber **at = &fiber->queue->first;
    while (*at != NULL && *at != fiber) {
        at = &(*at)->next;
    }
    *at = fiber->next;
    fiber->queue = NULL;
    fiber->next = NULL;
}

static void make_ready(sim_fiber *fiber, bool late)
{
    if (fiber->queue != NULL) {
        take_out(fiber);
    }
    fiber->state = FIBER_READY;
    fiber->deadline = UINT64_MAX;
    fiber->late = late;
}

static void fire(void)
{
    world.first_deadline = UINT64_MAX;
    for (uint32_t i = 0; i < world.count; i++) {
        sim_fiber *fiber = &world.fibers[i];
        if (fiber->state != FIBER_WAITS) {
            continue;
        }
        if (fiber->deadline <= world.now) {
            make_ready(fiber, true);
        } else if (fiber->deadline < world.first_deadline) {
            world.first_deadline = fiber->deadline;
        }
    }
}

static sim_fiber *choose_of(sim_fiber *const *ready, uint32_t count)
{
    if (world.strategy == CHOOSE_BY_RANK) {
        sim_fiber *best = ready[0];
        for (uint32_t i = 1; i < count; i++) {
            best = ready[i]->priority > best->priority ? ready[i] : best;
        }
        if (sim_chance(&world.draw, world.change_permille)) {
            best->priority = sim_below(&world.draw, 1000);
        }
        return best;
    }
    sim_fiber *one = ready[sim_below(&world.draw, count)];
    if (world.strategy == CHOOSE_STARVING && one->number % 16 == world.starved &&
        sim_below(&world.draw, 64) != 0) {
        one = ready[sim_below(&world.draw, count)];
    }
    return one;
}

static bool any_ready(void)
{
    bool any = false;
    for (uint32_t i = 0; i < world.count; i++) {
        any = any || world.fibers[i].state == FIBER_READY;
    }
    return any;
}

/* Notes the fiber that ends a long wait of all fibers. */
static void note_jump(void)
{
    const uint64_t ns = world.first_deadline - world.now;
    if (ns > LONG_NS && world.verbose > 1) {
        sim_print_fibers();
    }
    for (uint32_t i = 0; i < world.count && ns > LONG_NS; i++) {
        if (world.fibers[i].state == FIBER_WAITS &&
            world.fibers[i].deadline == world.first_deadline) {
            sim_note("%llu us: all wait for %llu us, %s for %s\n",
                     (unsigned long long)(world.now / 1000), (unsigned long long)(ns / 1000),
                     world.fibers[i].name, world.fibers[i].what);
        }
    }
}

/* Fails earlier than sim_run would: a wait in slices for an event that never comes has no end. */
static void check_vain(void)
{
    if (world.idle > world.excused + VAIN_MOST_NS) {
        sim_fail("waited for nothing: %llu ms, %llu of them with a reason",
                 (unsigned long long)(world.idle / 1000000),
                 (unsigned long long)(world.excused / 1000000));
    }
}

/* Chooses the next fiber to run. */
static sim_fiber *choose(void)
{
    sim_fiber *ready[SIM_FIBERS_MAX];
    for (;;) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < world.count; i++) {
            if (world.fibers[i].state == FIBER_READY) {
                ready[count++] = &world.fibers[i];
            }
        }
        if (count > 0) {
            return count == 1 ? ready[0] : choose_of(ready, count);
        }
        fire(); /* the first deadline may be outdated */
        if (any_ready()) {
            continue;
        }
        if (world.first_deadline == UINT64_MAX) {
            sim_fail("deadlock: every fiber waits for another");
        }
        note_jump();
        check_vain();
        world.idle += world.first_deadline - world.now;
        world.now = world.first_deadline;
        fire();
    }
}

uint64_t sim_trace(void)
{
    return world.trace;
}

void sim_trace_add(uint64_t value)
{
    world.trace = sim_mix(world.trace ^ value) + value;
}

uint64_t sim_steps(void)
{
    return world.steps;
}

sim_draw *sim_run_draw(void)
{
    return &world.draw;
}

uint64_t sim_now(void)
{
    world.now += 20;
    return world.now;
}

static void step(void)
{
    world.now += world.step_ns;
    if (++world.steps > STEPS_MAX) {
        sim_fail("endless: %llu steps", (unsigned long long)world.steps);
    }
    if (world.first_deadline <= world.now) {
        fire();
    }
}

void sim_point(void)
{
    const sim_fiber *self = sim_self();
    step();
    if (self->state == FIBER_ENDED || sim_chance(&world.draw, world.switch_permille)) {
        sim_switch_to(choose());
    }
}

bool sim_block(sim_queue *queue, uint64_t deadline, const char *what, const void *where)
{
    sim_fiber *self = sim_self();
    step();
    self->queue = queue;
    if (queue != NULL) {
        self->next = queue->first;
        queue->first = self;
    }
    self->state = FIBER_WAITS;
    self->deadline = deadline;
    self->what = what;
    self->where = where;
    self->late = false;
    if (deadline < world.first_deadline) {
        world.first_deadline = deadline;
    }
    sim_switch_to(choose());
    if (self->state == FIBER_WAITS) {
        sim_fail("fiber %s goes on, and waits", self->name);
    }
    return !self->late;
}

void sim_sleep_until(uint64_t ns)
{
    if (ns > world.now) {
        (void)sim_block(NULL, ns, "a time", __builtin_return_address(0));
    }
}

uint64_t sim_idle(void)
{
    return world.idle;
}

uint64_t sim_excused(void)
{
    return world.excused;
}

void sim_excuse(uint64_t ns)
{
    world.excused += ns;
}

void sim_sleep(uint64_t ns)
{
    sim_excuse(ns);
    sim_sleep_until(world.now + ns);
}

/* ---- locks and signals ---- */

void sim_wake_all(sim_queue *queue)
{
    for (sim_fiber *one = queue->first; one != NULL; one = queue->first) {
        make_ready(one, false);
    }
}

void sim_wake_one(sim_queue *queue)
{
    uint32_t count = 0;
    sim_fiber *chosen = NULL;
    for (sim_fiber *one = queue->first; one != NULL; one = one->next) {
        chosen = sim_below(&world.draw, ++count) == 0 ? one : chosen; /* each equally likely */
    }
    if (chosen != NULL) {
        make_ready(chosen, false);
    }
}

void sim_lock(sim_mutex *mutex, const void *where)
{
    sim_fiber *self = sim_self();
    sim_point();
    if (mutex->owner == self) {
        sim_fail("%s takes a lock that it has", self->name);
    }
    while (mutex->owner != NULL) {
        (void)sim_block(&mutex->waiting, UINT64_MAX, "a lock", where);
    }
    mutex->owner = self;
}

static void unlock_quietly(sim_mutex *mutex)
{
    if (mutex->owner != sim_self()) {
        sim_fail("%s gives a lock back that it has not", world.current->name);
    }
    mutex->owner = NULL;
    sim_wake_all(&mutex->waiting);
}

void sim_unlock(sim_mutex *mutex)
{
    unlock_quietly(mutex);
    sim_point();
}

bool sim_wait(sim_queue *queue, sim_mutex *mutex, uint64_t deadline_ns, const void *where)
{
    bool in_time = true;
    unlock_quietly(mutex);
    if (sim_chance(&world.draw, world.spurious_permille)) {
        sim_point(); /* spurious wakeup, as POSIX allows */
    } else {
        in_time = deadline_ns > world.now &&
                  sim_block(queue, deadline_ns,
                            deadline_ns == UINT64_MAX ? "a signal" : "a signal, or", where);
    }
    while (mutex->owner != NULL) {
        (void)sim_block(&mutex->waiting, UINT64_MAX, "a lock after a signal", where);
    }
    mutex->owner = sim_self();
    return in_time;
}

void sim_wait_alone(sim_queue *queue, const char *what)
{
    (void)sim_block(queue, UINT64_MAX, what, __builtin_return_address(0));
}

/* ---- runs ---- */

/* Counts the fibers except main. */
static uint32_t count_others(bool or_ended)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < world.count; i++) {
        const fiber_state state = world.fibers[i].state;
        count += state != FIBER_FREE && (or_ended || state != FIBER_ENDED);
    }
    return count;
}

void sim_begin(uint64_t seed)
{
    (void)sim_self();
    if (world.current != &world.fibers[0] || count_others(true) > 0) {
        sim_fail("a run begins while fibers are left of another");
    }
    world.draw = (sim_draw){sim_mix(seed)};
    world.now = BEGIN_NS;
    world.steps = world.trace = world.idle = world.excused = 0;
    world.next_number = 0;
    world.strategy = (world_strategy)sim_below(&world.draw, 3);
    world.switch_permille = SIM_ONE_OF(&world.draw, 1000, 500, 120, 30);
    world.change_permille = SIM_ONE_OF(&world.draw, 5, 50, 300);
    world.spurious_permille = SIM_ONE_OF(&world.draw, 0, 0, 30);
    world.step_ns = SIM_ONE_OF(&world.draw, 20, 200, 2000, 20000);
    world.starved = sim_below(&world.draw, 16);
    world.fibers[0].priority = sim_below(&world.draw, 1000);
}

void sim_expect_end(uint64_t ns, bool abandoned)
{
    const uint64_t limit = world.idle + ns;
    while (count_others(!abandoned) > 0) {
        if (world.idle > limit) {
            sim_fail("threads are left after %llu ms", (unsigned long long)(ns / 1000000));
        }
        sim_sleep(1000000);
    }
    for (uint32_t i = 1; i < world.count; i++) {
        world.fibers[i].state = FIBER_FREE;
    }
}
