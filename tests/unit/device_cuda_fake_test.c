/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake driver itself: its streams and events behave like CUDA's, and each of its checks can
 * fail. One misuse of each kind is reported by exactly that check.
 */
#include "clock.h"
#include "conversion_ptx.h"
#include "cuda_driver.h"
#include "fake_cuda_client.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 64
#define MS    UINT64_C(1000000)

/* A module with one kernel. */
#define PTX_OF(body)                                  \
    ".version 7.0\n.target sm_75\n.address_size 64\n" \
    ".visible .entry a_u8_nhwc(.param .align 8 .b8 p[72])\n{\n" body "ret;\n}\n"
#define EMPTY_PTX PTX_OF("")

static char *shipped; /* conversion_ptx.h */
static const fake_cuda_control *fake;
static const sl_cuda_driver *cu;

/* Objects that most tests need, opened in field order. */
typedef struct bench {
    unsigned mode; /* previous mode */
    sl_cu_context context;
    sl_cu_stream stream, other;
    sl_cu_event event;
    sl_cu_address memory;
    uint8_t *source;
} bench;

static void expect_ok(sl_cu_result code)
{
    assert_int_equal(code, SL_CU_SUCCESS);
}

static void open_bench(bench *b, const fake_cuda_options *options)
{
    fake->reset();
    fake->set(options);
    b->mode = SL_CU_CAPTURE_MODE_RELAXED;
    b->source = calloc(1, BYTES);
    expect_ok(cu->capture_mode(&b->mode));
    expect_ok(cu->context_retain(&b->context, 0));
    expect_ok(cu->context_push(b->context));
    expect_ok(cu->stream_create(&b->stream, SL_CU_STREAM_NON_BLOCKING, 0));
    b->other = fake->stream_new(false);
    expect_ok(cu->event_create(&b->event, SL_CU_EVENT_BLOCKING_SYNC | SL_CU_EVENT_DISABLE_TIMING));
    expect_ok(cu->memory_alloc(&b->memory, BYTES));
    expect_ok(cu->host_register(b->source, BYTES, SL_CU_HOST_REGISTER_PORTABLE));
}

static void close_bench(bench *b)
{
    sl_cu_context context;
    fake->hold(false);
    fake->synchronize(b->stream);
    fake->synchronize(b->other);
    expect_ok(cu->host_unregister(b->source));
    expect_ok(cu->memory_free(b->memory));
    expect_ok(cu->event_destroy(b->event));
    expect_ok(cu->stream_destroy(b->stream));
    expect_ok(cu->context_pop(&context));
    expect_ok(cu->context_release(0));
    expect_ok(cu->capture_mode(&b->mode));
    assert_int_equal(fake->context_depth(), 0);
    assert_int_equal(fake->capture_mode(), 0);
    free(b->source);
}

/* Closes the bench; only `check` has failed, `times` times. */
static void expect_only(bench *b, fake_cuda_check check, uint64_t times)
{
    char left[160];
    close_bench(b);
    assert_int_equal(fake->violations_of(check), times);
    assert_int_equal(fake->violations(), times);
    assert_true((fake->first_violation()[0] != '\0') == (times > 0));
    assert_int_equal(fake->leaks(left, sizeof(left)), 0);
}

static const void *address_of(sl_cu_address address)
{
    return (const void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr): it is one */
}

static sl_cu_result copy(bench *b, sl_cu_stream stream)
{
    return cu->copy_to_device(b->memory, b->source, BYTES, stream);
}

static void look(void *ctx)
{
    (void)ctx;
}

static void read_on(bench *b, sl_cu_stream stream, void (*run)(void *ctx), void *ctx)
{
    const fake_cuda_reader reader = {
        .from = {address_of(b->memory)}, .bytes = {BYTES}, .run = run, .ctx = ctx};
    fake->launch(stream, &reader);
}

/* ---- CUDA's behaviour ---- */

TEST(a_copy_arrives_and_events_order_it)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.delay_us = 300, .seed = 3});
    memset(b.source, 7, BYTES);
    for (int i = 0; i < 50; i++) {
        expect_ok(copy(&b, b.stream));
        expect_ok(cu->event_record(b.event, b.stream));
        expect_ok(cu->stream_wait_event(b.other, b.event, 0));
        read_on(&b, b.other, look, NULL);
        expect_ok(cu->event_record(b.event, b.other));
        expect_ok(cu->stream_wait_event(b.stream, b.event, 0));
    }
    expect_ok(cu->stream_synchronize(b.stream));
    assert_int_equal(fake->host_waits(), 1);
    assert_memory_equal(fake->memory(address_of(b.memory)), b.source, BYTES);
    assert_null(fake->memory(b.source));
    assert_int_equal(fake->copies(), 50);
    expect_only(&b, FAKE_CUDA_CHANGED, 0);
}

