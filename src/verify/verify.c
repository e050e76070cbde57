/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify: verifies files, then samples, on its own threads.
 *
 * Findings are reported under a lock and never stop it.
 */
#include "verify.h"

#include "check_sample.h"
#include "clock.h"
#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "share.h"
#include "stop.h"
#include "thread.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

#define STAGE         "verify"
#define CHUNK_SAMPLES 64u
#define PROGRESS_NS   200000000u
#define LOOK_NS       50000000u

/* Result of checking a file; findings about its samples that follow from it are not reported. */
typedef enum file_state {
    FILE_GOOD,
    FILE_DAMAGED,  /* possibly in its index */
    FILE_UNREAD,   /* possibly in its index: the storage failed */
    FILE_UNUSABLE, /* in its header: no sample can be located */
} file_state;

/* Sum over the valid samples of a file. */
typedef struct sum {
    _Atomic uint64_t value, count;
} sum;

typedef struct range {
    uint64_t first, end;
} range;

typedef struct verify {
    const sl_dataset *dataset;
    const sluice_verify_options *options;
    sl_verify_scope scope;
    uint8_t *states; /* a file_state per file; written only in the first phase */
    sum *sums;       /* likewise, for formats with a sum over a file's samples */
    sl_sample_gate gate;
    sl_stop stop;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* guarded by mutex */
    uint64_t next, total; /* of the phase: files, then samples */
    uint32_t running;
    sluice_verify_result result;
    sl_unchecked unchecked;
    sluice_error failure;   /* why it cannot continue; status OK: it can */
    range samples, objects; /* of this part */
} verify;

typedef struct worker {
    verify *verify;
    sl_thread thread;
    sl_sample_check check;
    file_state state;   /* of the file being checked */
    uint64_t shortages; /* memory shortages before it, or before the sample */
    void (*work)(struct worker *worker, uint64_t first, uint64_t last);
    uint64_t step;
} worker;

static void verify_report(verify *v, const sluice_error *finding)
{
    sl_lock(&v->mutex);
    v->result.bad++;
    v->result.unreadable += sl_error_is_unreadable(finding);
    if (v->options->on_finding != NULL) {
        v->options->on_finding(v->options->user, finding);
    }
    sl_unlock(&v->mutex);
}

/* Gives up for lack of memory, which says nothing about any sample. */
static void verify_give_up(verify *v, const sluice_error *found)
{
    sluice_error failure = *found;
    (void)sl_error_after_shortage((sluice_status)failure.status, true, &failure);
    sl_lock(&v->mutex);
    if (v->failure.status == SLUICE_OK) {
        v->failure = failure;
    }
    v->next = v->total;
    sl_unlock(&v->mutex);
}

static bool verify_is_stopped(const verify *v)
{
    /* relaxed: a worker that sees it late checks one sample more */
    return atomic_load_explicit(&v->stop.set, memory_order_relaxed);
}

static void report_file(void *context, const sluice_error *finding)
{
    worker *w = context;
    if (finding->status == SLUICE_CANCELED || verify_is_stopped(w->verify)) {
        return; /* a read that was stopped may look like damage */
    }
    if (sl_memory_shortages() > w->shortages) {
        verify_give_up(w->verify, finding);
        return;
    }
    const file_state state = finding->status == SLUICE_IO ? FILE_UNREAD : FILE_DAMAGED;
    w->state = sl_max_u32(w->state, state);
    verify_report(w->verify, finding);
}

static void add_result(verify *v, uint64_t samples, uint64_t bytes)
{
    sl_lock(&v->mutex);
    v->result.samples += samples;
    v->result.bytes += bytes;
    sl_unlock(&v->mutex);
}

static void check_files(worker *w, uint64_t first, uint64_t last)
{
    const sl_dataset *dataset = w->verify->dataset;
    for (uint64_t file = first; file < last; file++) {
        sl_findings findings = {.report = report_file, .ctx = w, .stop = &w->verify->stop.set};
        w->state = FILE_GOOD;
        w->shortages = sl_memory_shortages();
        sluice_status status = dataset->checks->check_object(dataset, (uint32_t)file, &findings);
        w->verify->states[file] = (uint8_t)(status < 0 ? FILE_UNUSABLE : w->state);
        sl_unchecked_join(&w->check.unchecked, &findings.unchecked);
        add_result(w->verify, 0, findings.bytes_read);
    }
}

/*
 * Returns whether the result of locating a sample (`found`) follows from the reported state of its
 * file: it need not be checked then.
 */
