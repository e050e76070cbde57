/* SPDX-License-Identifier: Apache-2.0 */
#include "prepare.h"

#include "error.h"
#include "frame.h"
#include "memory.h"
#include "permutation.h"
#include "thread.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define STAGE "pack"
/* Samples under way for each worker, so that a slow one does not stop the others. */
#define SLOTS_PER_WORKER 4u

typedef struct slot {
    sl_prepared prepared;
    uint8_t *stored, *pixels; /* owned: the bytes read (re-tiled, later), and unpacked */
    size_t stored_bytes;
    uint64_t charged;
    bool ready;
} slot;

typedef struct worker {
    sl_prepare *prepare;
    sl_jpeg_retiler *retiler; /* NULL: JPEGs stay as they are */
    sl_values values;         /* of the sample at hand */
    sl_thread thread;
} worker;

struct sl_prepare {
    sl_prepare_config config;
    sl_permutation order;
    uint32_t slot_count, started;
    slot *slots;
    worker *workers;
    uint32_t image, label; /* fields */
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* a position taken or done, a slot ready, bytes given back, stop */
    /* under mutex */
    uint64_t next_position; /* not yet with a worker */
    uint64_t next_taken;    /* the owner's next */
    uint64_t charged;
    bool stop;
};

/* Waits until the budget allows `bytes`; false when the pack stops. */
static bool charge(sl_prepare *prepare, slot *s, uint64_t bytes)
{
    sl_lock(&prepare->mutex);
    while (!prepare->stop && prepare->next_taken != s->prepared.position &&
           prepare->charged + bytes > prepare->config.budget_bytes) {
        sl_cond_wait(&prepare->changed, &prepare->mutex);
    }
    bool go = !prepare->stop;
    if (go) {
        prepare->charged += bytes;
        s->charged += bytes;
    }
    sl_unlock(&prepare->mutex);
    return go;
}

static void give_back(sl_prepare *prepare, slot *s, uint64_t bytes)
{
    sl_lock(&prepare->mutex);
    prepare->charged -= bytes;
    s->charged -= bytes;
    sl_cond_broadcast(&prepare->changed);
    sl_unlock(&prepare->mutex);
}

static sluice_status no_memory(uint64_t bytes, sluice_error *error)
{
    return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a sample of %llu bytes",
                        (unsigned long long)bytes);
}

/* Reads the sample's stored bytes into s->stored. */
static sluice_status read_stored(sl_prepare *prepare, slot *s, const sl_sample *sample,
                                 size_t *size)
{
    const sl_dataset *dataset = prepare->config.dataset;
    sluice_error *error = &s->prepared.error;
    sluice_status status = sl_dataset_read(dataset, sample, (sl_buffer){NULL, 0}, size, error);
    if (status < 0 || *size == 0) {
        return status;
    }
    if (*size > SL_RECORD_IMAGE_MAX + SL_KEY_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE, "the sample has %zu bytes: too many",
                            *size);
    }
    const size_t expected = *size;
    /* Raw pixels that are to be compressed are held twice for a while. */
    if (!charge(prepare, s, prepare->config.zstd_level != 0 ? expected * 2 : expected)) {
        return sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped");
    }
    s->stored = sl_malloc(expected);
    if (!s->stored) {
        return no_memory(expected, error);
    }
    s->stored_bytes = expected;
    status = sl_dataset_read(dataset, sample, (sl_buffer){s->stored, expected}, size, error);
    if (status == SLUICE_AGAIN) {
        return sl_error_set(error, SLUICE_IO, STAGE, "the file grew while it was read");
    }
    return status;
}

/* Replaces *image, a zstd frame, by what it holds. */
static sluice_status unpack(sl_prepare *prepare, slot *s, sl_bytes *image)
{
    sluice_error *error = &s->prepared.error;
    uint64_t bytes = 0;
    sluice_status status = sl_frame_size(*image, SL_RECORD_IMAGE_MAX, &bytes, error);
    if (status < 0) {
        return status;
    }
    /* Twice: the record may be packed again. */
    if (!charge(prepare, s, bytes * 2)) {
        return sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped");
    }
    s->pixels = sl_malloc(bytes > 0 ? bytes : 1);
    if (!s->pixels) {
        return no_memory(bytes, error);
    }
    status = sl_frame_unpack_to(NULL, *image, s->pixels, bytes, error);
    *image = (sl_bytes){s->pixels, bytes};
    return status;
}

