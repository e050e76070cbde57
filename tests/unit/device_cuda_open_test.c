/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Possible results of opening the CUDA driver, each in its own process, since a process opens it
 * only once: the reason is reported, and nothing is used. Also run with fake drivers that lack
 * functions; the argument names them: "old" (texts and hints, and the newer of two) or
 * "incomplete".
 */
#include "cuda_driver.h"
#include "device.h"
#include "error.h"
#include "fake_cuda_client.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FINE 42

typedef struct answer {
    fake_cuda_options options;
    fake_cuda_fault fault;
    sluice_status status; /* status of opening "cuda:0" */
    int32_t code;
    const char *words; /* part of the reason */
} answer;

static const char *driver = "";

static int complain(const char *what, const sluice_error *error)
{
    fprintf(stderr, "%s: status %d, code %d, \"%s\"\n", what, (int)error->status,
            (int)error->device_code, error->text);
    return 1;
}

/* Opens twice, and "auto"; all give the same result. */
static int open_refused(const answer *expected)
{
    for (int i = 0; i < 2; i++) {
        sl_device *device = NULL;
        sluice_error error;
        sl_error_clear(&error);
        if (sl_device_open(&device, "cuda:0", &error) != expected->status || device != NULL ||
            error.status != expected->status || error.device_code != expected->code ||
            strstr(error.text, expected->words) == NULL) {
            return complain(expected->words, &error);
        }
    }
    /* "auto" works without a device that does not exist, but not without one that fails. */
    const bool none = expected->status == SLUICE_UNSUPPORTED;
    const sluice_status other = none ? SLUICE_OK : expected->status;
    char text[256];
    if (sl_device_describe("cuda:0", text, sizeof(text)) != expected->status ||
        strstr(text, expected->words) == NULL ||
        sl_device_describe("auto", text, sizeof(text)) != other ||
        strstr(text, expected->words) == NULL) {
        fprintf(stderr, "described as \"%s\"\n", text);
        return 2;
    }
    sl_device *device = NULL;
    if (sl_device_open(&device, "auto", NULL) != other || (none && !device->shares_memory)) {
        return 3;
    }
    sl_device_close(device);
    return FINE;
}

static int in_child(const answer *expected)
{
    const fake_cuda_control *fake = fake_cuda_open();
    fake->set(&expected->options);
    fake->fail_call(&expected->fault);
    const int result = open_refused(expected);
    return result != FINE || fake_cuda_complain(fake) == 0 ? result : 4;
}

static void expect(const answer *expected)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        _exit(in_child(expected));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), FINE);
}

static void refusals_are_explained(void **state)
{
    const answer answers[] = {
        {.options = {.init_code = 2}, .status = SLUICE_NOMEM, .code = 2, .words = "cuInit"},
        {.options = {.init_code = 3}, .code = 3, .words = "CUDA_ERROR_NOT_INITIALIZED"},
        {.options = {.init_code = 34}, .code = 34, .words = "stub"},
        {.options = {.init_code = 36}, .code = 36, .words = "newer kernel driver"},
        {.options = {.init_code = 46}, .code = 46, .words = "CUDA_ERROR_DEVICE_UNAVAILABLE, 46"},
        {.options = {.init_code = 100}, .code = 100, .words = "shows this process no device"},
        {.options = {.init_code = 101}, .code = 101, .words = "CUDA_VISIBLE_DEVICES"},
        {.options = {.init_code = 304}, .code = 304, .words = "CUDA_ERROR_OPERATING_SYSTEM, 304"},
        {.options = {.init_code = 802}, .code = 802, .words = "nvidia-fabricmanager"},
        {.options = {.init_code = 803}, .code = 803, .words = "kernel module differ"},
        {.options = {.init_code = 804}, .code = 804, .words = "forward compatibility"},
        {.options = {.init_code = 999}, .code = 999, .words = "CUDA_ERROR_UNKNOWN, 999"},
        {.options = {.init_code = 700}, .code = 700, .words = "cuInit: CUDA error 700"},
        {.options = {.no_devices = true}, .code = 100, .words = "shows this process no device"},
        {.options = {.version = 11080}, .code = 0, .words = "11.8"},
        {.fault = {.symbol = "cuDriverGetVersion", .nth = 1, .code = 999},
         .status = SLUICE_DEVICE,
         .code = 999,
         .words = "cuDriverGetVersion"},
        {.fault = {.symbol = "cuDeviceGetCount", .nth = 1, .code = 999},
         .status = SLUICE_DEVICE,
         .code = 999,
         .words = "cuDeviceGetCount"},
    };
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        answer expected = answers[i];
        /* nothing usable is available, unless stated otherwise */
        expected.status = expected.status == SLUICE_OK ? SLUICE_UNSUPPORTED : expected.status;
        expect(&expected);
    }
}

