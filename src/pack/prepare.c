/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare: workers that read samples and make pieces, and the queue that delivers them in order.
 *
 * The mutex guards the queue; the owner takes from it. The number of workers does not affect
 * results.
 */
#include "prepare.h"

#include "clock.h"
#include "error.h"
#include "fork.h"
#include "memory.h"
#include "permutation.h"
#include "standstill.h"
#include "stop.h"
#include "thread.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STAGE     "pack"
#define LOOK_NS   UINT64_C(50000000) /* between checks whether to stop */
#define NO_MEMORY "out of memory for the workers"
/*
 * Samples in flight per worker, so that neither a slow one nor a shard that is being synced stalls
 * the others: for photos, a fifth of a second of a core's work. With many workers, fewer are
 * enough. The budget limits them too.
 */
enum { SLOTS_PER_WORKER = 64, SLOTS_PER_WORKER_MIN = 4, SLOTS_ENOUGH = 1024 };

typedef struct slot {
    sl_prepared prepared;
    sl_prepare *prepare;
    uint8_t *stored;             /* owned; the bytes read */
    char buffer[SL_VALUES_ROOM]; /* for values that are not in the bytes */
    uint64_t charged;
    uint64_t too_large; /* size of a part that exceeded the limit; 0: none */
    bool ready;
    bool reads; /* true while later positions must wait for its read */
} slot;

typedef struct worker {
    sl_prepare *prepare;
    void *state;            /* owned; the job's */
    sl_values values;       /* of the current sample */
    slot *at;               /* its slot */
    sl_allowance allowance; /* of the unpacking buffers, which are kept for the next sample */
    sl_thread thread;
} worker;

struct sl_prepare {
    sl_prepare_config config;
    uint64_t forks;           /* sl_fork_count of the process that has the workers */
    const _Atomic bool *flag; /* the owner's stop flag, which the workers check */
    sl_permutation order;
    uint32_t slot_count, started;
    slot *slots;
    uint8_t *made; /* memory that the slots' `made` point to */
    worker *workers;
    pthread_mutex_t mutex;
    pthread_cond_t
        changed; /* signals: a position taken or done, a slot ready, bytes released, stop */
    /* guarded by mutex */
    sl_standstill standstill; /* of the workers and the owner, which wait for each other */
    uint64_t next_position;   /* next position to be assigned to a worker */
    uint64_t next_taken;      /* next position of the owner */
    uint64_t next_read; /* for a dataset that is read front to back: position whose turn it is */
    uint64_t charged;
    bool stop;
};

/*
 * Waits, on a worker. If it waits for something that never comes, it ends, as do the others and the
 * owner.
 */
static void prepare_wait_locked(sl_prepare *prepare)
{
    if (!sl_standstill_wait(&prepare->standstill, &prepare->changed, &prepare->mutex, UINT64_MAX)) {
        prepare->stop = true;
    }
}

/* Waits until the budget allows `bytes` for a slot; false if the pack stops. */
static bool wait_for_locked(const slot *s, uint64_t bytes)
{
    sl_prepare *prepare = s->prepare;
    while (!prepare->stop && prepare->next_taken != s->prepared.position &&
           prepare->charged + bytes > prepare->config.budget_bytes) {
        prepare_wait_locked(prepare);
    }
    if (prepare->stop) {
        return false;
    }
    prepare->charged += bytes;
    return true;
}

static bool prepare_charge(slot *s, uint64_t bytes)
{
    sl_lock(&s->prepare->mutex);
    const bool go = wait_for_locked(s, bytes);
    s->charged += go ? bytes : 0;
    sl_unlock(&s->prepare->mutex);
    return go;
}

static bool prepare_is_too_large(slot *s, uint64_t bytes)
{
    if (bytes <= s->prepare->config.max_sample_bytes) {
        return false;
    }
    s->too_large = bytes;
    return true;
}

/* Charges data made from a sample. */
static bool charge_piece(void *ctx, uint64_t bytes)
{
    return !prepare_is_too_large(ctx, bytes) && prepare_charge(ctx, bytes);
}

/* Charges a worker's buffers. */
static bool charge_rooms(void *ctx, uint64_t bytes)
{
    const worker *w = ctx;
    if (prepare_is_too_large(w->at, bytes)) {
        return false;
    }
    sl_lock(&w->prepare->mutex);
    const bool go = wait_for_locked(w->at, bytes);
    sl_unlock(&w->prepare->mutex);
    return go;
}

