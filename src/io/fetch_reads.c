/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_reads: turns wants into reads. */
#include "error.h"
#include "fetch_state.h"
#include "minmax.h"

#include <assert.h>
#include <errno.h>

/* Interval between looks at the storage. */
#define LOOK_NS ((uint64_t)32000000)
/* Most reads in flight while the kernel reads ahead; others stay in line. */
#define LINE_FLYING 8U
/* Largest gap in a remote object that is read along: gap bytes take space until the samples around
 * it are used, and bandwidth. */
#define REMOTE_GAP_MOST ((uint64_t)128 << 10)
/* Interval of retries for a descriptor while others hold them all. */
#define PIN_RETRY_NS ((uint64_t)1000000)

/* ---- what to read, and where to ---- */

static bool may_be_direct(const sl_fetch *fetch)
{
    return fetch->config.cache == SL_CACHE_DIRECT || fetch->config.cache == SL_CACHE_AUTO;
}

/* Sets the request to read the span. Returns the bytes of buffer that it needs. Pieces are back to
 * back in the buffer, as if they were so in the object. */
static size_t fetch_reads_aim(const sl_fetch *fetch, sl_request *request, const sl_span *span)
{
    const bool aligned =
        may_be_direct(fetch) && request->piece_count == 0 && !request->packed && !request->remote;
    const uint64_t align = aligned ? SL_DIRECT_ALIGN : 1;
    request->start = span->low / align * align;
    request->needed = (uint32_t)(span->high - request->start);
    request->span = (uint32_t)((request->needed + align - 1) / align * align);
    return request->span + SL_FETCH_PADDING;
}

static bool aim_at_whole(sl_fetch *fetch, sl_request *request, const sl_want *want,
                         bool may_reserve)
{
    /* No guess exceeds the limit: the reserve has space for one sample of that size. */
    const uint64_t guess = sl_min_u64(fetch->whole_guess, fetch->config.max_sample_bytes);
    const uint64_t bytes = want->whole_bytes > 0 ? want->whole_bytes : guess;
    if (!sl_read_buffers_take(&fetch->buffers, (size_t)bytes + SL_DIRECT_ALIGN, may_reserve,
                              &request->buffer)) {
        return false;
    }
    request->whole = true;
    /* A multiple of the alignment, with more than the padding left behind it. */
    request->span = (uint32_t)(request->buffer.bytes - SL_DIRECT_ALIGN);
    return true;
}

/* Merges neighbours in remote objects across gaps that cost less than a request. */
static void set_merging(sl_fetch *fetch, bool remote)
{
    uint64_t gap = fetch->config.merge_gap_bytes;
    if (remote && fetch->config.merge_bytes > 0) {
        const uint64_t measured = sl_backend_remote_gap(fetch->remote);
        gap = sl_max_u64(gap, sl_min_u64(measured, REMOTE_GAP_MOST));
    }
    fetch->window.config.merge_gap_bytes = gap;
}

/* Finds a buffer and a range for want `index`, with its neighbours if there is space for them. */
static bool aim_request(sl_fetch *fetch, sl_request *request, uint32_t index, sl_span *span)
{
    const sl_want *want = &fetch->window.wants[index];
    /* The reserve is only for items that are delivered as soon as they are read. */
    const bool may_reserve = sl_window_is_due(&fetch->window, index);
    *span = sl_window_span(&fetch->window, index, true);
    request->piece_count = want->item.pieces;
    for (uint32_t i = 0; i < request->piece_count; i++) {
        request->pieces[i] = fetch->source.piece(fetch->source.ctx, &want->item, i);
    }
    if (want->item.bytes == 0) {
        return aim_at_whole(fetch, request, want, may_reserve);
    }
    if (span->count > 1) {
        if (sl_read_buffers_try(&fetch->buffers, fetch_reads_aim(fetch, request, span),
                                &request->buffer)) {
            return true;
        }
        *span = sl_window_span(&fetch->window, index, false);
    }
    return sl_read_buffers_take(&fetch->buffers, fetch_reads_aim(fetch, request, span), may_reserve,
                                &request->buffer);
}

/* ---- which way ---- */

/* Checks every few milliseconds whether the storage had spare time. */
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

