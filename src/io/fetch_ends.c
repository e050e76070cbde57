/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_ends: turns completed reads into want states; handles lost and cancelled reads. */
#include "clock.h"
#include "fetch_state.h"
#include "minmax.h"
#include "trace.h"

#include <errno.h>

/* Least space for an object of unknown size. */
#define WHOLE_GUESS_MIN ((uint64_t)64 << 10)

/* ---- the end of a read ---- */

static void end_request(sl_fetch *fetch, sl_request *request)
{
    sl_read_buffers_give(&fetch->buffers, &request->buffer);
    sl_requests_give(&fetch->requests, request);
}

/* Returns the bytes of a want if all are below `valid_end`, else none. */
static bool fetch_ends_bytes_of(const sl_request *request, const sl_want *want, uint64_t valid_end,
                                sl_bytes *bytes)
{
    const sl_fetch_item *item = &want->item;
    if (request->whole) {
        *bytes = (sl_bytes){request->buffer.base, (size_t)valid_end};
        return true;
    }
    *bytes = (sl_bytes){request->buffer.base + (item->offset - request->start), item->bytes};
    return item->offset + item->bytes <= valid_end;
}

/* Counts the wants of `list` that are READY with the bytes below `valid_end`. */
static uint32_t count_ready(const sl_fetch *fetch, const sl_request *request, uint64_t valid_end)
{
    uint32_t ready = 0;
    sl_bytes bytes;
    for (uint32_t i = request->wants; i != SL_WANT_NONE; i = fetch->window.wants[i].next) {
        ready += fetch_ends_bytes_of(request, &fetch->window.wants[i], valid_end, &bytes);
    }
    return ready;
}

/*
 * Ends a request: wants that are below offset `valid_end` of the object are READY, the others
 * FAILED, or WANTED alone when `failure` is NULL.
 */
static void fetch_ends_finish(sl_fetch *fetch, sl_request *request, uint64_t valid_end,
                              const sl_failure *failure)
{
    const bool useless = failure != NULL && request->whole;
    const uint32_t ready = useless ? 0 : count_ready(fetch, request, valid_end);
    const sl_request was = *request;
    sl_fetch_bytes bytes = {.handle = 0};
    if (ready > 0) {
        const size_t used = (size_t)(valid_end - was.start) + SL_FETCH_PADDING;
        bytes.handle = sl_read_buffers_keep(&fetch->buffers, &request->buffer, used, ready);
        sl_requests_give(&fetch->requests, request);
    } else {
        end_request(fetch, request);
    }
    uint32_t next = was.wants;
    while (next != SL_WANT_NONE) {
        const uint32_t index = next;
        sl_want *want = &fetch->window.wants[index];
        next = want->next; /* before its slot is free */
        want->tries = was.tries;
        if (ready > 0 && fetch_ends_bytes_of(&was, want, valid_end, &bytes.bytes)) {
            sl_fetch_ready(fetch, index, &bytes);
        } else if (failure != NULL) {
            sl_fetch_fail(fetch, index, failure);
        } else {
            sl_window_again(&fetch->window, index, true);
        }
    }
}

void sl_fetch_read_failed(sl_fetch *fetch, sl_request *request, sl_failure_kind kind, int sys_errno,
                          uint64_t object_bytes)
{
    uint64_t delay_ns = 0;
    sl_verdict verdict = SL_VERDICT_FAILED;
    if (kind == SL_FAILURE_READ || kind == SL_FAILURE_OPEN) {
        const bool several = request->count > 1 && kind == SL_FAILURE_READ;
        verdict = kind == SL_FAILURE_READ && sys_errno == EINVAL && request->read.direct
                      ? SL_VERDICT_AGAIN
                      : sl_retry_next(&request->retry, sys_errno, several, &delay_ns);
    }
    if (verdict == SL_VERDICT_AGAIN) {
        fetch->stats.retried++;
        sl_requests_wait(&fetch->requests, request, fetch->now_ns + delay_ns);
        return;
    }
    if (request->resident) {
        sl_resident_give_up(&fetch->resident);
        end_request(fetch, request);
        return;
    }
    const uint64_t valid_end = request->start + request->got;
    const sl_failure failure = {.kind = kind,
                                .sys_errno = sys_errno,
                                .tries = request->tries,
                                .file = request->file,
                                .offset = kind == SL_FAILURE_SIZE ? object_bytes : valid_end,
                                .object_bytes = object_bytes};
    fetch_ends_finish(fetch, request, valid_end, verdict == SL_VERDICT_SPLIT ? NULL : &failure);
}

