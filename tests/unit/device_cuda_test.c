/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA device alone, over a fake driver: the parts of the device contract that the staging
 * tests do not cover. */
#include "clock.h"
#include "cuda_driver.h"
#include "device.h"
#include "error.h"
#include "fake_cuda_client.h"
#include "test.h"
#include "thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static const fake_cuda_control *fake;

/* Returns the driver unchanged, or without the call for times, or with this many devices. */
const sl_cuda_driver *__wrap_sl_cuda_driver_get(sluice_error *error); // NOLINT: names are ld's
const sl_cuda_driver *__real_sl_cuda_driver_get(sluice_error *error); // NOLINT
static bool without_time;
static int devices; /* 0: the driver's number */

const sl_cuda_driver *__wrap_sl_cuda_driver_get(sluice_error *error) // NOLINT
{
    static sl_cuda_driver table;
    const sl_cuda_driver *driver = __real_sl_cuda_driver_get(error);
    if (driver == NULL || (!without_time && devices == 0)) {
        return driver;
    }
    table = *driver;
    table.event_elapsed = without_time ? NULL : table.event_elapsed;
    table.devices = devices > 0 ? devices : table.devices;
    return &table;
}

static sl_device *open_device(void)
{
    sl_device *device = NULL;
    fake->reset();
    fake->set(&(fake_cuda_options){.seed = 1});
    assert_int_equal(sl_device_open(&device, "cuda:0", NULL), SLUICE_OK);
    return device;
}

static void close_device(sl_device *device)
{
    sl_device_close(device);
    assert_int_equal(fake->context_depth(), 0);
    assert_int_equal(fake->capture_mode(), 0);
    assert_int_equal(fake_cuda_complain(fake), 0);
}

static void let_go(void *ctx)
{
    (void)ctx;
    sl_sleep_until_ns(sl_now_ns() + 20 * MS);
    fake->hold(false);
}

static void expect_owner(sl_device *device, const void *memory, size_t bytes,
                         sluice_status expected, const char *words)
{
    sluice_error error;
    sl_error_clear(&error);
    assert_int_equal(device->ops->memory_check(device, memory, bytes, &error), expected);
    if (expected != SLUICE_OK && strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    }
}

/* An address belongs to this device, or the error names its kind. */
TEST(memory_is_known_by_both_ends)
{
    enum { BYTES = 8192 };
    void *ours;
    void *theirs;
    sl_slab slab;
    sl_device *device = open_device();
    const sl_device_ops *ops = device->ops;
    assert_int_equal(sl_slab_open(&slab, BYTES, NULL, NULL), SLUICE_OK);
    assert_int_equal(ops->slab_register(device, &slab, NULL), SLUICE_OK);
    assert_int_equal(ops->memory_open(device, BYTES, &ours, NULL), SLUICE_OK);
    fake->set(&(fake_cuda_options){.memory_device = 1});
    assert_int_equal(ops->memory_open(device, BYTES, &theirs, NULL), SLUICE_OK);
    expect_owner(device, ours, BYTES, SLUICE_OK, "");
    expect_owner(device, (uint8_t *)ours + BYTES - 1, 1, SLUICE_OK, "");
    expect_owner(device, theirs, BYTES, SLUICE_INVALID, "memory of cuda:1");
    expect_owner(device, slab.base, BYTES, SLUICE_INVALID, "host memory");
    expect_owner(device, &slab, sizeof(slab), SLUICE_INVALID, "unknown");
    expect_owner(device, ours, (size_t)1 << 40, SLUICE_INVALID, "its end");
    fake->fail_call(&(fake_cuda_fault){.symbol = "cuPointerGetAttribute", .nth = 2, .code = 1});
    expect_owner(device, ours, BYTES, SLUICE_INVALID, "unknown");
    fake->fail_call(&(fake_cuda_fault){.symbol = "cuPointerGetAttribute", .nth = 5, .code = 700});
    expect_owner(device, ours, BYTES, SLUICE_DEVICE, "cuPointerGetAttribute");
    ops->memory_close(device, theirs);
    ops->memory_close(device, ours);
    ops->slab_unregister(device, &slab);
    sl_slab_close(&slab);
    close_device(device);
}

