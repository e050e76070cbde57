/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsluice_inject.so: the CUDA driver loads it into a program from CUDA_INJECTION64_PATH and calls
 * InitializeInjection inside cuInit. It makes CUPTI record every kernel, copy and memset, and
 * writes their times to a file for `sluice idle`. Errors are noted in that file; the program
 * continues. Threads: the program's own (atexit), CUPTI's worker (the callbacks), and one that
 * makes CUPTI deliver its records every second.
 */
#include "buffers.h"
#include "convert.h"
#include "cupti_api.h"
#include "devices.h"
#include "idle_format.h"
#include "idle_writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int InitializeInjection(void); // NOLINT: the driver's name

enum { FLUSH_S = 1, EXIT_WAIT_S = 5 };
/* The result of InitializeInjection: the driver takes 1 for success. */
enum { INJECTED = 1 };

static struct cupti_api cupti;
static struct idle_writer writer;
static pthread_mutex_t flush_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t flush_wake;
static pthread_t flusher;
static bool flusher_stop; /* under flush_lock */
static pid_t owner;

static uint64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t now_monotonic(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static void on_request(uint8_t **buffer, size_t *bytes, size_t *records_max)
{
    *buffer = buffers_take();
    *bytes = *buffer == NULL ? 0 : BUFFER_BYTES;
    *records_max = 0; /* as many as fit */
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    (void)bytes;
    if (buffer == NULL) {
        return;
    }
    uint64_t start = read_clock(CLOCK_THREAD_CPUTIME_ID);
    struct idle_counts counts = {0};
    void *from = NULL;
    while (valid > 0 && cupti.next_record(buffer, valid, &from) == CUPTI_OK) {
        struct idle_record record;
        enum convert_result result = convert_record(from, &record);
        if (result == CONVERT_RECORD) {
            idle_writer_add(&writer, &record);
        }
        counts.odd += result == CONVERT_ODD;
    }
    size_t dropped = 0;
    if (cupti.dropped(context, stream, &dropped) == CUPTI_OK) {
        counts.dropped = dropped;
    }
    buffers_give(buffer);
    counts.callback_cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID) - start;
    idle_writer_count(&writer, &counts);
}

/* CUPTI needs a callback for events; none are requested. Being the subscriber keeps others from
 * taking the records away. */
static void on_callback(void *user, int domain, uint32_t id, const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
}

/* Called by the flusher, and at exit once the flusher has ended. */
static void name_devices(void)
{
    static bool named;
    char addresses[IDLE_DEVICES_NAMED][IDLE_PCI_BYTES] = {{0}};
    if (!named && devices_read(addresses)) {
        named = true;
        idle_writer_devices(&writer, addresses);
    }
}

static void *run_flusher(void *context)
{
    (void)context;
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    pthread_mutex_lock(&flush_lock);
    while (!flusher_stop) {
        when.tv_sec += FLUSH_S;
        int result = 0;
        while (!flusher_stop && result == 0) {
            result = pthread_cond_timedwait(&flush_wake, &flush_lock, &when);
        }
        if (!flusher_stop) {
            pthread_mutex_unlock(&flush_lock);
            cupti.flush_all(0);
            name_devices();
            idle_writer_flush(&writer, IDLE_STATE_TRACING, read_clock(CLOCK_THREAD_CPUTIME_ID));
            pthread_mutex_lock(&flush_lock);
        }
    }
    pthread_mutex_unlock(&flush_lock);
    return NULL;
}

/* Starts the flusher with all signals blocked: they are for the program's own threads. */
static bool start_flusher(void)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int result = pthread_cond_init(&flush_wake, &attributes);
    pthread_condattr_destroy(&attributes);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    result = result == 0 ? pthread_create(&flusher, NULL, run_flusher, NULL) : result;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result == 0;
}

/* Stops the flusher. False: it hangs inside CUPTI, which should then be left alone. */
static bool stop_flusher(void)
{
    pthread_mutex_lock(&flush_lock);
    flusher_stop = true;
    pthread_cond_signal(&flush_wake);
    pthread_mutex_unlock(&flush_lock);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += EXIT_WAIT_S;
    return pthread_timedjoin_np(flusher, NULL, &until) == 0;
}

static void at_exit(void)
{
    if (getpid() != owner || !stop_flusher()) {
        return;
    }
    cupti.flush_all(CUPTI_FLUSH_FORCED);
    name_devices();
    idle_writer_flush(&writer, IDLE_STATE_ENDED, writer.header.flush_cpu_ns);
}

static void in_forked_child(void)
{
    idle_writer_disown(&writer);
}

