/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: threads take runs of samples from a shared counter. The calling thread waits, reports, and
 * may stop them.
 */
#include "scan.h"

#include "clock.h"
#include "cpu.h"
#include "memory.h"
#include "sample_gate.h"
#include "thread.h"

#define STAGE       "dataset"
#define LOOK_NS     UINT64_C(50000000)
#define STEP        64U /* samples that a thread takes at once */
#define FIRST_BYTES ((size_t)256 << 10)

enum { THREADS_MAX = 1024, THREADS_DEFAULT_MAX = 32 };

typedef struct scanner {
    const sl_scan *scan;
    uint64_t samples;
    sl_sample_gate gate;
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t changed;
    uint64_t next; /* number of the next sample to begin */
    uint64_t done; /* number of samples read */
    uint32_t running;
    uint64_t failed_at; /* first sample that failed; UINT64_MAX: none */
    sluice_error error; /* its error */
} scanner;

/* State of one thread. */
typedef struct reader {
    sl_values values;
    sl_buffer buffer;
    sl_sample_pass pass;
} reader;

static sluice_status scan_grow(sl_buffer *buffer, size_t bytes, sluice_error *error)
{
    if (bytes <= buffer->capacity) {
        return SLUICE_OK;
    }
    uint8_t *grown = sl_realloc_array(buffer->data, bytes, 1);
    if (grown == NULL) {
        return sl_no_memory(error, STAGE, "for a sample of %zu bytes", bytes);
    }
    *buffer = (sl_buffer){grown, bytes};
    return SLUICE_OK;
}

/* Reads a sample of previously unknown size that exceeds the buffer. */
static sluice_status read_larger(const sl_dataset *dataset, reader *r, const sl_sample *sample,
                                 size_t *size, sluice_error *error)
{
    sluice_status status = sl_sample_pass_take(&r->pass, *size, error);
    if (status == SLUICE_OK) {
        status = scan_grow(&r->buffer, *size, error);
    }
    if (status == SLUICE_OK) {
        status = sl_dataset_read(dataset, sample, r->buffer, size, error);
    }
    return status == SLUICE_AGAIN
               ? sl_error_set(error, SLUICE_IO, STAGE, "the file grew while it was read")
               : status;
}

static sluice_status read_values(const sl_scan *scan, reader *r, const sl_sample *sample,
                                 sluice_error *error)
{
    size_t size = 0;
    sluice_status status = sl_sample_pass_take(&r->pass, sample->place.bytes, error);
    if (status == SLUICE_OK) {
        status = scan_grow(&r->buffer, sample->place.bytes, error);
    }
    if (status == SLUICE_OK && (sample->place.bytes > 0 || sample->files > 0)) {
        status = sl_dataset_read(scan->dataset, sample, r->buffer, &size, error);
    }
    if (status == SLUICE_AGAIN) {
        status = read_larger(scan->dataset, r, sample, &size, error);
    }
    if (status < 0) {
        return status;
    }
    sl_values_begin(&r->values, scan->wanted);
    return sl_dataset_unpack(scan->dataset, sample, (sl_bytes){r->buffer.data, size}, &r->values,
                             error);
}

static sluice_status scan_read_sample(const sl_scan *scan, reader *r, uint64_t index,
                                      sluice_error *error)
{
    sl_sample sample;
    sluice_status status = sl_dataset_find(scan->dataset, index, &sample, error);
    if (status < 0) {
        return status;
    }
    status = read_values(scan, r, &sample, error);
    if (status == SLUICE_OK) {
        scan->take(scan->ctx, index, &r->values);
    } else if (error->file[0] == '\0') {
        sl_sample_blame(scan->dataset, &sample, NULL, error);
    }
    return status;
}

/* Releases the memory of a large sample, so that others may be large. */
static void end_sample(reader *r)
{
    if (sl_sample_pass_was_large(&r->pass)) {
        sl_free(r->buffer.data);
        r->buffer = (sl_buffer){NULL, 0};
        sl_value_buffers_empty(&r->values.buffers);
    }
    sl_sample_pass_end(&r->pass);
}

static sluice_status scan_read_some(scanner *s, reader *r, uint64_t first, uint64_t *at,
                                    sluice_error *error)
{
    const uint64_t last = s->samples - first < STEP ? s->samples : first + STEP;
    for (*at = first; *at < last; (*at)++) {
        if (s->scan->skip != NULL && s->scan->skip(s->scan->ctx, *at)) {
            continue;
        }
        const uint64_t shortages = sl_memory_shortages();
        sluice_status status = scan_read_sample(s->scan, r, *at, error);
        end_sample(r);
        if (status < 0) {
            error->sample = (int64_t)*at;
            status = sl_error_after_shortage(status, sl_memory_shortages() > shortages, error);
        }
        if (status < 0 &&
            (s->scan->pass_over == NULL || !s->scan->pass_over(s->scan->ctx, *at, error))) {
            return status;
        }
    }
    return SLUICE_OK;
}

static void scan_note_failure_locked(scanner *s, uint64_t at, const sluice_error *error)
{
    s->next = s->samples;
    if (at < s->failed_at) {
        s->failed_at = at;
        s->error = *error;
    }
}

