/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_reads: from wants to reads, and from what came back to wants. */
#include "clock.h"
#include "fetch_state.h"
#include "trace.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* The storage is looked at this often. */
#define LOOK_NS ((uint64_t)32000000)
/* Reads in flight beyond which others stay in line, while the kernel reads ahead. */
#define LINE_FLYING 8U
/* A request for a descriptor is repeated this often while others hold them all. */
#define PIN_RETRY_NS ((uint64_t)1000000)
/* Room given to an object of unknown size, at least. */
#define WHOLE_GUESS_MIN ((uint64_t)64 << 10)

/* ---- making reads ---- */

static bool may_be_direct(const sl_fetch *fetch)
{
    return fetch->config.cache == SL_CACHE_DIRECT || fetch->config.cache == SL_CACHE_AUTO;
}

/* Sets the request to read the span. Returns the bytes of buffer that it needs. */
static size_t aim(const sl_fetch *fetch, sl_request *request, const sl_span *span)
{
    const uint64_t align = may_be_direct(fetch) ? SL_DIRECT_ALIGN : 1;
    request->start = span->low / align * align;
    request->needed = (uint32_t)(span->high - request->start);
    request->span = (uint32_t)((request->needed + align - 1) / align * align);
    return request->span + SL_FETCH_PADDING;
}

static bool aim_at_whole(sl_fetch *fetch, sl_request *request, const sl_want *want,
                         bool may_reserve)
{
    const uint64_t bytes = want->whole_bytes > 0 ? want->whole_bytes : fetch->whole_guess;
    if (!sl_read_buffers_take(&fetch->buffers, (size_t)bytes + SL_DIRECT_ALIGN, may_reserve,
                              &request->buffer)) {
        return false;
    }
    request->whole = true;
    /* A multiple of the alignment, with more than the padding left behind it. */
    request->span = (uint32_t)(request->buffer.bytes - SL_DIRECT_ALIGN);
    return true;
}

/* A buffer and a range for want `index`, with its neighbours when there is room for them. */
static bool aim_request(sl_fetch *fetch, sl_request *request, uint32_t index, sl_span *span)
{
    const sl_want *want = &fetch->window.wants[index];
    /* The reserve is only for what is delivered as soon as it is read. */
    const bool may_reserve = sl_window_is_due(&fetch->window, index);
    *span = sl_window_span(&fetch->window, index, true);
    if (want->item.bytes == 0) {
        return aim_at_whole(fetch, request, want, may_reserve);
    }
    if (span->count > 1) {
        if (sl_read_buffers_try(&fetch->buffers, aim(fetch, request, span), &request->buffer)) {
            return true;
        }
        *span = sl_window_span(&fetch->window, index, false);
    }
    return sl_read_buffers_take(&fetch->buffers, aim(fetch, request, span), may_reserve,
                                &request->buffer);
}

static void failed(sl_fetch *fetch, sl_request *request, sl_failure_kind kind, int sys_errno,
                   uint64_t object_bytes);

/* Looks, every some ms, whether the storage had time to spare. */
static bool is_saturated(sl_fetch *fetch)
{
    const uint64_t passed_ns = fetch->now_ns - fetch->looked_ns;
    if (passed_ns >= LOOK_NS) {
        uint64_t busy_ns = fetch->stats.busy_ns;
        busy_ns += fetch->requests.flying > 0 ? fetch->now_ns - fetch->busy_since_ns : 0;
        fetch->saturated =
            fetch->looked_ns > 0 && busy_ns - fetch->looked_busy_ns > passed_ns / 16 * 15;
        fetch->looked_busy_ns = busy_ns;
        fetch->looked_ns = fetch->now_ns;
    }
    return fetch->saturated;
}

/* AUTO: whether the page cache has what is to be read, by asking or by what was there before. */
static bool is_cached(sl_fetch *fetch, const sl_request *request)
{
    if (!sl_page_cache_asks(&fetch->page_cache, request->object)) {
        return sl_page_cache_is_warm(&fetch->page_cache, request->object);
    }
    sl_pin look;
    const sl_pin_how how = {.direct = false};
    if (sl_objects_pin(fetch->config.objects, request->object, how, &look, NULL) != SLUICE_OK) {
        return false;
    }
    const sl_cached_range range = {request->object, look.fd, request->start, request->needed};
    const bool cached = sl_page_cache_has(&fetch->page_cache, &range);
    sl_objects_unpin(fetch->config.objects, &look);
    return cached;
}

