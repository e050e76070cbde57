/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which embedded image the CUDA device loads its conversion kernels from, depending on the driver's
 * errors, and the reported text.
 */
#include "conversion_kernel.h"
#include "device.h"
#include "error.h"
#include "fake_cuda_client.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const fake_cuda_control *fake;

/* Opens a device; `text` is the message users see. */
static sl_device *open_device(const fake_cuda_options *options, char *text, size_t bytes)
{
    sl_device *device = NULL;
    fake->reset();
    fake->set(options);
    assert_int_equal(sl_device_open(&device, "cuda:0", NULL), SLUICE_OK);
    device->ops->describe(device, text, bytes);
    return device;
}

static void close_device(sl_device *device)
{
    sl_device_close(device);
    assert_int_equal(fake->context_depth(), 0);
    assert_int_equal(fake->capture_mode(), 0);
    assert_int_equal(fake_cuda_complain(fake), 0);
}

static void expect_words(const char *text, const char *words)
{
    if (strstr(text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", text, words);
    }
}

/* Converts an image of one pixel with a kernel of the loaded module. */
static void convert_pixel(sl_device *device)
{
    enum { FLAGS = 256, TO = 512, BYTES = 1024 };
    const sl_conversion conversion = {
        .dtype = SLUICE_F32, .width = 1, .height = 1, .scale = {2, 2, 2}, .bias = {1, 1, 1}};
    uint8_t *memory = fake_cuda_memory_new(BYTES);
    const sl_conversion_rows rows = {
        .from = memory, .flags = memory + FLAGS, .to = memory + TO, .rows = 1};
    uint8_t *bytes = fake->memory(memory);
    struct CUstream_st *stream = fake->stream_new(false);
    memset(bytes, 0, BYTES);
    bytes[0] = 20;
    assert_int_equal(device->ops->convert(device, &conversion, &rows, stream, NULL), SLUICE_OK);
    fake->synchronize(stream);
    float results[3];
    memcpy(results, bytes + TO, sizeof(results));
    assert_int_equal((int)results[0], 41);
    assert_int_equal((int)results[1], 1);
    fake_cuda_memory_free(memory);
}

static void code_is_taken_first(void **state)
{
    char text[1024];
    sl_device *device = open_device(&(fake_cuda_options){.seed = 1}, text, sizeof(text));
    assert_true(device->converts);
    expect_words(text, "; converts batches by code for sm_90");
    assert_int_equal(fake->calls("cuModuleLoadDataEx"), 0);
    convert_pixel(device);
    close_device(device);
}

static void what_is_refused_is_tried_as_ptx(void **state)
{
    static const unsigned refusals[] = {200, 209, 218, 221, 222, 223, 300};
    for (size_t i = 0; i < 2 * sizeof(refusals) / sizeof(refusals[0]); i++) {
        char text[1024];
        char words[64];
        const fake_cuda_options options = {
            .seed = 1, .code_refusal = refusals[i / 2], .lazy_refusal = i % 2 == 1};
        sl_device *device = open_device(&options, text, sizeof(text));
        assert_true(device->converts);
        expect_words(text, "; converts batches by PTX 7.0 that the driver compiled; it rejects");
        snprintf(words, sizeof(words), "%s: CUDA error %u",
                 options.lazy_refusal ? "cuModuleGetFunction" : "cuModuleLoadData",
                 options.code_refusal);
        expect_words(text, words);
        convert_pixel(device);
        close_device(device);
    }
}

static void a_driver_that_takes_neither_says_why(void **state)
{
    char text[1024];
    const fake_cuda_options options = {.seed = 1, .code_refusal = 200, .text_refusal = 222};
    sl_device *device = open_device(&options, text, sizeof(text));
    assert_false(device->converts);
    expect_words(text, "; does not convert batches: cuModuleLoadData: CUDA error 200");
    expect_words(text, "; PTX 7.0: cuModuleLoadDataEx: CUDA error 222");
    expect_words(text, ": ptx input, line 9; fatal: the fake's reason");
    assert_null(strstr(text, "second line"));
    assert_null(strchr(text, '\n'));
    close_device(device);
}

/* PTX would not help, or the device is lost. */
static void other_failures_are_no_refusals(void **state)
{
    static const unsigned codes[] = {2, 201, 700, 999};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        char text[1024];
        char words[96];
        const fake_cuda_options options = {.seed = 1, .code_refusal = codes[i]};
        sl_device *device = open_device(&options, text, sizeof(text));
        assert_false(device->converts);
        snprintf(words, sizeof(words),
                 "; does not convert batches: cuModuleLoadData: CUDA error %u", codes[i]);
        expect_words(text, words);
        assert_int_equal(fake->calls("cuModuleLoadDataEx"), 0);
        close_device(device);
    }
}

/* Fails each call of loading, once for the fatbin and once for the PTX. */
static void a_kernel_that_cannot_be_had(void **state)
{
    static const char *const calls[] = {"cuModuleGetFunction", "cuFuncLoad"};
    for (size_t i = 0; i < 4; i++) {
        const bool ptx = i >= 2;
        sl_device *device = NULL;
        char text[1024];
        char words[64];
        fake->reset();
        fake->set(&(fake_cuda_options){.seed = 1, .code_refusal = ptx ? 222 : 0});
        fake->fail_call(&(fake_cuda_fault){.symbol = calls[i % 2], .nth = 3, .code = 500});
        assert_int_equal(sl_device_open(&device, "cuda:0", NULL), SLUICE_OK);
        device->ops->describe(device, text, sizeof(text));
        assert_false(device->converts);
        snprintf(words, sizeof(words), "%s: CUDA error 500", calls[i % 2]);
        expect_words(text, words);
        assert_int_equal(fake->calls("cuModuleLoadDataEx"), ptx);
        close_device(device);
    }
}

static void without_kernels_there_is_nothing_to_load(void **state)
{
    char text[1024];
    sl_device *device = open_device(&(fake_cuda_options){.seed = 1}, text, sizeof(text));
    assert_false(device->converts);
    expect_words(text, "built without its CUDA kernels");
    assert_int_equal(fake->calls("cuModuleLoadData"), 0);
    close_device(device);
}

int main(void)
{
    const struct CMUnitTest with[] = {
        cmocka_unit_test(code_is_taken_first),
        cmocka_unit_test(what_is_refused_is_tried_as_ptx),
        cmocka_unit_test(a_driver_that_takes_neither_says_why),
        cmocka_unit_test(other_failures_are_no_refusals),
        cmocka_unit_test(a_kernel_that_cannot_be_had),
    };
    const struct CMUnitTest without[] = {
        cmocka_unit_test(without_kernels_there_is_nothing_to_load),
    };
    if (getenv("SLUICE_CUDA_DRIVER") == NULL) {
        printf("SLUICE_CUDA_DRIVER names no fake driver\n");
        return 77;
    }
    fake = fake_cuda_open();
    return sl_conversion_has_images() ? cmocka_run_group_tests(with, NULL, NULL)
                                      : cmocka_run_group_tests(without, NULL, NULL);
}
