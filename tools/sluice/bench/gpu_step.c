/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and events of the driver, loaded by dlopen. Main thread. `ahead` events are used in
 * turn; a step is timed when the beginning of the next one is known. */
#include "gpu_step.h"

#include "clock.h"
#include "exit_code.h"
#include "feed.h"
#include "gpu_driver.h"
#include "gpu_kernel.h"
#include "interrupt.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 256, RING = BENCH_AHEAD_MAX + 2 };
/* Length of a launch, about that of a real step's kernels; a driver's queue is limited, and the
 * steps ahead must fit. */
static const double launch_s = 0.5e-3;
static const double launches_most = 256;
static const double warm_s = 1; /* until an idle device has raised its clocks */
static const double tolerance = 0.002, tolerance_most = 0.02;
enum { CALIBRATION_ROUNDS = 12, CALIBRATION_STEPS = 5 };

struct mark {
    gpu_event reached, begin, end;
    double asked, got;
};

struct gpu_step {
    struct accelerator accelerator; /* first: the two are one */
    const struct gpu_driver *cu;
    gpu_device device;
    gpu_context context; /* primary; retained and current when not NULL */
    gpu_module module;
    gpu_function spin;
    gpu_stream stream;
    gpu_address memory; /* of the blocking copy; 0: none yet */
    size_t memory_bytes;
    unsigned blocks, launches;
    uint64_t spin_ns; /* of a launch */
    gpu_event origin;
    struct mark ring[RING];
    uint64_t queued, recorded; /* steps of this arm */
    double last_end;           /* of step `recorded` - 1, or origin */
    struct bench_steps *steps;
    char name[64];
};

static int failed(const struct gpu_step *self, const char *call, gpu_result code)
{
    const char *name = NULL;
    if (self->cu->error_name(code, &name) != 0 || name == NULL) {
        name = "an error without a name";
    }
    report("the GPU failed: %s: %s (%u)", call, name, code);
    return TOOL_FAILED;
}

/* Ends the function at the first call that fails. */
#define TRY(self, call, ...)                              \
    do {                                                  \
        gpu_result code_ = (self)->cu->call(__VA_ARGS__); \
        if (code_ != 0) {                                 \
            return failed((self), #call, code_);          \
        }                                                 \
    } while (0)

static struct mark *mark_of(struct gpu_step *self, uint64_t step)
{
    return &self->ring[step % RING];
}

static int launch_step(struct gpu_step *self)
{
    void *arguments[] = {&self->spin_ns};
    for (unsigned i = 0; i < self->launches; i++) {
        TRY(self, launch, self->spin, self->blocks, 1, 1, THREADS, 1, 1, 0, self->stream, arguments,
            NULL);
    }
    return TOOL_FINE;
}

/* ---- steps ---- */

static int since_last(struct gpu_step *self, gpu_event event, double *when)
{
    float ms = 0;
    gpu_event last = self->recorded > 0 ? mark_of(self, self->recorded - 1)->end : self->origin;
    TRY(self, event_elapsed, &ms, last, event);
    *when = self->last_end + (double)ms * 1e-3;
    return TOOL_FINE;
}

/* Waits for the oldest step in progress and records it. */
static int settle(struct gpu_step *self)
{
    const struct mark *mark = mark_of(self, self->recorded);
    struct bench_step step = {.asked = mark->asked, .got = mark->got};
    TRY(self, event_synchronize, mark->end);
    int code = since_last(self, mark->reached, &step.reached);
    if (code == TOOL_FINE) {
        code = since_last(self, mark->begin, &step.begin);
    }
    if (code == TOOL_FINE) {
        code = since_last(self, mark->end, &step.end);
    }
    if (code == TOOL_FINE) {
        self->recorded++;
        self->last_end = step.end;
        bench_steps_add(self->steps, &step);
    }
    return code;
}

static int finish(struct accelerator *accelerator)
{
    struct gpu_step *self = (struct gpu_step *)accelerator;
    int code = TOOL_FINE;
    while (self->recorded < self->queued && code == TOOL_FINE) {
        code = settle(self);
    }
    return code;
}

static int begin(struct accelerator *accelerator, struct bench_steps *steps)
{
    struct gpu_step *self = (struct gpu_step *)accelerator;
    self->steps = steps;
    self->queued = 0;
    self->recorded = 0;
    TRY(self, stream_synchronize, self->stream);
    TRY(self, event_record, self->origin, self->stream);
    TRY(self, event_synchronize, self->origin);
    self->last_end = clock_seconds();
    return TOOL_FINE;
}

/* Grows the memory; batches with texts differ in size. */
static int make_space(struct gpu_step *self, size_t bytes)
{
    if (self->memory != 0 && self->memory_bytes >= bytes) {
        return TOOL_FINE;
    }
    if (self->memory != 0) {
        TRY(self, memory_free, self->memory);
        self->memory = 0;
    }
    TRY(self, memory_alloc, &self->memory, bytes);
    self->memory_bytes = bytes;
    return TOOL_FINE;
}

static int copy_tensor(struct gpu_step *self, gpu_address to, const sluice_tensor *tensor)
{
    if (tensor->size_bytes > 0) {
        TRY(self, copy_to_device, to, tensor->data, tensor->size_bytes, self->stream);
    }
    return TOOL_FINE;
}

static int copy_columns(struct gpu_step *self, const sluice_batch *batch)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    gpu_address to = self->memory;
    int code = TOOL_FINE;
    for (uint32_t i = 0; code == TOOL_FINE && i < sluice_batch_columns(batch); i++) {
        if (sluice_batch_get_column(batch, i, &tensor) < 0) {
            report("a column of a batch is missing; please report this as a bug");
            return TOOL_FAILED;
        }
        code = copy_tensor(self, to, &tensor);
        to += tensor.size_bytes;
    }
    return code;
}

