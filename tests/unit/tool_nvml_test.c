/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the monitor over a fake NVML (argv[1]): its statistics, and a reason for each that is
 * missing. */
#include "test.h"

#include "../../tools/sluice/common/clock.h"
#include "../../tools/sluice/common/nvml.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static const char *library;

static void script(const char *words)
{
    setenv("SLUICE_NVML", library, 1);
    if (words == NULL) {
        unsetenv("FAKE_NVML");
    } else {
        setenv("FAKE_NVML", words, 1);
    }
}

static void watch(const char *device, struct nvml_summary *summary)
{
    struct nvml_monitor *monitor = nvml_start(device, 0.005);
    assert_non_null(monitor);
    clock_sleep_until(clock_seconds() + 0.2);
    nvml_stop(monitor);
    nvml_stop(monitor); /* does nothing */
    nvml_summarise(monitor, 0, DBL_MAX, summary);
    nvml_free(monitor);
}

static void expect(const struct nvml_summary *summary, enum nvml_metric metric, double min,
                   double max)
{
    const struct nvml_series *series = &summary->series[metric];
    assert_true(series->count > 1);
    assert_string_equal(series->reason, "");
    assert_float_equal(series->min, min, 1e-9);
    assert_float_equal(series->max, max, 1e-9);
    assert_true(series->mean >= min && series->mean <= max);
}

static void expect_none(const struct nvml_summary *summary, enum nvml_metric metric,
                        const char *words)
{
    const struct nvml_series *series = &summary->series[metric];
    assert_int_equal(series->count, 0);
    assert_non_null(strstr(series->reason, words));
}

TEST(test_figures)
{
    struct nvml_summary summary;
    script(NULL);
    watch("0", &summary);
    assert_string_equal(summary.reason, "");
    assert_string_equal(summary.device, "Fake GPU 0");
    assert_string_equal(summary.driver, "580.1");
    expect(&summary, NVML_GPU_PERCENT, 50, 70);
    expect(&summary, NVML_SM_PERCENT, 62.5, 62.5);
    expect(&summary, NVML_MEMORY_BYTES, 2147483648.0, 2147483648.0);
    expect(&summary, NVML_POWER_WATTS, 250.5, 250.5);
    expect(&summary, NVML_TEMPERATURE_C, 41, 41);
    expect(&summary, NVML_SM_CLOCK_MHZ, 1980, 1980);
    expect(&summary, NVML_PCIE_RX_MB_S, 1234, 1234);
}

TEST(test_names)
{
    struct nvml_summary summary;
    script(NULL);
    watch("GPU-one", &summary);
    assert_string_equal(summary.device, "Fake GPU 1");
    watch("0000:1a:00.0", &summary);
    assert_string_equal(summary.device, "Fake GPU 0");
    assert_string_equal(summary.address, "00000000:1A:00.0");
    watch("ffff:ff:1f.7", &summary);
    assert_string_equal(summary.device, "Fake GPU 1");
    watch("2", &summary);
    assert_non_null(strstr(summary.reason, "device 2"));
    assert_non_null(strstr(summary.reason, "Not Found"));
}

TEST(test_reasons)
{
    struct nvml_summary summary;
    script("power=3");
    watch("0", &summary);
    expect_none(&summary, NVML_POWER_WATTS, "Not Supported");
    expect(&summary, NVML_TEMPERATURE_C, 41, 41);
    script("no_gpm");
    watch("0", &summary);
    expect_none(&summary, NVML_SM_PERCENT, "no GPM");
    script("gpm_sample=4");
    watch("0", &summary);
    expect_none(&summary, NVML_SM_PERCENT, "Insufficient Permissions");
    script("gpm_metric=3");
    watch("0", &summary);
    expect_none(&summary, NVML_PCIE_RX_MB_S, "Not Supported");
    script("init=9");
    watch("0", &summary);
    assert_non_null(strstr(summary.reason, "Driver Not Loaded"));
    assert_int_equal(summary.series[NVML_GPU_PERCENT].count, 0);
    setenv("SLUICE_NVML", "/nowhere/libnvidia-ml.so.1", 1);
    watch("0", &summary);
    assert_non_null(strstr(summary.reason, "/nowhere/libnvidia-ml.so.1"));
    setenv("SLUICE_NVML", "libc.so.6", 1);
    watch("0", &summary);
    assert_non_null(strstr(summary.reason, "has no nvmlInit_v2"));
    nvml_summarise(NULL, 0, 1, &summary);
    assert_string_not_equal(summary.reason, "");
}

