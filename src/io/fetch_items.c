/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_items: the window of wanted items: asking for them, delivering them, cancelling them. */
#include "error.h"
#include "fetch_internal.h"

#include <assert.h>
#include <errno.h>

/* Items asked for in one go, so that a long look-ahead does not delay the first reads. */
#define ASK_BURST 512

static uint32_t slot_of(const sl_fetch *fetch, uint64_t sequence)
{
    return (uint32_t)(sequence % fetch->config.lookahead);
}

/* What is wrong with the item itself, before anything is read. */
static bool acceptable(const sl_fetch *fetch, const sl_fetch_item *item, sl_failure *failure)
{
    *failure = (sl_failure){.kind = SL_FAILURE_RANGE, .offset = item->offset};
    if (item->bytes == 0) {
        return fetch->config.whole_files;
    }
    if (item->offset > (uint64_t)INT64_MAX - item->bytes) {
        return false;
    }
    if (item->bytes > fetch->config.max_sample_bytes) {
        failure->kind = SL_FAILURE_TOO_LARGE;
        failure->file_bytes = item->bytes;
        return false;
    }
    return true;
}

void sl_fetch_want_again(sl_fetch *fetch, uint32_t index, bool alone)
{
    sl_want *want = &fetch->wants[index];
    want->state = SL_WANT_WANTED;
    want->next = SL_FETCH_NONE;
    want->alone = want->alone || alone;
    if (sl_fetch_is_insert(fetch, index)) {
        if (fetch->insert_last == SL_FETCH_NONE) {
            fetch->insert_first = index;
        } else {
            fetch->wants[fetch->insert_last].next = index;
        }
        fetch->insert_last = index;
        return;
    }
    if (want->item.sequence < fetch->head) {
        fetch->head = want->item.sequence;
    }
    if (sl_fetch_is_indexed(fetch, index)) {
        sl_fetch_index_add(fetch, index);
    }
}

void sl_fetch_unqueue(sl_fetch *fetch, uint32_t index)
{
    if (sl_fetch_is_insert(fetch, index)) {
        assert(index == fetch->insert_first);
        fetch->insert_first = fetch->wants[index].next;
        if (fetch->insert_first == SL_FETCH_NONE) {
            fetch->insert_last = SL_FETCH_NONE;
        }
    } else if (sl_fetch_is_indexed(fetch, index)) {
        sl_fetch_index_remove(fetch, sl_fetch_index_find(fetch, index), 1);
    }
}

/* A new item: wanted, or failed at once when it makes no sense. */
static void begin_want(sl_fetch *fetch, uint32_t index)
{
    sl_want *want = &fetch->wants[index];
    sl_failure failure;
    want->alone = false;
    want->tries = 0;
    want->file_bytes = 0;
    if (acceptable(fetch, &want->item, &failure)) {
        sl_fetch_want_again(fetch, index, false);
    } else {
        sl_fetch_fail_want(fetch, index, &failure);
    }
}

void sl_fetch_ask(sl_fetch *fetch)
{
    for (uint32_t asked = 0; fetch->may_ask && asked < ASK_BURST; asked++) {
        if (fetch->next_ask - fetch->base >= fetch->config.lookahead) {
            return;
        }
        uint32_t index = slot_of(fetch, fetch->next_ask);
        sl_want *want = &fetch->wants[index];
        assert(want->state == SL_WANT_FREE);
        if (fetch->source.next(fetch->source.ctx, &want->item) != SLUICE_OK) {
            fetch->may_ask = false;
            return;
        }
        want->item.sequence = fetch->next_ask++;
        begin_want(fetch, index);
    }
}

void sl_fetch_take_insert(sl_fetch *fetch, uint32_t index)
{
    begin_want(fetch, index);
}

uint32_t sl_fetch_first_wanted(sl_fetch *fetch)
{
    if (fetch->insert_first != SL_FETCH_NONE) {
        return fetch->insert_first;
    }
    while (fetch->head < fetch->next_ask) {
        uint32_t index = slot_of(fetch, fetch->head);
        if (fetch->wants[index].state == SL_WANT_WANTED) {
            return index;
        }
        fetch->head++;
    }
    return SL_FETCH_NONE;
}

