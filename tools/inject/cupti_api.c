/* SPDX-License-Identifier: Apache-2.0 */
#include "cupti_api.h"

#include "idle_format.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct symbol {
    const char *name;
    size_t offset;
    bool required;
};

static const struct symbol symbols[] = {
    {"cuptiSubscribe", offsetof(struct cupti_api, subscribe), true},
    {"cuptiActivityEnable", offsetof(struct cupti_api, enable), true},
    {"cuptiActivityRegisterCallbacks", offsetof(struct cupti_api, register_callbacks), true},
    {"cuptiActivityGetNextRecord", offsetof(struct cupti_api, next_record), true},
    {"cuptiActivityGetNumDroppedRecords", offsetof(struct cupti_api, dropped), true},
    {"cuptiActivityFlushAll", offsetof(struct cupti_api, flush_all), true},
    {"cuptiGetResultString", offsetof(struct cupti_api, result_string), true},
    {"cuptiGetVersion", offsetof(struct cupti_api, version), true},
    {"cuptiActivityRegisterTimestampCallback", offsetof(struct cupti_api, register_clock), false},
};

/* Newest first: a newer CUPTI supports older drivers of its own major version, not the reverse.
 * The loader does not search the toolkit's folder by itself. */
static const char *const candidates[] = {
    "libcupti.so.13",
    "libcupti.so.12",
    "libcupti.so.11",
    "/usr/local/cuda/lib64/libcupti.so.13",
    "/usr/local/cuda/lib64/libcupti.so.12",
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12",
    "/usr/local/cuda/lib64/libcupti.so",
    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
};

static void *find_library(int flags, const char **path)
{
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        void *library = dlopen(candidates[i], flags);
        if (library != NULL) {
            *path = candidates[i];
            return library;
        }
    }
    return NULL;
}

static void *open_library(const char **path, char *reason, size_t bytes)
{
    *path = getenv(IDLE_CUPTI_VARIABLE); // NOLINT(concurrency-mt-unsafe): inside cuInit, once
    if (*path != NULL && **path != '\0') {
        void *library = dlopen(*path, RTLD_NOW | RTLD_LOCAL);
        const char *words = library == NULL ? dlerror() : ""; // NOLINT(concurrency-mt-unsafe)
        if (library == NULL) {
            snprintf(reason, bytes, "CUPTI cannot be opened: %s", words == NULL ? *path : words);
        }
        return library;
    }
    /* Two CUPTIs in one process conflict: the program's own comes first. */
    void *library = find_library(RTLD_NOW | RTLD_NOLOAD, path);
    library = library != NULL ? library : find_library(RTLD_NOW | RTLD_LOCAL, path);
    if (library == NULL) {
        snprintf(reason, bytes,
                 "no libcupti.so.13, .12 or .11 was found; %s=PATH names the CUDA toolkit's, or "
                 "nvidia/cuda_cupti/lib/libcupti.so.12 of a Python environment",
                 IDLE_CUPTI_VARIABLE);
    }
    return library;
}

bool cupti_api_open(struct cupti_api *api, char *reason, size_t bytes)
{
    *api = (struct cupti_api){0};
    const char *path;
    void *library = open_library(&path, reason, bytes);
    if (library == NULL) {
        return false;
    }
    snprintf(api->path, sizeof api->path, "%s", path);
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (address == NULL && symbols[i].required) {
            snprintf(reason, bytes, "%s has no %s", path, symbols[i].name);
            return false;
        }
        /* ISO C cannot convert between the two kinds of pointers; POSIX guarantees the same
         * representation. */
        memcpy((char *)api + symbols[i].offset, &address, sizeof address);
    }
    return true;
}
