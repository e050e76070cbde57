/* SPDX-License-Identifier: Apache-2.0 */
/* Tests byte batches that the device converts: contents, the order of copy, conversion and
 * consumer, the caller's own outputs, and a failure of every device call. */
#include "clock.h"
#include "convert_emulation.h"
#include "memory.h"
#include "philox.h"
#include "staging_rig.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH    4U
#define WIDTH    6U
#define HEIGHT   5U
#define SAMPLES  ((size_t)WIDTH * HEIGHT * 3)
#define ROW_MAX  (SAMPLES * 4)
#define MS       INT64_C(1000000)
#define LONG     (20000 * MS)
#define SLOTS    3U
#define PATIENCE TEST_PATIENCE_NS

static sl_conversion conversion_to(sluice_dtype dtype, sluice_layout layout)
{
    const sl_conversion c = {.dtype = dtype,
                             .layout = layout,
                             .width = WIDTH,
                             .height = HEIGHT,
                             .scale = {0.017F, 0.0174F, 0.0175F},
                             .bias = {-2.1F, -2.03F, -1.8F}};
    return c;
}

/* ---- contents ---- */

static uint8_t sample_of(uint64_t step, uint32_t row, uint32_t at)
{
    return (uint8_t)((step * 131 + (uint64_t)row * 17 + (uint64_t)at * 29) % 251);
}

static uint8_t flags_of(uint64_t step, uint32_t row)
{
    return (uint8_t)((step + row) % 4);
}

static void fill(const rig_view *view, uint64_t step, uint32_t row)
{
    for (uint32_t i = 0; i < SAMPLES; i++) {
        view->images[row * SAMPLES + i] = sample_of(step, row, i);
    }
    view->flags[row] = flags_of(step, row);
    view->labels[row] = (int64_t)(step * 100 + row);
}

static bool row_is_good(const rig_view *view, const sl_conversion *c, uint64_t step, uint32_t row)
{
    uint8_t from[SAMPLES];
    uint8_t expected[ROW_MAX];
    const size_t bytes = sl_conversion_row_bytes(c);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        from[i] = sample_of(step, row, i);
    }
    convert_plainly(c, flags_of(step, row), from, expected);
    return memcmp(view->images + row * bytes, expected, bytes) == 0 &&
           view->labels[row] == (int64_t)(step * 100 + row);
}

/* ---- the rig, with a conversion ---- */

static const rig_options usual = {.host_slots = 4,
                                  .device_slots = SLOTS,
                                  .batch = BATCH,
                                  .fake = {.seed = 1, .delay_us = 300}};

/* A config with conversion; it points into itself. */
typedef struct converting {
    rig_part_list parts;
    sl_staging_conversion conversion;
    sl_staging_config config;
} converting;

static const sl_staging_config *make_config(converting *made, const rig_options *options,
                                            const sl_conversion *c)
{
    made->parts = rig_parts(SAMPLES);
    made->conversion = (sl_staging_conversion){.how = *c, .part = RIG_IMAGE, .flags = RIG_FLAGS};
    made->config = (sl_staging_config){.host_slots = options->host_slots,
                                       .device_slots = options->device_slots,
                                       .batch = BATCH,
                                       .parts = made->parts.of,
                                       .part_count = RIG_PARTS,
                                       .conversions = &made->conversion,
                                       .conversion_count = 1,
                                       .output = RIG_IMAGE};
    return &made->config;
}

static sluice_status open_converting(rig *r, const rig_options *options, const sl_conversion *c,
                                     void *const *outputs)
{
    rig_options wanted = *options;
    wanted.image_bytes = (uint32_t)sl_conversion_row_bytes(c);
    sl_device *device = rig_prepare(r, rig_late(), &wanted);
    converting made;
    (void)make_config(&made, options, c);
    made.config.outputs = outputs;
    return sl_staging_open(&r->staging, device, &made.config, NULL);
}

static void open_rig(rig *r, const rig_options *options, const sl_conversion *c)
{
    assert_int_equal(open_converting(r, options, c, NULL), SLUICE_OK);
}

static bool try_step(rig *r, uint64_t step, uint32_t rows)
{
    const sl_batch_facts facts = {.epoch = 1, .step = step, .rows = rows};
    rig_view view;
    const int slot = rig_begin_view(r, &facts, &view);
    for (uint32_t row = 0; slot >= 0 && row < rows; row++) {
        fill(&view, step, row);
        rig_complete(r, slot, 1);
    }
    return slot >= 0;
}

/* Returns false if no slot becomes empty, as when the device has failed. */
static bool fill_step(rig *r, uint64_t step, uint32_t rows, uint64_t patience_ns)
{
    const uint64_t deadline = sl_now_ns() + patience_ns;
    bool done;
    while (!(done = try_step(r, step, rows)) && sl_now_ns() < deadline) {
        sl_sleep_until_ns(sl_now_ns() + 100000);
    }
    return done;
}