/* Copies `bytes` over what was read, since the retiler needs its memory for the next one. */
static sluice_status take_over(slot *s, sl_bytes bytes, sl_bytes *image)
{
    if (bytes.size > s->stored_bytes) {
        uint8_t *larger = sl_malloc(bytes.size);
        if (!larger) {
            return no_memory(bytes.size, &s->prepared.error);
        }
        sl_free(s->stored);
        s->stored = larger;
        s->stored_bytes = bytes.size;
    }
    memcpy(s->stored, bytes.data, bytes.size);
    *image = (sl_bytes){s->stored, bytes.size};
    return SLUICE_OK;
}

static sluice_status retile(worker *w, slot *s, sl_bytes *image)
{
    uint64_t memory;
    sl_bytes retiled;
    sl_prepared *prepared = &s->prepared;
    sluice_status status = sl_jpeg_retiler_begin(w->retiler, *image, &memory, &prepared->error);
    if (status < 0) {
        return status;
    }
    if (!charge(w->prepare, s, memory)) {
        return sl_error_set(&prepared->error, SLUICE_CANCELED, STAGE, "stopped");
    }
    status = sl_jpeg_retiler_run(w->retiler, &prepared->outcome, &retiled, &prepared->error);
    if (status == SLUICE_OK && prepared->outcome == SL_JPEG_RETILED) {
        status = take_over(s, retiled, image);
    }
    give_back(w->prepare, s, memory);
    return status;
}

static sluice_status make_record(worker *w, slot *s, const sl_sample *sample)
{
    sl_prepare *prepare = w->prepare;
    sl_prepared *prepared = &s->prepared;
    size_t size = 0;
    sluice_status status = read_stored(prepare, s, sample, &size);
    if (status < 0) {
        return status;
    }
    status = sl_dataset_unpack(prepare->config.dataset, sample, (sl_bytes){s->stored, size},
                               &w->values, &prepared->error);
    const sl_value *value = &w->values.of[prepare->image];
    sl_bytes image = value->bytes;
    if (status == SLUICE_OK && value->zstd) {
        status = unpack(prepare, s, &image);
    }
    if (status < 0) {
        return status;
    }
    prepared->image_bytes = image.size;
    if (!value->raw && sl_jpeg_begins(image)) {
        prepared->outcome = SL_JPEG_AS_ASKED;
        status = w->retiler ? retile(w, s, &image) : SLUICE_OK;
    }
    if (status < 0) {
        return status;
    }
    sl_record_input input = {.image = image,
                             .raw = value->raw,
                             .width = value->width,
                             .height = value->height,
                             .zstd_level = prepare->config.zstd_level,
                             .label = w->values.of[prepare->label].integer,
                             .key = prepared->key};
    return sl_record_make(&prepared->record, &input, &prepared->error);
}

/* Not the sample's fault: leaving it out would hide a problem of this machine. */
static bool is_fatal(const sluice_error *error)
{
    return error->status == SLUICE_NOMEM || error->status == SLUICE_CANCELED ||
           error->sys_errno == EMFILE || error->sys_errno == ENFILE || error->sys_errno == ENOMEM;
}

static void prepare_one(worker *w, slot *s)
{
    const sl_prepare *prepare = w->prepare;
    const sl_dataset *dataset = prepare->config.dataset;
    sl_prepared *prepared = &s->prepared;
    uint64_t index = prepare->config.keep_order
                         ? prepared->position
                         : sl_permutation_apply(&prepare->order, prepared->position);
    sl_sample sample;
    sl_error_clear(&prepared->error);
    prepared->key[0] = '\0';
    prepared->outcome = SL_JPEG_NONE;
    prepared->status = sl_dataset_find(dataset, index, &sample, &prepared->error);
    bool located = prepared->status == SLUICE_OK;
    if (located) {
        prepared->status =
            sl_dataset_key(dataset, index, prepared->key, sizeof(prepared->key), &prepared->error);
    }
    if (prepared->status == SLUICE_OK) {
        prepared->status = make_record(w, s, &sample);
    }
    prepared->fatal = prepared->status < 0 && is_fatal(&prepared->error);
    if (prepared->error.status < 0 && located && prepared->error.file[0] == '\0') {
        sl_sample_blame(dataset, &sample, &w->values.of[prepare->image], &prepared->error);
    }
    prepared->error.sample = (int64_t)index;
}

