/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging_bench: measures the CPU cost of handing batches over: 20 batches per second of 256 images
 * of 224 x 224 (38 MB), on devices with free copies and conversions. What remains is staging
 * itself: slots, locks, threads that wake each other, and events. No byte is accessed.
 *
 *   staging_bench [SECONDS [BATCHES_PER_SECOND]]
 */
#include "clock.h"
#include "staging.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 256, SIDE = 224, HOST_SLOTS = 4, DEVICE_SLOTS = 3 };

#define SECOND_NS UINT64_C(1000000000)

typedef struct mode {
    const char *name;
    bool shares, converts;
} mode;

static const mode modes[] = {
    {"host memory", true, false},
    {"device, bytes", false, false},
    {"device, converting", false, true},
};

/* ---- a simulated device ---- */

static sluice_status copy_nothing(sl_device *device, void *to, const void *from, size_t bytes,
                                  struct CUstream_st *stream, sluice_error *error)
{
    (void)device;
    (void)to;
    (void)from;
    (void)bytes;
    (void)stream;
    (void)error;
    return SLUICE_OK;
}

static sluice_status convert_nothing(sl_device *device, const sl_conversion *conversion,
                                     const sl_conversion_rows *rows, struct CUstream_st *stream,
                                     sluice_error *error)
{
    (void)device;
    (void)conversion;
    (void)rows;
    (void)stream;
    (void)error;
    return SLUICE_OK;
}

static sl_device *open_device(const mode *m, sl_device_ops *ops)
{
    sl_device *device = NULL;
    if (sl_device_open(&device, "host", NULL) != SLUICE_OK) {
        fprintf(stderr, "staging_bench: no device\n");
        exit(1);
    }
    *ops = *device->ops;
    ops->copy_to_device = copy_nothing;
    ops->convert = convert_nothing;
    device->ops = ops;
    device->shares_memory = m->shares;
    device->converts = m->converts;
    return device;
}

static sl_staging *open_staging(const mode *m, sl_device_ops *ops)
{
    const sl_part parts[] = {
        {.name = "image", .row_bytes = (uint64_t)SIDE * SIDE * 3},
        {.name = "flags", .role = SL_PART_HIDDEN, .row_bytes = 1},
        {.name = "label", .dtype = SLUICE_I64, .row_bytes = sizeof(int64_t)},
    };
    const sl_staging_conversion conversion = {
        .how = {.dtype = SLUICE_F16, .layout = SLUICE_NCHW, .width = SIDE, .height = SIDE},
        .flags = 1};
    const sl_staging_config config = {.host_slots = HOST_SLOTS,
                                      .device_slots = DEVICE_SLOTS,
                                      .batch = ROWS,
                                      .parts = parts,
                                      .part_count = sizeof(parts) / sizeof(*parts),
                                      .conversions = &conversion,
                                      .conversion_count = m->converts};
    sl_staging *staging = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_staging_open(&staging, open_device(m, ops), &config, &error) != SLUICE_OK) {
        fprintf(stderr, "staging_bench: %s\n", error.text);
        exit(1);
    }
    return staging;
}

/* ---- one step ---- */

static void fill(sl_staging *staging, uint64_t step)
{
    const sl_batch_facts facts = {.step = step, .rows = ROWS};
    sl_part_view parts;
    uint32_t slot;
    while (sl_staging_begin(staging, &facts, &slot, &parts) != SLUICE_OK) {
        sl_sleep_until_ns(sl_now_ns() + 100000); /* the reaper is late */
    }
    sl_staging_filled(staging, slot, NULL);
}

static void consume(sl_staging *staging)
{
    sluice_batch *batch = NULL;
    if (sl_staging_next(staging, -1, &batch, NULL) != SLUICE_OK ||
        sl_staging_wait(batch, NULL) != SLUICE_OK ||
        sl_staging_release(batch, true, NULL) != SLUICE_OK) {
        fprintf(stderr, "staging_bench: cannot get a batch\n");
        exit(1);
    }
}

static uint64_t process_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void measure(const mode *m, uint64_t seconds, uint64_t rate)
{
    sl_device_ops ops;
    sl_staging *staging = open_staging(m, &ops);
    const uint64_t steps = seconds * rate;
    const uint64_t start = sl_now_ns();
    const uint64_t cpu = process_cpu_ns();
    const uint64_t caller = sl_thread_cpu_ns();
    for (uint64_t step = 0; step < steps; step++) {
        sl_sleep_until_ns(start + (step + 1) * SECOND_NS / rate);
        fill(staging, step);
        consume(staging);
    }
    const double wall = (double)(sl_now_ns() - start);
    const double all = (double)(process_cpu_ns() - cpu);
    const double calls = (double)(sl_thread_cpu_ns() - caller);
    sl_staging_close(staging);
    printf("%-20s %8.1f us per batch in calls, %6.1f us in threads: %6.3f %% of a core\n", m->name,
           calls / 1e3 / (double)steps, (all - calls) / 1e3 / (double)steps, 100.0 * all / wall);
}

int main(int count, char **arguments)
{
    const uint64_t seconds = count > 1 ? strtoull(arguments[1], NULL, 10) : 5;
    const uint64_t rate = count > 2 ? strtoull(arguments[2], NULL, 10) : 20;
    if (seconds == 0 || rate == 0 || rate > SECOND_NS) {
        fprintf(stderr, "usage: staging_bench [SECONDS [BATCHES_PER_SECOND]]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        measure(&modes[i], seconds, rate);
    }
    return 0;
}
