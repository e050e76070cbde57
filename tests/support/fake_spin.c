/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_spin: fake_cuda with one more kernel, the step of `sluice bench`: its stream sleeps as long
 * as the kernel would spin. This library is linked with fake_cuda, so a program that opens it finds
 * the functions of both.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

struct CUfunc_st;
struct CUmod_st;
struct CUstream_st;

#define EXPORT __attribute__((visibility("default")))

/* The names are CUDA's. NOLINTBEGIN(readability-identifier-naming, readability-function-size) */

/* Defined in fake_cuda. */
unsigned cuLaunchHostFunc(struct CUstream_st *stream, void (*run)(void *ctx), void *ctx);

EXPORT unsigned cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module,
                                    const char *name);
EXPORT unsigned cuLaunchKernel(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y,
                               unsigned grid_z, unsigned block_x, unsigned block_y,
                               unsigned block_z, unsigned shared_bytes, struct CUstream_st *stream,
                               void **arguments, void **extra);

typedef unsigned (*get_function)(struct CUfunc_st **, struct CUmod_st *, const char *);
typedef unsigned (*launch)(struct CUfunc_st *, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, unsigned, struct CUstream_st *, void **, void **);

/* Its address serves as the kernel's handle. */
static char spin_handle;

static struct CUfunc_st *spin_function(void)
{
    return (struct CUfunc_st *)(void *)&spin_handle;
}

static void *next_of(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

unsigned cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name)
{
    if (strcmp(name, "sluice_step_spin") == 0) {
        *function = spin_function();
        return 0;
    }
    get_function forward;
    void *address = next_of("cuModuleGetFunction");
    memcpy(&forward, &address, sizeof(forward));
    return forward(function, module, name);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Runs on the stream's thread. If a kernel oversleeps, the one queued right after it still ends on
 * time: a real device does not oversleep. */
static void spin(void *ctx)
{
    static const uint64_t at_once_ns = 20000000;
    static uint64_t end_ns;
    const uint64_t now = now_ns();
    end_ns = (now < end_ns + at_once_ns ? end_ns : now) + (uint64_t)(uintptr_t)ctx;
    const struct timespec until = {.tv_sec = (time_t)(end_ns / 1000000000),
                                   .tv_nsec = (long)(end_ns % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

unsigned cuLaunchKernel(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                        unsigned shared_bytes, struct CUstream_st *stream, void **arguments,
                        void **extra)
{
    if (function == spin_function()) {
        uint64_t ns;
        memcpy(&ns, arguments[0], sizeof(ns));
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): the number itself is the context */
        return cuLaunchHostFunc(stream, spin, (void *)(uintptr_t)ns);
    }
    launch forward;
    void *address = next_of("cuLaunchKernel");
    memcpy(&forward, &address, sizeof(forward));
    return forward(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                   stream, arguments, extra);
}

/* NOLINTEND(readability-identifier-naming, readability-function-size) */