/* Memory that a kernel of this device may or may not write to, under each of the driver's names. */
TEST(managed_and_reserved_memory)
{
    enum { BYTES = 4096 };
    const fake_cuda_options kinds[] = {
        {.memory_managed = true},
        {.memory_managed = true, .memory_device = 1},
        {.memory_managed = true, .no_concurrency = true},
        {.memory_unmapped = true},
    };
    const char *const words[] = {"", "", "managed memory", "nothing mapped"};
    sl_device *device = open_device();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        void *memory;
        fake->set(&kinds[i]);
        assert_int_equal(device->ops->memory_open(device, BYTES, &memory, NULL), SLUICE_OK);
        expect_owner(device, memory, BYTES, words[i][0] == '\0' ? SLUICE_OK : SLUICE_INVALID,
                     words[i]);
        device->ops->memory_close(device, memory);
    }
    /* If a driver cannot report whether memory is mapped, its device decides. */
    void *plain;
    fake->set(&(fake_cuda_options){.memory_unmapped = true});
    assert_int_equal(device->ops->memory_open(device, BYTES, &plain, NULL), SLUICE_OK);
    fake->fail_call(&(fake_cuda_fault){.symbol = "cuPointerGetAttribute", .nth = 4, .code = 801});
    expect_owner(device, plain, 1, SLUICE_INVALID, "its end is reserved");
    device->ops->memory_close(device, plain);
    close_device(device);
}

static void expect_answers(sl_device *device, struct CUstream_st *stream, sluice_status expected,
                           const char *words)
{
    sl_event *event;
    sluice_error error;
    struct CUstream_st *good = fake->stream_new(false);
    assert_int_equal(device->ops->event_open(device, SL_EVENT_ORDER, &event, NULL), SLUICE_OK);
    assert_int_equal(device->ops->event_record(device, event, good, NULL), SLUICE_OK);
    sl_error_clear(&error);
    assert_int_equal(device->ops->event_record(device, event, stream, &error), expected);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    }
    sl_error_clear(&error);
    assert_int_equal(device->ops->stream_wait(device, stream, event, &error), expected);
    if (strstr(error.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    }
    device->ops->event_close(device, event);
}

static void expect_stream(sl_device *device, struct CUstream_st *stream, fake_cuda_home home,
                          sluice_status expected, const char *words)
{
    fake->set_home(stream, home);
    expect_answers(device, stream, expected, words);
}

/* Streams of the primary context, including green ones, are accepted; others are distinguished from
 * them. */
TEST(streams_of_other_contexts_are_refused)
{
    sl_device *device = open_device();
    struct CUstream_st *stream = fake->stream_new(false);
    fake->set(&(fake_cuda_options){.devices = 2});
    expect_stream(device, stream, FAKE_CUDA_PRIMARY, SLUICE_OK, "");
    expect_stream(device, stream, FAKE_CUDA_GREEN, SLUICE_OK, "");
    expect_stream(device, stream, FAKE_CUDA_OTHER_CONTEXT, SLUICE_INVALID, "primary context");
    expect_stream(device, stream, FAKE_CUDA_NO_HOME, SLUICE_INVALID, "cuStreamGetCtx");
    expect_stream(device, stream, FAKE_CUDA_PRIMARY, SLUICE_OK, "");
    /* The driver had only one device when it was opened. */
    expect_stream(device, stream, FAKE_CUDA_OTHER_DEVICE, SLUICE_INVALID, "another device");
    close_device(device);
}

TEST(streams_of_the_last_device_are_told_its_number)
{
    devices = 2;
    sl_device *device = open_device();
    struct CUstream_st *stream = fake->stream_new(false);
    fake->set(&(fake_cuda_options){.devices = 2});
    expect_stream(device, stream, FAKE_CUDA_OTHER_DEVICE, SLUICE_INVALID,
                  "the stream is on cuda:1, but the batch is on cuda:0");
    close_device(device);
    devices = 0;
}

static void expect_default_streams(sl_device *device, sluice_status expected)
{
    for (uintptr_t handle = 0; handle <= 2; handle++) {
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): a handle of CUDA's */
        expect_answers(device, (struct CUstream_st *)handle, expected,
                       expected == SLUICE_OK ? "" : "current context");
    }
}

