/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend_remote: the backend that reads objects of remote stores. It wraps another backend, for
 * all other objects and for the chunk cache.
 *
 * The owner waits only in `inner`; the thread that ends a remote read wakes it. The mutex guards
 * the list of ended reads; it is held while `inner` is woken, never while reads.h is called.
 */
#include "backend_remote.h"

#include "clock.h"
#include "error.h"
#include "hosts.h"
#include "memory.h"
#include "minmax.h"
#include "settings.h"
#include "thread.h"

#include <assert.h>

/* Used before the first measurement. */
#define GAP_FIRST   ((uint64_t)64 << 10)
#define GAP_LOOK_NS UINT64_C(100000000)
#define PARTS_SPARE 64U
/* Hosts whose gap bytes are compared. */
#define HOSTS_MOST 16U

static bool is_remote_path(const char *path)
{
    return sl_store_of(path)->remote;
}

/* Returns whether all files of an object are remote; the others are read by a thread of `inner`. */
static bool are_remote_files(const sl_read *read)
{
    char path[SL_PATH_BYTES];
    bool all = is_remote_path(read->path);
    for (uint32_t i = 1; i < read->files && all; i++) {
        all =
            sl_objects_file_path(read->objects, read->object, i, path, sizeof(path)) == SLUICE_OK &&
            is_remote_path(path);
    }
    return all;
}

static bool is_remote_read(const sl_read *read)
{
    switch (read->kind) {
    case SL_READ_FILE:
        return are_remote_files(read);
    case SL_READ_AT:
    case SL_READ_PIECES:
        return read->handle != NULL && read->handle->store != NULL && read->handle->store->remote;
    case SL_READ_PACKED: /* unpackers.c handles these */
    case SL_READ_OPEN:   /* and openers.c these */
        break;
    }
    return false;
}

static void remote_submit(sl_backend *backend, sl_read *const *reads, uint32_t count)
{
    sl_remote_backend *remote = (sl_remote_backend *)backend;
    uint32_t first = 0; /* reads for `inner` that are not submitted yet */
    for (uint32_t i = 0; i < count; i++) {
        if (!is_remote_read(reads[i])) {
            continue;
        }
        if (i > first) {
            remote->inner->ops->submit(remote->inner, reads + first, i - first);
        }
        first = i + 1;
        sl_backend_job_start(remote, reads[i]);
    }
    if (count > first) {
        remote->inner->ops->submit(remote->inner, reads + first, count - first);
    }
}

/* Keeps the completions of `inner` that are the owner's, of `count`. Returns how many. */
static uint32_t sort_out_shadows(sl_remote_backend *remote, sl_completion *completions,
                                 uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        sl_backend_part *part = sl_backend_part_of(remote, completions[i].read);
        if (part != NULL) {
            sl_backend_shadow_done(remote, part, completions[i].result);
        } else {
            completions[kept++] = completions[i];
        }
    }
    return kept;
}

/* As in openers.c: a read that ended while `inner` was not polled is returned first. */
static uint32_t remote_reap(sl_backend *backend, sl_completion *completions, uint32_t capacity,
                            uint64_t timeout_ns)
{
    sl_remote_backend *remote = (sl_remote_backend *)backend;
    sl_backend_jobs_settle(remote);
    uint32_t count = sl_backend_jobs_take(remote, completions, capacity);
    if (count < capacity) {
        uint64_t wait_ns = count > 0 ? 0 : timeout_ns;
        if (remote->parked != NULL) {
            wait_ns = sl_min_u64(wait_ns, SL_BACKEND_PARK_LOOK_NS);
        }
        const uint32_t got =
            remote->inner->ops->reap(remote->inner, completions + count, capacity - count, wait_ns);
        count += sort_out_shadows(remote, completions + count, got);
    }
    if (count < capacity) {
        sl_backend_jobs_settle(remote);
        count += sl_backend_jobs_take(remote, completions + count, capacity - count);
    }
    return count;
}

static void remote_wake(sl_backend *backend)
{
    const sl_remote_backend *remote = (sl_remote_backend *)backend;
    remote->inner->ops->wake(remote->inner);
}

