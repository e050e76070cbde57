/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for the verdict, from the limiting part to the advice. Main thread; pure. */
#include "bottleneck.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A stage is the limit when it is busy for more than this part of the time. */
static const double busy_limit = 0.85;
/* A consumer that waits less than this is fed: the usual bound for "GPU-bound". */
static const double fed_limit = 0.02;
/* A queue that is nearly empty this often starves the stage after it. Its mean depth is less
 * reliable, because free slots also limit the samples in flight. */
static const double starved_limit = 0.5;
/* With reads in flight for less than this fraction of the time, reading is idle. */
static const double idle_limit = 0.1;

double bottleneck_queue_fill(const sluice_stage_stats *stage)
{
    double samples = 0;
    double sum = 0;
    for (int bin = 0; bin < SLUICE_HISTOGRAM_BINS; bin++) {
        samples += (double)stage->depth[bin];
        sum += (double)stage->depth[bin] * bin;
    }
    return samples > 0 ? sum / samples / (SLUICE_HISTOGRAM_BINS - 1) : 0;
}

double bottleneck_queue_empty(const sluice_stage_stats *stage)
{
    double samples = 0;
    for (int bin = 0; bin < SLUICE_HISTOGRAM_BINS; bin++) {
        samples += (double)stage->depth[bin];
    }
    return samples > 0 ? (double)stage->depth[0] / samples : 0;
}

static double busy_share(const struct bottleneck_run *run, uint64_t busy_ns, double threads)
{
    return (double)busy_ns * 1e-9 / (threads * run->seconds);
}

static uint64_t workers_busy_ns(const struct bottleneck_run *run)
{
    return run->stages->decode.busy_ns + run->stages->augment.busy_ns;
}

static double workers_share(const struct bottleneck_run *run)
{
    return busy_share(run, workers_busy_ns(run), run->stats->workers);
}

enum bottleneck bottleneck_find(const struct bottleneck_run *run)
{
    const struct bottleneck_stages *stages = run->stages;
    if (run->batches < BOTTLENECK_BATCHES_LEAST) {
        return BOTTLENECK_UNKNOWN;
    }
    if (run->consumer != CONSUMER_FREE && run->data_idle < fed_limit) {
        return BOTTLENECK_CONSUMER;
    }
    if (workers_share(run) >= busy_limit) {
        return stages->decode.busy_ns >= stages->augment.busy_ns ? BOTTLENECK_DECODE
                                                                 : BOTTLENECK_AUGMENT;
    }
    if (busy_share(run, stages->upload.busy_ns, 1) >= busy_limit) {
        return BOTTLENECK_COPY;
    }
    if (bottleneck_queue_empty(&stages->decode) >= starved_limit) {
        return BOTTLENECK_READ;
    }
    return BOTTLENECK_NONE;
}

static void describe_reads(const struct bottleneck_run *run, char *text, size_t bytes)
{
    double share = busy_share(run, run->stages->read.busy_ns, 1);
    if (share < idle_limit) {
        snprintf(text, bytes, "reads idle");
    } else {
        snprintf(text, bytes, "reads in flight %.0f %% of the time", 100 * share);
    }
}

/* Returns how many more cores the workers need for the step, each as fast as one of theirs. */
static double cores_missing(const struct bottleneck_run *run)
{
    double busy_s = (double)workers_busy_ns(run) * 1e-9;
    double needed = run->rows_per_s * busy_s / (double)run->stats->samples;
    return needed - fmin(run->stats->workers, run->processors);
}

/* Returns whether packing helps: only decoding is faster from shards. */
static bool packing_helps(const struct bottleneck_run *run)
{
    return run->packing != NULL && run->stages->decode.busy_ns >= run->stages->augment.busy_ns;
}

static void describe_packing(const struct bottleneck_run *run, char *text, size_t bytes)
{
    text[0] = '\0';
    if (packing_helps(run)) {
        snprintf(text, bytes, "packing (`sluice pack`) would help%s%s; ",
                 run->packing[0] != '\0' ? ": " : "", run->packing);
    }
}

