/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_cuda_client.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;

const fake_cuda_control *fake_cuda_open(void)
{
    const char *file = getenv("SLUICE_CUDA_DRIVER");
    library = file != NULL ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = library != NULL ? dlsym(library, "fake_cuda_get_control") : NULL;
    if (symbol == NULL) {
        return NULL;
    }
    const fake_cuda_control *(*get_control)(void);
    memcpy(&get_control, &symbol, sizeof(symbol));
    const fake_cuda_control *fake = get_control();
    fake->reset();
    return fake;
}

int fake_cuda_complain(const fake_cuda_control *fake)
{
    char left[160];
    if (fake->violations() == 0 && fake->leaks(left, sizeof(left)) == 0) {
        return 0;
    }
    (void)fake->leaks(left, sizeof(left));
    fprintf(stderr, "fake CUDA: %d misuses, the first: \"%s\"; left open: \"%s\"\n",
            (int)fake->violations(), fake->first_violation(), left);
    return 1;
}

/* ---- memory ---- */

/* The parts of cuda.h needed here. */
typedef struct driver {
    unsigned (*init)(unsigned flags);
    unsigned (*retain)(void **context, int device);
    unsigned (*release)(int device);
    unsigned (*push)(void *context);
    unsigned (*pop)(void **context);
    unsigned (*alloc)(void **memory, size_t bytes); /* an address is as wide as a pointer */
    unsigned (*free)(void *memory);
    unsigned (*exchange_mode)(unsigned *mode); /* of capture */
    unsigned mode;                             /* before */
} driver;

enum { RELAXED = 2 };

static void find(void *function, const char *name)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        abort();
    }
    memcpy(function, &symbol, sizeof(symbol));
}

static void must(unsigned code)
{
    if (code != 0) {
        fprintf(stderr, "fake CUDA: error %u\n", code);
        abort();
    }
}

/* Opens the driver, makes the primary context current, and sets the capture mode the fake
 * requires. */
static driver enter(void)
{
    driver cu = {.mode = RELAXED};
    void *context = NULL;
    find(&cu.init, "cuInit");
    find(&cu.retain, "cuDevicePrimaryCtxRetain");
    find(&cu.release, "cuDevicePrimaryCtxRelease_v2");
    find(&cu.push, "cuCtxPushCurrent_v2");
    find(&cu.pop, "cuCtxPopCurrent_v2");
    find(&cu.alloc, "cuMemAlloc_v2");
    find(&cu.free, "cuMemFree_v2");
    find(&cu.exchange_mode, "cuThreadExchangeStreamCaptureMode");
    must(cu.init(0));
    must(cu.exchange_mode(&cu.mode));
    must(cu.retain(&context, 0));
    must(cu.push(context));
    return cu;
}

static void leave(driver *cu)
{
    void *context = NULL;
    must(cu->pop(&context));
    must(cu->exchange_mode(&cu->mode));
}

void *fake_cuda_memory_new(size_t bytes)
{
    void *memory = NULL;
    driver cu = enter();
    must(cu.alloc(&memory, bytes));
    leave(&cu); /* the memory lives as long as its context is retained */
    return memory;
}

void fake_cuda_memory_free(void *memory)
{
    driver cu = enter();
    must(cu.free(memory));
    leave(&cu);
    must(cu.release(0)); /* releases the new context */
    must(cu.release(0));
}

/* ---- contexts ---- */

void fake_cuda_context_enter(int device)
{
    unsigned (*create)(void **context, unsigned flags, int device);
    void *context = NULL;
    find(&create, "cuCtxCreate_v2");
    must(create(&context, 0, device));
}

void fake_cuda_context_leave(void)
{
    unsigned (*pop)(void **context);
    void *context = NULL;
    find(&pop, "cuCtxPopCurrent_v2");
    must(pop(&context));
}