/* Handles a read that its backend will not retry. */
static void remote_failed(sl_fetch *fetch, sl_request *request, const sl_completion *completion)
{
    const int sys_errno = (int)-completion->result;
    if (request->resident) {
        sl_resident_give_up(&fetch->resident);
        end_request(fetch, request);
        return;
    }
    const uint64_t valid_end = request->start + request->got;
    const sl_failure failure = {.kind =
                                    sys_errno == EREMCHG ? SL_FAILURE_REPLACED : SL_FAILURE_READ,
                                .sys_errno = sys_errno,
                                .tries = request->tries,
                                .file = completion->file,
                                .offset = valid_end,
                                .reason = completion->reason};
    fetch_ends_finish(fetch, request, valid_end, &failure);
}

/* Handles a read without progress: the end of the object, or (for a moment) something odd.
 * `valid_end`: end of the bytes that exist. */
static void no_progress(sl_fetch *fetch, sl_request *request, const sl_handle *file,
                        uint64_t valid_end)
{
    sl_store_facts found = {.kind = SL_ENTRY_UNKNOWN};
    const int failed = sl_handle_facts(file, &found);
    if (failed < 0) {
        sl_fetch_read_failed(fetch, request, SL_FAILURE_READ, -failed, 0);
    } else if (found.identity.bytes > valid_end) {
        sl_fetch_read_failed(fetch, request, SL_FAILURE_READ, EAGAIN, 0);
    } else if (request->resident) {
        sl_resident_give_up(&fetch->resident);
        end_request(fetch, request);
    } else {
        const sl_failure failure = {.kind = SL_FAILURE_TRUNCATED,
                                    .tries = request->tries,
                                    .offset = valid_end,
                                    .object_bytes = found.identity.bytes};
        fetch_ends_finish(fetch, request, valid_end, &failure);
    }
}

static void cut_short(sl_fetch *fetch, sl_request *request, const sl_handle *file)
{
    sl_store_facts found;
    const uint64_t bytes = sl_handle_facts(file, &found) == 0 ? found.identity.bytes : 0;
    const sl_failure failure = {.kind = SL_FAILURE_TRUNCATED,
                                .tries = request->tries,
                                .offset = bytes,
                                .object_bytes = bytes};
    fetch_ends_finish(fetch, request, request->start, &failure);
}

static void part_done(sl_fetch *fetch, sl_request *request, const sl_handle *file, int64_t result)
{
    if (result == -ENODATA && request->piece_count > 0) {
        cut_short(fetch, request, file);
        return;
    }
    if (result < 0) {
        sl_fetch_read_failed(fetch, request, SL_FAILURE_READ, (int)-result, 0);
        return;
    }
    const uint64_t valid_end = request->start + request->got + (uint64_t)result;
    switch (sl_request_got(request, (uint64_t)result)) {
    case SL_PART_DONE:
        if (request->resident) {
            sl_resident_loaded(&fetch->resident);
            fetch->stats.resident_bytes = fetch->resident.loaded;
            end_request(fetch, request);
        } else {
            fetch_ends_finish(fetch, request, request->start + request->needed, NULL);
        }
        break;
    case SL_PART_TAIL:
        request->retry.moment = 0;
        fetch->stats.retried++;
        sl_requests_wait(&fetch->requests, request, fetch->now_ns);
        break;
    case SL_PART_NOTHING:
        no_progress(fetch, request, file, valid_end);
        break;
    }
}

/* Leaves space for most objects without a second try: grows at once when too small, shrinks
 * slowly. */