static void remote_present(sl_backend *backend)
{
    const sl_remote_backend *remote = (sl_remote_backend *)backend;
    if (remote->inner->ops->present != NULL) {
        remote->inner->ops->present(remote->inner);
    }
}

/* ---- what its owner may ask ---- */

static uint64_t measured_gap(void)
{
    sl_host_stats stats[HOSTS_MOST];
    const uint32_t hosts = sl_min_u32(sl_hosts_get_stats(stats, HOSTS_MOST), HOSTS_MOST);
    const sl_host_stats *most = NULL;
    for (uint32_t i = 0; i < hosts; i++) {
        most = most == NULL || stats[i].bytes > most->bytes ? &stats[i] : most;
    }
    const uint64_t gap = most != NULL ? sl_host_gap_bytes(sl_host_find(most->host)) : 0;
    return gap > 0 ? gap : GAP_FIRST;
}

uint64_t sl_backend_remote_gap(sl_backend *backend)
{
    sl_remote_backend *remote = (sl_remote_backend *)backend;
    const uint64_t now = sl_now_ns();
    if (now >= remote->gap_look_ns) {
        remote->gap_bytes = measured_gap();
        remote->gap_look_ns = now + GAP_LOOK_NS;
    }
    return remote->gap_bytes;
}

uint64_t sl_backend_remote_progress(const sl_backend *backend)
{
    return ((const sl_remote_backend *)backend)->progress;
}

/* Cancels all parts. For a read that has ended meanwhile this does nothing. */
static void cancel_parts(sl_remote_backend *remote)
{
    for (uint32_t i = 0; i < remote->part_count; i++) {
        if (remote->parts[i].state == SL_PART_REMOTE) {
            sl_remote_read_cancel(&remote->parts[i].remote);
        }
    }
}

void sl_backend_remote_cancel(sl_backend *backend)
{
    sl_remote_backend *remote = (sl_remote_backend *)backend;
    sl_backend_jobs_cancel(remote);
    cancel_parts(remote);
}

/* ---- life ---- */

static void free_remote(sl_remote_backend *remote)
{
    for (uint32_t i = 0; i < remote->reason_count; i++) {
        sl_free(remote->reasons[i]);
    }
    sl_chunk_waits_release(remote->waits);
    sl_cond_destroy(&remote->landed);
    sl_mutex_destroy(&remote->mutex);
    sl_free((void *)remote->reasons);
    sl_free(remote->jobs);
    sl_free(remote->parts);
    sl_free(remote);
}

/* Reads that `inner` had not completed when it was closed. */
typedef struct inner_ends {
    sl_remote_backend *remote;
    const sl_read_ends *ends;
} inner_ends;

static void end_inner_read(void *ctx, sl_read *read)
{
    const inner_ends *of = ctx;
    sl_backend_part *part = sl_backend_part_of(of->remote, read);
    if (part == NULL) {
        sl_read_ended(of->ends, read);
        return;
    }
    part->job->flying--;
    sl_chunk_done(part->job->cached, &part->use);
    sl_backend_part_drop(of->remote, part);
}

/* Waits for cancelled remote reads. Returns how many did not end. */
static uint32_t wait_for_landings(sl_remote_backend *remote, uint64_t deadline)
{
    sl_lock(&remote->mutex);
    bool in_time = true;
    while (remote->flying > 0 && in_time) {
        in_time = sl_cond_wait_until(&remote->landed, &remote->mutex, deadline);
    }
    const uint32_t left = remote->flying;
    sl_backend_part *next = remote->ended;
    remote->ended = NULL;
    sl_unlock(&remote->mutex);
    while (next != NULL) {
        sl_backend_part *part = next;
        next = part->next;
        part->job->flying--;
        sl_backend_part_drop(remote, part);
    }
    return left;
}

