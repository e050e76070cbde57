/* SPDX-License-Identifier: Apache-2.0 */
/* NVML by dlopen, and the sampling thread. `lock` guards the samples; everything else belongs to
 * the main thread before the monitor starts and after it was joined. */
#include "nvml.h"

#include "clock.h"
#include "nvml_api.h"
#include "units.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES_MAX = 8192 };

struct sample {
    double when;
    double values[NVML_METRICS]; /* NAN: none */
};

struct nvml_monitor {
    struct nvml_api api;
    nvml_device device;
    char reason[256];
    char name[96], driver[32];
    char asked[96];   /* the argument of nvml_start */
    char address[32]; /* on PCI, "" when unknown */
    char reasons[NVML_METRICS][112];
    nvml_gpm_sample before, after; /* NULL without GPM */
    struct nvml_gpm_metrics gpm;
    struct sample *samples;
    size_t count;
    double interval_s;
    pthread_t thread;
    bool running; /* there is a thread to join */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop; /* under the lock */
};

/* Keeps the first reason: later ones follow from it. */
static double none(struct nvml_monitor *monitor, enum nvml_metric metric, const char *reason)
{
    char *kept = monitor->reasons[metric];
    if (*kept == '\0') {
        snprintf(kept, sizeof monitor->reasons[metric], "%s", reason);
    }
    return NAN;
}

static double checked(struct nvml_monitor *monitor, enum nvml_metric metric, int result,
                      double value)
{
    if (result == NVML_NOT_SUPPORTED && strncmp(monitor->asked, "MIG-", 4) == 0) {
        return none(monitor, metric,
                    "not supported: NVML reports little of a MIG instance except its memory");
    }
    return result == NVML_OK ? value : none(monitor, metric, nvml_api_words(&monitor->api, result));
}

static const char no_function[] = "this driver has no such function";

static double read_utilization(struct nvml_monitor *monitor)
{
    if (monitor->api.utilization == NULL) {
        return none(monitor, NVML_GPU_PERCENT, no_function);
    }
    struct nvml_utilization utilization = {0};
    int result = monitor->api.utilization(monitor->device, &utilization);
    return checked(monitor, NVML_GPU_PERCENT, result, utilization.gpu);
}

static double read_memory(struct nvml_monitor *monitor)
{
    if (monitor->api.memory == NULL) {
        return none(monitor, NVML_MEMORY_BYTES, no_function);
    }
    struct nvml_memory memory = {0};
    int result = monitor->api.memory(monitor->device, &memory);
    return checked(monitor, NVML_MEMORY_BYTES, result, (double)memory.used);
}

static double read_power(struct nvml_monitor *monitor)
{
    if (monitor->api.power == NULL) {
        return none(monitor, NVML_POWER_WATTS, no_function);
    }
    unsigned milliwatts = 0;
    int result = monitor->api.power(monitor->device, &milliwatts);
    return checked(monitor, NVML_POWER_WATTS, result, milliwatts / 1000.0);
}

static double read_temperature(struct nvml_monitor *monitor)
{
    if (monitor->api.temperature == NULL) {
        return none(monitor, NVML_TEMPERATURE_C, no_function);
    }
    unsigned celsius = 0;
    int result = monitor->api.temperature(monitor->device, NVML_TEMPERATURE_GPU, &celsius);
    return checked(monitor, NVML_TEMPERATURE_C, result, celsius);
}

static double read_clock(struct nvml_monitor *monitor)
{
    if (monitor->api.clock == NULL) {
        return none(monitor, NVML_SM_CLOCK_MHZ, no_function);
    }
    unsigned mhz = 0;
    int result = monitor->api.clock(monitor->device, NVML_CLOCK_SM, &mhz);
    return checked(monitor, NVML_SM_CLOCK_MHZ, result, mhz);
}

static void no_gpm(struct nvml_monitor *monitor, const char *reason)
{
    none(monitor, NVML_SM_PERCENT, reason);
    none(monitor, NVML_PCIE_RX_MB_S, reason);
}