/* Adds the dataset's advice: all work on a sample's bytes takes longer if they must be unpacked
 * first. */
static void add_advice(const struct bottleneck_run *run, char *text, size_t bytes)
{
    if (run->advice != NULL) {
        const size_t used = strlen(text);
        snprintf(text + used, bytes - used, "; it is %s", run->advice);
    }
}

static void describe_help(const struct bottleneck_run *run, char *text, size_t bytes)
{
    const sluice_loader_stats *stats = run->stats;
    describe_packing(run, text, bytes);
    const bool packing = text[0] != '\0';
    bytes -= strlen(text);
    text += strlen(text);
    if (stats->workers < run->processors) {
        snprintf(text, bytes, "more --workers would help (%u processors)", run->processors);
    } else if (run->consumer == CONSUMER_FREE) {
        snprintf(text, bytes, packing ? "so would more cores" : "only more cores would help");
    } else if (cores_missing(run) >= 0.05) {
        snprintf(text, bytes, "%.1f more cores would feed this step", cores_missing(run));
    } else {
        snprintf(text, bytes, "they could just feed this step if nothing else ran");
    }
}

static void describe_workers(const struct bottleneck_run *run, const char *stage, char *text,
                             size_t bytes)
{
    const sluice_loader_stats *stats = run->stats;
    char reads[64];
    char help[320];
    describe_reads(run, reads, sizeof reads);
    describe_help(run, help, sizeof help);
    double share = workers_share(run);
    snprintf(text, bytes,
             "%s-bound: %.0f of %u workers busy %.0f %% (%.0f %% of that decoding), %s; %s", stage,
             round(fmin(share, 1) * stats->workers), stats->workers, 100 * share,
             100 * (double)run->stages->decode.busy_ns / (double)workers_busy_ns(run), reads, help);
}

const sluice_operation_stats *bottleneck_operation(const struct bottleneck_stages *stages)
{
    const sluice_operation_stats *most = NULL;
    for (uint32_t i = 0; i < stages->operation_count; i++) {
        const sluice_operation_stats *one = &stages->operations[i];
        most = one->busy_ns > (most != NULL ? most->busy_ns : 0) ? one : most;
    }
    return most;
}

/* Adds the most expensive operation, if known. */
static void add_operation(const struct bottleneck_run *run, char *text, size_t bytes)
{
    const sluice_operation_stats *most = bottleneck_operation(run->stages);
    const size_t used = strlen(text);
    if (most != NULL && run->stages->augment.busy_ns > 0) {
        snprintf(text + used, bytes - used, "; %s takes %.0f %% of augmenting", most->name,
                 100 * fmin((double)most->busy_ns / (double)run->stages->augment.busy_ns, 1));
    }
}

static void describe_consumer(const struct bottleneck_run *run, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s: data-caused idle %.1f %% (workers busy %.0f %%)",
             run->consumer == CONSUMER_GPU ? "GPU-bound" : "accelerator-bound (emulated)",
             100 * fmax(run->data_idle, 0), 100 * workers_share(run));
}

/* For compressed files, adds how many threads unpacked all the time, and the remedy. */
static bool describe_unpacking(const struct bottleneck_run *run, char *text, size_t bytes)
{
    const double threads = busy_share(run, run->stats->unpack_ns, 1);
    if (threads < busy_limit) {
        return false;
    }
    snprintf(text, bytes,
             "unpack-bound: workers busy only %.0f %%, their queue empty for %.0f %% of the "
             "samples, while %.1f threads unpacked compressed files (each by one thread, 8 at a "
             "time); more and smaller files, a quicker compression, or packing (`sluice pack`) "
             "would help",
             100 * workers_share(run), 100 * bottleneck_queue_empty(&run->stages->decode), threads);
    return true;
}

