/* SPDX-License-Identifier: Apache-2.0 */
/* backend_jobs: reads of remote objects in flight: cuts them into parts, and handles their
 * results. */
#include "backend_remote.h"

#include "clock.h"
#include "kept.h"
#include "little_endian.h"
#include "memory.h"
#include "minmax.h"
#include "read_files.h"
#include "thread.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Maximum parts of one read in flight. */
#define PARTS_OF_JOB 16U
/* Gaps up to this size are always fetched with a part; pieces of a part with gaps. */
#define PIECES_GAP_LEAST ((uint64_t)64 << 10)
#define PIECES_GAP_MOST  ((uint64_t)1 << 20)
#define PART_MOST        ((uint64_t)8 << 20)
/* Maximum memory of parts with gaps; one part is always allowed. */
#define SCRATCH_MOST ((uint64_t)64 << 20)
/* Bytes read from a file when the buffer is full: the answer has the file's size. */
#define SIZE_PROBE_BYTES 4096U
/* A part waits this long for a chunk that another process writes. */
#define PARK_MOST_NS UINT64_C(5000000000)
/* After one such wait timed out, no part waits for this long: the writer was stopped. */
#define IMPATIENT_NS UINT64_C(30000000000)
/* A part waits for the loader's own chunks this long, or half of the stall limit, while none
 * arrives. */
#define EXPECT_MOST_NS UINT64_C(10000000000)
/* File sizes from a server are capped at this, so that the sum of all sizes cannot overflow. */
#define FILE_BYTES_MOST ((uint64_t)1 << 50)
/* Maximum number of different reasons that are kept. */
#define REASONS_MOST 256U

/* ---- lists ---- */

static void append_job(sl_backend_jobs *list, sl_backend_job *job)
{
    job->next = NULL;
    if (list->first == NULL) {
        list->first = job;
    } else {
        list->last->next = job;
    }
    list->last = job;
}

static sl_backend_job *pop_job(sl_backend_jobs *list)
{
    sl_backend_job *job = list->first;
    if (job != NULL) {
        list->first = job->next;
    }
    return job;
}

static sl_backend_part *take_free_part(sl_remote_backend *remote, sl_backend_job *job)
{
    sl_backend_part *part = remote->free_parts;
    if (part != NULL) {
        remote->free_parts = part->next;
        part->job = job;
        part->next = NULL;
        part->scratch = NULL;
    }
    return part;
}

void sl_backend_part_drop(sl_remote_backend *remote, sl_backend_part *part)
{
    if (part->scratch != NULL) {
        sl_free(part->scratch);
        remote->scratch_bytes -= part->range.bytes;
        part->scratch = NULL;
    }
    part->state = SL_PART_FREE;
    part->next = remote->free_parts;
    remote->free_parts = part;
}

sl_backend_part *sl_backend_part_of(const sl_remote_backend *remote, const sl_read *read)
{
    const uintptr_t at = (uintptr_t)read;
    const uintptr_t first = (uintptr_t)remote->parts;
    if (at < first || at >= first + remote->part_count * sizeof(sl_backend_part)) {
        return NULL;
    }
    return &remote->parts[(at - first) / sizeof(sl_backend_part)];
}

/* Returns a copy of a reason. Completions point at reasons until the backend is closed, so each
 * text is kept once. NULL: no reason, or too many. */
static const char *keep_reason(sl_remote_backend *remote, const char *reason)
{
    if (reason[0] == '\0') {
        return NULL;
    }
    for (uint32_t i = 0; i < remote->reason_count; i++) {
        if (strcmp(remote->reasons[i], reason) == 0) {
            return remote->reasons[i];
        }
    }
    if (remote->reasons == NULL) {
        remote->reasons = (char **)sl_calloc(REASONS_MOST, sizeof(char *));
    }
    const size_t bytes = strlen(reason) + 1;
    char *kept =
        remote->reasons != NULL && remote->reason_count < REASONS_MOST ? sl_malloc(bytes) : NULL;
    if (kept != NULL) {
        memcpy(kept, reason, bytes);
        remote->reasons[remote->reason_count++] = kept;
    }
    return kept;
}

