/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_plan: which read comes next, how far it reaches, where its bytes go, and its start. */
#include "error.h"
#include "fetch_internal.h"

#include <assert.h>
#include <errno.h>

/* A request for a descriptor is repeated this often while others hold them all. */
#define PIN_RETRY_NS ((uint64_t)1000000)

/* A piece of a file: bytes [low, high) for `count` wants of fetch->order, from `first` on. */
struct span {
    uint64_t low, high;
    uint32_t first, count;
};

static uint64_t end_of(const sl_fetch_item *item)
{
    return item->offset + item->bytes;
}

static const sl_fetch_item *ordered_item(const sl_fetch *fetch, uint32_t place)
{
    return &fetch->wants[fetch->order[place]].item;
}

/* `span` with `item` in it; false when that breaks a limit of merging. */
static bool reaches(const sl_fetch *fetch, struct span *span, const sl_fetch_item *item,
                    uint32_t file)
{
    uint64_t low = item->offset < span->low ? item->offset : span->low;
    uint64_t high = end_of(item) > span->high ? end_of(item) : span->high;
    uint64_t gap = 0;
    if (item->offset > span->high) {
        gap = item->offset - span->high;
    } else if (end_of(item) < span->low) {
        gap = span->low - end_of(item);
    }
    if (item->file != file || gap > fetch->config.merge_gap_bytes ||
        high - low > fetch->config.merge_bytes) {
        return false;
    }
    span->low = low;
    span->high = high;
    span->count++;
    return true;
}

/* The want alone or, with `merge`, with what lies next to it: behind it first. */
static struct span span_of(const sl_fetch *fetch, uint32_t index, bool merge)
{
    const sl_fetch_item *item = &fetch->wants[index].item;
    struct span span = {item->offset, end_of(item), 0, 1};
    if (!merge) {
        return span;
    }
    span.first = sl_fetch_index_find(fetch, index);
    for (uint32_t next = span.first + 1; next < fetch->order_count; next++) {
        if (!reaches(fetch, &span, ordered_item(fetch, next), item->file)) {
            break;
        }
    }
    while (span.first > 0 &&
           reaches(fetch, &span, ordered_item(fetch, span.first - 1), item->file)) {
        span.first--;
    }
    return span;
}

/* Sets the request to read the span. Returns the bytes of buffer that it needs. */
static size_t aim(const sl_fetch *fetch, sl_request *request, const struct span *span)
{
    uint64_t align = fetch->config.cache == SL_CACHE_DIRECT ? SL_DIRECT_ALIGN : 1;
    request->start = span->low / align * align;
    request->needed = (uint32_t)(span->high - request->start);
    request->span = (uint32_t)((request->needed + align - 1) / align * align);
    return request->span + SL_FETCH_PADDING;
}

static bool aim_at_file(sl_fetch *fetch, sl_request *request, const sl_want *want, bool may_reserve)
{
    uint64_t bytes = want->file_bytes > 0 ? want->file_bytes : fetch->file_guess;
    if (!sl_fetch_buffer_take(fetch, request, (size_t)bytes + SL_DIRECT_ALIGN, may_reserve)) {
        return false;
    }
    request->start = 0;
    request->needed = 0;
    /* A multiple of the alignment, with more than the padding left behind it. */
    request->span = (uint32_t)(sl_fetch_buffer_bytes(fetch, request) - SL_DIRECT_ALIGN);
    return true;
}

/* A buffer and a range for want `index`, with its neighbours when there is room for them. */
static bool aim_request(sl_fetch *fetch, sl_request *request, uint32_t index, struct span *span)
{
    const sl_want *want = &fetch->wants[index];
    /* The reserve is only for what is delivered as soon as it is read. */
    bool may_reserve = sl_fetch_is_insert(fetch, index) || want->item.sequence < fetch->credited;
    *span = span_of(fetch, index, sl_fetch_is_indexed(fetch, index));
    if (want->item.bytes == 0) {
        return aim_at_file(fetch, request, want, may_reserve);
    }
    if (span->count > 1) {
        request->run = sl_read_arena_take(&fetch->arena, aim(fetch, request, span));
        if (request->run.units > 0) {
            request->buffer = sl_read_arena_data(&fetch->arena, request->run);
            return true;
        }
        *span = span_of(fetch, index, false);
    }
    return sl_fetch_buffer_take(fetch, request, aim(fetch, request, span), may_reserve);
}

/* Moves the wants of the span into the request. */
static void adopt(sl_fetch *fetch, sl_request *request, uint32_t index, const struct span *span)
{
    request->wants = index;
    request->count = span->count;
    request->file = fetch->wants[index].item.file;
    if (span->count == 1) {
        sl_fetch_unqueue(fetch, index);
    }
    fetch->wants[index].state = SL_WANT_READING;
    fetch->wants[index].next = SL_FETCH_NONE;
    if (span->count == 1) {
        return;
    }
    for (uint32_t i = 0; i < span->count; i++) {
        uint32_t other = fetch->order[span->first + i];
        if (other != index) {
            fetch->wants[other].state = SL_WANT_READING;
            fetch->wants[other].next = request->wants;
            request->wants = other;
        }
    }
    sl_fetch_index_remove(fetch, span->first, span->count);
}