TEST(events_are_done_when_the_work_before_them_is)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    expect_ok(cu->event_query(b.event)); /* never recorded */
    fake->hold(true);
    expect_ok(copy(&b, b.stream));
    expect_ok(cu->event_record(b.event, b.stream));
    assert_int_equal(cu->event_query(b.event), SL_CU_NOT_READY);
    fake->hold(false);
    expect_ok(cu->event_synchronize(b.event));
    expect_ok(cu->event_query(b.event));
    expect_only(&b, FAKE_CUDA_CHANGED, 0);
}

TEST(time_is_measured_by_timed_events_only)
{
    bench b;
    sl_cu_event times[2];
    float ms = 0;
    /* 64 bytes in 20 ms */
    open_bench(&b, &(fake_cuda_options){.copy_rate = 3200});
    expect_ok(cu->event_create(&times[0], 0));
    expect_ok(cu->event_create(&times[1], 0));
    assert_int_equal(cu->event_elapsed(&ms, times[0], times[1]), SL_CU_INVALID_HANDLE);
    expect_ok(cu->event_record(times[0], b.stream));
    expect_ok(copy(&b, b.stream));
    expect_ok(cu->event_record(times[1], b.stream));
    assert_int_equal(cu->event_elapsed(&ms, times[0], times[1]), SL_CU_NOT_READY);
    expect_ok(cu->event_record(b.event, b.stream));
    expect_ok(cu->stream_synchronize(b.stream));
    expect_ok(cu->event_elapsed(&ms, times[0], times[1]));
    assert_true(ms >= 20 && ms < 10000);
    assert_int_equal(cu->event_elapsed(&ms, times[0], b.event), SL_CU_INVALID_HANDLE);
    expect_ok(cu->event_destroy(times[0]));
    expect_ok(cu->event_destroy(times[1]));
    expect_only(&b, FAKE_CUDA_POLLED, 1);
}

TEST(the_default_stream_waits_for_blocking_streams)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    struct CUstream_st *blocking = fake->stream_new(true);
    fake->hold_stream(blocking, true);
    read_on(&b, blocking, look, NULL);
    expect_ok(cu->event_record(b.event, NULL));
    sl_sleep_until_ns(sl_now_ns() + 5 * MS);
    assert_int_equal(cu->event_query(b.event), SL_CU_NOT_READY);
    expect_ok(cu->event_record(b.event, b.other)); /* not blocking: done at once */
    fake->synchronize(b.other);
    expect_ok(cu->event_query(b.event));
    fake->hold_stream(blocking, false);
    fake->synchronize(NULL);
    expect_only(&b, FAKE_CUDA_CHANGED, 0);
}

/* True if work of one stream overtakes earlier, held work of another. */
static bool passes(bool one_queue)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.one_queue = one_queue});
    fake->hold_stream(b.stream, true);
    expect_ok(copy(&b, b.stream));
    expect_ok(cu->event_record(b.event, b.other));
    sl_cu_result code = SL_CU_NOT_READY;
    for (int i = 0; i < (one_queue ? 20 : 5000) && code == SL_CU_NOT_READY; i++) {
        sl_sleep_until_ns(sl_now_ns() + MS);
        code = cu->event_query(b.event);
    }
    fake->hold_stream(b.stream, false);
    expect_ok(cu->event_synchronize(b.event));
    expect_only(&b, FAKE_CUDA_CHANGED, 0);
    return code == SL_CU_SUCCESS;
}

TEST(streams_of_one_queue_wait_for_each_other)
{
    assert_true(passes(false));
    assert_false(passes(true));
}