static void give_back_rooms(void *ctx, uint64_t bytes)
{
    sl_prepare *prepare = ((const worker *)ctx)->prepare;
    sl_lock(&prepare->mutex);
    prepare->charged -= bytes;
    sl_standstill_change(&prepare->standstill, &prepare->changed);
    sl_unlock(&prepare->mutex);
}

static void prepare_give_back(void *ctx, uint64_t bytes)
{
    slot *s = ctx;
    sl_prepare *prepare = s->prepare;
    sl_lock(&prepare->mutex);
    prepare->charged -= bytes;
    s->charged -= bytes;
    sl_standstill_change(&prepare->standstill, &prepare->changed);
    sl_unlock(&prepare->mutex);
}

static sluice_status prepare_no_memory(uint64_t bytes, sluice_error *error)
{
    return sl_no_memory(error, STAGE, "for a sample of %llu bytes", (unsigned long long)bytes);
}

/* Reads the sample's stored bytes into s->stored. */
static sluice_status prepare_read_stored(sl_prepare *prepare, slot *s, const sl_sample *sample,
                                         size_t *size)
{
    const sl_dataset *dataset = prepare->config.dataset;
    sluice_error *error = &s->prepared.error;
    sluice_status status = sl_dataset_read(dataset, sample, (sl_buffer){NULL, 0}, size, error);
    if (status < 0 || *size == 0) {
        return status;
    }
    if (prepare_is_too_large(s, *size)) {
        return SLUICE_UNSUPPORTED;
    }
    const size_t expected = *size;
    if (!prepare_charge(s, prepare->config.copies ? expected * 2 : expected)) {
        return sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped");
    }
    s->stored = sl_malloc(expected);
    if (s->stored == NULL) {
        return prepare_no_memory(expected, error);
    }
    status = sl_dataset_read(dataset, sample, (sl_buffer){s->stored, expected}, size, error);
    if (status == SLUICE_AGAIN) {
        return sl_error_set(error, SLUICE_IO, STAGE, "the file grew while it was read");
    }
    return status;
}

/*
 * Begins to read. Samples that can only be read front to back are read one after another, while
 * others are processed. The reader only waits for memory that earlier positions hold, and the first
 * one never waits for that. False if the pack stops.
 */
static bool begin_reading(slot *s)
{
    sl_prepare *prepare = s->prepare;
    if (prepare->config.dataset->info.front_to_back == 0) {
        return true;
    }
    sl_lock(&prepare->mutex);
    while (!prepare->stop && prepare->next_read != s->prepared.position) {
        prepare_wait_locked(prepare);
    }
    s->reads = !prepare->stop;
    sl_unlock(&prepare->mutex);
    return s->reads;
}

static void end_reading(slot *s)
{
    sl_prepare *prepare = s->prepare;
    if (!s->reads) {
        return;
    }
    sl_lock(&prepare->mutex);
    s->reads = false;
    prepare->next_read = s->prepared.position + 1;
    sl_standstill_change(&prepare->standstill, &prepare->changed);
    sl_unlock(&prepare->mutex);
}

/* Takes the worker's buffer, which its next sample needs. */
static void take_space(worker *w, slot *s)
{
    const char *buffer = w->values.buffer;
    for (uint32_t i = 0; i < w->prepare->config.dataset->info.fields; i++) {
        sl_value *value = &w->values.of[i];
        const char *data = (const char *)value->bytes.data;
        if (value->present && data >= buffer && data < buffer + SL_VALUES_ROOM) {
            memcpy(s->buffer + (data - buffer), data, value->bytes.size);
            value->bytes.data = (const uint8_t *)s->buffer + (data - buffer);
        }
    }
}

static sluice_status prepare_make(worker *w, slot *s, sl_prepare_sample *sample)
{
    const sl_prepare_config *config = &w->prepare->config;
    sluice_error *error = &s->prepared.error;
    size_t size = 0;
    sluice_status status = prepare_read_stored(w->prepare, s, sample->place, &size);
    end_reading(s);
    if (status == SLUICE_OK) {
        status = sl_dataset_unpack(config->dataset, sample->place, (sl_bytes){s->stored, size},
                                   &w->values, error);
    }
    if (status < 0) {
        return status;
    }
    take_space(w, s);
    return config->job->make(w->state, sample, s->prepared.made, error);
}