static void fail_job(sl_remote_backend *remote, sl_backend_job *job, int64_t failed,
                     const char *reason)
{
    if (job->failed == 0) {
        job->failed = failed;
        job->reason = keep_reason(remote, reason);
    }
}

static void finish_job(sl_remote_backend *remote, sl_backend_job *job)
{
    sl_object_release(job->object);
    job->object = NULL;
    append_job(&remote->ready, job);
}

/* ---- parts ---- */

/* Runs on an engine thread, or on the owner's. */
static void part_landed(sl_remote_read *read)
{
    sl_backend_part *part = read->ctx;
    sl_remote_backend *remote = part->owner;
    sl_lock(&remote->mutex);
    const bool first = remote->ended == NULL;
    part->flying = false;
    part->next = remote->ended;
    remote->ended = part;
    remote->flying--;
    if (remote->closing) {
        sl_cond_signal(&remote->landed);
    } else if (first) {
        remote->inner->ops->wake(remote->inner); /* a signal, or a write that does not block */
    }
    sl_unlock(&remote->mutex);
}

static void send_part(sl_remote_backend *remote, sl_backend_part *part)
{
    part->state = SL_PART_REMOTE;
    part->remote.object = part->job->object;
    part->remote.buffer = part->to;
    part->remote.stall_ns = remote->stall_ns;
    part->remote.done = part_landed;
    part->remote.ctx = part;
    sl_lock(&remote->mutex);
    part->flying = true;
    remote->flying++;
    sl_unlock(&remote->mutex);
    sl_remote_read_start(&part->remote);
}

static void send_range(sl_remote_backend *remote, sl_backend_part *part)
{
    part->remote = (sl_remote_read){.offset = part->range.offset, .bytes = part->range.bytes};
    send_part(remote, part);
}

static void park_part(sl_remote_backend *remote, sl_backend_part *part, bool expected)
{
    part->state = SL_PART_PARKED;
    part->expected = expected;
    part->next = remote->parked;
    remote->parked = part;
}

static uint64_t expect_until(const sl_remote_backend *remote)
{
    return sl_now_ns() + sl_min_u64(EXPECT_MOST_NS, remote->stall_ns / 2);
}

/* Returns whether the loader's own caching will fetch the part's chunk. Called before the cache
 * is searched, so that a chunk that arrives in between is found. */
static bool is_expected(const sl_remote_backend *remote, const sl_backend_part *part)
{
    return remote->waits != NULL && sl_chunk_waits_ask(remote->waits, part->job->read->object,
                                                       part->range.offset / SL_CHUNK_BYTES);
}

/* Reads the part from its chunk in the cache. False: the chunk is not in the cache. */
static bool read_cached_part(sl_remote_backend *remote, sl_backend_part *part)
{
    sl_cached_object *cached = part->job->cached;
    const uint64_t chunk = part->range.offset / SL_CHUNK_BYTES;
    if (remote->inner_flying == remote->depth) {
        park_part(remote, part, false);
        return true;
    }
    const bool expected = is_expected(remote, part);
    switch (sl_chunk_find(cached, chunk, &part->use)) {
    case SL_CHUNK_ABSENT:
        if (expected) {
            park_part(remote, part, true);
        }
        return expected;
    case SL_CHUNK_COMING:
        if (!expected && sl_now_ns() < remote->impatient_until_ns) {
            return false;
        }
        park_part(remote, part, expected);
        return true;
    case SL_CHUNK_HERE:
        break;
    }
    const uint64_t at = part->range.offset % SL_CHUNK_BYTES;
    if (at + part->range.bytes > part->use.bytes) { /* the store decides where the object ends */
        sl_chunk_done(cached, &part->use);
        return false;
    }
    part->state = SL_PART_SHADOW;
    part->shadow = (sl_read){.kind = SL_READ_AT,
                             .fd = part->use.fd,
                             .offset = at,
                             .length = part->range.bytes,
                             .buffer = part->to};
    sl_read *shadow = &part->shadow;
    remote->inner_flying++;
    remote->inner->ops->submit(remote->inner, &shadow, 1);
    return true;
}