static int copy(struct accelerator *accelerator, const sluice_batch *batch)
{
    struct gpu_step *self = (struct gpu_step *)accelerator;
    int code = make_space(self, bench_batch_bytes(batch));
    if (code == TOOL_FINE) {
        code = copy_columns(self, batch);
    }
    if (code == TOOL_FINE) {
        TRY(self, stream_synchronize, self->stream);
    }
    return code;
}

static int batch_failed(const char *call, sluice_status status)
{
    report("%s failed: %s", call, sluice_status_name(status));
    return report_exit_code(status);
}

static int queue_step(struct gpu_step *self, sluice_batch *batch)
{
    const struct mark *mark = mark_of(self, self->queued);
    TRY(self, event_record, mark->reached, self->stream);
    sluice_status status = batch == NULL ? SLUICE_OK : sluice_batch_wait(batch, self->stream);
    if (status < 0) {
        return batch_failed("sluice_batch_wait", status);
    }
    TRY(self, event_record, mark->begin, self->stream);
    int code = launch_step(self);
    if (code != TOOL_FINE) {
        return code;
    }
    TRY(self, event_record, mark->end, self->stream);
    return TOOL_FINE;
}

static int step(struct accelerator *accelerator, sluice_batch *batch, double asked, double got)
{
    struct gpu_step *self = (struct gpu_step *)accelerator;
    struct mark *mark = mark_of(self, self->queued);
    mark->asked = asked;
    mark->got = got;
    int code = queue_step(self, batch);
    if (batch != NULL) {
        sluice_status status = sluice_batch_release_on(batch, self->stream);
        if (status < 0 && code == TOOL_FINE) {
            code = batch_failed("sluice_batch_release_on", status);
        }
    }
    self->queued += code == TOOL_FINE;
    if (code == TOOL_FINE && self->queued - self->recorded > accelerator->ahead) {
        code = settle(self);
    }
    return code;
}

/* ---- calibration ---- */

/* Measures the mean length of some consecutive steps. */
static int time_steps(struct gpu_step *self, double *seconds)
{
    float ms = 0;
    const struct mark *mark = mark_of(self, 0);
    TRY(self, event_record, mark->begin, self->stream);
    for (int i = 0; i < CALIBRATION_STEPS; i++) {
        int code = launch_step(self);
        if (code != TOOL_FINE) {
            return code;
        }
    }
    TRY(self, event_record, mark->end, self->stream);
    TRY(self, event_synchronize, mark->end);
    TRY(self, event_elapsed, &ms, mark->begin, mark->end);
    *seconds = (double)ms * 1e-3 / CALIBRATION_STEPS;
    return TOOL_FINE;
}

static int warm_up(struct gpu_step *self)
{
    const double until = clock_seconds() + warm_s;
    int code = TOOL_FINE;
    double ignored;
    while (code == TOOL_FINE && clock_seconds() < until) {
        code = interrupt_pending() ? TOOL_INTERRUPTED : time_steps(self, &ignored);
    }
    return code;
}

static void describe(struct gpu_step *self, double wanted_s)
{
    snprintf(self->accelerator.text, sizeof self->accelerator.text,
             "%s: %u spin kernels a step, calibrated to %.3f ms (%.3f wanted)", self->name,
             self->launches, self->accelerator.step_s * 1e3, wanted_s * 1e3);
}

/* Adjusts the length of the launches until a step takes step_s; keeps the closest one. */
static int approach(struct gpu_step *self, double step_s)
{
    double spin_s = step_s / self->launches;
    double closest_s = INFINITY;
    uint64_t closest_ns = 0;
    for (int round = 0; round < CALIBRATION_ROUNDS; round++) {
        double took_s;
        self->spin_ns = (uint64_t)(spin_s * 1e9);
        int code = time_steps(self, &took_s);
        if (code != TOOL_FINE) {
            return code;
        }
        if (fabs(took_s - step_s) < fabs(closest_s - step_s)) {
            closest_s = took_s;
            closest_ns = self->spin_ns;
        }
        if (fabs(took_s / step_s - 1) < tolerance) {
            break;
        }
        spin_s = fmax(0, spin_s + (step_s - took_s) / self->launches);
    }
    self->spin_ns = closest_ns;
    self->accelerator.step_s = closest_s;
    return TOOL_FINE;
}

