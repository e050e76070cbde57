/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32 against known answers and a bit-by-bit model. */
#include "crc32.h"
#include "philox.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static uint32_t model(uint32_t crc, const uint8_t *data, size_t bytes)
{
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
        }
    }
    return ~crc;
}

TEST(known_answers)
{
    static const char *const fox = "The quick brown fox jumps over the lazy dog";
    for (sl_simd simd = SL_SIMD_SCALAR; simd <= sl_simd_best(); simd++) {
        const sl_crc32_twin crc32 = sl_crc32_of(simd);
        assert_int_equal(crc32(0, "123456789", 9), 0xcbf43926);
        assert_int_equal(crc32(0, fox, strlen(fox)), 0x414fa339);
        assert_int_equal(crc32(0, NULL, 0), 0);
        assert_int_equal(crc32(7, NULL, 0), 7);
    }
}

/* All lengths around the lanes' boundaries, at every alignment, in one piece and in two. */
TEST(twins_are_the_model)
{
    enum { MOST = 5000 };
    uint8_t *data = malloc(MOST + 16);
    assert_non_null(data);
    sl_random random = sl_random_for(1, 2, 3, 4);
    for (size_t i = 0; i < MOST + 16; i++) {
        data[i] = (uint8_t)sl_random_u32(&random);
    }
    for (sl_simd simd = SL_SIMD_SCALAR; simd <= sl_simd_best(); simd++) {
        const sl_crc32_twin crc32 = sl_crc32_of(simd);
        for (size_t bytes = 0; bytes < 600; bytes++) {
            const uint8_t *at = data + bytes % 16;
            assert_int_equal(crc32(0, at, bytes), model(0, at, bytes));
        }
        for (int i = 0; i < 100; i++) {
            const size_t bytes = sl_random_below(&random, MOST);
            const size_t first = sl_random_below(&random, (uint32_t)bytes + 1);
            const uint32_t whole = model(0, data, bytes);
            assert_int_equal(crc32(crc32(0, data, first), data + first, bytes - first), whole);
        }
        assert_int_equal(crc32(0, data, MOST), sl_crc32(0, data, MOST));
    }
    free(data);
}