static bool is_known(const verify *v, const sl_sample *sample, sluice_status found)
{
    file_state least = FILE_UNUSABLE;
    if (found < 0) {
        least = found == SLUICE_IO ? FILE_UNREAD : FILE_DAMAGED;
    }
    return v->states != NULL && v->states[sample->place.object] >= least;
}

/* relaxed: the sums are only read after the workers were joined */
static void add_to_sum(verify *v, const sl_sample *sample, sl_bytes stored)
{
    sum *own = &v->sums[sample->place.object];
    atomic_fetch_add_explicit(&own->value, v->dataset->checks->sum(v->dataset, sample, stored),
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&own->count, 1, memory_order_relaxed);
}

/*
 * Returns whether a sample failed because of its file, which is reported once, at the end:
 * compressed data is valid, or not, as a whole.
 */
static bool is_of_file(const sl_dataset *dataset, const sl_sample *sample, sluice_status status)
{
    uint32_t failed;
    bool found = false;
    for (uint32_t i = 0;
         !found && status < 0 && sl_objects_failure(dataset->objects, i, &failed, NULL); i++) {
        found = failed == sample->place.object;
    }
    return found;
}

/* Checks a sample. False: it could not be checked, for a known reason. */
static bool verify_look_at(worker *w, uint64_t index, uint64_t *bytes)
{
    const sl_dataset *dataset = w->verify->dataset;
    sluice_error finding;
    sl_sample sample;
    sl_bytes stored = {NULL, 0};
    sl_error_clear(&finding);
    w->shortages = sl_memory_shortages();
    sluice_status status = sl_dataset_find(dataset, index, &sample, &finding);
    if (is_known(w->verify, &sample, status)) {
        return false;
    }
    if (status == SLUICE_OK) {
        status = sl_sample_check_run(&w->check, &sample, &stored, &finding);
    }
    if (status == SLUICE_OK && w->verify->sums != NULL) {
        add_to_sum(w->verify, &sample, stored);
    }
    sl_sample_check_end(&w->check);
    if (status == SLUICE_NOMEM || (status < 0 && sl_memory_shortages() > w->shortages)) {
        finding.sample = (int64_t)index;
        verify_give_up(w->verify, &finding);
        return false;
    }
    if (is_of_file(dataset, &sample, status) || status == SLUICE_CANCELED ||
        (status < 0 && verify_is_stopped(w->verify))) {
        return false;
    }
    if (status < 0) {
        finding.sample = (int64_t)index;
        verify_report(w->verify, &finding);
    }
    *bytes += stored.size;
    return true;
}

/*
 * Has the kernel prefetch the range between two samples of a file: several threads that read single
 * samples do not look like sequential reading. Advice only; not given for samples that are far
 * apart (in a subset with its own order).
 */
static void verify_read_ahead(const worker *w, uint64_t first, uint64_t last)
{
    const sl_dataset *dataset = w->verify->dataset;
    const sl_pin_how how = {.wait_ns = SL_OBJECTS_WAIT_NS};
    sl_sample begin;
    sl_sample end;
    sl_pin pin;
    if (dataset->whole_objects || sl_dataset_find(dataset, first, &begin, NULL) < 0 ||
        sl_dataset_find(dataset, last, &end, NULL) < 0 || begin.place.bytes == 0 ||
        begin.place.object != end.place.object || end.place.offset < begin.place.offset ||
        sl_objects_pin(dataset->objects, begin.place.object, how, &pin, NULL) != SLUICE_OK) {
        return;
    }
    const uint64_t span = end.place.offset - begin.place.offset + end.place.bytes;
    const uint64_t larger = sl_max_u32(begin.place.bytes, end.place.bytes);
    if (span / larger <= 4 * (last - first + 1)) {
        (void)posix_fadvise(pin.fd, (off_t)begin.place.offset, (off_t)span, POSIX_FADV_WILLNEED);
    }
    sl_objects_unpin(dataset->objects, &pin);
}

static void check_samples(worker *w, uint64_t first, uint64_t last)
{
    verify_read_ahead(w, first, last - 1);
    uint64_t looked_at = 0;
    uint64_t bytes = 0;
    for (uint64_t index = first; index < last && !verify_is_stopped(w->verify); index++) {
        looked_at += verify_look_at(w, index, &bytes);
    }
    add_result(w->verify, looked_at, bytes);
}

