/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_items: asking for items, delivering them, cancelling them. */
#include "error.h"
#include "fetch_state.h"

#include <assert.h>
#include <errno.h>

/* Items requested in one go, so that a long look-ahead does not delay the first reads. */
#define ASK_BURST 512

/* Checks the item itself before anything is read. */
static bool acceptable(const sl_fetch *fetch, const sl_fetch_item *item, sl_failure *failure)
{
    *failure = (sl_failure){.kind = SL_FAILURE_RANGE, .offset = item->offset};
    if (item->bytes == 0) {
        return fetch->config.whole_objects;
    }
    if (item->offset > (uint64_t)INT64_MAX - item->bytes ||
        item->pieces > sl_fetch_pieces(&fetch->config)) {
        return false;
    }
    if (item->bytes > fetch->config.max_sample_bytes) {
        failure->kind = SL_FAILURE_TOO_LARGE;
        failure->object_bytes = item->bytes;
        return false;
    }
    return true;
}

/* Checks an item that is new, or at a new place, and fails it if it is invalid. */
static void fetch_items_check(sl_fetch *fetch, uint32_t index)
{
    sl_failure failure;
    if (!acceptable(fetch, &fetch->window.wants[index].item, &failure)) {
        sl_fetch_fail(fetch, index, &failure);
    }
}

void sl_fetch_ask(sl_fetch *fetch)
{
    for (uint32_t asked = 0; fetch->may_ask && asked < ASK_BURST; asked++) {
        sl_fetch_item item;
        if (!sl_window_has_space(&fetch->window)) {
            return;
        }
        if (fetch->source.next(fetch->source.ctx, &item) != SLUICE_OK) {
            fetch->may_ask = false;
            return;
        }
        fetch_items_check(fetch, sl_window_ask(&fetch->window, &item));
    }
}

void sl_fetch_take_inserted(sl_fetch *fetch)
{
    sl_fetch_item item;
    while (sl_window_has_insert_space(&fetch->window) && sl_inbox_pop(&fetch->inbox, &item)) {
        fetch_items_check(fetch, sl_window_insert(&fetch->window, &item));
    }
}

static sluice_status fetch_items_describe(const sl_fetch *fetch, const sl_want *want,
                                          const char *path, sluice_error *error)
{
    const sl_fetch_item *item = &want->item;
    const sl_failure *failure = &want->failure;
    long long offset = (long long)failure->offset;
    unsigned long long end = item->offset + item->bytes;
    unsigned long long size = failure->object_bytes;
    switch (failure->kind) {
    case SL_FAILURE_READ:
        if (failure->reason != NULL) {
            return sl_error_file(error, SLUICE_IO, "io", failure->sys_errno, path, offset,
                                 "read failed: %s", failure->reason);
        }
        return sl_error_file(error, SLUICE_IO, "io", failure->sys_errno, path, offset,
                             "read failed, tries: %u", failure->tries);
    case SL_FAILURE_OPEN:
        return sl_error_file(error, SLUICE_IO, "io", failure->sys_errno, path, -1,
                             "cannot open the file, tries: %u", failure->tries);
    case SL_FAILURE_SIZE:
        return sl_error_file(
            error, SLUICE_CORRUPT, "io", 0, path, offset, "the file has %llu bytes instead of %llu",
            size, (unsigned long long)sl_objects_bytes(fetch->config.objects, item->object));
    case SL_FAILURE_REPLACED:
        return sl_error_file(error, SLUICE_IO, "io", 0, path, -1, SL_FILE_REPLACED);
    case SL_FAILURE_OUTSIDE:
        return sl_boundary_refuse(sl_objects_boundary(fetch->config.objects, item->object), path,
                                  error);
    case SL_FAILURE_TRUNCATED:
        if (item->pieces > 0) {
            return sl_error_file(
                error, SLUICE_CORRUPT, "io", 0, path, offset,
                "truncated file: %llu bytes found, and the sample extends beyond them", size);
        }
        return sl_error_file(error, SLUICE_CORRUPT, "io", 0, path, offset,
                             "truncated file: %llu bytes expected, %llu found", end, size);
    case SL_FAILURE_STALLED:
        return sl_error_file(error, SLUICE_IO, "io", ETIMEDOUT, path, offset,
                             "no answer from the storage within %llu ms, tries: %u",
                             (unsigned long long)(fetch->config.stall_fail_ns / 1000000),
                             failure->tries);
    case SL_FAILURE_TOO_LARGE:
        return sl_error_file(error, SLUICE_UNSUPPORTED, "io", EFBIG, path, offset,
                             "the sample is too large: %llu bytes; the limit (" SL_OPTION(
                                 "max_sample_bytes") ") is %llu",
                             size, (unsigned long long)fetch->config.max_sample_bytes);
    case SL_FAILURE_RANGE:
        return sl_error_file(error, SLUICE_CORRUPT, "io", 0, path, -1,
                             "the index is wrong: no file has %u bytes at offset %llu", item->bytes,
                             (unsigned long long)item->offset);
    case SL_FAILURE_MEMORY:
        return sl_error_file(error, SLUICE_NOMEM, "io", ENOMEM, path, offset,
                             "out of memory for a buffer of the sample's size");
    case SL_FAILURE_SOURCE:
        return sl_error_file(error, (sluice_status)failure->status, "dataset", 0, path, offset,
                             "%s", failure->text);
    case SL_FAILURE_PACKED:
        *error = *failure->why;
        return (sluice_status)error->status;
    case SL_FAILURE_CANCELED:
        break;
    }
    return sl_error_file(error, SLUICE_CANCELED, "io", 0, path, -1, "the read was cancelled");
}

