/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the whole loader over a CUDA device (with a fake driver): batches there equal those of a
 * loader over host memory, bit for bit, converted by the fake's own reference, and the driver is
 * called correctly. */
#include "batches.h"
#include "fake_cuda_client.h"
#include "loader_setup.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLASSES   4
#define PER_CLASS 10
#define BATCH     8
#define STEPS     (CLASSES * PER_CLASS / BATCH)
#define FIELDS    5
#define MS        UINT64_C(1000000)

static photo_folder photos;
static const fake_cuda_control *fake;

static int setup(void **state)
{
    photo_folder_make(&photos, CLASSES, PER_CLASS);
    return 0;
}

static int teardown(void **state)
{
    photo_folder_remove(&photos);
    return 0;
}

static sluice_loader_options options_for(const char *device)
{
    sluice_loader_options options = setup_options();
    options.batch_size = BATCH;
    options.device = device;
    return options;
}

/* ---- a consumer on a stream: everything is read late ---- */

typedef struct piece {
    const void *from; /* host address of the device memory */
    void *to;
    size_t bytes;
} piece;

static void copy_piece(void *ctx)
{
    const piece *p = ctx;
    memcpy(p->to, p->from, p->bytes);
}

typedef struct collected {
    uint8_t *bytes[STEPS][FIELDS];
    size_t sizes[STEPS][FIELDS];
    piece pieces[STEPS][FIELDS];
    uint64_t steps;
    sluice_status end;
} collected;

static const char *const fields[FIELDS] = {"image", "label", "index", "status", "mask"};

static void read_field(collected *all, struct CUstream_st *stream, const sluice_batch *batch,
                       int field)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_tensor(batch, fields[field], &tensor), SLUICE_OK);
    assert_int_equal(tensor.device_type, SLUICE_DEVICE_TYPE_CUDA);
    assert_int_equal(tensor.device_number, 0);
    piece *p = &all->pieces[all->steps][field];
    p->bytes = tensor.size_bytes;
    p->from = fake->memory(tensor.data);
    p->to = malloc(p->bytes);
    assert_true(p->from != NULL && p->to != NULL);
    all->bytes[all->steps][field] = p->to;
    all->sizes[all->steps][field] = p->bytes;
    const fake_cuda_reader reader = {
        .from = {tensor.data}, .bytes = {p->bytes}, .run = copy_piece, .ctx = p};
    fake->launch(stream, &reader);
}

static void collect(collected *all, sluice_loader *loader, struct CUstream_st *stream,
                    uint64_t epoch)
{
    memset(all, 0, sizeof(*all));
    assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
    sluice_batch *batch;
    const uint64_t waits = fake->host_waits();
    while ((all->end = sluice_loader_next(loader, &batch, -1)) == SLUICE_OK) {
        assert_true(all->steps < STEPS);
        assert_int_equal(sluice_batch_wait(batch, stream), SLUICE_OK);
        for (int field = 0; field < FIELDS; field++) {
            read_field(all, stream, batch, field);
        }
        all->steps++;
        assert_int_equal(sluice_batch_release_on(batch, stream), SLUICE_OK);
    }
    /* The consumer's thread never waits for the device, and its context stays unchanged. */
    assert_int_equal(fake->host_waits(), waits);
    assert_int_equal(fake->context_depth(), 0);
    assert_int_equal(fake->capture_mode(), 0);
    fake->synchronize(stream);
}

static void free_collected(collected *all)
{
    for (uint64_t step = 0; step < all->steps; step++) {
        for (int field = 0; field < FIELDS; field++) {
            free(all->bytes[step][field]);
        }
    }
}