/*
 * Returns whether an error is not the sample's fault: leaving the sample out would hide a problem
 * of this machine.
 */
static bool is_fatal(const sl_prepare_config *config, const sluice_error *error)
{
    return error->status == SLUICE_NOMEM || error->status == SLUICE_CANCELED ||
           error->sys_errno == EMFILE || error->sys_errno == ENFILE || error->sys_errno == ENOMEM ||
           (!config->leave_unread_out && sl_error_is_unreadable(error));
}

static void prepare_one(worker *w, slot *s)
{
    const sl_prepare *prepare = w->prepare;
    const sl_dataset *dataset = prepare->config.dataset;
    sl_prepared *prepared = &s->prepared;
    uint64_t index = prepare->config.keep_order
                         ? prepared->position
                         : sl_permutation_apply(&prepare->order, prepared->position);
    sl_sample place = {.index = index};
    const sl_allowance allowance = {
        .charge = charge_piece, .give_back = prepare_give_back, .ctx = s};
    sl_prepare_sample sample = {
        .dataset = dataset, .place = &place, .values = &w->values, .allowance = &allowance};
    sl_error_clear(&prepared->error);
    prepared->key[0] = '\0';
    prepared->status = begin_reading(s)
                           ? sl_dataset_find(dataset, index, &place, &prepared->error)
                           : sl_error_set(&prepared->error, SLUICE_CANCELED, STAGE, "stopped");
    bool located = prepared->status == SLUICE_OK;
    s->too_large = 0;
    const uint64_t shortages = sl_memory_shortages();
    if (located && prepare_is_too_large(s, place.place.bytes) && dataset->ops->key == NULL) {
        /* its key is in the sample, which would have to be read entirely */
        (void)snprintf(prepared->key, sizeof(prepared->key), "sample %llu",
                       (unsigned long long)index);
        prepared->status = SLUICE_UNSUPPORTED;
    } else if (located) {
        prepared->status =
            sl_dataset_key(dataset, index, prepared->key, sizeof(prepared->key), &prepared->error);
    }
    if (prepared->status == SLUICE_OK) {
        prepared->status = prepare_make(w, s, &sample);
    }
    end_reading(s);
    if (prepared->status < 0 && s->too_large > 0) {
        prepared->status = sl_error_set(
            &prepared->error, SLUICE_UNSUPPORTED, STAGE,
            "the sample, or a part of it, has %llu bytes, more than the limit of %llu (" SL_OPTION(
                "max_sample_bytes") ")",
            (unsigned long long)s->too_large, (unsigned long long)prepare->config.max_sample_bytes);
    }
    /* a compressed file is damaged as a whole: leaving out single samples does not help */
    if (sl_objects_failure(dataset->objects, 0, NULL, &prepared->error)) {
        prepared->status = (sluice_status)prepared->error.status;
        prepared->fatal = true;
        return;
    }
    prepared->status = sl_error_after_shortage(prepared->status, sl_memory_shortages() > shortages,
                                               &prepared->error);
    prepared->fatal = prepared->status < 0 && is_fatal(&prepare->config, &prepared->error);
    if (prepared->status < 0 && located && prepared->error.file[0] == '\0') {
        sl_sample_blame(dataset, &place, sample.blame.present ? &sample.blame : NULL,
                        &prepared->error);
    }
    prepared->error.sample = (int64_t)index;
}

/* Returns the next position's slot; NULL: nothing left to do. */
static slot *take_position(sl_prepare *prepare)
{
    const uint64_t end = prepare->config.end;
    slot *s = NULL;
    sl_lock(&prepare->mutex);
    while (!prepare->stop && prepare->next_position < end &&
           prepare->next_position - prepare->next_taken >= prepare->slot_count) {
        prepare_wait_locked(prepare);
    }
    if (!prepare->stop && prepare->next_position < end) {
        s = &prepare->slots[prepare->next_position % prepare->slot_count];
        s->prepared.position = prepare->next_position++;
    }
    sl_unlock(&prepare->mutex);
    return s;
}

