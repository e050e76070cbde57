/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without a CUDA driver, every request for CUDA gets an error with the reason, and other uses are
 * unaffected. A process opens the driver only once, so each case runs in its own. If the argument
 * is the path of the toolkit's stub library, the stub is the case, and our table of symbols is
 * compared with it; exit code 77 if the file does not exist.
 */
#include "cuda_driver.h"
#include "device.h"
#include "error.h"
#include "test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sluice/sluice.h>

#define TEXT_BYTES 256

static const char *stub;

/* Returns 0, or the number of the first failed check. */
static int look(const char *words, int32_t code)
{
    char text[TEXT_BYTES];
    sluice_error error;
    sl_device *device;
    sluice_system system = {.struct_size = (uint32_t)sizeof(system)};
    sl_error_clear(&error);
    if (sl_cuda_driver_get(&error) != NULL || error.status != SLUICE_UNSUPPORTED ||
        error.device_code != code || strstr(error.text, words) == NULL) {
        fprintf(stderr, "the driver says: %s (%d)\n", error.text, (int)error.device_code);
        return 1;
    }
    sl_error_clear(&error);
    if (sl_device_open(&device, "cuda:0", &error) != SLUICE_UNSUPPORTED || device != NULL ||
        error.device_code != code || strstr(error.text, words) == NULL) {
        return 2;
    }
    if (sl_device_open(&device, "auto", &error) != SLUICE_OK || !device->shares_memory) {
        return 3;
    }
    sl_device_close(device);
    if (sluice_device_get_text("cuda", text, sizeof(text)) != SLUICE_UNSUPPORTED ||
        strstr(text, words) == NULL) {
        return 4;
    }
    if (sluice_device_get_text("auto", text, sizeof(text)) != SLUICE_OK ||
        strncmp(text, "host", 4) != 0 || strstr(text, words) == NULL) {
        return 5;
    }
    if (sluice_system_get_info(&system) != SLUICE_OK || system.cuda != 0 ||
        system.cuda_text[0] == '\0') {
        return 6;
    }
    return 0;
}

static int in_own_process(const char *driver, const char *words, int32_t code)
{
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int set = setenv("SLUICE_CUDA_DRIVER", driver, 1);
        _exit(set != 0 ? 99 : look(words, code));
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void no_library(void **state)
{
    assert_int_equal(in_own_process("/nonexistent/libcuda.so.1", "/nonexistent/libcuda.so.1", 0),
                     0);
    assert_int_equal(in_own_process("/dev/null", "cannot load the CUDA driver", 0), 0);
}

static void not_a_driver(void **state)
{
    assert_int_equal(in_own_process("libm.so.6", "it lacks cuInit", 0), 0);
}

static void names(void **state)
{
    char text[TEXT_BYTES] = "";
    static const char *const wrong[] = {
        "",       "gpu",    "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999999999999",
        "host:0", "auto:0", "cudaa"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        memset(text, 0, sizeof(text));
        assert_int_equal(sluice_device_get_text(wrong[i], text, sizeof(text)), SLUICE_INVALID);
        assert_true(strlen(text) > 10);
    }
    assert_int_equal(sluice_device_get_text(NULL, text, sizeof(text)), SLUICE_INVALID);
    assert_int_equal(sluice_device_get_text("host", NULL, 1), SLUICE_INVALID);
    assert_int_equal(sluice_device_get_text("host", text, 0), SLUICE_INVALID);
    assert_int_equal(sluice_device_get_text("host", text, 5), SLUICE_OK);
    assert_string_equal(text, "host"); /* cut */
}

/* ---- the stub ---- */

static void stub_has_every_symbol(void **state)
{
    void *library = dlopen(stub, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
#define NAME(field, symbol, parameters) #symbol,
    static const char *const required[] = {SL_CUDA_REQUIRED(NAME)};
#undef NAME
    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        if (dlsym(library, required[i]) == NULL) {
            print_error("%s is not in %s\n", required[i], stub);
            fail();
        }
    }
    dlclose(library);
}

static void stub_is_told(void **state)
{
    assert_int_equal(in_own_process(stub, "stub", SL_CU_STUB_LIBRARY), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest absent[] = {
        cmocka_unit_test(no_library),
        cmocka_unit_test(not_a_driver),
        cmocka_unit_test(names),
    };
    const struct CMUnitTest stubbed[] = {
        cmocka_unit_test(stub_has_every_symbol),
        cmocka_unit_test(stub_is_told),
    };
    if (argc < 2) {
        return cmocka_run_group_tests(absent, NULL, NULL);
    }
    stub = argv[1];
    if (access(stub, R_OK) != 0) {
        printf("skipped: there is no CUDA toolkit here, and so no stub of the driver\n");
        return 77;
    }
    return cmocka_run_group_tests(stubbed, NULL, NULL);
}