static void expect_same(const collected *there, const batches *here)
{
    assert_int_equal(there->end, SLUICE_END);
    assert_int_equal(there->steps, here->steps);
    uint64_t row = 0;
    for (uint64_t step = 0; step < there->steps; step++) {
        const uint64_t rows = here->rows_of_step[step];
        const void *expected[FIELDS] = {here->images + row * here->row_bytes, here->labels + row,
                                        here->indices + row, here->status + row, here->mask + row};
        const size_t sizes[FIELDS] = {here->row_bytes, 8, 8, 1, 1};
        for (int field = 0; field < FIELDS; field++) {
            assert_int_equal(there->sizes[step][field], rows * sizes[field]);
            assert_memory_equal(there->bytes[step][field], expected[field], rows * sizes[field]);
        }
        row += rows;
    }
}

static void close_all(sluice_loader *loader)
{
    sluice_loader_close(loader);
    assert_int_equal(fake_cuda_complain(fake), 0);
}

/* ---- the same as on the host ---- */

static void compare(sluice_dtype dtype, sluice_layout layout)
{
    sluice_loader_options options = options_for("host");
    options.dtype = dtype;
    options.layout = layout;
    sluice_loader *host = setup_loader(photos.path, &options);
    options.device = "cuda:0";
    fake->reset();
    fake->set(&(fake_cuda_options){.seed = 10U * dtype + layout, .delay_us = 200});
    sluice_loader *cuda = setup_loader(photos.path, &options);
    struct CUstream_st *stream = fake->stream_new(true);
    for (uint64_t epoch = 0; epoch < TEST_AMOUNT(3, 1); epoch++) {
        batches here;
        collected there;
        batches_collect(&here, host, epoch);
        collect(&there, cuda, stream, epoch);
        expect_same(&there, &here);
        batches_free(&here);
        free_collected(&there);
    }
    sluice_loader_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(sluice_loader_get_stats(cuda, &stats), SLUICE_OK);
    assert_string_equal(stats.device, "cuda:0");
    assert_string_equal(stats.pinning, "registered");
    assert_int_equal(stats.device_slots, 3);
    printf("%d %d: %s, %d kernels\n", (int)dtype, (int)layout,
           stats.converts_on_device ? "converted on the device" : "converted on the host",
           (int)fake->kernels());
    assert_true((fake->kernels() > 0) == (stats.converts_on_device != 0));
    sluice_loader_close(host);
    close_all(cuda);
}

TEST(batches_are_those_of_the_host)
{
    static const sluice_dtype dtypes[] = {SLUICE_U8, SLUICE_F32, SLUICE_F16, SLUICE_BF16};
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        compare(dtypes[i], SLUICE_NHWC);
        compare(dtypes[i], SLUICE_NCHW);
    }
}

/* The comparison can fail. */
TEST(a_lost_byte_is_seen)
{
    sluice_loader_options options = options_for("cuda:0");
    fake->reset();
    fake->set(&(fake_cuda_options){.copies_lie = true});
    sluice_loader *loader = setup_loader(photos.path, &options);
    struct CUstream_st *stream = fake->stream_new(false);
    options.device = "host";
    sluice_loader *host = setup_loader(photos.path, &options);
    batches here;
    collected there;
    batches_collect(&here, host, 0);
    collect(&there, loader, stream, 0);
    assert_memory_not_equal(there.bytes[0][0], here.images, here.row_bytes);
    assert_memory_equal(there.bytes[0][0] + 1, here.images + 1, here.row_bytes - 1);
    batches_free(&here);
    free_collected(&there);
    sluice_loader_close(host);
    close_all(loader);
}

/* ---- memory ---- */

/* Runs one epoch. Checks its batches, and the statistics' kind of pinning and reason for it. */
static void run_pinned(const char *pinning, const char *reason, const fake_cuda_options *options,
                       const fake_cuda_fault *fault)
{
    sluice_loader_options wanted = options_for("cuda:0");
    wanted.dtype = SLUICE_F16;
    fake->reset();
    fake->set(options);
    fake->fail_call(fault);
    sluice_loader *loader = setup_loader(photos.path, &wanted);
    wanted.device = "host";
    sluice_loader *host = setup_loader(photos.path, &wanted);
    batches here;
    collected there;
    batches_collect(&here, host, 0);
    collect(&there, loader, fake->stream_new(false), 0);
    expect_same(&there, &here);
    sluice_loader_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    assert_string_equal(stats.pinning, pinning);
    assert_string_equal(stats.pinning_reason, reason);
    batches_free(&here);
    free_collected(&there);
    sluice_loader_close(host);
    close_all(loader);
}