static const char *advice(int result)
{
    switch (result) {
    case CUPTI_MULTIPLE_SUBSCRIBERS:
        return ": another profiler is at work in this program (torch.profiler, Nsight, a debugger)";
    case CUPTI_NO_PRIVILEGES:
        return ": this driver lets only administrators trace (NVreg_RestrictProfilingToAdminUsers)";
    case CUPTI_NOT_INITIALISED:
        return ": CUPTI does not start with this driver";
    default:
        return "";
    }
}

/* Returns whether a call succeeded; else writes its reason to the file. */
static bool went_well(const char *call, int result)
{
    if (result == CUPTI_OK) {
        return true;
    }
    const char *name = NULL;
    if (cupti.result_string(result, &name) != CUPTI_OK || name == NULL) {
        name = "an unknown error";
    }
    char reason[sizeof writer.header.reason];
    snprintf(reason, sizeof reason, "%s: %s (%d)%s", call, name, result, advice(result));
    idle_writer_fail(&writer, reason);
    return false;
}

/* Enables kernels last, so that an earlier failure leaves nothing enabled that costs time. */
static bool enable_kinds(void)
{
    return went_well("cuptiActivityEnable(MEMCPY)", cupti.enable(CUPTI_KIND_MEMCPY)) &&
           went_well("cuptiActivityEnable(MEMSET)", cupti.enable(CUPTI_KIND_MEMSET)) &&
           went_well("cuptiActivityEnable(CONCURRENT_KERNEL)",
                     cupti.enable(CUPTI_KIND_CONCURRENT_KERNEL));
}

/* Returns how far the wall clock is ahead: of several tries, the one with the shortest time
 * between the readings of the clocks. */
static int64_t wall_clock_ahead(void)
{
    const uint64_t near_ns = 20000;
    uint64_t best = UINT64_MAX;
    int64_t ahead = 0;
    for (int i = 0; i < 20 && best > near_ns; i++) {
        const uint64_t before = now_monotonic();
        const uint64_t wall = read_clock(CLOCK_REALTIME);
        const uint64_t apart = now_monotonic() - before;
        if (apart < best) {
            best = apart;
            ahead = (int64_t)(wall - (before + apart / 2));
        }
    }
    return ahead;
}

/* Called before kinds are enabled: an older CUPTI uses the wall clock for timestamps. */
static void choose_clock(void)
{
    if (cupti.register_clock == NULL || cupti.register_clock(now_monotonic) != CUPTI_OK) {
        writer.header.clock_offset_ns = wall_clock_ahead();
    }
}

static bool start_tracing(void)
{
    char reason[sizeof writer.header.reason];
    if (!cupti_api_open(&cupti, reason, sizeof reason)) {
        idle_writer_fail(&writer, reason);
        return false;
    }
    snprintf(writer.header.library, sizeof writer.header.library, "%s", cupti.path);
    cupti.version(&writer.header.cupti_version);
    void *subscriber = NULL;
    if (!went_well("cuptiSubscribe", cupti.subscribe(&subscriber, on_callback, NULL))) {
        return false;
    }
    choose_clock();
    return went_well("cuptiActivityRegisterCallbacks",
                     cupti.register_callbacks(on_request, on_complete)) &&
           enable_kinds();
}

static void describe_process(void)
{
    struct idle_header *header = &writer.header;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES"); // NOLINT(concurrency-mt-unsafe): once
    if (visible != NULL) {
        snprintf(header->visible_devices, sizeof header->visible_devices, "%s", visible);
    }
    snprintf(header->program, sizeof header->program, "%s", program_invocation_short_name);
}

int InitializeInjection(void)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;
    const char *folder = getenv(IDLE_FOLDER_VARIABLE); // NOLINT(concurrency-mt-unsafe): once
    /* A flag that orders nothing else. */
    if (folder == NULL || atomic_flag_test_and_set_explicit(&done, memory_order_relaxed) ||
        !idle_writer_open(&writer, folder)) {
        return INJECTED;
    }
    uint64_t start = now_monotonic();
    writer.header.started_ns = (int64_t)start;
    owner = getpid();
    describe_process();
    pthread_atfork(NULL, NULL, in_forked_child);
    if (start_tracing()) {
        writer.header.setup_ns = now_monotonic() - start;
        if (start_flusher()) {
            atexit(at_exit);
            idle_writer_flush(&writer, IDLE_STATE_TRACING, 0);
        } else {
            idle_writer_fail(&writer, "cannot start a thread to deliver records");
        }
    }
    return INJECTED;
}