/* Returns whether to query the page cache by the O_DIRECT descriptor: yes if the likely answer is a
 * miss, unless the other one is open or will be needed, since everything is to end up in the page
 * cache. */
static bool asks_direct(const sl_fetch *fetch, uint32_t object)
{
    return !fetch->config.fills && sl_page_cache_asks_direct(&fetch->page_cache, object) &&
           !sl_objects_is_open(fetch->config.objects, object);
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

/* Lets the opener thread open the object, which may take as long as a server does. */
static void fly_open(sl_fetch *fetch, sl_request *request, bool direct)
{
    request->read = (sl_read){.kind = SL_READ_OPEN,
                              .fd = -1,
                              .object = request->object,
                              .direct = direct,
                              .opening = &request->opening};
    request->opening = (sl_opening){.status = SLUICE_CANCELED};
    fly(fetch, request);
}

/* Returns whether the page cache has the bytes, by a descriptor of the object. */
static bool ask_cache(sl_fetch *fetch, const sl_request *request, const sl_pin *look)
{
    const sl_cached_range range = {request->object, look->fd, look->direct, request->start,
                                   request->needed};
    /* an object without a descriptor has one code path only */
    return look->fd < 0 || sl_page_cache_has(&fetch->page_cache, &range);
}

/* AUTO: finds out whether the page cache has the bytes, by a query or by earlier answers. END: the
 * object is being opened for that. */
static sluice_status is_cached(sl_fetch *fetch, sl_request *request, bool *cached)
{
    *cached = false;
    if (!sl_page_cache_asks(&fetch->page_cache, request->object)) {
        *cached = sl_page_cache_is_warm(&fetch->page_cache, request->object);
        return SLUICE_OK;
    }
    sl_pin look;
    sl_objects *objects = fetch->config.objects;
    const sl_pin_how how = {.direct = asks_direct(fetch, request->object), .only_open = true};
    const sluice_status status = sl_objects_pin(objects, request->object, how, &look, NULL);
    if (status == SLUICE_END) {
        request->looks = true;
        fly_open(fetch, request, how.direct);
        return status;
    }
    if (status == SLUICE_OK) {
        *cached = ask_cache(fetch, request, &look);
        sl_objects_unpin(objects, &look);
    }
    return SLUICE_OK;
}

/* Returns whether a lookup goes through the page cache, since neighbours and other processes will
 * look there, too. A lookup that is not repeated follows the read behind it, by one descriptor. */
static bool is_shared(const sl_fetch *fetch, const sl_request *request)
{
    return !request->once || fetch->config.fills ||
           sl_objects_is_open(fetch->config.objects, request->object);
}

static void set_way(sl_fetch *fetch, sl_request *request, bool cached)
{
    request->reads_ahead = !cached && fetch->config.fills && is_saturated(fetch);
    request->past_cache = !cached && !request->reads_ahead;
    request->way_known = true;
}

/*
 * Chooses whether to read past the page cache or through it, and then with read-ahead or not. The
 * rest of a read goes the same way: it need not be aligned for the other. The copy in memory always
 * goes through it: its pieces are not aligned. END: known once the object is open.
 */
static sluice_status choose_way(sl_fetch *fetch, sl_request *request)
{
    if (request->tries > 0) {
        request->reads_ahead = false;
        return SLUICE_OK;
    }
    if (request->way_known) {
        return SLUICE_OK;
    }
    request->past_cache =
        may_be_direct(fetch) && !request->resident && request->piece_count == 0 && !request->remote;
    if (fetch->config.cache != SL_CACHE_AUTO || !request->past_cache) {
        return SLUICE_OK;
    }
    bool cached = request->lookup && is_shared(fetch, request);
    const sluice_status status = request->lookup ? SLUICE_OK : is_cached(fetch, request, &cached);
    if (status == SLUICE_OK) {
        set_way(fetch, request, cached);
    }
    return status;
}

/* Returns whether requests hold descriptors: reads in flight, and waiting ones. */
static bool has_pins(const sl_fetch *fetch)
{
    bool has = fetch->requests.flying > 0;
    for (uint32_t i = 0; i < fetch->config.depth && !has; i++) {
        const sl_request *request = &fetch->requests.all[i];
        has = request->state == SL_REQUEST_WAITING && request->pinned;
    }
    return has;
}

/* Handles an object that could not be pinned: the request waits for a descriptor, or has ended. */
static void not_pinned(sl_fetch *fetch, sl_request *request, const sl_opening *why)
{
    const sluice_status status = why->status;
    if (status == SLUICE_AGAIN && has_pins(fetch)) {
        sl_requests_wait_for_pin(&fetch->requests, request, fetch->now_ns + PIN_RETRY_NS);
    } else if (status == SLUICE_IO && why->sys_errno == 0) {
        sl_fetch_read_failed(fetch, request, SL_FAILURE_REPLACED, 0, 0);
    } else if (status == SLUICE_CORRUPT) {
        sl_fetch_read_failed(fetch, request, SL_FAILURE_SIZE, 0, (uint64_t)why->offset);
    } else if (status == SLUICE_UNSUPPORTED &&
               sl_objects_boundary(fetch->config.objects, request->object) != NULL) {
        sl_fetch_read_failed(fetch, request, SL_FAILURE_OUTSIDE, 0, 0);
    } else {
        const bool nothing = why->sys_errno == 0 && status == SLUICE_AGAIN;
        sl_fetch_read_failed(fetch, request, SL_FAILURE_OPEN, nothing ? EMFILE : why->sys_errno, 0);
    }
}

/* Finds the object's descriptor. Returns false if it is being opened, or the request waits or has
 * ended. */
static bool pin(sl_fetch *fetch, sl_request *request)
{
    sluice_error error;
    const sl_pin_how how = {.direct = request->past_cache, .only_open = true};
    if (request->pinned) {
        return true;
    }
    sl_error_clear(&error);
    const sluice_status status =
        sl_objects_pin(fetch->config.objects, request->object, how, &request->pin, &error);
    request->pinned = status == SLUICE_OK;
    if (status == SLUICE_END) {
        fly_open(fetch, request, request->past_cache);
    } else if (status != SLUICE_OK) {
        const sl_opening why = {
            .status = status, .sys_errno = error.sys_errno, .offset = error.offset};
        not_pinned(fetch, request, &why);
    }
    return request->pinned;
}

/* Continues after this round: requests of a round are submitted together. */
void sl_fetch_opened(sl_fetch *fetch, sl_request *request)
{
    const sl_opening *opening = &request->opening;
    const bool opened = opening->status == SLUICE_OK;
    const bool looked = request->looks;
    request->looks = false;
    if (looked) {
        set_way(fetch, request, opened && ask_cache(fetch, request, &opening->pin));
    }
    request->pinned = opened && request->read.direct == request->past_cache;
    if (request->pinned) {
        request->pin = opening->pin;
    } else if (opened) {
        sl_objects_unpin(fetch->config.objects, &opening->pin);
    }
    if (opened || looked) {
        sl_requests_wait(&fetch->requests, request, fetch->now_ns);
    } else {
        not_pinned(fetch, request, opening);
    }
}

/* ---- sending it ---- */

static sl_read_kind fetch_reads_kind_of(const sl_request *request)
{
    if (request->packed) {
        return SL_READ_PACKED;
    }
    if (request->whole) {
        return SL_READ_FILE;
    }
    return request->piece_count > 0 ? SL_READ_PIECES : SL_READ_AT;
}

/* Sets the pass, and what follows in it, from the last want. */
static void describe_pass(const sl_fetch *fetch, sl_request *request)
{
    sl_read *read = &request->read;
    for (uint32_t i = request->wants; i != SL_WANT_NONE; i = fetch->window.wants[i].next) {
        const sl_fetch_item *item = &fetch->window.wants[i].item;
        read->pass = item->pass;
        if (item->end != SL_PASS_GOES_ON) {
            read->end = item->end;
            read->last_bytes = (uint32_t)(request->start + request->needed - item->offset);
        }
    }
}

/* Fills `read` to request the missing bytes. */
static void describe_read(const sl_fetch *fetch, sl_request *request)
{
    const uint32_t got = request->got;
    sl_read *read = &request->read;
    *read = (sl_read){.kind = fetch_reads_kind_of(request),
                      .pieces = request->pieces,
                      .piece_count = request->piece_count,
                      .fd = -1,
                      .offset = request->start + got,
                      .length = request->span - got,
                      .buffer = request->to + got,
                      .object = request->object};
    if (request->whole) {
        read->path = request->path;
        read->boundary = sl_objects_boundary(fetch->config.objects, request->object);
        read->direct = fetch->config.cache == SL_CACHE_DIRECT;
        read->drop_cache = read->direct || fetch->config.cache == SL_CACHE_DROP;
        read->objects = fetch->config.objects;
        read->files = sl_objects_files(fetch->config.objects, request->object);
    }
    if (request->packed) {
        describe_pass(fetch, request);
    }
}

/* Starts read-ahead in the kernel and puts the request in line. */
static void fetch_reads_read_ahead(sl_fetch *fetch, sl_request *request)
{
    const sl_cached_range range = {request->object, request->pin.fd, false, request->start,
                                   request->needed};
    sl_page_cache_read_ahead(&range);
    sl_requests_line_up(&fetch->requests, request);
}

/* Gives a MADE request (to be read from `got` on) to the backend, or lets it wait or fail. */
static void fetch_reads_start(sl_fetch *fetch, sl_request *request)
{
    if (request->whole) {
        describe_read(fetch, request);
        if (sl_objects_path(fetch->config.objects, request->object, request->path, SL_PATH_BYTES) !=
            SLUICE_OK) {
            sl_fetch_read_failed(fetch, request, SL_FAILURE_OPEN, ENAMETOOLONG, 0);
            return;
        }
    } else if (!request->packed) {
        if (choose_way(fetch, request) != SLUICE_OK || !pin(fetch, request)) {
            return;
        }
        describe_read(fetch, request);
        request->read.fd = request->pin.fd;
        request->read.handle = request->pin.handle;
        request->read.direct = request->pin.direct;
        fetch->stats.direct = fetch->stats.direct || request->pin.direct;
        if (request->reads_ahead) {
            fetch_reads_read_ahead(fetch, request);
            return;
        }
    } else {
        describe_read(fetch, request);
    }
    fly(fetch, request);
}

/* ---- which is next ---- */

/*
 * With a spread, the next read need not be for the item waited for, and so may not use the reserve.
 * Everything in memory is waited for first, or will be released by its holder, except kept items:
 * if only those are left, they are moved together. Returns true: try again.
 */
static bool move_together(sl_fetch *fetch)
{
    uint32_t count = 0;
    const sl_window *window = &fetch->window;
    if (fetch->kept == NULL || !sl_window_is_waited_for(window)) {
        return false;
    }
    sl_read_buffers_hurry(&fetch->buffers);
    for (uint64_t k = window->base; k < window->asked; k++) {
        sl_want *want = &window->wants[k % window->config.lookahead];
        if (want->state == SL_WANT_READY) {
            fetch->kept[count++] = &want->bytes;
        }
    }
    if (fetch->requests.flying > 0 || !sl_read_buffers_move(&fetch->buffers, fetch->kept, count)) {
        fetch->starved = fetch->requests.flying == 0 && fetch->requests.abandoned > 0;
        return false;
    }
    return true;
}

/* Handles a missing buffer for want `index`. Returns true: continue with the next. */
static bool without_memory(sl_fetch *fetch, uint32_t index)
{
    if (sl_read_buffers_have_reserve(&fetch->buffers)) {
        return false; /* a release signals */
    }
    /* The reserve was abandoned with a stalled read, and there is no memory for another. */
    sl_fetch_fail(fetch, index, &(sl_failure){.kind = SL_FAILURE_MEMORY});
    return true;
}

/* Serves want `index` from the copy in memory; false: not available. */
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

/* Requests one piece of the copy in memory, if none is in flight. */
static void plan_resident(sl_fetch *fetch)
{
    sl_resident_piece piece;
    /* After the others, if a single request is left. */
    const bool last = fetch->requests.free != NULL && fetch->requests.free->next == NULL;
    if (fetch->requests.free == NULL || (last && sl_window_next(&fetch->window) != SL_WANT_NONE) ||
        !sl_resident_next(&fetch->resident, &piece)) {
        return;
    }
    sl_request *request = sl_requests_take(&fetch->requests);
    request->resident = true;
    request->object = piece.object;
    request->remote = sl_fetch_is_remote(fetch, piece.object);
    request->start = piece.offset;
    request->needed = piece.bytes;
    request->span = piece.bytes;
    request->to = piece.to;
    fetch_reads_start(fetch, request);
}

/* Returns whether another request in flight has the bytes of want `index`. */
static bool has_bytes_of(const sl_request *request, const sl_fetch_item *item)
{
    return request->remote && request->wants != SL_WANT_NONE && !request->whole &&
           !request->packed && request->piece_count == 0 && request->object == item->object &&
           (request->state == SL_REQUEST_FLYING || request->state == SL_REQUEST_WAITING) &&
           item->offset >= request->start &&
           item->offset + item->bytes <= request->start + request->needed;
}

/* Returns whether the want may wait for its delivery in the request's memory: the reserve is for
 * items that are delivered as soon as they are read. */
static bool may_stay_with(const sl_fetch *fetch, const sl_request *request, uint32_t index)
{
    return request->buffer.run.units > 0 || fetch->window.wants[index].item.lookup ||
           sl_window_is_due(&fetch->window, index);
}

/* Joins a request that brings the same bytes, since a search costs less than another request to a
 * store: for an index block, which many samples need at once, or a gap between others. Returns
 * false if there is none. */
static bool join_request(sl_fetch *fetch, uint32_t index)
{
    const sl_fetch_item *item = &fetch->window.wants[index].item;
    if (item->bytes == 0 || item->pieces > 0 || !sl_fetch_is_remote(fetch, item->object) ||
        sl_fetch_is_packed(fetch, item->object)) {
        return false;
    }
    for (uint32_t i = 0; i < fetch->config.depth; i++) {
        sl_request *request = &fetch->requests.all[i];
        if (has_bytes_of(request, item) && may_stay_with(fetch, request, index)) {
            const sl_span span = sl_window_span(&fetch->window, index, false);
            (void)sl_window_take(&fetch->window, index, &span);
            fetch->window.wants[index].next = request->wants;
            request->wants = index;
            request->count++;
            return true;
        }
    }
    return false;
}

void sl_fetch_plan(sl_fetch *fetch)
{
    plan_resident(fetch);
    fetch->starved = false;
    while (fetch->requests.pin_waiting == 0) {
        const uint32_t index = sl_window_next(&fetch->window);
        if (index == SL_WANT_NONE) {
            return;
        }
        if (serve_resident(fetch, index) || join_request(fetch, index)) {
            continue;
        }
        sl_request *request = sl_requests_take(&fetch->requests);
        sl_span span;
        if (request == NULL) {
            return;
        }
        request->packed = sl_fetch_is_packed(fetch, fetch->window.wants[index].item.object);
        request->remote = sl_fetch_is_remote(fetch, fetch->window.wants[index].item.object);
        set_merging(fetch, request->remote && !request->packed);
        if (!aim_request(fetch, request, index, &span) &&
            !(move_together(fetch) && aim_request(fetch, request, index, &span))) {
            sl_requests_give(&fetch->requests, request);
            if (!without_memory(fetch, index)) {
                return;
            }
            continue;
        }
        request->to = request->buffer.base;
        request->object = fetch->window.wants[index].item.object;
        request->lookup = fetch->window.wants[index].item.lookup;
        request->once = fetch->window.wants[index].item.once;
        request->count = span.count;
        request->tries = span.count == 1 ? fetch->window.wants[index].tries : 0;
        request->wants = sl_window_take(&fetch->window, index, &span);
        fetch_reads_start(fetch, request);
    }
}

void sl_fetch_retry_due(sl_fetch *fetch)
{
    sl_request *request = sl_requests_due(&fetch->requests, fetch->now_ns);
    for (; request != NULL; request = sl_requests_due(&fetch->requests, fetch->now_ns)) {
        sl_requests_remake(&fetch->requests, request);
        fetch_reads_start(fetch, request);
    }
}

void sl_fetch_submit(sl_fetch *fetch)
{
    /* The kernel reads for requests in line; few of its threads can wait for that at once. */
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