TEST(pinning_falls_back)
{
    const fake_cuda_fault none = {.nth = 0};
    const fake_cuda_fault no_register = {.symbol = "cuMemHostRegister_v2", .nth = 1, .code = 801};
    const fake_cuda_fault no_alloc = {.symbol = "cuMemHostAlloc", .nth = 1, .code = 2};
    const char *const cannot = "the device cannot register a program's own memory";
    run_pinned("registered", "", &(fake_cuda_options){.seed = 1}, &none);
    run_pinned("driver", cannot, &(fake_cuda_options){.no_register = true}, &none);
    run_pinned("driver",
               "cuMemHostRegister: CUDA error 801, CUDA_ERROR_OF_THE_FAKE (an error on request)",
               &(fake_cuda_options){.seed = 1}, &no_register);
    run_pinned("pageable",
               "the device cannot register a program's own memory; cuMemHostAlloc: CUDA error "
               "2, CUDA_ERROR_OF_THE_FAKE (an error on request)",
               &(fake_cuda_options){.no_register = true, .pageable = true}, &no_alloc);
}

TEST(too_little_device_memory_is_told)
{
    const sluice_loader_options options = options_for("cuda:0");
    sluice_loader *loader;
    sluice_error error = SLUICE_ERROR_INIT;
    fake->reset();
    fake->set(&(fake_cuda_options){.memory = 20000});
    assert_int_equal(setup_loader_status(&loader, photos.path, &options, &error), SLUICE_NOMEM);
    assert_null(loader);
    assert_non_null(strstr(error.text, "cuda:0"));
    assert_int_equal(fake_cuda_complain(fake), 0);
}

/* ---- every call of opening fails once ---- */

/* A caller that cannot enter the context cannot free anything. */
static bool entry_failed(void)
{
    const char *failed = fake->failed_call();
    return failed != NULL && (strcmp(failed, "cuCtxPushCurrent_v2") == 0 ||
                              strcmp(failed, "cuThreadExchangeStreamCaptureMode") == 0);
}

/* True if the nth call was part of opening. */
static bool open_failing(uint64_t nth, bool sticky)
{
    sluice_loader_options options = options_for("cuda:0");
    options.dtype = SLUICE_F32;
    sluice_loader *loader;
    sluice_error error = SLUICE_ERROR_INIT;
    fake->reset();
    fake->set(&(fake_cuda_options){.pageable = true});
    fake->fail_call(&(fake_cuda_fault){.nth = nth, .code = 719, .sticky = sticky});
    const sluice_status status = setup_loader_status(&loader, photos.path, &options, &error);
    const bool failed = fake->failed_call() != NULL;
    if (status == SLUICE_OK) {
        /* The loader works without this call, or the failure is still unnoticed. */
        sluice_batch *batch = NULL;
        assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
        const sluice_status next = sluice_loader_next(loader, &batch, -1);
        assert_true(next == SLUICE_OK || next == SLUICE_DEVICE);
        sluice_batch_release(batch);
        sluice_loader_close(loader);
    } else {
        assert_true(failed && status == SLUICE_DEVICE);
        assert_int_equal(error.device_code, 719);
        assert_null(loader);
    }
    assert_int_equal(fake->violations(), 0);
    assert_true(entry_failed() || fake_cuda_complain(fake) == 0);
    return failed;
}