/* Reads until no samples are left, or one fails. */
static void scan_read_all(scanner *s, reader *r)
{
    sluice_error error;
    uint64_t at = 0;
    sl_error_clear(&error);
    sl_sample_pass_open(&r->pass, &s->gate);
    r->values.buffers.allowance = &r->pass.allowance;
    sluice_status status = scan_grow(&r->buffer, FIRST_BYTES, &error);
    sl_lock(&s->mutex);
    while (status == SLUICE_OK && s->next < s->samples) {
        const uint64_t first = s->next;
        s->next = s->samples - first < STEP ? s->samples : first + STEP;
        sl_unlock(&s->mutex);
        status = scan_read_some(s, r, first, &at, &error);
        sl_lock(&s->mutex);
        s->done += at - first;
    }
    if (status < 0) {
        scan_note_failure_locked(s, at, &error);
    }
    sl_unlock(&s->mutex);
    sl_values_end(&r->values);
    sl_free(r->buffer.data);
}

static void scan_run(void *argument)
{
    scanner *s = argument;
    reader *r = sl_calloc(1, sizeof(*r));
    if (r != NULL) {
        scan_read_all(s, r);
    }
    sl_lock(&s->mutex);
    if (r == NULL) {
        sluice_error error;
        (void)sl_no_memory(&error, STAGE, "reading samples");
        scan_note_failure_locked(s, 0, &error);
    }
    s->running--;
    sl_cond_signal(&s->changed);
    sl_unlock(&s->mutex);
    sl_free(r);
}

static bool wants_stop(const sluice_scan_options *options)
{
    return options->should_stop != NULL && options->should_stop(options->user) != 0;
}

/* Waits for the threads; returns whether the caller wanted to stop. */
static bool wait_for_all(scanner *s, const sluice_scan_options *options)
{
    bool stopped = wants_stop(options);
    sl_lock(&s->mutex);
    s->next = stopped ? s->samples : s->next;
    while (s->running > 0) {
        (void)sl_cond_wait_until(&s->changed, &s->mutex, sl_now_ns() + LOOK_NS);
        const uint64_t done = s->done;
        sl_unlock(&s->mutex);
        if (options->on_progress != NULL && !stopped) {
            options->on_progress(options->user, done, s->samples);
        }
        stopped = stopped || wants_stop(options);
        sl_lock(&s->mutex);
        s->next = stopped ? s->samples : s->next;
    }
    sl_unlock(&s->mutex);
    return stopped;
}

/*
 * Chooses the number of threads: more than CPUs, since they wait for storage; one if samples must
 * be read in order.
 */
static uint32_t scan_choose_threads(const scanner *s, const sluice_scan_options *options)
{
    if (s->scan->dataset->info.front_to_back != 0) {
        return 1;
    }
    uint32_t threads = 4 * sl_cpu_count();
    threads = threads < THREADS_DEFAULT_MAX ? threads : THREADS_DEFAULT_MAX;
    threads = options->workers > 0 ? options->workers : threads;
    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    const uint64_t steps = (s->samples - 1) / STEP + 1;
    return threads < steps ? threads : (uint32_t)steps;
}

static sluice_status scan_start(scanner *s, sl_thread *threads, uint32_t count, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < count; i++) {
        sl_lock(&s->mutex);
        s->running++;
        sl_unlock(&s->mutex);
        status = sl_thread_start(&threads[i], "sluice-scan", scan_run, s, error);
        if (status < 0) {
            sl_lock(&s->mutex);
            s->running--;
            sl_unlock(&s->mutex);
            return i > 0 ? SLUICE_OK : status; /* the threads that started do the work */
        }
    }
    return status;
}

sluice_status sl_scan_run(const sl_scan *scan, const sluice_scan_options *options,
                          sluice_error *error)
{
    scanner s = {.scan = scan, .samples = scan->dataset->info.samples, .failed_at = UINT64_MAX};
    const uint32_t count = scan_choose_threads(&s, options);
    sl_thread *threads = sl_calloc(count, sizeof(*threads));
    if (threads == NULL) {
        return sl_no_memory(error, STAGE, "reading samples");
    }
    sl_mutex_init(&s.mutex);
    sl_cond_init(&s.changed);
    sl_sample_gate_open(&s.gate, count, options->max_sample_bytes);
    sluice_status status = scan_start(&s, threads, count, error);
    const bool stopped = wait_for_all(&s, options);
    for (uint32_t i = 0; i < count; i++) {
        sl_thread_join(&threads[i]);
    }
    sl_sample_gate_close(&s.gate);
    sl_cond_destroy(&s.changed);
    sl_mutex_destroy(&s.mutex);
    sl_free(threads);
    if (status == SLUICE_OK && s.failed_at != UINT64_MAX) {
        *error = s.error;
        status = (sluice_status)s.error.status;
    } else if (status == SLUICE_OK && stopped) {
        status = sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped before everything was read");
    }
    return status == SLUICE_OK ? sl_objects_finish(scan->dataset->objects, error) : status;
}