static void verify_run(void *argument)
{
    worker *w = argument;
    verify *v = w->verify;
    (void)sl_stop_work_under(&v->stop.set);
    sl_lock(&v->mutex);
    while (v->next < v->total && !verify_is_stopped(v)) {
        uint64_t first = v->next;
        uint64_t last = v->total - first < w->step ? v->total : first + w->step;
        v->next = last;
        sl_unlock(&v->mutex);
        w->work(w, first, last);
        sl_lock(&v->mutex);
    }
    sl_unchecked_join(&v->unchecked, &w->check.unchecked);
    v->result.undecoded += w->check.undecoded;
    w->check.undecoded = 0;
    v->running--;
    sl_cond_signal(&v->changed);
    sl_unlock(&v->mutex);
}

static void progress(const verify *v, uint64_t done)
{
    if (v->options->on_progress != NULL) {
        v->options->on_progress(v->options->user, done, v->samples.end - v->samples.first);
    }
}

/* Reports progress until the workers have finished. */
static void wait_for_workers(verify *v, bool samples)
{
    uint64_t reported_ns = sl_now_ns();
    (void)sl_stop_ask();
    sl_lock(&v->mutex);
    while (v->running > 0) {
        (void)sl_cond_wait_until(&v->changed, &v->mutex, sl_now_ns() + LOOK_NS);
        const uint64_t now = sl_now_ns();
        const uint64_t done = samples ? v->next - v->samples.first : 0;
        sl_unlock(&v->mutex);
        if (now - reported_ns >= PROGRESS_NS) {
            reported_ns = now;
            progress(v, done);
        }
        (void)sl_stop_ask();
        sl_lock(&v->mutex);
    }
    sl_unlock(&v->mutex);
    if (!verify_is_stopped(v)) {
        progress(v, samples ? v->samples.end - v->samples.first : 0);
    }
}

static sluice_status run_phase(verify *v, worker *workers, bool samples, sluice_error *error)
{
    v->next = samples ? v->samples.first : v->objects.first;
    v->total = samples ? v->samples.end : v->objects.end;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < v->options->workers; i++) {
        workers[i].work = samples ? check_samples : check_files;
        workers[i].step = samples ? CHUNK_SAMPLES : 1;
        sl_lock(&v->mutex);
        v->running++;
        sl_unlock(&v->mutex);
        status =
            sl_thread_start(&workers[i].thread, "sluice-verify", verify_run, &workers[i], error);
        if (status < 0) {
            sl_lock(&v->mutex);
            v->running--;
            v->next = v->total;
            sl_unlock(&v->mutex);
        }
    }
    wait_for_workers(v, samples);
    for (uint32_t i = 0; i < v->options->workers; i++) {
        sl_thread_join(&workers[i].thread);
    }
    if (status == SLUICE_OK && v->failure.status < 0) {
        *error = v->failure;
        return (sluice_status)error->status;
    }
    if (status == SLUICE_OK && verify_is_stopped(v)) {
        status =
            sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped before everything was checked");
    }
    return status;
}

/* Checks the sums of files, since valid samples may still be misplaced. */
static void check_sums(verify *v)
{
    const sl_dataset *dataset = v->dataset;
    for (uint32_t i = 0; v->sums != NULL && i < sl_objects_count(dataset->objects); i++) {
        sluice_error finding;
        /* relaxed: the workers have been joined */
        const sl_refusal refusal = dataset->checks->check_sum(
            dataset, i, atomic_load_explicit(&v->sums[i].value, memory_order_relaxed),
            atomic_load_explicit(&v->sums[i].count, memory_order_relaxed));
        if (refusal.text != NULL) {
            sl_dataset_refuse(dataset, i, 0, refusal, &finding);
            verify_report(v, &finding);
        }
    }
}

/* Checks the ends of compressed files, once all samples were read. */
static sluice_status verify_check_ends(verify *v, sluice_error *error)
{
    sl_objects *objects = v->dataset->objects;
    sluice_error finding;
    sl_error_clear(&finding);
    const sluice_status status = sl_objects_finish(objects, &finding);
    const bool failed = sl_objects_failure(objects, 0, NULL, NULL);
    if (status < 0 && !failed) {
        if (status == SLUICE_NOMEM || status == SLUICE_CANCELED) {
            *error = finding;
            return status;
        }
        verify_report(v, &finding); /* the storage failed */
    }
    for (uint32_t i = 0; sl_objects_failure(objects, i, NULL, &finding); i++) {
        verify_report(v, &finding);
    }
    if (sl_objects_lack_checksum(objects)) {
        sl_unchecked_add(&v->unchecked, "zstd frames without a checksum");
    }
    return SLUICE_OK;
}

