/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_order [--batches N] [--broken wait|release]: tests the handshake between loader and consumer
 * on a real device.
 *
 * A producer fills slots with words computed from the step. The consumer's kernel waits for a
 * random time and then sums its batch; all sums are compared at the end. Runs over the depths of
 * both rings. A layer between the library and the driver holds some copies back behind a kernel in
 * their own stream, so that batches come late as well as early.
 *
 * --broken omits one half of the handshake and must find broken batches, which proves that the
 * check can fail. Neither half depends on the chip's speed. `wait`: the kernel does not wait for
 * the batch. Copying 98 KB takes 2 us, less than waking the consumer, so every copy is held back
 * for HOLD_NS; the consumer gets a batch when its copy is queued, and reads the old contents.
 * `release`: the batch is released at once, before the kernel has read it. Every 16th kernel waits
 * LONG_NS before it reads; the producer refills all slots in less than a tenth of that time.
 */
#include "gpu.h"
#include "staging.h"
#include "thread.h"

#include <pthread.h>
#include <sluice/loader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 64, ROWS = 8, ROW_BYTES = SIDE * SIDE * 3, WORDS = ROWS * ROW_BYTES / 4 };

enum { HOLD_NS = 200000, LONG_NS = 3000000, HELD_ONE_IN = 8, LONG_ONE_IN = 16 };

typedef enum breakage { BROKEN_NOT, BROKEN_WAIT, BROKEN_RELEASE } breakage;

typedef struct order {
    gpu g;
    sl_staging *staging;
    uint64_t batches;
    breakage broken;
    sl_cu_address sums;
    uint64_t seed;
    /* producer and consumer: */
    pthread_mutex_t mutex;
    pthread_cond_t empty;
    uint64_t empties; /* calls of on_empty */
    bool stop;
} order;

static uint32_t word_of(uint64_t step, uint32_t i)
{
    return (uint32_t)(step * 2654435761u) ^ (i * 40503u + 17);
}

static uint32_t sum_of(uint64_t step)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < WORDS; i++) {
        sum += word_of(step, i) * (2 * i + 1);
    }
    return sum;
}

/* ---- between the library and the driver: copies that are late ---- */

const sl_cuda_driver *__real_sl_cuda_driver_get(sluice_error *error);
const sl_cuda_driver *__wrap_sl_cuda_driver_get(sluice_error *error);

static const sl_cuda_driver *real;
static sl_cuda_driver late;
static const gpu *device;    /* NULL: holds no copy back; set while no copier runs */
static uint64_t held_one_in; /* one copy in this many */
static uint64_t copies;      /* the copier's count */

static sl_cu_result copy_late(sl_cu_address to, const void *from, size_t bytes, sl_cu_stream stream)
{
    if (device != NULL && copies++ % held_one_in == 0) {
        uint64_t ns = HOLD_NS;
        void *parameters[] = {&ns};
        const sl_cu_result code =
            real->launch(device->kernels[GPU_SPIN], 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
        if (code != SL_CU_SUCCESS) {
            return code;
        }
    }
    return real->copy_to_device(to, from, bytes, stream);
}

const sl_cuda_driver *__wrap_sl_cuda_driver_get(sluice_error *error)
{
    const sl_cuda_driver *driver = __real_sl_cuda_driver_get(error);
    if (driver == NULL) {
        return NULL;
    }
    if (real == NULL) { /* main makes the first call, before threads start */
        late = *driver;
        late.copy_to_device = copy_late;
        real = driver;
    }
    return &late;
}

static void hold_copies(const order *o)
{
    held_one_in = o->broken == BROKEN_WAIT ? 1 : HELD_ONE_IN;
    device = o->broken != BROKEN_RELEASE ? &o->g : NULL;
}

/* ---- producer ---- */

enum { PART_IMAGE, PART_MASK, PARTS };

static const sl_part parts[PARTS] = {
    [PART_IMAGE] = {.name = "image", .row_bytes = ROW_BYTES},
    [PART_MASK] = {.name = "mask", .row_bytes = 1},
};

static void on_empty(void *ctx)
{
    order *o = ctx;
    sl_lock(&o->mutex);
    o->empties++;
    sl_cond_signal(&o->empty);
    sl_unlock(&o->mutex);
}

static void fill(const order *o, uint64_t step, uint32_t slot, sl_part_view arrays)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        const uint32_t word = word_of(step, i);
        memcpy(arrays[PART_IMAGE] + (size_t)i * 4, &word, sizeof(word));
    }
    for (uint32_t row = 0; row < ROWS; row++) {
        arrays[PART_MASK][row] = 1;
    }
    sl_staging_filled(o->staging, slot, NULL);
}

static void *produce(void *ctx)
{
    order *o = ctx;
    uint64_t seen = 0;
    for (uint64_t step = 0; step < o->batches;) {
        uint32_t slot;
        sl_part_view arrays;
        const sl_batch_facts facts = {.step = step, .rows = ROWS};
        if (sl_staging_begin(o->staging, &facts, &slot, &arrays) == SLUICE_OK) {
            fill(o, step++, slot, arrays);
            continue;
        }
        sl_lock(&o->mutex);
        while (seen == o->empties && !o->stop) {
            sl_cond_wait(&o->empty, &o->mutex);
        }
        seen = o->empties;
        const bool stop = o->stop;
        sl_unlock(&o->mutex);
        if (stop) {
            break;
        }
    }
    return NULL;
}

/* ---- consumer ---- */