/* Past the page cache, or through it; there, with the kernel reading ahead or not. What is left of
 * a read goes the same way: it need not be aligned for the other. The copy in memory always goes
 * through it: its pieces are not aligned. */
static void choose_way(sl_fetch *fetch, sl_request *request)
{
    if (request->tries > 0) {
        request->reads_ahead = false;
        return;
    }
    request->past_cache = may_be_direct(fetch) && !request->resident;
    if (fetch->config.cache != SL_CACHE_AUTO || !request->past_cache) {
        return;
    }
    const bool cached = request->lookup || /* others will look there, too */
                        is_cached(fetch, request);
    request->reads_ahead = !cached && fetch->config.fills && is_saturated(fetch);
    request->past_cache = !cached && !request->reads_ahead;
}

/* Finds the object's descriptor: OK, AGAIN (the request waits), or an error (it has ended). */
static sluice_status pin(sl_fetch *fetch, sl_request *request)
{
    sluice_error error;
    const sl_pin_how how = {.direct = request->past_cache};
    const sluice_status status =
        sl_objects_pin(fetch->config.objects, request->object, how, &request->pin, &error);
    request->pinned = status == SLUICE_OK;
    if (status == SLUICE_AGAIN && fetch->requests.flying > 0) {
        sl_requests_wait_for_pin(&fetch->requests, request, fetch->now_ns + PIN_RETRY_NS);
    } else if (status == SLUICE_CORRUPT) {
        failed(fetch, request, SL_FAILURE_SIZE, 0, (uint64_t)error.offset);
    } else if (status != SLUICE_OK) {
        const bool nothing = error.sys_errno == 0 && status == SLUICE_AGAIN;
        failed(fetch, request, SL_FAILURE_OPEN, nothing ? EMFILE : error.sys_errno, 0);
    }
    return status;
}

/* Fills `read` to ask for what is not there yet. */
static void describe_read(const sl_fetch *fetch, sl_request *request)
{
    const uint32_t got = request->got;
    sl_read *read = &request->read;
    *read = (sl_read){.kind = request->whole ? SL_READ_FILE : SL_READ_AT,
                      .fd = -1,
                      .offset = request->start + got,
                      .length = request->span - got,
                      .buffer = request->to + got};
    if (request->whole) {
        read->path = request->path;
        read->direct = fetch->config.cache == SL_CACHE_DIRECT;
        read->drop_cache = read->direct || fetch->config.cache == SL_CACHE_DROP;
    }
}

static void fly(sl_fetch *fetch, sl_request *request)
{
    if (fetch->requests.flying == 0) {
        fetch->busy_since_ns = fetch->now_ns;
    }
    sl_requests_fly(&fetch->requests, request, fetch->now_ns);
    assert(fetch->batch_count < fetch->config.depth);
    fetch->batch[fetch->batch_count++] = &request->read;
}

/* Has the kernel begin to read; the request lines up. */
static void read_ahead(sl_fetch *fetch, sl_request *request)
{
    const sl_cached_range range = {request->object, request->pin.fd, request->start,
                                   request->needed};
    sl_page_cache_read_ahead(&range);
    sl_requests_line_up(&fetch->requests, request);
}

/* Gives a MADE request (to be read from `got` on) to the backend, or has it wait or fail. */
static void start(sl_fetch *fetch, sl_request *request)
{
    describe_read(fetch, request);
    if (request->whole) {
        if (sl_objects_path(fetch->config.objects, request->object, request->path, SL_PATH_BYTES) !=
            SLUICE_OK) {
            failed(fetch, request, SL_FAILURE_OPEN, ENAMETOOLONG, 0);
            return;
        }
    } else {
        choose_way(fetch, request);
        if (pin(fetch, request) != SLUICE_OK) {
            return;
        }
        request->read.fd = request->pin.fd;
        request->read.direct = request->pin.direct;
        fetch->stats.direct = fetch->stats.direct || request->pin.direct;
        if (request->reads_ahead) {
            read_ahead(fetch, request);
            return;
        }
    }
    fly(fetch, request);
}