static void learn_size(sl_fetch *fetch, uint64_t bytes, bool too_small)
{
    const uint64_t most =
        (uint64_t)fetch->buffers.arena.units * SL_ARENA_UNIT / fetch->config.depth / 2;
    if (too_small && bytes > fetch->whole_guess) {
        fetch->whole_guess = sl_min_u64(bytes, most);
    } else if (bytes < fetch->whole_guess / 2) {
        fetch->whole_guess -= fetch->whole_guess / 512;
    }
    if (fetch->whole_guess < WHOLE_GUESS_MIN) {
        fetch->whole_guess = WHOLE_GUESS_MIN;
    }
}

static void whole_done(sl_fetch *fetch, sl_request *request, const sl_completion *completion)
{
    const bool too_small = completion->result == -EFBIG;
    request->file = completion->file;
    if (completion->result == -EXDEV && request->read.boundary != NULL) {
        sl_fetch_read_failed(fetch, request, SL_FAILURE_OUTSIDE, 0, 0);
        return;
    }
    if (completion->result < 0 && !too_small) {
        sl_fetch_read_failed(fetch, request, SL_FAILURE_READ, (int)-completion->result, 0);
        return;
    }
    fetch->stats.direct = fetch->stats.direct || completion->direct;
    if (completion->file_bytes > fetch->config.max_sample_bytes) {
        const sl_failure failure = {.kind = SL_FAILURE_TOO_LARGE,
                                    .object_bytes = completion->file_bytes};
        fetch_ends_finish(fetch, request, 0, &failure);
        return;
    }
    learn_size(fetch, completion->file_bytes, too_small);
    if (!too_small) {
        fetch_ends_finish(fetch, request, (uint64_t)completion->result, NULL);
        return;
    }
    sl_want *want = &fetch->window.wants[request->wants];
    want->whole_bytes = completion->file_bytes;
    want->tries = request->tries;
    fetch->stats.retried++;
    sl_window_again(&fetch->window, request->wants, false);
    end_request(fetch, request);
}

static void packed_done(sl_fetch *fetch, sl_request *request, const sl_completion *completion)
{
    const uint64_t got = completion->result > 0 ? (uint64_t)completion->result : 0;
    const sl_failure failure = {.kind = completion->why != NULL ? SL_FAILURE_PACKED
                                                                : SL_FAILURE_CANCELED,
                                .tries = request->tries,
                                .why = completion->why};
    fetch_ends_finish(fetch, request, request->start + got,
                      got == request->needed ? NULL : &failure);
}

static void fetch_ends_trace(const sl_request *request, int64_t result)
{
    if (sl_trace_running()) {
        sl_trace_write(&(sluice_trace_event){.begin_ns = request->since_ns,
                                             .end_ns = sl_now_ns(),
                                             .sample = -1,
                                             .bytes = result > 0 ? (uint64_t)result : 0,
                                             .kind = SLUICE_TRACE_READ});
    }
}

/* Takes the request back from the backend. */
static void land(sl_fetch *fetch, sl_request *request, const sl_completion *completion)
{
    sl_fetch_stats *stats = &fetch->stats;
    const int64_t result = completion->result;
    const bool flew = request->state == SL_REQUEST_FLYING;
    fetch_ends_trace(request, result);
    stats->reads++;
    if (request->packed) {
        stats->bytes_read += completion->file_bytes;
    } else {
        stats->bytes_read += result > 0 ? (uint64_t)result : 0;
    }
    if (flew) {
        stats->depth[sl_depth_bin(fetch->requests.flying, fetch->config.depth)]++;
    }
    sl_requests_land(&fetch->requests, request);
    if (flew && fetch->requests.flying == 0) {
        stats->busy_ns += fetch->now_ns - fetch->busy_since_ns;
    }
}

