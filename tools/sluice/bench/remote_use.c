/* SPDX-License-Identifier: Apache-2.0 */
#include "remote_use.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void remote_use_look(sluice_remote_stats *stats)
{
    *stats = (sluice_remote_stats)SLUICE_REMOTE_STATS_INIT;
    if (sluice_remote_get_stats(stats) < 0) {
        *stats = (sluice_remote_stats)SLUICE_REMOTE_STATS_INIT;
    }
}

void remote_use_begin(struct remote_use *use)
{
    remote_use_look(&use->before);
    use->stats = use->before;
}

void remote_use_end(struct remote_use *use)
{
    remote_use_look(&use->stats);
}

uint64_t remote_use_requests(const struct remote_use *use)
{
    return use->stats.requests - use->before.requests;
}

bool remote_use_any(const struct remote_use *use)
{
    return remote_use_requests(use) > 0;
}

double remote_use_per_epoch(const struct remote_use *use)
{
    return use->epochs > 0 ? (double)remote_use_requests(use) / use->epochs : NAN;
}

void remote_use_name(const struct remote_use *use, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s, first byte after %.1f ms (p50), %.1f ms (p99)", use->stats.host,
             (double)use->stats.p50_ns * 1e-6, (double)use->stats.p99_ns * 1e-6);
}

static double price_of_epoch(const struct remote_use *use)
{
    return use->price_get > 0 ? remote_use_per_epoch(use) * use->price_get * 1e-3 : NAN;
}

void remote_use_print(const struct remote_use *use)
{
    const sluice_remote_stats *from = &use->before;
    const sluice_remote_stats *to = &use->stats;
    char name[REMOTE_USE_NAME_BYTES];
    if (!remote_use_any(use)) {
        return;
    }
    remote_use_name(use, name, sizeof name);
    printf("store         %s\n", name);
    printf("requests      %.0f an epoch", remote_use_per_epoch(use));
    if (use->price_get > 0) {
        printf(", price %.4g (%g per 1000)", price_of_epoch(use), use->price_get);
    }
    printf("; %" PRIu64 " sent again, %" PRIu64 " hedged, %" PRIu64 " busy\n",
           to->retried - from->retried, to->hedged - from->hedged, to->busy - from->busy);
}

void remote_use_write(const struct remote_use *use, struct json *json)
{
    const sluice_remote_stats *from = &use->before;
    const sluice_remote_stats *to = &use->stats;
    if (!remote_use_any(use)) {
        json_null(json, "remote");
        return;
    }
    json_open_object(json, "remote");
    json_text(json, "host", to->host);
    json_real(json, "p50_ms", (double)to->p50_ns * 1e-6);
    json_real(json, "p99_ms", (double)to->p99_ns * 1e-6);
    json_unsigned(json, "requests", remote_use_requests(use));
    json_real(json, "requests_per_epoch", remote_use_per_epoch(use));
    json_real(json, "price_per_epoch", price_of_epoch(use));
    json_unsigned(json, "lists", to->lists - from->lists);
    json_unsigned(json, "bytes", to->bytes - from->bytes);
    json_unsigned(json, "retried", to->retried - from->retried);
    json_unsigned(json, "hedged", to->hedged - from->hedged);
    json_unsigned(json, "hedges_won", to->hedges_won - from->hedges_won);
    json_unsigned(json, "busy", to->busy - from->busy);
    json_unsigned(json, "failed", to->failed - from->failed);
    json_unsigned(json, "stalled", to->stalled - from->stalled);
    json_unsigned(json, "window", to->window);
    json_close_object(json);
}