static sluice_status describe(const sl_fetch *fetch, const sl_fetch_item *item,
                              const sl_failure *failure, const char *path, sluice_error *error)
{
    long long offset = (long long)failure->offset;
    unsigned long long end = item->offset + item->bytes;
    unsigned long long size = failure->file_bytes;
    switch (failure->kind) {
    case SL_FAILURE_READ:
        return sl_error_file(error, SLUICE_IO, "io", failure->sys_errno, path, offset,
                             "read failed, tries: %u", failure->tries);
    case SL_FAILURE_OPEN:
        return sl_error_file(error, SLUICE_IO, "io", failure->sys_errno, path, -1,
                             "cannot open the file, tries: %u", failure->tries);
    case SL_FAILURE_TRUNCATED:
        return sl_error_file(error, SLUICE_CORRUPT, "io", 0, path, offset,
                             "truncated file: %llu bytes expected, %llu found", end, size);
    case SL_FAILURE_STALLED:
        return sl_error_file(error, SLUICE_IO, "io", ETIMEDOUT, path, offset,
                             "no answer from the storage within %llu ms, tries: %u",
                             (unsigned long long)(fetch->config.stall_fail_ns / 1000000),
                             failure->tries);
    case SL_FAILURE_TOO_LARGE:
        return sl_error_file(error, SLUICE_UNSUPPORTED, "io", EFBIG, path, offset,
                             "sample of %llu bytes; the limit (max_sample_bytes) is %llu", size,
                             (unsigned long long)fetch->config.max_sample_bytes);
    case SL_FAILURE_RANGE:
        return sl_error_file(error, SLUICE_CORRUPT, "io", 0, path, -1,
                             "the index names %u bytes at %llu, where no file has any", item->bytes,
                             (unsigned long long)item->offset);
    case SL_FAILURE_MEMORY:
        return sl_error_file(error, SLUICE_NOMEM, "io", ENOMEM, path, offset,
                             "no memory for a buffer of its size");
    case SL_FAILURE_CANCELED:
        break;
    }
    return sl_error_file(error, SLUICE_CANCELED, "io", 0, path, -1, "the read was cancelled");
}

/* Frees the want's slot first: deliver may insert. */
static void deliver(sl_fetch *fetch, uint32_t index)
{
    const sl_want want = fetch->wants[index];
    fetch->wants[index].state = SL_WANT_FREE;
    if (sl_fetch_is_insert(fetch, index)) {
        sl_lock(&fetch->mutex);
        fetch->shared.free_inserts[fetch->shared.free_insert_count++] = index;
        sl_unlock(&fetch->mutex);
    } else {
        while (fetch->base < fetch->next_ask &&
               fetch->wants[slot_of(fetch, fetch->base)].state == SL_WANT_FREE) {
            fetch->base++;
        }
    }
    void *ctx = fetch->source.ctx;
    if (want.state == SL_WANT_READY) {
        fetch->source.deliver(ctx, &want.item, SLUICE_OK, &want.bytes, NULL);
        return;
    }
    char *path = fetch->paths + fetch->config.depth * SL_FETCH_PATH_MAX;
    bool known = want.failure.kind != SL_FAILURE_CANCELED &&
                 fetch->source.path(ctx, want.item.file, path, SL_FETCH_PATH_MAX) == SLUICE_OK;
    sluice_error error;
    sluice_status status = describe(fetch, &want.item, &want.failure, known ? path : NULL, &error);
    fetch->source.deliver(ctx, &want.item, status, NULL, &error);
}

void sl_fetch_settle(sl_fetch *fetch, uint32_t index)
{
    const sl_want *want = &fetch->wants[index];
    assert(want->state == SL_WANT_READY || want->state == SL_WANT_FAILED);
    if (sl_fetch_is_insert(fetch, index) || want->item.sequence < fetch->credited) {
        deliver(fetch, index);
    }
}

void sl_fetch_settle_credited(sl_fetch *fetch)
{
    while (fetch->credited < fetch->credit && fetch->credited < fetch->next_ask) {
        uint32_t index = slot_of(fetch, fetch->credited++);
        sl_want_state state = fetch->wants[index].state;
        if (state == SL_WANT_READY || state == SL_WANT_FAILED) {
            deliver(fetch, index);
        }
    }
}

void sl_fetch_fail_want(sl_fetch *fetch, uint32_t index, const sl_failure *failure)
{
    fetch->wants[index].state = SL_WANT_FAILED;
    fetch->wants[index].failure = *failure;
    sl_fetch_settle(fetch, index);
}

static void cancel(sl_fetch *fetch, uint32_t index)
{
    sl_want *want = &fetch->wants[index];
    if (want->state == SL_WANT_FREE) {
        return;
    }
    if (want->state == SL_WANT_READY) {
        sl_fetch_release(fetch, want->bytes.handle);
    }
    want->state = SL_WANT_FAILED;
    want->failure = (sl_failure){.kind = SL_FAILURE_CANCELED};
    deliver(fetch, index);
}

/* Requests lose their wants; those in flight stay until they complete. */
static void cancel_requests(sl_fetch *fetch)
{
    for (uint32_t i = 0; i < fetch->config.depth; i++) {
        sl_request *request = &fetch->requests[i];
        request->wants = SL_FETCH_NONE;
        request->count = 0;
        if (request->state == SL_REQUEST_WAITING) {
            sl_fetch_buffer_give(fetch, request);
            sl_fetch_free_request(fetch, request);
        }
    }
}

void sl_fetch_cancel_all(sl_fetch *fetch)
{
    cancel_requests(fetch);
    fetch->order_count = 0;
    fetch->insert_first = SL_FETCH_NONE;
    fetch->insert_last = SL_FETCH_NONE;
    fetch->may_ask = false;
    for (uint64_t k = fetch->base; k < fetch->next_ask; k++) {
        cancel(fetch, slot_of(fetch, k));
    }
    for (uint32_t i = 0; i < fetch->config.inserts; i++) {
        cancel(fetch, fetch->config.lookahead + i);
    }
    fetch->base = 0;
    fetch->next_ask = 0;
    fetch->head = 0;
    fetch->credit = 0;
    fetch->credited = 0;
}