typedef struct reader {
    rig_view view;
    const sl_conversion *conversion;
    uint64_t step;
    uint32_t rows, bad, runs;
} reader;

static void read_batch(void *ctx)
{
    reader *this = ctx;
    for (uint32_t row = 0; row < this->rows; row++) {
        this->bad += !row_is_good(&this->view, this->conversion, this->step, row);
    }
    this->runs++;
}

/* Takes the next batch, queues a kernel that reads it and releases the batch after the kernel. */
static void consume(rig *r, const sl_conversion *c, reader *this)
{
    sluice_batch *batch = NULL;
    assert_int_equal(sl_staging_next(r->staging, LONG, &batch, NULL), SLUICE_OK);
    assert_int_equal(sl_staging_wait(batch, r->stream), SLUICE_OK);
    *this = (reader){.view = rig_view_of(batch->parts),
                     .conversion = c,
                     .step = batch->facts.step,
                     .rows = batch->facts.rows};
    rig_kernel(r, r->stream, &this->view, read_batch, this);
    assert_int_equal(sl_staging_release(batch, true, r->stream), SLUICE_OK);
}

static void check_reader(const reader *this)
{
    assert_int_equal(this->runs, 1);
    assert_int_equal(this->bad, 0);
}

/* ---- contents arrive ---- */

static void run_steps(const sl_conversion *c)
{
    enum { STEPS = 12 };
    rig r;
    reader readers[STEPS];
    open_rig(&r, &usual, c);
    const uint64_t allocations = sl_memory_allocations();
    for (uint64_t step = 0; step < STEPS; step++) {
        const uint32_t rows = step % 5 == 4 ? 1 : BATCH;
        assert_true(fill_step(&r, step, rows, PATIENCE));
        consume(&r, c, &readers[step]);
    }
    rig_synchronize(&r, r.stream);
    assert_int_equal(sl_memory_allocations(), allocations);
    for (size_t i = 0; i < STEPS; i++) {
        check_reader(&readers[i]);
    }
    assert_int_equal(rig_close(&r), 0);
}

TEST(every_dtype_and_layout)
{
    for (int dtype = SLUICE_U8; dtype <= SLUICE_BF16; dtype++) {
        for (int layout = SLUICE_NHWC; layout <= SLUICE_NCHW; layout++) {
            const sl_conversion c = conversion_to((sluice_dtype)dtype, (sluice_layout)layout);
            run_steps(&c);
        }
    }
}

TEST(a_batch_without_rows_passes)
{
    const sl_conversion c = conversion_to(SLUICE_F32, SLUICE_NCHW);
    rig r;
    reader readers[3];
    open_rig(&r, &usual, &c);
    for (uint64_t step = 0; step < 3; step++) {
        assert_true(fill_step(&r, step, step == 1 ? 0 : BATCH, PATIENCE));
        consume(&r, &c, &readers[step]);
    }
    rig_synchronize(&r, r.stream);
    check_reader(&readers[0]);
    check_reader(&readers[2]);
    assert_int_equal(readers[1].rows, 0);
    assert_int_equal(rig_close(&r), 0);
}

TEST(statistics_say_so)
{
    const sl_conversion c = conversion_to(SLUICE_F16, SLUICE_NCHW);
    rig r;
    open_rig(&r, &usual, &c);
    sl_staging_stats stats = {0};
    sl_staging_get_stats(r.staging, &stats);
    assert_int_equal(stats.converts, 1);
    if (r.kind == RIG_FAKE) {
        assert_string_equal(stats.device, "fake:0");
        assert_string_equal(stats.pinning, "fake");
    } else {
        assert_string_equal(stats.device, "cuda:0");
    }
    assert_int_equal(rig_close(&r), 0);
}

/* ---- order ---- */

static void expect_violation(rig *r, const char *expected)
{
    char first[160];
    snprintf(first, sizeof(first), "%s", rig_first_violation(r));
    const uint64_t violations = rig_close(r);
    assert_true(violations > 0);
    if (r->kind == RIG_FAKE) {
        assert_string_equal(first, expected);
    }
}

static void take_and_drop(rig *r)
{
    sluice_batch *batch = NULL;
    assert_int_equal(sl_staging_next(r->staging, LONG, &batch, NULL), SLUICE_OK);
    assert_int_equal(sl_staging_release(batch, false, NULL), SLUICE_OK);
}