static bool send_file(sl_remote_backend *remote, sl_backend_part *part);

/* Reads the part past the cache. A file that fails at once leaves its job without a part. */
static void send_past(sl_remote_backend *remote, sl_backend_part *part)
{
    if (part->job->read->kind == SL_READ_FILE) {
        (void)send_file(remote, part);
    } else {
        send_range(remote, part);
    }
}

static void start_part(sl_remote_backend *remote, sl_backend_part *part)
{
    if (part->job->cached == NULL || !read_cached_part(remote, part)) {
        send_past(remote, part);
    }
}

static uint64_t park_until(const sl_remote_backend *remote)
{
    return remote->waits != NULL ? expect_until(remote) : sl_now_ns() + PARK_MOST_NS;
}

/* ---- ranges ---- */

static bool take_scratch(sl_remote_backend *remote, sl_backend_part *part)
{
    part->scratch = sl_malloc(part->range.bytes);
    if (part->scratch == NULL) {
        fail_job(remote, part->job, -ENOMEM, "");
        return false;
    }
    remote->scratch_bytes += part->range.bytes;
    part->to = part->scratch;
    return true;
}

/* Begins the next part. False: there is no part or no memory now, or the job has failed. */
static bool job_next_part(sl_remote_backend *remote, sl_backend_job *job)
{
    const uint64_t gap = sl_min_u64(remote->gap_bytes, PIECES_GAP_MOST);
    const sl_part_limits limits = {.gap_bytes = sl_max_u64(gap, PIECES_GAP_LEAST),
                                   .most_bytes = PART_MOST,
                                   .chunk_bytes = job->cached != NULL ? SL_CHUNK_BYTES : 0};
    const sl_part_cursor before = job->cursor;
    sl_backend_part *part = take_free_part(remote, job);
    if (part == NULL) {
        return false;
    }
    part->range = sl_part_next(job->read, &job->cursor, &limits);
    part->to = job->read->buffer + before.to;
    if (part->range.bytes == 0) {
        sl_backend_part_drop(remote, part);
        return true;
    }
    const bool gaps = part->range.bytes != part->range.wanted;
    const bool full =
        remote->scratch_bytes > 0 && remote->scratch_bytes + part->range.bytes > SCRATCH_MOST;
    if (gaps && (full || !take_scratch(remote, part))) {
        job->cursor = before;
        sl_backend_part_drop(remote, part);
        return false;
    }
    job->flying++;
    part->until_ns = park_until(remote);
    start_part(remote, part);
    return true;
}

static void job_go_on(sl_remote_backend *remote, sl_backend_job *job)
{
    while (job->failed == 0 && !sl_part_is_end(job->read, &job->cursor) &&
           job->flying < PARTS_OF_JOB && job_next_part(remote, job)) {
    }
    const bool ended = job->failed != 0 || sl_part_is_end(job->read, &job->cursor);
    if (ended && job->flying == 0 && !job->hungry) {
        finish_job(remote, job);
    } else if (!ended && job->flying < PARTS_OF_JOB && !job->hungry) {
        job->hungry = true;
        append_job(&remote->hungry, job);
    }
}

/* Counts a part's read. Bytes of a chunk that was downloaded for them are not hits. */
static void note_cached_part(const sl_remote_backend *remote, const sl_backend_part *part,
                             bool from_cache)
{
    const sl_backend_job *job = part->job;
    const uint64_t chunk = part->range.offset / SL_CHUNK_BYTES;
    if (job->cached == NULL) {
        return;
    }
    const bool hit = from_cache && (remote->waits == NULL ||
                                    sl_chunk_waits_is_hit(remote->waits, job->read->object, chunk,
                                                          part->range.wanted));
    sl_chunk_note(job->cached, part->range.wanted, hit);
}

/* Handles the end of a part: `got` bytes arrived. */
static void range_done(sl_backend_part *part, uint64_t got)
{
    sl_backend_job *job = part->job;
    if (got >= part->range.bytes) {
        if (part->scratch != NULL) {
            sl_part_scatter(job->read, &part->range, part->scratch);
        }
    } else { /* the object ends in it */
        const uint64_t valid = part->scratch != NULL ? 0 : got;
        job->valid_end = sl_min_u64(job->valid_end, part->range.from.to + valid);
    }
}

