/* SPDX-License-Identifier: Apache-2.0 */
/* requests: the requests of the fetch thread and their states. Only that thread uses them. */
#include "requests.h"

#include "error.h"
#include "items.h"

#include <assert.h>

sluice_status sl_requests_open(sl_requests *requests, uint32_t depth, uint32_t pieces,
                               sluice_error *error)
{
    *requests = (sl_requests){.depth = depth};
    requests->all = sl_calloc(depth, sizeof(*requests->all));
    requests->paths = sl_malloc((size_t)depth * SL_PATH_BYTES);
    requests->pieces = sl_calloc((size_t)depth * pieces, sizeof(*requests->pieces));
    if (requests->all == NULL || requests->paths == NULL || requests->pieces == NULL) {
        sl_requests_close(requests, false);
        return sl_no_memory(error, "io", "for %u reads", depth);
    }
    for (uint32_t i = depth; i-- > 0;) {
        sl_request *request = &requests->all[i];
        request->path = requests->paths + (size_t)i * SL_PATH_BYTES;
        request->pieces = requests->pieces + (size_t)i * pieces;
        request->next = requests->free;
        requests->free = request;
    }
    return SLUICE_OK;
}

void sl_requests_close(sl_requests *requests, bool leak)
{
    for (uint32_t i = 0; requests->all != NULL && i < requests->depth && !leak; i++) {
        sl_slab_close(&requests->all[i].buffer.own);
    }
    if (!leak) {
        sl_free(requests->all);
        sl_free(requests->paths);
        sl_free(requests->pieces);
    }
    *requests = (sl_requests){0};
}

sl_request *sl_requests_take(sl_requests *requests)
{
    sl_request *request = requests->free;
    if (request != NULL) {
        requests->free = request->next;
        *request = (sl_request){.state = SL_REQUEST_MADE,
                                .wants = SL_WANT_NONE,
                                .path = request->path,
                                .pieces = request->pieces};
    }
    return request;
}

static void leave_waiting(sl_requests *requests, sl_request *request)
{
    if (request->state == SL_REQUEST_WAITING) {
        requests->waiting--;
    }
    requests->pin_waiting -= request->pin_waiting ? 1 : 0;
    request->pin_waiting = false;
}

void sl_requests_give(sl_requests *requests, sl_request *request)
{
    assert(request->state == SL_REQUEST_MADE || request->state == SL_REQUEST_WAITING ||
           request->state == SL_REQUEST_LANDED);
    leave_waiting(requests, request);
    request->state = SL_REQUEST_FREE;
    request->wants = SL_WANT_NONE;
    request->next = requests->free;
    requests->free = request;
}

void sl_requests_line_up(sl_requests *requests, sl_request *request)
{
    assert(request->state == SL_REQUEST_MADE);
    request->state = SL_REQUEST_IN_LINE;
    request->next = NULL;
    if (requests->line_first == NULL) {
        requests->line_first = request;
    } else {
        requests->line_last->next = request;
    }
    requests->line_last = request;
}

sl_request *sl_requests_next_in_line(sl_requests *requests)
{
    sl_request *request = requests->line_first;
    if (request != NULL) {
        requests->line_first = request->next;
        request->state = SL_REQUEST_MADE;
    }
    return request;
}

void sl_requests_fly(sl_requests *requests, sl_request *request, uint64_t now_ns)
{
    assert(request->state == SL_REQUEST_MADE);
    request->state = SL_REQUEST_FLYING;
    request->since_ns = now_ns;
    request->tries++;
    requests->flying++;
}

void sl_requests_land(sl_requests *requests, sl_request *request)
{
    assert(request->state == SL_REQUEST_FLYING || request->state == SL_REQUEST_ABANDONED);
    if (request->state == SL_REQUEST_FLYING) {
        requests->flying--;
    } else {
        requests->abandoned--;
    }
    request->state = SL_REQUEST_LANDED;
}

void sl_requests_opened(sl_requests *requests, sl_request *request)
{
    sl_requests_land(requests, request);
    request->tries--;
}