TEST(every_call_of_opening_may_fail)
{
    for (int sticky = 0; sticky < 2; sticky++) {
        uint64_t nth = 1;
        while (open_failing(nth, sticky != 0)) {
            nth += (uint64_t)TEST_AMOUNT(1, 2 + sticky);
        }
        printf("%s: %d failing calls survived\n", sticky ? "sticky" : "once", (int)nth - 1);
        assert_true(nth > 100);
    }
}

/* ---- life ---- */

TEST(close_at_any_time)
{
    for (uint64_t taken = 0; taken <= STEPS; taken++) {
        sluice_loader_options options = options_for("cuda");
        options.dtype = SLUICE_F16;
        fake->reset();
        fake->set(&(fake_cuda_options){.seed = taken, .delay_us = 300});
        struct CUstream_st *stream = fake->stream_new(false);
        sluice_loader *loader = setup_loader(photos.path, &options);
        assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
        sluice_batch *held = NULL;
        for (uint64_t i = 0; i < taken; i++) {
            if (held != NULL) {
                assert_int_equal(sluice_batch_release_on(held, stream), SLUICE_OK);
            }
            assert_int_equal(sluice_loader_next(loader, &held, -1), SLUICE_OK);
            assert_int_equal(sluice_batch_wait(held, stream), SLUICE_OK);
        }
        sluice_loader_close(loader);
        if (held != NULL) {
            assert_int_equal(sluice_batch_release_on(held, stream), SLUICE_OK);
        }
        assert_int_equal(fake_cuda_complain(fake), 0);
    }
}

/* If the consumer's stream is gone, or never belonged to the device, the call fails and loses
 * nothing: the consumer can continue with another stream. There are more batches than slots, so
 * that a lost one would be noticed. */
static void a_bad_stream_costs_nothing(fake_cuda_home home, bool ended, const char *words)
{
    const sluice_loader_options options = options_for("cuda:0");
    fake->reset();
    fake->set(&(fake_cuda_options){.seed = 1});
    sluice_loader *loader = setup_loader(photos.path, &options);
    struct CUstream_st *good = fake->stream_new(false);
    struct CUstream_st *bad = fake->stream_new(false);
    fake->set_home(bad, home);
    if (ended) {
        fake->stream_end(bad);
    }
    sluice_error error = SLUICE_ERROR_INIT;
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        sluice_batch *batch;
        sluice_status status;
        uint64_t steps = 0;
        assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
        while ((status = sluice_loader_next(loader, &batch, 5000 * (int64_t)MS)) == SLUICE_OK) {
            assert_int_equal(sluice_batch_wait(batch, bad), SLUICE_INVALID);
            assert_int_equal(sluice_batch_release_on(batch, bad), SLUICE_INVALID);
            assert_int_equal(sluice_loader_get_error(loader, &error), SLUICE_INVALID);
            assert_non_null(strstr(error.text, words));
            assert_int_equal(sluice_batch_wait(batch, good), SLUICE_OK);
            assert_int_equal(sluice_batch_release_on(batch, good), SLUICE_OK);
            steps++;
        }
        assert_int_equal(status, SLUICE_END);
        assert_int_equal(steps, STEPS);
    }
    sluice_loader_close(loader);
    const uint64_t dead = fake->violations_of(FAKE_CUDA_DEAD);
    assert_true(ended ? dead > 0 : dead == 0);
    assert_int_equal(fake->violations(), dead);
}

TEST(bad_streams_cost_nothing)
{
    a_bad_stream_costs_nothing(FAKE_CUDA_PRIMARY, true, "cuStreamGetCtx");
    a_bad_stream_costs_nothing(FAKE_CUDA_NO_HOME, false, "cuStreamGetCtx");
    a_bad_stream_costs_nothing(FAKE_CUDA_OTHER_CONTEXT, false, "primary context");
    a_bad_stream_costs_nothing(FAKE_CUDA_OTHER_DEVICE, false, "another device");
}

