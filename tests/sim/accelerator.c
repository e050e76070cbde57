/* SPDX-License-Identifier: Apache-2.0 */
#include "accelerator.h"

#include "device.h"
#include "error.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOST_CODE 719 /* CUDA_ERROR_LAUNCH_FAILED */

typedef enum work_kind { WORK_COPY, WORK_READ, WORK_RECORD, WORK_WAIT } work_kind;

typedef struct work {
    work_kind kind;
    struct work *next;
    void *to;
    const void *from;
    size_t bytes;
    uint64_t digest; /* of `from` when the work was queued */
    sl_event *event;
    uint64_t record; /* number of the event's record to wait for */
} work;

/* Reference-counted: a destroyed event lives until no work refers to it. */
struct sl_event {
    uint64_t queued, done; /* records */
    uint64_t done_ns;
    uint32_t references;
    sim_queue waiting;
};

struct CUstream_st {
    struct CUstream_st *next; /* next of all streams */
    sim_fiber *fiber;
    work *first, *last; /* the first is running */
    bool closing;
    sim_queue filled, emptied;
};

static struct {
    sim_accelerator_how how;
    uint32_t calls;
    bool lost;
    struct CUstream_st *streams;
} accelerator;

/* ---- losing the device ---- */

static void lose(void)
{
    accelerator.lost = true;
    for (struct CUstream_st *one = accelerator.streams; one != NULL; one = one->next) {
        sim_wake_all(&one->emptied);
        for (work *each = one->first; each != NULL; each = each->next) {
            if (each->event != NULL) {
                sim_wake_all(&each->event->waiting);
            }
        }
    }
}

/* Counts a call by the library. Returns OK, or DEVICE once the device is lost. */
static sluice_status call(sluice_error *error)
{
    sim_point();
    if (!accelerator.lost && ++accelerator.calls == accelerator.how.lost_at) {
        sim_note("%llu us: the device is lost\n", (unsigned long long)(sim_now() / 1000));
        lose();
    }
    if (!accelerator.lost) {
        return SLUICE_OK;
    }
    if (error != NULL) {
        (void)sl_error_set(error, SLUICE_DEVICE, "staging", "the simulated device is lost");
        error->device_code = LOST_CODE;
    }
    return SLUICE_DEVICE;
}

void sim_accelerator_set(const sim_accelerator_how *how)
{
    if (accelerator.streams != NULL) {
        sim_fail("a stream of the device was never closed");
    }
    accelerator.how = *how;
    accelerator.calls = 0;
    accelerator.lost = false;
}

bool sim_accelerator_is_lost(void)
{
    return accelerator.lost;
}

/* ---- work ---- */

static void *make(size_t bytes)
{
    void *made = calloc(1, bytes);
    if (made == NULL) {
        sim_fail("no memory for the device");
    }
    return made;
}

static uint64_t digest_of(const void *from, size_t bytes)
{
    uint64_t digest = bytes;
    const uint8_t *at = from;
    for (; bytes >= sizeof(uint64_t); at += sizeof(uint64_t), bytes -= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        digest = sim_mix(digest ^ word);
    }
    for (; bytes > 0; at++, bytes--) {
        digest = sim_mix(digest ^ *at);
    }
    return digest;
}

static void drop_event(sl_event *event)
{
    if (event != NULL && --event->references == 0) {
        free(event);
    }
}

static void do_copy(const work *one)
{
    if (digest_of(one->from, one->bytes) != one->digest) {
        sim_fail("the source of a copy of %zu bytes changed before the copy ran", one->bytes);
    }
    memcpy(one->to, one->from, one->bytes);
}

static void do_record(const work *one)
{
    one->event->done = one->record;
    one->event->done_ns = sim_now();
    sim_wake_all(&one->event->waiting);
}

/* Waits on the device, or on the host, until the record is done or the device is lost. */
static void wait_for_record(sl_event *event, uint64_t record)
{
    event->references++;
    while (event->done < record && !accelerator.lost) {
        sim_wait_alone(&event->waiting, "an event of the device");
    }
    drop_event(event);
}