TEST(unsafe_calls_are_refused_while_forbidden)
{
    bench b;
    unsigned mode = 0; /* global */
    sl_cu_address memory = 0;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    (void)fake->forbid_unsafe(true);
    expect_ok(cu->memory_alloc(&memory, BYTES));
    expect_ok(cu->memory_free(memory));
    assert_true(fake->forbid_unsafe(true));
    expect_ok(cu->capture_mode(&mode));
    assert_int_equal(cu->memory_alloc(&memory, BYTES), SL_CU_STREAM_CAPTURE_UNSUPPORTED);
    assert_false(fake->forbid_unsafe(false));
    expect_ok(cu->memory_alloc(&memory, BYTES));
    expect_ok(cu->memory_free(memory));
    expect_ok(cu->capture_mode(&mode));
    expect_only(&b, FAKE_CUDA_NOT_RELAXED, 3); /* which is seen besides */
}

TEST(pageable_memory_is_taken_at_once)
{
    bench b;
    uint8_t pageable[BYTES];
    memset(pageable, 1, BYTES);
    open_bench(&b, &(fake_cuda_options){.pageable = true});
    fake->hold(true);
    expect_ok(cu->copy_to_device(b.memory, pageable, BYTES, b.stream));
    memset(pageable, 2, BYTES);
    fake->hold(false);
    fake->synchronize(b.stream);
    memset(pageable, 1, BYTES);
    assert_memory_equal(fake->memory(address_of(b.memory)), pageable, BYTES);
    expect_only(&b, FAKE_CUDA_UNPINNED, 0);
}

TEST(memory_is_finite)
{
    bench b;
    sl_cu_address more;
    open_bench(&b, &(fake_cuda_options){.memory = (uint64_t)2 * BYTES});
    assert_int_equal(cu->memory_alloc(&more, BYTES + 1), SL_CU_OUT_OF_MEMORY);
    expect_ok(cu->memory_alloc(&more, BYTES));
    expect_ok(cu->memory_free(more));
    expect_ok(cu->memory_alloc(&more, BYTES));
    expect_ok(cu->memory_free(more));
    expect_only(&b, FAKE_CUDA_DEAD, 0);
}

static void expect_pointer(sl_cu_address address, unsigned type, int device)
{
    unsigned told_type = 99;
    int told_device = 99;
    expect_ok(cu->pointer_attribute(&told_type, SL_CU_POINTER_MEMORY_TYPE, address));
    expect_ok(cu->pointer_attribute(&told_device, SL_CU_POINTER_DEVICE_ORDINAL, address));
    assert_int_equal(told_type, type);
    assert_int_equal(told_device, device);
}

TEST(addresses_are_known)
{
    bench b;
    unsigned type;
    sl_cu_address other;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    fake->set(&(fake_cuda_options){.memory_device = 3});
    expect_ok(cu->memory_alloc(&other, BYTES));
    expect_pointer(b.memory, SL_CU_MEMORY_DEVICE, 0);
    expect_pointer(b.memory + BYTES - 1, SL_CU_MEMORY_DEVICE, 0);
    expect_pointer(other, SL_CU_MEMORY_DEVICE, 3);
    expect_pointer((sl_cu_address)(uintptr_t)b.source, SL_CU_MEMORY_HOST, 0);
    assert_int_equal(
        cu->pointer_attribute(&type, SL_CU_POINTER_MEMORY_TYPE, (sl_cu_address)(uintptr_t)&type),
        SL_CU_INVALID_VALUE);
    expect_ok(cu->memory_free(other));
    assert_int_equal(cu->pointer_attribute(&type, SL_CU_POINTER_MEMORY_TYPE, other),
                     SL_CU_INVALID_VALUE);
    expect_only(&b, FAKE_CUDA_DEAD, 0);
}

TEST(a_lost_device_lets_nobody_wait)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    fake->hold(true);
    expect_ok(copy(&b, b.stream));
    expect_ok(cu->event_record(b.event, b.stream));
    fake->fail_call(
        &(fake_cuda_fault){.symbol = "cuEventQuery", .nth = 2, .code = 700, .sticky = true});
    assert_int_equal(cu->event_query(b.event), SL_CU_NOT_READY);
    assert_int_equal(cu->event_query(b.event), 700);
    assert_string_equal(fake->failed_call(), "cuEventQuery");
    assert_int_equal(cu->event_synchronize(b.event), 700);
    assert_int_equal(cu->stream_synchronize(b.stream), 700);
    fake->synchronize(b.stream); /* nothing is held any more */
    assert_int_equal(cu->event_destroy(b.event), 700);
    sl_cu_context context;
    expect_ok(cu->context_pop(&context));
    assert_int_equal(cu->capture_mode(&b.mode), SL_CU_SUCCESS);
    assert_int_equal(fake->violations(), 0);
    free(b.source);
}