/* A default stream belongs to the thread's current context. In the program's own context it would
 * not be the stream that we record, which is the primary context's. */
TEST(default_streams_of_other_contexts_are_refused)
{
    sl_device *device = open_device();
    struct CUstream_st *stream = fake->stream_new(false);
    expect_default_streams(device, SLUICE_OK);
    fake_cuda_context_enter(0);
    expect_default_streams(device, SLUICE_INVALID);
    expect_stream(device, stream, FAKE_CUDA_PRIMARY, SLUICE_OK, "");
    fake_cuda_context_enter(1); /* its default stream cannot be the intended one */
    expect_default_streams(device, SLUICE_OK);
    fake_cuda_context_leave();
    /* for example, a destroyed one */
    fake->fail_call(&(fake_cuda_fault){.symbol = "cuCtxGetDevice", .nth = 1, .code = 709});
    expect_default_streams(device, SLUICE_INVALID);
    fake_cuda_context_leave();
    expect_default_streams(device, SLUICE_OK);
    close_device(device);
}

/* A stream whose context is gone does not affect our context, which is checked. */
TEST(a_context_that_is_gone)
{
    sl_device *device = open_device();
    sl_event *event;
    sluice_error error;
    struct CUstream_st *stream = fake->stream_new(false);
    assert_int_equal(device->ops->event_open(device, SL_EVENT_ORDER, &event, NULL), SLUICE_OK);
    fake->fail_call(&(fake_cuda_fault){.symbol = "cuEventRecord", .nth = 1, .code = 709});
    assert_int_equal(device->ops->event_record(device, event, stream, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "cuEventRecord"));
    fake->fail_call(
        &(fake_cuda_fault){.symbol = "cuEventRecord", .nth = 1, .code = 709, .sticky = true});
    assert_int_equal(device->ops->event_record(device, event, stream, &error), SLUICE_DEVICE);
    assert_int_equal(error.device_code, 709);
    device->ops->event_close(device, event);
    close_device(device);
}

/* An operation that a driver does not support on one stream says nothing about others. */
TEST(a_stream_that_is_not_supported)
{
    static const char *const calls[] = {"cuStreamGetCtx_v2", "cuStreamIsCapturing",
                                        "cuEventRecord"};
    sl_device *device = open_device();
    sl_event *event;
    sluice_error error;
    struct CUstream_st *stream = fake->stream_new(false);
    assert_int_equal(device->ops->event_open(device, SL_EVENT_ORDER, &event, NULL), SLUICE_OK);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        fake->fail_call(&(fake_cuda_fault){.symbol = calls[i], .nth = 1, .code = 801});
        assert_int_equal(device->ops->event_record(device, event, stream, &error), SLUICE_INVALID);
        assert_int_equal(error.device_code, 801);
        assert_int_equal(device->ops->event_record(device, event, stream, &error), SLUICE_OK);
    }
    device->ops->event_close(device, event);
    close_device(device);
}

TEST(closing_a_stream_waits_for_its_work)
{
    sl_device *device = open_device();
    struct CUstream_st *stream;
    sl_event *event;
    sl_thread thread = {0};
    assert_int_equal(device->ops->stream_open(device, true, &stream, NULL), SLUICE_OK);
    assert_int_equal(device->ops->event_open(device, SL_EVENT_HOST, &event, NULL), SLUICE_OK);
    fake->hold(true);
    assert_int_equal(device->ops->event_record(device, event, stream, NULL), SLUICE_OK);
    assert_int_equal(device->ops->event_query(device, event, NULL), SLUICE_AGAIN);
    assert_int_equal(sl_thread_start(&thread, "lets-go", let_go, NULL, NULL), SLUICE_OK);
    device->ops->stream_close(device, stream);
    assert_int_equal(device->ops->event_query(device, event, NULL), SLUICE_OK);
    sl_thread_join(&thread);
    device->ops->event_close(device, event);
    close_device(device);
}

