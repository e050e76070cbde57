/* SPDX-License-Identifier: Apache-2.0 */
#include "feed.h"

#include "exit_code.h"
#include "interrupt.h"
#include "report.h"

#include <stddef.h>
#include <string.h>

/* Timeout of one call of next, so that Ctrl-C is noticed even if storage hangs. */
static const int64_t patience_ns = 1000000000;

static const char *advice_for(const sluice_error *error)
{
    switch (error->status) {
    case SLUICE_CORRUPT:
    case SLUICE_UNSUPPORTED:
        return error->sample >= 0 ? "--on-bad replace goes on without such samples" : NULL;
    case SLUICE_NOMEM:
        return "try a smaller --batch";
    case SLUICE_INVALID:
        return strstr(error->text, "global batch") != NULL
                   ? "the options are --batch and --last pad"
                   : NULL;
    default:
        return NULL;
    }
}

int bench_loader_open(const struct bench_source *source, sluice_loader **loader)
{
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_loader_open(loader, source->dataset, source->recipe, &source->options, &error) < 0) {
        return report_error(&error, advice_for(&error));
    }
    return TOOL_FINE;
}

int bench_loader_failed(sluice_loader *loader, sluice_status status)
{
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_loader_get_error(loader, &error) >= 0) {
        report("the loader stopped: %s", sluice_status_name(status));
        return report_exit_code(status);
    }
    return report_error(&error, advice_for(&error));
}

uint64_t bench_batch_bytes(const sluice_batch *batch)
{
    uint64_t bytes = 0;
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    for (uint32_t i = 0; sluice_batch_get_column(batch, i, &tensor) == SLUICE_OK; i++) {
        bytes += tensor.size_bytes;
    }
    return bytes;
}

void bench_loader_stats(sluice_loader *loader, sluice_loader_stats *stats,
                        struct bottleneck_stages *stages)
{
    static const sluice_stage_stats empty = SLUICE_STAGE_STATS_INIT;
    *stats = (sluice_loader_stats)SLUICE_LOADER_STATS_INIT;
    *stages = (struct bottleneck_stages){empty, empty, empty, empty, 0, {{0}}};
    sluice_loader_get_stats(loader, stats);
    sluice_loader_get_stage(loader, SLUICE_STAGE_READ, &stages->read);
    sluice_loader_get_stage(loader, SLUICE_STAGE_DECODE, &stages->decode);
    sluice_loader_get_stage(loader, SLUICE_STAGE_AUGMENT, &stages->augment);
    sluice_loader_get_stage(loader, SLUICE_STAGE_UPLOAD, &stages->upload);
    for (uint32_t i = 0; i < BOTTLENECK_OPERATIONS; i++) {
        stages->operations[i] = (sluice_operation_stats)SLUICE_OPERATION_STATS_INIT;
        if (sluice_loader_get_operation(loader, i, &stages->operations[i]) < 0) {
            break;
        }
        stages->operation_count++;
    }
}

int bench_feed_open(const struct bench_source *source, struct bench_feed *feed)
{
    *feed = (struct bench_feed){0};
    int code = bench_loader_open(source, &feed->loader);
    if (code != TOOL_FINE) {
        return code;
    }
    sluice_status status = sluice_loader_start_epoch(feed->loader, 0);
    return status < 0 ? bench_loader_failed(feed->loader, status) : TOOL_FINE;
}

int bench_feed_next(struct bench_feed *feed, sluice_batch **batch)
{
    sluice_status status = SLUICE_AGAIN;
    while (status == SLUICE_AGAIN && !interrupt_pending()) {
        status = sluice_loader_next(feed->loader, batch, patience_ns);
        if (status == SLUICE_END) {
            status = sluice_loader_start_epoch(feed->loader, ++feed->epoch);
            status = status < 0 ? status : SLUICE_AGAIN;
        }
    }
    if (status == SLUICE_AGAIN) {
        return TOOL_INTERRUPTED;
    }
    return status < 0 ? bench_loader_failed(feed->loader, status) : TOOL_FINE;
}

void bench_feed_close(struct bench_feed *feed)
{
    report_warnings(feed->loader);
    sluice_loader_close(feed->loader);
    feed->loader = NULL;
}
