/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's side of the loader: epochs, next, cursor. start_epoch and next belong to the
 * consumer thread, the rest to any thread; close waits until none of them is inside. The mutex is
 * taken to record state for others (save, statistics, errors), never while waiting for staging.
 */
#include "loader.h"

#include "clock.h"
#include "cursor.h"
#include "error.h"
#include "thread.h"

/* ---- calls in progress, so that close can wait for them ---- */

bool sl_loader_enter(sluice_loader *loader)
{
    /* Relaxed, here and in the exchange: fields that others write are read under the mutex. */
    uint32_t calls = atomic_load_explicit(&loader->calls, memory_order_relaxed);
    do {
        if ((calls & SL_LOADER_CLOSING) != 0) {
            return false;
        }
        /* Relaxed: fields that others write are read under the mutex. */
    } while (!atomic_compare_exchange_weak_explicit(&loader->calls, &calls, calls + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

/* After the last call has left, close may free the loader: it is not touched after that, except for
 * the mutex while close waits for it. */
void sl_loader_leave(sluice_loader *loader)
{
    /* Relaxed: the exchange looks again. */
    uint32_t calls = atomic_load_explicit(&loader->calls, memory_order_relaxed);
    while ((calls & SL_LOADER_CLOSING) == 0) {
        /* Released to close, which acquires. */
        if (atomic_compare_exchange_weak_explicit(&loader->calls, &calls, calls - 1,
                                                  memory_order_release, memory_order_relaxed)) {
            return;
        }
    }
    sl_lock(&loader->mutex);
    /* The same. */
    (void)atomic_fetch_sub_explicit(&loader->calls, 1, memory_order_release);
    sl_cond_broadcast(&loader->no_calls);
    sl_unlock(&loader->mutex);
}

/* Under mutex. */
static bool is_closing_locked(const sluice_loader *loader)
{
    /* Relaxed: set under the mutex. */
    return (atomic_load_explicit(&loader->calls, memory_order_relaxed) & SL_LOADER_CLOSING) != 0;
}

/* ---- errors ---- */

static sluice_status first_error(sluice_loader *loader)
{
    sl_lock(&loader->mutex);
    const sluice_status status = (sluice_status)loader->error.status;
    sl_unlock(&loader->mutex);
    return status;
}

static void note_error(sluice_loader *loader, const sluice_error *error)
{
    sl_lock(&loader->mutex);
    if (loader->error.status == SLUICE_OK) {
        loader->error = *error;
    }
    sl_unlock(&loader->mutex);
}

sluice_status sl_loader_refuse(sluice_loader *loader, const sluice_error *why)
{
    sl_lock(&loader->mutex);
    loader->refusal = *why;
    sl_unlock(&loader->mutex);
    return (sluice_status)why->status;
}

static void forget_refusal(sluice_loader *loader)
{
    sl_lock(&loader->mutex);
    loader->refusal.status = SLUICE_OK;
    sl_unlock(&loader->mutex);
    sl_staging_forget_refusal(loader->staging);
}

sluice_status sl_loader_get_error(sluice_loader *loader, sluice_error *error)
{
    if (!sl_loader_enter(loader)) {
        return SLUICE_CANCELED;
    }
    sl_lock(&loader->mutex);
    const sluice_error *what =
        loader->error.status != SLUICE_OK ? &loader->error : &loader->refusal;
    sluice_status status = (sluice_status)what->status;
    if (status != SLUICE_OK) {
        *error = *what;
    }
    sl_unlock(&loader->mutex);
    if (status == SLUICE_OK) {
        status = sl_staging_get_refusal(loader->staging, error);
    }
    sl_loader_leave(loader);
    return status;
}

/* ---- epochs ---- */

/* A run requested by the consumer. */
typedef struct wanted_run {
    uint64_t epoch; /* the first */
    bool endless;
} wanted_run;

/* Returns the first epoch that is not to be read. */
static uint64_t consume_end_of(const sluice_loader *loader, const wanted_run *run)
{
    if (run->endless) {
        return UINT64_MAX;
    }
    return loader->end_epoch > run->epoch ? loader->end_epoch : run->epoch + 1;
}

/* Makes `epoch`, entered at `start`, the current one. */
static void set_current_locked(sluice_loader *loader, uint64_t epoch, uint64_t start)
{
    loader->plan = sl_feed_plan(&loader->feed, epoch, start);
    loader->steps = sl_plan_steps(&loader->plan);
    loader->end_ticket += loader->steps;
    loader->epoch = epoch;
    loader->taken = 0;
    loader->started = true;
}

static void tell_end(sluice_loader *loader, const wanted_run *run)
{
    sl_staging_set_end(loader->staging, run->endless ? UINT64_MAX : loader->end_ticket);
}

/* The reader has continued into this epoch by itself: the consumer only follows. */
static bool continue_run(sluice_loader *loader, const wanted_run *run)
{
    sl_lock(&loader->mutex);
    const bool follows = loader->run && !loader->canceled && !loader->restoring &&
                         loader->taken == loader->steps && run->epoch == loader->epoch + 1 &&
                         loader->config.options.end_epoch == consume_end_of(loader, run);
    if (follows) {
        set_current_locked(loader, run->epoch, 0);
        loader->endless = run->endless;
    }
    sl_unlock(&loader->mutex);
    if (follows) {
        tell_end(loader, run);
    }
    return follows;
}

/* From here on a cancel applies to the epoch that begins. */
static void forget_cancel(sluice_loader *loader)
{
    sl_lock(&loader->mutex);
    loader->canceled = false;
    sl_staging_cancel(loader->staging, is_closing_locked(loader));
    sl_unlock(&loader->mutex);
}

static void consume_begin_run(sluice_loader *loader, const wanted_run *run)
{
    forget_cancel(loader);
    if (loader->run) {
        sl_feed_stop(&loader->feed);
    }
    sl_lock(&loader->mutex);
    const bool restored = loader->restoring && loader->restore_epoch == run->epoch;
    const uint64_t start = restored ? loader->restore_position : 0;
    loader->restoring = loader->restoring && !restored;
    loader->config.options.end_epoch = consume_end_of(loader, run);
    loader->end_ticket = sl_staging_begun(loader->staging);
    set_current_locked(loader, run->epoch, start);
    loader->endless = run->endless;
    sl_unlock(&loader->mutex);
    tell_end(loader, run);
    loader->run = true;
    sl_feed_start(&loader->feed, run->epoch, start);
}

/* Positions of a mix are counted over all epochs. */
static sluice_status check_epoch(sluice_loader *loader, uint64_t epoch)
{
    const sl_mix *mix = loader->dataset->mix;
    sluice_error why;
    if (mix == NULL || epoch < sl_mix_epochs(mix)) {
        return SLUICE_OK;
    }
    sl_error_clear(&why);
    (void)sl_error_set(&why, SLUICE_INVALID, "loader",
                       "epoch %llu is too large: a mix of %llu samples an epoch has %llu epochs",
                       (unsigned long long)epoch, (unsigned long long)mix->epoch_samples,
                       (unsigned long long)sl_mix_epochs(mix));
    return sl_loader_refuse(loader, &why);
}

static sluice_status consume_start(sluice_loader *loader, const wanted_run *run)
{
    if (!sl_loader_enter(loader)) {
        return SLUICE_CANCELED;
    }
    sluice_status status = first_error(loader);
    if (status == SLUICE_OK) {
        status = check_epoch(loader, run->epoch);
    }
    if (status == SLUICE_OK) {
        forget_refusal(loader);
        if (!continue_run(loader, run)) {
            consume_begin_run(loader, run);
        }
    }
    sl_loader_leave(loader);
    return status;
}

sluice_status sl_loader_start_epoch(sluice_loader *loader, uint64_t epoch)
{
    return consume_start(loader, &(wanted_run){.epoch = epoch});
}

sluice_status sl_loader_start_endless(sluice_loader *loader, uint64_t epoch)
{
    return consume_start(loader, &(wanted_run){.epoch = epoch, .endless = true});
}

/* ---- batches ---- */

static void note_batch(sluice_loader *loader, const sluice_batch *batch)
{
    sl_lock(&loader->mutex);
    /* Only an endless run gets past the end of its epoch. */
    while (loader->epoch < batch->facts.epoch) {
        set_current_locked(loader, loader->epoch + 1, 0);
    }
    loader->taken++;
    loader->batches++;
    const bool first = loader->first_batch_ns == 0;
    if (first) {
        loader->first_batch_ns = sl_now_ns() - loader->open_ns;
    }
    sl_unlock(&loader->mutex);
    if (first) {
        sl_loader_populate_rest(loader);
    }
}

/* Returns the time until the deadline, at most a second. */
static int64_t slice_until(uint64_t deadline, uint64_t period_ns)
{
    const uint64_t now = sl_now_ns();
    const uint64_t left = deadline > now ? deadline - now : 0;
    return (int64_t)(left < period_ns ? left : period_ns);
}

/* Waits for a batch, and checks now and then whether one can still come. */
static sluice_status wait_watched(sluice_loader *loader, sluice_batch **batch, int64_t timeout_ns,
                                  sluice_error *error)
{
    const uint64_t deadline = timeout_ns != 0 ? sl_deadline_ns(timeout_ns) : 0;
    sl_watchdog *watch = &loader->watch;
    int64_t slice = 0;
    do {
        slice = timeout_ns != 0 ? slice_until(deadline, watch->period_ns) : 0;
        const sluice_status status = sl_staging_next(loader->staging, slice, batch, error);
        if (status != SLUICE_AGAIN) {
            sl_watchdog_rest(watch);
            return status;
        }
        if (sl_watchdog_wait(watch, &loader->feed, error) != SLUICE_OK) {
            return SLUICE_INTERNAL;
        }
    } while (slice > 0);
    return SLUICE_AGAIN;
}

static sluice_status consume_take(sluice_loader *loader, sluice_batch **batch, int64_t timeout_ns)
{
    sluice_error error;
    sl_error_clear(&error);
    if (!loader->started) {
        sl_error_set(&error, SLUICE_STATE, "loader",
                     "no epoch was started: before sluice_loader_next, call "
                     "sluice_loader_start_endless or " SL_OPTION("sluice_loader_start_epoch"));
        return sl_loader_refuse(loader, &error);
    }
    if (loader->watch.found) {
        return first_error(loader);
    }
    const sluice_status status = wait_watched(loader, batch, timeout_ns, &error);
    if (status == SLUICE_OK) {
        note_batch(loader, *batch);
    } else if (status == SLUICE_CANCELED) {
        sl_loader_refuse(loader, &error);
    } else if (status < 0) {
        note_error(loader, &error);
    }
    return status;
}

sluice_status sl_loader_next(sluice_loader *loader, sluice_batch **batch, int64_t timeout_ns)
{
    if (!sl_loader_enter(loader)) {
        return SLUICE_CANCELED;
    }
    const sluice_status status = consume_take(loader, batch, timeout_ns);
    sl_loader_leave(loader);
    return status;
}

void sl_loader_cancel(sluice_loader *loader)
{
    if (!sl_loader_enter(loader)) {
        return; /* close cancels separately */
    }
    sl_lock(&loader->mutex);
    loader->canceled = true;
    sl_staging_cancel(loader->staging, true);
    sl_unlock(&loader->mutex);
    sl_loader_leave(loader);
}

/* ---- cursor ---- */

/* Returns the samples of a finished epoch, including those that its last batch dropped. */
static uint64_t consumed_locked(const sluice_loader *loader)
{
    return loader->taken == loader->steps ? loader->order.source.count
                                          : sl_plan_position(&loader->plan, loader->taken);
}

static sluice_status refuse_unstarted(sluice_loader *loader)
{
    sluice_error why;
    sl_error_set(&why, SLUICE_STATE, "loader", "nothing to save: no epoch was started");
    return sl_loader_refuse(loader, &why);
}

/* A place in an order of samples. */
typedef struct consume_place {
    uint64_t epoch, position;
} consume_place;

static sluice_status write_cursor(sluice_loader *loader, consume_place place, void *cursor,
                                  size_t *bytes)
{
    const sluice_loader_options *o = &loader->config.options;
    sl_cursor at = {
        .fingerprint = loader->dataset->info.fingerprint,
        .samples = loader->order.source.count,
        .seed = o->seed,
        .epoch = place.epoch,
        .position = place.position,
        .shuffle = (uint32_t)o->shuffle,
        .block = o->block_samples,
        .window = o->window_blocks,
    };
    sl_order_save(loader, &at);
    at.rows = o->shuffle != SLUICE_SHUFFLE_SHARDS ? loader->rows_hash : 0;
    const size_t capacity = *bytes;
    const sluice_status status = sl_cursor_write(&at, cursor, bytes);
    if (status != SLUICE_OK) {
        sluice_error why;
        sl_error_set(&why, status, "loader",
                     "%zu bytes are too few for a cursor: at least %d are needed", capacity,
                     SLUICE_CURSOR_BYTES);
        sl_loader_refuse(loader, &why);
    }
    return status;
}

static sluice_status save(sluice_loader *loader, void *cursor, size_t *bytes)
{
    sl_lock(&loader->mutex);
    const bool started = loader->started;
    const consume_place place = {loader->epoch, started ? consumed_locked(loader) : 0};
    sl_unlock(&loader->mutex);
    return started ? write_cursor(loader, place, cursor, bytes) : refuse_unstarted(loader);
}

sluice_status sl_loader_save(sluice_loader *loader, void *cursor, size_t *bytes)
{
    if (!sl_loader_enter(loader)) {
        return SLUICE_CANCELED;
    }
    const sluice_status status = save(loader, cursor, bytes);
    sl_loader_leave(loader);
    return status;
}

/* Finds where `steps` batches of an epoch end. */
static sluice_status find_place(sluice_loader *loader, uint64_t steps, consume_place *place)
{
    const sl_plan plan = sl_feed_plan(&loader->feed, place->epoch, 0);
    const uint64_t all = sl_plan_steps(&plan);
    if (steps > all) {
        sluice_error why;
        sl_error_set(&why, SLUICE_INVALID, "loader",
                     "step %llu is out of range: an epoch has %llu steps",
                     (unsigned long long)steps, (unsigned long long)all);
        return sl_loader_refuse(loader, &why);
    }
    place->position = steps == all ? loader->order.source.count : sl_plan_position(&plan, steps);
    return SLUICE_OK;
}

sluice_status sl_loader_save_at(sluice_loader *loader, uint64_t epoch, uint64_t steps, void *cursor,
                                size_t *bytes)
{
    if (!sl_loader_enter(loader)) {
        return SLUICE_CANCELED;
    }
    consume_place place = {.epoch = epoch};
    sluice_status status = check_epoch(loader, epoch);
    if (status == SLUICE_OK) {
        status = find_place(loader, steps, &place);
    }
    if (status == SLUICE_OK) {
        status = write_cursor(loader, place, cursor, bytes);
    }
    sl_loader_leave(loader);
    return status;
}

sluice_status sl_loader_get_position(sluice_loader *loader, sluice_loader_position *position)
{
    if (!sl_loader_enter(loader)) {
        return SLUICE_CANCELED;
    }
    sl_lock(&loader->mutex);
    const bool started = loader->started;
    if (started) {
        const sl_plan *plan = &loader->plan;
        const uint64_t in_step = (uint64_t)plan->batch * plan->world;
        position->epoch = loader->epoch;
        position->step = sl_plan_entered(plan) + loader->taken;
        /* With groups several last steps may be short. */
        position->samples = plan->order.kind->groups != NULL
                                ? position->step * in_step
                                : plan->start + loader->taken * in_step;
    }
    sl_unlock(&loader->mutex);
    const sluice_status status = started ? SLUICE_OK : refuse_unstarted(loader);
    sl_loader_leave(loader);
    return status;
}

/* Returns what differs between the loader and the cursor; NULL: they have the same order of
 * samples. */
static const char *misfit(const sluice_loader *loader, const sl_cursor *cursor,
                          sl_misfit_text *text)
{
    if (cursor->fingerprint != loader->dataset->info.fingerprint) {
        return "dataset";
    }
    const char *what = sl_order_misfit(loader, cursor, text);
    if (what != NULL) {
        return what;
    }
    if (cursor->seed != loader->config.options.seed) {
        return "seed";
    }
    if (cursor->rows > 0 && cursor->rows != loader->rows_hash) {
        return "number of samples in a row, other rules of partners, or other classes of samples";
    }
    return sl_order_option_misfit(loader, cursor);
}

/* Returns INVALID. An epoch can begin in the order of this loader, but not resume in it. */
static sluice_status refuse_misfit(const sl_cursor *at, const char *what, sluice_error *error)
{
    if (at->position > 0) {
        return sl_error_set(error, SLUICE_INVALID, "loader",
                            "the cursor is from a loader with a different %s", what);
    }
    return sl_error_set(
        error, SLUICE_INVALID, "loader",
        "the cursor is from a loader with a different %s; it is at the beginning of an epoch, "
        "which needs no cursor: use " SL_OPTION("sluice_loader_start_epoch") "(%llu) instead",
        what, (unsigned long long)at->epoch);
}

static sluice_status read_cursor(const sluice_loader *loader, const sl_bytes *from, sl_cursor *at,
                                 sluice_error *error)
{
    const sluice_status status = sl_cursor_read(at, from->data, from->size);
    if (status == SLUICE_UNSUPPORTED) {
        return sl_error_set(error, status, "loader",
                            "the cursor is from another version of sluice");
    }
    if (status != SLUICE_OK) {
        return sl_error_set(error, status, "loader", "the cursor is damaged, or not a cursor");
    }
    sl_misfit_text text;
    const char *what = misfit(loader, at, &text);
    return what == NULL ? SLUICE_OK : refuse_misfit(at, what, error);
}

static sluice_status restore(sluice_loader *loader, const sl_bytes *from, uint64_t *epoch)
{
    sl_cursor at;
    sluice_error why;
    const sluice_status status = read_cursor(loader, from, &at, &why);
    if (status != SLUICE_OK) {
        return sl_loader_refuse(loader, &why);
    }
    sl_lock(&loader->mutex);
    loader->restoring = true;
    loader->restore_epoch = at.epoch;
    loader->restore_position = at.position;
    sl_unlock(&loader->mutex);
    *epoch = at.epoch;
    return SLUICE_OK;
}

sluice_status sl_loader_restore(sluice_loader *loader, const void *cursor, size_t bytes,
                                uint64_t *epoch)
{
    if (!sl_loader_enter(loader)) {
        return SLUICE_CANCELED;
    }
    sluice_status status = SLUICE_OK;
    if (cursor == NULL) {
        sl_lock(&loader->mutex);
        loader->restoring = false;
        sl_unlock(&loader->mutex);
    } else {
        status = restore(loader, &(sl_bytes){cursor, bytes}, epoch);
    }
    sl_loader_leave(loader);
    return status;
}