static void prepare_run(void *argument)
{
    worker *w = argument;
    sl_prepare *prepare = w->prepare;
    (void)sl_stop_work_under(prepare->flag);
    /* buffers kept for the next sample must not be what others wait for */
    const uint64_t kept = prepare->config.budget_bytes / 4 / prepare->config.workers;
    for (slot *s = take_position(prepare); s != NULL; s = take_position(prepare)) {
        w->at = s;
        prepare_one(w, s);
        if (w->values.buffers.held > kept) {
            sl_value_buffers_empty(&w->values.buffers);
        }
        sl_lock(&prepare->mutex);
        s->ready = true;
        sl_standstill_change(&prepare->standstill, &prepare->changed);
        sl_unlock(&prepare->mutex);
    }
    sl_lock(&prepare->mutex);
    sl_standstill_leave(&prepare->standstill, &prepare->changed);
    sl_unlock(&prepare->mutex);
}

static void close_worker(const sl_prepare_job *job, worker *w)
{
    if (w->state != NULL) {
        job->close(w->state);
        sl_free(w->state);
        w->state = NULL;
    }
}

static sluice_status start_thread(worker *w, sluice_error *error)
{
    sl_prepare *prepare = w->prepare;
    sl_lock(&prepare->mutex);
    sl_standstill_join(&prepare->standstill);
    sl_unlock(&prepare->mutex);
    const sluice_status status = sl_thread_start(&w->thread, "sluice-pack", prepare_run, w, error);
    if (status < 0) {
        sl_lock(&prepare->mutex);
        sl_standstill_leave(&prepare->standstill, &prepare->changed);
        sl_unlock(&prepare->mutex);
    }
    return status;
}

static sluice_status prepare_start_worker(sl_prepare *prepare, worker *w, sluice_error *error)
{
    const sl_prepare_job *job = prepare->config.job;
    w->prepare = prepare;
    sl_values_begin(&w->values, SL_VALUES_ALL);
    w->allowance = (sl_allowance){.charge = charge_rooms, .give_back = give_back_rooms, .ctx = w};
    w->values.buffers.allowance = &w->allowance;
    w->state = sl_calloc(1, job->state_bytes);
    sluice_status status = w->state != NULL ? job->open(w->state, prepare->config.config, error)
                                            : sl_error_set(error, SLUICE_NOMEM, STAGE, NO_MEMORY);
    if (status == SLUICE_OK) {
        status = start_thread(w, error);
    }
    if (status < 0) {
        close_worker(job, w);
    }
    return status;
}

static uint32_t prepare_slots_of(uint32_t workers)
{
    const uint32_t most = workers * SLOTS_PER_WORKER;
    const uint32_t least = workers * SLOTS_PER_WORKER_MIN;
    if (most <= SLOTS_ENOUGH) {
        return most;
    }
    return least > SLOTS_ENOUGH ? least : SLOTS_ENOUGH;
}

static bool make_slots(sl_prepare *prepare)
{
    const sl_prepare_config *config = &prepare->config;
    prepare->slot_count = prepare_slots_of(config->workers);
    prepare->slots = sl_calloc(prepare->slot_count, sizeof(*prepare->slots));
    prepare->made = sl_calloc(prepare->slot_count, config->job->made_bytes);
    prepare->workers = sl_calloc(config->workers, sizeof(*prepare->workers));
    if (prepare->slots == NULL || prepare->made == NULL || prepare->workers == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < prepare->slot_count; i++) {
        prepare->slots[i].prepare = prepare;
        prepare->slots[i].prepared.made = prepare->made + i * config->job->made_bytes;
    }
    return true;
}

sluice_status sl_prepare_open(sl_prepare **out, const sl_prepare_config *config,
                              sluice_error *error)
{
    *out = NULL;
    sl_prepare *prepare = sl_calloc(1, sizeof(*prepare));
    if (prepare == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, NO_MEMORY);
    }
    prepare->config = *config;
    if (config->max_sample_bytes == 0) {
        prepare->config.max_sample_bytes = SL_RECORD_BYTES_MAX;
    }
    prepare->forks = sl_fork_count();
    prepare->flag = sl_stop_of_thread();
    prepare->order = sl_permutation_make(config->dataset->info.samples, config->seed);
    prepare->next_position = config->first;
    prepare->next_taken = config->first;
    prepare->next_read = config->first;
    sl_mutex_init(&prepare->mutex);
    sl_cond_init(&prepare->changed);
    sl_standstill_join(&prepare->standstill); /* the owner */
    sluice_status status =
        make_slots(prepare) ? SLUICE_OK : sl_error_set(error, SLUICE_NOMEM, STAGE, NO_MEMORY);
    while (status == SLUICE_OK && prepare->started < config->workers) {
        status = prepare_start_worker(prepare, &prepare->workers[prepare->started], error);
        prepare->started += status == SLUICE_OK;
    }
    if (status < 0) {
        sl_prepare_close(prepare);
        return status;
    }
    *out = prepare;
    return SLUICE_OK;
}