/* ---- conversions ---- */

/* Launches the kernel of that text and name for one pixel, whose results begin at `out`. */
static void launch_one(bench *b, const char *ptx, const char *kernel, sl_cu_address out, float bias)
{
    sl_cu_module module;
    sl_cu_function function;
    sl_conversion_parameters p = {.from = b->memory,
                                  .flags = b->memory + 3,
                                  .to = out,
                                  .rows = 1,
                                  .width = 1,
                                  .height = 1,
                                  .group = 1,
                                  .bias = {bias, bias, bias}};
    void *parameters[] = {&p};
    expect_ok(cu->module_load(&module, ptx));
    expect_ok(cu->module_function(&function, module, kernel));
    expect_ok(
        cu->launch(function, 1, 1, 1, SL_CONVERSION_THREADS, 1, 1, 0, b->stream, parameters, NULL));
    expect_ok(cu->stream_synchronize(b->stream));
    expect_ok(cu->module_unload(module));
}

/* Converts one pixel on the fake: all three of its samples become `value`. */
static void convert_one(bench *b, const char *kernel, float value, void *result, size_t bytes)
{
    sl_cu_address out;
    expect_ok(cu->memory_alloc(&out, 3 * bytes));
    expect_ok(copy(b, b->stream));
    launch_one(b, shipped, kernel, out, value);
    memcpy(result, (const uint8_t *)fake->memory(address_of(out)) + bytes, bytes);
    expect_ok(cu->memory_free(out));
}

TEST(conversions_round_to_nearest_even)
{
    static const struct {
        float value;
        uint16_t half, brain; /* bits, computed by hand */
    } known[] = {
        {0.0F, 0x0000, 0x0000},           {-0.0F, 0x0000, 0x0000}, /* 0 x 0 + -0 is 0 */
        {1.0F, 0x3C00, 0x3F80},           {-2.0F, 0xC000, 0xC000},
        {0x1.555556p-2F, 0x3555, 0x3EAB}, {65504.0F, 0x7BFF, 0x4780},
        {65519.0F, 0x7BFF, 0x4780},       {65520.0F, 0x7C00, 0x4780},
        {0x1p-14F, 0x0400, 0x3880},       {0x1p-24F, 0x0001, 0x3380},
        {0x1p-25F, 0x0000, 0x3300},       {0x1.8p-24F, 0x0002, 0x33C0},
        {0x1.002p0F, 0x3C00, 0x3F80},     {0x1.006p0F, 0x3C02, 0x3F80},
        {0x1.01p0F, 0x3C04, 0x3F80},      {0x1.03p0F, 0x3C0C, 0x3F82},
        {0x1.ffep0F, 0x4000, 0x4000},
    };
    bench b;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        uint16_t bits[2];
        float value;
        convert_one(&b, "sl_conversion_f16_nchw", known[i].value, &bits[0], 2);
        convert_one(&b, "sl_conversion_bf16_nhwc", known[i].value, &bits[1], 2);
        convert_one(&b, "sl_conversion_f32_nchw", known[i].value, &value, 4);
        assert_int_equal(bits[0], known[i].half);
        assert_int_equal(bits[1], known[i].brain);
        assert_true(value == known[i].value);
    }
    expect_only(&b, FAKE_CUDA_DEAD, 0);
}

/* ---- misuses ---- */

TEST(a_launch_that_cannot_run)
{
    bench b;
    sl_cu_module module;
    sl_cu_function function;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    expect_ok(cu->module_load(&module, EMPTY_PTX));
    assert_true(cu->module_function(&function, module, "unknown") != SL_CU_SUCCESS);
    expect_ok(cu->module_function(&function, module, "a_u8_nhwc"));
    sl_conversion_parameters p = {.rows = 1, .width = 1, .height = 1};
    void *parameters[] = {&p};
    assert_int_equal(cu->launch(function, 1, 1, 1, 1025, 1, 1, 0, b.stream, parameters, NULL),
                     SL_CU_INVALID_VALUE);
    assert_int_equal(cu->launch(function, 0, 1, 1, 1, 1, 1, 0, b.stream, parameters, NULL),
                     SL_CU_INVALID_VALUE);
    expect_ok(cu->module_unload(module));
    assert_int_equal(fake->violations(), 2);
    assert_int_equal(cu->launch(function, 1, 1, 1, 1, 1, 1, 0, b.stream, parameters, NULL),
                     SL_CU_INVALID_HANDLE);
    assert_int_equal(fake->violations_of(FAKE_CUDA_DEAD), 1);
    close_bench(&b);
    assert_int_equal(fake->violations_of(FAKE_CUDA_BAD_LAUNCH), 2);
}

