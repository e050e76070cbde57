/* SPDX-License-Identifier: Apache-2.0 */
/* Tests options for device memory, and rows without an image on a device that converts: the same as
 * on the host. The device is a fake CUDA driver (SLUICE_CUDA_DRIVER). */
#include "batches.h"
#include "fake_cuda_client.h"
#include "loader_setup.h"
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 3, PER_CLASS = 9, OUTPUTS = 2 };

static photo_folder photos;
static const fake_cuda_control *fake;

static bool has_kernels(void)
{
    char text[640];
    return sluice_device_get_text("cuda:0", text, sizeof(text)) == SLUICE_OK &&
           strstr(text, "; converts batches") != NULL;
}

/* ---- options ---- */

static sluice_status try_open(const sluice_loader_options *options, const char *expected)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader *loader = NULL;
    const sluice_status status = setup_loader_status(&loader, photos.path, options, &error);
    assert_true((status == SLUICE_OK) == (loader != NULL));
    sluice_loader_close(loader);
    if (status != SLUICE_OK && strstr(error.text, expected) == NULL) {
        fail_msg("\"%s\" does not name %s", error.text, expected);
    }
    return status;
}

TEST(device_slots_have_a_range)
{
    static const uint32_t wrong[] = {1, 65, UINT32_MAX};
    sluice_loader_options options = setup_options();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        options.device_slots = wrong[i];
        assert_int_equal(try_open(&options, "device_slots"), SLUICE_INVALID);
    }
    options.device_slots = 64;
    assert_int_equal(try_open(&options, ""), SLUICE_OK); /* useless but harmless */
}

TEST(outputs_are_checked)
{
    /* never written to: nothing is opened */
    _Alignas(256) static uint8_t memory[512];
    void *blocks[65];
    for (size_t i = 0; i < 65; i++) {
        blocks[i] = memory;
    }
    sluice_loader_options options = setup_options();
    options.outputs = blocks;
    static const uint32_t wrong[] = {0, 1, 65};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        options.output_count = wrong[i];
        assert_int_equal(try_open(&options, "output"), SLUICE_INVALID);
    }
    options.output_count = 2;
    assert_int_equal(try_open(&options, "a duplicate"), SLUICE_INVALID);
    blocks[1] = memory + 256;
    assert_int_equal(try_open(&options, "closer"), SLUICE_INVALID);
    blocks[1] = NULL;
    assert_int_equal(try_open(&options, "NULL"), SLUICE_INVALID);
    blocks[1] = memory + 8;
    assert_int_equal(try_open(&options, "multiple"), SLUICE_INVALID);
    options.outputs = NULL;
    assert_int_equal(try_open(&options, "output_count"), SLUICE_INVALID);
}

TEST(outputs_need_finite_results)
{
    if (fake == NULL || !has_kernels()) {
        skip();
        return; /* not reached */
    }
    _Alignas(256) static uint8_t memory[512];
    void *blocks[] = {memory, memory + 256};
    sluice_loader_options options = setup_options();
    options.device = "cuda:0";
    options.dtype = SLUICE_F32;
    options.outputs = blocks;
    options.output_count = 2;
    sluice_augment *recipe = setup_recipe(false);
    const float mean[] = {0, 0, 0};
    const float deviation[] = {1e-42F, 1, 1};
    assert_int_equal(sluice_augment_normalize(recipe, mean, deviation, 3), SLUICE_OK);
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_loader_open(&loader, dataset, recipe, &options, &error),
                     SLUICE_UNSUPPORTED);
    /* in the library's own memory, they are converted on the host instead */
    options.outputs = NULL;
    options.output_count = 0;
    assert_int_equal(sluice_loader_open(&loader, dataset, recipe, &options, &error), SLUICE_OK);
    sluice_loader_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    assert_int_equal(stats.converts_on_device, 0);
    sluice_loader_close(loader);
    sluice_dataset_close(dataset);
    sluice_augment_destroy(recipe);
}

/* ---- statistics ---- */

TEST(waits_are_counted)
{
    sluice_loader_options options = setup_options();
    options.on_bad_sample = SLUICE_BAD_MASK;
    sluice_loader *loader = setup_loader(photos.path, &options);
    batches all;
    batches_collect(&all, loader, 0);
    sluice_loader_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    uint64_t waits = 0;
    for (size_t i = 0; i < SLUICE_WAIT_BINS; i++) {
        waits += stats.host_waits[i];
    }
    assert_int_equal(waits, stats.batches);
    assert_int_equal(waits, all.steps);
    assert_true(waits > 0);
    assert_true(stats.host_wait_max_ns <= stats.host_wait_ns);
    assert_true(stats.host_wait_ns <= stats.host_wait_max_ns * stats.batches);
    assert_string_equal(stats.device, "host");
    assert_string_equal(stats.pinning, "none");
    assert_int_equal(stats.device_slots, 0);
    assert_int_equal(stats.converts_on_device, 0);
    assert_int_equal(stats.steps_timed, 0);
    sluice_loader_close(loader);
    batches_free(&all);
}