/* Only samples inside the requested time count. */
TEST(test_window)
{
    struct nvml_summary summary;
    script(NULL);
    struct nvml_monitor *monitor = nvml_start("0", 0.005);
    double from = clock_seconds() + 0.1;
    clock_sleep_until(from + 0.2);
    nvml_stop(monitor);
    nvml_summarise(monitor, 0, DBL_MAX, &summary);
    uint64_t all = summary.series[NVML_POWER_WATTS].count;
    nvml_summarise(monitor, from, DBL_MAX, &summary);
    assert_in_range(summary.series[NVML_POWER_WATTS].count, 1, all - 1);
    nvml_summarise(monitor, 0, 1e-9, &summary);
    expect_none(&summary, NVML_POWER_WATTS, "no sample");
    nvml_free(monitor);
    nvml_free(NULL);
}

static void expect_name(const char *visible, unsigned ordinal, const char *expected)
{
    char name[64];
    nvml_device_name(name, sizeof name, visible, ordinal);
    assert_string_equal(name, expected);
}

TEST(test_device_names)
{
    expect_name(NULL, 3, "3");
    expect_name("", 1, "1");
    expect_name("4,7", 0, "4");
    expect_name("4, 7", 1, "7");
    expect_name("4,7", 2, "2"); /* does not exist; the driver reports it */
    expect_name("GPU-abc,GPU-def", 1, "GPU-def");
}

static void expect_name_at(const char *visible, const char *address, const char *expected)
{
    char name[64];
    nvml_device_name_at(name, sizeof name, visible, 1, address);
    assert_string_equal(name, expected);
}

/* CUDA's numbers are not NVML's. Addresses match, except for instances, which share one. */
TEST(test_addresses)
{
    struct nvml_summary summary;
    expect_name_at(NULL, "0000:1A:00.0", "0000:1A:00.0");
    expect_name_at("GPU-a,GPU-b", "0000:1A:00.0", "0000:1A:00.0");
    expect_name_at("GPU-a,GPU-b", "", "GPU-b");
    expect_name_at("MIG-a,MIG-b", "0000:1A:00.0", "MIG-b");
    expect_name_at("0,MIG-GPU-x/3/0", "0000:1A:00.0", "MIG-GPU-x/3/0");
    script(NULL);
    assert_int_equal(nvml_count(), 2);
    struct nvml_monitor *first = nvml_start("0", 0.005);
    struct nvml_monitor *second = nvml_start("1", 0.005);
    struct nvml_monitor *named = nvml_start("GPU-one", 0.005);
    assert_true(nvml_is(first, "0000:1a:00.0") && nvml_is(first, "0"));
    assert_false(nvml_is(first, "ffff:ff:1f.7") || nvml_is(first, "1") || nvml_is(first, ""));
    assert_false(nvml_is(NULL, "0"));
    assert_true(nvml_is_same(second, named) && !nvml_is_same(first, second));
    nvml_free(first);
    nvml_free(second);
    nvml_free(named);
    script("power=3");
    watch("MIG-b", &summary);
    expect_none(&summary, NVML_POWER_WATTS, "MIG instance");
    expect(&summary, NVML_MEMORY_BYTES, 2147483648.0, 2147483648.0);
    setenv("SLUICE_NVML", "/nowhere/libnvidia-ml.so.1", 1);
    assert_int_equal(nvml_count(), 0);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        return 2;
    }
    library = argv[1];
    return test_run(NULL, NULL);
}