/* Drops pieces from the first to the last: the gaps were mostly read with them. */
static void drop_cache(const sl_request *request, int64_t result)
{
    uint64_t begin = request->read.offset;
    uint64_t end = begin + (uint64_t)result;
    for (uint32_t i = 0; i < request->piece_count; i++) {
        const sl_piece *piece = &request->pieces[i];
        const uint64_t own_end =
            piece->offset + (uint64_t)(piece->count - 1) * piece->stride + piece->bytes;
        begin = sl_min_u64(piece->offset, begin);
        end = sl_max_u64(own_end, end);
    }
    sl_handle_advise(request->pin.handle, SL_ADVICE_NEVER, begin, end - begin);
}

/* Updates the pin of an object after a completed read. */
static void unpin(sl_fetch *fetch, sl_request *request, int64_t result)
{
    if (!request->pinned) {
        return;
    }
    if (fetch->config.cache == SL_CACHE_DROP && result > 0) {
        drop_cache(request, result);
    }
    const bool refused = result == -EINVAL && request->read.direct;
    if (refused || result == -ESTALE) {
        sl_objects_reopen(fetch->config.objects, &request->pin, refused);
    }
}

/* Takes the request back from the opener thread. */
static void open_done(sl_fetch *fetch, sl_request *request)
{
    const bool flew = request->state == SL_REQUEST_FLYING;
    sl_requests_opened(&fetch->requests, request);
    if (flew && fetch->requests.flying == 0) {
        fetch->stats.busy_ns += fetch->now_ns - fetch->busy_since_ns;
    }
    if (request->wants != SL_WANT_NONE || request->resident) {
        sl_fetch_opened(fetch, request);
        return;
    }
    if (request->opening.status == SLUICE_OK) {
        sl_objects_unpin(fetch->config.objects, &request->opening.pin);
    }
    end_request(fetch, request);
}

void sl_fetch_complete(sl_fetch *fetch, const sl_completion *completion)
{
    sl_request *request = (sl_request *)completion->read;
    if (request->read.kind == SL_READ_OPEN) {
        open_done(fetch, request);
        return;
    }
    const sl_pin pinned = request->pin;
    const bool was_pinned = request->pinned;
    land(fetch, request, completion);
    unpin(fetch, request, completion->result);
    request->pinned = false;
    if (request->wants == SL_WANT_NONE && !request->resident) {
        end_request(fetch, request);
    } else if (completion->final) {
        remote_failed(fetch, request, completion);
    } else if (request->packed) {
        packed_done(fetch, request, completion);
    } else if (request->whole) {
        whole_done(fetch, request, completion);
    } else {
        part_done(fetch, request, pinned.handle, completion->result);
    }
    if (was_pinned) {
        sl_objects_unpin(fetch->config.objects, &pinned);
    }
}

/* ---- reads that never come back, and cancelled ones ---- */

/* Leaves the memory to the kernel; the wants fail now. */
static void abandon(sl_fetch *fetch, sl_request *request)
{
    const sl_failure failure = {.kind = SL_FAILURE_STALLED,
                                .tries = request->tries,
                                .offset = request->start + request->got};
    sl_requests_abandon(&fetch->requests, request);
    if (fetch->requests.flying == 0) {
        fetch->stats.busy_ns += fetch->now_ns - fetch->busy_since_ns;
    }
    sl_read_buffers_abandon(&fetch->buffers, &request->buffer);
    uint32_t next = request->wants;
    request->wants = SL_WANT_NONE;
    request->count = 0;
    while (next != SL_WANT_NONE) {
        const uint32_t index = next;
        next = fetch->window.wants[index].next; /* before its slot is free */
        sl_fetch_fail(fetch, index, &failure);
    }
}

/* Fails wants that wait too long because nothing can be read: every request is abandoned, or has
 * memory that is needed. */
static void watch_stuck(sl_fetch *fetch)
{
    if (!fetch->starved &&
        (fetch->requests.free != NULL || fetch->requests.abandoned < fetch->config.depth)) {
        fetch->stuck_since_ns = fetch->now_ns;
        return;
    }
    if (fetch->now_ns - fetch->stuck_since_ns < fetch->config.stall_fail_ns) {
        return;
    }
    fetch->stuck_since_ns = fetch->now_ns;
    const sl_failure failure = {.kind = SL_FAILURE_STALLED};
    uint32_t index = sl_window_next(&fetch->window);
    for (; index != SL_WANT_NONE; index = sl_window_next(&fetch->window)) {
        sl_fetch_fail(fetch, index, &failure);
    }
}

