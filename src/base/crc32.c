/* SPDX-License-Identifier: Apache-2.0 */
#include "crc32.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <zlib.h>

#if defined(__x86_64__)
#    include <immintrin.h>
#endif

static uint32_t by_zlib(uint32_t crc, const void *data, size_t bytes)
{
    return bytes > 0 ? (uint32_t)crc32_z(crc, data, bytes) : crc;
}

#if defined(__x86_64__)
#    define SL_TARGET_CLMUL __attribute__((target("pclmul,sse4.1")))

#    define LANE  ((size_t)16)
#    define LANES ((size_t)4)
#    define LEAST ((size_t)256)

static bool has_clmul(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

/*
 * Moves 16 bytes on by the distance of `powers` and adds `next`, the bytes there. "Fast CRC
 * Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009) has the method and
 * the powers of x.
 */
SL_TARGET_CLMUL static inline __m128i crc32_fold(__m128i lane, __m128i powers, __m128i next)
{
    const __m128i low = _mm_clmulepi64_si128(lane, powers, 0x00);
    const __m128i high = _mm_clmulepi64_si128(lane, powers, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

SL_TARGET_CLMUL static inline __m128i crc32_load(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

SL_TARGET_CLMUL static uint32_t by_clmul(uint32_t crc, const void *data, size_t bytes)
{
    if (bytes < LEAST) {
        return by_zlib(crc, data, bytes);
    }
    const __m128i past_4 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i past_1 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const uint8_t *at = data;
    __m128i lanes[LANES];
    for (size_t i = 0; i < LANES; i++) {
        lanes[i] = crc32_load(at + LANE * i);
    }
    lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128((int)~crc));
    at += LANE * LANES;
    bytes -= LANE * LANES;
    for (; bytes >= LANE * LANES; at += LANE * LANES, bytes -= LANE * LANES) {
        for (size_t i = 0; i < LANES; i++) {
            lanes[i] = crc32_fold(lanes[i], past_4, crc32_load(at + LANE * i));
        }
    }
    for (size_t i = 1; i < LANES; i++) {
        lanes[i] = crc32_fold(lanes[i - 1], past_1, lanes[i]);
    }
    uint8_t rest[LANE]; /* the checksum of everything before, starting from 0 */
    _mm_storeu_si128((__m128i *)(void *)rest, lanes[LANES - 1]);
    return by_zlib(by_zlib(UINT32_MAX, rest, sizeof(rest)), at, bytes);
}
#endif

sl_crc32_twin sl_crc32_of(sl_simd simd)
{
#if defined(__x86_64__)
    if (simd != SL_SIMD_SCALAR && has_clmul()) {
        return by_clmul;
    }
#endif
    (void)simd;
    return by_zlib;
}

uint32_t sl_crc32(uint32_t crc, const void *data, size_t bytes)
{
    static _Atomic(sl_crc32_twin) chosen;
    /* Relaxed: other threads choose the same. */
    sl_crc32_twin twin = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (twin == NULL) {
        twin = sl_crc32_of(sl_simd_best());
        atomic_store_explicit(&chosen, twin, memory_order_relaxed);
    }
    return twin(crc, data, bytes);
}