void sl_requests_abandon(sl_requests *requests, sl_request *request)
{
    assert(request->state == SL_REQUEST_FLYING);
    request->state = SL_REQUEST_ABANDONED;
    requests->flying--;
    requests->abandoned++;
}

void sl_requests_wait(sl_requests *requests, sl_request *request, uint64_t due_ns)
{
    assert(request->state == SL_REQUEST_MADE || request->state == SL_REQUEST_LANDED);
    request->state = SL_REQUEST_WAITING;
    request->due_ns = due_ns;
    requests->waiting++;
}

void sl_requests_wait_for_pin(sl_requests *requests, sl_request *request, uint64_t due_ns)
{
    sl_requests_wait(requests, request, due_ns);
    request->pin_waiting = true;
    requests->pin_waiting++;
}

void sl_requests_remake(sl_requests *requests, sl_request *request)
{
    assert(request->state == SL_REQUEST_WAITING);
    leave_waiting(requests, request);
    request->state = SL_REQUEST_MADE;
}

sl_request *sl_requests_due(const sl_requests *requests, uint64_t now_ns)
{
    for (uint32_t i = 0; requests->waiting > 0 && i < requests->depth; i++) {
        sl_request *request = &requests->all[i];
        if (request->state == SL_REQUEST_WAITING && request->due_ns <= now_ns) {
            return request;
        }
    }
    return NULL;
}

uint64_t sl_requests_next_due(const sl_requests *requests)
{
    uint64_t due_ns = UINT64_MAX;
    for (uint32_t i = 0; requests->waiting > 0 && i < requests->depth; i++) {
        const sl_request *request = &requests->all[i];
        if (request->state == SL_REQUEST_WAITING && request->due_ns < due_ns) {
            due_ns = request->due_ns;
        }
    }
    return due_ns;
}

sl_request *sl_requests_sent_before(const sl_requests *requests, uint64_t limit_ns)
{
    for (uint32_t i = 0; requests->flying > 0 && i < requests->depth; i++) {
        sl_request *request = &requests->all[i];
        if (request->state == SL_REQUEST_FLYING && request->since_ns <= limit_ns) {
            return request;
        }
    }
    return NULL;
}

const sl_request *sl_requests_oldest(const sl_requests *requests)
{
    const sl_request *oldest = NULL;
    for (uint32_t i = 0; requests->flying > 0 && i < requests->depth; i++) {
        const sl_request *request = &requests->all[i];
        if (request->state == SL_REQUEST_FLYING &&
            (oldest == NULL || request->since_ns < oldest->since_ns)) {
            oldest = request;
        }
    }
    return oldest;
}

uint32_t sl_requests_warn(sl_requests *requests, uint64_t limit_ns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; requests->flying > 0 && i < requests->depth; i++) {
        sl_request *request = &requests->all[i];
        if (request->state == SL_REQUEST_FLYING && request->since_ns <= limit_ns &&
            !request->warned) {
            request->warned = true;
            count++;
        }
    }
    return count;
}

sl_progress sl_request_got(sl_request *request, uint64_t bytes)
{
    const uint64_t got = request->got + bytes;
    if (got >= request->needed) {
        request->got = request->needed;
        return SL_PART_DONE;
    }
    uint32_t restart = (uint32_t)got;
    if (request->read.direct) {
        restart = restart / SL_DIRECT_ALIGN * SL_DIRECT_ALIGN; /* the tail begins aligned, too */
    }
    if (restart <= request->got) {
        return SL_PART_NOTHING;
    }
    request->got = restart;
    return SL_PART_TAIL;
}

void sl_requests_go_on(sl_requests *requests, sl_request_kind kind, uint64_t now_ns)
{
    for (uint32_t i = 0; i < requests->depth; i++) {
        sl_request *request = &requests->all[i];
        const bool is = kind == SL_REQUESTS_PACKED ? request->packed : request->remote;
        if (request->state == SL_REQUEST_FLYING && is) {
            request->since_ns = now_ns;
        }
    }
}
