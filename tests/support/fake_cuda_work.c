/* SPDX-License-Identifier: Apache-2.0 */
/* The stream threads: they do queued work in order, with delays. */
#include "fake_cuda_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_S  UINT64_C(1000000000)

#define LATE_ONE_IN 4

/* xorshift64*: any generator works */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static void sleep_ns(uint64_t ns)
{
    const struct timespec time = {.tv_sec = (time_t)(ns / NS_PER_S),
                                  .tv_nsec = (long)(ns % NS_PER_S)};
    (void)nanosleep(&time, NULL);
}

/* ---- pending work ---- */

typedef struct visit {
    const fake_cuda_work *asking; /* NULL: asks about [begin, end), on either side */
    uintptr_t begin, end;
    bool in_use;                           /* [begin, end) is in use */
    bool reads, writes, written_over, all; /* conflicts with earlier work */
} visit;

static bool overlap(uintptr_t begin, uintptr_t end, const fake_cuda_range *range)
{
    return begin < range->end && range->begin < end;
}

static void compare(visit *v, const fake_cuda_work *pending)
{
    const uintptr_t source = (uintptr_t)pending->from;
    if (v->asking == NULL) {
        v->in_use |=
            pending->kind == WORK_COPY && source < v->end && v->begin < source + pending->bytes;
    }
    for (size_t i = 0; i < FAKE_CUDA_RANGES; i++) {
        const fake_cuda_range *theirs = &pending->ranges[i];
        v->in_use |= v->asking == NULL && overlap(v->begin, v->end, theirs);
        for (size_t j = 0; v->asking != NULL && j < FAKE_CUDA_RANGES; j++) {
            const fake_cuda_range *ours = &v->asking->ranges[j];
            const bool both = overlap(ours->begin, ours->end, theirs);
            v->reads |= both && !ours->write && theirs->write;
            v->writes |= both && ours->write && !theirs->write;
            v->written_over |= both && ours->write && theirs->write;
        }
    }
}

static struct CUstream_st *stream_at(size_t i)
{
    fake_cuda_thing *thing = fake_cuda_the.things[i];
    return thing->kind == KIND_STREAM ? (struct CUstream_st *)(void *)thing : NULL;
}

/* Compares with all unfinished work, except work submitted after `asking`. */
static void visit_pending_locked(visit *v)
{
    for (size_t i = 0; i < fake_cuda_the.thing_count; i++) {
        const struct CUstream_st *stream = stream_at(i);
        for (uint64_t at = stream != NULL ? stream->done : 0; stream != NULL && at < stream->given;
             at++) {
            const fake_cuda_work *pending = &stream->queue[at % FAKE_CUDA_QUEUE];
            if (v->asking == NULL || pending->number < v->asking->number) {
                compare(v, pending);
            }
        }
    }
}

bool fake_cuda_in_use_locked(uintptr_t begin, uintptr_t end)
{
    visit v = {.begin = begin, .end = end};
    if (fake_cuda_the.lost != SL_CU_SUCCESS) {
        return false; /* all streams are stopped */
    }
    visit_pending_locked(&v);
    return v.in_use;
}

/* Counts a misuse for each conflict with unfinished earlier work. True if there is none. */
static bool in_order_locked(const fake_cuda_work *work)
{
    visit v = {.asking = work};
    visit_pending_locked(&v);
    const bool first = fake_cuda_expect_work_locked(!v.writes, FAKE_CUDA_OVERWRITE);
    const bool second = fake_cuda_expect_work_locked(!v.reads, FAKE_CUDA_TOO_EARLY);
    const bool third = fake_cuda_expect_work_locked(!v.written_over, FAKE_CUDA_DISORDER);
    return first && second && third;
}

void fake_cuda_wake_locked(void)
{
    pthread_cond_broadcast(&fake_cuda_the.changed);
    for (size_t i = 0; i < fake_cuda_the.thing_count; i++) {
        struct CUstream_st *stream = stream_at(i);
        if (stream != NULL) {
            pthread_cond_broadcast(&stream->more);
        }
    }
}