static void describe_read(const struct bottleneck_run *run, char *text, size_t bytes)
{
    if (describe_unpacking(run, text, bytes)) {
        return;
    }
    snprintf(text, bytes,
             "read-bound: workers busy only %.0f %%, their queue empty for %.0f %% of the samples "
             "(%s); %s %swould help",
             100 * workers_share(run), 100 * bottleneck_queue_empty(&run->stages->decode),
             run->store != NULL ? run->store : run->stats->io_backend,
             run->store != NULL ? "more bandwidth, or a cache on a local disk (--remote-cache),"
                                : "faster storage",
             run->files ? "or packed shards (`sluice pack`), which are read in long pieces, " : "");
}

/* Describes the copy in batches: bytes are known only as stored, not as copied. */
static void describe_copy(const struct bottleneck_run *run, char *text, size_t bytes)
{
    const sluice_stage_stats *upload = &run->stages->upload;
    snprintf(
        text, bytes,
        "copy-bound: copies to the device in flight %.0f %% of the time, %.1f batches/s, slots "
        "pinned: %s; a smaller dtype (u8) would help",
        100 * busy_share(run, upload->busy_ns, 1), (double)upload->items / run->seconds,
        run->stats->pinning);
}

void bottleneck_describe(const struct bottleneck_run *run, char *text, size_t bytes)
{
    double busy = 100 * workers_share(run);
    switch (bottleneck_find(run)) {
    case BOTTLENECK_CONSUMER:
        describe_consumer(run, text, bytes);
        break;
    case BOTTLENECK_DECODE:
        describe_workers(run, "decode", text, bytes);
        add_advice(run, text, bytes);
        break;
    case BOTTLENECK_AUGMENT:
        describe_workers(run, "augment", text, bytes);
        add_operation(run, text, bytes);
        break;
    case BOTTLENECK_READ:
        describe_read(run, text, bytes);
        add_advice(run, text, bytes);
        break;
    case BOTTLENECK_COPY:
        describe_copy(run, text, bytes);
        break;
    case BOTTLENECK_NONE:
        snprintf(text, bytes,
                 "no stage is busy all the time (workers %.0f %%): the run may be too short, or "
                 "other programs use the processors",
                 busy);
        break;
    case BOTTLENECK_UNKNOWN:
        snprintf(text, bytes, "too few steps for a verdict: %" PRIu64 " of %d", run->batches,
                 (int)BOTTLENECK_BATCHES_LEAST);
        break;
    }
}

/* ---- the advice ---- */

static void advise_cpu(const struct bottleneck_run *run, const char *stage, char *text,
                       size_t bytes)
{
    const char *pack = packing_helps(run) ? "pack the dataset (`sluice pack`), or " : "";
    const double cores = cores_missing(run);
    if (run->stats->workers < run->processors) {
        snprintf(text, bytes, "%s limits: %sgive more --workers (of %u CPUs)", stage, pack,
                 run->processors);
    } else if (cores >= 0.05) {
        snprintf(text, bytes, "%s limits: %suse %.1f more CPU cores", stage, pack, cores);
    } else {
        snprintf(text, bytes, "%s just about keeps up: %srun nothing else on these CPUs", stage,
                 pack);
    }
}

static void advise_reading(const struct bottleneck_run *run, char *text, size_t bytes)
{
    if (busy_share(run, run->stats->unpack_ns, 1) >= busy_limit) {
        snprintf(text, bytes, "unpacking limits: pack the dataset (`sluice pack`)");
    } else {
        snprintf(text, bytes, "reading limits: %suse %s",
                 run->files ? "pack the dataset (`sluice pack`), or " : "",
                 run->store != NULL ? "a cache on a local disk (--remote-cache)"
                                    : "faster storage");
    }
}