static void do_work(const work *one)
{
    if (accelerator.how.delay_ns > 0 && sim_chance(sim_run_draw(), 500)) {
        sim_sleep(sim_draw_next(sim_run_draw()) % accelerator.how.delay_ns);
    }
    if (one->kind == WORK_WAIT) {
        wait_for_record(one->event, one->record);
    }
    if (accelerator.lost) {
        return;
    }
    if (one->kind == WORK_COPY) {
        do_copy(one);
    } else if (one->kind == WORK_READ && digest_of(one->from, one->bytes) != one->digest) {
        sim_fail("%zu bytes changed while the consumer's stream still had to read them",
                 one->bytes);
    } else if (one->kind == WORK_RECORD) {
        do_record(one);
    }
}

static void run_stream(void *argument)
{
    struct CUstream_st *stream = argument;
    while (stream->first != NULL || !stream->closing) {
        work *one = stream->first;
        if (one == NULL) {
            sim_wait_alone(&stream->filled, "work of the device");
            continue;
        }
        do_work(one);
        stream->first = one->next;
        drop_event(one->event);
        free(one);
        if (stream->first == NULL) {
            sim_wake_all(&stream->emptied);
        }
    }
}

static void queue_work(struct CUstream_st *stream, const work *wanted)
{
    work *one = make(sizeof(*one));
    *one = *wanted;
    if (one->event != NULL) {
        one->event->references++;
    }
    if (stream->first == NULL) {
        stream->first = one;
    } else {
        stream->last->next = one;
    }
    stream->last = one;
    sim_wake_all(&stream->filled);
}

/* Fails if queued work still touches any of the bytes. */
static void check_untouched(const void *memory, size_t bytes)
{
    const uint8_t *begin = memory;
    for (struct CUstream_st *stream = accelerator.streams; stream != NULL; stream = stream->next) {
        for (const work *one = stream->first; one != NULL && !accelerator.lost; one = one->next) {
            const uint8_t *to = one->to;
            const uint8_t *from = one->from;
            if ((to != NULL && to < begin + bytes && to + one->bytes > begin) ||
                (from != NULL && from < begin + bytes && from + one->bytes > begin)) {
                sim_fail("memory is freed under queued work of the device");
            }
        }
    }
}

/* ---- the consumer's side ---- */

struct CUstream_st *sim_accelerator_open_stream(void)
{
    struct CUstream_st *stream = make(sizeof(*stream));
    stream->next = accelerator.streams;
    accelerator.streams = stream;
    stream->fiber = sim_start("stream", run_stream, stream);
    return stream;
}

void sim_accelerator_synchronize(struct CUstream_st *stream)
{
    while (stream->first != NULL && !accelerator.lost) {
        sim_wait_alone(&stream->emptied, "a stream of the device");
    }
}

void sim_accelerator_close_stream(struct CUstream_st *stream)
{
    struct CUstream_st **at = &accelerator.streams;
    sim_accelerator_synchronize(stream);
    stream->closing = true;
    sim_wake_all(&stream->filled);
    sim_join(stream->fiber);
    while (*at != stream) {
        at = &(*at)->next;
    }
    *at = stream->next;
    free(stream);
}

void sim_accelerator_read(struct CUstream_st *stream, const void *from, size_t bytes)
{
    queue_work(
        stream,
        &(work){.kind = WORK_READ, .from = from, .bytes = bytes, .digest = digest_of(from, bytes)});
}

/* ---- the library's side ---- */

/* An allocation of device memory: its size, then its bytes. */
typedef struct memory_head {
    _Alignas(64) size_t bytes;
} memory_head;

static sluice_status cuda_open(sl_device **device, const char *argument, sluice_error *error)
{
    (void)argument;
    const sluice_status status = call(error);
    if (status == SLUICE_OK) {
        sl_device *made = make(sizeof(*made));
        *made = (sl_device){.ops = &sl_device_cuda,
                            .measures = true,
                            .type = SLUICE_DEVICE_TYPE_CUDA,
                            .numa_node = -1,
                            .pinning = "none"};
        *device = made;
    }
    return status;
}

static void cuda_close(sl_device *device)
{
    free(device);
}

static void cuda_describe(const sl_device *device, char *text, size_t bytes)
{
    (void)device;
    (void)snprintf(text, bytes, "a simulated device");
}

static sluice_status slab_register(sl_device *device, sl_slab *slab, sluice_error *error)
{
    (void)slab;
    const sluice_status status = call(error);
    device->pinning = status == SLUICE_OK ? "registered" : "none";
    return status;
}

