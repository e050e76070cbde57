/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake CUPTI for tests: a separate library with the calls that libsluice_inject.so makes. Its
 * records come from the test program (fake_cupti_*). The calls check their order.
 * Environment: FAKE_CUPTI_FAIL="CALL=CODE" makes one call fail (subscribe, register_callbacks,
 * enable, enable_kernel, register_clock, flush), FAKE_CUPTI_DROPPED=N reports N dropped records.
 */
#include "fake_cupti.h"

#include "../../tools/inject/cupti_api.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { INVALID_PARAMETER = 1, INVALID_OPERATION = 7 };

/* As long as CUPTI 13's: readers must skip the part after the members we declare. */
struct long_kernel {
    struct cupti_kernel kernel;
    uint8_t rest[112];
};
struct long_memcpy {
    struct cupti_memcpy copy;
    uint8_t rest[64];
};
struct long_memset {
    struct cupti_memset fill;
    uint8_t rest[56];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool subscribed;
static unsigned enabled; /* bit mask of kinds */
static cupti_request request;
static cupti_complete complete;
static uint64_t (*clock_now)(void);
static uint8_t *buffer;
static size_t capacity, used;
static uint64_t lost; /* no buffer was available */

/* The names are CUPTI's. NOLINTBEGIN(readability-identifier-naming) */
EXPORT int cuptiSubscribe(void **subscriber, cupti_callback callback, void *user);
EXPORT int cuptiActivityEnable(int kind);
EXPORT int cuptiActivityRegisterCallbacks(cupti_request on_request, cupti_complete on_complete);
EXPORT int cuptiActivityGetNextRecord(uint8_t *from, size_t valid, void **record);
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
EXPORT int cuptiActivityFlushAll(uint32_t flag);
EXPORT int cuptiGetResultString(int result, const char **text);
EXPORT int cuptiGetVersion(uint32_t *version);
EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void));

static int scripted(const char *call)
{
    const char *script = getenv("FAKE_CUPTI_FAIL");
    size_t length = strlen(call);
    if (script == NULL || strncmp(script, call, length) != 0 || script[length] != '=') {
        return CUPTI_OK;
    }
    return (int)strtol(script + length + 1, NULL, 10);
}

int cuptiSubscribe(void **subscriber, cupti_callback callback, void *user)
{
    (void)user;
    int result = scripted("subscribe");
    if (result != CUPTI_OK) {
        return result;
    }
    if (subscribed) {
        return CUPTI_MULTIPLE_SUBSCRIBERS;
    }
    subscribed = true;
    *subscriber = &subscribed;
    return callback == NULL ? INVALID_PARAMETER : CUPTI_OK;
}

int cuptiActivityEnable(int kind)
{
    int result = scripted(kind == CUPTI_KIND_CONCURRENT_KERNEL ? "enable_kernel" : "enable");
    if (result != CUPTI_OK) {
        return result;
    }
    if (!subscribed || request == NULL) {
        return INVALID_OPERATION;
    }
    enabled |= 1u << kind;
    return CUPTI_OK;
}

int cuptiActivityRegisterCallbacks(cupti_request on_request, cupti_complete on_complete)
{
    request = on_request;
    complete = on_complete;
    return scripted("register_callbacks");
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void))
{
    int result = scripted("register_clock");
    if (result != CUPTI_OK) {
        return result;
    }
    if (enabled != 0) {
        return INVALID_OPERATION; /* too late: earlier records would use another clock */
    }
    clock_now = now;
    return CUPTI_OK;
}

static size_t size_of(uint32_t kind)
{
    switch (kind) {
    case CUPTI_KIND_CONCURRENT_KERNEL:
        return sizeof(struct long_kernel);
    case CUPTI_KIND_MEMCPY:
        return sizeof(struct long_memcpy);
    default:
        return sizeof(struct long_memset);
    }
}

int cuptiActivityGetNextRecord(uint8_t *from, size_t valid, void **record)
{
    uint8_t *next = *record;
    next = next == NULL ? from : next + size_of(*(uint32_t *)*record);
    if (next >= from + valid) {
        return CUPTI_QUEUE_EMPTY;
    }
    *record = next;
    return CUPTI_OK;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    static bool told;
    const char *count = getenv("FAKE_CUPTI_DROPPED");
    *dropped = told || count == NULL ? lost : strtoul(count, NULL, 10);
    told = true;
    lost = 0;
    return CUPTI_OK;
}

static void deliver(void)
{
    uint8_t *full = buffer;
    size_t valid = used;
    size_t size = capacity;
    buffer = NULL;
    used = 0;
    if (full != NULL) {
        complete(NULL, 0, full, size, valid);
    }
}

int cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    pthread_mutex_lock(&lock);
    deliver();
    pthread_mutex_unlock(&lock);
    return scripted("flush");
}

int cuptiGetResultString(int result, const char **text)
{
    *text = result == CUPTI_MULTIPLE_SUBSCRIBERS ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
            : result == CUPTI_NO_PRIVILEGES      ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                                 : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_OK;
}

int cuptiGetVersion(uint32_t *version)
{
    *version = 130001;
    return CUPTI_OK;
}
/* NOLINTEND(readability-identifier-naming) */

EXPORT uint64_t fake_cupti_now(void)
{
    if (clock_now != NULL) {
        return clock_now();
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void append(uint32_t kind, const void *record)
{
    size_t size = size_of(kind);
    pthread_mutex_lock(&lock);
    if ((enabled & 1u << kind) != 0) {
        if (buffer != NULL && capacity - used < size) {
            deliver();
        }
        if (buffer == NULL) {
            size_t most = 0;
            request(&buffer, &capacity, &most);
        }
        if (buffer != NULL) {
            memcpy(buffer + used, record, size);
            used += size;
        } else {
            lost++;
        }
    }
    pthread_mutex_unlock(&lock);
}

EXPORT void fake_cupti_kernel(uint32_t device, const char *name, uint64_t start, uint64_t end)
{
    struct long_kernel record = {.kernel = {.kind = CUPTI_KIND_CONCURRENT_KERNEL,
                                            .start = start,
                                            .end = end,
                                            .device = device,
                                            .stream = 7,
                                            .name = name}};
    memset(record.rest, 0xa5, sizeof record.rest);
    append(CUPTI_KIND_CONCURRENT_KERNEL, &record);
}

EXPORT void fake_cupti_copy(uint32_t device, int copy_kind, uint64_t start, uint64_t end)
{
    struct long_memcpy record = {.copy = {.kind = CUPTI_KIND_MEMCPY,
                                          .copy_kind = (uint8_t)copy_kind,
                                          .bytes = 1000,
                                          .start = start,
                                          .end = end,
                                          .device = device}};
    memset(record.rest, 0xa5, sizeof record.rest);
    append(CUPTI_KIND_MEMCPY, &record);
}

EXPORT void fake_cupti_fill(uint32_t device, uint64_t start, uint64_t end)
{
    struct long_memset record = {.fill = {.kind = CUPTI_KIND_MEMSET,
                                          .bytes = 1000,
                                          .start = start,
                                          .end = end,
                                          .device = device}};
    memset(record.rest, 0xa5, sizeof record.rest);
    append(CUPTI_KIND_MEMSET, &record);
}