/* The next position's slot; NULL when there is nothing more to do. */
static slot *take_position(sl_prepare *prepare)
{
    uint64_t samples = prepare->config.dataset->info.samples;
    slot *s = NULL;
    sl_lock(&prepare->mutex);
    while (!prepare->stop && prepare->next_position < samples &&
           prepare->next_position - prepare->next_taken >= prepare->slot_count) {
        sl_cond_wait(&prepare->changed, &prepare->mutex);
    }
    if (!prepare->stop && prepare->next_position < samples) {
        s = &prepare->slots[prepare->next_position % prepare->slot_count];
        s->prepared.position = prepare->next_position++;
    }
    sl_unlock(&prepare->mutex);
    return s;
}

static void run(void *argument)
{
    worker *w = argument;
    sl_prepare *prepare = w->prepare;
    for (slot *s = take_position(prepare); s; s = take_position(prepare)) {
        prepare_one(w, s);
        sl_lock(&prepare->mutex);
        s->ready = true;
        sl_cond_broadcast(&prepare->changed);
        sl_unlock(&prepare->mutex);
    }
}

static sluice_status start_worker(sl_prepare *prepare, worker *w, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    w->prepare = prepare;
    w->values.wanted = UINT64_C(1) << prepare->image | UINT64_C(1) << prepare->label;
    if (!prepare->config.keep_bytes) {
        status = sl_jpeg_retiler_open(&w->retiler, &prepare->config.retile, error);
    }
    if (status == SLUICE_OK) {
        status = sl_thread_start(&w->thread, "sluice-pack", run, w, error);
    }
    if (status < 0) {
        sl_jpeg_retiler_close(w->retiler);
    }
    return status;
}

sluice_status sl_prepare_open(sl_prepare **out, const sl_prepare_config *config,
                              sluice_error *error)
{
    *out = NULL;
    sl_prepare *prepare = sl_calloc(1, sizeof(*prepare));
    if (!prepare) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for the workers");
    }
    prepare->config = *config;
    prepare->image = sl_dataset_field(config->dataset, "image");
    prepare->label = sl_dataset_field(config->dataset, "label");
    prepare->order = sl_permutation_make(config->dataset->info.samples, config->seed);
    prepare->next_position = config->first;
    prepare->next_taken = config->first;
    prepare->slot_count = config->workers * SLOTS_PER_WORKER;
    sl_mutex_init(&prepare->mutex);
    sl_cond_init(&prepare->changed);
    prepare->slots = sl_calloc(prepare->slot_count, sizeof(*prepare->slots));
    prepare->workers = sl_calloc(config->workers, sizeof(*prepare->workers));
    if (!prepare->slots || !prepare->workers) {
        sl_prepare_close(prepare);
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for the workers");
    }
    sluice_status status = SLUICE_OK;
    while (status == SLUICE_OK && prepare->started < config->workers) {
        status = start_worker(prepare, &prepare->workers[prepare->started], error);
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
    sl_record_close(&s->prepared.record);
    sl_free(s->stored);
    sl_free(s->pixels);
    s->stored = NULL;
    s->pixels = NULL;
}

sl_prepared *sl_prepare_next(sl_prepare *prepare)
{
    assert(prepare->next_taken < prepare->config.dataset->info.samples);
    sl_lock(&prepare->mutex);
    slot *s = &prepare->slots[prepare->next_taken % prepare->slot_count];
    while (!s->ready) {
        sl_cond_wait(&prepare->changed, &prepare->mutex);
    }
    sl_unlock(&prepare->mutex);
    return &s->prepared;
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
    sl_cond_broadcast(&prepare->changed);
    sl_unlock(&prepare->mutex);
}

void sl_prepare_close(sl_prepare *prepare)
{
    if (!prepare) {
        return;
    }
    sl_lock(&prepare->mutex);
    prepare->stop = true;
    sl_cond_broadcast(&prepare->changed);
    sl_unlock(&prepare->mutex);
    for (uint32_t i = 0; i < prepare->started; i++) {
        sl_thread_join(&prepare->workers[i].thread);
        sl_jpeg_retiler_close(prepare->workers[i].retiler);
    }
    for (uint32_t i = 0; prepare->slots && i < prepare->slot_count; i++) {
        free_slot(&prepare->slots[i]);
    }
    sl_free(prepare->slots);
    sl_free(prepare->workers);
    sl_cond_destroy(&prepare->changed);
    sl_mutex_destroy(&prepare->mutex);
    sl_free(prepare);
}
