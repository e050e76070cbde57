/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32c_bench [BYTES]: microseconds that a record's checksum takes, by instructions and by tables,
 * and what shards have in its place (XXH3). The best of 7 rounds, the bytes in the cache, as they
 * are when a picture of them is decoded next.
 */
#include "checksum.h"
#include "clock.h"
#include "crc32c.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 7, CALLS = 2000 };

static uint64_t sink;

static double best_us(sl_crc32c_twin twin, const uint8_t *data, size_t bytes)
{
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t start = sl_now_ns();
        for (int i = 0; i < CALLS; i++) {
            sink += twin != NULL ? twin(data + i % 8, bytes) : sl_checksum(data + i % 8, bytes);
        }
        const uint64_t took = sl_now_ns() - start;
        best = took < best ? took : best;
    }
    return (double)best / CALLS / 1000;
}

int main(int argc, char **argv)
{
    const size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 110000;
    uint8_t *data = malloc(bytes + 8);
    if (data == NULL) {
        return 1;
    }
    for (size_t i = 0; i < bytes + 8; i++) {
        data[i] = (uint8_t)(i * i >> 3);
    }
    printf("%zu bytes: CRC-32C by instructions %.2f us, by tables %.2f us; XXH3 %.2f us\n", bytes,
           best_us(sl_crc32c_of(sl_simd_best()), data, bytes),
           best_us(sl_crc32c_of(SL_SIMD_SCALAR), data, bytes), best_us(NULL, data, bytes));
    free(data);
    return sink == 1;
}