static int calibrate(struct gpu_step *self, double step_s)
{
    self->launches = (unsigned)fmin(launches_most, fmax(1, ceil(step_s / launch_s)));
    self->spin_ns = (uint64_t)(step_s / self->launches * 1e9);
    int code = warm_up(self);
    if (code == TOOL_FINE) {
        code = approach(self, step_s);
    }
    const double took_s = self->accelerator.step_s;
    if (code == TOOL_FINE && fabs(took_s / step_s - 1) > tolerance_most) {
        report("a step of %.3f ms is too short for this GPU: it takes %.3f ms; give a longer "
               "--step-ms",
               step_s * 1e3, took_s * 1e3);
        code = TOOL_FAILED;
    }
    describe(self, step_s);
    return code;
}

/* ---- life ---- */

static void close_events(struct gpu_step *self)
{
    for (int i = 0; i < RING; i++) {
        gpu_event events[] = {self->ring[i].reached, self->ring[i].begin, self->ring[i].end};
        for (int k = 0; k < 3; k++) {
            if (events[k] != NULL) {
                self->cu->event_destroy(events[k]);
            }
        }
    }
    if (self->origin != NULL) {
        self->cu->event_destroy(self->origin);
    }
}

static void destroy(struct accelerator *accelerator)
{
    struct gpu_step *self = (struct gpu_step *)accelerator;
    if (self->stream != NULL) {
        self->cu->stream_synchronize(self->stream);
    }
    close_events(self);
    if (self->memory != 0) {
        self->cu->memory_free(self->memory);
    }
    if (self->stream != NULL) {
        self->cu->stream_destroy(self->stream);
    }
    if (self->module != NULL) {
        self->cu->module_unload(self->module);
    }
    if (self->context != NULL) {
        gpu_context popped;
        self->cu->context_pop(&popped);
        self->cu->context_release(self->device);
    }
    free(self);
}

static int open_context(struct gpu_step *self, int ordinal)
{
    gpu_context context = NULL;
    TRY(self, init, 0);
    TRY(self, device_get, &self->device, ordinal);
    TRY(self, device_name, self->name, (int)sizeof self->name, self->device);
    TRY(self, context_retain, &context, self->device);
    gpu_result code = self->cu->context_push(context);
    if (code != 0) {
        self->cu->context_release(self->device);
        return failed(self, "context_push", code);
    }
    self->context = context;
    return TOOL_FINE;
}

static int open_events(struct gpu_step *self)
{
    TRY(self, event_create, &self->origin, 0);
    for (int i = 0; i < RING; i++) {
        TRY(self, event_create, &self->ring[i].reached, 0);
        TRY(self, event_create, &self->ring[i].begin, 0);
        /* The host sleeps in this wait, because other work needs the CPU. */
        TRY(self, event_create, &self->ring[i].end, GPU_EVENT_BLOCKING_SYNC);
    }
    return TOOL_FINE;
}

static int open_parts(struct gpu_step *self, int ordinal)
{
    int multiprocessors = 0;
    int threads = 0;
    int code = open_context(self, ordinal);
    if (code != TOOL_FINE) {
        return code;
    }
    TRY(self, device_attribute, &multiprocessors, GPU_ATTRIBUTE_MULTIPROCESSORS, self->device);
    TRY(self, device_attribute, &threads, GPU_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR, self->device);
    self->blocks = (unsigned)fmax(1, (double)multiprocessors * threads / THREADS);
    TRY(self, module_load, &self->module, gpu_spin_ptx);
    TRY(self, module_function, &self->spin, self->module, gpu_spin_name);
    TRY(self, stream_create, &self->stream, GPU_STREAM_NON_BLOCKING, 0);
    return open_events(self);
}

static int ordinal_of(const char *device)
{
    const char *colon = strchr(device, ':');
    return colon == NULL ? 0 : (int)strtol(colon + 1, NULL, 10);
}

struct accelerator *gpu_step_open(const char *device, double step_s, uint32_t ahead, int *code)
{
    static const struct accelerator_ops ops = {
        .begin = begin, .copy = copy, .step = step, .finish = finish, .close = destroy};
    char why[320];
    *code = TOOL_FAILED;
    const struct gpu_driver *cu = gpu_driver_open(why, sizeof why);
    if (cu == NULL) {
        report("%s", why);
        return NULL;
    }
    struct gpu_step *self = calloc(1, sizeof *self);
    if (self == NULL) {
        report("out of memory for the accelerator");
        return NULL;
    }
    self->cu = cu;
    self->accelerator = (struct accelerator){.ops = &ops, .ahead = ahead, .real = true};
    *code = open_parts(self, ordinal_of(device));
    if (*code == TOOL_FINE) {
        *code = calibrate(self, step_s);
    }
    if (*code != TOOL_FINE) {
        destroy(&self->accelerator);
        return NULL;
    }
    return &self->accelerator;
}
