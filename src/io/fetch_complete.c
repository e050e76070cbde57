/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_complete: what a finished read means for the items that it was made for. */
#include "clock.h"
#include "fetch_internal.h"
#include "trace.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Room given to a file of unknown size, to begin with and at least. */
#define FILE_GUESS_MIN ((uint64_t)64 << 10)

/* Sets each want's state; returns how many are READY. */
static uint32_t judge(sl_fetch *fetch, const sl_request *request, uint64_t valid_end,
                      const sl_failure *failure)
{
    uint32_t ready = 0;
    for (uint32_t i = request->wants; i != SL_FETCH_NONE; i = fetch->wants[i].next) {
        sl_want *want = &fetch->wants[i];
        uint64_t end = want->item.offset + want->item.bytes;
        want->tries = request->tries;
        if (want->item.bytes == 0 ? failure == NULL : end <= valid_end) {
            uint64_t bytes = want->item.bytes == 0 ? valid_end : want->item.bytes;
            const uint8_t *data = request->buffer + (want->item.offset - request->start);
            want->bytes.bytes = (sl_bytes){data, (size_t)bytes};
            want->state = SL_WANT_READY;
            fetch->stats.bytes_wanted += bytes;
            ready++;
        } else if (failure != NULL) {
            want->failure = *failure;
            want->state = SL_WANT_FAILED;
        } else {
            want->state = SL_WANT_WANTED;
        }
    }
    return ready;
}

void sl_fetch_finish(sl_fetch *fetch, sl_request *request, uint64_t valid_end,
                     const sl_failure *failure)
{
    uint32_t ready = judge(fetch, request, valid_end, failure);
    uint32_t handle = 0;
    uint32_t next = request->wants;
    if (ready > 0) {
        size_t bytes = (size_t)(valid_end - request->start);
        handle = sl_fetch_buffer_keep(fetch, request, bytes + SL_FETCH_PADDING, ready);
    } else {
        sl_fetch_buffer_give(fetch, request);
    }
    sl_fetch_free_request(fetch, request);
    while (next != SL_FETCH_NONE) {
        uint32_t index = next;
        sl_want *want = &fetch->wants[index];
        next = want->next; /* before its slot is free */
        want->bytes.handle = handle;
        if (want->state == SL_WANT_WANTED) {
            sl_fetch_want_again(fetch, index, true);
        } else {
            sl_fetch_settle(fetch, index);
        }
    }
}

/* No byte more: the end of the file, or (for a moment) something odd. */
static void no_progress(sl_fetch *fetch, sl_request *request, uint64_t valid_end)
{
    struct stat found;
    if (fstat(request->read.fd, &found) != 0) {
        sl_fetch_failed(fetch, request, SL_FAILURE_READ, errno);
        return;
    }
    if ((uint64_t)found.st_size > valid_end) {
        sl_fetch_failed(fetch, request, SL_FAILURE_READ, EAGAIN);
        return;
    }
    sl_failure failure = {.kind = SL_FAILURE_TRUNCATED,
                          .tries = request->tries,
                          .offset = valid_end,
                          .file_bytes = (uint64_t)found.st_size};
    sl_fetch_finish(fetch, request, valid_end, &failure);
}

static void part_done(sl_fetch *fetch, sl_request *request, int64_t result)
{
    if (result < 0) {
        sl_fetch_failed(fetch, request, SL_FAILURE_READ, (int)-result);
        return;
    }
    uint64_t got = request->got + (uint64_t)result;
    if (got >= request->needed) {
        sl_fetch_finish(fetch, request, request->start + request->needed, NULL);
        return;
    }
    uint32_t restart = (uint32_t)got;
    if (request->read.direct) {
        restart = restart / SL_DIRECT_ALIGN * SL_DIRECT_ALIGN; /* the tail begins aligned, too */
    }
    if (restart <= request->got) {
        no_progress(fetch, request, request->start + got);
        return;
    }
    request->got = restart;
    request->again_tries = 0;
    fetch->stats.retried++;
    sl_fetch_wait_until(fetch, request, fetch->now_ns);
}

/* Room for most files without a second try: up at once when too small, down slowly. */
static void learn_size(sl_fetch *fetch, uint64_t file_bytes, bool too_small)
{
    uint64_t most = (uint64_t)fetch->arena.units * SL_ARENA_UNIT / fetch->config.depth / 2;
    if (too_small && file_bytes > fetch->file_guess) {
        fetch->file_guess = file_bytes < most ? file_bytes : most;
    } else if (file_bytes < fetch->file_guess / 2) {
        fetch->file_guess -= fetch->file_guess / 512;
    }
    if (fetch->file_guess < FILE_GUESS_MIN) {
        fetch->file_guess = FILE_GUESS_MIN;
    }
}

static void file_done(sl_fetch *fetch, sl_request *request, const sl_completion *completion)
{
    bool too_small = completion->result == -EFBIG;
    if (completion->result < 0 && !too_small) {
        sl_fetch_failed(fetch, request, SL_FAILURE_READ, (int)-completion->result);
        return;
    }
    fetch->stats.direct = fetch->stats.direct || completion->direct;
    if (completion->file_bytes > fetch->config.max_sample_bytes) {
        sl_failure failure = {.kind = SL_FAILURE_TOO_LARGE, .file_bytes = completion->file_bytes};
        sl_fetch_finish(fetch, request, 0, &failure);
        return;
    }
    learn_size(fetch, completion->file_bytes, too_small);
    if (!too_small) {
        sl_fetch_finish(fetch, request, (uint64_t)completion->result, NULL);
        return;
    }
    uint32_t index = request->wants;
    fetch->wants[index].file_bytes = completion->file_bytes;
    fetch->wants[index].tries = request->tries;
    fetch->stats.retried++;
    sl_fetch_buffer_give(fetch, request);
    sl_fetch_free_request(fetch, request);
    sl_fetch_want_again(fetch, index, false);
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
static void landed(sl_fetch *fetch, sl_request *request, int64_t result)
{
    sl_fetch_stats *stats = &fetch->stats;
    trace(request, result);
    stats->reads++;
    stats->bytes_read += result > 0 ? (uint64_t)result : 0;
    if (request->state == SL_REQUEST_ABANDONED) {
        fetch->abandoned--;
        return;
    }
    stats->depth[sl_depth_bin(fetch->flying, fetch->config.depth)]++;
    if (--fetch->flying == 0) {
        stats->busy_ns += fetch->now_ns - fetch->busy_since_ns;
    }
    request->state = SL_REQUEST_WAITING; /* for the verdict below */
    fetch->waiting_count++;
}

void sl_fetch_complete(sl_fetch *fetch, const sl_completion *completion)
{
    sl_request *request = (sl_request *)completion->read;
    assert(request->state == SL_REQUEST_FLYING || request->state == SL_REQUEST_ABANDONED);
    landed(fetch, request, completion->result);
    sl_file *pinned = request->pinned;
    if (pinned != NULL) {
        if (fetch->config.cache == SL_CACHE_DROP && completion->result > 0) {
            (void)posix_fadvise(pinned->fd, (off_t)request->read.offset, (off_t)completion->result,
                                POSIX_FADV_DONTNEED);
        }
        /* The descriptor stays open, and `pinned` meaningful, until the next pin. */
        sl_file_table_unpin(&fetch->files, pinned);
    }
    if (request->wants == SL_FETCH_NONE) {
        sl_fetch_buffer_give(fetch, request);
        sl_fetch_free_request(fetch, request);
    } else if (request->read.kind == SL_READ_FILE) {
        file_done(fetch, request, completion);
    } else {
        part_done(fetch, request, completion->result);
    }
}