/* A kernel with 72 bytes of parameters that uses the first two of its addresses. */
#define WITH_ADDRESSES(body)                                          \
    PTX_OF(".reg .b64 %from, %to; .reg .b32 %v; .reg .pred %p;"       \
           "mov.u32 %v, %tid.x; setp.ne.u32 %p, %v, 0; @%p bra DONE;" \
           "ld.param.u64 %from, [p]; ld.param.u64 %to, [p+16];" body "DONE: ")

/* Memory that only a kernel, or nothing, has written. */
static void expect_kernel_fault(const char *ptx, bool copied, const char *reason)
{
    bench b;
    sl_cu_address out;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    expect_ok(cu->memory_alloc(&out, 3));
    if (copied) {
        expect_ok(copy(&b, b.stream));
    }
    launch_one(&b, ptx, "a_u8_nhwc", out, 0);
    if (reason != NULL && strstr(fake->first_violation(), reason) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", fake->first_violation(), reason);
    }
    expect_ok(cu->memory_free(out));
    expect_only(&b, FAKE_CUDA_KERNEL, reason != NULL);
}

TEST(kernels_that_fail_a_check)
{
    static const char reads[] = WITH_ADDRESSES("ld.global.u8 %v, [%from]; st.global.u8 [%to], %v;");
    static const char beside[] = WITH_ADDRESSES("ld.global.u8 %v, [%from+4];");
    static const char behind[] = WITH_ADDRESSES("st.global.u8 [%to+3], 1;");
    static const char back[] = WITH_ADDRESSES("st.global.u8 [%from], 1;");
    expect_kernel_fault(reads, true, NULL);
    expect_kernel_fault(reads, false, "a byte is read that nobody has written");
    expect_kernel_fault(beside, true, "out of bounds");
    expect_kernel_fault(behind, true, "out of bounds");
    expect_kernel_fault(back, true, "memory that is only read");
}

TEST(a_kernel_that_is_not_understood)
{
    bench b;
    sl_cu_module module;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    assert_int_equal(cu->module_load(&module, PTX_OF("nanosleep.u32 5;")), SL_CU_INVALID_PTX);
    assert_non_null(strstr(fake->first_violation(), "nanosleep.u32 5: unknown instruction"));
    expect_only(&b, FAKE_CUDA_KERNEL, 1);
}

TEST(a_copy_that_loses_a_byte)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.copies_lie = true});
    memset(b.source, 7, BYTES);
    expect_ok(copy(&b, b.stream));
    expect_ok(cu->stream_synchronize(b.stream));
    assert_memory_not_equal(fake->memory(address_of(b.memory)), b.source, BYTES);
    expect_only(&b, FAKE_CUDA_CHANGED, 0); /* only readers detect it */
}

TEST(memory_not_registered)
{
    bench b;
    uint8_t elsewhere[BYTES] = {0};
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    expect_ok(cu->copy_to_device(b.memory, elsewhere, BYTES, b.stream));
    expect_ok(cu->copy_to_device(b.memory, b.source, BYTES, b.stream));
    expect_only(&b, FAKE_CUDA_UNPINNED, 1);
}

TEST(memory_not_of_the_device)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    assert_true(cu->copy_to_device(b.memory + 1, b.source, BYTES, b.stream) != SL_CU_SUCCESS);
    assert_true(cu->copy_to_device((uintptr_t)b.source, b.source, BYTES, b.stream) !=
                SL_CU_SUCCESS);
    expect_only(&b, FAKE_CUDA_NO_TARGET, 2);
}

TEST(a_source_that_changes)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    fake->hold(true);
    expect_ok(copy(&b, b.stream));
    b.source[BYTES - 1] = 1;
    expect_only(&b, FAKE_CUDA_CHANGED, 1);
}

TEST(a_lying_event)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.events_lie = true});
    fake->hold(true);
    expect_ok(copy(&b, b.stream));
    expect_ok(cu->event_record(b.event, b.stream));
    expect_ok(cu->event_synchronize(b.event));
    b.source[0] = 1; /* allowed as far as the fake can know */
    expect_only(&b, FAKE_CUDA_CHANGED, 1);
}