/* No buffer for want `index`. True: go on with the next. */
static bool without_memory(sl_fetch *fetch, uint32_t index)
{
    if (sl_read_buffers_have_reserve(&fetch->buffers)) {
        return false; /* a release signals */
    }
    /* The one before was abandoned with a stalled read, and there is no memory for another. */
    sl_fetch_fail(fetch, index, &(sl_failure){.kind = SL_FAILURE_MEMORY});
    return true;
}

/* Serves want `index` from the copy in memory; false: it is not there. */
static bool serve_resident(sl_fetch *fetch, uint32_t index)
{
    const sl_fetch_item *item = &fetch->window.wants[index].item;
    const uint8_t *data = NULL;
    if (item->bytes > 0) {
        data = sl_resident_at(&fetch->resident, item->object, item->offset, item->bytes);
    }
    if (data == NULL) {
        return false;
    }
    const sl_span span = sl_window_span(&fetch->window, index, false);
    const sl_fetch_bytes bytes = {{data, item->bytes}, SL_HANDLE_NONE};
    (void)sl_window_take(&fetch->window, index, &span);
    sl_fetch_ready(fetch, index, &bytes);
    return true;
}

/* One piece of the copy in memory, when none is on its way. */
static void plan_resident(sl_fetch *fetch)
{
    sl_resident_piece piece;
    /* Behind the others, should there be room for a single one. */
    const bool last = fetch->requests.free != NULL && fetch->requests.free->next == NULL;
    if (fetch->requests.free == NULL || (last && sl_window_next(&fetch->window) != SL_WANT_NONE) ||
        !sl_resident_next(&fetch->resident, &piece)) {
        return;
    }
    sl_request *request = sl_requests_take(&fetch->requests);
    request->resident = true;
    request->object = piece.object;
    request->start = piece.offset;
    request->needed = piece.bytes;
    request->span = piece.bytes;
    request->to = piece.to;
    start(fetch, request);
}

void sl_fetch_plan(sl_fetch *fetch)
{
    plan_resident(fetch);
    while (fetch->requests.pin_waiting == 0) {
        const uint32_t index = sl_window_next(&fetch->window);
        if (index == SL_WANT_NONE) {
            return;
        }
        if (serve_resident(fetch, index)) {
            continue;
        }
        sl_request *request = sl_requests_take(&fetch->requests);
        sl_span span;
        if (request == NULL) {
            return;
        }
        if (!aim_request(fetch, request, index, &span)) {
            sl_requests_give(&fetch->requests, request);
            if (!without_memory(fetch, index)) {
                return;
            }
            continue;
        }
        request->to = request->buffer.base;
        request->object = fetch->window.wants[index].item.object;
        request->lookup = fetch->window.wants[index].item.lookup;
        request->count = span.count;
        request->tries = span.count == 1 ? fetch->window.wants[index].tries : 0;
        request->wants = sl_window_take(&fetch->window, index, &span);
        start(fetch, request);
    }
}

void sl_fetch_retry_due(sl_fetch *fetch)
{
    sl_request *request = sl_requests_due(&fetch->requests, fetch->now_ns);
    for (; request != NULL; request = sl_requests_due(&fetch->requests, fetch->now_ns)) {
        sl_requests_remake(&fetch->requests, request);
        start(fetch, request);
    }
}

void sl_fetch_submit(sl_fetch *fetch)
{
    /* The kernel reads what lines up; few of its threads can wait for that at once. */
    while (fetch->requests.flying < LINE_FLYING) {
        sl_request *request = sl_requests_next_in_line(&fetch->requests);
        if (request == NULL) {
            break;
        }
        fly(fetch, request);
    }
    if (fetch->batch_count > 0) {
        fetch->backend->ops->submit(fetch->backend, fetch->batch, fetch->batch_count);
        fetch->batch_count = 0;
    }
}

/* ---- the end of a read ---- */