static void free_gpm(struct nvml_monitor *monitor)
{
    if (monitor->before != NULL) {
        monitor->api.gpm_free(monitor->before);
    }
    if (monitor->after != NULL) {
        monitor->api.gpm_free(monitor->after);
    }
    monitor->before = NULL;
    monitor->after = NULL;
}

static void start_gpm(struct nvml_monitor *monitor)
{
    const struct nvml_api *api = &monitor->api;
    if (api->gpm_support == NULL || api->gpm_alloc == NULL || api->gpm_free == NULL ||
        api->gpm_sample == NULL || api->gpm_metrics == NULL) {
        no_gpm(monitor, "this driver has no GPM");
        return;
    }
    struct nvml_gpm_support support = {.version = NVML_GPM_SUPPORT_VERSION};
    int result = api->gpm_support(monitor->device, &support);
    if (result == NVML_OK && support.is_supported == 0) {
        no_gpm(monitor, "this GPU has no GPM (Hopper and newer have)");
        return;
    }
    result = result != NVML_OK ? result : api->gpm_alloc(&monitor->before);
    result = result != NVML_OK ? result : api->gpm_alloc(&monitor->after);
    result = result != NVML_OK ? result : api->gpm_sample(monitor->device, monitor->before);
    if (result != NVML_OK) {
        no_gpm(monitor, nvml_api_words(api, result));
        free_gpm(monitor);
    }
}

/* Reads GPM's counts since the last call. */
static void read_gpm(struct nvml_monitor *monitor, struct sample *sample)
{
    sample->values[NVML_SM_PERCENT] = NAN;
    sample->values[NVML_PCIE_RX_MB_S] = NAN;
    if (monitor->before == NULL) {
        return;
    }
    struct nvml_gpm_metrics *gpm = &monitor->gpm;
    int result = monitor->api.gpm_sample(monitor->device, monitor->after);
    gpm->version = NVML_GPM_METRICS_GET_VERSION;
    gpm->count = 2;
    gpm->first = monitor->before;
    gpm->second = monitor->after;
    gpm->metrics[0] = (struct nvml_gpm_metric){.id = NVML_GPM_SM_UTIL};
    gpm->metrics[1] = (struct nvml_gpm_metric){.id = NVML_GPM_PCIE_RX};
    result = result != NVML_OK ? result : monitor->api.gpm_metrics(gpm);
    if (result != NVML_OK) {
        no_gpm(monitor, nvml_api_words(&monitor->api, result));
        return;
    }
    sample->values[NVML_SM_PERCENT] =
        checked(monitor, NVML_SM_PERCENT, gpm->metrics[0].result, gpm->metrics[0].value);
    sample->values[NVML_PCIE_RX_MB_S] =
        checked(monitor, NVML_PCIE_RX_MB_S, gpm->metrics[1].result, gpm->metrics[1].value);
    nvml_gpm_sample older = monitor->before;
    monitor->before = monitor->after;
    monitor->after = older;
}

/* Drops every second sample of a full buffer, and halves the rate from then on. */
static void thin_out(struct nvml_monitor *monitor)
{
    for (size_t i = 0; i < SAMPLES_MAX / 2; i++) {
        monitor->samples[i] = monitor->samples[2 * i];
    }
    monitor->count = SAMPLES_MAX / 2;
    monitor->interval_s *= 2;
}

static void take_sample(struct nvml_monitor *monitor)
{
    if (monitor->count == SAMPLES_MAX) {
        thin_out(monitor);
    }
    struct sample *sample = &monitor->samples[monitor->count++];
    sample->when = clock_seconds();
    sample->values[NVML_GPU_PERCENT] = read_utilization(monitor);
    sample->values[NVML_MEMORY_BYTES] = read_memory(monitor);
    sample->values[NVML_POWER_WATTS] = read_power(monitor);
    sample->values[NVML_TEMPERATURE_C] = read_temperature(monitor);
    sample->values[NVML_SM_CLOCK_MHZ] = read_clock(monitor);
    read_gpm(monitor, sample);
}

