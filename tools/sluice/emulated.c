/* SPDX-License-Identifier: Apache-2.0 */
#include "emulated.h"

#include "clock.h"

#include <math.h>
#include <stdlib.h>

void emulated_begin(struct emulated *emulated, double step_s)
{
    *emulated = (struct emulated){.step_s = step_s};
}

void emulated_free(struct emulated *emulated)
{
    free(emulated->waits);
    emulated->waits = NULL;
}

static bool reserve(struct emulated *emulated)
{
    if (emulated->steps < emulated->capacity) {
        return true;
    }
    size_t capacity = emulated->capacity == 0 ? 1024 : 2 * emulated->capacity;
    double *waits = realloc(emulated->waits, capacity * sizeof *waits);
    if (waits == NULL) {
        return false;
    }
    emulated->waits = waits;
    emulated->capacity = capacity;
    return true;
}

bool emulated_record(struct emulated *emulated, double got, double done)
{
    if (!emulated->started) {
        emulated->started = true;
        emulated->first_end = done;
        emulated->last_end = done;
        return true;
    }
    if (!reserve(emulated)) {
        return false;
    }
    emulated->waits[emulated->steps++] = got - emulated->last_end;
    emulated->slept += done - got;
    emulated->last_end = done;
    return true;
}

bool emulated_step(struct emulated *emulated)
{
    double got = clock_seconds();
    clock_sleep_until(got + emulated->step_s);
    return emulated_record(emulated, got, clock_seconds());
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Nearest rank of the sorted waits. */
static double percentile_ms(const struct emulated *emulated, double part)
{
    double rank = ceil(part * (double)emulated->steps);
    size_t index = rank < 1 ? 0 : (size_t)rank - 1;
    return emulated->waits[index] * 1e3;
}

struct emulated_figures emulated_figures(struct emulated *emulated)
{
    struct emulated_figures figures = {.steps = emulated->steps, NAN, NAN, NAN, NAN, NAN};
    if (emulated->steps == 0) {
        return figures;
    }
    double window = emulated->last_end - emulated->first_end;
    qsort(emulated->waits, emulated->steps, sizeof *emulated->waits, compare);
    figures.au_strict = (double)emulated->steps * emulated->step_s / window;
    figures.au_mlperf = emulated->slept / window;
    figures.wait_p50_ms = percentile_ms(emulated, 0.5);
    figures.wait_p99_ms = percentile_ms(emulated, 0.99);
    figures.wait_max_ms = percentile_ms(emulated, 1);
    return figures;
}
