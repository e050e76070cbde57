/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libraries_bench [FILE ...]: what is written by hand here, beside the library that does the same.
 *
 * CRC-32C of a record of 110 kB beside ISA-L's, and XXH3, which shards have in its place. Snappy:
 * each file, cut in pages of 1 MiB and compressed by the library, unpacked by it and by us. All of
 * it in the cache; the best of 7 rounds, taken in turn. A library that was not there at build time
 * is left out.
 */
#include "checksum.h"
#include "clock.h"
#include "crc32c.h"
#include "snappy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ISAL
#    include <isa-l.h>
#endif
#ifdef HAVE_SNAPPY
#    include <snappy-c.h>
#endif

enum { ROUNDS = 7, RECORD_BYTES = 110000, CALLS = 2000, PAGE_BYTES = 1 << 20 };

/* ---- checksums ---- */

static uint64_t sink;

static uint32_t crc_by_instructions(const void *data, size_t bytes)
{
    return sl_crc32c_of(sl_simd_best())(data, bytes);
}

static uint32_t crc_by_tables(const void *data, size_t bytes)
{
    return sl_crc32c_of(SL_SIMD_SCALAR)(data, bytes);
}

static uint32_t xxh3(const void *data, size_t bytes)
{
    return (uint32_t)sl_checksum(data, bytes);
}

#ifdef HAVE_ISAL
static uint32_t crc_by_isal(const void *data, size_t bytes)
{
    unsigned char *bytes_of = (unsigned char *)(uintptr_t)data; /* which it does not write to */
    return ~crc32_iscsi(bytes_of, (int)bytes, UINT32_MAX);
}
#endif

typedef struct sum_case {
    const char *name;
    uint32_t (*sum)(const void *data, size_t bytes);
} sum_case;

static const sum_case sums[] = {
    {"CRC-32C by instructions", crc_by_instructions},
    {"CRC-32C by tables", crc_by_tables},
#ifdef HAVE_ISAL
    {"CRC-32C by ISA-L", crc_by_isal},
#endif
    {"XXH3", xxh3},
};
enum { SUMS = sizeof(sums) / sizeof(sums[0]) };

static void time_sums(const uint8_t *data)
{
    uint64_t best[SUMS];
    memset(best, 0xff, sizeof(best));
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < SUMS; k++) {
            const uint64_t start = sl_now_ns();
            for (int i = 0; i < CALLS; i++) {
                sink += sums[k].sum(data + i % 8, RECORD_BYTES);
            }
            const uint64_t took = sl_now_ns() - start;
            best[k] = took < best[k] ? took : best[k];
        }
    }
    for (size_t k = 0; k < SUMS; k++) {
        printf("%d bytes: %-24s %6.2f us, %5.1f GB/s\n", RECORD_BYTES, sums[k].name,
               (double)best[k] / CALLS / 1000, (double)RECORD_BYTES * CALLS / (double)best[k]);
    }
}

/* ---- snappy ---- */

#ifdef HAVE_SNAPPY
typedef struct page {
    char *packed;
    size_t packed_bytes, bytes;
} page;

static bool unpack_page(const page *of, char *to, bool by_library)
{
    size_t bytes = PAGE_BYTES;
    return by_library ? snappy_uncompress(of->packed, of->packed_bytes, to, &bytes) == SNAPPY_OK
                      : sl_snappy_unpack((sl_bytes){(const uint8_t *)of->packed, of->packed_bytes},
                                         (uint8_t *)to, of->bytes);
}

static bool time_file(const char *path)
{
    static char in[PAGE_BYTES], out[PAGE_BYTES];
    static page pages[64];
    size_t count = 0, all = 0, packed = 0;
    uint64_t best[2] = {UINT64_MAX, UINT64_MAX};
    FILE *file = fopen(path, "rb");
    for (size_t got; file != NULL && count < 64 && (got = fread(in, 1, sizeof(in), file)) > 0;) {
        page *p = &pages[count++];
        *p = (page){.packed_bytes = snappy_max_compressed_length(got), .bytes = got};
        p->packed = malloc(p->packed_bytes);
        if (p->packed == NULL ||
            snappy_compress(in, got, p->packed, &p->packed_bytes) != SNAPPY_OK) {
            return false;
        }
        all += got;
        packed += p->packed_bytes;
    }
    bool good = file != NULL && fclose(file) == 0 && all > 0;
    for (int round = 0; good && round < ROUNDS; round++) {
        for (int by_library = 0; by_library < 2; by_library++) {
            const uint64_t start = sl_now_ns();
            for (size_t i = 0; i < count; i++) {
                good = good && unpack_page(&pages[i], out, by_library != 0);
            }
            const uint64_t took = sl_now_ns() - start;
            best[by_library] = took < best[by_library] ? took : best[by_library];
        }
    }
    if (good) {
        printf("%s, %zu bytes, of which %zu are left: ours %.2f GB/s, the library %.2f GB/s\n",
               path, all, packed, (double)all / (double)best[0], (double)all / (double)best[1]);
    }
    for (size_t i = 0; i < count; i++) {
        free(pages[i].packed);
    }
    return good;
}
#else
static bool time_file(const char *path)
{
    fprintf(stderr, "%s: built without snappy's library to compare with\n", path);
    return false;
}
#endif

int main(int argc, char **argv)
{
    static uint8_t data[RECORD_BYTES + 8];
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t)(i * i >> 3);
    }
    time_sums(data);
    for (int i = 1; i < argc; i++) {
        if (!time_file(argv[i])) {
            fprintf(stderr, "%s: cannot be read or unpacked\n", argv[i]);
            return 1;
        }
    }
    return sink == 1;
}