/* Returns how long the kernel of this step waits before it reads. */
static uint64_t spin_of(order *o, uint64_t step)
{
    const uint64_t draw = gpu_random(&o->seed);
    switch (o->broken) {
    case BROKEN_WAIT:
        return 0; /* a slow consumer gives copies time to arrive */
    case BROKEN_RELEASE:
        return step % LONG_ONE_IN == 0 ? LONG_NS : draw % 60000;
    case BROKEN_NOT:
        break;
    }
    /* Usually short, sometimes long enough for the whole ring to fill behind it. */
    return draw % 64 == 0 ? 1000000 : draw % 60000;
}

static void consume_one(order *o, uint64_t step)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_batch *batch = NULL;
    const sluice_status status = sl_staging_next(o->staging, 20000000000, &batch, &error);
    if (status != SLUICE_OK) {
        gpu_die("batch %llu did not come: %s, %s", (unsigned long long)step,
                sluice_status_name(status), error.text);
    }
    if (o->broken != BROKEN_WAIT && sl_staging_wait(batch, o->g.stream) != SLUICE_OK) {
        gpu_die("the stream cannot wait for batch %llu", (unsigned long long)step);
    }
    gpu_checksum(&o->g, batch->parts[PART_IMAGE], WORDS, spin_of(o, step), o->sums + step * 4);
    const bool on_stream = o->broken != BROKEN_RELEASE;
    if (sl_staging_release(batch, on_stream, on_stream ? o->g.stream : NULL) != SLUICE_OK) {
        gpu_die("batch %llu cannot be released", (unsigned long long)step);
    }
}

static uint64_t count_wrong(const order *o)
{
    uint32_t *sums = malloc(o->batches * 4);
    uint64_t wrong = 0;
    if (sums == NULL) {
        gpu_die("out of memory");
    }
    gpu_download(&o->g, sums, o->sums, o->batches * 4);
    for (uint64_t step = 0; step < o->batches; step++) {
        wrong += sums[step] != sum_of(step);
    }
    free(sums);
    return wrong;
}

/* ---- one run ---- */

static void open_staging(order *o, uint32_t host_slots, uint32_t device_slots)
{
    const sl_staging_config config = {.host_slots = host_slots,
                                      .device_slots = device_slots,
                                      .batch = ROWS,
                                      .parts = parts,
                                      .part_count = PARTS,
                                      .on_empty = on_empty,
                                      .ctx = o};
    sluice_error error = SLUICE_ERROR_INIT;
    sl_device *opened = NULL;
    if (sl_device_open(&opened, "cuda:0", &error) != SLUICE_OK ||
        sl_staging_open(&o->staging, opened, &config, &error) != SLUICE_OK) {
        gpu_die("%s", error.text);
    }
}

static uint64_t run(order *o, uint32_t host_slots, uint32_t device_slots)
{
    pthread_t producer;
    o->empties = 0;
    o->sums = gpu_alloc(&o->g, o->batches * 4);
    GPU_DO(&o->g, fill, o->sums, 0, o->batches * 4, o->g.stream);
    hold_copies(o);
    open_staging(o, host_slots, device_slots);
    if (pthread_create(&producer, NULL, produce, o) != 0) {
        gpu_die("no thread");
    }
    for (uint64_t step = 0; step < o->batches; step++) {
        consume_one(o, step);
    }
    gpu_wait(&o->g);
    pthread_join(producer, NULL);
    sl_staging_close(o->staging);
    const uint64_t wrong = count_wrong(o);
    gpu_free(&o->g, o->sums);
    return wrong;
}

static void judge(const order *o, uint64_t wrong, uint64_t batches)
{
    gpu_figure("order_batches", (double)batches, "batches");
    gpu_figure(o->broken == BROKEN_NOT ? "order_wrong" : "order_wrong_when_broken", (double)wrong,
               "batches");
    if (o->broken == BROKEN_NOT) {
        gpu_expect(wrong == 0, "%llu of %llu batches differ from those sent",
                   (unsigned long long)wrong, (unsigned long long)batches);
    } else {
        gpu_expect(wrong > 0,
                   "the handshake is broken, and no batch was: the check proves nothing");
    }
}

static bool parse(order *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) {
            return false;
        }
        if (strcmp(argv[i], "--batches") == 0) {
            o->batches = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--broken") == 0 && strcmp(argv[i + 1], "wait") == 0) {
            o->broken = BROKEN_WAIT;
        } else if (strcmp(argv[i], "--broken") == 0 && strcmp(argv[i + 1], "release") == 0) {
            o->broken = BROKEN_RELEASE;
        } else {
            return false;
        }
    }
    return o->batches > 0;
}

int main(int argc, char **argv)
{
    static const uint32_t depths[][2] = {{2, 2}, {2, 3}, {3, 2}, {4, 3}, {4, 4}};
    enum { DEPTHS = sizeof(depths) / sizeof(depths[0]) };
    order o = {.batches = 10000,
               .seed = 11,
               .mutex = PTHREAD_MUTEX_INITIALIZER,
               .empty = PTHREAD_COND_INITIALIZER};
    uint64_t wrong = 0;
    if (!parse(&o, argc, argv)) {
        fprintf(stderr, "usage: gpu_order [--batches N] [--broken wait|release]\n");
        return 2;
    }
    gpu_open(&o.g);
    o.batches = o.batches / DEPTHS + 1;
    for (size_t i = 0; i < DEPTHS; i++) {
        wrong += run(&o, depths[i][0], depths[i][1]);
    }
    judge(&o, wrong, o.batches * DEPTHS);
    gpu_close(&o.g);
    return gpu_result();
}