static void end_request(sl_fetch *fetch, sl_request *request)
{
    sl_read_buffers_give(&fetch->buffers, &request->buffer);
    sl_requests_give(&fetch->requests, request);
}

/* The bytes of a want that lie below `valid_end`; none when they do not. */
static bool bytes_of(const sl_request *request, const sl_want *want, uint64_t valid_end,
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

/* Wants of `list` that are READY with the bytes below `valid_end`. */
static uint32_t count_ready(const sl_fetch *fetch, const sl_request *request, uint64_t valid_end)
{
    uint32_t ready = 0;
    sl_bytes bytes;
    for (uint32_t i = request->wants; i != SL_WANT_NONE; i = fetch->window.wants[i].next) {
        ready += bytes_of(request, &fetch->window.wants[i], valid_end, &bytes);
    }
    return ready;
}

/*
 * Ends a request: wants that lie below offset `valid_end` of the object are READY, the others
 * FAILED, or WANTED alone when `failure` is NULL.
 */
static void finish(sl_fetch *fetch, sl_request *request, uint64_t valid_end,
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
        if (ready > 0 && bytes_of(&was, want, valid_end, &bytes.bytes)) {
            sl_fetch_ready(fetch, index, &bytes);
        } else if (failure != NULL) {
            sl_fetch_fail(fetch, index, failure);
        } else {
            sl_window_again(&fetch->window, index, true);
        }
    }
}

/* The request's read or open failed: it is tried again, split, or its wants fail. */
static void failed(sl_fetch *fetch, sl_request *request, sl_failure_kind kind, int sys_errno,
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
                                .offset = kind == SL_FAILURE_SIZE ? object_bytes : valid_end,
                                .object_bytes = object_bytes};
    finish(fetch, request, valid_end, verdict == SL_VERDICT_SPLIT ? NULL : &failure);
}

/* No byte more: the end of the object, or (for a moment) something odd. `valid_end`: what is there.
 */
static void no_progress(sl_fetch *fetch, sl_request *request, int fd, uint64_t valid_end)
{
    struct stat found;
    if (fstat(fd, &found) != 0) {
        failed(fetch, request, SL_FAILURE_READ, errno, 0);
    } else if ((uint64_t)found.st_size > valid_end) {
        failed(fetch, request, SL_FAILURE_READ, EAGAIN, 0);
    } else if (request->resident) {
        sl_resident_give_up(&fetch->resident);
        end_request(fetch, request);
    } else {
        const sl_failure failure = {.kind = SL_FAILURE_TRUNCATED,
                                    .tries = request->tries,
                                    .offset = valid_end,
                                    .object_bytes = (uint64_t)found.st_size};
        finish(fetch, request, valid_end, &failure);
    }
}

static void part_done(sl_fetch *fetch, sl_request *request, int fd, int64_t result)
{
    if (result < 0) {
        failed(fetch, request, SL_FAILURE_READ, (int)-result, 0);
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
            finish(fetch, request, request->start + request->needed, NULL);
        }
        break;
    case SL_PART_TAIL:
        request->retry.moment = 0;
        fetch->stats.retried++;
        sl_requests_wait(&fetch->requests, request, fetch->now_ns);
        break;
    case SL_PART_NOTHING:
        no_progress(fetch, request, fd, valid_end);
        break;
    }
}

