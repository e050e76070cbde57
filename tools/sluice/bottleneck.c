/* SPDX-License-Identifier: Apache-2.0 */
#include "bottleneck.h"

#include <stdio.h>

/* A stage is the limit when it is busy for more than this part of the time. */
static const double busy_limit = 0.85;
/* A consumer that waits less than this is fed: the bound that the field uses for "GPU-bound". */
static const double fed_limit = 0.02;
/* A queue that is found next to empty this often starves the stage behind it. Its mean depth says
 * less: free slots, too, bound how many samples are on their way. */
static const double starved_limit = 0.5;

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

static double busy_share(uint64_t busy_ns, double threads, double seconds)
{
    return (double)busy_ns * 1e-9 / (threads * seconds);
}

static double workers_share(const struct bottleneck_run *run)
{
    const sluice_loader_stats *stats = run->stats;
    return busy_share(stats->decode.busy_ns + stats->augment.busy_ns, stats->workers, run->seconds);
}

enum bottleneck bottleneck_find(const struct bottleneck_run *run)
{
    const sluice_loader_stats *stats = run->stats;
    if (run->step_s > 0 && run->wait_share < fed_limit) {
        return BOTTLENECK_CONSUMER;
    }
    if (workers_share(run) >= busy_limit) {
        return stats->decode.busy_ns >= stats->augment.busy_ns ? BOTTLENECK_DECODE
                                                               : BOTTLENECK_AUGMENT;
    }
    if (busy_share(stats->upload.busy_ns, 1, run->seconds) >= busy_limit) {
        return BOTTLENECK_UPLOAD;
    }
    if (bottleneck_queue_empty(&stats->decode) >= starved_limit) {
        return BOTTLENECK_READ;
    }
    return BOTTLENECK_NONE;
}

static void describe_workers(const struct bottleneck_run *run, const char *stage, char *text,
                             size_t bytes)
{
    const sluice_loader_stats *stats = run->stats;
    double both = (double)(stats->decode.busy_ns + stats->augment.busy_ns);
    const char *help = stats->workers < run->processors
                           ? "more --workers would help"
                           : "every processor is used, so only more processors would help";
    snprintf(text, bytes,
             "%s limits: the %u workers are busy %.0f %% of the time, %.0f %% of that decoding and "
             "%.0f %% augmenting; %s",
             stage, stats->workers, 100 * workers_share(run),
             100 * (double)stats->decode.busy_ns / both,
             100 * (double)stats->augment.busy_ns / both, help);
}

void bottleneck_describe(const struct bottleneck_run *run, char *text, size_t bytes)
{
    const sluice_loader_stats *stats = run->stats;
    double busy = 100 * workers_share(run);
    switch (bottleneck_find(run)) {
    case BOTTLENECK_CONSUMER:
        snprintf(text, bytes,
                 "the training step limits: it waited for data %.1f %% of the time, and the "
                 "workers were busy for %.0f %%",
                 100 * run->wait_share, busy);
        break;
    case BOTTLENECK_DECODE:
        describe_workers(run, "decoding", text, bytes);
        break;
    case BOTTLENECK_AUGMENT:
        describe_workers(run, "augmenting", text, bytes);
        break;
    case BOTTLENECK_READ:
        snprintf(
            text, bytes,
            "reading limits: the workers are busy only %.0f %% of the time and find their queue "
            "empty for %.0f %% of the samples (%s); faster storage or packed shards "
            "(`sluice pack`) would help",
            busy, 100 * bottleneck_queue_empty(&stats->decode), stats->io_backend);
        break;
    case BOTTLENECK_UPLOAD:
        snprintf(text, bytes,
                 "uploading limits: the copy to the device is busy %.0f %% of the time; a smaller "
                 "dtype (u8) would help",
                 100 * busy_share(stats->upload.busy_ns, 1, run->seconds));
        break;
    case BOTTLENECK_NONE:
        snprintf(text, bytes,
                 "no stage is busy all the time (workers %.0f %%): epochs may be too short, or "
                 "other programs use the processors",
                 busy);
        break;
    }
}