static void wait_for_event(bench *b, sl_cu_stream first, sl_cu_stream second)
{
    expect_ok(cu->event_record(b->event, first));
    expect_ok(cu->stream_wait_event(second, b->event, 0));
}

TEST(a_copy_over_what_is_read)
{
    for (int ignored = 0; ignored < 2; ignored++) {
        bench b;
        open_bench(&b, &(fake_cuda_options){.ignore_releases = ignored != 0});
        fake->hold_stream(b.other, true);
        read_on(&b, b.other, look, NULL);
        wait_for_event(&b, b.other, b.stream);
        expect_ok(copy(&b, b.stream));
        while (ignored != 0 && fake->violations() == 0) {
            sl_sleep_until_ns(sl_now_ns() + MS / 10);
        }
        expect_only(&b, FAKE_CUDA_OVERWRITE, (uint64_t)ignored);
    }
}

TEST(a_read_before_the_copy)
{
    for (int ignored = 0; ignored < 2; ignored++) {
        bench b;
        open_bench(&b, &(fake_cuda_options){.ignore_ready = ignored != 0});
        fake->hold_stream(b.stream, true);
        expect_ok(copy(&b, b.stream));
        wait_for_event(&b, b.stream, b.other);
        read_on(&b, b.other, look, NULL);
        while (ignored != 0 && fake->violations() == 0) {
            sl_sleep_until_ns(sl_now_ns() + MS / 10);
        }
        expect_only(&b, FAKE_CUDA_TOO_EARLY, (uint64_t)ignored);
    }
}

TEST(two_copies_at_once)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    fake->hold_stream(b.stream, true);
    expect_ok(copy(&b, b.stream));
    expect_ok(copy(&b, b.other));
    fake->synchronize(b.other);
    expect_only(&b, FAKE_CUDA_DISORDER, 1);
}

TEST(events_never_recorded)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    expect_ok(cu->stream_wait_event(b.stream, b.event, 0));
    expect_ok(cu->event_synchronize(b.event));
    expect_only(&b, FAKE_CUDA_UNRECORDED, 2);
}

TEST(a_host_that_spins)
{
    bench b;
    sl_cu_event spinning;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    expect_ok(cu->event_create(&spinning, SL_CU_EVENT_DISABLE_TIMING));
    expect_ok(cu->event_record(spinning, b.stream));
    expect_ok(cu->event_synchronize(spinning));
    expect_ok(cu->event_destroy(spinning));
    expect_only(&b, FAKE_CUDA_SPINNING, 1);
}

TEST(use_after_destruction)
{
    bench b;
    sl_cu_event event;
    sl_cu_stream stream;
    sl_cu_address memory;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    expect_ok(cu->event_create(&event, 0));
    expect_ok(cu->stream_create(&stream, SL_CU_STREAM_NON_BLOCKING, 0));
    expect_ok(cu->memory_alloc(&memory, 1));
    for (int i = 0; i < 2; i++) {
        const sl_cu_result expected = i == 0 ? SL_CU_SUCCESS : SL_CU_INVALID_HANDLE;
        assert_int_equal(cu->event_destroy(event), expected);
        assert_int_equal(cu->stream_destroy(stream), expected);
        assert_true((cu->memory_free(memory) == SL_CU_SUCCESS) == (i == 0));
    }
    assert_int_equal(cu->event_record(event, b.stream), SL_CU_INVALID_HANDLE);
    assert_int_equal(cu->event_record(b.event, stream), SL_CU_INVALID_HANDLE);
    assert_int_equal(cu->host_unregister(&b), SL_CU_INVALID_VALUE); /* never registered */
    expect_only(&b, FAKE_CUDA_DEAD, 6);
}

TEST(memory_taken_away)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    fake->hold(true);
    expect_ok(copy(&b, b.stream));
    expect_ok(cu->host_unregister(b.source));
    expect_ok(cu->host_register(b.source, BYTES, SL_CU_HOST_REGISTER_PORTABLE));
    sl_cu_address more;
    expect_ok(cu->memory_alloc(&more, BYTES));
    expect_ok(cu->copy_to_device(more, b.source, BYTES, b.stream));
    expect_ok(cu->memory_free(more));
    close_bench(&b);
    assert_int_equal(fake->violations_of(FAKE_CUDA_PULLED), 2);
    assert_int_equal(fake->violations_of(FAKE_CUDA_DEAD), 1); /* the copy's target was freed */
    assert_int_equal(fake->violations(), 3);
}

