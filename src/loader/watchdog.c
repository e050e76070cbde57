/* SPDX-License-Identifier: Apache-2.0 */
#include "watchdog.h"

#include "clock.h"
#include "error.h"

static void take_look(sl_watchdog_look *look, const sl_feed *feed)
{
    sl_staging_look(feed->staging, &look->staging);
    sl_fetch_look(feed->fetch, &look->fetch);
    const bool idle = sl_workers_are_idle(feed->workers, &look->tasks);
    switch (look->staging.wait) {
    case SL_STAGING_WAITS_FOR_ROWS:
        look->stuck = look->fetch.idle && idle;
        break;
    case SL_STAGING_WAITS_FOR_BEGIN:
    case SL_STAGING_WAITS_FOR_COPIER:
    case SL_STAGING_WAITS_FOR_REAPER:
        look->stuck = true;
        break;
    case SL_STAGING_MOVES:
        look->stuck = false;
        break;
    }
}

static bool is_same(const sl_watchdog_look *a, const sl_watchdog_look *b)
{
    return a->stuck && b->stuck && a->staging.wait == b->staging.wait &&
           a->staging.ticket == b->staging.ticket && a->fetch.rounds == b->fetch.rounds &&
           a->tasks == b->tasks;
}

static const char *what_is_missing(sl_staging_stall wait)
{
    switch (wait) {
    case SL_STAGING_WAITS_FOR_BEGIN:
        return "no worker began it";
    case SL_STAGING_WAITS_FOR_COPIER:
        return "the copier was not called";
    case SL_STAGING_WAITS_FOR_REAPER:
        return "the reaper was not called";
    default:
        return "no worker finishes its remaining rows";
    }
}

static sluice_status tell(const sl_watchdog_look *look, sluice_error *error)
{
    const sl_fetch_state *f = &look->fetch;
    const uint32_t *slots = look->staging.slots;
    return sl_error_set(
        error, SLUICE_INTERNAL, "loader",
        "batch %llu will never be ready, %s: slots empty %u, filling %u, full %u, copying %u; "
        "samples requested %llu, delivered %llu, wanted %llu, a substitute waits: %s; read buffer "
        "%llu KiB free, its reserve is %s; this is a bug in sluice, please report it",
        (unsigned long long)look->staging.ticket, what_is_missing(look->staging.wait), slots[0],
        slots[1], slots[2], slots[3], (unsigned long long)f->asked,
        (unsigned long long)f->delivered, (unsigned long long)f->credit,
        f->insert_waits ? "yes" : "no", (unsigned long long)(f->free_bytes >> 10),
        f->reserve_busy ? "in use" : "free");
}

sluice_status sl_watchdog_wait(sl_watchdog *watch, const sl_feed *feed, sluice_error *error)
{
    const uint64_t now = sl_now_ns();
    if (watch->since_ns == 0) {
        watch->since_ns = now;
    }
    if (now - watch->since_ns < watch->period_ns) {
        return SLUICE_OK;
    }
    sl_watchdog_look look;
    take_look(&look, feed);
    watch->found = watch->looked && is_same(&watch->last, &look);
    watch->last = look;
    watch->looked = true;
    watch->since_ns = now;
    return watch->found ? tell(&look, error) : SLUICE_OK;
}