static void free_slot(slot *s)
{
    const sl_prepare_job *job = s->prepare->config.job;
    job->drop(s->prepared.made);
    memset(s->prepared.made, 0, job->made_bytes);
    sl_free(s->stored);
    s->stored = NULL;
}

static sluice_status tell_standstill_locked(const sl_prepare *prepare, sluice_error *error)
{
    return sl_error_set(
        error, SLUICE_INTERNAL, STAGE,
        "sample %llu of %llu will never be ready, all threads are waiting: %u of %u workers, %llu "
        "samples taken, %llu of %llu bytes in use, reading %llu; this is a bug in sluice, please "
        "report it",
        (unsigned long long)prepare->next_taken, (unsigned long long)prepare->config.end,
        prepare->standstill.members - 1, prepare->started,
        (unsigned long long)prepare->next_position, (unsigned long long)prepare->charged,
        (unsigned long long)prepare->config.budget_bytes, (unsigned long long)prepare->next_read);
}

/*
 * Waits, on the owner's thread, and asks the caller now and then. Returns with the lock held,
 * except in a child that should_stop forked, which could not take it.
 */
static sluice_status wait_for_slot_locked(sl_prepare *prepare, const slot *s, sluice_error *error)
{
    while (!s->ready || prepare->standstill.found) {
        if (!sl_standstill_wait(&prepare->standstill, &prepare->changed, &prepare->mutex,
                                sl_now_ns() + LOOK_NS)) {
            return tell_standstill_locked(prepare, error);
        }
        sl_unlock(&prepare->mutex);
        const bool stopped = sl_stop_ask();
        if (prepare->forks != sl_fork_count()) {
            return SLUICE_CANCELED;
        }
        sl_lock(&prepare->mutex);
        if (stopped) {
            return sl_stop_check(STAGE, error);
        }
    }
    return SLUICE_OK;
}

sluice_status sl_prepare_next(sl_prepare *prepare, sl_prepared **prepared, sluice_error *error)
{
    assert(prepare->next_taken < prepare->config.end);
    sl_lock(&prepare->mutex);
    slot *s = &prepare->slots[prepare->next_taken % prepare->slot_count];
    const sluice_status status = wait_for_slot_locked(prepare, s, error);
    if (prepare->forks == sl_fork_count()) {
        sl_unlock(&prepare->mutex);
    }
    *prepared = status == SLUICE_OK ? &s->prepared : NULL;
    return status;
}

void sl_prepare_done(sl_prepare *prepare, sl_prepared *prepared)
{
    slot *s = &prepare->slots[prepared->position % prepare->slot_count];
    assert(&s->prepared == prepared && prepared->position == prepare->next_taken);
    free_slot(s);
    sl_lock(&prepare->mutex);
    prepare->charged -= s->charged;
    s->charged = 0;
    s->ready = false;
    prepare->next_taken++;
    sl_standstill_change(&prepare->standstill, &prepare->changed);
    sl_unlock(&prepare->mutex);
}

void sl_prepare_close(sl_prepare *prepare)
{
    if (prepare == NULL || prepare->forks != sl_fork_count()) {
        return;
    }
    sl_lock(&prepare->mutex);
    prepare->stop = true;
    sl_standstill_change(&prepare->standstill, &prepare->changed);
    sl_unlock(&prepare->mutex);
    for (uint32_t i = 0; i < prepare->started; i++) {
        sl_thread_join(&prepare->workers[i].thread);
        close_worker(prepare->config.job, &prepare->workers[i]);
        sl_values_end(&prepare->workers[i].values);
    }
    for (uint32_t i = 0; prepare->started > 0 && i < prepare->slot_count; i++) {
        free_slot(&prepare->slots[i]);
    }
    sl_free(prepare->slots);
    sl_free(prepare->made);
    sl_free(prepare->workers);
    sl_cond_destroy(&prepare->changed);
    sl_mutex_destroy(&prepare->mutex);
    sl_free(prepare);
}
