/* SPDX-License-Identifier: Apache-2.0 */
#include "workers.h"

#include "error.h"
#include "memory.h"
#include "queue.h"
#include "thread.h"

#include <assert.h>
#include <stdio.h>

/* Written by open before its thread starts, then only by that thread. */
typedef struct worker {
    sl_workers *pool;
    uint32_t number;
    sl_decoder *decoder;
    void *job; /* space for one job */
    sl_thread thread;
} worker;

struct sl_workers {
    sl_workers_config config;
    sl_queue queue;
    bool queue_open;
    worker *workers;
};

static void worker_run(void *argument)
{
    worker *self = argument;
    const sl_workers_config *config = &self->pool->config;
    while (sl_queue_pop(&self->pool->queue, self->job) == SLUICE_OK) {
        config->run(config->ctx, self->number, self->decoder, self->job);
    }
}

static sluice_status workers_start_worker(sl_workers *workers, uint32_t number, sluice_error *error)
{
    worker *self = &workers->workers[number];
    self->pool = workers;
    self->number = number;
    self->job = sl_malloc(workers->config.job_bytes);
    if (self->job == NULL) {
        return sl_no_memory(error, "decode", "for a worker");
    }
    sluice_status status = sl_decoder_open(&self->decoder, &workers->config.decoder, error);
    if (status != SLUICE_OK) {
        return status;
    }
    char name[24];
    (void)snprintf(name, sizeof(name), "sluice-dec-%u", number);
    return sl_thread_start_near(&self->thread, name, workers->config.near, worker_run, self, error);
}

sluice_status sl_workers_open(sl_workers **workers, const sl_workers_config *config,
                              sluice_error *error)
{
    assert(config->threads > 0 && config->queue_capacity > 0 && config->job_bytes > 0);
    *workers = NULL;
    sl_workers *made = sl_calloc(1, sizeof(*made));
    if (made == NULL) {
        return sl_no_memory(error, "decode", "for workers");
    }
    made->config = *config;
    made->workers = sl_calloc(config->threads, sizeof(worker));
    sluice_status status = SLUICE_OK;
    if (made->workers == NULL) {
        status = sl_no_memory(error, "decode", "for workers");
    }
    if (status == SLUICE_OK) {
        status = sl_queue_open(&made->queue, config->queue_capacity, config->job_bytes, error);
        made->queue_open = status == SLUICE_OK;
    }
    for (uint32_t i = 0; i < config->threads && status == SLUICE_OK; i++) {
        status = workers_start_worker(made, i, error);
    }
    if (status != SLUICE_OK) {
        sl_workers_close(made);
        return status;
    }
    *workers = made;
    return SLUICE_OK;
}

sluice_status sl_workers_submit(sl_workers *workers, const void *jobs, size_t count)
{
    return sl_queue_push(&workers->queue, jobs, count);
}

bool sl_workers_are_idle(sl_workers *workers, uint64_t *taken)
{
    return sl_queue_is_idle(&workers->queue, workers->config.threads, taken);
}

void sl_workers_depths(sl_workers *workers, uint64_t bins[SL_DEPTH_BINS])
{
    sl_queue_depths(&workers->queue, bins);
}

void sl_workers_close(sl_workers *workers)
{
    if (workers == NULL) {
        return;
    }
    if (workers->queue_open) {
        sl_queue_close(&workers->queue);
    }
    for (uint32_t i = 0; workers->workers != NULL && i < workers->config.threads; i++) {
        worker *self = &workers->workers[i];
        sl_thread_join(&self->thread);
        sl_decoder_close(self->decoder);
        sl_free(self->job);
    }
    if (workers->queue_open) {
        sl_queue_destroy(&workers->queue);
    }
    sl_free(workers->workers);
    sl_free(workers);
}
