/* SPDX-License-Identifier: Apache-2.0 */
#include "guard.h"

#include "codec.h"
#include "poison.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* Far above the needs of any input of a megabyte, far below a hang. */
#define CPU_SECONDS_MOST 20
/* Memory that the library may hold for an empty input: images, batches and windows have their own
 * limits. An unfounded claim in a file is larger. */
#define MEMORY_BASE     ((uint64_t)256 << 20)
#define MEMORY_PER_BYTE 1024

enum { LEVEL_MASK = 3, AVOID_SHIFT = 2, AVOID_MASK = 3 };

static uint8_t paths = 0xff;

unsigned fuzz_level(void)
{
    const unsigned level = paths & LEVEL_MASK;
    return level < FUZZ_LEVELS ? level : FUZZ_LEVELS - 1;
}

uint32_t fuzz_avoid(void)
{
    static const uint32_t avoided[AVOID_MASK + 1] = {SL_PATH_KERNELS,
                                                     SL_PATH_KERNELS | SL_PATH_INTERVALS, 0, 0};
    return avoided[paths >> AVOID_SHIFT & AVOID_MASK];
}

#if defined(SL_POISON_ADDRESS) || defined(SL_POISON_MEMORY)
/* gcc does not install their header. */
/* NOLINTBEGIN: the names are the sanitizer's */
size_t __sanitizer_get_allocated_size(const volatile void *memory);
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));
/* NOLINTEND */

static _Atomic int64_t held; /* bytes allocated and not freed since the input began */
static _Atomic int64_t held_most = INT64_MAX;

static void guard_on_malloc(const volatile void *memory, size_t bytes)
{
    (void)memory;
    const int64_t now =
        atomic_fetch_add_explicit(&held, (int64_t)bytes, memory_order_relaxed) + (int64_t)bytes;
    if (now > atomic_load_explicit(&held_most, memory_order_relaxed)) {
        atomic_store_explicit(&held_most, INT64_MAX, memory_order_relaxed); /* abort allocates */
        fprintf(stderr,
                "broken promise: memory follows from the input's size: %lld bytes are held\n",
                (long long)now);
        abort();
    }
}

static void guard_on_free(const volatile void *memory)
{
    const size_t bytes = memory == NULL ? 0 : __sanitizer_get_allocated_size(memory);
    atomic_fetch_sub_explicit(&held, (int64_t)bytes, memory_order_relaxed);
}

static void limit_memory(size_t size)
{
    static bool watched;
    if (!watched) {
        watched = __sanitizer_install_malloc_and_free_hooks(guard_on_malloc, guard_on_free) != 0;
    }
    atomic_store_explicit(&held, 0, memory_order_relaxed);
    atomic_store_explicit(&held_most, (int64_t)(MEMORY_BASE + (uint64_t)size * MEMORY_PER_BYTE),
                          memory_order_relaxed);
}
#else
static void limit_memory(size_t size)
{
    (void)size;
}
#endif

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    fuzz_expect(clock_gettime(clock, &now) == 0, "a clock");
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Reading the CPU clock is a system call that takes longer than most inputs. So it is read at most
 * every BASE_SECONDS, and an input may be charged that much extra. */
#define BASE_SECONDS 0.1

static double base_wall = -BASE_SECONDS, base_cpu;

static void limit_time(void)
{
    const double now = seconds_of(CLOCK_MONOTONIC);
    if (now - base_wall >= BASE_SECONDS) {
        base_wall = now;
        base_cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    }
}

static void check_time(void)
{
    fuzz_expect(seconds_of(CLOCK_MONOTONIC) - base_wall < 1 ||
                    seconds_of(CLOCK_PROCESS_CPUTIME_ID) - base_cpu < CPU_SECONDS_MOST,
                "an input of a megabyte takes seconds");
}

/* Changes the environment only if the level changes. */
static void choose_level(void)
{
    static const char *const levels[FUZZ_LEVELS] = {"scalar", "avx2", "avx512"};
    static unsigned chosen = FUZZ_LEVELS;
    if (chosen != fuzz_level()) {
        chosen = fuzz_level();
        fuzz_expect(setenv("SLUICE_SIMD", levels[chosen], 1) == 0,
                    "memory"); /* NOLINT(concurrency-mt-unsafe) */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < GUARD_HEAD || size > GUARD_INPUT_MAX)
        return 0;
    paths = data[0];
    choose_level();
    const size_t bytes = size - GUARD_HEAD;
    uint8_t *copy = malloc(bytes > 0 ? bytes : 1);
    fuzz_expect(copy != NULL, "a megabyte of memory");
    memcpy(copy, data + GUARD_HEAD, bytes);
    limit_memory(bytes);
    limit_time();
    (void)fuzz_run(copy, bytes);
    check_time();
    free(copy);
    return 0;
}

size_t guard_seed(unsigned index, uint8_t *buffer)
{
    const size_t size = fuzz_seed(index, buffer + GUARD_HEAD);
    buffer[0] = 0xff;
    return size > 0 ? size + GUARD_HEAD : 0;
}

void guard_write_seeds(const char *folder)
{
    uint8_t *seed = malloc(GUARD_INPUT_MAX);
    fuzz_expect(seed != NULL, "a megabyte of memory");
    unsigned count = 0;
    for (size_t size; (size = guard_seed(count, seed)) > 0; count++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/seed%u", folder, count);
        FILE *file = fopen(path, "wbe");
        fuzz_expect(file != NULL && fwrite(seed, 1, size, file) == size && fclose(file) == 0, path);
    }
    free(seed);
}

/* libFuzzer has no option that writes the seeds. */
int LLVMFuzzerInitialize(int *argc, /* NOLINT(readability-non-const-parameter): of libFuzzer */
                         char ***argv)
{
    const char *folder = getenv("FUZZ_SEEDS"); /* NOLINT(concurrency-mt-unsafe) */
    (void)argc;
    (void)argv;
    if (folder != NULL) {
        guard_write_seeds(folder);
        exit(0); /* NOLINT(concurrency-mt-unsafe) */
    }
    return 0;
}