/* Waits for the next sample's time; false: stop. */
static bool wait_until(struct nvml_monitor *monitor, double when)
{
    double whole = floor(when);
    struct timespec target = {.tv_sec = (time_t)whole, .tv_nsec = (long)((when - whole) * 1e9)};
    pthread_mutex_lock(&monitor->lock);
    int result = 0;
    while (!monitor->stop && result == 0) {
        result = pthread_cond_timedwait(&monitor->wake, &monitor->lock, &target);
    }
    bool stop = monitor->stop;
    pthread_mutex_unlock(&monitor->lock);
    return !stop;
}

/* Takes the first sample after one interval, because GPM measures the time between two. */
static void *run_monitor(void *context)
{
    struct nvml_monitor *monitor = context;
    double next = clock_seconds() + monitor->interval_s;
    while (wait_until(monitor, next)) {
        take_sample(monitor);
        next += monitor->interval_s;
        double now = clock_seconds();
        next = next < now ? now + monitor->interval_s : next;
    }
    return NULL;
}

static int find_device(struct nvml_monitor *monitor, const char *device)
{
    uint64_t index;
    if (units_parse_count(device, &index) && index <= UINT_MAX) {
        return monitor->api.device_by_index((unsigned)index, &monitor->device);
    }
    bool is_address = strchr(device, ':') != NULL;
    int (*find)(const char *, nvml_device *) =
        is_address ? monitor->api.device_by_pci : monitor->api.device_by_uuid;
    return find == NULL ? monitor->api.device_by_index(0, &monitor->device)
                        : find(device, &monitor->device);
}

/* Opens NVML and the device; false sets a reason. */
static bool open_device(struct nvml_monitor *monitor, const char *device)
{
    struct nvml_api *api = &monitor->api;
    if (!nvml_api_open(api, monitor->reason, sizeof monitor->reason)) {
        return false;
    }
    int result = find_device(monitor, device);
    if (result != NVML_OK) {
        snprintf(monitor->reason, sizeof monitor->reason, "NVML does not know device %s: %s",
                 device, nvml_api_words(api, result));
        nvml_api_close(api);
        return false;
    }
    if (api->name == NULL ||
        api->name(monitor->device, monitor->name, sizeof monitor->name) != NVML_OK) {
        monitor->name[0] = '\0';
    }
    if (api->driver_version == NULL ||
        api->driver_version(monitor->driver, sizeof monitor->driver) != NVML_OK) {
        monitor->driver[0] = '\0';
    }
    struct nvml_pci pci = {.domain = 0};
    if (api->pci != NULL && api->pci(monitor->device, &pci) == NVML_OK) {
        snprintf(monitor->address, sizeof monitor->address, "%.31s", pci.address);
    }
    start_gpm(monitor);
    return true;
}

static bool make_lock(struct nvml_monitor *monitor)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int result = pthread_cond_init(&monitor->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    if (result == 0 && pthread_mutex_init(&monitor->lock, NULL) != 0) {
        pthread_cond_destroy(&monitor->wake);
        return false;
    }
    return result == 0;
}

static void free_unlocked(struct nvml_monitor *monitor)
{
    free(monitor->samples);
    free(monitor);
}

struct nvml_monitor *nvml_start(const char *device, double interval_s)
{
    struct nvml_monitor *monitor = calloc(1, sizeof *monitor);
    if (monitor == NULL) {
        return NULL;
    }
    monitor->interval_s = interval_s;
    snprintf(monitor->asked, sizeof monitor->asked, "%s", device);
    monitor->samples = calloc(SAMPLES_MAX, sizeof *monitor->samples);
    if (monitor->samples == NULL || !make_lock(monitor)) {
        free_unlocked(monitor);
        return NULL;
    }
    if (!open_device(monitor, device)) {
        return monitor;
    }
    /* Other threads handle signals. */
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    monitor->running = pthread_create(&monitor->thread, NULL, run_monitor, monitor) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!monitor->running) {
        nvml_free(monitor);
        return NULL;
    }
    return monitor;
}

