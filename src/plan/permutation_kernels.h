/* SPDX-License-Identifier: Apache-2.0 */
/*
 * permutation_kernels: many indexes of a run at once, for permutation.c.
 *
 * Purpose: a round of the network depends on the one before, so a kernel takes as many indexes as
 * the CPU can process meanwhile. Every kernel returns the images of the scalar network, bit for
 * bit. Threads: pure.
 */
#ifndef SL_PERMUTATION_KERNELS_H
#define SL_PERMUTATION_KERNELS_H

#include "permutation.h"
#include "simd.h"

/* The finaliser of SplitMix64 (Stafford's variant 13) on the sequence of an odd constant. */
#define SL_PERMUTATION_STEP   0x9E3779B97F4A7C15U
#define SL_PERMUTATION_FIRST  0xBF58476D1CE4E5B9U
#define SL_PERMUTATION_SECOND 0x94D049BB133111EBU

typedef struct sl_permutation_kernel {
    uint32_t lanes;
    /* Sends `lanes` pairs (l[k], r[k]), below (left, right), once through the network. images[k]
     * may be beyond the permutation's count. */
    void (*forward)(const sl_permutation *permutation, const uint64_t *l, const uint64_t *r,
                    uint64_t *images);
} sl_permutation_kernel;

#define SL_PERMUTATION_LANES_MAX 64U

/* Returns the kernel of a level; NULL: none, the scalar code is fastest. */
const sl_permutation_kernel *sl_permutation_kernel_of(sl_simd simd);

/* permutation_avx2.c and permutation_avx512.c. */
extern const sl_permutation_kernel sl_permutation_avx2, sl_permutation_avx512;

#endif