static sluice_stage_stats stage_of(sluice_loader *loader, sluice_stage stage)
{
    sluice_stage_stats stats = SLUICE_STAGE_STATS_INIT;
    assert_int_equal(sluice_loader_get_stage(loader, stage, &stats), SLUICE_OK);
    return stats;
}

static uint64_t depths(const sluice_stage_stats *stage)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < SLUICE_HISTOGRAM_BINS; i++) {
        sum += stage->depth[i];
    }
    return sum;
}

TEST(stages_are_counted)
{
    sluice_loader_options options = setup_options();
    options.on_bad_sample = SLUICE_BAD_MASK;
    options.end_epoch = 1;
    sluice_loader *loader = setup_loader(photos.path, &options);
    batches all;
    batches_collect(&all, loader, 0);
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    const sluice_stage_stats read = stage_of(loader, SLUICE_STAGE_READ);
    const sluice_stage_stats decode = stage_of(loader, SLUICE_STAGE_DECODE);
    const sluice_stage_stats augment = stage_of(loader, SLUICE_STAGE_AUGMENT);
    const sluice_stage_stats upload = stage_of(loader, SLUICE_STAGE_UPLOAD);
    assert_int_equal(read.items, stats.reads);
    assert_int_equal(read.items, depths(&read));
    assert_int_equal(decode.items, all.rows);               /* bad samples are tried, too */
    assert_in_range(depths(&decode), 1, decode.items);      /* rows are passed on together */
    assert_in_range(augment.items, all.rows - 1, all.rows); /* without the bad sample */
    assert_int_equal(depths(&augment), 0);
    assert_int_equal(upload.items, all.steps);
    assert_true(read.busy_ns > 0 && decode.busy_ns > 0 && augment.busy_ns > 0);
    sluice_stage_stats none = SLUICE_STAGE_STATS_INIT;
    assert_int_equal(sluice_loader_get_stage(loader, (sluice_stage)4, &none), SLUICE_INVALID);
    assert_int_equal(sluice_loader_get_stage(loader, (sluice_stage)-1, &none), SLUICE_INVALID);
    assert_int_equal(sluice_loader_get_stage(loader, SLUICE_STAGE_READ, NULL), SLUICE_INVALID);
    assert_int_equal(sluice_loader_get_stage(NULL, SLUICE_STAGE_READ, &none), SLUICE_INVALID);
    sluice_loader_close(loader);
    batches_free(&all);
}

/* ---- rows without a picture ---- */

static uint64_t wrong_bytes(sluice_batch *here, sluice_batch *there, struct CUstream_st *stream)
{
    sluice_tensor host = SLUICE_TENSOR_INIT;
    sluice_tensor device = SLUICE_TENSOR_INIT;
    assert_int_equal(sluice_batch_wait(there, stream), SLUICE_OK);
    fake->synchronize(stream);
    assert_int_equal(sluice_batch_tensor(here, "image", &host), SLUICE_OK);
    assert_int_equal(sluice_batch_tensor(there, "image", &device), SLUICE_OK);
    assert_int_equal(device.device_type, SLUICE_DEVICE_TYPE_CUDA);
    assert_int_equal(device.device_number, 0);
    assert_int_equal(device.size_bytes, host.size_bytes);
    const uint8_t *a = host.data;
    const uint8_t *b = fake->memory(device.data);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < host.size_bytes; i++) {
        wrong += a[i] != b[i];
    }
    return wrong;
}

static uint32_t masked_rows(const sluice_batch *batch)
{
    sluice_tensor mask = SLUICE_TENSOR_INIT;
    uint32_t masked = 0;
    assert_int_equal(sluice_batch_tensor(batch, "mask", &mask), SLUICE_OK);
    for (uint64_t i = 0; i < mask.size_bytes; i++) {
        masked += ((const uint8_t *)mask.data)[i] == 0;
    }
    return masked;
}

/* An epoch with a bad sample and a padded last batch, on both. */
static void compare_epoch(sluice_loader *here, sluice_loader *there, uint64_t epoch,
                          struct CUstream_st *stream)
{
    assert_int_equal(sluice_loader_start_epoch(here, epoch), SLUICE_OK);
    assert_int_equal(sluice_loader_start_epoch(there, epoch), SLUICE_OK);
    sluice_batch *a;
    sluice_batch *b;
    uint32_t masked = 0;
    while (sluice_loader_next(here, &a, -1) == SLUICE_OK) {
        assert_int_equal(sluice_loader_next(there, &b, -1), SLUICE_OK);
        assert_int_equal(wrong_bytes(a, b, stream), 0);
        masked += masked_rows(a);
        sluice_batch_release(a);
        assert_int_equal(sluice_batch_release_on(b, stream), SLUICE_OK);
    }
    assert_int_equal(sluice_loader_next(there, &b, -1), SLUICE_END);
    assert_int_equal(masked, 1 + 8 - CLASSES * PER_CLASS % 8); /* the bad sample and the padding */
}

