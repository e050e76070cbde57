/* SPDX-License-Identifier: Apache-2.0 */
#include "crc32c.h"

#include "little_endian.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#if defined(__x86_64__)
#    include <nmmintrin.h>
#elif defined(__aarch64__)
#    include <arm_acle.h>
#    include <sys/auxv.h>
#    define HAS_CRC32 (1UL << 7) /* HWCAP_CRC32 */
#endif

#define REVERSED   UINT32_C(0x82f63b78) /* the polynomial, lowest power first */
#define LANE_BYTES ((size_t)1024)

/*
 * by_byte[k][b]: effect of byte b on a checksum k bytes later. past_lane[k][b]: what byte k of a
 * checksum, with value b, becomes after LANE_BYTES zeros.
 */
static uint32_t by_byte[8][256], past_lane[4][256];

static void make_by_byte(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? REVERSED : 0);
        }
        by_byte[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        for (int k = 1; k < 8; k++) {
            const uint32_t before = by_byte[k - 1][byte];
            by_byte[k][byte] = by_byte[0][before & 0xff] ^ before >> 8;
        }
    }
}

/* A checksum is linear, so 32 bits determine all bytes. */
static void make_past_lane(void)
{
    for (uint32_t bit = 0; bit < 32; bit++) {
        uint32_t crc = UINT32_C(1) << bit;
        for (size_t i = 0; i < LANE_BYTES; i++) {
            crc = by_byte[0][crc & 0xff] ^ crc >> 8;
        }
        const uint32_t step = UINT32_C(1) << bit % 8;
        for (uint32_t byte = 0; byte < 256; byte++) {
            past_lane[bit / 8][byte] ^= (byte & step) != 0 ? crc : 0;
        }
    }
}

static void make_tables(void)
{
    make_by_byte();
    make_past_lane();
}

static void need_tables(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_tables);
}

static uint32_t by_tables(const void *data, size_t bytes)
{
    const uint8_t *at = data;
    uint32_t crc = UINT32_MAX;
    need_tables();
    for (; bytes >= 8; at += 8, bytes -= 8) {
        const uint32_t low = sl_load32(at) ^ crc;
        const uint32_t high = sl_load32(at + 4);
        crc = by_byte[7][low & 0xff] ^ by_byte[6][low >> 8 & 0xff] ^ by_byte[5][low >> 16 & 0xff] ^
              by_byte[4][low >> 24] ^ by_byte[3][high & 0xff] ^ by_byte[2][high >> 8 & 0xff] ^
              by_byte[1][high >> 16 & 0xff] ^ by_byte[0][high >> 24];
    }
    for (; bytes > 0; at++, bytes--) {
        crc = by_byte[0][(crc ^ *at) & 0xff] ^ crc >> 8;
    }
    return ~crc;
}

#if defined(__x86_64__)
#    define SL_TARGET_CRC __attribute__((target("sse4.2")))

static bool has_instructions(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2");
}

SL_TARGET_CRC static inline uint32_t step8(uint32_t crc, const uint8_t *at)
{
    return (uint32_t)_mm_crc32_u64(crc, sl_load64(at));
}

SL_TARGET_CRC static inline uint32_t step1(uint32_t crc, uint8_t byte)
{
    return _mm_crc32_u8(crc, byte);
}
#elif defined(__aarch64__)
#    define SL_TARGET_CRC __attribute__((target("+crc")))

static bool has_instructions(void)
{
    return (getauxval(AT_HWCAP) & HAS_CRC32) != 0;
}

SL_TARGET_CRC static inline uint32_t step8(uint32_t crc, const uint8_t *at)
{
    return __crc32cd(crc, sl_load64(at));
}

SL_TARGET_CRC static inline uint32_t step1(uint32_t crc, uint8_t byte)
{
    return __crc32cb(crc, byte);
}
#endif

#if defined(SL_TARGET_CRC)
static uint32_t pass_lane(uint32_t crc)
{
    return past_lane[0][crc & 0xff] ^ past_lane[1][crc >> 8 & 0xff] ^
           past_lane[2][crc >> 16 & 0xff] ^ past_lane[3][crc >> 24];
}

SL_TARGET_CRC static uint32_t by_instructions(const void *data, size_t bytes)
{
    const uint8_t *at = data;
    uint32_t crc = UINT32_MAX;
    need_tables();
    for (; bytes >= 3 * LANE_BYTES; at += 3 * LANE_BYTES, bytes -= 3 * LANE_BYTES) {
        uint32_t second = 0;
        uint32_t third = 0;
        for (size_t i = 0; i < LANE_BYTES; i += 8) {
            crc = step8(crc, at + i);
            second = step8(second, at + LANE_BYTES + i);
            third = step8(third, at + 2 * LANE_BYTES + i);
        }
        crc = pass_lane(pass_lane(crc) ^ second) ^ third;
    }
    for (; bytes >= 8; at += 8, bytes -= 8) {
        crc = step8(crc, at);
    }
    for (; bytes > 0; at++, bytes--) {
        crc = step1(crc, *at);
    }
    return ~crc;
}
#endif

sl_crc32c_twin sl_crc32c_of(sl_simd simd)
{
#if defined(SL_TARGET_CRC)
    if (simd != SL_SIMD_SCALAR && has_instructions()) {
        return by_instructions;
    }
#endif
    (void)simd;
    return by_tables;
}

uint32_t sl_crc32c(const void *data, size_t bytes)
{
    static _Atomic(sl_crc32c_twin) chosen;
    /* relaxed: concurrent threads choose the same */
    sl_crc32c_twin twin = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (twin == NULL) {
        twin = sl_crc32c_of(sl_simd_best());
        atomic_store_explicit(&chosen, twin, memory_order_relaxed);
    }
    return twin(data, bytes);
}