TEST(no_context)
{
    bench b;
    sl_cu_context context;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    expect_ok(cu->context_pop(&context));
    assert_int_equal(cu->event_record(b.event, b.stream), SL_CU_INVALID_CONTEXT);
    expect_ok(cu->context_push(b.context));
    expect_ok(cu->context_release(0)); /* releases the last reference */
    assert_int_equal(cu->event_query(b.event), SL_CU_INVALID_CONTEXT);
    expect_ok(cu->context_retain(&b.context, 0));
    expect_only(&b, FAKE_CUDA_NO_CONTEXT, 2);
}

TEST(not_relaxed)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    expect_ok(cu->capture_mode(&b.mode));
    expect_ok(cu->event_query(b.event));
    expect_ok(cu->capture_mode(&b.mode));
    expect_only(&b, FAKE_CUDA_NOT_RELAXED, 1);
}

TEST(captured_streams)
{
    bench b;
    unsigned status = 0;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    struct CUstream_st *blocking = fake->stream_new(true);
    fake->capture(b.other, true);
    fake->capture(blocking, true);
    expect_ok(cu->stream_is_capturing(b.other, &status));
    assert_int_equal(status, 1);
    assert_true(cu->stream_is_capturing(NULL, &status) >= SL_CU_STREAM_CAPTURE_UNSUPPORTED);
    assert_true(cu->event_record(b.event, b.other) >= SL_CU_STREAM_CAPTURE_UNSUPPORTED);
    fake->capture(b.other, false);
    fake->capture(blocking, false);
    expect_ok(cu->stream_is_capturing(b.other, &status));
    assert_int_equal(status, 0);
    expect_ok(cu->event_record(b.event, b.other));
    expect_only(&b, FAKE_CUDA_CAPTURED, 1);
}

TEST(a_stream_joined_to_the_default)
{
    bench b;
    sl_cu_stream stream;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    expect_ok(cu->stream_create(&stream, 0, 0));
    expect_ok(cu->stream_destroy(stream));
    expect_only(&b, FAKE_CUDA_JOINED, 1);
}

TEST(leaks)
{
    bench b;
    char left[160];
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    /* context, push, stream, event, memory, registration */
    assert_int_equal(fake->leaks(left, sizeof(left)), 6);
    assert_non_null(strstr(left, "events: 1"));
    assert_non_null(strstr(left, "streams: 1"));
    assert_non_null(strstr(left, "device memory: 1"));
    assert_non_null(strstr(left, "registered: 1"));
    assert_non_null(strstr(left, "context retained: 1"));
    sl_cu_module module;
    void *memory;
    expect_ok(cu->module_load(&module, EMPTY_PTX));
    expect_ok(cu->host_alloc(&memory, BYTES, 0));
    assert_int_equal(fake->leaks(left, sizeof(left)), 8);
    expect_ok(cu->module_unload(module));
    expect_ok(cu->host_free(memory));
    expect_only(&b, FAKE_CUDA_DEAD, 0);
}

TEST(calls_fail_on_request)
{
    bench b;
    open_bench(&b, &(fake_cuda_options){.seed = 1});
    fake->fail_call(&(fake_cuda_fault){.symbol = "cuEventQuery", .nth = 2, .code = 77});
    expect_ok(cu->event_query(b.event));
    expect_ok(cu->event_record(b.event, b.stream));
    assert_int_equal(cu->event_query(b.event), 77);
    expect_ok(cu->stream_synchronize(b.stream));
    expect_ok(cu->event_query(b.event));
    fake->fail_call(&(fake_cuda_fault){.nth = 1, .code = 78});
    assert_int_equal(cu->event_record(b.event, b.stream), 78);
    expect_ok(cu->event_record(b.event, b.stream));
    assert_int_equal(fake->calls("cuEventQuery"), 3);
    expect_only(&b, FAKE_CUDA_DEAD, 0);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return 1;
    }
    shipped = conversion_ptx_text(argv[1]);
    fake = fake_cuda_open();
    if (fake == NULL) {
        printf("SLUICE_CUDA_DRIVER names no fake driver\n");
        return 77;
    }
    fake->set(&(fake_cuda_options){0});
    cu = sl_cuda_driver_get(NULL);
    if (cu == NULL) {
        printf("the fake driver is refused\n");
        return 1;
    }
    const int failed = test_run(NULL, NULL);
    free(shipped);
    return failed;
}
