/* SPDX-License-Identifier: Apache-2.0 */
/* Warm-up, then the measured epochs, on loaders of their own. Main thread. */
#include "run.h"

#include "clock.h"
#include "exit_code.h"
#include "files.h"
#include "interrupt.h"
#include "progress.h"
#include "report.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const double warm_up_limit_s = 5;
static const double short_run_s = 3; /* of a run whose length was not given */
static const double long_run_s = 10; /* if an epoch takes longer than the warm-up */
static const uint64_t epochs_min = 2;

/* One pass of a loader over epochs, until it ends or is stopped. */
struct pass {
    const struct bench_plan *plan;
    sluice_loader *loader;
    double deadline;                /* on clock_seconds' scale; INFINITY: none */
    double first_limit;             /* seconds after it in which the first batch may come */
    double first_batch, last_batch; /* times of arrival; 0: none yet */
    uint64_t samples, batches, bytes;
    struct box_counts boxes;
    bool stopped; /* by the deadline or Ctrl-C */
    bool shown;   /* with a progress line */
    struct progress progress;
    double start;
    uint64_t epoch_batches;
};

static void show_progress(struct pass *pass)
{
    const struct bench_plan *plan = pass->plan;
    if (!pass->shown) {
        return;
    }
    if (plan->seconds > 0) {
        const double done = fmin(pass->last_batch - pass->start, plan->seconds);
        progress_update(&pass->progress, (uint64_t)(done * 1e3), (uint64_t)(plan->seconds * 1e3));
    } else {
        progress_update(&pass->progress, pass->batches, plan->epochs * pass->epoch_batches);
    }
}

static int open_loader(const struct bench_plan *plan, uint64_t end_epoch, sluice_loader **loader)
{
    struct bench_source source = plan->source;
    source.options.end_epoch = end_epoch;
    return bench_loader_open(&source, loader);
}

static void use_batch(struct pass *pass, sluice_batch *batch)
{
    pass->last_batch = clock_seconds();
    pass->first_batch = pass->batches == 0 ? pass->last_batch : pass->first_batch;
    pass->samples += sluice_batch_rows(batch);
    pass->bytes += bench_batch_bytes(batch);
    box_counts_add(&pass->boxes, batch);
    pass->batches++;
    sluice_batch_release(batch);
}

static bool is_over(const struct pass *pass)
{
    const double limit = pass->batches == 0 ? pass->first_limit : 0;
    return clock_seconds() >= pass->deadline + limit;
}

static int run_epoch(struct pass *pass, uint64_t epoch)
{
    sluice_status status = sluice_loader_start_epoch(pass->loader, epoch);
    while (status >= 0 && !pass->stopped) {
        sluice_batch *batch = NULL;
        /* Waits a second at a time, so that Ctrl-C is noticed even if storage hangs. */
        status = sluice_loader_next(pass->loader, &batch, 1000000000);
        if (status == SLUICE_END) {
            return TOOL_FINE;
        }
        if (status == SLUICE_OK) {
            use_batch(pass, batch);
            show_progress(pass);
        }
        pass->stopped = interrupt_pending() || is_over(pass);
    }
    return status < 0 ? bench_loader_failed(pass->loader, status) : TOOL_FINE;
}

int bench_warm_up(const struct bench_plan *plan, struct bench_warm_up *warm_up)
{
    struct pass pass = {.plan = plan};
    double start = clock_seconds();
    int code = open_loader(plan, 1, &pass.loader);
    if (code != TOOL_FINE) {
        return code;
    }
    report_note("warming up, for %.0f s at most", warm_up_limit_s);
    pass.deadline = start + warm_up_limit_s;
    code = run_epoch(&pass, 0);
    *warm_up = (struct bench_warm_up){.first_batch_ms = (pass.first_batch - start) * 1e3,
                                      .seconds = pass.last_batch - start,
                                      .batches = pass.batches,
                                      .epoch_batches = sluice_loader_steps(pass.loader),
                                      .whole_epoch = !pass.stopped};
    report_warnings(pass.loader);
    sluice_loader_close(pass.loader);
    if (code == TOOL_FINE && interrupt_pending()) {
        report("interrupted during the warm-up: nothing was measured");
        return TOOL_INTERRUPTED;
    }
    if (code == TOOL_FINE && pass.batches == 0) {
        report("no batch came within the warm-up of %.0f s, so nothing was measured: check the "
               "speed of the storage, or give a smaller --batch",
               warm_up_limit_s);
        return TOOL_FAILED;
    }
    return code;
}