/* Nobody reads the first batches: the copies of the next ones must still wait for conversions. */
TEST(batches_that_nobody_looks_at)
{
    const sl_conversion c = conversion_to(SLUICE_F32, SLUICE_NHWC);
    rig_options options = usual;
    options.device_slots = 1;
    rig r;
    reader last;
    open_rig(&r, &options, &c);
    rig_hold(&r, true);
    for (uint64_t step = 0; step < 3; step++) {
        assert_true(fill_step(&r, step, BATCH, PATIENCE));
        take_and_drop(&r);
    }
    assert_true(fill_step(&r, 3, BATCH, PATIENCE));
    consume(&r, &c, &last);
    if (r.kind == RIG_FAKE) {
        rig_hold(&r, false);
        fake_hold_urgent(r.fake, true);
        sl_sleep_until_ns(sl_now_ns() + 5000000);
        assert_true(fake_copies(r.fake) <= 1);
    }
    rig_hold(&r, false);
    rig_synchronize(&r, r.stream);
    check_reader(&last);
    assert_int_equal(rig_close(&r), 0);
}

TEST(the_host_runs_ahead_of_the_device)
{
    const sl_conversion c = conversion_to(SLUICE_BF16, SLUICE_NCHW);
    rig_options options = usual;
    options.device_slots = 1;
    rig r;
    reader readers[4];
    open_rig(&r, &options, &c);
    rig_hold(&r, true);
    for (uint64_t step = 0; step < 4; step++) {
        assert_true(fill_step(&r, step, BATCH, PATIENCE));
        consume(&r, &c, &readers[step]);
    }
    if (r.kind != RIG_CUDA) {                 /* CUDA streams cannot be held */
        assert_false(try_step(&r, 4, BATCH)); /* every host slot waits for its copy */
    }
    rig_hold(&r, false);
    rig_synchronize(&r, r.stream);
    for (size_t i = 0; i < 4; i++) {
        check_reader(&readers[i]);
    }
    assert_int_equal(rig_close(&r), 0);
}

TEST(what_is_dropped_is_not_in_the_way)
{
    const sl_conversion c = conversion_to(SLUICE_F16, SLUICE_NHWC);
    rig r;
    reader after;
    open_rig(&r, &usual, &c);
    for (uint64_t step = 0; step < 4; step++) {
        assert_true(fill_step(&r, step, BATCH, PATIENCE));
    }
    sl_staging_drain(r.staging);
    assert_true(fill_step(&r, 9, BATCH, PATIENCE));
    consume(&r, &c, &after);
    rig_synchronize(&r, r.stream);
    check_reader(&after);
    assert_int_equal(after.step, 9);
    assert_int_equal(rig_close(&r), 0);
}

/* Consumers of every kind in turn, with all streams randomly late. */
TEST(a_long_run)
{
    enum { STEPS = 300 };
    static reader readers[STEPS];
    const sl_conversion c = conversion_to(SLUICE_F16, SLUICE_NCHW);
    rig_options options = usual;
    options.fake = (fake_options){.seed = 77, .delay_us = 60};
    rig r;
    open_rig(&r, &options, &c);
    sl_random random = sl_random_for(77, 0, 0, 0);
    memset(readers, 0, sizeof(readers));
    for (uint64_t step = 0; step < STEPS; step++) {
        assert_true(fill_step(&r, step, 1 + sl_random_below(&random, BATCH), PATIENCE));
        switch (sl_random_below(&random, 5)) {
        case 0:
            take_and_drop(&r);
            break;
        case 1:
            sl_staging_drain(r.staging);
            break;
        default:
            consume(&r, &c, &readers[step]);
            break;
        }
    }
    rig_synchronize(&r, r.stream);
    uint32_t runs = 0;
    for (size_t i = 0; i < STEPS; i++) {
        runs += readers[i].runs;
        assert_int_equal(readers[i].bad, 0);
    }
    assert_true(runs > STEPS / 2);
    assert_int_equal(rig_close(&r), 0);
}

/* ---- the checks can fail ---- */

TEST(a_conversion_that_waits_for_no_copy_is_caught)
{
    const sl_conversion c = conversion_to(SLUICE_F32, SLUICE_NHWC);
    rig r;
    if (rig_late() != RIG_FAKE) {
        return; /* has its own test */
    }
    rig_options options = usual;
    options.fake = (fake_options){.seed = 1, .ignore_copies = true};
    open_rig(&r, &options, &c);
    rig_hold(&r, true);
    assert_true(fill_step(&r, 0, BATCH, PATIENCE));
    take_and_drop(&r);
    /* the urgent stream is the library's last stream */
    fake_hold_urgent(r.fake, false);
    while (fake_conversions(r.fake) == 0) {
        sl_sleep_until_ns(sl_now_ns() + 1000000);
    }
    rig_hold(&r, false);
    expect_violation(&r, "conversion of a batch that is not ready");
}