TEST(a_lost_device_ends_next)
{
    const sluice_loader_options options = options_for("cuda:0");
    fake->reset();
    fake->set(&(fake_cuda_options){.seed = 1});
    sluice_loader *loader = setup_loader(photos.path, &options);
    sluice_batch *batch;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    fake->lose(700); /* by a kernel of the consumer's, say */
    const uint64_t start = setup_now_ns();
    sluice_batch_release(batch);
    sluice_status status;
    while ((status = sluice_loader_next(loader, &batch, -1)) == SLUICE_OK) {
        sluice_batch_release(batch);
    }
    assert_int_equal(status, SLUICE_DEVICE);
    assert_true(setup_now_ns() - start < TEST_PATIENCE_NS);
    sluice_loader_get_error(loader, &error);
    assert_int_equal(error.device_code, 700);
    sluice_loader_close(loader);
    assert_int_equal(fake_cuda_complain(fake), 0);
}

static int exit_code_of(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Everything that a child may do with its parent's objects. */
static int use_in_child(sluice_loader *loader, sluice_batch *batch)
{
    sluice_batch *other;
    const bool refused = sluice_loader_next(loader, &other, 0) == SLUICE_STATE &&
                         sluice_batch_wait(batch, NULL) == SLUICE_STATE &&
                         sluice_loader_start_epoch(loader, 1) == SLUICE_STATE;
    sluice_batch_release(batch);
    (void)sluice_batch_release_on(batch, NULL);
    sluice_loader_close(loader);
    return refused && fake->forked_calls() == 0 ? 42 : 1;
}

TEST(a_forked_child_leaves_the_device_alone)
{
    const sluice_loader_options options = options_for("cuda:0");
    fake->reset();
    fake->set(&(fake_cuda_options){.seed = 1});
    sluice_loader *loader = setup_loader(photos.path, &options);
    sluice_batch *batch;
    assert_int_equal(sluice_loader_start_epoch(loader, 0), SLUICE_OK);
    assert_int_equal(sluice_loader_next(loader, &batch, -1), SLUICE_OK);
    const pid_t child = fork();
    if (child == 0) {
        _exit(use_in_child(loader, batch));
    }
    assert_int_equal(exit_code_of(child), 42);
    sluice_batch_release(batch);
    close_all(loader);
}

/* ---- the end of a process with a loader in it, in a process of its own ---- */

static const char *const endings[] = {"live", "deinitialized", "closed late"};

static sluice_loader *last;

static void end_driver(void)
{
    fake->set(&(fake_cuda_options){.deinitialized = true});
}

static void close_last(void)
{
    sluice_loader_close(last);
}

static int end_with_loader(const char *path, const char *ending)
{
    const sluice_loader_options options = options_for("cuda:0");
    sluice_batch *batch;
    fake = fake_cuda_open();
    last = setup_loader(path, &options);
    if (sluice_loader_start_epoch(last, 0) != SLUICE_OK ||
        sluice_loader_next(last, &batch, -1) != SLUICE_OK) {
        return 1;
    }
    if (strcmp(ending, endings[0]) != 0) {
        sluice_batch_release(batch);
        if (strcmp(ending, endings[2]) == 0) {
            (void)atexit(close_last); /* after the driver is gone */
        }
        (void)atexit(end_driver);
    }
    return 42;
}

TEST(a_process_may_end_with_a_loader)
{
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        const uint64_t start = setup_now_ns();
        const pid_t child = fork();
        if (child == 0) {
            (void)execl("/proc/self/exe", "loader_cuda_test", photos.path, endings[i],
                        (char *)NULL);
            _exit(2);
        }
        assert_int_equal(exit_code_of(child), 42);
        assert_true(setup_now_ns() - start < TEST_PATIENCE_NS);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        return end_with_loader(argv[1], argv[2]);
    }
    fake = fake_cuda_open();
    if (fake == NULL) {
        printf("SLUICE_CUDA_DRIVER names no fake driver\n");
        return 77;
    }
    return test_run(setup, teardown);
}
