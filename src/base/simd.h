/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd: the instruction sets that kernels are written for.
 *
 * Purpose: a kernel has a scalar reference and twins that equal it bit for bit; an sl_simd chooses
 * the table of kernels once, at open. Tests walk from SCALAR to sl_simd_best. Kernels carry
 * `__attribute__((target(...)))`, so that the rest runs on any processor. Threads: any.
 */
#ifndef SL_SIMD_H
#define SL_SIMD_H

/* Each contains those before it of its architecture. */
typedef enum sl_simd {
    SL_SIMD_SCALAR = 0,
    SL_SIMD_NEON,
    SL_SIMD_AVX2,   /* with BMI1, BMI2, FMA and F16C */
    SL_SIMD_AVX512, /* F, BW, DQ and VL, on top of that */
    SL_SIMD_COUNT
} sl_simd;

/*
 * Returns the best level of this processor, limited by the environment variable SLUICE_SIMD
 * (scalar, neon, avx2, avx512; anything else is ignored): for comparing and for finding faults.
 */
sl_simd sl_simd_best(void);
const char *sl_simd_name(sl_simd simd);

/*
 * For functions of a level. gcc 12 places 64-byte variables at 32 bytes if the address sanitizer
 * checks for uses after return, and its code then crashes: so not there.
 */
#if defined(__x86_64__)
#    define SL_TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,fma,f16c")))
#    define SL_TARGET_AVX512                                                                \
        __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,fma,f16c"), \
                       no_sanitize("address")))
#endif

#endif