/* Room for most objects without a second try: up at once when too small, down slowly. */
static void learn_size(sl_fetch *fetch, uint64_t bytes, bool too_small)
{
    const uint64_t most =
        (uint64_t)fetch->buffers.arena.units * SL_ARENA_UNIT / fetch->config.depth / 2;
    if (too_small && bytes > fetch->whole_guess) {
        fetch->whole_guess = bytes < most ? bytes : most;
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
    if (completion->result < 0 && !too_small) {
        failed(fetch, request, SL_FAILURE_READ, (int)-completion->result, 0);
        return;
    }
    fetch->stats.direct = fetch->stats.direct || completion->direct;
    if (completion->file_bytes > fetch->config.max_sample_bytes) {
        const sl_failure failure = {.kind = SL_FAILURE_TOO_LARGE,
                                    .object_bytes = completion->file_bytes};
        finish(fetch, request, 0, &failure);
        return;
    }
    learn_size(fetch, completion->file_bytes, too_small);
    if (!too_small) {
        finish(fetch, request, (uint64_t)completion->result, NULL);
        return;
    }
    sl_want *want = &fetch->window.wants[request->wants];
    want->whole_bytes = completion->file_bytes;
    want->tries = request->tries;
    fetch->stats.retried++;
    sl_window_again(&fetch->window, request->wants, false);
    end_request(fetch, request);
}

static void trace(const sl_request *request, int64_t result)
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
static void land(sl_fetch *fetch, sl_request *request, int64_t result)
{
    sl_fetch_stats *stats = &fetch->stats;
    const bool flew = request->state == SL_REQUEST_FLYING;
    trace(request, result);
    stats->reads++;
    stats->bytes_read += result > 0 ? (uint64_t)result : 0;
    if (flew) {
        stats->depth[sl_depth_bin(fetch->requests.flying, fetch->config.depth)]++;
    }
    sl_requests_land(&fetch->requests, request);
    if (flew && fetch->requests.flying == 0) {
        stats->busy_ns += fetch->now_ns - fetch->busy_since_ns;
    }
}

/* What a completed read of a pinned object means for the pin. */
static void unpin(sl_fetch *fetch, sl_request *request, int64_t result)
{
    if (!request->pinned) {
        return;
    }
    if (fetch->config.cache == SL_CACHE_DROP && result > 0) {
        (void)posix_fadvise(request->pin.fd, (off_t)request->read.offset, (off_t)result,
                            POSIX_FADV_DONTNEED);
    }
    const bool refused = result == -EINVAL && request->read.direct;
    if (refused || result == -ESTALE) {
        sl_objects_reopen(fetch->config.objects, &request->pin, refused);
    }
}

void sl_fetch_complete(sl_fetch *fetch, const sl_completion *completion)
{
    sl_request *request = (sl_request *)completion->read;
    const sl_pin pinned = request->pin;
    const bool was_pinned = request->pinned;
    land(fetch, request, completion->result);
    unpin(fetch, request, completion->result);
    request->pinned = false;
    if (request->wants == SL_WANT_NONE && !request->resident) {
        end_request(fetch, request);
    } else if (request->whole) {
        whole_done(fetch, request, completion);
    } else {
        part_done(fetch, request, pinned.fd, completion->result);
    }
    if (was_pinned) {
        sl_objects_unpin(fetch->config.objects, &pinned);
    }
}

/* ---- reads that never come back, and cancelled ones ---- */

/* The memory stays the kernel's; the wants fail now. */
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

/* Every request is abandoned, so nothing can be read: what waits too long for that fails, too. */
static void watch_stuck(sl_fetch *fetch)
{
    if (fetch->requests.free != NULL || fetch->requests.abandoned < fetch->config.depth) {
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
    fetch->stats.stalled +=
        sl_requests_warn(&fetch->requests, ago(fetch, fetch->config.stall_warn_ns));
    const uint64_t limit_ns = ago(fetch, fetch->config.stall_fail_ns);
    sl_request *request = sl_requests_sent_before(&fetch->requests, limit_ns);
    for (; request != NULL; request = sl_requests_sent_before(&fetch->requests, limit_ns)) {
        abandon(fetch, request);
    }
    watch_stuck(fetch);
}

/* Those in line were not given to the backend. */
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
            continue; /* the copy is of use for what comes next, too */
        }
        request->wants = SL_WANT_NONE;
        request->count = 0;
        if (request->state == SL_REQUEST_WAITING) {
            end_request(fetch, request);
        }
    }
    leave_line(fetch);
}

uint64_t sl_fetch_patience(const sl_fetch *fetch)
{
    uint64_t until = sl_requests_next_due(&fetch->requests);
    if (fetch->may_ask && sl_window_has_room(&fetch->window)) {
        return 0;
    }
    if ((fetch->requests.flying > 0 || fetch->requests.free == NULL) &&
        fetch->next_tick_ns < until) {
        until = fetch->next_tick_ns;
    }
    if (until == UINT64_MAX) {
        return UINT64_MAX;
    }
    return until > fetch->now_ns ? until - fetch->now_ns : 0;
}