/* True if the streams wait for each other's earlier work: the default stream and a blocking one. */
static bool is_joined_locked(const struct CUstream_st *stream, const fake_cuda_work *work)
{
    const struct CUstream_st *standard = fake_cuda_the.default_stream;
    for (size_t i = 0; i < fake_cuda_the.thing_count; i++) {
        const struct CUstream_st *other = stream_at(i);
        if (other == NULL || other == stream || !other->blocking || !stream->blocking ||
            (other != standard && stream != standard) || other->done == other->given) {
            continue;
        }
        if (other->queue[other->done % FAKE_CUDA_QUEUE].number < work->number) {
            return true;
        }
    }
    return false;
}

/* With one queue, each piece of work waits for all work submitted before it. */
static bool is_queued_locked(const fake_cuda_work *work)
{
    for (size_t i = 0; fake_cuda_the.options.one_queue && i < fake_cuda_the.thing_count; i++) {
        const struct CUstream_st *other = stream_at(i);
        if (other != NULL && other->done < other->given &&
            other->queue[other->done % FAKE_CUDA_QUEUE].number < work->number) {
            return true;
        }
    }
    return false;
}

/* ---- doing the work; these functions release the lock meanwhile ---- */

/* Skips a misuse, which would also be a data race. */
static void copy_locked(const fake_cuda_work *work)
{
    fake_cuda *f = &fake_cuda_the;
    uint8_t *to = fake_cuda_backing_locked(work->ranges[0].begin);
    uint8_t *written = fake_cuda_written_locked(work->ranges[0].begin);
    f->copies++;
    fake_cuda_expect_work_locked(to != NULL, FAKE_CUDA_DEAD);
    if (!in_order_locked(work) || to == NULL) {
        return;
    }
    const uint64_t rate = f->options.copy_rate;
    const size_t skipped = f->options.copies_lie ? 1 : 0;
    f->busy++;
    pthread_mutex_unlock(&f->mutex);
    if (rate > 0) {
        sleep_ns((uint64_t)((double)work->bytes / (double)rate * (double)NS_PER_S));
    }
    const bool same = fake_cuda_hash(work->from, work->bytes) == work->hash;
    memcpy(to + skipped, (const uint8_t *)work->from + skipped, work->bytes - skipped);
    if (written != NULL) {
        memset(written, 1, work->bytes);
    }
    pthread_mutex_lock(&f->mutex);
    f->busy--;
    fake_cuda_expect_work_locked(same, FAKE_CUDA_CHANGED);
}

/* Lists the only memory that a kernel may access: its own ranges. */
static bool list_memory_locked(const fake_cuda_work *work, ptx_memory memory[FAKE_CUDA_RANGES])
{
    bool there = true;
    for (size_t i = 0; i < (work->mixes ? 4 : 3); i++) {
        const fake_cuda_range *range = &work->ranges[i];
        memory[i] = (ptx_memory){.address = range->begin,
                                 .bytes = range->end - range->begin,
                                 .backing = fake_cuda_backing_locked(range->begin),
                                 .written = fake_cuda_written_locked(range->begin),
                                 .writable = range->write};
        there = there && memory[i].backing != NULL;
    }
    return there;
}

static void kernel_locked(const fake_cuda_work *work)
{
    fake_cuda *f = &fake_cuda_the;
    ptx_memory memory[FAKE_CUDA_RANGES];
    ptx_failure failure = {""};
    sl_conversion_parameters given = work->parameters;
    void *parameters[] = {&given};
    ptx_launch launch = {.parameters = parameters,
                         .memory = memory,
                         .memories = work->mixes ? 4 : 3,
                         .seed = f->options.seed + work->number};
    memcpy(launch.grid, work->grid, sizeof(launch.grid));
    memcpy(launch.block, work->block, sizeof(launch.block));
    const bool there = list_memory_locked(work, memory);
    if (in_order_locked(work) && fake_cuda_expect_work_locked(there, FAKE_CUDA_DEAD)) {
        f->busy++;
        pthread_mutex_unlock(&f->mutex);
        const bool fine = ptx_run(work->kernel, &launch, &failure);
        pthread_mutex_lock(&f->mutex);
        f->busy--;
        f->kernels++;
        if (!fine) {
            fake_cuda_blame_kernel_locked(failure.text);
        }
    }
}

