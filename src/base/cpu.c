/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu.h"

#include "cgroup.h"
#include "minmax.h"
#include "proc.h"
#include "processors.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__x86_64__)
#    include <cpuid.h>
#elif defined(__aarch64__)
#    include <asm/hwcap.h>
#    include <sys/auxv.h>
#endif

#define KIB 1024U

static sl_cgroup own_cgroup(void)
{
    return sl_cgroup_read("/proc/self/cgroup", "/proc/self/mountinfo");
}

/* Returns the number of processors in the affinity mask. */
static uint64_t affinity_count(void)
{
    sl_processors own;
    if (sl_processors_own(&own)) {
        return sl_processors_count(&own);
    }
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : (uint64_t)online;
}

uint32_t sl_cpu_count(void)
{
    const uint64_t allowed = affinity_count();
    const uint64_t quota = own_cgroup().cpus;
    const uint64_t cpus = sl_min_u64(quota, allowed);
    return cpus < 1 ? 1 : (uint32_t)cpus;
}

/* Returns a line in kB, in bytes; UINT64_MAX if it is missing. */
static uint64_t proc_bytes(const char *path, const char *key)
{
    const uint64_t kib = sl_proc_number(path, key);
    return kib > UINT64_MAX / KIB ? UINT64_MAX : kib * KIB;
}

/* Returns the smaller of a line of meminfo and a cgroup's number. */
static uint64_t memory_figure(const char *key, uint64_t cgroup)
{
    const uint64_t machine = proc_bytes("/proc/meminfo", key);
    return machine < cgroup ? machine : cgroup;
}

/* Returns the address space left by RLIMIT_AS (ulimit -v). */
static uint64_t address_space_left(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    const uint64_t taken = proc_bytes("/proc/self/status", "VmSize:");
    return taken < limit.rlim_cur ? limit.rlim_cur - taken : 0;
}

uint64_t sl_memory_available(void)
{
    const uint64_t memory = memory_figure("MemAvailable:", own_cgroup().memory_left);
    const uint64_t addresses = address_space_left();
    return memory < addresses ? memory : addresses;
}

uint64_t sl_memory_total(void)
{
    return memory_figure("MemTotal:", own_cgroup().memory_limit);
}

static void cpu_append(char *text, size_t bytes, bool present, const char *name)
{
    const size_t length = strlen(text);
    const size_t needed = strlen(name) + (length > 0);
    if (present && needed < bytes - length) {
        snprintf(text + length, bytes - length, "%s%s", length > 0 ? " " : "", name);
    }
}

#if defined(__x86_64__)

/* Not every compiler's __builtin_cpu_supports knows F16C. Its registers are AVX's. */
static bool cpu_has_f16c(void)
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

static void append_features(char *text, size_t bytes)
{
    __builtin_cpu_init();
    cpu_append(text, bytes, __builtin_cpu_supports("sse4.2"), "sse4.2");
    cpu_append(text, bytes, __builtin_cpu_supports("avx"), "avx");
    cpu_append(text, bytes, __builtin_cpu_supports("avx2"), "avx2");
    cpu_append(text, bytes, cpu_has_f16c(), "f16c");
    cpu_append(text, bytes, __builtin_cpu_supports("fma"), "fma");
    cpu_append(text, bytes, __builtin_cpu_supports("bmi2"), "bmi2");
    cpu_append(text, bytes, __builtin_cpu_supports("avx512f"), "avx512f");
    cpu_append(text, bytes, __builtin_cpu_supports("avx512bw"), "avx512bw");
    cpu_append(text, bytes, __builtin_cpu_supports("avx512vl"), "avx512vl");
    cpu_append(text, bytes, __builtin_cpu_supports("avx512vbmi"), "avx512vbmi");
}

#elif defined(__aarch64__)

static void append_features(char *text, size_t bytes)
{
    const unsigned long found = getauxval(AT_HWCAP);
    cpu_append(text, bytes, (found & HWCAP_ASIMD) != 0, "neon");
    cpu_append(text, bytes, (found & HWCAP_ASIMDHP) != 0, "fp16");
    cpu_append(text, bytes, (found & HWCAP_ASIMDDP) != 0, "dotprod");
    cpu_append(text, bytes, (found & HWCAP_SVE) != 0, "sve");
}

#else

static void append_features(char *text, size_t bytes)
{
    cpu_append(text, bytes, true, "portable");
}

#endif

void sl_cpu_features(char *text, size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    text[0] = '\0';
    append_features(text, bytes);
}