/* Ends jobs with nothing in flight. */
static void end_jobs(sl_remote_backend *remote, const sl_read_ends *ends)
{
    while (remote->parked != NULL) {
        sl_backend_part *part = remote->parked;
        remote->parked = part->next;
        part->job->flying--;
        sl_backend_part_drop(remote, part);
    }
    for (uint32_t i = 0; i < remote->depth; i++) {
        sl_backend_job *job = &remote->jobs[i];
        if (job->read != NULL && job->flying == 0) {
            sl_object_release(job->object);
            sl_read_ended(ends, job->read);
        }
    }
}

/* Closes the backend. Reads that do not end keep its memory forever. */
static uint32_t remote_close(sl_backend *backend, uint64_t drain_ns, const sl_read_ends *ends)
{
    sl_remote_backend *remote = (sl_remote_backend *)backend;
    const uint64_t now = sl_now_ns();
    const uint64_t deadline = drain_ns > UINT64_MAX - now ? UINT64_MAX : now + drain_ns;
    inner_ends of = {remote, ends};
    const sl_read_ends own = {end_inner_read, &of};
    sl_lock(&remote->mutex);
    remote->closing = true; /* no thread wakes `inner` any more */
    sl_unlock(&remote->mutex);
    cancel_parts(remote);
    const uint32_t abandoned = remote->inner->ops->close(remote->inner, drain_ns, &own);
    const uint32_t left = wait_for_landings(remote, deadline);
    end_jobs(remote, ends);
    if (abandoned + left == 0) {
        free_remote(remote);
    }
    return abandoned + left;
}

static const sl_backend_ops remote_ops = {"remote",    NULL,           remote_submit, remote_reap,
                                          remote_wake, remote_present, remote_close};

/* Sets the shorter of the setting's limit and the caller's. */
static sluice_status choose_stall(sl_remote_backend *remote, uint64_t most_ns, sluice_error *error)
{
    const sl_remote_settings *settings = NULL;
    const sluice_status status = sl_remote_settings_get(&settings, error);
    if (status == SLUICE_OK) {
        const uint64_t most = most_ns > 0 ? most_ns : UINT64_MAX;
        remote->stall_ns = sl_min_u64(settings->stall_ns, most);
        sl_remote_settings_release(settings);
    }
    return status;
}

static sluice_status make_remote(sl_remote_backend *remote, const sl_backend_config *config,
                                 sluice_error *error)
{
    remote->base.ops = &remote_ops;
    remote->depth = config->depth;
    remote->part_count = 2 * config->depth + PARTS_SPARE;
    remote->gap_bytes = GAP_FIRST;
    remote->waits = config->waits;
    sl_chunk_waits_hold(remote->waits);
    sl_mutex_init(&remote->mutex);
    sl_cond_init(&remote->landed);
    remote->jobs = sl_calloc(remote->depth, sizeof(*remote->jobs));
    remote->parts = sl_calloc(remote->part_count, sizeof(*remote->parts));
    if (remote->jobs == NULL || remote->parts == NULL) {
        return sl_no_memory(error, "io", "for reads of remote objects");
    }
    for (uint32_t i = 0; i < remote->depth; i++) {
        remote->jobs[i].next = remote->free_jobs;
        remote->free_jobs = &remote->jobs[i];
    }
    for (uint32_t i = 0; i < remote->part_count; i++) {
        remote->parts[i].owner = remote;
        remote->parts[i].next = remote->free_parts;
        remote->free_parts = &remote->parts[i];
    }
    return choose_stall(remote, config->stall_ns, error);
}

sluice_status sl_backend_remote(sl_backend **backend, sl_backend *inner,
                                const sl_backend_config *config, sluice_error *error)
{
    assert(config->depth > 0);
    *backend = NULL;
    sl_remote_backend *remote = sl_calloc(1, sizeof(*remote));
    if (remote == NULL) {
        (void)inner->ops->close(inner, UINT64_MAX, NULL);
        return sl_no_memory(error, "io", "for reads of remote objects");
    }
    const sluice_status status = make_remote(remote, config, error);
    if (status < 0) {
        (void)inner->ops->close(inner, UINT64_MAX, NULL);
        free_remote(remote);
        return status;
    }
    remote->inner = inner;
    *backend = &remote->base;
    return SLUICE_OK;
}
