/* SPDX-License-Identifier: Apache-2.0 */
/* Compares CRC-32C with RFC 3720's published values and with a bit-by-bit model. */
#include "crc32c.h"
#include "philox.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* The polynomial as the RFC writes it, highest power first: the bits of the checksum and of each
 * byte are reversed instead. */
static uint32_t reversed(uint32_t value, int bits)
{
    uint32_t turned = 0;
    for (int i = 0; i < bits; i++) {
        turned = turned << 1 | (value >> i & 1);
    }
    return turned;
}

static uint32_t model(const uint8_t *data, size_t bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= reversed(data[i], 8) << 24;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc << 1 ^ ((crc >> 31 & 1) != 0 ? 0x1edc6f41U : 0);
        }
    }
    return ~reversed(crc, 32);
}

TEST(known_answers)
{
    /* RFC 3720, B.4: 32 bytes each; the last case is an iSCSI read command. */
    uint8_t data[48];
    static const uint8_t command[48] = {0x01, 0xc0, 0, 0,    0,    0, 0, 0,    0,    0, 0,    0,
                                        0,    0,    0, 0,    0x14, 0, 0, 0,    0,    0, 0x04, 0,
                                        0,    0,    0, 0x14, 0,    0, 0, 0x18, 0x28, 0, 0,    0,
                                        0,    0,    0, 0,    0x02, 0, 0, 0,    0,    0, 0,    0};
    for (sl_simd simd = SL_SIMD_SCALAR; simd <= sl_simd_best(); simd++) {
        const sl_crc32c_twin crc32c = sl_crc32c_of(simd);
        memset(data, 0, sizeof(data));
        assert_int_equal(crc32c(data, 32), 0x8a9136aa);
        memset(data, 0xff, sizeof(data));
        assert_int_equal(crc32c(data, 32), 0x62a8ab43);
        for (uint8_t i = 0; i < 32; i++) {
            data[i] = i;
        }
        assert_int_equal(crc32c(data, 32), 0x46dd794e);
        for (uint8_t i = 0; i < 32; i++) {
            data[i] = (uint8_t)(31 - i);
        }
        assert_int_equal(crc32c(data, 32), 0x113fdb5c);
        assert_int_equal(crc32c(command, sizeof(command)), 0xd9963a56);
        assert_int_equal(crc32c("123456789", 9), 0xe3069283);
        assert_int_equal(crc32c(NULL, 0), 0);
    }
    assert_int_equal(model(command, sizeof(command)), 0xd9963a56);
    assert_int_equal(sl_crc32c_mask(0), 0xa282ead8);
    assert_int_equal(sl_crc32c_mask(0xd9963a56), 0x17309e04);
}

/* Lengths around one lane and three lanes, at every alignment. */
TEST(twins_are_the_model)
{
    enum { MOST = 3 * 1024 * 4 };
    uint8_t *data = malloc(MOST + 8);
    assert_non_null(data);
    sl_random random = sl_random_for(1, 2, 3, 4);
    for (size_t i = 0; i < MOST + 8; i++) {
        data[i] = (uint8_t)sl_random_u32(&random);
    }
    for (sl_simd simd = SL_SIMD_SCALAR; simd <= sl_simd_best(); simd++) {
        const sl_crc32c_twin crc32c = sl_crc32c_of(simd);
        for (size_t bytes = 0; bytes < 80; bytes++) {
            assert_int_equal(crc32c(data + bytes % 8, bytes), model(data + bytes % 8, bytes));
        }
        for (size_t bytes = 3060; bytes < 3090; bytes++) {
            assert_int_equal(crc32c(data + bytes % 8, bytes), model(data + bytes % 8, bytes));
        }
        for (int i = 0; i < 100; i++) {
            const size_t bytes = sl_random_below(&random, MOST);
            assert_int_equal(crc32c(data + i % 8, bytes), model(data + i % 8, bytes));
        }
        assert_int_equal(crc32c(data, MOST), sl_crc32c(data, MOST));
    }
    free(data);
}