void bench_choose_length(struct bench_plan *plan, const struct bench_warm_up *warm_up)
{
    if (plan->epochs > 0 || plan->seconds > 0) {
        return;
    }
    if (!warm_up->whole_epoch) {
        plan->seconds = long_run_s;
        return;
    }
    plan->at_least_s = short_run_s;
    double needed = ceil(short_run_s / fmax(warm_up->seconds, 1e-6));
    plan->epochs = needed > (double)epochs_min ? (uint64_t)needed : epochs_min;
}

double bench_batch_s(const struct bench_warm_up *warm_up)
{
    const double first_s = warm_up->first_batch_ms * 1e-3;
    return warm_up->batches > 1 ? (warm_up->seconds - first_s) / (double)(warm_up->batches - 1)
                                : warm_up->seconds;
}

double bench_expected_s(const struct bench_plan *plan, const struct bench_warm_up *warm_up)
{
    const double batches = (double)plan->epochs * (double)warm_up->epoch_batches;
    return plan->seconds > 0 ? plan->seconds
                             : warm_up->first_batch_ms * 1e-3 + batches * bench_batch_s(warm_up);
}

static int run_epochs(struct pass *pass, struct bench_result *result)
{
    const struct bench_plan *plan = pass->plan;
    uint64_t end = plan->epochs > 0 ? plan->epochs : UINT64_MAX - 1;
    for (uint64_t epoch = 1; epoch <= end && !pass->stopped; epoch++) {
        int code = run_epoch(pass, epoch);
        if (code != TOOL_FINE) {
            return code;
        }
        result->epochs += !pass->stopped;
    }
    return TOOL_FINE;
}

static int run_pass(struct pass *pass, struct bench_result *result)
{
    progress_begin(&pass->progress, pass->plan->seconds > 0 ? NULL : "batches");
    pass->shown = true;
    pass->epoch_batches = sluice_loader_steps(pass->loader);
    remote_use_begin(&result->remote);
    double start = clock_seconds();
    double cpu = clock_process_cpu();
    pass->start = start;
    if (pass->plan->seconds > 0) {
        pass->deadline = start + pass->plan->seconds;
        pass->first_limit = warm_up_limit_s; /* a busy machine may deliver none in a short time */
    }
    int code = run_epochs(pass, result);
    /* CPU time and decoded rows at the same moment: both include rows decoded ahead. */
    result->cpu_s = clock_process_cpu() - cpu;
    bench_loader_stats(pass->loader, &result->stats, &result->stages);
    remote_use_end(&result->remote);
    cache_use_look(&result->cache, pass->loader,
                   pass->epoch_batches * pass->plan->source.options.batch_size, &result->remote);
    result->interrupted = interrupt_pending();
    result->samples = pass->samples;
    result->bytes = pass->bytes;
    result->boxes = pass->boxes;
    result->batches = pass->batches;
    result->seconds = pass->last_batch - start;
    result->decoded = pass->stopped && result->stats.samples > pass->samples ? result->stats.samples
                                                                             : pass->samples;
    if (pass->samples > 0 && pass->epoch_batches > 0) {
        result->remote.epochs = (double)pass->batches / (double)pass->epoch_batches *
                                (double)result->decoded / (double)pass->samples;
    }
    progress_end(&pass->progress);
    return code;
}

static int measure_once(const struct bench_plan *plan, struct bench_result *result)
{
    *result = (struct bench_result){0};
    struct pass pass = {.plan = plan, .deadline = INFINITY, .boxes = box_counts_of(plan->columns)};
    /* A timed run does not know its last epoch: 0. */
    int code = open_loader(plan, plan->seconds > 0 ? 0 : plan->epochs + 1, &pass.loader);
    if (code != TOOL_FINE) {
        return code;
    }
    code = run_pass(&pass, result);
    report_warnings(pass.loader);
    sluice_loader_close(pass.loader);
    if (code == TOOL_FINE && pass.batches == 0) {
        report("no batch came in the time given: nothing was measured; give more --seconds");
        return result->interrupted ? TOOL_INTERRUPTED : TOOL_FAILED;
    }
    return code;
}

int bench_measure(struct bench_plan *plan, struct bench_result *result)
{
    const char *quarantine = plan->source.options.quarantine_path;
    const int64_t before = quarantine != NULL ? files_size(quarantine) : 0;
    int code = measure_once(plan, result);
    while (code == TOOL_FINE && !result->interrupted && result->seconds < plan->at_least_s) {
        /* The warm-up was slower than the run: adds a fifth, so that this ends. */
        double factor = 1.2 * plan->at_least_s / result->seconds;
        plan->epochs = (uint64_t)ceil((double)plan->epochs * factor);
        if (quarantine != NULL) {
            (void)!truncate(quarantine,
                            before > 0 ? before : 0); /* a FIFO keeps both runs' lines */
        }
        code = measure_once(plan, result);
    }
    return code;
}
