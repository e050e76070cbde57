/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_reads: measures reading an object over HTTP in ranges with the engine, including the
 * windows, hedges and checks of a loader's reads.
 *
 * remote_reads ADDRESS RANGE_BYTES IN_FLIGHT TOTAL_BYTES: reads consecutive ranges, starts again at
 * the end of the object, and prints the CPU time of the process and the rate.
 */
#include "clock.h"
#include "hosts.h"
#include "memory.h"
#include "reads.h"
#include "thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS_MOST = 1024 };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    sl_object *object;
    uint64_t range, bytes, total;
    uint64_t asked, got; /* under mutex */
    uint32_t flying;
    bool failed;
} bench;

static sl_remote_read reads[SLOTS_MOST];

/* Requests the next range of a slot; false if all are requested. */
static bool next_range(sl_remote_read *read)
{
    if (bench.asked >= bench.total || bench.failed) {
        return false;
    }
    read->offset = bench.asked / bench.range % (bench.bytes / bench.range) * bench.range;
    bench.asked += bench.range;
    return true;
}

static void range_done(sl_remote_read *read)
{
    sl_lock(&bench.mutex);
    if (read->result != (int64_t)bench.range) {
        (void)fprintf(stderr, "%" PRId64 ": %s\n", read->result, read->reason);
        bench.failed = true;
    } else {
        bench.got += bench.range;
    }
    const bool more = next_range(read);
    bench.flying -= more ? 0 : 1;
    if (bench.flying == 0) {
        sl_cond_signal(&bench.cond);
    }
    sl_unlock(&bench.mutex);
    if (more) {
        sl_remote_read_start(read);
    }
}

/* Returns the size of the object, from the response for its first byte. */
static bool find_object(const char *address)
{
    uint8_t byte;
    if (sl_object_open(&bench.object, address, NULL) != 0) {
        (void)fprintf(stderr, "%s\n", sl_store_reason());
        return false;
    }
    sl_remote_read read = {.object = bench.object, .bytes = 1, .buffer = &byte};
    if (sl_remote_read_run(&read) != 1) {
        (void)fprintf(stderr, "%" PRId64 ": %s\n", read.result, read.reason);
        return false;
    }
    bench.bytes = read.object_bytes;
    return bench.bytes != UINT64_MAX && bench.bytes >= bench.range;
}

static double cpu_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void read_all(uint32_t slots)
{
    for (uint32_t i = 0; i < slots; i++) {
        reads[i] = (sl_remote_read){.object = bench.object,
                                    .bytes = (uint32_t)bench.range,
                                    .buffer = sl_malloc(bench.range),
                                    .done = range_done};
        if (reads[i].buffer == NULL) {
            abort();
        }
        memset(reads[i].buffer, 1, bench.range);
    }
    const double cpu = cpu_s();
    const uint64_t begun = sl_now_ns();
    for (uint32_t i = 0; i < slots; i++) {
        sl_lock(&bench.mutex);
        const bool more = next_range(&reads[i]);
        bench.flying += more ? 1 : 0;
        sl_unlock(&bench.mutex);
        if (more) {
            sl_remote_read_start(&reads[i]);
        }
    }
    sl_lock(&bench.mutex);
    while (bench.flying > 0) {
        sl_cond_wait(&bench.cond, &bench.mutex);
    }
    sl_unlock(&bench.mutex);
    const double gib = (double)bench.got / (double)(UINT64_C(1) << 30);
    const double seconds = (double)(sl_now_ns() - begun) / 1e9;
    static sl_host_stats stats[1];
    (void)sl_hosts_get_stats(stats, 1);
    (void)printf("%" PRIu64 " bytes per range, %u in flight: %.3f CPU s/GiB, %.2f GiB/s, "
                 "%u engine threads, %" PRIu64 " requests, %" PRIu64 " hedged, p50 %.1f ms, "
                 "p95 %.1f ms\n",
                 bench.range, slots, (cpu_s() - cpu) / gib, gib / seconds, sl_engine_threads(),
                 stats[0].requests, stats[0].hedged, (double)stats[0].p50_ns / 1e6,
                 (double)stats[0].p95_ns / 1e6);
}

int main(int count, char **arguments)
{
    if (count != 5) {
        (void)fprintf(stderr, "usage: remote_reads ADDRESS RANGE_BYTES IN_FLIGHT TOTAL_BYTES\n");
        return 2;
    }
    bench.range = strtoull(arguments[2], NULL, 10);
    bench.total = strtoull(arguments[4], NULL, 10);
    const unsigned long slots = strtoul(arguments[3], NULL, 10);
    sl_mutex_init(&bench.mutex);
    sl_cond_init(&bench.cond);
    if (bench.range == 0 || slots == 0 || slots > SLOTS_MOST || bench.range > UINT32_MAX ||
        !find_object(arguments[1])) {
        (void)fprintf(stderr, "remote_reads: cannot read %s\n", arguments[1]);
        return 1;
    }
    read_all((uint32_t)slots);
    return bench.failed ? 1 : 0;
}