static void range_ended(sl_remote_backend *remote, sl_backend_part *part)
{
    sl_backend_job *job = part->job;
    if (part->remote.result < 0) {
        fail_job(remote, job, part->remote.result, part->remote.reason);
    } else {
        note_cached_part(remote, part, false);
        range_done(part, (uint64_t)part->remote.result);
    }
    sl_backend_part_drop(remote, part);
    job->flying--;
    job_go_on(remote, job);
}

/* ---- whole files ---- */

static uint64_t file_tail(const sl_read *read)
{
    return (uint64_t)read->files * SL_OBJECT_SIZE_BYTES;
}

static uint64_t file_space(const sl_backend_job *job)
{
    const uint64_t taken = job->at + file_tail(job->read);
    return job->read->length > taken ? job->read->length - taken : 0;
}

static int open_file(sl_remote_backend *remote, sl_backend_job *job, const sl_file_identity *known)
{
    const sl_read *read = job->read;
    char own[SL_PATH_BYTES];
    const char *path = read->path;
    if (read->files > 0) {
        path = own;
        if (sl_objects_file_path(read->objects, read->object, job->file, own, sizeof(own)) !=
            SLUICE_OK) {
            fail_job(remote, job, -ENAMETOOLONG, "");
            return -ENAMETOOLONG;
        }
    }
    sl_store_set_reason("");
    const int failed = sl_object_open(&job->object, path, known);
    if (failed < 0) {
        job->object = NULL;
        fail_job(remote, job, failed, sl_store_reason());
    }
    return failed;
}

/* Finds the file of an object that is in the cache, or may be soon. False: not known to be. */
static bool find_cached_file(sl_remote_backend *remote, sl_backend_job *job)
{
    const sl_read *read = job->read;
    const sl_file_identity *listed = read->files == 0 && read->objects != NULL
                                         ? sl_objects_listed(read->objects, read->object)
                                         : NULL;
    if (listed == NULL || listed->bytes == 0 ||
        listed->bytes > sl_min_u64(file_space(job), SL_CHUNK_BYTES) ||
        open_file(remote, job, listed) < 0) {
        return false;
    }
    job->cached = sl_object_cached(job->object);
    if (job->cached == NULL) {
        sl_object_release(job->object);
        job->object = NULL;
    }
    return job->cached != NULL;
}

/* Reads all of a file from the store, at its current size. False: the job has failed, and the
 * part is free. */
static bool send_file(sl_remote_backend *remote, sl_backend_part *part)
{
    sl_backend_job *job = part->job;
    const uint64_t space = file_space(job);
    note_cached_part(remote, part, false);
    job->cached = NULL; /* the object holds it */
    sl_object_release(job->object);
    job->object = NULL;
    if (open_file(remote, job, NULL) < 0 || (space == 0 && !take_scratch(remote, part))) {
        sl_backend_part_drop(remote, part);
        job->flying--;
        return false;
    }
    part->remote =
        (sl_remote_read){.whole = true, .bytes = space > 0 ? (uint32_t)space : SIZE_PROBE_BYTES};
    if (space > 0) {
        part->to = job->read->buffer + job->at;
    }
    send_part(remote, part);
    return true;
}

/* Fetches the next file of the job. False: no part is free. */
static bool next_file(sl_remote_backend *remote, sl_backend_job *job)
{
    sl_backend_part *part = take_free_part(remote, job);
    if (part == NULL) {
        return false;
    }
    job->flying++;
    part->range = (sl_part_range){.bytes = SIZE_PROBE_BYTES};
    if (find_cached_file(remote, job)) {
        const uint32_t bytes =
            (uint32_t)sl_objects_listed(job->read->objects, job->read->object)->bytes;
        part->range = (sl_part_range){.bytes = bytes, .wanted = bytes};
        part->to = job->read->buffer + job->at;
        part->until_ns = park_until(remote);
        start_part(remote, part);
    } else {
        (void)send_file(remote, part);
    }
    return true;
}

