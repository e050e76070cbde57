/* SPDX-License-Identifier: Apache-2.0 */
#include "emulated.h"

#include "clock.h"
#include "exit_code.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RING = BENCH_AHEAD_MAX + 1 };

/* A step in progress. */
struct running {
    sluice_batch *batch; /* NULL: none is held */
    double end;
};

struct emulated {
    struct accelerator accelerator; /* first: the two are one */
    struct bench_steps *steps;
    struct running ring[RING];
    uint64_t begun, over; /* steps of this arm; `over`: ended ones that the host has seen */
    double last_end;
};

static int begin(struct accelerator *accelerator, struct bench_steps *steps)
{
    struct emulated *self = (struct emulated *)accelerator;
    assert(self->over == self->begun);
    self->steps = steps;
    self->last_end = 0;
    return TOOL_FINE;
}

static int copy(struct accelerator *accelerator, const sluice_batch *batch)
{
    (void)accelerator;
    (void)batch;
    return TOOL_FINE;
}

/* Sleeps until the oldest step in progress has ended, and releases its batch. */
static void end_oldest(struct emulated *self)
{
    const struct running *oldest = &self->ring[self->over++ % RING];
    clock_sleep_until(oldest->end);
    if (oldest->batch != NULL) {
        sluice_batch_release(oldest->batch);
    }
}

static int step(struct accelerator *accelerator, sluice_batch *batch, double asked, double got)
{
    struct emulated *self = (struct emulated *)accelerator;
    const double start = fmax(got, self->last_end);
    struct bench_step record = {.asked = asked, .got = got, .reached = start, .begin = start};
    self->last_end = start + accelerator->step_s;
    if (accelerator->ahead == 0) {
        clock_sleep_until(self->last_end);
        self->last_end = clock_seconds();
    }
    record.end = self->last_end;
    bench_steps_add(self->steps, &record);
    self->ring[self->begun++ % RING] = (struct running){.batch = batch, .end = record.end};
    while (self->begun - self->over > accelerator->ahead) {
        end_oldest(self);
    }
    return TOOL_FINE;
}

static int finish(struct accelerator *accelerator)
{
    struct emulated *self = (struct emulated *)accelerator;
    while (self->over < self->begun) {
        end_oldest(self);
    }
    return TOOL_FINE;
}

static void destroy(struct accelerator *accelerator)
{
    free(accelerator);
}

struct accelerator *emulated_open(double step_s, uint32_t ahead)
{
    static const struct accelerator_ops ops = {
        .begin = begin, .copy = copy, .step = step, .finish = finish, .close = destroy};
    assert(ahead <= BENCH_AHEAD_MAX);
    struct emulated *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return NULL;
    }
    self->accelerator = (struct accelerator){.ops = &ops, .step_s = step_s, .ahead = ahead};
    snprintf(
        self->accelerator.text, sizeof self->accelerator.text,
        "emulated: steps take time and nothing else, no real device; the host is at most %" PRIu32
        " steps ahead",
        ahead);
    return &self->accelerator;
}
