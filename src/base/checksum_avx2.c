/* SPDX-License-Identifier: Apache-2.0 */
/* checksum_avx2: the hash library compiled for AVX2 (by the compiler's option); checksum.c checks
 * the processor before it calls this. */
#include "checksum_twins.h"

#if defined(__AVX2__)

#    include <immintrin.h>

#    define XXH_INLINE_ALL
#    include <xxhash.h>

uint64_t sl_checksum_avx2(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

void sl_checksum_add_avx2(void *state, const void *data, size_t bytes)
{
    (void)XXH3_64bits_update(state, data, bytes);
}

void sl_copy_past(uint8_t *to, const uint8_t *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 128) {
        const __m256i *source = (const __m256i *)(const void *)(from + at);
        __builtin_prefetch(from + at + bytes); /* never faults, even past the end */
        __builtin_prefetch(from + at + bytes + 64);
        __m256i *target = (__m256i *)(void *)(to + at);
        const __m256i a = _mm256_loadu_si256(source);
        const __m256i b = _mm256_loadu_si256(source + 1);
        const __m256i c = _mm256_loadu_si256(source + 2);
        const __m256i d = _mm256_loadu_si256(source + 3);
        _mm256_stream_si256(target, a);
        _mm256_stream_si256(target + 1, b);
        _mm256_stream_si256(target + 2, c);
        _mm256_stream_si256(target + 3, d);
    }
}

void sl_copy_past_end(void)
{
    _mm_sfence();
}

#endif