static void slab_unregister(sl_device *device, sl_slab *slab)
{
    (void)device;
    check_untouched(slab->base, slab->bytes);
}

static sluice_status memory_open(sl_device *device, size_t bytes, void **memory,
                                 sluice_error *error)
{
    (void)device;
    const sluice_status status = call(error);
    if (status == SLUICE_OK) {
        memory_head *head = aligned_alloc(64, (sizeof(*head) + bytes + 63) / 64 * 64);
        if (head == NULL) {
            sim_fail("no memory for the device");
        }
        head->bytes = bytes;
        memset(head + 1, 0xa5, bytes);
        *memory = head + 1;
    }
    return status;
}

static void memory_close(sl_device *device, void *memory)
{
    (void)device;
    memory_head *head = (memory_head *)memory - 1;
    check_untouched(memory, head->bytes);
    free(head);
}

static sluice_status stream_open(sl_device *device, bool urgent, struct CUstream_st **stream,
                                 sluice_error *error)
{
    (void)device;
    (void)urgent;
    const sluice_status status = call(error);
    if (status == SLUICE_OK) {
        *stream = sim_accelerator_open_stream();
    }
    return status;
}

static void stream_close(sl_device *device, struct CUstream_st *stream)
{
    (void)device;
    sim_accelerator_close_stream(stream);
}

static sluice_status event_open(sl_device *device, sl_event_kind kind, sl_event **event,
                                sluice_error *error)
{
    (void)device;
    (void)kind;
    const sluice_status status = call(error);
    if (status == SLUICE_OK) {
        *event = make(sizeof(**event));
        (*event)->references = 1;
    }
    return status;
}

static void event_close(sl_device *device, sl_event *event)
{
    (void)device;
    drop_event(event);
}

static sluice_status event_record(sl_device *device, sl_event *event, struct CUstream_st *stream,
                                  sluice_error *error)
{
    (void)device;
    const sluice_status status = call(error);
    if (status == SLUICE_OK) {
        queue_work(stream, &(work){.kind = WORK_RECORD, .event = event, .record = ++event->queued});
    }
    return status;
}

static sluice_status event_query(sl_device *device, sl_event *event, sluice_error *error)
{
    (void)device;
    const sluice_status status = call(error);
    return status == SLUICE_OK && event->done < event->queued ? SLUICE_AGAIN : status;
}

static sluice_status event_synchronize(sl_device *device, sl_event *event, sluice_error *error)
{
    (void)device;
    const sluice_status status = call(error);
    if (status == SLUICE_OK) {
        wait_for_record(event, event->queued);
        return accelerator.lost ? call(error) : SLUICE_OK;
    }
    return status;
}

static sluice_status event_elapsed(sl_device *device, sl_event *begin, sl_event *end, uint64_t *ns,
                                   sluice_error *error)
{
    (void)device;
    const sluice_status status = call(error);
    if (status == SLUICE_OK && (begin->done < begin->queued || end->done < end->queued)) {
        return SLUICE_AGAIN;
    }
    *ns = end->done_ns - begin->done_ns;
    return status;
}

static sluice_status stream_wait(sl_device *device, struct CUstream_st *stream, sl_event *event,
                                 sluice_error *error)
{
    (void)device;
    const sluice_status status = call(error);
    if (status == SLUICE_OK) {
        queue_work(stream, &(work){.kind = WORK_WAIT, .event = event, .record = event->queued});
    }
    return status;
}

static sluice_status copy_to_device(sl_device *device, void *to, const void *from, size_t bytes,
                                    struct CUstream_st *stream, sluice_error *error)
{
    (void)device;
    const sluice_status status = call(error);
    if (status == SLUICE_OK) {
        queue_work(stream, &(work){.kind = WORK_COPY,
                                   .to = to,
                                   .from = from,
                                   .bytes = bytes,
                                   .digest = digest_of(from, bytes)});
    }
    return status;
}

const sl_device_ops sl_device_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .slab_register = slab_register,
    .slab_unregister = slab_unregister,
    .memory_open = memory_open,
    .memory_close = memory_close,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .event_open = event_open,
    .event_close = event_close,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .event_elapsed = event_elapsed,
    .stream_wait = stream_wait,
    .copy_to_device = copy_to_device,
};