/* Reports samples that could not be checked. */
static void report_unseen(verify *v)
{
    const uint64_t samples = v->samples.end - v->samples.first;
    if (v->result.samples == samples) {
        return;
    }
    sluice_error finding;
    sl_error_set(&finding, SLUICE_CORRUPT, STAGE, "%llu of %llu samples could not be checked",
                 (unsigned long long)(samples - v->result.samples), (unsigned long long)samples);
    verify_report(v, &finding);
}

/* ---- parts ---- */

/*
 * Returns where part `part` begins. If the dataset knows the samples of each file, that is at a
 * file. Does no I/O, so that all parts agree, whatever is damaged.
 */
static void begin_of_part(const sl_dataset *dataset, uint32_t part, uint32_t parts,
                          uint64_t *sample, uint64_t *object)
{
    const uint64_t samples = dataset->info.samples;
    const uint32_t objects = sl_objects_count(dataset->objects);
    *sample = sl_share_first(samples, part, parts);
    *object = sl_share_first(objects, part, parts);
    const sl_check_ops *checks = dataset->checks;
    if (checks == NULL || checks->first_of_object == NULL || part == 0 || part == parts) {
        return;
    }
    uint32_t low = 0; /* first file that begins at or after `sample` */
    uint32_t high = objects;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const uint64_t first = checks->first_of_object(dataset, middle);
        if (first == UINT64_MAX) {
            return;
        }
        if (first < *sample) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *object = low;
    *sample = low < objects ? checks->first_of_object(dataset, low) : samples;
}

static sluice_status run_all(verify *v, worker *workers, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    const sl_sample_decode decode = {v->options->decode != 0, v->scope == SL_VERIFY_ALL,
                                     &v->stop.set};
    for (uint32_t i = 0; status == SLUICE_OK && i < v->options->workers; i++) {
        workers[i].verify = v;
        status = sl_sample_check_open(&workers[i].check, v->dataset, &v->gate, &decode, error);
    }
    if (status == SLUICE_OK && v->states != NULL) {
        status = run_phase(v, workers, false, error);
    }
    if (status == SLUICE_OK) {
        status = run_phase(v, workers, true, error);
    }
    if (status == SLUICE_OK) {
        status = verify_check_ends(v, error);
    }
    if (status == SLUICE_OK) {
        check_sums(v);
        report_unseen(v);
    }
    return status;
}

sluice_status sl_verify(const sl_dataset *dataset, const sluice_verify_options *options,
                        sl_verify_scope scope, sluice_verify_result *result, sluice_error *error)
{
    verify v = {
        .dataset = dataset, .options = options, .scope = scope, .unchecked = dataset->unchecked};
    v.result.struct_size = sizeof(v.result);
    begin_of_part(dataset, options->part, options->parts, &v.samples.first, &v.objects.first);
    begin_of_part(dataset, options->part + 1, options->parts, &v.samples.end, &v.objects.end);
    const bool check_files_too = dataset->checks != NULL;
    const bool sum_up = check_files_too && dataset->checks->sum != NULL;
    const uint32_t objects = sl_objects_count(dataset->objects);
    worker *workers = sl_calloc(options->workers, sizeof(*workers));
    v.states = check_files_too ? sl_calloc(objects, 1) : NULL;
    v.sums = sum_up ? sl_calloc(objects, sizeof(*v.sums)) : NULL;
    if (workers == NULL || (check_files_too && v.states == NULL) || (sum_up && v.sums == NULL)) {
        sl_free(workers);
        sl_free(v.states);
        sl_free(v.sums);
        return sl_no_memory(error, STAGE, "verifying");
    }
    sl_mutex_init(&v.mutex);
    sl_cond_init(&v.changed);
    sl_sample_gate_open(&v.gate, options->workers, options->max_sample_bytes);
    sl_stop_begin(&v.stop, options->should_stop, options->user);
    sluice_status status = run_all(&v, workers, error);
    sl_stop_end(&v.stop);
    for (uint32_t i = 0; i < options->workers; i++) {
        sl_sample_check_close(&workers[i].check);
    }
    sl_sample_gate_close(&v.gate);
    sl_cond_destroy(&v.changed);
    sl_mutex_destroy(&v.mutex);
    sl_free(workers);
    sl_free(v.states);
    sl_free(v.sums);
    if (status == SLUICE_OK) {
        *result = v.result;
        memcpy(result->unchecked, v.unchecked.text, sizeof(result->unchecked));
    }
    return status;
}
