/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_api: the part of NVIDIA's CUPTI that the injected library uses, declared from its
 * documentation (CUPTI 12 and 13) and opened at run time, so that building needs no toolkit. Only
 * the beginning of each record is declared, which has been the same since CUPTI 8; tests compare it
 * with the toolkit's headers if these are available. Immutable after cupti_api_open.
 */
#ifndef INJECT_CUPTI_API_H
#define INJECT_CUPTI_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CUPTI_OK = 0,
    CUPTI_QUEUE_EMPTY = 12, /* CUPTI_ERROR_MAX_LIMIT_REACHED: no more records in a buffer */
    CUPTI_NOT_INITIALISED = 15,
    CUPTI_NO_PRIVILEGES = 35,
    CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    CUPTI_KIND_MEMCPY = 1,
    CUPTI_KIND_MEMSET = 2,
    CUPTI_KIND_CONCURRENT_KERNEL = 10,
    CUPTI_FLUSH_FORCED = 1
};

struct cupti_kernel {
    uint32_t kind;
    uint32_t unused_configuration[3];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t unused_shape[10];
    uint32_t correlation;
    int64_t grid;
    const char *name;
};

struct cupti_memcpy {
    uint32_t kind;
    uint8_t copy_kind, source_kind, target_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
};

struct cupti_memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
};

typedef void (*cupti_request)(uint8_t **buffer, size_t *bytes, size_t *records_max);
typedef void (*cupti_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                               size_t valid);
typedef void (*cupti_callback)(void *user, int domain, uint32_t id, const void *data);

struct cupti_api {
    char path[256]; /* of the library */
    int (*subscribe)(void **subscriber, cupti_callback callback, void *user);
    int (*enable)(int kind);
    int (*register_callbacks)(cupti_request request, cupti_complete complete);
    int (*next_record)(uint8_t *buffer, size_t valid, void **record);
    int (*dropped)(void *context, uint32_t stream, size_t *dropped);
    int (*flush_all)(uint32_t flag);
    int (*result_string)(int result, const char **text);
    int (*version)(uint32_t *version);
    /* NULL if CUPTI is older than 11.6 */
    int (*register_clock)(uint64_t (*now)(void));
};

/* Opens $SLUICE_CUPTI, else the CUPTI that the program has already loaded, else the first one
 * found. False: `reason` is the cause. The library stays loaded. */
bool cupti_api_open(struct cupti_api *api, char *reason, size_t bytes);

#endif