static void reader_locked(const fake_cuda_work *work)
{
    fake_cuda *f = &fake_cuda_the;
    const void *from = work->to != NULL ? fake_cuda_backing_locked(work->ranges[0].begin) : NULL;
    fake_cuda_expect_work_locked(work->to == NULL || from != NULL, FAKE_CUDA_DEAD);
    if (!in_order_locked(work)) {
        return;
    }
    pthread_mutex_unlock(&f->mutex);
    if (from != NULL) {
        memcpy(work->to, from, work->bytes);
    }
    if (work->run != NULL) {
        work->run(work->ctx);
    }
    pthread_mutex_lock(&f->mutex);
}

static void wait_locked(const fake_cuda_work *work)
{
    fake_cuda *f = &fake_cuda_the;
    while (work->event->done < work->record && f->lost == SL_CU_SUCCESS) {
        pthread_cond_wait(&f->changed, &f->mutex);
    }
}

static void do_locked(const fake_cuda_work *work)
{
    switch (work->kind) {
    case WORK_COPY:
        copy_locked(work);
        break;
    case WORK_KERNEL:
        kernel_locked(work);
        break;
    case WORK_READER:
        reader_locked(work);
        break;
    case WORK_WAIT:
        wait_locked(work);
        break;
    case WORK_RECORD:
        /* For records in two streams, the later call counts, even if its stream runs first. */
        if (work->record > work->event->done) {
            work->event->done = work->record;
            work->event->done_ns = fake_cuda_now_ns();
        }
        break;
    }
}

static void next_locked(struct CUstream_st *stream)
{
    fake_cuda *f = &fake_cuda_the;
    const fake_cuda_work *work = &stream->queue[stream->done % FAKE_CUDA_QUEUE];
    if (f->options.delay_us > 0 && f->lost == SL_CU_SUCCESS &&
        next_random(&stream->random) % LATE_ONE_IN == 0) {
        const uint64_t us = next_random(&stream->random) % (f->options.delay_us + 1);
        pthread_mutex_unlock(&f->mutex);
        sleep_ns(us * NS_PER_US);
        pthread_mutex_lock(&f->mutex);
    }
    while (f->lost == SL_CU_SUCCESS && (is_joined_locked(stream, work) || is_queued_locked(work))) {
        pthread_cond_wait(&f->changed, &f->mutex);
    }
    if (f->lost == SL_CU_SUCCESS) {
        do_locked(work);
    }
    free(work->bounce);
    stream->done++;
    pthread_cond_broadcast(&f->changed);
}

static void *run(void *argument)
{
    struct CUstream_st *stream = argument;
    fake_cuda *f = &fake_cuda_the;
    pthread_mutex_lock(&f->mutex);
    for (;;) {
        while ((stream->hold && f->lost == SL_CU_SUCCESS && !stream->gone) ||
               (stream->given == stream->done && stream->thing.open)) {
            pthread_cond_wait(&stream->more, &f->mutex);
        }
        if (stream->given == stream->done) {
            break;
        }
        next_locked(stream);
    }
    f->workers--;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->mutex);
    return NULL;
}

struct CUstream_st *fake_cuda_stream_make_locked(bool own, bool blocking)
{
    fake_cuda *f = &fake_cuda_the;
    struct CUstream_st *stream = fake_cuda_make_locked(KIND_STREAM, sizeof(*stream));
    stream->thing.own = own;
    stream->blocking = blocking;
    pthread_cond_init(&stream->more, NULL);
    stream->random = (f->options.seed + f->thing_count + 1) * UINT64_C(0x9E3779B97F4A7C15);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    /* Detached: nothing joins the thread of a stream destroyed with work pending. */
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    const int failed = pthread_create(&thread, &attributes, run, stream);
    pthread_attr_destroy(&attributes);
    assert(failed == 0);
    (void)failed;
    f->workers++;
    return stream;
}

void fake_cuda_give_locked(struct CUstream_st *stream, const fake_cuda_work *work)
{
    fake_cuda *f = &fake_cuda_the;
    while (stream->given - stream->done == FAKE_CUDA_QUEUE) {
        pthread_cond_wait(&f->changed, &f->mutex);
    }
    fake_cuda_work *place = &stream->queue[stream->given % FAKE_CUDA_QUEUE];
    *place = *work;
    place->number = ++f->numbers;
    stream->given++;
    pthread_cond_signal(&stream->more);
}