static void deliver(sl_fetch *fetch, const sl_want *want)
{
    void *ctx = fetch->source.ctx;
    if (want->state == SL_WANT_READY) {
        fetch->source.deliver(ctx, &want->item, SLUICE_OK, &want->bytes, NULL);
        return;
    }
    char path[SL_PATH_BYTES];
    bool known = want->failure.kind != SL_FAILURE_CANCELED &&
                 sl_objects_file_path(fetch->config.objects, want->item.object, want->failure.file,
                                      path, sizeof(path)) == SLUICE_OK;
    sluice_error error;
    sluice_status status = fetch_items_describe(fetch, want, known ? path : NULL, &error);
    fetch->source.deliver(ctx, &want->item, status, NULL, &error);
}

/* Passes the bytes of a lookup to the source, which learns where the item is. */
static void learn(sl_fetch *fetch, uint32_t index)
{
    const sl_want *want = &fetch->window.wants[index];
    const uint32_t handle = want->bytes.handle;
    const uint32_t object = want->item.object;
    sl_fetch_item item = want->item;
    sl_failure failure = {.kind = SL_FAILURE_SOURCE, .offset = item.offset};
    const sluice_status status =
        fetch->source.learn(fetch->source.ctx, &item, want->bytes.bytes, &failure);
    sl_fetch_release(fetch, &handle, 1);
    if (status >= 0) {
        sl_window_moved(&fetch->window, index, &item);
        fetch_items_check(fetch, index);
        return;
    }
    fetch->window.wants[index].item.object = object; /* the object to blame */
    failure.status = status;
    sl_fetch_fail(fetch, index, &failure);
}

void sl_fetch_settle(sl_fetch *fetch, uint32_t index)
{
    const sl_want *want = &fetch->window.wants[index];
    assert(want->state == SL_WANT_READY || want->state == SL_WANT_FAILED);
    if (want->state == SL_WANT_READY && want->item.lookup) {
        learn(fetch, index);
    } else if (sl_window_is_due(&fetch->window, index)) {
        const sl_want was = sl_window_deliver(&fetch->window, index); /* deliver may insert */
        deliver(fetch, &was);
    }
}

void sl_fetch_settle_credited(sl_fetch *fetch)
{
    uint32_t index = sl_window_next_credited(&fetch->window);
    for (; index != SL_WANT_NONE; index = sl_window_next_credited(&fetch->window)) {
        const sl_want was = sl_window_deliver(&fetch->window, index);
        deliver(fetch, &was);
    }
}

void sl_fetch_ready(sl_fetch *fetch, uint32_t index, const sl_fetch_bytes *bytes)
{
    /* Of samples, not of lookups. */
    if (!fetch->window.wants[index].item.lookup) {
        fetch->stats.bytes_wanted += bytes->bytes.size;
    }
    sl_window_ready(&fetch->window, index, bytes);
    sl_fetch_settle(fetch, index);
}

void sl_fetch_fail(sl_fetch *fetch, uint32_t index, const sl_failure *failure)
{
    sl_window_fail(&fetch->window, index, failure);
    sl_fetch_settle(fetch, index);
}

void sl_fetch_cancel_items(sl_fetch *fetch)
{
    const sl_failure canceled = {.kind = SL_FAILURE_CANCELED};
    sl_want want = {.state = SL_WANT_FAILED, .failure = canceled};
    fetch->may_ask = false;
    uint32_t index = sl_window_any(&fetch->window);
    for (; index != SL_WANT_NONE; index = sl_window_any(&fetch->window)) {
        const sl_want was = sl_window_cancel(&fetch->window, index, &canceled);
        if (was.state == SL_WANT_READY) {
            sl_fetch_release(fetch, &was.bytes.handle, 1);
        }
        want = sl_window_deliver(&fetch->window, index);
        deliver(fetch, &want);
    }
    sl_window_restart(&fetch->window);
    while (sl_inbox_pop(&fetch->inbox, &want.item)) {
        want.item.sequence = SL_INSERTED;
        deliver(fetch, &want);
    }
}