static void a_driver_without_a_function_is_refused(void **state)
{
    expect(&(answer){.status = SLUICE_UNSUPPORTED, .words = "cuEventQuery"});
}

/* True if time between events is read with the driver's newest call. */
static bool measures(const fake_cuda_control *fake, sl_device *device, bool old)
{
    const sl_device_ops *ops = device->ops;
    sl_event *events[2];
    struct CUstream_st *stream = fake->stream_new(false);
    uint64_t ns;
    bool fine = device->measures;
    for (int i = 0; i < 2; i++) {
        fine = fine && ops->event_open(device, SL_EVENT_TIMED, &events[i], NULL) == SLUICE_OK &&
               ops->event_record(device, events[i], stream, NULL) == SLUICE_OK;
    }
    fake->synchronize(stream);
    fine = fine && ops->event_elapsed(device, events[0], events[1], &ns, NULL) == SLUICE_OK;
    for (int i = 0; i < 2 && fine; i++) {
        ops->event_close(device, events[i]);
    }
    return fine && fake->calls("cuEventElapsedTime") == (old ? 1 : 0) &&
           fake->calls("cuEventElapsedTime_v2") == (old ? 0 : 1);
}

/* Uses a driver that works. */
static int open_and_describe(void)
{
    const fake_cuda_control *fake = fake_cuda_open();
    char text[256];
    const bool old = strcmp(driver, "old") == 0;
    sl_device *device = NULL;
    sluice_error error;
    sl_error_clear(&error);
    if (sl_device_open(&device, "cuda", &error) != SLUICE_OK) {
        return complain("open", &error);
    }
    if (device->shares_memory || device->number != 0) {
        return 5;
    }
    if (!measures(fake, device, old)) {
        return 9;
    }
    sl_device_close(device);
    if (sl_device_open(&device, "cuda:1", &error) != SLUICE_UNSUPPORTED ||
        strstr(error.text, "cuda:1") == NULL) {
        return complain("cuda:1", &error);
    }
    if (sl_device_describe("auto", text, sizeof(text)) != SLUICE_OK ||
        strstr(text, "Fake Accelerator") == NULL || (strstr(text, "ffff:ff:1f.7") == NULL) != old) {
        fprintf(stderr, "described as \"%s\"\n", text);
        return 6;
    }
    const char *const uuid = "-00112233-4455-6677-8899-aabbccddeeff,";
    fake->set(&(fake_cuda_options){.instance = true});
    char instance[256];
    if (sl_device_describe("cuda:0", instance, sizeof(instance)) != SLUICE_OK ||
        strstr(instance, "Fake Accelerator MIG 1g.10gb") == NULL ||
        (strstr(text, uuid) == NULL) != old || (strstr(instance, uuid) == NULL) != old ||
        (strstr(instance, ", MIG-0011") == NULL) != old || strstr(text, ", MIG-") != NULL) {
        fprintf(stderr, "described as \"%s\" and \"%s\"\n", text, instance);
        return 8;
    }
    /* a text exists even without the driver's messages */
    fake->fail_call(&(fake_cuda_fault){.symbol = "cuDevicePrimaryCtxRetain", .nth = 1, .code = 46});
    if (sl_device_open(&device, "cuda", &error) != SLUICE_DEVICE || error.device_code != 46 ||
        strstr(error.text, "compute mode") == NULL) {
        return complain("retain", &error);
    }
    fake->fail_call(
        &(fake_cuda_fault){.symbol = "cuDevicePrimaryCtxRetain", .nth = 1, .code = 719});
    if (sl_device_open(&device, "cuda", &error) != SLUICE_DEVICE || error.device_code != 719 ||
        strstr(error.text, "719") == NULL || (strstr(error.text, "on request") == NULL) != old) {
        return complain("retain", &error);
    }
    return fake_cuda_complain(fake) == 0 ? FINE : 7;
}

static void a_device_is_opened_and_described(void **state)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        _exit(open_and_describe());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), FINE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest whole[] = {
        cmocka_unit_test(refusals_are_explained),
        cmocka_unit_test(a_device_is_opened_and_described),
    };
    const struct CMUnitTest old[] = {cmocka_unit_test(a_device_is_opened_and_described)};
    const struct CMUnitTest incomplete[] = {
        cmocka_unit_test(a_driver_without_a_function_is_refused)};
    driver = argc > 1 ? argv[1] : "";
    /* Opened only by the children: a driver, even the fake, does not survive a fork. */
    if (getenv("SLUICE_CUDA_DRIVER") == NULL) {
        printf("SLUICE_CUDA_DRIVER names no fake driver\n");
        return 77;
    }
    if (strcmp(driver, "old") == 0) {
        return cmocka_run_group_tests(old, NULL, NULL);
    }
    return strcmp(driver, "incomplete") == 0 ? cmocka_run_group_tests(incomplete, NULL, NULL)
                                             : cmocka_run_group_tests(whole, NULL, NULL);
}