unsigned nvml_count(void)
{
    struct nvml_api api;
    char reason[256];
    unsigned count = 0;
    if (!nvml_api_open(&api, reason, sizeof reason)) {
        return 0;
    }
    if (api.device_count == NULL || api.device_count(&count) != NVML_OK) {
        count = 0;
    }
    nvml_api_close(&api);
    return count;
}

/* Parses a PCI address, with a domain of four or eight digits, and letters in either case. */
static bool parse_address(const char *text, unsigned long parts[3])
{
    for (int i = 0; i < 3; i++) {
        char *end;
        parts[i] = strtoul(text, &end, 16);
        if (end == text || (i < 2 && *end != ':')) {
            return false;
        }
        text = end + 1;
    }
    return true;
}

static bool is_same_address(const char *a, const char *b)
{
    unsigned long left[3];
    unsigned long right[3];
    return parse_address(a, left) && parse_address(b, right) &&
           memcmp(left, right, sizeof left) == 0;
}

bool nvml_is(const struct nvml_monitor *monitor, const char *device)
{
    return monitor != NULL &&
           (strcmp(monitor->asked, device) == 0 || is_same_address(monitor->address, device));
}

bool nvml_is_same(const struct nvml_monitor *a, const struct nvml_monitor *b)
{
    return a != NULL && b != NULL && is_same_address(a->address, b->address);
}

void nvml_stop(struct nvml_monitor *monitor)
{
    if (monitor == NULL || !monitor->running) {
        return;
    }
    pthread_mutex_lock(&monitor->lock);
    monitor->stop = true;
    pthread_cond_signal(&monitor->wake);
    pthread_mutex_unlock(&monitor->lock);
    pthread_join(monitor->thread, NULL);
    monitor->running = false;
}

static void add_sample(struct nvml_series *series, double value)
{
    if (isnan(value)) {
        return;
    }
    series->min = series->count == 0 || value < series->min ? value : series->min;
    series->max = series->count == 0 || value > series->max ? value : series->max;
    series->mean += value;
    series->count++;
}

void nvml_summarise(const struct nvml_monitor *monitor, double from, double to,
                    struct nvml_summary *summary)
{
    *summary = (struct nvml_summary){0};
    if (monitor == NULL) {
        snprintf(summary->reason, sizeof summary->reason, "no memory or no thread for NVML");
        return;
    }
    memcpy(summary->reason, monitor->reason, sizeof summary->reason);
    memcpy(summary->device, monitor->name, sizeof summary->device);
    memcpy(summary->driver, monitor->driver, sizeof summary->driver);
    memcpy(summary->address, monitor->address, sizeof summary->address);
    for (size_t i = 0; i < NVML_METRICS; i++) {
        struct nvml_series *series = &summary->series[i];
        for (size_t j = 0; j < monitor->count; j++) {
            const struct sample *sample = &monitor->samples[j];
            if (sample->when >= from && sample->when <= to) {
                add_sample(series, sample->values[i]);
            }
        }
        if (series->count > 0) {
            series->mean /= (double)series->count;
        } else {
            snprintf(series->reason, sizeof series->reason, "%s",
                     *monitor->reasons[i] != '\0' ? monitor->reasons[i] : "no sample in this time");
        }
    }
}

void nvml_free(struct nvml_monitor *monitor)
{
    if (monitor == NULL) {
        return;
    }
    nvml_stop(monitor);
    if (monitor->api.library != NULL) {
        free_gpm(monitor);
        nvml_api_close(&monitor->api);
    }
    pthread_mutex_destroy(&monitor->lock);
    pthread_cond_destroy(&monitor->wake);
    free_unlocked(monitor);
}