static void job_go_on_with_files(sl_remote_backend *remote, sl_backend_job *job)
{
    const uint32_t files = sl_max_u32(job->read->files, 1);
    if (job->failed == 0 && job->file < files && !next_file(remote, job)) {
        job->hungry = true;
        append_job(&remote->hungry, job);
    } else if (job->flying == 0) {
        finish_job(remote, job);
    }
}

/* Returns the size for the next try: twice as much, if the server does not send the object's
 * size. */
static uint64_t file_size(const sl_remote_read *read)
{
    if (read->result >= 0) {
        return (uint64_t)read->result;
    }
    return read->object_bytes != UINT64_MAX ? sl_min_u64(read->object_bytes, FILE_BYTES_MOST)
                                            : 2 * (uint64_t)read->bytes;
}

static void file_ended(sl_remote_backend *remote, sl_backend_part *part, bool hit)
{
    sl_backend_job *job = part->job;
    const sl_remote_read *read = &part->remote;
    if (hit && read->result >= 0) {
        note_cached_part(remote, part, true);
    }
    job->cached = NULL;
    if (read->result < 0 && read->result != -EFBIG) {
        fail_job(remote, job, read->result, read->reason);
    } else {
        job->sizes[job->file] = file_size(read);
        job->at += job->sizes[job->file];
        job->file++;
    }
    sl_backend_part_drop(remote, part);
    sl_object_release(job->object);
    job->object = NULL;
    job->flying--;
    job_go_on_with_files(remote, job);
}

/* Runs after the job's part was sent past the cache. */
static void finish_failed_file(sl_remote_backend *remote, sl_backend_job *job)
{
    if (job->read->kind == SL_READ_FILE && job->failed != 0 && job->flying == 0) {
        job_go_on_with_files(remote, job);
    }
}

void sl_backend_shadow_done(sl_remote_backend *remote, sl_backend_part *part, int64_t result)
{
    sl_backend_job *job = part->job;
    sl_chunk_done(job->cached, &part->use);
    remote->inner_flying--;
    if (result != (int64_t)part->range.bytes && job->failed == 0) {
        send_past(remote, part); /* the disk failed; the store may still work */
        finish_failed_file(remote, job);
        return;
    }
    if (job->read->kind == SL_READ_FILE) {
        part->remote.result = job->failed == 0 ? result : job->failed;
        file_ended(remote, part, true);
        return;
    }
    if (job->failed == 0) {
        note_cached_part(remote, part, true);
        range_done(part, part->range.bytes);
    }
    sl_backend_part_drop(remote, part);
    job->flying--;
    job_go_on(remote, job);
}

/* Returns the result when all files of the job are read, or do not fit. */
static int64_t files_result(sl_backend_job *job)
{
    const sl_read *read = job->read;
    job->file_bytes = job->at + file_tail(read);
    if (job->file_bytes > read->length) {
        return -EFBIG;
    }
    for (uint32_t i = 0; i < read->files; i++) {
        sl_store64(read->buffer + job->at + (size_t)i * SL_OBJECT_SIZE_BYTES, job->sizes[i]);
    }
    return (int64_t)job->file_bytes;
}

/* ---- jobs ---- */

static void continue_job(sl_remote_backend *remote, sl_backend_job *job)
{
    if (job->read->kind == SL_READ_FILE) {
        job_go_on_with_files(remote, job);
    } else {
        job_go_on(remote, job);
    }
}

void sl_backend_job_start(sl_remote_backend *remote, sl_read *read)
{
    sl_backend_job *job = remote->free_jobs;
    assert(job != NULL);
    remote->free_jobs = job->next;
    *job = (sl_backend_job){.read = read, .valid_end = read->length};
    if (read->kind != SL_READ_FILE) {
        job->object = read->handle->own;
        sl_object_hold(job->object);
        job->cached = sl_object_cached(job->object);
    }
    continue_job(remote, job);
}