static void compare(sluice_loader_options *options, struct CUstream_st *stream)
{
    options->device = "host";
    void *const *outputs = options->outputs;
    const uint32_t count = options->output_count;
    options->outputs = NULL;
    options->output_count = 0;
    sluice_loader *here = setup_loader(photos.path, options);
    options->device = "cuda:0";
    options->outputs = outputs;
    options->output_count = count;
    sluice_loader *there = setup_loader(photos.path, options);
    for (uint64_t epoch = 0; epoch < 3; epoch++) { /* slots are reused */
        compare_epoch(here, there, epoch, stream);
    }
    sluice_loader_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(sluice_loader_get_stats(there, &stats), SLUICE_OK);
    assert_string_equal(stats.device, "cuda:0");
    assert_true(stats.steps_timed > 0);
    const bool any =
        options->dtype != SLUICE_U8 || options->layout != SLUICE_NHWC || outputs != NULL;
    assert_int_equal(stats.converts_on_device, any && has_kernels());
    sluice_loader_close(here);
    sluice_loader_close(there);
}

TEST(rows_without_pictures_are_zero)
{
    if (fake == NULL) {
        skip();
        return; /* not reached */
    }
    struct CUstream_st *stream = fake->stream_new(false);
    sluice_loader_options options = setup_options();
    options.on_bad_sample = SLUICE_BAD_MASK;
    options.last_batch = SLUICE_LAST_PAD;
    for (options.dtype = SLUICE_U8; options.dtype <= SLUICE_BF16; options.dtype++) {
        for (options.layout = SLUICE_NHWC; options.layout <= SLUICE_NCHW; options.layout++) {
            compare(&options, stream);
        }
    }
}

TEST(the_callers_memory_is_used)
{
    if (fake == NULL || !has_kernels()) {
        skip();
        return; /* not reached */
    }
    struct CUstream_st *stream = fake->stream_new(false);
    void *outputs[OUTPUTS];
    sluice_loader_options options = setup_options();
    const size_t bytes = (size_t)options.batch_size * SETUP_SIZE * SETUP_SIZE * 3 * 4;
    for (int i = 0; i < OUTPUTS; i++) {
        outputs[i] = fake_cuda_memory_new(bytes);
    }
    options.on_bad_sample = SLUICE_BAD_MASK;
    options.last_batch = SLUICE_LAST_PAD;
    options.outputs = outputs;
    options.output_count = OUTPUTS;
    for (options.dtype = SLUICE_U8; options.dtype <= SLUICE_BF16; options.dtype++) {
        compare(&options, stream);
    }
    void *close_by[OUTPUTS] = {outputs[0], (uint8_t *)outputs[0] + bytes - 16};
    options.dtype = SLUICE_F32;
    options.outputs = close_by;
    assert_int_equal(try_open(&options, "closer"), SLUICE_INVALID);
    for (int i = 0; i < OUTPUTS; i++) {
        fake_cuda_memory_free(outputs[i]);
    }
}

/* Memory that a kernel must not write to: the error names the address and what it is. */
TEST(memory_of_others_is_refused)
{
    if (fake == NULL || !has_kernels()) {
        skip();
        return; /* not reached */
    }
    _Alignas(256) static uint8_t host[8 * SETUP_SIZE * SETUP_SIZE * 3];
    /* in the middle of so much memory that the others are not too close, wherever they are; none is
     * allocated past it, where maps grow down */
    const size_t apart = (size_t)1 << 20;
    uint8_t *ours = fake_cuda_memory_new(apart + sizeof(host) + apart);
    void *small = ours + apart + sizeof(host) + apart - 4096; /* too little remains after it */
    fake->set(&(fake_cuda_options){.memory_device = 2});
    void *theirs = fake_cuda_memory_new(sizeof(host));
    fake->set(&(fake_cuda_options){.seed = 1});
    const struct {
        void *output;
        const char *words;
    } wrong[] = {{host, "address 1: it is unknown to CUDA, like ordinary host memory"},
                 {theirs, "address 1: it is memory of cuda:2"},
                 {small, "address 1: its end is"}};
    sluice_loader_options options = setup_options();
    options.device = "cuda:0";
    options.output_count = 2;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        void *outputs[] = {ours + apart, wrong[i].output};
        options.outputs = outputs;
        assert_int_equal(try_open(&options, wrong[i].words), SLUICE_INVALID);
    }
    fake_cuda_memory_free(ours);
    fake_cuda_memory_free(theirs);
}

static int make_photos(void **state)
{
    char path[512];
    photo_folder_make(&photos, CLASSES, PER_CLASS);
    photo_folder_file(&photos, 5, path, sizeof(path));
    write_file(path, "this is not an image", 20);
    return 0;
}

static int remove_photos(void **state)
{
    photo_folder_remove(&photos);
    return 0;
}

int main(void)
{
    fake = fake_cuda_open();
    const int failed = test_run(make_photos, remove_photos);
    return failed + (fake == NULL ? 0 : fake_cuda_complain(fake));
}
