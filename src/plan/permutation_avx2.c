/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2: 4 indexes a vector, and VECTORS of them at once. */
#include "permutation_kernels.h"

#if defined(__x86_64__)

#    include <immintrin.h>
#    include <stddef.h>

#    define INLINE SL_TARGET_AVX2 static inline __attribute__((always_inline))

enum { LANES = 4, VECTORS = 6 };

/* Returns the lower 64 bits of each product; AVX2 has no instruction for that. */
INLINE __m256i permutation_avx2_multiply(__m256i x, uint64_t by)
{
    const __m256i low = _mm256_set1_epi64x((long long)(by & UINT32_MAX));
    const __m256i high = _mm256_set1_epi64x((long long)(by >> 32));
    const __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), low),
                                           _mm256_mul_epu32(x, high));
    return _mm256_add_epi64(_mm256_mul_epu32(x, low), _mm256_slli_epi64(cross, 32));
}

/* Returns the same for x < 2^32. */
INLINE __m256i permutation_avx2_multiply_half(__m256i x, uint64_t by)
{
    const __m256i low = _mm256_set1_epi64x((long long)(by & UINT32_MAX));
    const __m256i high = _mm256_set1_epi64x((long long)(by >> 32));
    return _mm256_add_epi64(_mm256_mul_epu32(x, low),
                            _mm256_slli_epi64(_mm256_mul_epu32(x, high), 32));
}

/* Same as `mix` of permutation.c. */
INLINE __m256i permutation_avx2_mix(__m256i half, __m256i key, __m256i modulus)
{
    __m256i x = _mm256_add_epi64(key, permutation_avx2_multiply_half(half, SL_PERMUTATION_STEP));
    x = permutation_avx2_multiply(_mm256_xor_si256(x, _mm256_srli_epi64(x, 30)),
                                  SL_PERMUTATION_FIRST);
    x = permutation_avx2_multiply(_mm256_xor_si256(x, _mm256_srli_epi64(x, 27)),
                                  SL_PERMUTATION_SECOND);
    x = _mm256_xor_si256(x, _mm256_srli_epi64(x, 31));
    const __m256i upper = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), modulus);
    const __m256i lower = _mm256_mul_epu32(x, modulus);
    return _mm256_srli_epi64(_mm256_add_epi64(upper, _mm256_srli_epi64(lower, 32)), 32);
}

/* Returns a + b in [0, modulus): the sum, if the difference is negative. */
INLINE __m256i permutation_avx2_plus(__m256i a, __m256i b, __m256i modulus)
{
    const __m256i sum = _mm256_add_epi64(a, b);
    const __m256i less = _mm256_sub_epi64(sum, modulus);
    return _mm256_castpd_si256(_mm256_blendv_pd(_mm256_castsi256_pd(less), _mm256_castsi256_pd(sum),
                                                _mm256_castsi256_pd(less)));
}

SL_TARGET_AVX2 static void permutation_avx2_forward(const sl_permutation *p, const uint64_t *l,
                                                    const uint64_t *r, uint64_t *images)
{
    const __m256i left = _mm256_set1_epi64x((long long)p->left);
    const __m256i right = _mm256_set1_epi64x((long long)p->right);
    __m256i a[VECTORS];
    __m256i b[VECTORS];
    for (size_t k = 0; k < VECTORS; k++) {
        a[k] = _mm256_loadu_si256((const __m256i *)(const void *)(l + k * LANES));
        b[k] = _mm256_loadu_si256((const __m256i *)(const void *)(r + k * LANES));
    }
    for (unsigned i = 0; i < SL_PERMUTATION_ROUNDS; i += 2) {
        const __m256i even = _mm256_set1_epi64x((long long)p->keys[i]);
        const __m256i odd = _mm256_set1_epi64x((long long)p->keys[i + 1]);
        for (size_t k = 0; k < VECTORS; k++) {
            a[k] = permutation_avx2_plus(a[k], permutation_avx2_mix(b[k], even, left), left);
        }
        for (size_t k = 0; k < VECTORS; k++) {
            b[k] = permutation_avx2_plus(b[k], permutation_avx2_mix(a[k], odd, right), right);
        }
    }
    for (size_t k = 0; k < VECTORS; k++) {
        const __m256i image = _mm256_add_epi64(permutation_avx2_multiply_half(b[k], p->left), a[k]);
        _mm256_storeu_si256((__m256i *)(void *)(images + k * LANES), image);
    }
}

const sl_permutation_kernel sl_permutation_avx2 = {LANES * VECTORS, permutation_avx2_forward};

#endif
