/* SPDX-License-Identifier: Apache-2.0 */
/* AVX-512: a round takes about 70 cycles, and 8 indexes keep the CPU busy for 12 of them, so
 * VECTORS of them run at once. */
#include "permutation_kernels.h"

#if defined(__x86_64__)

#    include <immintrin.h>
#    include <stddef.h>

#    define INLINE SL_TARGET_AVX512 static inline __attribute__((always_inline))

enum { LANES = 8, VECTORS = 8 };

/* Same as `mix` of permutation.c. */
INLINE __m512i permutation_avx512_mix(__m512i half, __m512i key, __m512i modulus)
{
    const __m512i step = _mm512_set1_epi64((long long)SL_PERMUTATION_STEP);
    const __m512i first = _mm512_set1_epi64((long long)SL_PERMUTATION_FIRST);
    const __m512i second = _mm512_set1_epi64((long long)SL_PERMUTATION_SECOND);
    __m512i x = _mm512_add_epi64(key, _mm512_mullo_epi64(half, step));
    x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 30)), first);
    x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 27)), second);
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
    const __m512i upper = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), modulus);
    const __m512i lower = _mm512_mul_epu32(x, modulus);
    return _mm512_srli_epi64(_mm512_add_epi64(upper, _mm512_srli_epi64(lower, 32)), 32);
}

/* Returns a + b in [0, modulus): a negative difference wraps around to a large number. */
INLINE __m512i permutation_avx512_plus(__m512i a, __m512i b, __m512i modulus)
{
    const __m512i sum = _mm512_add_epi64(a, b);
    return _mm512_min_epu64(sum, _mm512_sub_epi64(sum, modulus));
}

SL_TARGET_AVX512 static void permutation_avx512_forward(const sl_permutation *p, const uint64_t *l,
                                                        const uint64_t *r, uint64_t *images)
{
    const __m512i left = _mm512_set1_epi64((long long)p->left);
    const __m512i right = _mm512_set1_epi64((long long)p->right);
    __m512i a[VECTORS];
    __m512i b[VECTORS];
    for (size_t k = 0; k < VECTORS; k++) {
        a[k] = _mm512_loadu_si512(l + k * LANES);
        b[k] = _mm512_loadu_si512(r + k * LANES);
    }
    for (unsigned i = 0; i < SL_PERMUTATION_ROUNDS; i += 2) {
        const __m512i even = _mm512_set1_epi64((long long)p->keys[i]);
        const __m512i odd = _mm512_set1_epi64((long long)p->keys[i + 1]);
        for (size_t k = 0; k < VECTORS; k++) {
            a[k] = permutation_avx512_plus(a[k], permutation_avx512_mix(b[k], even, left), left);
        }
        for (size_t k = 0; k < VECTORS; k++) {
            b[k] = permutation_avx512_plus(b[k], permutation_avx512_mix(a[k], odd, right), right);
        }
    }
    for (size_t k = 0; k < VECTORS; k++) {
        const __m512i image = _mm512_add_epi64(_mm512_mullo_epi64(b[k], left), a[k]);
        _mm512_storeu_si512(images + k * LANES, image);
    }
}

const sl_permutation_kernel sl_permutation_avx512 = {LANES * VECTORS, permutation_avx512_forward};

#endif