void sl_fetch_free_request(sl_fetch *fetch, sl_request *request)
{
    uint32_t index = (uint32_t)(request - fetch->requests);
    if (request->state == SL_REQUEST_WAITING) {
        fetch->waiting_count--;
        fetch->pin_waiting -= request->pin_waiting ? 1 : 0;
    }
    *request = (sl_request){
        .wants = SL_FETCH_NONE, .path = request->path, .next_free = fetch->free_request};
    fetch->free_request = index;
}

/* Finds the file's descriptor: OK, AGAIN (the request waits), or an error (it has ended). */
static sluice_status pin(sl_fetch *fetch, sl_request *request)
{
    request->pinned = sl_file_table_pin_open(&fetch->files, request->file);
    if (request->pinned != NULL) {
        return SLUICE_OK;
    }
    char *path = fetch->paths + fetch->config.depth * SL_FETCH_PATH_MAX;
    sluice_error error;
    sl_error_clear(&error);
    sluice_status status =
        fetch->source.path(fetch->source.ctx, request->file, path, SL_FETCH_PATH_MAX);
    if (status == SLUICE_OK) {
        status = sl_file_table_pin(&fetch->files, request->file, path, &request->pinned, &error);
    }
    if (status == SLUICE_AGAIN && fetch->flying > 0) {
        request->pin_waiting = true;
        fetch->pin_waiting++;
        sl_fetch_wait_until(fetch, request, fetch->now_ns + PIN_RETRY_NS);
    } else if (status != SLUICE_OK) {
        int sys_errno = error.sys_errno == 0 && status == SLUICE_AGAIN ? EMFILE : error.sys_errno;
        sl_fetch_failed(fetch, request, SL_FAILURE_OPEN, sys_errno);
    }
    return status;
}

void sl_fetch_start(sl_fetch *fetch, sl_request *request)
{
    sl_read *read = &request->read;
    fetch->pin_waiting -= request->pin_waiting ? 1 : 0;
    request->pin_waiting = false;
    *read =
        (sl_read){.kind = fetch->wants[request->wants].item.bytes == 0 ? SL_READ_FILE : SL_READ_AT,
                  .fd = -1,
                  .offset = request->start + request->got,
                  .length = request->span - request->got,
                  .buffer = request->buffer + request->got};
    if (read->kind == SL_READ_FILE) {
        read->path = request->path;
        read->direct = fetch->config.cache == SL_CACHE_DIRECT;
        read->drop_cache = fetch->config.cache != SL_CACHE_BUFFERED;
        if (fetch->source.path(fetch->source.ctx, request->file, request->path,
                               SL_FETCH_PATH_MAX) != SLUICE_OK) {
            sl_fetch_failed(fetch, request, SL_FAILURE_OPEN, ENAMETOOLONG);
            return;
        }
    } else {
        if (pin(fetch, request) != SLUICE_OK) {
            return;
        }
        read->fd = request->pinned->fd;
        read->direct = request->pinned->direct;
        fetch->stats.direct = fetch->stats.direct || read->direct;
    }
    fetch->waiting_count -= request->state == SL_REQUEST_WAITING ? 1 : 0;
    request->state = SL_REQUEST_FLYING;
    request->since_ns = fetch->now_ns;
    request->tries++;
    if (fetch->flying++ == 0) {
        fetch->busy_since_ns = fetch->now_ns;
    }
    assert(fetch->batch_count < fetch->config.depth);
    fetch->batch[fetch->batch_count++] = read;
}

void sl_fetch_submit(sl_fetch *fetch)
{
    if (fetch->batch_count > 0) {
        fetch->backend->ops->submit(fetch->backend, fetch->batch, fetch->batch_count);
        fetch->batch_count = 0;
    }
}

void sl_fetch_plan(sl_fetch *fetch)
{
    while (fetch->free_request != SL_FETCH_NONE && fetch->pin_waiting == 0) {
        uint32_t index = sl_fetch_first_wanted(fetch);
        if (index == SL_FETCH_NONE) {
            return;
        }
        sl_request *request = &fetch->requests[fetch->free_request];
        struct span span;
        if (!aim_request(fetch, request, index, &span)) {
            if (fetch->reserve.base != NULL) {
                return; /* a release signals */
            }
            if (sl_fetch_reserve_open(fetch, NULL) == SLUICE_OK) {
                continue; /* the one before was abandoned with a stalled read */
            }
            sl_fetch_unqueue(fetch, index);
            sl_fetch_fail_want(fetch, index, &(sl_failure){.kind = SL_FAILURE_MEMORY});
            continue;
        }
        fetch->free_request = request->next_free;
        adopt(fetch, request, index, &span);
        request->tries = request->count == 1 ? fetch->wants[index].tries : 0;
        sl_fetch_start(fetch, request);
    }
}
