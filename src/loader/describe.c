/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes a loader's present state in words: the next batch, and the row, queue or read that it
 * waits for. Any thread. Each stage is inspected separately, so two of them may disagree about work
 * that moved in between.
 */
#include "loader.h"

#include "clock.h"
#include "error.h"
#include "thread.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct description {
    char *text;
    size_t bytes, length;
} description;

__attribute__((format(printf, 2, 3))) static void describe_add(description *d, const char *format,
                                                               ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(d->text + d->length, d->bytes - d->length, format, arguments);
    va_end(arguments);
    const size_t space = d->bytes - 1 - d->length;
    d->length += more > 0 && (size_t)more < space ? (size_t)more : more > 0 ? space : 0;
}

/* ---- the consumer's side ---- */

/* Adds the reason there is no batch to wait for; false: there may be one. */
static bool is_at_rest(sluice_loader *loader, description *d)
{
    sl_lock(&loader->mutex);
    const bool started = loader->started;
    const bool canceled = loader->canceled;
    const sluice_error error = loader->error;
    sl_unlock(&loader->mutex);
    if (error.status != SLUICE_OK) {
        describe_add(d, "the loader has failed: %s", error.text);
    } else if (!started) {
        describe_add(d, "no epoch was started");
    } else if (canceled) {
        describe_add(d, "the epoch was canceled");
    }
    return error.status != SLUICE_OK || !started || canceled;
}

/* ---- rows ---- */

typedef struct row_look {
    bool begun;
    uint64_t epoch, sample;
    uint32_t rows, left;   /* not finished */
    uint32_t waiting, row; /* rows that wait for a sample; the first of them, of `sample` */
} row_look;

static void look_at_rows(sl_feed *feed, uint64_t ticket, row_look *look)
{
    *look = (row_look){.begun = false};
    sl_lock(&feed->mutex);
    const sl_feed_slot *slot = sl_feed_slot_of(feed, ticket);
    if (ticket >= feed->first_ticket && ticket < feed->begin.ticket && slot->ticket == ticket) {
        look->begun = true;
        look->epoch = slot->epoch;
        look->rows = slot->rows;
        /* Relaxed, both: for a message. */
        look->left = atomic_load_explicit(&slot->left, memory_order_relaxed);
        for (uint32_t row = slot->step.filled; row-- > 0;) {
            const uint32_t at = sl_feed_row_of(feed, ticket, row);
            const sl_gathering *gathering = &feed->gatherings[at];
            if (atomic_load_explicit(&gathering->waiting, memory_order_relaxed) > 0) {
                look->waiting++;
                look->row = row;
            }
        }
        if (look->waiting > 0) {
            const uint64_t position = sl_step_position(&slot->step, &slot->order, look->row);
            look->sample = sl_order_sample(&slot->order, position);
        }
    }
    sl_unlock(&feed->mutex);
}

static void describe_rows(description *d, sl_feed *feed, uint64_t ticket)
{
    row_look look;
    look_at_rows(feed, ticket, &look);
    if (!look.begun || look.left > look.rows) {
        return;
    }
    describe_add(d, "; %u of its %u rows are made", look.rows - look.left, look.rows);
    if (look.waiting > 0) {
        describe_add(d, ", %u wait for their samples, first row %u for sample %llu of epoch %llu",
                     look.waiting, look.row, (unsigned long long)look.sample,
                     (unsigned long long)look.epoch);
    }
}

/* ---- stages ---- */

static const char *wait_text(const sl_staging_state *staging)
{
    switch (staging->wait) {
    case SL_STAGING_WAITS_FOR_ROWS:
        return "waits for its rows";
    case SL_STAGING_WAITS_FOR_BEGIN:
        return "waits for a worker to begin it, although a slot is empty";
    case SL_STAGING_WAITS_FOR_COPIER:
        return "waits for the thread that copies to the device";
    case SL_STAGING_WAITS_FOR_REAPER:
        return "waits for the thread that detects finished copies";
    default:
        return staging->slots[0] == 0 && staging->slots[1] == 0
                   ? "waits for a slot: unreleased batches hold them all"
                   : "is being copied, or waits for a batch to be released";
    }
}

static void describe_reads(description *d, const sluice_loader *loader)
{
    char path[SL_PATH_BYTES];
    sluice_error shown = SLUICE_ERROR_INIT; /* its file has no signature or password */
    sl_fetch_state f;
    sl_fetch_look(loader->fetch, &f);
    describe_add(d, "; samples: %llu requested, %llu delivered, %llu wanted; reads: %u in flight",
                 (unsigned long long)f.asked, (unsigned long long)f.delivered,
                 (unsigned long long)f.credit, f.flying);
    if (f.waiting > 0) {
        describe_add(d, ", %u waiting for a retry", f.waiting);
    }
    if (f.oldest_ns == 0) {
        return;
    }
    const uint64_t now = sl_now_ns();
    const double seconds = now > f.oldest_ns ? (double)(now - f.oldest_ns) * 1e-9 : 0;
    if (sl_fetch_object_path(loader->fetch, f.oldest_object, path, sizeof(path)) != SLUICE_OK) {
        (void)snprintf(path, sizeof(path), "file %u of the dataset", f.oldest_object);
    }
    sl_error_set_path(&shown, path);
    if (f.oldest_opens) {
        describe_add(d, ", the oldest, for %.1f s: opens %s", seconds, shown.file);
    } else {
        describe_add(d, ", the oldest, for %.1f s: %llu bytes at offset %llu of %s", seconds,
                     (unsigned long long)f.oldest_bytes, (unsigned long long)f.oldest_start,
                     shown.file);
    }
}

static void describe_batch(description *d, sluice_loader *loader)
{
    sl_staging_state staging;
    uint64_t tasks;
    sl_staging_look(loader->staging, &staging);
    if (staging.ready) {
        describe_add(d, "the next batch, or the end of the epoch, is ready");
    } else {
        describe_add(d, "batch %llu %s", (unsigned long long)staging.ticket, wait_text(&staging));
        describe_rows(d, &loader->feed, staging.ticket);
    }
    describe_add(d, "; slots: %u empty, %u filling, %u full, %u copying", staging.slots[0],
                 staging.slots[1], staging.slots[2], staging.slots[3]);
    describe_reads(d, loader);
    describe_add(d, "; workers: %s",
                 sl_workers_are_idle(loader->workers, &tasks) ? "idle" : "busy");
}

sluice_status sl_loader_describe(sluice_loader *loader, char *text, size_t bytes)
{
    description d = {.text = text, .bytes = bytes};
    text[0] = '\0';
    if (!sl_loader_enter(loader)) {
        return SLUICE_CANCELED;
    }
    if (!is_at_rest(loader, &d)) {
        describe_batch(&d, loader);
    }
    sl_loader_leave(loader);
    return SLUICE_OK;
}