TEST(time_between_events)
{
    sl_device *device = open_device();
    const sl_device_ops *ops = device->ops;
    sl_event *events[2];
    uint64_t ns = 1;
    struct CUstream_st *stream = fake->stream_new(false);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ops->event_open(device, SL_EVENT_TIMED, &events[i], NULL), SLUICE_OK);
    }
    assert_int_equal(ops->event_record(device, events[0], stream, NULL), SLUICE_OK);
    fake->synchronize(stream);
    fake->hold(true);
    assert_int_equal(ops->event_record(device, events[1], stream, NULL), SLUICE_OK);
    assert_int_equal(ops->event_query(device, events[1], NULL), SLUICE_AGAIN);
    sl_sleep_until_ns(sl_now_ns() + 10 * MS);
    fake->hold(false);
    fake->synchronize(stream);
    assert_int_equal(ops->event_elapsed(device, events[0], events[1], &ns, NULL), SLUICE_OK);
    assert_true(ns >= 10 * MS && ns < 10000 * MS);
    for (int i = 0; i < 2; i++) {
        ops->event_close(device, events[i]);
    }
    close_device(device);
}

/* A missing statistic does not make opening a device fail. */
TEST(a_driver_that_does_not_tell_time)
{
    without_time = true;
    sl_device *device = open_device();
    without_time = false;
    assert_false(device->measures);
    close_device(device);
    device = open_device();
    assert_true(device->measures);
    close_device(device);
}

/* The default stream cannot even be queried while a stream that it waits for is being captured. */
TEST(a_capture_that_forbids_the_default_stream)
{
    sl_device *device = open_device();
    sl_event *event;
    sluice_error error;
    struct CUstream_st *stream = fake->stream_new(true);
    assert_int_equal(device->ops->event_open(device, SL_EVENT_ORDER, &event, NULL), SLUICE_OK);
    fake->capture(stream, true);
    assert_int_equal(device->ops->event_record(device, event, NULL, &error), SLUICE_STATE);
    assert_int_equal(error.device_code, 906);
    fake->capture(stream, false);
    assert_int_equal(device->ops->event_record(device, event, NULL, &error), SLUICE_OK);
    device->ops->event_close(device, event);
    close_device(device);
}

/* One block of memory, one event and one stream; unusable in a child. */
typedef struct kept {
    sl_device *device;
    struct CUstream_st *stream;
    sl_event *event;
    void *memory;
} kept;

static bool child_is_refused(const kept *k)
{
    sl_device *device = k->device;
    const sl_device_ops *ops = device->ops;
    sl_event *event;
    void *memory;
    struct CUstream_st *stream;
    uint64_t ns;
    const sluice_status answers[] = {
        ops->event_record(device, k->event, k->stream, NULL),
        ops->event_query(device, k->event, NULL),
        ops->event_synchronize(device, k->event, NULL),
        ops->event_elapsed(device, k->event, k->event, &ns, NULL),
        ops->stream_wait(device, k->stream, k->event, NULL),
        ops->copy_to_device(device, k->memory, &ns, 1, k->stream, NULL),
        ops->memory_open(device, 1, &memory, NULL),
        ops->event_open(device, SL_EVENT_HOST, &event, NULL),
        ops->stream_open(device, false, &stream, NULL),
    };
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        if (answers[i] != SLUICE_STATE) {
            return false;
        }
    }
    ops->event_close(device, k->event);
    ops->memory_close(device, k->memory);
    ops->stream_close(device, k->stream);
    sl_device_close(device);
    return sl_device_open(&device, "cuda:0", NULL) == SLUICE_UNSUPPORTED;
}

TEST(a_child_calls_nothing)
{
    kept k = {.device = open_device()};
    const sl_device_ops *ops = k.device->ops;
    assert_int_equal(ops->stream_open(k.device, false, &k.stream, NULL), SLUICE_OK);
    assert_int_equal(ops->event_open(k.device, SL_EVENT_HOST, &k.event, NULL), SLUICE_OK);
    assert_int_equal(ops->memory_open(k.device, 64, &k.memory, NULL), SLUICE_OK);
    const pid_t child = fork();
    if (child == 0) {
        _exit(child_is_refused(&k) && fake->forked_calls() == 0 ? 42 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    ops->event_close(k.device, k.event);
    ops->memory_close(k.device, k.memory);
    ops->stream_close(k.device, k.stream);
    close_device(k.device);
}

int main(void)
{
    fake = fake_cuda_open();
    if (fake == NULL) {
        printf("SLUICE_CUDA_DRIVER names no fake driver\n");
        return 77;
    }
    return test_run(NULL, NULL);
}