TEST(a_copy_that_waits_for_no_conversion_is_caught)
{
    const sl_conversion c = conversion_to(SLUICE_F32, SLUICE_NHWC);
    rig r;
    if (rig_late() != RIG_FAKE) {
        return;
    }
    rig_options options = usual;
    options.device_slots = 1;
    options.fake = (fake_options){.seed = 1, .ignore_releases = true};
    open_rig(&r, &options, &c);
    fake_hold_urgent(r.fake, true);
    for (uint64_t step = 0; step < 2; step++) {
        assert_true(fill_step(&r, step, BATCH, PATIENCE));
        take_and_drop(&r);
    }
    while (fake_copies(r.fake) < 2) {
        sl_sleep_until_ns(sl_now_ns() + 1000000);
    }
    fake_hold_urgent(r.fake, false);
    expect_violation(&r, "copy over a batch that a conversion still has to read");
}

/* ---- outputs of the caller's ---- */

TEST(pictures_go_to_the_callers_memory)
{
    const sl_conversion c = conversion_to(SLUICE_U8, SLUICE_NHWC);
    if (rig_late() != RIG_FAKE) {
        return;
    }
    rig_options options = usual;
    options.image_bytes = (uint32_t)SAMPLES;
    rig r;
    sl_device *device = rig_prepare(&r, RIG_FAKE, &options);
    void *outputs[SLOTS];
    for (size_t i = 0; i < SLOTS; i++) {
        outputs[i] = fake_memory_new(r.fake, (size_t)BATCH * SAMPLES);
    }
    converting made;
    (void)make_config(&made, &usual, &c);
    made.config.outputs = outputs;
    assert_int_equal(sl_staging_open(&r.staging, device, &made.config, NULL), SLUICE_OK);
    memset(&made, 0, sizeof(made));
    memset(outputs, 0, sizeof(outputs)); /* open only reads it */
    reader readers[8];
    uint8_t *seen[8];
    for (uint64_t step = 0; step < 8; step++) {
        assert_true(fill_step(&r, step, BATCH, PATIENCE));
        consume(&r, &c, &readers[step]);
        seen[step] = readers[step].view.images;
    }
    rig_synchronize(&r, r.stream);
    size_t different = 0;
    for (size_t i = 0; i < 8; i++) {
        check_reader(&readers[i]);
        size_t same = 0;
        for (size_t j = 0; j < i; j++) {
            same += seen[i] == seen[j];
        }
        different += same == 0;
    }
    assert_true(different <= SLOTS);
    assert_int_equal(rig_close(&r), 0); /* the misuses include the test's closed memory */
}

/* ---- every call fails once ---- */

/* Runs three steps, as far as possible. */
static void go_through(rig *r, const sl_conversion *c)
{
    reader readers[3];
    uint32_t begun = 0;
    for (uint64_t step = 0; step < 3; step++) {
        sluice_batch *batch = NULL;
        if (!fill_step(r, step, BATCH, UINT64_C(200000000)) ||
            sl_staging_next(r->staging, LONG, &batch, NULL) != SLUICE_OK) {
            break;
        }
        readers[step] = (reader){
            .view = rig_view_of(batch->parts), .conversion = c, .step = step, .rows = BATCH};
        if (sl_staging_wait(batch, r->stream) == SLUICE_OK) {
            rig_kernel(r, r->stream, &readers[step].view, read_batch, &readers[step]);
            begun++;
        }
        (void)sl_staging_release(batch, true, r->stream);
    }
    rig_synchronize(r, r->stream);
    for (uint32_t i = 0; i < begun; i++) {
        check_reader(&readers[i]);
    }
}

TEST(each_call_fails_once)
{
    const sl_conversion c = conversion_to(SLUICE_F32, SLUICE_NCHW);
    bool failed = true;
    uint32_t opened = 0;
    if (rig_late() != RIG_FAKE) {
        return;
    }
    for (uint64_t nth = 1; failed; nth++) {
        rig_options options = usual;
        options.fake = (fake_options){.seed = nth};
        options.image_bytes = (uint32_t)sl_conversion_row_bytes(&c);
        rig r;
        sl_device *device = rig_prepare(&r, RIG_FAKE, &options);
        options.host_slots = options.device_slots = 2;
        converting made;
        const sl_staging_config *config = make_config(&made, &options, &c);
        rig_fail(&r, nth, nth % 2 == 0);
        if (sl_staging_open(&r.staging, device, config, NULL) == SLUICE_OK) {
            opened++;
            go_through(&r, &c);
        } else {
            assert_true(rig_has_failed(&r));
        }
        failed = rig_has_failed(&r);
        assert_int_equal(rig_close(&r), 0);
    }
    assert_true(opened > 10);
}

int main(void)
{
    const int skipped = rig_skip_late();
    if (skipped != 0) {
        return skipped;
    }
    if (rig_late() != RIG_FAKE && !sl_conversion_has_images()) {
        printf("skipped: the library is built without its CUDA kernels\n");
        return 77;
    }
    return test_run(NULL, NULL);
}