void bottleneck_advise(const struct bottleneck_run *run, char *text, size_t bytes)
{
    const enum bottleneck found = bottleneck_find(run);
    if (found == BOTTLENECK_UNKNOWN) {
        snprintf(text, bytes,
                 "too few steps for a verdict: %" PRIu64 " of %d; give more --steps or --seconds",
                 run->batches, (int)BOTTLENECK_BATCHES_LEAST);
        return;
    }
    char advice[192] = "";
    switch (found) {
    case BOTTLENECK_DECODE:
        advise_cpu(run, "decoding", advice, sizeof advice);
        break;
    case BOTTLENECK_AUGMENT:
        advise_cpu(run, "augmentation", advice, sizeof advice);
        break;
    case BOTTLENECK_READ:
        advise_reading(run, advice, sizeof advice);
        break;
    case BOTTLENECK_COPY:
        snprintf(advice, sizeof advice, "copies to the device limit: use a smaller --dtype");
        break;
    case BOTTLENECK_NONE:
        snprintf(advice, sizeof advice,
                 "no stage is busy all the time: measure longer (--seconds "
                 "30s), with nothing else running");
        break;
    case BOTTLENECK_CONSUMER:
    case BOTTLENECK_UNKNOWN:
        snprintf(advice, sizeof advice, "data loading keeps up, there is nothing to do");
        break;
    }
    snprintf(text, bytes, "the %s for data %.1f %% of the time; %s",
             run->consumer == CONSUMER_GPU ? "GPU waited" : "accelerator would wait",
             100 * fmax(run->data_idle, 0), advice);
}

static void add_stage(sluice_stage_stats *sum, const sluice_stage_stats *before,
                      const sluice_stage_stats *after)
{
    sum->busy_ns += after->busy_ns - before->busy_ns;
    sum->items += after->items - before->items;
    for (int bin = 0; bin < SLUICE_HISTOGRAM_BINS; bin++) {
        sum->depth[bin] += after->depth[bin] - before->depth[bin];
    }
}

void bottleneck_add_stats(sluice_loader_stats *sum, const sluice_loader_stats *before,
                          const sluice_loader_stats *after)
{
    const sluice_loader_stats old = *sum;
    *sum = *after;
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name, not a value. */
#define ADD(field) sum->field = old.field + after->field - before->field
    ADD(samples);
    ADD(batches);
    ADD(bytes_wanted);
    ADD(bytes_read);
    ADD(unpacked_bytes);
    ADD(unpack_ns);
    ADD(unpack_restarts);
    ADD(reads);
    ADD(reads_retried);
    ADD(reads_stalled);
    ADD(bad_samples);
    ADD(replaced_samples);
    ADD(host_wait_ns);
    ADD(steps_timed);
    ADD(stream_stall_ns);
    ADD(stream_busy_ns);
    ADD(stream_span_ns);
    for (int bin = 0; bin < SLUICE_HISTOGRAM_BINS; bin++) {
        ADD(ready_depth[bin]);
    }
    for (int bin = 0; bin < SLUICE_WAIT_BINS; bin++) {
        ADD(host_waits[bin]);
    }
#undef ADD
}

void bottleneck_add_stages(struct bottleneck_stages *sum, const struct bottleneck_stages *before,
                           const struct bottleneck_stages *after)
{
    add_stage(&sum->read, &before->read, &after->read);
    add_stage(&sum->decode, &before->decode, &after->decode);
    add_stage(&sum->augment, &before->augment, &after->augment);
    add_stage(&sum->upload, &before->upload, &after->upload);
    for (uint32_t i = 0; i < after->operation_count; i++) {
        const uint64_t earlier = i < before->operation_count ? before->operations[i].busy_ns : 0;
        const uint64_t so_far = i < sum->operation_count ? sum->operations[i].busy_ns : 0;
        sum->operations[i] = after->operations[i];
        sum->operations[i].busy_ns = so_far + after->operations[i].busy_ns - earlier;
    }
    sum->operation_count = after->operation_count;
}