/* One unpacking step can take long, and other reads wait for it. */
static void watch_unpackers(sl_fetch *fetch)
{
    const uint64_t progress = sl_unpackers_progress(fetch->unpackers);
    if (progress != fetch->unpack_progress) {
        fetch->unpack_progress = progress;
        sl_requests_go_on(&fetch->requests, SL_REQUESTS_PACKED, fetch->now_ns);
    }
}

/* Reads wait for one another if a store accepts few at once. A stalled one ends by itself. */
static void watch_remote(sl_fetch *fetch)
{
    const uint64_t progress = sl_backend_remote_progress(fetch->remote);
    if (progress != fetch->remote_progress) {
        fetch->remote_progress = progress;
        sl_requests_go_on(&fetch->requests, SL_REQUESTS_REMOTE, fetch->now_ns);
    }
}

static uint64_t ago(const sl_fetch *fetch, uint64_t ns)
{
    return fetch->now_ns > ns ? fetch->now_ns - ns : 0;
}

void sl_fetch_watch(sl_fetch *fetch)
{
    if (fetch->now_ns < fetch->next_tick_ns) {
        return;
    }
    fetch->next_tick_ns = fetch->now_ns + fetch->tick_ns;
    if (fetch->unpackers != NULL) {
        watch_unpackers(fetch);
    }
    if (fetch->remote != NULL) {
        watch_remote(fetch);
    }
    fetch->stats.stalled +=
        sl_requests_warn(&fetch->requests, ago(fetch, fetch->config.stall_warn_ns));
    const uint64_t limit_ns = ago(fetch, fetch->config.stall_fail_ns);
    sl_request *request = sl_requests_sent_before(&fetch->requests, limit_ns);
    for (; request != NULL; request = sl_requests_sent_before(&fetch->requests, limit_ns)) {
        abandon(fetch, request);
    }
    watch_stuck(fetch);
}

/* Frees requests in line, which the backend does not have. */
static void leave_line(sl_fetch *fetch)
{
    sl_request *request = sl_requests_next_in_line(&fetch->requests);
    for (; request != NULL; request = sl_requests_next_in_line(&fetch->requests)) {
        sl_objects_unpin(fetch->config.objects, &request->pin);
        end_request(fetch, request);
    }
}

void sl_fetch_cancel_reads(sl_fetch *fetch)
{
    for (uint32_t i = 0; i < fetch->config.depth; i++) {
        sl_request *request = &fetch->requests.all[i];
        if (request->resident && request->state != SL_REQUEST_FREE) {
            continue; /* the next epoch can use the copy, too */
        }
        request->wants = SL_WANT_NONE;
        request->count = 0;
        if (request->state == SL_REQUEST_WAITING) {
            if (request->pinned) {
                sl_objects_unpin(fetch->config.objects, &request->pin);
                request->pinned = false;
            }
            end_request(fetch, request);
        }
    }
    leave_line(fetch);
    if (fetch->unpackers != NULL) {
        sl_unpackers_cancel(fetch->unpackers);
    }
    if (fetch->remote != NULL) {
        sl_backend_remote_cancel(fetch->remote);
    }
}

uint64_t sl_fetch_patience(const sl_fetch *fetch)
{
    uint64_t until = sl_requests_next_due(&fetch->requests);
    if (fetch->may_ask && sl_window_has_space(&fetch->window)) {
        return 0;
    }
    if ((fetch->requests.flying > 0 || fetch->requests.free == NULL || fetch->starved) &&
        fetch->next_tick_ns < until) {
        until = fetch->next_tick_ns;
    }
    if (until == UINT64_MAX) {
        return UINT64_MAX;
    }
    return until > fetch->now_ns ? until - fetch->now_ns : 0;
}