static int64_t job_result(sl_backend_job *job)
{
    const sl_read *read = job->read;
    if (job->failed != 0) {
        return job->failed;
    }
    if (read->kind == SL_READ_FILE) {
        return files_result(job);
    }
    const bool cut = read->kind == SL_READ_PIECES && job->valid_end < read->length;
    return cut ? -ENODATA : (int64_t)job->valid_end;
}

uint32_t sl_backend_jobs_take(sl_remote_backend *remote, sl_completion *completions,
                              uint32_t capacity)
{
    uint32_t count = 0;
    for (; count < capacity && remote->ready.first != NULL; count++) {
        sl_backend_job *job = pop_job(&remote->ready);
        completions[count] = (sl_completion){.read = job->read, .result = job_result(job)};
        completions[count].file_bytes = job->file_bytes;
        completions[count].file = job->file;
        completions[count].reason = job->reason;
        completions[count].final = job->failed != 0 && job->failed != -ENOMEM;
        job->read = NULL;
        job->next = remote->free_jobs;
        remote->free_jobs = job;
    }
    return count;
}

/* ---- news ---- */

/* Returns the parts that called done, in the order of their ends. */
static sl_backend_part *take_ended(sl_remote_backend *remote)
{
    sl_backend_part *ordered = NULL;
    sl_lock(&remote->mutex);
    sl_backend_part *next = remote->ended;
    remote->ended = NULL;
    sl_unlock(&remote->mutex);
    while (next != NULL) {
        sl_backend_part *part = next;
        next = part->next;
        part->next = ordered;
        ordered = part;
    }
    return ordered;
}

static void look_at_parked(sl_remote_backend *remote)
{
    const uint64_t now = sl_now_ns();
    sl_backend_part *next = remote->parked;
    if (next == NULL || now < remote->parked_look_ns) {
        return;
    }
    const uint64_t changes = remote->waits != NULL ? sl_chunk_waits_changes(remote->waits) : 0;
    const bool changed = changes != remote->changes;
    remote->parked = NULL;
    remote->parked_look_ns = now + SL_BACKEND_PARK_LOOK_NS;
    remote->changes = changes;
    remote->progress += changed;
    while (next != NULL) {
        sl_backend_part *part = next;
        sl_backend_job *job = part->job;
        next = part->next;
        part->until_ns = changed && part->expected ? expect_until(remote) : part->until_ns;
        if (job->failed != 0) {
            sl_backend_part_drop(remote, part);
            job->flying--;
            continue_job(remote, job);
        } else if (now >= part->until_ns) {
            remote->impatient_until_ns =
                part->expected ? remote->impatient_until_ns : now + IMPATIENT_NS;
            send_past(remote, part);
            finish_failed_file(remote, job);
        } else if (part->expected && !changed) {
            park_part(remote, part, true);
        } else {
            start_part(remote, part);
            finish_failed_file(remote, job);
        }
    }
}

static void feed_hungry(sl_remote_backend *remote)
{
    const sl_backend_job *last = remote->hungry.first != NULL ? remote->hungry.last : NULL;
    const sl_backend_job *fed = NULL;
    while (last != fed && remote->free_parts != NULL) {
        sl_backend_job *job = pop_job(&remote->hungry);
        fed = job;
        job->hungry = false;
        continue_job(remote, job);
    }
}

void sl_backend_jobs_settle(sl_remote_backend *remote)
{
    for (sl_backend_part *part = take_ended(remote); part != NULL;) {
        sl_backend_part *next = part->next;
        remote->progress++;
        if (part->job->read->kind == SL_READ_FILE) {
            file_ended(remote, part, false);
        } else {
            range_ended(remote, part);
        }
        part = next;
    }
    look_at_parked(remote);
    feed_hungry(remote);
}

void sl_backend_jobs_cancel(sl_remote_backend *remote)
{
    for (uint32_t i = 0; i < remote->depth; i++) {
        sl_backend_job *job = &remote->jobs[i];
        if (job->read != NULL && job->failed == 0 &&
            (job->flying > 0 || job->hungry)) { /* other jobs are ready */
            job->failed = -ECANCELED;
        }
    }
    remote->parked_look_ns = 0;
}
