/* SPDX-License-Identifier: Apache-2.0 */
#include "simd.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#    include <cpuid.h>
#endif

static const char *const names[SL_SIMD_COUNT] = {"scalar", "neon", "avx2", "avx512"};

const char *sl_simd_name(sl_simd simd)
{
    return names[simd];
}

#if defined(__x86_64__)
/* Not every compiler's __builtin_cpu_supports knows this name. */
static bool simd_has_f16c(void)
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

static sl_simd of_processor(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                      simd_has_f16c();
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx2 && avx512) {
        return SL_SIMD_AVX512;
    }
    return avx2 ? SL_SIMD_AVX2 : SL_SIMD_SCALAR;
#elif defined(__aarch64__)
    return SL_SIMD_NEON;
#else
    return SL_SIMD_SCALAR;
#endif
}

sl_simd sl_simd_best(void)
{
    const sl_simd best = of_processor();
    /* Nothing here changes the environment. */
    const char *limit = getenv("SLUICE_SIMD"); /* NOLINT(concurrency-mt-unsafe) */
    for (int i = 0; limit != NULL && i < SL_SIMD_COUNT; i++) {
        if (strcmp(limit, names[i]) == 0) {
            return (sl_simd)i < best ? (sl_simd)i : best;
        }
    }
    return best;
}
